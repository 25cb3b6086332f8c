//! What becomes of a collective that a program has started and not completed, in whichever language.
//!
//! A binding keeps a list of these, where interrupts look, too: behind a lock that no call holds while it waits or makes
//! steps, and that an interrupt only tries.
#![forbid(unsafe_code)]

use core::mem::replace;

use crate::Adi;
use crate::device::HookResult;
use crate::device::memory::UserMemory;
use crate::device::request::RequestPool;
use crate::mpi::coll::borrowed_device::BorrowedEnv;
use crate::mpi::coll::running::{Plan, Running};
use crate::mpi::comm::{Communicator, Membership};
use crate::mpi::error::{Class, Error};
use crate::mpi::process::Process;

/// Where a collective stands.
pub(crate) enum State {
    /// It waits for messages.
    Running(Running),
    /// Its steps are being made right now, by a call further down on the stack.
    Stepping,
    Over(Result<(), Error>),
}

impl State {
    /// Begins a collective, the one with this number on its communicator. Fails with [`Error::NoRoom`] or
    /// [`Error::NoMemory`] when not one message could be started: then nothing has happened, and it can be tried again.
    pub(crate) fn begin(
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

    /// Goes on with one that has been [taken](State::take), until it has to wait for messages.
    pub(crate) fn go_on(mut running: Running, comm: Communicator<'_>) -> State {
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

    /// Takes it for the steps of a call, if it waits.
    pub(crate) fn take(&mut self) -> Option<Running> {
        match replace(self, State::Stepping) {
            State::Running(running) => Some(running),
            other => {
                *self = other;
                None
            }
        }
    }

    /// It can go on.
    pub(crate) fn is_ready(&self, requests: &RequestPool) -> bool {
        matches!(self, State::Running(running) if running.is_ready(requests))
    }
}

/// Steps that an interrupt makes at one go, of all collectives together.
const STEPS: u32 = 16;

/// Lets collectives go on from an interrupt: `each` calls what it is given with every one of a list.
pub(crate) fn advance_in_interrupt(
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
    match moved {
        true => HookResult::Advanced,
        false => HookResult::Idle,
    }
}
