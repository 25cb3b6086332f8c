//! State of a started, uncompleted nonblocking collective, for all bindings.
//!
//! A binding keeps a list of these, which interrupt handlers also check. A lock protects the list. No call holds it
//! while it waits or performs steps, and an interrupt handler only tries it.
#![forbid(unsafe_code)]

use core::mem::replace;

use crate::coll::borrowed_device::BorrowedEnv;
use crate::coll::running::{CollectiveSchedule, RunningCollective};
use crate::comm::{Communicator, Membership};
use crate::error::{Error, ErrorClass};
use crate::process::Process;
use midplane_device::Adi;
use midplane_device::HookResult;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;

/// State of a collective.
pub enum CollectiveState {
    /// Waits for messages.
    Running(RunningCollective),
    /// A call further down the stack is performing its steps.
    Stepping,
    /// The collective has completed, with this result.
    Done(Result<(), Error>),
}

impl CollectiveState {
    /// Starts a collective with this sequence number on its communicator. Fails with [`Error::NoSpace`] or
    /// [`Error::NoMemory`] if it could not start any message; it then has no effect, and can be retried.
    pub fn begin(
        comm: Communicator<'_>,
        function: &'static str,
        number: u32,
        plan: CollectiveSchedule,
    ) -> Result<CollectiveState, Error> {
        let mut running = RunningCollective::new(comm, function, number, plan)?;
        match running.advance(comm) {
            Err(error) if !running.has_begun() && error.class() == ErrorClass::NoMem => Err(error),
            is_over => Ok(CollectiveState::after(running, is_over)),
        }
    }

    /// Advances a [taken](CollectiveState::take_running) collective until it must wait for messages.
    pub fn resume(mut running: RunningCollective, comm: Communicator<'_>) -> CollectiveState {
        let is_over = running.advance(comm);
        CollectiveState::after(running, is_over)
    }

    fn after(running: RunningCollective, is_over: Result<bool, Error>) -> CollectiveState {
        match is_over {
            Ok(false) => CollectiveState::Running(running),
            Ok(true) => CollectiveState::Done(Ok(())),
            Err(error) => CollectiveState::Done(Err(error)),
        }
    }

    /// Takes a waiting collective for the steps of a call.
    pub fn take_running(&mut self) -> Option<RunningCollective> {
        match replace(self, CollectiveState::Stepping) {
            CollectiveState::Running(running) => Some(running),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Checks whether it can advance.
    pub fn is_ready(&self, requests: &RequestPool) -> bool {
        matches!(self, CollectiveState::Running(running) if running.is_ready(requests))
    }
}

/// Maximum steps of one interrupt, for all collectives together.
const STEPS: u32 = 16;

/// Advances collectives from an interrupt handler: `each` calls its argument for every entry of a list.
pub fn advance_in_interrupt(
    adi: &mut Adi,
    memory: &mut dyn UserMemory,
    process: &Process,
    each: impl FnOnce(&mut dyn FnMut(Membership<'_>, &mut CollectiveState)),
) -> HookResult {
    let device = BorrowedEnv::new(adi, memory, process);
    let (mut steps, mut moved) = (STEPS, false);
    each(&mut |membership, state| {
        if let CollectiveState::Running(running) = state {
            moved |= running.advance_in_interrupt(Communicator::at(&device, membership), &mut steps);
        }
    });
    if moved { HookResult::Advanced } else { HookResult::Idle }
}
