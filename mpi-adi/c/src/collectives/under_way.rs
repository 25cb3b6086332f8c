//! Collectives under way: requests of the program's, and what lets them go on (section 5.12).

use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::Mutex;

use crate::args;
use crate::binding::any_env;
use crate::comm_objects;
use crate::completion::wait_one;
use crate::handles::{Kind, Table};
use crate::report::{on_comm, on_everyone, on_inter};
use crate::requests::{COLLECTIVES, Completed, Entry, Family, Rest, enter_family, with_status};
use crate::types::MPI_Status;
use midplane_device::Adi;
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;
use midplane_device::{HookResult, ProgressHook};
use midplane_objects::coll::under_way::{State, advance_in_interrupt};
use midplane_objects::coll::{Plan, Running};
use midplane_objects::comm::{Communicator, Membership};
use midplane_objects::error::{Class, Error, Limited};
use midplane_objects::process::Env;
use midplane_objects::sides::Halves;

const KIND: Kind = Kind {
    name: Limited::Collectives,
    tag: COLLECTIVES,
    place_bits: 12,
    generation_bits: 12,
    limit: 1 << 12,
};

/// A collective that the program has started and not completed.
struct Object {
    membership: Membership<'static>,
    state: State,
}

/// What the program has started.
struct Started {
    objects: Table<Object>,
    /// Those that are not over, as they have been started: who looks what can go on looks at no others.
    under_way: Vec<c_int>,
}

/// No call holds the lock while it waits or does steps, and interrupts look only where no call holds it.
static STARTED: Mutex<Started> = Mutex::new(Started {
    objects: Table::new(KIND),
    under_way: Vec::new(),
});
/// The length of that list, so that calls need no lock where there is none.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

impl Started {
    /// Adds one whose steps are being done. Fails with [`Error::Limit`] or [`Error::NoRoom`].
    fn add(&mut self, membership: Membership<'static>) -> Result<c_int, Error> {
        let bytes = size_of::<c_int>();
        let none = |_| Error::NoRoom { bytes };
        self.under_way.try_reserve(1).map_err(none)?;
        let state = State::Stepping;
        let handle = self.objects.add(Object { membership, state })?;
        self.under_way.push(handle);
        self.count();
        Ok(handle)
    }

    fn remove(&mut self, handle: c_int) -> Option<Object> {
        self.rests(handle);
        self.objects.remove(handle)
    }

    /// It is over.
    fn rests(&mut self, handle: c_int) {
        self.under_way.retain(|other| *other != handle);
        self.count();
    }

    fn count(&self) {
        UNDER_WAY.store(self.under_way.len(), Ordering::Relaxed);
    }
}

/// Starts a collective; calls of `function` from now on are its.
///
/// # Safety
/// `request` is as for [`args::out`]; the buffers and arrays of the plan stay as section 5.12 says.
pub(crate) unsafe fn start(
    function: &'static str,
    comm: c_int,
    request: *mut c_int,
    plan: impl FnOnce(Communicator<'static>) -> Result<Plan, Error>,
) -> c_int {
    on_comm(function, comm, |comm| {
        // SAFETY: the caller's promise.
        unsafe { begin(comm, function, request, plan(comm)) }
    })
}

/// As [`start`], on an intercommunicator a collective among the processes of both groups.
///
/// # Safety
/// As for [`start`].
pub(crate) unsafe fn start_among_all(
    function: &'static str,
    comm: c_int,
    request: *mut c_int,
    plan: impl FnOnce(Communicator<'static>) -> Result<Plan, Error>,
) -> c_int {
    on_everyone(function, comm, |comm| {
        // SAFETY: the caller's promise.
        unsafe { begin(comm, function, request, plan(comm)) }
    })
}

/// As [`start`], on an intercommunicator.
///
/// # Safety
/// As for [`start`].
pub(super) unsafe fn start_across(
    function: &'static str,
    comm: c_int,
    request: *mut c_int,
    plan: impl FnOnce(Halves) -> Result<Plan, Error>,
) -> c_int {
    on_inter(function, comm, |inter| {
        // SAFETY: the caller's promise.
        unsafe {
            begin(
                inter.everyone(),
                function,
                request,
                plan(inter.sides.halves()),
            )
        }
    })
}

/// # Safety
/// As for [`start`].
unsafe fn begin(
    comm: Communicator<'static>,
    function: &'static str,
    request: *mut c_int,
    plan: Result<Plan, Error>,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    let request = unsafe { args::out(request, "request") }?;
    *request = enter(comm, function, plan?)?;
    Ok(())
}

/// Enters a collective and lets it begin; its handle. Fails with [`Error::Limit`] or, where not one message could be
/// started, [`Error::NoRoom`] or [`Error::NoMemory`]: then nothing has happened, and it can be tried again.
fn enter(comm: Communicator<'static>, function: &'static str, plan: Plan) -> Result<c_int, Error> {
    enter_family(&FAMILY);
    comm.env.set_hook(ProgressHook {
        is_ready,
        run: go_on,
        run_in_interrupt: Some(run_in_interrupt),
    });
    let membership = comm.membership();
    let number = comm_objects::count_collectives(membership.context, 0);
    let handle = STARTED.lock().add(membership)?;
    // Its first steps may call functions of the program's, which may free the communicator.
    comm_objects::hold(membership.context);
    let state = State::begin(comm, function, number, plan).inspect_err(|_| {
        STARTED.lock().remove(handle);
        comm_objects::end_hold(membership.context);
    })?;
    comm_objects::count_collectives(membership.context, 1);
    put_back(comm.env, handle, state);
    Ok(handle)
}

/// The collective's steps have been done as far as they can be. From now on interrupts may go on with it, as does the
/// host at the end of the notification, should its messages have come since it was looked at.
fn put_back(env: &dyn Env, handle: c_int, state: State) {
    set_state(handle, state);
    env.notify();
}

fn set_state(handle: c_int, state: State) {
    let mut started = STARTED.lock();
    if matches!(state, State::Over(_)) {
        started.rests(handle);
    }
    if let Some(object) = started.objects.get_mut(handle) {
        object.state = state;
    }
}

/// The messages of one are there.
fn is_ready(requests: &RequestPool) -> bool {
    if UNDER_WAY.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let started = STARTED.lock();
    let mut under_way = started.under_way.iter();
    under_way.any(|handle| {
        let object = started.objects.get(*handle);
        object.is_some_and(|object| object.state.is_ready(requests))
    })
}

/// Takes a collective that waits, at `place` or behind it.
fn take_from(place: &mut usize) -> Option<(c_int, Membership<'static>, Running)> {
    let mut started = STARTED.lock();
    while *place < started.objects.places() {
        *place += 1;
        let Some((handle, object)) = started.objects.at(*place - 1) else {
            continue;
        };
        if let Some(running) = object.state.take() {
            return Some((handle, object.membership, running));
        }
    }
    None
}

/// Lets all go on for which messages have come.
fn go_on() {
    let Ok(env) = any_env() else { return };
    let mut place = 0;
    while let Some((handle, membership, running)) = take_from(&mut place) {
        let state = State::go_on(running, Communicator::at(env, membership));
        put_back(env, handle, state);
    }
}

/// As [`go_on`], from an interrupt: where no call has a collective in its hands.
fn run_in_interrupt(adi: &mut Adi, memory: &mut dyn UserMemory) -> HookResult {
    if UNDER_WAY.load(Ordering::Relaxed) == 0 {
        return HookResult::Idle;
    }
    let (Ok(env), Some(mut started)) = (any_env(), STARTED.try_lock()) else {
        return HookResult::Busy;
    };
    let Started { objects, under_way } = &mut *started;
    advance_in_interrupt(adi, memory, env.process(), |run| {
        for handle in under_way {
            if let Some(object) = objects.get_mut(*handle) {
                run(object.membership, &mut object.state);
            }
        }
    })
}

/// A call of `function` that starts a collective and blocks until it is over.
pub(super) fn block(
    function: &'static str,
    comm: c_int,
    plan: impl FnOnce(Communicator<'static>) -> Result<Plan, Error>,
) -> c_int {
    on_comm(function, comm, |comm| {
        let mut handle = enter(comm, function, plan(comm)?)?;
        match wait_one(comm.env, function, &mut handle)?.rest {
            Some(Rest::Failed(blame, error)) => {
                comm_objects::end_blame(blame);
                Err(error)
            }
            _ => Ok(()),
        }
    })
}

struct Collectives;

// SAFETY: loaded data, as it would be.
#[unsafe(link_section = ".data.mpi_started")]
static FAMILY: Entry = Entry::new(COLLECTIVES, &Collectives);

const NOT_ALLOWED: Error = Error::Wrong {
    class: Class::Request,
    what: "the request of a collective can neither be freed nor cancelled (MPI-3.1 section 5.12); complete it",
};

impl Family for Collectives {
    fn has(&self, handle: c_int) -> bool {
        STARTED.lock().objects.get(handle).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<Completed> {
        let started = STARTED.lock();
        let object = started.objects.get(handle)?;
        let State::Over(result) = &object.state else {
            return None;
        };
        let mut completed = with_status(MPI_Status::NO_RECEIVE);
        if let Err(error) = result {
            let blame = comm_objects::blame_in(object.membership.context);
            completed.rest = Some(Rest::Failed(blame, *error));
        }
        Some(completed)
    }

    fn forget(&self, handle: c_int) {
        let object = STARTED.lock().remove(handle);
        if let Some(Object { membership, .. }) = object {
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
