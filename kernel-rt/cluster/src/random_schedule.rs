//! Random schedule: the next node is drawn from the seed, among the *ready* nodes. These are the computing ones, and
//! those whose links have had news since the node's last unsuccessful step. The others would find nothing again,
//! because a node learns of others only by its links. So the draw is equivalent to one among all nodes, in a time
//! independent of their number.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use midplane_device::Adi;
use midplane_device::memory::{RawMemory, UserMemory};

use super::ready::ReadySet;
use super::schedule::{ProcessPhase, STEP_NS, SharedState};

/// Probability that a process gives the baton back first when it enters the device.
pub(super) const YIELDS: f64 = 0.2;

impl SharedState<'_> {
    /// Draws the next process, and interrupts nodes on the way; returns `None` if nothing moves any more.
    pub(super) fn draw(&self, ready: &RefCell<ReadySet>) -> Option<usize> {
        let random = &mut *self.random.borrow_mut();
        while !self.is_over() {
            let next = ready.borrow().draw(random)?;
            let phase = self.phases[next].get();
            let interrupt = match phase {
                ProcessPhase::Finished => true,
                ProcessPhase::Asleep => false,
                ProcessPhase::Computing | ProcessPhase::Interruptible(_) => random.chance(0.5),
            };
            if !interrupt {
                return Some(next);
            }
            let adi = &mut *self.body(next).adi.borrow_mut();
            let moved = self.step(next, adi, &mut RawMemory);
            if !moved && phase == ProcessPhase::Finished {
                ready.borrow_mut().remove(next);
            }
        }
        None
    }

    /// Makes one step of the node `rank`; returns true if anything moved.
    pub(super) fn step(&self, rank: usize, adi: &mut Adi, memory: &mut dyn UserMemory) -> bool {
        let now = self.wires.now.get() + STEP_NS;
        self.wires.now.set(now);
        let torus = &mut *self.body(rank).torus.borrow_mut();
        let moved = torus.step(now);
        let moved = adi.progress(torus.router_mut(), memory) | moved;
        torus.step(now) | moved
    }
}
