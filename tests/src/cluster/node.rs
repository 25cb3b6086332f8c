//! One process of a cluster, and what its calls reach.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::panic::resume_unwind;

use mpi_adi::kernel::{AbortReason, CallNote, Kernel};
use mpi_adi::matching::{Engine, Matching};
use mpi_adi::memory::{RawMemory, UserMemory};
use mpi_adi::protocol::Sound;
use mpi_adi::{Adi, Env, Process, Work};
use net_torus::Torus;
use net_torus::sim::SimLink;

use super::Failure;
use super::schedule::{Body, Over, Phase, STEP_NS, Shared, lock};

/// One process of a cluster, as its program sees it.
pub struct Node<'a, 'm, E = Engine> {
    shared: &'a Shared<'m, E>,
    rank: usize,
    inside: RefCell<()>,
    process: Process,
}

struct NodeKernel<'a, 'm, E> {
    shared: &'a Shared<'m, E>,
    torus: &'a mut Torus<'m, SimLink>,
    rank: usize,
    memory: RawMemory,
}

impl<E: Matching> Kernel<E> for NodeKernel<'_, '_, E> {
    fn poll(&mut self, adi: &mut Adi<Sound, E>) -> bool {
        let now = {
            let mut schedule = lock(&self.shared.schedule);
            schedule.clock += STEP_NS;
            schedule.clock
        };
        let moved = self.torus.step(now);
        let moved = adi.progress(self.torus.router_mut(), &mut self.memory) | moved;
        let moved = self.torus.step(now) | moved;
        self.shared.moved(self.rank, moved, false);
        moved
    }

    fn idle(&mut self) {
        self.shared.pass(self.rank, Phase::Asleep);
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.memory
    }

    fn now(&self) -> u64 {
        lock(&self.shared.schedule).clock
    }

    fn note(&mut self, call: Option<CallNote>) {
        lock(&self.shared.schedule).calls[self.rank] = call;
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        let message = match why {
            AbortReason::MpiAbort => String::from("MPI_Abort"),
            AbortReason::MpiError(text) => text.to_owned(),
        };
        self.shared.fail(Failure::Abort {
            rank: self.rank as u32,
            status,
            message,
        });
        resume_unwind(Box::new(Over))
    }
}

impl<E: Matching> Env<E> for Node<'_, '_, E> {
    fn with<'f>(&self, f: &'f mut Work<'f, E>) {
        let _inside = self.inside.borrow_mut();
        let yields = lock(&self.shared.schedule).random.chance(0.2);
        if yields {
            self.shared.pass(self.rank, Phase::Computing);
        }
        let mut body = lock(&self.shared.bodies[self.rank]);
        let Body { adi, torus } = &mut *body;
        f(
            adi,
            &mut NodeKernel {
                shared: self.shared,
                torus,
                rank: self.rank,
                memory: RawMemory,
            },
        );
        // Whatever the call did, others may now have something to do.
        lock(&self.shared.schedule).tried.fill(false);
    }

    fn process(&self) -> &Process {
        &self.process
    }
}

impl<'a, 'm, E: Matching> Node<'a, 'm, E> {
    pub(super) fn new(shared: &'a Shared<'m, E>, rank: usize) -> Node<'a, 'm, E> {
        Node {
            shared,
            rank,
            inside: RefCell::new(()),
            process: Process::new(),
        }
    }

    /// This process's number.
    pub fn rank(&self) -> u32 {
        self.rank as u32
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.shared.bodies.len() as u32
    }

    /// Computes for a while: others run, and this node's interrupts are served.
    pub fn compute(&self, steps: usize) {
        for _ in 0..steps {
            self.shared.pass(self.rank, Phase::Computing);
        }
    }
}
