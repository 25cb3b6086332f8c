//! Who moves is drawn from the seed, among the *ready* nodes: those that compute, and those whose links have given them
//! something to do since a step of theirs found nothing to do. Others would find nothing again, for a link is all by
//! which a node learns of another: so what moves is drawn as if all nodes were asked, in a time that does not grow with
//! their number.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use midplane_device::Adi;
use midplane_device::memory::{RawMemory, UserMemory};

use super::ready::Ready;
use super::schedule::{Phase, STEP_NS, Shared};

/// How often a process that enters the device gives the baton back first.
pub(super) const YIELDS: f64 = 0.2;

impl Shared<'_> {
    /// Draws who is next, and interrupts nodes on the way; `None`: nothing moves any more.
    pub(super) fn draw(&self, ready: &RefCell<Ready>) -> Option<usize> {
        let random = &mut *self.random.borrow_mut();
        while !self.is_over() {
            let next = ready.borrow().draw(random)?;
            let phase = self.phases[next].get();
            let interrupt = match phase {
                Phase::Finished => true,
                Phase::Asleep => false,
                Phase::Computing | Phase::Interruptible(_) => random.chance(0.5),
            };
            if !interrupt {
                return Some(next);
            }
            let adi = &mut *self.body(next).adi.borrow_mut();
            let moved = self.step(next, adi, &mut RawMemory);
            if !moved && phase == Phase::Finished {
                ready.borrow_mut().remove(next);
            }
        }
        None
    }

    /// One step of the node `rank`; true when anything moved.
    pub(super) fn step(&self, rank: usize, adi: &mut Adi, memory: &mut dyn UserMemory) -> bool {
        let now = self.wires.now.get() + STEP_NS;
        self.wires.now.set(now);
        let torus = &mut *self.body(rank).torus.borrow_mut();
        let moved = torus.step(now);
        let moved = adi.progress(torus.router_mut(), memory) | moved;
        torus.step(now) | moved
    }
}
