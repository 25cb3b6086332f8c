//! What becomes of a collective that a program has started and not completed, in whichever language.
//!
//! A binding keeps a list of these, where interrupts look, too: behind a lock that no call holds while it waits or makes
//! steps, and that an interrupt only tries.
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

/// Where a collective stands.
pub enum State {
    /// It waits for messages.
    Running(Running),
    /// Its steps are being made right now, by a call further down on the stack.
    Stepping,
    /// The collective has completed, with this result.
    Over(Result<(), Error>),
}

impl State {
    /// Begins a collective, the one with this number on its communicator. Fails with [`Error::NoRoom`] or
    /// [`Error::NoMemory`] when not one message could be started: then nothing has happened, and it can be tried again.
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

    /// Goes on with one that has been [taken](State::take), until it has to wait for messages.
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

    /// Takes it for the steps of a call, if it waits.
    pub fn take(&mut self) -> Option<Running> {
        match replace(self, State::Stepping) {
            State::Running(running) => Some(running),
            other => {
                *self = other;
                None
            }
        }
    }

    /// It can go on.
    pub fn is_ready(&self, requests: &RequestPool) -> bool {
        matches!(self, State::Running(running) if running.is_ready(requests))
    }
}

/// Steps that an interrupt makes at one go, of all collectives together.
const STEPS: u32 = 16;

/// Lets collectives go on from an interrupt: `each` calls what it is given with every one of a list.
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
    match moved {
        true => HookResult::Advanced,
        false => HookResult::Idle,
    }
}
