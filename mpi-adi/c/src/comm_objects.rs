//! Communicators created by the program, and look-ups by handle and by context for all communicators.
//!
//! MPI_Comm_free makes the handle invalid immediately. The object remains until the communicator's requests are
//! complete, as the standard requires (section 6.4.3). Requests find it by its context, because its table index is the
//! context's.

use alloc::boxed::Box;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use spin::Mutex;

use super::barrier_by_messages::allow_barriers_by_messages;
use super::binding::{HANDLERS, any_env};
use super::comm_state;
use super::comm_table;
use super::handles::{HandleKind, HandleTable};
use super::inter_calls::InterCalls;
use super::types::constants::*;
use midplane_device::envelope::{Context, Rank};
use midplane_device::interface::{Device, MeasuredQuantity};
use midplane_objects::attributes::Attributes;
use midplane_objects::comm::{Communicator, Group, Membership, Partners, RankMap};
use midplane_objects::context::{CONTEXTS, SELF_CONTEXT, WORLD_CONTEXT, base};
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::inter::CreatedInter;
use midplane_objects::inter_groups::{InterGroups, Intercommunicator};
use midplane_objects::process::Env;
use midplane_objects::split::CreatedComm;

/// Destination of an error: a communicator's error handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ErrorTarget {
    pub comm: c_int,
    pub handler: c_int,
    /// The communicator is kept until [`release_error_target`], even if the program has freed it: [`keep_error_target`].
    pub is_kept: bool,
}

impl ErrorTarget {
    pub fn new(comm: c_int, handler: c_int) -> ErrorTarget {
        ErrorTarget {
            comm,
            handler,
            is_kept: false,
        }
    }
}

/// Views of a communicator for the different kinds of calls.
#[derive(Clone, Copy)]
pub(super) struct CommViews {
    /// The group that contains this process.
    pub local: Membership<'static>,
    /// Communication partners: its group, or the remote group.
    pub partners: Group<'static>,
    /// Additional data of an intercommunicator.
    pub inter: Option<InterObject>,
}

/// Groups of an intercommunicator, and its implementations of calls.
#[derive(Clone, Copy)]
pub(super) struct InterObject {
    pub sides: InterGroups<'static>,
    pub calls: &'static InterCalls,
}

impl CommViews {
    /// Returns the views of an intracommunicator.
    fn of_one(membership: Membership<'static>) -> CommViews {
        CommViews {
            local: membership,
            partners: membership.group(),
            inter: None,
        }
    }

    /// Returns all processes; for an intercommunicator, the concatenation of both groups.
    pub fn all(&self) -> Membership<'static> {
        match self.inter {
            Some(inter) => inter.sides.all(),
            None => self.local,
        }
    }

    pub fn context(&self) -> Context {
        self.local.context
    }
}

/// A communicator created by the program.
pub(super) struct CommObject {
    pub views: CommViews,
    pub handler: c_int,
    /// References that keep it after it is freed: persistent requests, nonblocking collectives, running error handlers.
    /// Once it is freed, also its other incomplete requests.
    pub requests: u32,
    /// Number of nonblocking collectives started on it.
    pub collectives: u32,
    pub freed: bool,
    /// Session from whose process sets it is derived, or MPI_SESSION_NULL.
    pub session: c_int,
    pub attributes: Attributes,
}

/// Attributes of MPI_COMM_WORLD and MPI_COMM_SELF. No call waits while it holds the lock, and no interrupt handler uses
/// it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_comm_attributes")]
static ATTRIBUTES: Mutex<[Attributes; 2]> = Mutex::new([const { Attributes::new() }; 2]);

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Communicators,
    tag: 0x0400_0000,
    place_bits: 12,
    generation_bits: 13,
    limit: CONTEXTS + 1,
};

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_comm_objects")]
static TABLE: Mutex<HandleTable<CommObject>> = Mutex::new(HandleTable::new(KIND));

/// Functions of common calls for communicators that the program has created.
struct OnMade {
    /// Returns the views of the communicator with this handle, unless it is freed.
    views: fn(c_int) -> Option<CommViews>,
    handler: fn(c_int) -> Option<c_int>,
    end_hold: fn(Context),
    error_target: fn(Context) -> Option<ErrorTarget>,
    /// Changes the communicator with this handle, freed or not. Returns whether it was freed.
    lend: fn(c_int, HandlerLending) -> Option<bool>,
}

/// Change of a communicator around a call of its error handler.
enum HandlerLending {
    Keep,
    /// Mark it as freed, with an invalid handle, or not.
    Free(bool),
    End,
}

/// Installed with the first such communicator, so that the image of a program without one does not contain this code.
static ON_MADE: spin::Once<&'static OnMade> = spin::Once::new();

impl OnMade {
    const ALL: &OnMade = &OnMade {
        views: |handle| with_object(handle, |object| object.views),
        handler: |handle| with_object(handle, |object| object.handler),
        end_hold: |context| {
            with_context(context, |object| object.requests = object.requests.saturating_sub(1));
        },
        error_target: |context| {
            let mut table = TABLE.lock();
            let (comm, object) = table.at(comm_table::index(context))?;
            let handler = object.handler;
            Some(ErrorTarget::new(comm, handler))
        },
        lend: |handle, lending| {
            let mut table = TABLE.lock();
            let object = table.get_mut(handle)?;
            let was_freed = object.freed;
            match lending {
                HandlerLending::Keep => object.requests += 1,
                HandlerLending::Free(is_freed) => {
                    object.freed = is_freed;
                    let context = object.views.context();
                    comm_table::show(context, (!is_freed).then_some(handle));
                }
                HandlerLending::End => object.requests = object.requests.saturating_sub(1),
            }
            release(&mut table, handle);
            Some(was_freed)
        },
    };

    /// Returns `None` if the program has not created a communicator.
    fn get() -> Option<&'static OnMade> {
        ON_MADE.get().copied()
    }
}

/// Removes the object if its communicator is freed and has no more references.
fn release(table: &mut HandleTable<CommObject>, handle: c_int) {
    let is_over = |object: &&CommObject| object.freed && object.requests == 0;
    if table.get(handle).filter(is_over).is_none() {
        return;
    }
    let Some(CommObject { views, .. }) = table.remove(handle) else {
        return;
    };
    comm_state::forget(views.context());
    comm_table::remove(views.context());
    if let Ok(env) = any_env() {
        env.process().retire_context(views.context());
    }
    // For an intercommunicator, the one list that contains both views.
    if let RankMap::List(list) = views.all().map {
        let list = core::ptr::from_ref(list).cast_mut();
        // SAFETY: leaked by `CreatedComm::leak` or `CreatedInter::leak` for this object only, which has just been removed. Views
        // are copied only for the duration of a call, and this call is ending and needs none.
        drop(unsafe { Box::from_raw(list) });
    }
}

/// Runs `f` on the communicator with handle `handle`, with exclusive access to the table.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut CommObject) -> R) -> Option<R> {
    let mut table = TABLE.lock();
    table.get_mut(handle).filter(|object| !object.freed).map(f)
}

/// Runs `f` on the attributes of the communicator with handle `handle`, with exclusive access.
pub(super) fn with_attributes<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
    let [of_world, of_self] = &mut *ATTRIBUTES.lock();
    match handle {
        MPI_COMM_WORLD => Some(f(of_world)),
        MPI_COMM_SELF => Some(f(of_self)),
        _ => with_object(handle, |object| f(&mut object.attributes)),
    }
}

/// Frees a communicator that the program has created. Returns false for an invalid handle.
pub(super) fn give_up(handle: c_int) -> bool {
    // Until now the requests of messages were not counted.
    let context = with_object(handle, |object| object.views.context());
    let (Some(context), Ok(env)) = (context, any_env()) else {
        return false;
    };
    let in_flight = env.measure(MeasuredQuantity::RequestsIn(context)) as u32;
    with_object(handle, |object| {
        object.freed = true;
        object.requests += in_flight;
        comm_table::show(context, None);
    });
    release(&mut TABLE.lock(), handle);
    true
}

/// Stores the identity of this process; called by MPI_Init and the first session.
pub(super) fn note_membership(env: &dyn Env) {
    let world = Communicator::world(env);
    comm_table::open(world.membership().to_world(world.own_rank()), world.size());
}

pub(super) fn world() -> Membership<'static> {
    let (number, size) = comm_table::place();
    Membership::world(number, size)
}

/// Returns the world rank of this process.
pub(super) fn own_number() -> Rank {
    comm_table::place().0
}

pub(super) fn own() -> Membership<'static> {
    Membership::own(own_number())
}

// Not inlined, because every call uses it.
#[inline(never)]
pub(super) fn views(handle: c_int) -> Option<CommViews> {
    match handle {
        MPI_COMM_WORLD => Some(CommViews::of_one(world())),
        MPI_COMM_SELF => Some(CommViews::of_one(own())),
        _ => (OnMade::get()?.views)(handle),
    }
}

const INTER: Error = Error::Wrong {
    class: ErrorClass::Comm,
    what: "an intercommunicator; this call is for communicators of one group",
};
const INTRA: Error = Error::Wrong {
    class: ErrorClass::Comm,
    what: "not an intercommunicator; MPI_Intercomm_create makes one",
};

/// Returns the intracommunicator with handle `handle`. Fails with [`Error::Communicator`] or [`INTER`].
pub(super) fn communicator(env: &'static dyn Env, handle: c_int) -> Result<Communicator<'static>, Error> {
    match views(handle) {
        Some(CommViews { local, inter: None, .. }) => Ok(Communicator::at(env, local)),
        Some(_) => Err(INTER),
        None => Err(Error::Communicator { handle }),
    }
}

/// Returns the processes of the communicator, for an intercommunicator those of both groups.
pub(super) fn everyone(env: &'static dyn Env, handle: c_int) -> Result<Communicator<'static>, Error> {
    match views(handle) {
        Some(views) => Ok(Communicator::at(env, views.all())),
        None => Err(Error::Communicator { handle }),
    }
}

/// Returns the communication partners in the communicator with handle `handle`.
// Not inlined, because only the slow path uses it.
#[inline(never)]
pub(super) fn partners(env: &'static dyn Env, handle: c_int) -> Result<Partners<'static>, Error> {
    match comm_table::group(handle) {
        Some(group) => Ok(Partners::at(env, group)),
        None => Err(Error::Communicator { handle }),
    }
}

/// Returns the intercommunicator with handle `handle`.
pub(super) fn intercommunicator(env: &'static dyn Env, handle: c_int) -> Result<Intercommunicator<'static>, Error> {
    match views(handle) {
        Some(CommViews {
            inter: Some(InterObject { sides, .. }),
            ..
        }) => Ok(Intercommunicator { env, sides }),
        Some(_) => Err(INTRA),
        None => Err(Error::Communicator { handle }),
    }
}

/// Returns the call table of the communicator, if it is an intercommunicator.
#[inline]
pub(super) fn inter_calls(handle: c_int) -> Option<&'static InterCalls> {
    if matches!(handle, MPI_COMM_WORLD | MPI_COMM_SELF) {
        return None;
    }
    let views = (OnMade::get()?.views)(handle)?;
    views.inter.map(|inter| inter.calls)
}

/// Returns the error handler of a communicator; for none, that of MPI_COMM_WORLD (section 8.3).
pub(super) fn handler(comm: c_int) -> c_int {
    let [of_world, of_self] = &HANDLERS;
    match comm {
        MPI_COMM_WORLD => of_world.load(Ordering::Relaxed),
        MPI_COMM_SELF => of_self.load(Ordering::Relaxed),
        _ => OnMade::get()
            .and_then(|made| (made.handler)(comm))
            .unwrap_or_else(|| of_world.load(Ordering::Relaxed)),
    }
}

pub(super) fn set_handler(comm: c_int, handler: c_int) {
    let [of_world, of_self] = &HANDLERS;
    match comm {
        MPI_COMM_WORLD => of_world.store(handler, Ordering::Relaxed),
        MPI_COMM_SELF => of_self.store(handler, Ordering::Relaxed),
        _ => {
            with_object(comm, |object| object.handler = handler);
        }
    }
}

/// Sets the error handler and the session of a new communicator.
pub(super) fn set_origin(comm: c_int, handler: c_int, session: c_int) {
    with_object(comm, |object| {
        (object.handler, object.session) = (handler, session);
    });
}

/// Returns the session from whose process sets the communicator with this handle is derived, or MPI_SESSION_NULL.
pub(super) fn session(comm: c_int) -> c_int {
    with_object(comm, |object| object.session).unwrap_or(MPI_SESSION_NULL)
}

/// Like [`session`], for the communicator with this context, freed or not.
pub(super) fn session_in(context: Context) -> c_int {
    let mut session = MPI_SESSION_NULL;
    with_context(context, |object| session = object.session);
    session
}

/// Checks whether any communicator uses this error handler.
pub(super) fn in_use(handler: c_int) -> bool {
    let made = |object: &CommObject| object.handler == handler;
    HANDLERS.iter().any(|of| of.load(Ordering::Relaxed) == handler) || TABLE.lock().objects().any(made)
}

/// Adds a reference, which keeps the communicator with this context after it is freed, until [`end_hold`].
pub(super) fn hold(context: Context) {
    with_context(context, |object| object.requests += 1);
}

pub(super) fn end_hold(context: Context) {
    if !is_predefined(context)
        && let Some(made) = OnMade::get()
    {
        (made.end_hold)(context);
    }
}

/// Checks whether the context is that of MPI_COMM_WORLD or MPI_COMM_SELF.
#[inline]
fn is_predefined(context: Context) -> bool {
    matches!(base(context), WORLD_CONTEXT | SELF_CONTEXT)
}

/// Runs `f` on the created communicator with this context, freed or not, and removes it if `f` removed the last
/// reference.
#[inline]
pub(super) fn with_context(context: Context, f: impl FnOnce(&mut CommObject)) {
    if is_predefined(context) {
        return;
    }
    let mut table = TABLE.lock();
    if let Some((handle, object)) = table.at(comm_table::index(context)) {
        f(object);
        release(&mut table, handle);
    }
}

/// Numbers for MPI_COMM_WORLD and MPI_COMM_SELF.
static COLLECTIVES: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Adds `more` to the number of nonblocking collectives of the communicator, and returns the number before: the
/// sequence number of the next one, the same at all of its processes.
pub(super) fn count_collectives(context: Context, more: u32) -> u32 {
    let [of_world, of_self] = &COLLECTIVES;
    let mut before = 0;
    match base(context) {
        WORLD_CONTEXT => before = of_world.fetch_add(more, Ordering::Relaxed),
        SELF_CONTEXT => before = of_self.fetch_add(more, Ordering::Relaxed),
        context => with_context(context, |object| {
            before = object.collectives;
            object.collectives = before.wrapping_add(more);
        }),
    }
    before
}

/// Returns the communicator with this context, freed or not, and its error handler.
pub(super) fn error_target_in(context: Context) -> ErrorTarget {
    let comm = match base(context) {
        WORLD_CONTEXT => MPI_COMM_WORLD,
        SELF_CONTEXT => MPI_COMM_SELF,
        context => match OnMade::get().and_then(|made| (made.error_target)(context)) {
            Some(error_target) => return error_target,
            None => MPI_COMM_WORLD,
        },
    };
    ErrorTarget::new(comm, handler(comm))
}

fn change_handler_hold(handle: c_int, lending: HandlerLending) -> Option<bool> {
    OnMade::get().and_then(|made| (made.lend)(handle, lending))
}

/// Keeps the communicator of a failed request until its error handler returns.
#[cold]
pub(super) fn keep_error_target(error_target: &mut ErrorTarget) {
    error_target.is_kept = change_handler_hold(error_target.comm, HandlerLending::Keep).is_some();
}

/// Ends the hold: its error handler has returned, or is not called.
pub(super) fn release_error_target(error_target: ErrorTarget) {
    if error_target.is_kept {
        change_handler_hold(error_target.comm, HandlerLending::End);
    }
}

/// Calls an error handler. Until it returns, the communicator's handle is valid, even if it is freed.
pub(super) fn call_with_comm(comm: c_int, call: impl FnOnce(c_int)) {
    let was_freed = change_handler_hold(comm, HandlerLending::Free(false));
    call(comm);
    if was_freed == Some(true) {
        change_handler_hold(comm, HandlerLending::Free(true));
    }
}

/// A reference that keeps a communicator after it is freed.
pub(super) struct KeptComm(ErrorTarget);

impl KeptComm {
    pub fn new(context: Context) -> KeptComm {
        let mut error_target = error_target_in(context);
        keep_error_target(&mut error_target);
        KeptComm(error_target)
    }
}

impl Drop for KeptComm {
    fn drop(&mut self) {
        release_error_target(self.0);
    }
}

/// Records the start of a message request on the communicator with this context. Only a freed communicator counts it;
/// the others count their requests when they are freed.
#[inline]
pub(super) fn request_started(context: Context) {
    if comm_table::is_freed(context) {
        hold(context);
    }
}

/// Records the completion of a message request on the communicator with this context.
#[inline]
pub(super) fn request_completed(context: Context) {
    if comm_table::is_freed(context) {
        end_hold(context);
    }
}

/// Reserves memory for a communicator with this context. Fails with [`Error::NoSpace`].
pub(super) fn prepare(context: Context) -> Result<(), Error> {
    comm_table::prepare(context)?;
    TABLE.lock().prepare(comm_table::index(context))
}

/// Separates memory errors from argument errors. The processes of a collective creation exchange the former; the latter
/// end the call immediately.
pub(super) fn apart<T>(made: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match made {
        Err(error) if !matches!(error, Error::NoSpace { .. }) => Err(error),
        other => Ok(other),
    }
}

/// Adds a new communicator in reserved memory, with its parent's error handler. Returns its handle. Fails with
/// [`Error::NoSpace`] if no memory is reserved.
pub(super) fn enter(env: &dyn Env, made: CreatedComm, parent: c_int) -> Result<c_int, Error> {
    enter_views(env, CommViews::of_one(made.leak()), parent)
}

/// Adds an intercommunicator with this call table; see [`enter`].
pub(super) fn enter_inter(
    env: &dyn Env,
    made: CreatedInter,
    calls: &'static InterCalls,
    parent: c_int,
) -> Result<c_int, Error> {
    let sides = made.leak();
    let views = CommViews {
        local: sides.local(),
        partners: sides.remote(),
        inter: Some(InterObject { sides, calls }),
    };
    enter_views(env, views, parent)
}

fn enter_views(env: &dyn Env, views: CommViews, parent: c_int) -> Result<c_int, Error> {
    ON_MADE.call_once(|| OnMade::ALL);
    allow_barriers_by_messages();
    let handler = handler(parent);
    let session = with_object(parent, |parent| parent.session).unwrap_or(MPI_SESSION_NULL);
    let context = views.context();
    let object = CommObject {
        views,
        handler,
        requests: 0,
        collectives: 0,
        freed: false,
        session,
        attributes: Attributes::new(),
    };
    let entered = comm_table::prepare(context).and_then(|()| TABLE.lock().add_at(comm_table::index(context), object));
    if let Ok(handle) = entered {
        comm_table::enter(handle, views.partners);
    }
    if entered.is_err() {
        env.process().retire_context(context);
    }
    entered.inspect_err(|_| comm_state::forget(context))
}
