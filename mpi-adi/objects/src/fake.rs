//! A test environment without a network. It counts progress steps and sleeps.

use std::cell::{Cell, RefCell};

use net_torus::Shape;

use crate::process::{Env, Process};
use midplane_device::Adi;
use midplane_device::config::{DeviceConfig, DeviceMemory};
use midplane_device::envelope::Rank;
use midplane_device::interface::{EnterDevice, Work};
use midplane_device::kernel::{AbortReason, CallInfo, Kernel};
use midplane_device::memory::{RawMemory, UserMemory};

/// Environment of a one-process job.
pub struct FakeEnv {
    adi: RefCell<Adi>,
    process: Process,
    counts: CallCounts,
}

#[derive(Default)]
struct CallCounts {
    polls: Cell<usize>,
    moves: Cell<usize>,
    sleeps: Cell<usize>,
}

struct FakeKernel<'a> {
    counts: &'a CallCounts,
    memory: RawMemory,
}

impl Default for FakeEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeEnv {
    /// Returns an idle device, alone in its job.
    pub fn new() -> Self {
        let config = DeviceConfig {
            shape: Shape::new([1; 3], [true; 3]).expect("a torus of one node"),
            rank: Rank::new(0),
            request_slots: usize::MAX,
        };
        let memory = DeviceMemory::allocate(1 << 10, 1).expect("memory");
        FakeEnv {
            adi: RefCell::new(Adi::new(config, memory).expect("a rank of the machine")),
            process: Process::new(),
            counts: CallCounts::default(),
        }
    }

    /// Returns the number of progress steps.
    pub fn polls(&self) -> usize {
        self.counts.polls.get()
    }

    /// Makes the next `polls` progress steps report a change.
    pub fn moves(&self, polls: usize) {
        self.counts.moves.set(polls);
    }

    /// Returns how often the process slept.
    pub fn sleeps(&self) -> usize {
        self.counts.sleeps.get()
    }
}

impl EnterDevice for FakeEnv {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let mut kernel = FakeKernel {
            counts: &self.counts,
            memory: RawMemory,
        };
        work(&mut self.adi.borrow_mut(), &mut kernel);
    }
}

impl Env for FakeEnv {
    fn process(&self) -> &Process {
        &self.process
    }
}

impl Kernel for FakeKernel<'_> {
    fn poll(&mut self, _: &mut Adi) -> bool {
        let counts = self.counts;
        counts.polls.set(counts.polls.get() + 1);
        let moves = counts.moves.get();
        counts.moves.set(moves.saturating_sub(1));
        moves > 0
    }

    fn idle(&mut self) {
        self.counts.sleeps.set(self.counts.sleeps.get() + 1);
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        &mut self.memory
    }

    fn now(&self) -> u64 {
        0
    }

    fn record_call(&mut self, _: Option<CallInfo>) {}

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        panic!("the job ends with {status}: {why:?}")
    }
}
