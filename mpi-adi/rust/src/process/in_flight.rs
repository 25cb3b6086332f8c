//! List of the nonblocking collectives in progress.
//!
//! The program and the interrupt handlers (or the progress thread that replaces them) share a process's list behind a
//! lock. No call holds the lock while it waits, advances a collective or frees memory; an interrupt handler only tries
//! to lock. All other state of the binding ([`ProcessState`](super::ProcessState)) is used by the program's thread alone.

use alloc::rc::Rc;
use alloc::vec::Vec;

use spin::Mutex;

use crate::topology::CommState;
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;
use midplane_device::{Adi, HookResult};
use midplane_objects::coll::RunningCollective;
use midplane_objects::coll::in_flight::{CollectiveState, advance_in_interrupt};
use midplane_objects::error::Error;
use midplane_objects::process::{Env, Process};

/// Collectives that the program has started and not completed, by index.
pub(crate) struct InFlightCollectives(Mutex<Vec<Option<CollectiveEntry>>>);

/// A collective; keeps its communicator's state alive.
struct CollectiveEntry {
    comm: Rc<CommState>,
    state: CollectiveState,
}

// SAFETY: only calls, on the program's thread, clone and drop the state. An interrupt handler reads its constant
// membership. A state may be used by any thread.
unsafe impl Send for CollectiveEntry where CollectiveState: Send {}

impl InFlightCollectives {
    pub(crate) const fn new() -> InFlightCollectives {
        InFlightCollectives(Mutex::new(Vec::new()))
    }

    /// Adds a collective in the stepping state and returns its index, or [`Error::NoSpace`].
    pub(crate) fn add(&self, comm: &Rc<CommState>) -> Result<usize, Error> {
        let mut list = self.0.lock();
        let (comm, state) = (comm.clone(), CollectiveState::Stepping);
        let entry = CollectiveEntry { comm, state };
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
    pub(crate) fn take_from(&self, place: &mut usize) -> Option<(Rc<CommState>, RunningCollective)> {
        let mut list = self.0.lock();
        while let Some(entry) = list.get_mut(*place) {
            *place += 1;
            if let Some(entry) = entry
                && let Some(running) = entry.state.take_running()
            {
                return Some((entry.comm.clone(), running));
            }
        }
        None
    }

    /// Stores the state after the steps. From now on interrupt handlers may advance it. The notification makes the host
    /// check for messages that were received since the last poll.
    pub(crate) fn put_back(&self, env: &dyn Env, place: usize, state: CollectiveState) {
        if let Some(Some(entry)) = self.0.lock().get_mut(place) {
            entry.state = state;
        }
        env.notify();
    }

    /// Removes a collective, and returns its state.
    pub(crate) fn remove(&self, place: usize) -> Option<CollectiveState> {
        let entry = self.0.lock().get_mut(place)?.take();
        entry.map(|entry| entry.state)
    }

    /// Checks whether the collective with this index is complete.
    pub(crate) fn is_over(&self, place: usize) -> bool {
        let list = self.0.lock();
        let entry = list.get(place).and_then(Option::as_ref);
        entry.is_none_or(|entry| matches!(entry.state, CollectiveState::Done(_)))
    }

    /// Checks whether a collective can advance.
    pub(crate) fn is_ready(&self, requests: &RequestPool) -> bool {
        let list = self.0.lock();
        list.iter().flatten().any(|entry| entry.state.is_ready(requests))
    }

    /// Advances all collectives whose messages are complete, from an interrupt handler, while no call uses them.
    pub(crate) fn run_in_interrupt(&self, adi: &mut Adi, memory: &mut dyn UserMemory, process: &Process) -> HookResult {
        let Some(mut list) = self.0.try_lock() else {
            return HookResult::Busy;
        };
        advance_in_interrupt(adi, memory, process, |run| {
            for entry in list.iter_mut().flatten() {
                run(entry.comm.membership(), &mut entry.state);
            }
        })
    }
}
