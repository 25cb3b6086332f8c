//! Restarts (resend requests) of rejected sources: their contents and their order.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::envelope::{MatchPattern, Rank};
use crate::ids::{Horizon, Slot};
use crate::memory::UserMemory;
use crate::peers::SourceState;
use crate::protocol::{Age, ProtocolRules};
use crate::request::NEEDS_LISTING;
use crate::wire::{DoneMessage, RESTART_ENTRIES, ROOM_FOR_ALL, RestartEntry, RestartRequest};
use msg_layer::MalformedPacket;

/// Maximum `room` of one restart in messages, so that sources share the free memory.
const RESTART_ROOM: u16 = 8;
/// Receives that a restart lists.
type RestartEntries = heapless::Vec<RestartEntry, RESTART_ENTRIES>;

/// Lists a receive of `pattern`; returns false when the list is full.
fn list_receive(entries: &mut RestartEntries, pattern: &MatchPattern, is_exact: bool) -> bool {
    let entry = RestartEntry::new(pattern.context(), pattern.tag(), is_exact);
    entries.push(entry).is_ok()
}

impl<R: ProtocolRules> Adi<R> {
    /// Creates the restart for `source` under its new age: the receives posted since its last one, and the free memory.
    /// When a restart cannot list all receives, it requests all messages.
    pub(crate) fn make_restart<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        age: Age,
    ) -> RestartRequest {
        let room = u16::try_from(self.region.free_blocks(memory))
            .unwrap_or(u16::MAX)
            .min(RESTART_ROOM);
        let mut entries = RestartEntries::new();
        let mut fits = true;
        let mut exact = self.next_exact(self.receiver.exact_to_list.head(), source);
        let mut wildcard = self.receiver.wildcards.head();
        // Both lists are in the order of posting.
        loop {
            let serial = |slot| self.requests.posted(slot).serial;
            let is_exact_first = match (exact, wildcard.filter(|_| fits)) {
                (None, None) => break,
                (Some(exact), Some(wildcard)) => serial(exact) < serial(wildcard),
                (exact, _) => exact.is_some(),
            };
            let next = if is_exact_first { exact } else { wildcard };
            let slot = next.expect("the first slot");
            let pattern = self.requests.posted(slot).pattern;
            let next = self.requests.next_in::<NEEDS_LISTING>(slot);
            fits = fits && list_receive(&mut entries, &pattern, is_exact_first);
            if is_exact_first {
                self.requests.set_needs_listing(slot, false);
                self.receiver
                    .exact_to_list
                    .remove(&mut self.requests.links::<NEEDS_LISTING>(), slot);
                exact = self.next_exact(next, source);
            } else {
                self.stats.named += 1;
                wildcard = next;
            }
        }
        // Probes are last: they find only messages that no receive matches.
        for pattern in self.receiver.probes.patterns_without_note() {
            if pattern.source().is_none_or(|of| of == source) {
                fits = fits && list_receive(&mut entries, &pattern, false);
            }
        }
        if !fits {
            entries.clear();
        }
        RestartRequest {
            age,
            room: if fits { room } else { ROOM_FOR_ALL },
            horizon: self.rules().on_the_wire(self.receiver.posts),
            entries,
        }
    }

    /// Returns the next receive from `source` that no restart has listed, from `next` on.
    fn next_exact(&mut self, mut next: Option<Slot>, source: Rank) -> Option<Slot> {
        while let Some(slot) = next {
            self.stats.named += 1;
            if self.requests.posted(slot).pattern.source() == Some(source) {
                break;
            }
            next = self.requests.next_in::<NEEDS_LISTING>(slot);
        }
        next
    }

    /// Returns whether messages to this process are rejected for lack of memory: a host with a heap loan then reports
    /// free memory by [`Adi::heap_freed`].
    pub fn starves_others(&self) -> bool {
        self.peers.waiting_count() > 0
    }

    /// Handles memory that the program has freed in its heap, which may now be available for a loan: queues restarts to
    /// sources with rejected messages. Does nothing while restarts are in flight; their replies queue the next ones.
    pub fn heap_freed<M: UserMemory + ?Sized>(&mut self, memory: &M) {
        let rules = self.rules();
        if self.peers.in_flight_count() == 0 {
            self.peers.restart_next(self.region.free_blocks(memory), rules);
        }
    }

    /// Returns whether the receive in `slot` was posted before the restart with this `horizon` was created.
    pub(crate) fn is_older(&self, slot: Slot, horizon: Option<Horizon>) -> bool {
        let horizon = horizon.map(|said| self.rules().horizon(said, self.receiver.posts));
        horizon.is_some_and(|horizon| self.requests.posted(slot).serial < horizon)
    }

    /// Handles an event of `source`, previously in state `before`, under the current age: it closes a restart in
    /// flight. Queues restarts to sources that wait for memory or for a posted receive.
    pub(crate) fn advance_restarts<M: UserMemory + ?Sized>(&mut self, memory: &M, source: Rank, before: SourceState) {
        if self.peers.has_no_rejected() {
            if before != SourceState::Clear {
                self.end_cancelled(source);
            }
            return;
        }
        let rules = self.rules();
        self.peers.renew_restart(source, before, rules);
        // A source that was asked for a receive from any source has replied. The next source is asked if the receive is
        // still posted, or a probe still has no note.
        if self.peers.queued_wildcards() > 0 && (self.has_open_wildcard() || self.receiver.probes.has_open_wildcard()) {
            self.peers.restart_wildcards(rules);
        }
        if self.peers.waiting_count() > 0 && self.region.free_blocks(memory) > 0 {
            self.peers.restart_next(1, rules);
        }
        if before.has_restart_in_flight() {
            self.end_cancelled(source);
        }
    }

    pub(crate) fn handle_done<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        done: DoneMessage,
    ) -> Result<(), MalformedPacket> {
        let standing = self.peers.source_state(source);
        let open = matches!(standing, SourceState::RestartSent | SourceState::RestartSentStale);
        if !open || self.peers.ages(source).from != done.age {
            return Err(MalformedPacket);
        }
        self.peers.note_accepted(source, done.more, false);
        self.advance_restarts(memory, source, standing);
        Ok(())
    }
}
