//! Virtual time: what links and processors do costs what the [cost model](crate::costs) says, and nothing is drawn.
//!
//! A processor does one thing at a time, and what a call costs is added up where it is made; a process sleeps until then
//! before its node takes or injects another packet. Routers forward meanwhile. Computing costs nothing, save for
//! [`Node::compute_ns`](super::Node::compute_ns), which what comes interrupts.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use midplane_device::Adi;
use net_torus::Link;
use net_torus::torus::Torus;

use super::events::Events;
use super::processor::Counted;
use super::schedule::{Phase, Shared};
use crate::costs::{Costs, INJECT};
use crate::hands::Hands;

impl Shared<'_> {
    /// Lets routers and nodes whose programs have ended do what is planned, until a program is to go on: whose.
    /// `None`: nothing moves any more, before the horizon of these nodes if they are a block.
    pub(super) fn next_event(&self, events: &RefCell<Events>, costs: &Costs) -> Option<usize> {
        while !self.is_over() {
            let (now, rank) = events.borrow_mut().next(self.wires.horizon())?;
            self.wires.now.set(now);
            let moved = {
                let torus = &mut *self.body(rank).torus.borrow_mut();
                let taken = torus.take_frames(now);
                give_all(torus, now) || taken
            };
            let processor = &self.processors[rank];
            if now < processor.busy_until.get() {
                continue;
            }
            match self.phases[rank].get() {
                Phase::Computing => return Some(rank),
                Phase::Asleep if self.has_news(rank, moved) => return Some(rank),
                Phase::Interruptible(until) if now >= until || self.has_news(rank, moved) => {
                    return Some(rank);
                }
                Phase::Asleep | Phase::Interruptible(_) => {}
                // It may have to answer, and to send what its program left behind.
                Phase::Finished => {
                    let adi = &mut *self.body(rank).adi.borrow_mut();
                    if self.timed_step(rank, adi, &mut Counted::default(), costs) {
                        let until = processor.busy_until.get();
                        events.borrow_mut().plan(until, rank);
                    }
                }
            }
        }
        None
    }

    /// A step of this node may find something to do; its router has `moved`.
    fn has_news(&self, rank: usize, moved: bool) -> bool {
        let has_received = self.body(rank).torus.borrow().router().has_received();
        has_received || moved && self.processors[rank].owes.get()
    }

    /// The processor works for so many nanoseconds more.
    pub(super) fn spend(&self, rank: usize, ns: u64) {
        let busy_until = &self.processors[rank].busy_until;
        busy_until.set(busy_until.get().max(self.wires.now.get()) + ns);
        let busy = &self.processors[rank].busy;
        busy.set(busy.get() + ns);
    }

    /// The clock of the process, until its program has ended, and for how much of that time its processor had nothing to
    /// do; in nanoseconds. Without costs it always has.
    pub(super) fn times(&self, rank: usize) -> [u64; 2] {
        let now = self.end(rank).unwrap_or(self.now(rank));
        let busy = self
            .processors
            .get(rank)
            .map_or(now, |processor| processor.busy.get());
        [now, now.saturating_sub(busy)]
    }

    /// When the processor has done all that it has been given.
    pub(super) fn time_of(&self, rank: usize) -> u64 {
        let busy_until = self.processors[rank].busy_until.get();
        busy_until.max(self.wires.now.get())
    }

    /// Pays for what was searched and copied since the last time.
    pub(super) fn pay(&self, rank: usize, adi: &Adi, memory: &mut Counted, costs: &Costs) {
        let searched = adi.searched();
        let entries = searched - self.processors[rank].searched.replace(searched);
        let copied = costs.copies(std::mem::take(&mut memory.0) as u64);
        self.spend(rank, entries * costs.search_ns + copied);
    }

    /// One step of the node `rank`, whose processor is free, and whose router has taken what there is: it takes one packet
    /// at most; true when anything moved.
    pub(super) fn timed_step(
        &self,
        rank: usize,
        adi: &mut Adi,
        memory: &mut Counted,
        costs: &Costs,
    ) -> bool {
        let now = self.wires.now.get();
        let torus = &mut *self.body(rank).torus.borrow_mut();
        let mut hands = Hands {
            router: torus.router_mut(),
            take: 1,
            inject: INJECT,
            packets: 0,
        };
        let moved = adi.progress(&mut hands, memory);
        let packets = hands.packets;
        give_all(torus, now);
        self.spend(
            rank,
            packets * costs.packet_ns + u64::from(moved && packets == 0),
        );
        self.pay(rank, adi, memory, costs);
        // What is refused or unanswered waits for packets, not for room.
        let owes = adi.has_to_send() || adi.has_deferred();
        self.processors[rank].owes.set(owes);
        moved
    }
}

/// Gives the links all that they take now, since nobody looks at the node again before something happens to it. True if there
/// was anything.
fn give_all<L: Link>(torus: &mut Torus<'_, L>, now: u64) -> bool {
    let given = torus.give_frames(now);
    while !torus.is_given() && torus.give_frames(now) {}
    given
}
