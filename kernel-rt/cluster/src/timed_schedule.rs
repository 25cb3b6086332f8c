//! Virtual time: the work of links and processors has the costs of the [cost model](crate::costs), and nothing is
//! drawn.
//!
//! A processor does one thing at a time, and the costs of a call are added during it; a process sleeps for that time
//! before its node receives or injects another packet. Routers forward meanwhile. Computation costs nothing, except for
//! [`Node::compute_ns`](super::SimProcess::compute_ns), which received packets interrupt.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use midplane_device::Adi;
use net_torus::Link;
use net_torus::torus::Torus;

use super::events::EventQueue;
use super::packet_gate::GatedPort;
use super::processor::CountingMemory;
use super::schedule::{ProcessPhase, SharedState};
use crate::costs::{INJECT, OperationCosts};
use crate::step_port::StepPort;

impl SharedState<'_> {
    /// Runs the scheduled events of routers, and of nodes whose programs have ended, until a program must run; returns
    /// its rank. Returns `None` if nothing moves any more, before the horizon of these nodes if they are a block.
    pub(super) fn next_event(&self, events: &RefCell<EventQueue>, costs: &OperationCosts) -> Option<usize> {
        while !self.is_over() {
            let (now, rank) = events.borrow_mut().next(self.wires.horizon())?;
            self.wires.now.set(now);
            let moved = {
                let torus = &mut *self.body(rank).torus.borrow_mut();
                let taken = torus.receive_frames(now);
                transmit_all(torus, now) || taken
            };
            let processor = &self.processors[rank];
            if now < processor.busy_until.get() {
                continue;
            }
            match self.phases[rank].get() {
                ProcessPhase::Computing => return Some(rank),
                ProcessPhase::Asleep if self.may_receive(rank, moved) => return Some(rank),
                ProcessPhase::Interruptible(until) if now >= until || self.may_receive(rank, moved) => {
                    return Some(rank);
                }
                ProcessPhase::Asleep | ProcessPhase::Interruptible(_) => {}
                // It may have acknowledgements to send, and its program's remaining packets.
                ProcessPhase::Finished => {
                    let adi = &mut *self.body(rank).adi.borrow_mut();
                    if self.timed_step(rank, adi, &mut CountingMemory::default(), costs) {
                        let until = processor.busy_until.get();
                        events.borrow_mut().plan(until, rank);
                    }
                }
            }
        }
        None
    }

    /// Returns whether a step of this node may find work; its router has `moved`.
    fn may_receive(&self, rank: usize, moved: bool) -> bool {
        let has_received = self.body(rank).torus.borrow().router().has_received();
        let is_released = { self.explored.iter() }.any(|explored| explored.is_released(rank));
        has_received || is_released || moved && self.processors[rank].owes.get()
    }

    /// Occupies the processor for `ns` more nanoseconds.
    pub(super) fn spend(&self, rank: usize, ns: u64) {
        let busy_until = &self.processors[rank].busy_until;
        busy_until.set(busy_until.get().max(self.wires.now.get()) + ns);
        let busy = &self.processors[rank].busy;
        busy.set(busy.get() + ns);
    }

    /// Returns the clock of the process, until its program has ended, and its processor's idle time, in nanoseconds.
    /// Without costs it is always idle.
    pub(super) fn times(&self, rank: usize) -> [u64; 2] {
        let now = self.end(rank).unwrap_or(self.now(rank));
        let busy = self.processors.get(rank).map_or(now, |processor| processor.busy.get());
        [now, now.saturating_sub(busy)]
    }

    /// Returns the time of the end of the processor's work.
    pub(super) fn time_of(&self, rank: usize) -> u64 {
        let busy_until = self.processors[rank].busy_until.get();
        busy_until.max(self.wires.now.get())
    }

    /// Charges the searches and copies since the last time.
    pub(super) fn pay(&self, rank: usize, adi: &Adi, memory: &mut CountingMemory, costs: &OperationCosts) {
        let searched = adi.search_steps();
        let entries = searched - self.processors[rank].searched.replace(searched);
        let copied = costs.copies(std::mem::take(&mut memory.0) as u64);
        self.spend(rank, entries * costs.search_ns + copied);
    }

    /// Makes one step of the node `rank`, whose processor is free, and whose router has received all arrived frames.
    /// Receives at most one packet; returns true if anything moved.
    pub(super) fn timed_step(
        &self,
        rank: usize,
        adi: &mut Adi,
        memory: &mut CountingMemory,
        costs: &OperationCosts,
    ) -> bool {
        let now = self.wires.now.get();
        let torus = &mut *self.body(rank).torus.borrow_mut();
        let mut hands = StepPort {
            router: torus.router_mut(),
            take: 1,
            inject: INJECT,
            packets: 0,
        };
        let (moved, packets) = match &self.explored {
            None => (adi.progress(&mut hands, memory), hands.packets),
            Some(explored) => {
                let gate = &mut *explored.gate(rank).borrow_mut();
                gate.receive(hands.router);
                let mut port = GatedPort { step: hands, gate };
                (adi.progress(&mut port, memory), port.step.packets)
            }
        };
        transmit_all(torus, now);
        self.spend(rank, packets * costs.packet_ns + u64::from(moved && packets == 0));
        self.pay(rank, adi, memory, costs);
        // Rejected or unacknowledged messages wait for packets, not for free space.
        let owes = adi.has_pending_tx() || adi.has_delayed_acks();
        self.processors[rank].owes.set(owes);
        moved
    }
}

/// Passes all possible frames to the links, since the node is not checked again before an event. Returns true if there
/// were any.
fn transmit_all<L: Link>(torus: &mut Torus<'_, L>, now: u64) -> bool {
    let given = torus.transmit_frames(now);
    while !torus.is_transmitted() && torus.transmit_frames(now) {}
    given
}
