//! The communicators of the program's own, and what there is to know of all of them by handle and by context.
//!
//! MPI_Comm_free makes the handle invalid at once; the object stays until the communicator's requests are
//! complete, as the standard wants (section 6.4.3). Its place in the table is the number of its context, by
//! which requests find it.

use alloc::boxed::Box;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use spin::Mutex;

use super::barrier_by_messages::allow_barriers_by_messages;
use super::binding::{HANDLERS, any_env};
use super::comm_table;
use super::handles::{Kind, Table};
use super::inter_calls::Calls;
use super::kept;
use super::types::constants::*;
use midplane_device::envelope::{Context, Rank};
use midplane_device::interface::{Device, Measure};
use midplane_objects::attributes::Attributes;
use midplane_objects::comm::{Communicator, Group, Membership, Partners, RankMap};
use midplane_objects::context::{self, CONTEXTS, SELF_CONTEXT, WORLD_CONTEXT, base};
use midplane_objects::error::{Class, Error, Limited};
use midplane_objects::inter::MadeInter;
use midplane_objects::process::Env;
use midplane_objects::sides::{Intercommunicator, Sides};
use midplane_objects::split::Made;

/// Whose error handler an error goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blame {
    /// The communicator's handle.
    pub comm: c_int,
    /// Its error handler.
    pub handler: c_int,
    /// The communicator stays until [`end_blame`], although the program has freed it: [`keep_blamed`].
    pub is_kept: bool,
}

impl Blame {
    pub fn new(comm: c_int, handler: c_int) -> Blame {
        Blame {
            comm,
            handler,
            is_kept: false,
        }
    }
}

/// A communicator, as calls of different kinds see it.
#[derive(Clone, Copy)]
pub(super) struct Views {
    /// The group that this process is in.
    pub local: Membership<'static>,
    /// Those that messages go to and come from: its group, or the remote one.
    pub partners: Group<'static>,
    /// What it is besides, if it is an intercommunicator.
    pub inter: Option<Inter>,
}

/// An intercommunicator's groups, and the calls that differ on it.
#[derive(Clone, Copy)]
pub(super) struct Inter {
    pub sides: Sides<'static>,
    pub calls: &'static Calls,
}

impl Views {
    /// Of a communicator of one group.
    fn of_one(membership: Membership<'static>) -> Views {
        Views {
            local: membership,
            partners: membership.group(),
            inter: None,
        }
    }

    /// Its processes: of an intercommunicator, those of both groups, one behind the other.
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

/// A communicator that the program has made.
pub(super) struct Object {
    pub views: Views,
    pub handler: c_int,
    /// What it stays for, although it is freed: persistent requests, collectives that do not block, error handlers that are
    /// being called; and, from when it is freed on, all other requests of it that are not complete.
    pub requests: u32,
    /// Collectives on it that do not block, so far.
    pub collectives: u32,
    pub freed: bool,
    pub attributes: Attributes,
}

/// The attributes of MPI_COMM_WORLD and MPI_COMM_SELF. No call holds the lock while it waits, and interrupts do not
/// come here.
static ATTRIBUTES: Mutex<[Attributes; 2]> = Mutex::new([const { Attributes::new() }; 2]);

const KIND: Kind = Kind {
    name: Limited::Communicators,
    tag: 0x8400_0000_u32 as c_int,
    place_bits: 11,
    generation_bits: 13,
    limit: CONTEXTS,
};

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

/// What calls that most programs make do on communicators that the program has made.
struct OnMade {
    /// What its calls see of the communicator with this handle, unless it is freed.
    views: fn(c_int) -> Option<Views>,
    /// Its error handler.
    handler: fn(c_int) -> Option<c_int>,
    end_hold: fn(Context),
    blame: fn(Context) -> Option<Blame>,
    /// Something is done with the communicator with this handle, freed or not; whether it was freed.
    lend: fn(c_int, Lending) -> Option<bool>,
}

/// What is done with a communicator that an error handler is called with.
enum Lending {
    /// It stays.
    Keep,
    /// Its handle names it, or not: it is freed.
    Free(bool),
    /// It need not stay.
    End,
}

/// That, from the first such communicator on: a program that makes none has nothing of it in its image.
static ON_MADE: spin::Once<&'static OnMade> = spin::Once::new();

impl OnMade {
    const ALL: &OnMade = &OnMade {
        views: |handle| with_object(handle, |object| object.views),
        handler: |handle| with_object(handle, |object| object.handler),
        end_hold: |context| {
            with_context(context, |object| {
                object.requests = object.requests.saturating_sub(1)
            });
        },
        blame: |context| {
            let mut table = TABLE.lock();
            let (comm, object) = table.at(context::index(context))?;
            let handler = object.handler;
            Some(Blame::new(comm, handler))
        },
        lend: |handle, lending| {
            let mut table = TABLE.lock();
            let object = table.get_mut(handle)?;
            let was_freed = object.freed;
            match lending {
                Lending::Keep => object.requests += 1,
                Lending::Free(is_freed) => {
                    object.freed = is_freed;
                    let context = object.views.context();
                    comm_table::show(context, (!is_freed).then_some(handle));
                }
                Lending::End => object.requests = object.requests.saturating_sub(1),
            }
            release(&mut table, handle);
            Some(was_freed)
        },
    };

    /// `None`: the program has made no communicator.
    fn get() -> Option<&'static OnMade> {
        ON_MADE.get().copied()
    }
}

/// Takes the object out if its communicator is gone in every respect.
fn release(table: &mut Table<Object>, handle: c_int) {
    let is_over = |object: &&Object| object.freed && object.requests == 0;
    if table.get(handle).filter(is_over).is_none() {
        return;
    }
    let Some(Object { views, .. }) = table.remove(handle) else {
        return;
    };
    kept::forget(views.context());
    comm_table::remove(views.context());
    if let Ok(env) = any_env() {
        env.process().retire_context(views.context());
    }
    // Of an intercommunicator the one list that its views are parts of.
    if let RankMap::List(list) = views.all().map {
        let list = core::ptr::from_ref(list).cast_mut();
        // SAFETY: leaked by `Made::leak` or `MadeInter::leak` for this object alone, which has just gone. Views are
        // copied only for the length of a call, and this is the end of one that needs none.
        drop(unsafe { Box::from_raw(list) });
    }
}

/// Runs `f` on the communicator that `handle` names; for as long as `f` runs nothing else has the table.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut Object) -> R) -> Option<R> {
    let mut table = TABLE.lock();
    table.get_mut(handle).filter(|object| !object.freed).map(f)
}

/// Runs `f` on the attributes of the communicator that `handle` names; for as long as `f` runs nothing else has
/// them.
pub(super) fn with_attributes<R>(handle: c_int, f: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
    let [of_world, of_self] = &mut *ATTRIBUTES.lock();
    match handle {
        MPI_COMM_WORLD => Some(f(of_world)),
        MPI_COMM_SELF => Some(f(of_self)),
        _ => with_object(handle, |object| f(&mut object.attributes)),
    }
}

/// The program gives up a communicator that it has made; false when `handle` names none.
pub(super) fn give_up(handle: c_int) -> bool {
    // Until now nobody has counted the requests of messages.
    let context = with_object(handle, |object| object.views.context());
    let (Some(context), Ok(env)) = (context, any_env()) else {
        return false;
    };
    let under_way = env.measure(Measure::RequestsIn(context)) as u32;
    with_object(handle, |object| {
        object.freed = true;
        object.requests += under_way;
        comm_table::show(context, None);
    });
    release(&mut TABLE.lock(), handle);
    true
}

/// Notes who this process is; called by MPI_Init.
pub(super) fn note_membership(env: &dyn Env) {
    let world = Communicator::world(env);
    comm_table::open(Rank::new(world.rank()), world.size());
}

pub(super) fn world() -> Membership<'static> {
    let (number, size) = comm_table::place();
    Membership::world(number, size)
}

/// This process's number in the job.
pub(super) fn own_number() -> Rank {
    comm_table::place().0
}

pub(super) fn own() -> Membership<'static> {
    Membership::own(own_number())
}

// One copy: every call begins here.
#[inline(never)]
pub(super) fn views(handle: c_int) -> Option<Views> {
    match handle {
        MPI_COMM_WORLD => Some(Views::of_one(world())),
        MPI_COMM_SELF => Some(Views::of_one(own())),
        _ => (OnMade::get()?.views)(handle),
    }
}

const INTER: Error = Error::Wrong {
    class: Class::Comm,
    what: "an intercommunicator; this call is for communicators of one group",
};
const INTRA: Error = Error::Wrong {
    class: Class::Comm,
    what: "not an intercommunicator; MPI_Intercomm_create makes one",
};

/// The communicator of one group that `handle` names. Fails with [`Error::Communicator`] or [`INTER`].
pub(super) fn communicator(
    env: &'static dyn Env,
    handle: c_int,
) -> Result<Communicator<'static>, Error> {
    match views(handle) {
        Some(Views {
            local, inter: None, ..
        }) => Ok(Communicator::at(env, local)),
        Some(_) => Err(INTER),
        None => Err(Error::Communicator { handle }),
    }
}

/// The processes of the communicator that `handle` names, of both groups of an intercommunicator.
pub(super) fn everyone(
    env: &'static dyn Env,
    handle: c_int,
) -> Result<Communicator<'static>, Error> {
    match views(handle) {
        Some(views) => Ok(Communicator::at(env, views.all())),
        None => Err(Error::Communicator { handle }),
    }
}

/// The processes that messages go to and come from in the communicator that `handle` names.
// One copy: it is for calls that go the whole way.
#[inline(never)]
pub(super) fn partners(env: &'static dyn Env, handle: c_int) -> Result<Partners<'static>, Error> {
    match comm_table::group(handle) {
        Some(group) => Ok(Partners::at(env, group)),
        None => Err(Error::Communicator { handle }),
    }
}

/// The intercommunicator that `handle` names.
pub(super) fn intercommunicator(
    env: &'static dyn Env,
    handle: c_int,
) -> Result<Intercommunicator<'static>, Error> {
    match views(handle) {
        Some(Views {
            inter: Some(Inter { sides, .. }),
            ..
        }) => Ok(Intercommunicator { env, sides }),
        Some(_) => Err(INTRA),
        None => Err(Error::Communicator { handle }),
    }
}

/// The calls that differ on the communicator that `handle` names, if it is an intercommunicator.
#[inline]
pub(super) fn inter_calls(handle: c_int) -> Option<&'static Calls> {
    if matches!(handle, MPI_COMM_WORLD | MPI_COMM_SELF) {
        return None;
    }
    let views = (OnMade::get()?.views)(handle)?;
    views.inter.map(|inter| inter.calls)
}

/// The error handler of a communicator; of none, MPI_COMM_WORLD's (section 8.3).
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

/// Whether any communicator has this error handler.
pub(super) fn in_use(handler: c_int) -> bool {
    let made = |object: &Object| object.handler == handler;
    HANDLERS
        .iter()
        .any(|of| of.load(Ordering::Relaxed) == handler)
        || TABLE.lock().objects().any(made)
}

/// The communicator with this context stays for one thing more, although the program frees it, until [`end_hold`].
pub(super) fn hold(context: Context) {
    with_context(context, |object| object.requests += 1);
}

/// That is over.
pub(super) fn end_hold(context: Context) {
    if !is_predefined(context)
        && let Some(made) = OnMade::get()
    {
        (made.end_hold)(context);
    }
}

/// The context is MPI_COMM_WORLD's or MPI_COMM_SELF's.
#[inline]
fn is_predefined(context: Context) -> bool {
    matches!(base(context), WORLD_CONTEXT | SELF_CONTEXT)
}

/// Runs `f` on the made communicator with this context, freed or not; takes it out if that is all that it has
/// waited for.
#[inline]
pub(super) fn with_context(context: Context, f: impl FnOnce(&mut Object)) {
    if is_predefined(context) {
        return;
    }
    let mut table = TABLE.lock();
    if let Some((handle, object)) = table.at(context::index(context)) {
        f(object);
        release(&mut table, handle);
    }
}

/// Those on MPI_COMM_WORLD and MPI_COMM_SELF.
static COLLECTIVES: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// The number of collectives that do not block on the communicator with this context, before `more` that are started
/// now: the number of the next one, the same at all of its processes.
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

/// The communicator with this context, freed or not, and its error handler.
pub(super) fn blame_in(context: Context) -> Blame {
    let comm = match base(context) {
        WORLD_CONTEXT => MPI_COMM_WORLD,
        SELF_CONTEXT => MPI_COMM_SELF,
        context => match OnMade::get().and_then(|made| (made.blame)(context)) {
            Some(blame) => return blame,
            None => MPI_COMM_WORLD,
        },
    };
    Blame::new(comm, handler(comm))
}

fn lend(handle: c_int, lending: Lending) -> Option<bool> {
    OnMade::get().and_then(|made| (made.lend)(handle, lending))
}

/// The communicator of a request that has failed stays until its error handler has been called.
#[cold]
pub(super) fn keep_blamed(blame: &mut Blame) {
    blame.is_kept = lend(blame.comm, Lending::Keep).is_some();
}

/// Its error handler has been called, or is not to be.
pub(super) fn end_blame(blame: Blame) {
    if blame.is_kept {
        lend(blame.comm, Lending::End);
    }
}

/// Calls an error handler; until it returns its communicator's handle names it, freed or not.
pub(super) fn call_with_comm(comm: c_int, call: impl FnOnce(c_int)) {
    let was_freed = lend(comm, Lending::Free(false));
    call(comm);
    if was_freed == Some(true) {
        lend(comm, Lending::Free(true));
    }
}

/// A communicator that stays, although the program frees it.
pub(super) struct Kept(Blame);

impl Kept {
    pub fn new(context: Context) -> Kept {
        let mut blame = blame_in(context);
        keep_blamed(&mut blame);
        Kept(blame)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        end_blame(self.0);
    }
}

/// A request of a message of the communicator with this context is started. One that is not freed counts them when it is.
#[inline]
pub(super) fn request_started(context: Context) {
    if comm_table::is_freed(context) {
        hold(context);
    }
}

/// A request of a message of the communicator with this context has completed.
#[inline]
pub(super) fn request_completed(context: Context) {
    if comm_table::is_freed(context) {
        end_hold(context);
    }
}

/// Makes room for a communicator with this context. Fails with [`Error::NoRoom`].
pub(super) fn prepare(context: Context) -> Result<(), Error> {
    comm_table::prepare(context)?;
    TABLE.lock().prepare(context::index(context))
}

/// Tells errors of memory, which all processes of a communicator learn of when they make another one, from those of
/// arguments, with which a call ends at once.
pub(super) fn apart<T>(made: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match made {
        Err(error) if !matches!(error, Error::NoRoom { .. }) => Err(error),
        other => Ok(other),
    }
}

/// Enters a new communicator, for which there is room, with its parent's error handler; its handle. Fails with
/// [`Error::NoRoom`] if there is none.
pub(super) fn enter(env: &dyn Env, made: Made, parent: c_int) -> Result<c_int, Error> {
    enter_views(env, Views::of_one(made.leak()), parent)
}

/// As [`enter`], of an intercommunicator with these calls.
pub(super) fn enter_inter(
    env: &dyn Env,
    made: MadeInter,
    calls: &'static Calls,
    parent: c_int,
) -> Result<c_int, Error> {
    let sides = made.leak();
    let views = Views {
        local: sides.local(),
        partners: sides.remote(),
        inter: Some(Inter { sides, calls }),
    };
    enter_views(env, views, parent)
}

fn enter_views(env: &dyn Env, views: Views, parent: c_int) -> Result<c_int, Error> {
    ON_MADE.call_once(|| OnMade::ALL);
    allow_barriers_by_messages();
    let handler = handler(parent);
    let context = views.context();
    let object = Object {
        views,
        handler,
        requests: 0,
        collectives: 0,
        freed: false,
        attributes: Attributes::new(),
    };
    let entered = comm_table::prepare(context)
        .and_then(|()| TABLE.lock().add_at(context::index(context), object));
    if let Ok(handle) = entered {
        comm_table::enter(handle, views.partners);
    }
    if entered.is_err() {
        env.process().retire_context(context);
    }
    entered.inspect_err(|_| kept::forget(context))
}
