//! Start, progress hook and completion of nonblocking collectives (MPI-3.1 section 5.12).

use midplane_device::kernel::CallInfo;

use crate::process::{InFlightCollectives, ProcessState, current, with_interrupted};
use crate::topology::CommRecord;
use midplane_device::Adi;
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;
use midplane_device::{EventCount, HookResult, ProgressHook};
use midplane_objects::call::block_until;
use midplane_objects::coll::CollectiveSchedule;
use midplane_objects::coll::in_flight::CollectiveState;
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;
use midplane_objects::process::Process;

/// Starts a collective of the communicator and returns its index. Returns [`Error::NoSpace`] or [`Error::NoMemory`] when
/// not even one message was started; the call has no effect then, and can be repeated.
pub(crate) fn start(record: &CommRecord, function: &'static str, plan: CollectiveSchedule) -> Result<usize, Error> {
    let (core, all) = (record.core()?, &record.here.in_flight);
    record.here.open_to_interrupts();
    core.env().set_hook(ProgressHook {
        is_ready,
        run: advance_all,
        run_in_interrupt: Some(run_in_interrupt),
    });
    let place = all.add(record.state())?;
    let begun = CollectiveState::begin(core, function, record.started.get(), plan);
    let state = begun.inspect_err(|_| drop(all.remove(place)))?;
    record.started.set(record.started.get().wrapping_add(1));
    all.put_back(core.env(), place, state);
    Ok(place)
}

/// Checks whether a collective can advance.
fn is_ready(requests: &RequestPool, _: EventCount) -> bool {
    current().is_some_and(|here| here.in_flight.is_ready(requests))
}

/// Advances all collectives whose messages are complete.
fn advance_all() {
    let Some(here) = current() else { return };
    let Ok(env) = here.env() else { return };
    let mut place = 0;
    while let Some((comm, running)) = here.in_flight.take_from(&mut place) {
        let core = Communicator::at(env, comm.membership());
        let state = CollectiveState::resume(running, core);
        here.in_flight.put_back(env, place - 1, state);
    }
}

/// Advances like [`advance_all`], from an interrupt handler, while no call uses a collective.
fn run_in_interrupt(adi: &mut Adi, memory: &mut dyn UserMemory) -> HookResult {
    let advance = |all: &InFlightCollectives, process: &Process| all.run_in_interrupt(adi, memory, process);
    with_interrupted(advance).unwrap_or(HookResult::Idle)
}

/// Blocks until the collective with this index is complete, removes it, and returns its error.
pub(crate) fn wait(here: &ProcessState, function: &'static str, place: usize) -> Result<(), Error> {
    let env = here.env()?;
    let all = &here.in_flight;
    block_until(env, CallInfo::without_peer(function), || all.is_over(place));
    match all.remove(place) {
        Some(CollectiveState::Done(result)) => result,
        _ => Ok(()),
    }
}
