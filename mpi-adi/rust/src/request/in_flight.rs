//! Nonblocking collectives in progress, and their progress hook (MPI-3.1 section 5.12).
//!
//! The program and the interrupt handlers (or the progress thread that replaces them) share a process's list behind a
//! lock. No call holds the lock while it waits, advances a collective or frees memory; an interrupt handler only tries
//! to lock. All other state of the binding ([`ProcessState`]) is used by the program's thread alone.

use alloc::rc::Rc;
use alloc::vec::Vec;
use midplane_device::kernel::CallInfo;

use spin::Mutex;

use crate::process::{ProcessState, current, with_interrupted};
use crate::topology::CommRecord;
use midplane_device::Adi;
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;
use midplane_device::{HookResult, ProgressHook};
use midplane_objects::call::block_until;
use midplane_objects::coll::in_flight::{CollectiveState, advance_in_interrupt};
use midplane_objects::coll::{CollectiveSchedule, RunningCollective};
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;
use midplane_objects::process::{Env, Process};

/// Collectives that the program has started and not completed, by index.
pub(crate) struct InFlightCollectives(Mutex<Vec<Option<CollectiveEntry>>>);

/// A collective; keeps its communicator alive.
struct CollectiveEntry {
    record: Rc<CommRecord>,
    state: CollectiveState,
}

// SAFETY: only calls, on the program's thread, clone and drop the communicator. An interrupt handler reads its constant
// membership. A state may be used by any thread.
unsafe impl Send for CollectiveEntry where CollectiveState: Send {}

impl InFlightCollectives {
    pub(crate) const fn new() -> InFlightCollectives {
        InFlightCollectives(Mutex::new(Vec::new()))
    }

    /// Adds a collective in the stepping state and returns its index, or [`Error::NoSpace`].
    fn add(&self, record: &Rc<CommRecord>) -> Result<usize, Error> {
        let mut list = self.0.lock();
        let (record, state) = (record.clone(), CollectiveState::Stepping);
        let entry = CollectiveEntry { record, state };
        if let Some(place) = list.iter().position(Option::is_none) {
            list[place] = Some(entry);
            return Ok(place);
        }
        let bytes = size_of::<CollectiveEntry>();
        list.try_reserve(1).map_err(|_| Error::NoSpace { bytes })?;
        list.push(Some(entry));
        Ok(list.len() - 1)
    }

    /// Takes the next waiting collective, from index `place` on, for the steps of a call. Sets `place` to the index
    /// after it.
    fn take_from(&self, place: &mut usize) -> Option<(Rc<CommRecord>, RunningCollective)> {
        let mut list = self.0.lock();
        while let Some(entry) = list.get_mut(*place) {
            *place += 1;
            if let Some(entry) = entry
                && let Some(running) = entry.state.take_running()
            {
                return Some((entry.record.clone(), running));
            }
        }
        None
    }

    /// Stores the state after the steps. From now on interrupt handlers may advance it. The notification makes the host
    /// check for messages that were received since the last poll.
    fn put_back(&self, env: &dyn Env, place: usize, state: CollectiveState) {
        if let Some(Some(entry)) = self.0.lock().get_mut(place) {
            entry.state = state;
        }
        env.notify();
    }

    fn remove(&self, place: usize) -> Option<CollectiveEntry> {
        self.0.lock().get_mut(place)?.take()
    }

    /// Checks whether the collective with this index is complete.
    pub(super) fn is_over(&self, place: usize) -> bool {
        let list = self.0.lock();
        let entry = list.get(place).and_then(Option::as_ref);
        entry.is_none_or(|entry| matches!(entry.state, CollectiveState::Done(_)))
    }
}

/// Starts a collective of the communicator and returns its index. Returns [`Error::NoSpace`] or [`Error::NoMemory`] when
/// not even one message was started; the call has no effect then, and can be repeated.
pub(crate) fn start(record: &Rc<CommRecord>, function: &'static str, plan: CollectiveSchedule) -> Result<usize, Error> {
    let (core, all) = (record.core()?, &record.here.in_flight);
    record.here.open_to_interrupts();
    core.env().set_hook(ProgressHook {
        is_ready,
        run: advance_all,
        run_in_interrupt: Some(run_in_interrupt),
    });
    let place = all.add(record)?;
    let begun = CollectiveState::begin(core, function, record.started.get(), plan);
    let state = begun.inspect_err(|_| drop(all.remove(place)))?;
    record.started.set(record.started.get().wrapping_add(1));
    all.put_back(core.env(), place, state);
    Ok(place)
}

/// Checks whether a collective can advance.
fn is_ready(requests: &RequestPool) -> bool {
    let Some(here) = current() else { return false };
    let list = here.in_flight.0.lock();
    list.iter().flatten().any(|entry| entry.state.is_ready(requests))
}

/// Advances all collectives whose messages are complete.
fn advance_all() {
    let Some(here) = current() else { return };
    let Ok(env) = here.env() else { return };
    let mut place = 0;
    while let Some((record, running)) = here.in_flight.take_from(&mut place) {
        let core = Communicator::at(env, record.membership());
        let state = CollectiveState::resume(running, core);
        here.in_flight.put_back(env, place - 1, state);
    }
}

/// Advances like [`advance_all`], from an interrupt handler, while no call uses a collective.
fn run_in_interrupt(adi: &mut Adi, memory: &mut dyn UserMemory) -> HookResult {
    let look = |all: &InFlightCollectives, process: &Process| {
        let Some(mut list) = all.0.try_lock() else {
            return HookResult::Busy;
        };
        advance_in_interrupt(adi, memory, process, |run| {
            for entry in list.iter_mut().flatten() {
                run(entry.record.membership(), &mut entry.state);
            }
        })
    };
    with_interrupted(look).unwrap_or(HookResult::Idle)
}

/// Blocks until the collective with this index is complete, removes it, and returns its error.
pub(crate) fn wait(here: &ProcessState, function: &'static str, place: usize) -> Result<(), Error> {
    let env = here.env()?;
    let all = &here.in_flight;
    block_until(env, CallInfo::without_peer(function), || all.is_over(place));
    match here.in_flight.remove(place).map(|entry| entry.state) {
        Some(CollectiveState::Done(result)) => result,
        _ => Ok(()),
    }
}
