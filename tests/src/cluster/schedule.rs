//! Who moves: each process runs in a thread of its own, but only the one that holds the *baton* moves.
#![forbid(unsafe_code)]

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use mpi_adi::Adi;
use mpi_adi::kernel::CallNote;
use mpi_adi::matching::{Engine, Matching};
use mpi_adi::memory::{RawMemory, UserMemory};
use mpi_adi::protocol::Sound;
use net_torus::Torus;
use net_torus::sim::SimLink;

use super::Failure;
use crate::random::{Random, Stream};

/// Nanoseconds of virtual time that one step of one node takes.
pub(super) const STEP_NS: u64 = 1_000;

pub(super) struct Body<'m, E = Engine> {
    pub(super) adi: Adi<Sound, E>,
    pub(super) torus: Torus<'m, SimLink>,
}

impl<E: Matching> Body<'_, E> {
    pub(super) fn poll(&mut self, memory: &mut dyn UserMemory, now: u64) -> bool {
        let moved = self.torus.step(now);
        let moved = self.adi.progress(self.torus.router_mut(), memory) | moved;
        self.torus.step(now) | moved
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// In its own code, or about to enter the device: may get the baton, or be interrupted.
    Computing,
    /// Asleep inside a call: may get the baton.
    Asleep,
    /// Its program has ended; its node still forwards when interrupted.
    Finished,
}

pub(super) struct Schedule {
    pub(super) random: Random,
    pub(super) holder: usize,
    pub(super) phases: Vec<Phase>,
    /// Nodes that were tried since anything moved last.
    pub(super) tried: Vec<bool>,
    pub(super) clock: u64,
    pub(super) calls: Vec<Option<CallNote>>,
    pub(super) failure: Option<Failure>,
}

pub(super) struct Shared<'m, E = Engine> {
    pub(super) bodies: Vec<Mutex<Body<'m, E>>>,
    pub(super) schedule: Mutex<Schedule>,
    pub(super) wake: Vec<Condvar>,
}

/// Unwinds a process's thread when the job is over.
pub(super) struct Over;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'m, E: Matching> Shared<'m, E> {
    /// Before the first step: the baton is given away by [`Shared::choose`].
    pub(super) fn new(bodies: Vec<Mutex<Body<'m, E>>>, seed: u64) -> Shared<'m, E> {
        let nodes = bodies.len();
        let schedule = Schedule {
            random: Random::new(seed, Stream::Cluster),
            holder: usize::MAX,
            phases: vec![Phase::Computing; nodes],
            tried: vec![false; nodes],
            clock: 0,
            calls: vec![None; nodes],
            failure: None,
        };
        Shared {
            bodies,
            schedule: Mutex::new(schedule),
            wake: (0..nodes).map(|_| Condvar::new()).collect(),
        }
    }

    /// Waits until the baton is `rank`'s.
    pub(super) fn wait(&self, rank: usize) {
        let mut schedule = lock(&self.schedule);
        while schedule.holder != rank && schedule.failure.is_none() {
            schedule = self.wake[rank]
                .wait(schedule)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if schedule.failure.is_some() {
            drop(schedule);
            resume_unwind(Box::new(Over));
        }
    }

    pub(super) fn fail(&self, failure: Failure) {
        let mut schedule = lock(&self.schedule);
        schedule.failure.get_or_insert(failure);
        self.wake.iter().for_each(Condvar::notify_all);
    }

    /// Gives the baton away; returns to the caller once it has come back. A finished process does not wait.
    pub(super) fn pass(&self, rank: usize, phase: Phase) {
        {
            let mut schedule = lock(&self.schedule);
            schedule.phases[rank] = phase;
            if phase == Phase::Asleep {
                schedule.tried[rank] = true;
            }
        }
        self.choose();
        if phase != Phase::Finished {
            self.wait(rank);
            lock(&self.schedule).phases[rank] = Phase::Computing;
        }
    }

    /// Draws who is next, and interrupts nodes on the way.
    pub(super) fn choose(&self) {
        loop {
            let mut schedule = lock(&self.schedule);
            if schedule.failure.is_some() {
                return;
            }
            let waiting: Vec<usize> = (0..schedule.tried.len())
                .filter(|&r| !schedule.tried[r])
                .collect();
            if waiting.is_empty() {
                if schedule
                    .phases
                    .iter()
                    .all(|&phase| phase == Phase::Finished)
                {
                    return;
                }
                let failure = Failure::Hang(schedule.calls.clone());
                drop(schedule);
                return self.fail(failure);
            }
            let next = waiting[schedule.random.index(waiting.len())];
            let interrupt = match schedule.phases[next] {
                Phase::Finished => true,
                Phase::Asleep => false,
                Phase::Computing => schedule.random.chance(0.5),
            };
            if !interrupt {
                schedule.holder = next;
                self.wake[next].notify_all();
                return;
            }
            let finished = schedule.phases[next] == Phase::Finished;
            schedule.clock += STEP_NS;
            let now = schedule.clock;
            drop(schedule);
            let moved = lock(&self.bodies[next]).poll(&mut RawMemory, now);
            self.moved(next, moved, finished);
        }
    }

    /// Notes what a step of `rank` did. A computing process can always go on by itself, so it never counts
    /// as tried.
    pub(super) fn moved(&self, rank: usize, moved: bool, tried: bool) {
        let mut schedule = lock(&self.schedule);
        if moved {
            schedule.tried.fill(false);
        } else if tried {
            schedule.tried[rank] = true;
        }
    }
}
