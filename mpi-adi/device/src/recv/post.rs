//! The program's receives and probes.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::NoMemory;
use crate::envelope::{Pattern, Rank};
use crate::matching::Matching;
use crate::memory::region::Holding;
use crate::memory::{Span, UserMemory};
use crate::names::{BlockIndex, RequestId, Slot};
use crate::protocol::Rules;
use crate::recv::Probed;
use crate::recv::probe::Arming;
use crate::request::{
    Coming, KEPT_SLOTS, Matched, Posted, Receive, ReceiveState, Request, TO_NAME,
};
use crate::wire::Fields;
use msg_layer::Landing;

impl<R: Rules> Adi<R> {
    /// Starts a receive into `span`. Fails only when the program's heap has no space for the request.
    pub fn irecv<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        self.start_recv(memory, pattern, span, KEPT_SLOTS)
    }

    /// Starts a receive for a call that blocks until the request has completed. Uses the slots reserved for such calls,
    /// so it succeeds when the heap is exhausted.
    pub fn recv_within_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        self.start_recv(memory, pattern, span, 0)
    }

    /// Returns whether a receive with a reservation allocates nothing in the heap.
    pub fn is_reserved_for_receives(&self) -> bool {
        self.matching.has_reserved(self.requests.slots())
    }

    #[inline]
    pub(crate) fn start_recv<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
        keep: u32,
    ) -> Result<RequestId, NoMemory> {
        self.reserve_for_recv(keep)?;
        let found = self.matching.probe(&mut self.region, &pattern);
        self.start_recv_of(memory, &pattern, span, found)
    }

    /// Allocates memory for one receive in the heap, and `keep` additional slots for others.
    #[inline]
    pub(crate) fn reserve_for_recv(&mut self, keep: u32) -> Result<(), NoMemory> {
        let grown = self.requests.grow(1 + keep);
        let is_there = grown.is_ok() && self.matching.reserve(self.requests.slots()).is_ok();
        if is_there {
            Ok(())
        } else {
            Err(self.no_memory())
        }
    }

    /// Starts a receive that has reserved memory and a search result.
    #[cfg_attr(feature = "micro", inline)]
    #[cfg_attr(not(feature = "micro"), inline(always))]
    pub(crate) fn start_recv_of<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: &Pattern,
        span: Span,
        found: Option<BlockIndex>,
    ) -> Result<RequestId, NoMemory> {
        let posted = Posted {
            pattern: *pattern,
            serial: self.receiver.posts,
            to_name: false,
        };
        let state = ReceiveState::Posted(posted);
        let receive = Request::Receive(Receive { span, state });
        let Ok(id) = self.requests.insert(receive) else {
            return Err(self.no_memory());
        };
        self.receiver.posts += 1;
        match found {
            Some(record) => self.take_record(memory, id, record),
            None => {
                self.receiver.probes.posted(pattern);
                self.post(id.slot(), pattern);
            }
        }
        Ok(id)
    }

    /// Completes the match of a receive with the unexpected message recorded at `at`.
    #[inline(never)]
    fn take_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        id: RequestId,
        at: BlockIndex,
    ) {
        self.matching.unrecord(&mut self.region, at);
        self.match_record(memory, id, at);
    }

    /// Posts a receive, and queues restarts to sources with a rejected message that it may match.
    #[inline]
    pub(crate) fn post(&mut self, slot: Slot, pattern: &Pattern) {
        self.matching.post(&mut self.requests, slot);
        if self.peers.are_all_clear() {
            return;
        }
        let rules = self.rules();
        if self.peers.posted(pattern.source(), rules) {
            let list = if pattern.source().is_some() {
                &mut self.receiver.exact_to_name
            } else {
                &mut self.receiver.wildcards
            };
            list.push(&mut self.requests.links::<TO_NAME>(), slot);
            self.requests.set_to_name(slot, true);
        }
    }

    /// Removes a receive from the posted receive queue, and from the lists for restarts.
    #[inline]
    pub(crate) fn unpost(&mut self, slot: Slot) {
        self.matching.unpost(&mut self.requests, slot);
        let all_are_named =
            self.receiver.exact_to_name.is_empty() && self.receiver.wildcards.is_empty();
        if !all_are_named && self.requests.set_to_name(slot, false) {
            let list = if self.requests.posted(slot).pattern.source().is_some() {
                &mut self.receiver.exact_to_name
            } else {
                &mut self.receiver.wildcards
            };
            list.remove(&mut self.requests.links::<TO_NAME>(), slot);
        }
    }

    /// Matches a receive with the unexpected message recorded at `at`.
    pub(crate) fn match_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        id: RequestId,
        at: BlockIndex,
    ) {
        let record = self
            .region
            .record(at)
            .expect("the unexpected queue holds records");
        let slot = id.slot();
        let matched = Matched {
            envelope: record.envelope,
            length: record.length,
        };
        match record.holding {
            Holding::Nothing { sender } => {
                if let Some(send) = self.held_here(matched.envelope.source, sender) {
                    self.release(memory, at);
                    return self.take_held(memory, send, slot, matched);
                }
                let due = Coming::CtsDue { sender };
                self.requests
                    .set_receive_state(slot, ReceiveState::Matched(matched, due));
                self.receiver.cts_due.push(&mut self.requests, slot);
                self.release(memory, at);
            }
            Holding::Buffer { received } if received == record.length => {
                self.unload(memory, slot, matched, at);
            }
            Holding::Buffer { received } => {
                self.requests
                    .set_receive_state(slot, ReceiveState::Matched(matched, Coming::Bound));
                let bound = Holding::Bound {
                    received,
                    receive: id,
                };
                self.region.set_holding(at, bound);
            }
            Holding::Bound { .. } => unreachable!("a bound record is in no queue"),
        }
    }

    /// Copies a complete buffered message to its matched receive, and frees its record.
    pub(crate) fn unload<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        matched: Matched,
        at: BlockIndex,
    ) {
        let span = self.requests.span(slot);
        let bytes = self.region.read_buffer(at, matched.wanted(span));
        memory.write(span, 0, bytes);
        self.received(slot, matched);
        self.release(memory, at);
    }

    /// Completes the first posted receive with this arrived message, if it matches and requires no special handling.
    /// Returns its buffer. On `None`, nothing has changed, and the message must be matched.
    #[inline]
    pub(crate) fn finish_first(&mut self, matched: &Matched) -> Option<Span> {
        let slot = self.matching.first_posted()?;
        self.call_finish_plain(slot, matched)
    }

    /// Completes the first posted receive, inlined where it is likely to match.
    #[inline(always)]
    pub(crate) fn finish_likely_first(&mut self, matched: &Matched) -> Option<Span> {
        let slot = self.matching.first_posted()?;
        self.finish_plain(slot, matched)
    }

    // A call, since a message may match none.
    #[inline(never)]
    fn call_finish_plain(&mut self, slot: Slot, matched: &Matched) -> Option<Span> {
        self.finish_plain(slot, matched)
    }

    #[inline(always)]
    fn finish_plain(&mut self, slot: Slot, matched: &Matched) -> Option<Span> {
        let (span, next) = self.requests.finish_posted(slot, matched)?;
        self.matching.take_first(&mut self.requests, next);
        self.receiver.probes.taken(&matched.envelope);
        self.stats.messages_received += 1;
        Some(span)
    }

    #[inline]
    pub(crate) fn received(&mut self, slot: Slot, matched: Matched) {
        self.stats.messages_received += 1;
        self.requests.finish_receive(slot, matched);
    }

    /// Frees a record: memory that rejected sources wait for.
    pub(crate) fn release<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: BlockIndex) {
        let freed = self.region.release(memory, at);
        self.restart_for(freed);
    }

    /// Queues restarts for `freed` free blocks.
    #[inline]
    pub(crate) fn restart_for(&mut self, freed: u32) {
        let rules = self.rules();
        if rules.matched_releases() {
            self.peers.restart_next(freed, rules);
        }
    }

    /// Probes for an unexpected message. When there is none, the probe stays armed, so that it finds a message even if
    /// the MPI memory has no space for its record. So repeated probes find every message that was sent (MPI-3.1 section
    /// 3.8.1; see [`crate::recv::probe`]), in round robin over the patterns when there are more than can be armed.
    /// Fails only when the program's heap has no space for a single armed probe.
    pub fn iprobe(&mut self, pattern: Pattern) -> Result<Option<Probed>, NoMemory> {
        if let Some(index) = self.matching.probe(&mut self.region, &pattern) {
            let record = self
                .region
                .record(index)
                .expect("the unexpected queue holds records");
            return Ok(Some(Probed {
                envelope: record.envelope,
                length: record.length,
            }));
        }
        if let Some(noted) = self.receiver.probes.noted(&pattern) {
            return Ok(Some(noted));
        }
        self.arm(pattern).map(|()| None)
    }

    /// Arms a probe that has found nothing, and queues restarts to the waiting sources.
    pub(crate) fn arm(&mut self, pattern: Pattern) -> Result<(), NoMemory> {
        let arming = self.receiver.probes.arm(pattern);
        if arming.map_err(|_| NoMemory::ProbeRecord)? == Arming::New {
            let rules = self.rules();
            self.peers.posted(pattern.source(), rules);
        }
        Ok(())
    }

    /// Cancels an unmatched receive, or a send that no receive has matched (MPI-3.1 section 3.8.4). The request
    /// completes soon, independently of the other process's program; its outcome specifies whether it was cancelled.
    /// Returns whether it is already known to be cancelled.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        match self.requests.named_entry(id) {
            Some(entry) if entry.is_send() => self.withdraw(id.slot()),
            _ => self.cancel_receive(id),
        }
    }

    /// Dequeues the next receive with a pending CTS: its sender, and the fields of the CTS.
    pub(crate) fn next_due_cts(&mut self) -> Option<(Rank, Fields)> {
        let slot = self.receiver.cts_due.head()?;
        self.receiver.cts_due.remove(&mut self.requests, slot);
        let Some((matched, sender)) = self.requests.listed(slot).cts_due() else {
            unreachable!("the list of CTSs that are due names a receive that owes none")
        };
        Some((
            matched.envelope.source,
            self.clear_to_send(slot, matched, sender),
        ))
    }

    /// Returns the fields of the CTS for the matched receive in `slot`, whose data is still with the sender.
    pub(crate) fn clear_to_send(&mut self, slot: Slot, matched: Matched, sender: u32) -> Fields {
        let target = self.requests.id(slot).0;
        let wanted = matched.wanted(self.requests.span(slot));
        if wanted == 0 {
            self.received(slot, matched);
        } else {
            let landing = Coming::Landing(Landing::new(wanted));
            self.requests
                .set_receive_state(slot, ReceiveState::Matched(matched, landing));
        }
        Fields {
            request: sender,
            target,
            wanted,
            ..Fields::default()
        }
    }
}
