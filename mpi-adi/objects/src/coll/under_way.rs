//! State of a started, uncompleted nonblocking collective, for all bindings.
//!
//! A binding keeps a list of these, which interrupt handlers also check. A lock protects the list. No call holds it
//! while it waits or performs steps, and an interrupt handler only tries it.
#![forbid(unsafe_code)]

use core::mem::replace;

use crate::coll::borrowed_device::BorrowedEnv;
use crate::coll::running::{Plan, Running};
use crate::comm::{Communicator, Membership};
use crate::error::{Class, Error};
use crate::process::Process;
use midplane_device::Adi;
use midplane_device::HookResult;
use midplane_device::memory::UserMemory;
use midplane_device::request::RequestPool;

/// State of a collective.
pub enum State {
    /// Waits for messages.
    Running(Running),
    /// A call further down the stack is performing its steps.
    Stepping,
    /// The collective has completed, with this result.
    Over(Result<(), Error>),
}

impl State {
    /// Starts a collective with this sequence number on its communicator. Fails with [`Error::NoRoom`] or
    /// [`Error::NoMemory`] if it could not start any message; it then has no effect, and can be retried.
    pub fn begin(
        comm: Communicator<'_>,
        function: &'static str,
        number: u32,
        plan: Plan,
    ) -> Result<State, Error> {
        let mut running = Running::new(comm, function, number, plan)?;
        match running.advance(comm) {
            Err(error) if !running.has_begun() && error.class() == Class::NoMem => Err(error),
            is_over => Ok(State::after(running, is_over)),
        }
    }

    /// Advances a [taken](State::take) collective until it must wait for messages.
    pub fn go_on(mut running: Running, comm: Communicator<'_>) -> State {
        let is_over = running.advance(comm);
        State::after(running, is_over)
    }

    fn after(running: Running, is_over: Result<bool, Error>) -> State {
        match is_over {
            Ok(false) => State::Running(running),
            Ok(true) => State::Over(Ok(())),
            Err(error) => State::Over(Err(error)),
        }
    }

    /// Takes a waiting collective for the steps of a call.
    pub fn take(&mut self) -> Option<Running> {
        match replace(self, State::Stepping) {
            State::Running(running) => Some(running),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Checks whether it can advance.
    pub fn is_ready(&self, requests: &RequestPool) -> bool {
        matches!(self, State::Running(running) if running.is_ready(requests))
    }
}

/// Maximum steps of one interrupt, for all collectives together.
const STEPS: u32 = 16;

/// Advances collectives from an interrupt handler: `each` calls its argument for every entry of a list.
pub fn advance_in_interrupt(
    adi: &mut Adi,
    memory: &mut dyn UserMemory,
    process: &Process,
    each: impl FnOnce(&mut dyn FnMut(Membership<'_>, &mut State)),
) -> HookResult {
    let device = BorrowedEnv::new(adi, memory, process);
    let (mut steps, mut moved) = (STEPS, false);
    each(&mut |membership, state| {
        if let State::Running(running) = state {
            moved |=
                running.advance_in_interrupt(Communicator::at(&device, membership), &mut steps);
        }
    });
    if moved {
        HookResult::Advanced
    } else {
        HookResult::Idle
    }
}
