//! Nonblocking collectives in progress: their requests, and the hook that advances them (section 5.12).

use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::Mutex;

use crate::args;
use crate::binding::any_env;
use crate::collectives::arguments::RequestTarget;
use crate::comm_objects;
use crate::completion::wait_one;
use crate::error_dispatch::{on_comm, on_everyone, on_inter};
use crate::handles::{HandleKind, HandleTable};
use crate::lazy_callback::LazyCallback;
use crate::requests::{
    COLLECTIVES, CompletedRequest, CompletionData, FamilyEntry, RequestFamily, active, enter_family, with_status,
};
use crate::types::{Handle, MPI_Status};
use midplane_device::Adi;
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;
use midplane_device::{EventCount, HookResult, ProgressHook};
use midplane_objects::coll::in_flight::{CollectiveState, advance_in_interrupt};
use midplane_objects::coll::{CollectiveSchedule, RunningCollective};
use midplane_objects::comm::{Communicator, Membership};
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::inter_groups::GroupRanges;
use midplane_objects::process::Env;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Collectives,
    tag: COLLECTIVES,
    place_bits: 12,
    generation_bits: 12,
    limit: 1 << 12,
};

/// A collective that the program has started and not completed.
struct CollectiveObject {
    membership: Membership<'static>,
    state: CollectiveState,
}

struct StartedCollectives {
    objects: HandleTable<CollectiveObject>,
    /// Incomplete ones, in order of their start, so that a check of progress skips the others.
    in_flight: Vec<c_int>,
}

/// No call waits or performs steps while it holds the lock. Interrupt handlers check only if no call holds it.
static STARTED: Mutex<StartedCollectives> = Mutex::new(StartedCollectives {
    objects: HandleTable::new(KIND),
    in_flight: Vec::new(),
});
/// Length of that list, so that calls need no lock if it is empty.
static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);

impl StartedCollectives {
    /// Adds a collective in state [`CollectiveState::Stepping`]. Fails with [`Error::Limit`] or [`Error::NoSpace`].
    fn add(&mut self, membership: Membership<'static>) -> Result<c_int, Error> {
        let bytes = size_of::<c_int>();
        let none = |_| Error::NoSpace { bytes };
        self.in_flight.try_reserve(1).map_err(none)?;
        let state = CollectiveState::Stepping;
        let handle = self.objects.add(CollectiveObject { membership, state })?;
        self.in_flight.push(handle);
        self.count();
        Ok(handle)
    }

    fn remove(&mut self, handle: c_int) -> Option<CollectiveObject> {
        self.rests(handle);
        self.objects.remove(handle)
    }

    /// Removes a completed collective from the list.
    fn rests(&mut self, handle: c_int) {
        self.in_flight.retain(|other| *other != handle);
        self.count();
    }

    fn count(&self) {
        IN_FLIGHT.store(self.in_flight.len(), Ordering::Relaxed);
    }
}

/// Starts a collective in a call of `function`.
///
/// # Safety
/// The request must satisfy [`args::out`]. The buffers and arrays of the plan must remain valid as section 5.12
/// specifies.
pub(crate) unsafe fn start(
    function: &'static str,
    comm: c_int,
    target: RequestTarget,
    plan: impl FnOnce(Communicator<'static>) -> Result<CollectiveSchedule, Error>,
) -> c_int {
    on_comm(function, comm, |comm| {
        // SAFETY: guaranteed by the caller.
        unsafe { begin(comm, function, target, plan(comm)) }
    })
}

/// Starts a collective; on an intercommunicator, among the processes of both groups.
///
/// # Safety
/// See [`start`].
pub(crate) unsafe fn start_among_all(
    function: &'static str,
    comm: c_int,
    target: RequestTarget,
    plan: impl FnOnce(Communicator<'static>) -> Result<CollectiveSchedule, Error>,
) -> c_int {
    on_everyone(function, comm, |comm| {
        // SAFETY: guaranteed by the caller.
        unsafe { begin(comm, function, target, plan(comm)) }
    })
}

/// Starts a collective on an intercommunicator.
///
/// # Safety
/// See [`start`].
pub(super) unsafe fn start_across(
    function: &'static str,
    comm: c_int,
    target: RequestTarget,
    plan: impl FnOnce(GroupRanges) -> Result<CollectiveSchedule, Error>,
) -> c_int {
    on_inter(function, comm, |inter| {
        // SAFETY: guaranteed by the caller.
        unsafe { begin(inter.everyone(), function, target, plan(inter.sides.halves())) }
    })
}

/// # Safety
/// See [`start`].
unsafe fn begin(
    comm: Communicator<'static>,
    function: &'static str,
    target: RequestTarget,
    plan: Result<CollectiveSchedule, Error>,
) -> Result<(), Error> {
    let (number, request) = match target {
        RequestTarget::Start(request) => (None, request),
        RequestTarget::Restart { number, request } => (Some(number), request),
        RequestTarget::Check => return plan.map(drop),
    };
    // SAFETY: guaranteed by the caller.
    let request = unsafe { args::out(request, "request") }?;
    *request = Handle::new(enter(comm, function, number, plan?)?);
    Ok(())
}

/// Adds a collective and performs its first steps. Returns its handle. Fails with [`Error::Limit`] or, if it could not
/// start any message, with [`Error::NoSpace`] or [`Error::NoMemory`]; it then has no effect, and can be retried. Only a
/// persistent one has a sequence number.
fn enter(
    comm: Communicator<'static>,
    function: &'static str,
    given: Option<u32>,
    plan: CollectiveSchedule,
) -> Result<c_int, Error> {
    enter_family(&FAMILY);
    install_hook(comm.env);
    let membership = comm.membership();
    let number = given.unwrap_or_else(|| comm_objects::count_collectives(membership.context, 0));
    let handle = STARTED.lock().add(membership)?;
    // Its first steps may call functions of the program, which may free the communicator.
    comm_objects::hold(membership.context);
    let state = CollectiveState::begin(comm, function, number, plan).inspect_err(|_| {
        STARTED.lock().remove(handle);
        comm_objects::end_hold(membership.context);
    })?;
    if given.is_none() {
        comm_objects::count_collectives(membership.context, 1);
    }
    put_back(comm.env, handle, state);
    Ok(handle)
}

fn install_hook(env: &dyn Env) {
    env.set_hook(ProgressHook {
        is_ready,
        run: advance_all,
        run_in_interrupt: Some(run_in_interrupt),
    });
}

/// Other work in the progress hook, of which a device has one. Its functions are like those of a [`ProgressHook`].
pub(crate) struct HookWork {
    pub is_ready: fn(&RequestPool, EventCount) -> bool,
    pub run: fn(),
}

/// Installed with the first use of a feature that needs it, so that the image of a program without one does not contain its
/// code. There are two such features: partitioned communication and events of the tool interface.
static HOOK_WORK: [LazyCallback<&'static HookWork>; 2] = [const { LazyCallback::new() }; 2];

/// Adds work to the progress hook, and installs it.
pub(crate) fn add_hook_work(env: &dyn Env, work: &'static HookWork) {
    for place in &HOOK_WORK {
        place.set(work);
        if place.get().is_some_and(|installed| core::ptr::eq(installed, work)) {
            break;
        }
    }
    install_hook(env);
}

fn hook_work() -> impl Iterator<Item = &'static HookWork> {
    HOOK_WORK.iter().filter_map(LazyCallback::get)
}

/// Returns a collective to the list after its steps. From now on interrupt handlers may advance it. The host also does
/// so at the end of the notification, if its messages completed since the last check.
fn put_back(env: &dyn Env, handle: c_int, state: CollectiveState) {
    set_state(handle, state);
    env.notify();
}

fn set_state(handle: c_int, state: CollectiveState) {
    let mut started = STARTED.lock();
    if matches!(state, CollectiveState::Done(_)) {
        started.rests(handle);
    }
    if let Some(object) = started.objects.get_mut(handle) {
        object.state = state;
    }
}

/// Checks whether the messages of a collective are complete, or other work can advance.
fn is_ready(requests: &RequestPool, events: EventCount) -> bool {
    is_collective_ready(requests) || hook_work().any(|work| (work.is_ready)(requests, events))
}

fn is_collective_ready(requests: &RequestPool) -> bool {
    if IN_FLIGHT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let started = STARTED.lock();
    let mut in_flight = started.in_flight.iter();
    in_flight.any(|handle| {
        let object = started.objects.get(*handle);
        object.is_some_and(|object| object.state.is_ready(requests))
    })
}

/// Takes a waiting collective, at index `place` or later.
fn take_from(place: &mut usize) -> Option<(c_int, Membership<'static>, RunningCollective)> {
    let mut started = STARTED.lock();
    while *place < started.objects.places() {
        *place += 1;
        let Some((handle, object)) = started.objects.at(*place - 1) else {
            continue;
        };
        if let Some(running) = object.state.take_running() {
            return Some((handle, object.membership, running));
        }
    }
    None
}

/// Advances all collectives whose messages are complete, and other work.
fn advance_all() {
    for work in hook_work() {
        (work.run)();
    }
    let Ok(env) = any_env() else { return };
    let mut place = 0;
    while let Some((handle, membership, running)) = take_from(&mut place) {
        let state = CollectiveState::resume(running, Communicator::at(env, membership));
        put_back(env, handle, state);
    }
}

/// Advances collectives from an interrupt handler, unless a call holds the lock; see [`advance_all`].
fn run_in_interrupt(adi: &mut Adi, memory: &mut dyn UserMemory) -> HookResult {
    if IN_FLIGHT.load(Ordering::Relaxed) == 0 {
        return HookResult::Idle;
    }
    let (Ok(env), Some(mut started)) = (any_env(), STARTED.try_lock()) else {
        return HookResult::Busy;
    };
    let StartedCollectives { objects, in_flight } = &mut *started;
    advance_in_interrupt(adi, memory, env.process(), |run| {
        for handle in in_flight {
            if let Some(object) = objects.get_mut(*handle) {
                run(object.membership, &mut object.state);
            }
        }
    })
}

/// Starts a collective in a call of `function`, and blocks until it is complete.
pub(super) fn block(
    function: &'static str,
    comm: c_int,
    plan: impl FnOnce(Communicator<'static>) -> Result<CollectiveSchedule, Error>,
) -> c_int {
    on_comm(function, comm, |comm| {
        let mut handle = Handle::new(enter(comm, function, None, plan(comm)?)?);
        match wait_one(comm.env, function, &mut handle)?.rest {
            Some(CompletionData::Failed(error_target, error)) => {
                comm_objects::release_error_target(error_target);
                Err(error)
            }
            _ => Ok(()),
        }
    })
}

pub(super) struct CollectiveFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_started")]
static FAMILY: FamilyEntry = FamilyEntry::new(COLLECTIVES, &CollectiveFamily);

const NOT_ALLOWED: Error = Error::Wrong {
    class: ErrorClass::Request,
    what: "the request of a collective can neither be freed nor cancelled (MPI-3.1 section 5.12); complete it",
};

/// Returns the handle of a persistent collective's active request; that of another one as it is.
fn own(handle: c_int) -> c_int {
    active(handle).unwrap_or(handle)
}

impl RequestFamily for CollectiveFamily {
    fn has(&self, handle: c_int) -> bool {
        STARTED.lock().objects.get(own(handle)).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        let handle = own(handle);
        let started = STARTED.lock();
        let object = started.objects.get(handle)?;
        let CollectiveState::Done(result) = &object.state else {
            return None;
        };
        let mut completed = with_status(MPI_Status::NO_RECEIVE);
        if let Err(error) = result {
            let error_target = comm_objects::error_target_in(object.membership.context);
            completed.rest = Some(CompletionData::Failed(error_target, *error));
        }
        Some(completed)
    }

    fn forget(&self, handle: c_int) {
        let object = STARTED.lock().remove(own(handle));
        if let Some(CollectiveObject { membership, .. }) = object {
            comm_objects::end_hold(membership.context);
        }
    }

    fn free(&self, _: c_int) -> Result<(), Error> {
        Err(NOT_ALLOWED)
    }

    fn cancel(&self, _: c_int) -> Result<(), Error> {
        Err(NOT_ALLOWED)
    }
}
