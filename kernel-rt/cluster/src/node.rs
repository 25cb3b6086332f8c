//! One simulated process, and the implementation of its calls.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use corosensei::Yielder;
use midplane_device::Adi;
use midplane_device::interface::{EnterDevice, Work};
use midplane_device::kernel::{AbortReason, CallInfo, Kernel};
use midplane_device::memory::UserMemory;
use midplane_objects::{Env, ErrorText, Process};

use super::JobFailure;
use super::processor::CountingMemory;
use super::random_schedule::YIELDS;
use super::schedule::{ProcessPhase, SharedState};
use super::wires::WakeMode;

/// One simulated process, as its program sees it.
pub struct SimProcess<'a, 'm> {
    shared: &'a SharedState<'m>,
    rank: usize,
    inside: RefCell<()>,
    yielder: &'a Yielder<(), ()>,
    process: Process,
}

struct NodeKernel<'a, 'b, 'm> {
    node: &'a SimProcess<'b, 'm>,
    memory: CountingMemory,
    has_slept: bool,
}

/// Maximum time that a call polls for news.
const PATIENCE_NS: u64 = 10_000_000;

impl Kernel for NodeKernel<'_, '_, '_> {
    fn poll(&mut self, adi: &mut Adi) -> bool {
        let SimProcess { rank, yielder, .. } = *self.node;
        let moved = { self.node.shared }.poll(rank, adi, &mut self.memory, yielder);
        if !moved
            && let Some(host) = self.node.shared.host()
            && host.is_asked(rank)
        {
            self.count(adi);
        }
        moved
    }

    fn idle(&mut self) {
        self.has_slept = true;
        self.node.shared.sleep(self.node.rank, self.node.yielder);
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.memory
    }

    fn now(&self) -> u64 {
        self.node.shared.now(self.node.rank)
    }

    /// No other process needs the processor in virtual time, and each poll takes as long as a call.
    fn patience(&self) -> u64 {
        PATIENCE_NS
    }

    fn count(&mut self, adi: &Adi) {
        let SimProcess { shared, rank, .. } = *self.node;
        if let Some(host) = shared.host() {
            let torus = shared.body(rank).torus.borrow();
            host.counts(rank, adi, torus.router(), shared.times(rank));
        }
    }

    fn counted(&self, index: usize) -> u64 {
        let SimProcess { shared, rank, .. } = *self.node;
        shared.host().map_or(0, |host| host.counted(rank, index))
    }

    fn record_call(&mut self, call: Option<CallInfo>) {
        self.node.shared.note(self.node.rank, call);
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        if let Some(host) = self.node.shared.host() {
            host.aborts(why, status);
        }
        let message = match why {
            AbortReason::MpiAbort => String::from("MPI_Abort"),
            AbortReason::MpiError(error) => ErrorText(error).to_string(),
            AbortReason::DeadLink => String::from("a link is dead"),
        };
        let rank = self.node.rank();
        let abort = JobFailure::Abort { rank, status, message };
        self.node.shared.fail(rank, abort);
        self.node.shared.end_process(self.node.yielder)
    }
}

impl EnterDevice for SimProcess<'_, '_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let _inside = self.inside.borrow_mut();
        let shared = self.shared;
        match &shared.wires.looks {
            WakeMode::Random(_) => {
                let yields = shared.random.borrow_mut().chance(YIELDS);
                if yields {
                    shared.pass(self.rank, ProcessPhase::Computing, self.yielder);
                }
            }
            WakeMode::Timed(_, costs) => {
                shared.pause_entry(self.rank, self.yielder);
                shared.spend(self.rank, costs.call_ns);
            }
        }
        let adi = &mut *shared.body(self.rank).adi.borrow_mut();
        let mut kernel = NodeKernel {
            node: self,
            memory: CountingMemory::default(),
            has_slept: false,
        };
        work(adi, &mut kernel);
        if let WakeMode::Timed(_, costs) = &shared.wires.looks {
            shared.pay(self.rank, adi, &mut kernel.memory, costs);
            if kernel.has_slept {
                shared.spend(self.rank, costs.call_ns);
            }
        }
    }
}

impl Env for SimProcess<'_, '_> {
    fn process(&self) -> &Process {
        &self.process
    }
}

impl<'a, 'm> SimProcess<'a, 'm> {
    pub(super) fn new(shared: &'a SharedState<'m>, rank: usize, yielder: &'a Yielder<(), ()>) -> SimProcess<'a, 'm> {
        SimProcess {
            shared,
            rank,
            inside: RefCell::new(()),
            yielder,
            process: Process::new(),
        }
    }

    /// Ends the program with this status, at any point; only for programs of a [`ProgramHost`](super::ProgramHost), whose
    /// frames are never unwound.
    ///
    /// # Panics
    /// If the cluster has no carrier.
    pub fn exit(&self, status: i32) -> ! {
        assert!(self.shared.host().is_some(), "a program that can be unwound");
        self.shared.finish(self.rank, status);
        self.shared.end_process(self.yielder)
    }

    /// Reports the nodes' counters to the carrier, except this node's during a step, which reports them afterwards.
    /// Only for a job that ends with it; may be called by a signal handler in this process's strand.
    pub fn count_all(&self) {
        self.shared.count_all(self.rank);
    }

    /// Returns this process's rank.
    pub fn rank(&self) -> u32 {
        self.rank as u32
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        self.shared.size() as u32
    }

    /// Returns virtual time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.shared.now(self.rank)
    }

    /// Computes for a while: others run, and this node's interrupts are handled.
    pub fn compute(&self, steps: usize) {
        self.shared.compute(self.rank, steps, self.yielder);
    }

    /// Computes for `ns` nanoseconds of virtual time, in addition to the time in which the node handles received
    /// packets.
    pub fn compute_ns(&self, ns: u64) {
        self.shared.compute_ns(self.rank, ns, self.yielder);
    }
}
