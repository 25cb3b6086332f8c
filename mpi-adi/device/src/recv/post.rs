//! The program's receives and probes.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::OutOfMemory;
use crate::envelope::{MatchPattern, Rank};
use crate::ids::{BlockIndex, RequestId, Slot};
use crate::matching::Matching;
use crate::memory::region::RecordData;
use crate::memory::{Span, UserMemory};
use crate::protocol::ProtocolRules;
use crate::recv::ProbedMessage;
use crate::recv::probe::ArmResult;
use crate::request::{
    MatchedMessage, NEEDS_LISTING, PostedReceive, RESERVED_SLOTS, ReceiveRequest, ReceiveState, RecvData, Request,
};
use crate::wire::ReplyFields;
use msg_layer::Reassembly;

impl<R: ProtocolRules> Adi<R> {
    /// Starts a receive into `span`. Fails only when the program's heap has no space for the request.
    pub fn irecv<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: MatchPattern,
        span: Span,
    ) -> Result<RequestId, OutOfMemory> {
        self.start_recv(memory, pattern, span, RESERVED_SLOTS)
    }

    /// Starts a receive for a call that blocks until the request has completed. Uses the slots reserved for such calls,
    /// so it succeeds when the heap is exhausted.
    pub fn recv_within_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: MatchPattern,
        span: Span,
    ) -> Result<RequestId, OutOfMemory> {
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
        pattern: MatchPattern,
        span: Span,
        keep: u32,
    ) -> Result<RequestId, OutOfMemory> {
        self.reserve_for_recv(keep)?;
        let found = self.matching.probe(&mut self.region, &pattern);
        self.start_recv_found(memory, &pattern, span, found)
    }

    /// Allocates memory for one receive in the heap, and `keep` additional slots for others.
    #[inline]
    pub(crate) fn reserve_for_recv(&mut self, keep: u32) -> Result<(), OutOfMemory> {
        let grown = self.requests.grow(1 + keep);
        let is_there = grown.is_ok() && self.matching.reserve(self.requests.slots()).is_ok();
        if is_there { Ok(()) } else { Err(self.no_memory()) }
    }

    /// Starts a receive that has reserved memory and a search result.
    #[cfg_attr(feature = "micro", inline)]
    #[cfg_attr(not(feature = "micro"), inline(always))]
    pub(crate) fn start_recv_found<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: &MatchPattern,
        span: Span,
        found: Option<BlockIndex>,
    ) -> Result<RequestId, OutOfMemory> {
        let posted = PostedReceive {
            pattern: *pattern,
            serial: self.receiver.posts,
            needs_listing: false,
        };
        let state = ReceiveState::Posted(posted);
        let receive = Request::Receive(ReceiveRequest { span, state });
        let Ok(id) = self.requests.insert(receive) else {
            return Err(self.no_memory());
        };
        self.receiver.posts += 1;
        match found {
            Some(record) => self.take_record(memory, id, record),
            None => {
                self.receiver.probes.note_posted(pattern);
                self.post(id.slot(), pattern);
            }
        }
        Ok(id)
    }

    /// Completes the match of a receive with the unexpected message recorded at `at`.
    #[inline(never)]
    fn take_record<M: UserMemory + ?Sized>(&mut self, memory: &mut M, id: RequestId, at: BlockIndex) {
        self.matching.unrecord(&mut self.region, at);
        self.match_record(memory, id, at);
    }

    /// Posts a receive, and queues restarts to sources with a rejected message that it may match.
    #[inline]
    pub(crate) fn post(&mut self, slot: Slot, pattern: &MatchPattern) {
        self.matching.post(&mut self.requests, slot);
        if self.peers.has_no_rejected() {
            return;
        }
        let rules = self.rules();
        if self.peers.note_posted(pattern.source(), rules) {
            let list = if pattern.source().is_some() {
                &mut self.receiver.exact_to_list
            } else {
                &mut self.receiver.wildcards
            };
            list.push(&mut self.requests.links::<NEEDS_LISTING>(), slot);
            self.requests.set_needs_listing(slot, true);
        }
    }

    /// Removes a receive from the posted receive queue, and from the lists for restarts.
    #[inline]
    pub(crate) fn unpost(&mut self, slot: Slot) {
        self.matching.unpost(&mut self.requests, slot);
        let all_are_named = self.receiver.exact_to_list.is_empty() && self.receiver.wildcards.is_empty();
        if !all_are_named && self.requests.set_needs_listing(slot, false) {
            let list = if self.requests.posted(slot).pattern.source().is_some() {
                &mut self.receiver.exact_to_list
            } else {
                &mut self.receiver.wildcards
            };
            list.remove(&mut self.requests.links::<NEEDS_LISTING>(), slot);
        }
    }

    /// Matches a receive with the unexpected message recorded at `at`.
    pub(crate) fn match_record<M: UserMemory + ?Sized>(&mut self, memory: &mut M, id: RequestId, at: BlockIndex) {
        let record = self.region.record(at).expect("a queued record");
        let slot = id.slot();
        let matched = MatchedMessage {
            envelope: record.envelope,
            length: record.length,
        };
        match record.holding {
            RecordData::None { sender } => {
                if let Some((send, data)) = self.find_held_self_send(matched.envelope.source, sender) {
                    self.release(memory, at);
                    return self.receive_held(memory, send, data, slot, matched);
                }
                let due = RecvData::CtsPending { sender };
                self.requests
                    .set_receive_state(slot, ReceiveState::Matched(matched, due));
                self.receiver.pending_cts.push(&mut self.requests, slot);
                self.release(memory, at);
            }
            RecordData::Buffer { received } if received == record.length => {
                self.copy_buffered(memory, slot, matched, at);
            }
            RecordData::Buffer { received } => {
                self.requests
                    .set_receive_state(slot, ReceiveState::Matched(matched, RecvData::Buffering));
                let bound = RecordData::MatchedBuffer { received, receive: id };
                self.region.set_holding(at, bound);
            }
            RecordData::MatchedBuffer { .. } => unreachable!("a bound record is in no queue"),
        }
    }

    /// Copies a complete buffered message to its matched receive, and frees its record.
    pub(crate) fn copy_buffered<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        matched: MatchedMessage,
        at: BlockIndex,
    ) {
        let span = self.requests.span(slot);
        let bytes = self.region.read_buffer(at, matched.wanted(span));
        memory.write(span, 0, bytes);
        self.complete_receive(slot, matched);
        self.release(memory, at);
    }

    /// Completes the first posted receive with this arrived message, if it matches and requires no special handling.
    /// Returns its buffer. On `None`, nothing has changed, and the message must be matched.
    #[inline]
    pub(crate) fn finish_first(&mut self, matched: &MatchedMessage) -> Option<Span> {
        let slot = self.matching.first_posted()?;
        self.call_finish_plain(slot, matched)
    }

    /// Completes the first posted receive, inlined where it is likely to match.
    #[inline(always)]
    pub(crate) fn finish_likely_first(&mut self, matched: &MatchedMessage) -> Option<Span> {
        let slot = self.matching.first_posted()?;
        self.finish_plain(slot, matched)
    }

    // A call, since a message may match none.
    #[inline(never)]
    fn call_finish_plain(&mut self, slot: Slot, matched: &MatchedMessage) -> Option<Span> {
        self.finish_plain(slot, matched)
    }

    #[inline(always)]
    fn finish_plain(&mut self, slot: Slot, matched: &MatchedMessage) -> Option<Span> {
        let (span, next) = self.requests.finish_posted(slot, matched)?;
        self.matching.take_first(&mut self.requests, next);
        self.receiver.probes.disarm_matching(&matched.envelope);
        self.stats.messages_received += 1;
        Some(span)
    }

    #[inline]
    pub(crate) fn complete_receive(&mut self, slot: Slot, matched: MatchedMessage) {
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

    /// Returns whether there is a message for `pattern` that a probe cannot return yet: one of another pattern has found it,
    /// and the reply of its source is still to come.
    pub fn is_match_known(&self, pattern: &MatchPattern) -> bool {
        self.receiver.probes.has_note_of(pattern)
    }

    /// Probes for an unexpected message. When there is none, the probe stays armed, so that it finds a message even if
    /// the MPI memory has no space for its record. So repeated probes find every message that was sent (MPI-3.1 section
    /// 3.8.1; see [`crate::recv::probe`]), in round robin over the patterns when there are more than can be armed.
    /// Fails only when the program's heap has no space for a single armed probe.
    pub fn iprobe(&mut self, pattern: MatchPattern) -> Result<Option<ProbedMessage>, OutOfMemory> {
        if let Some(index) = self.matching.probe(&mut self.region, &pattern) {
            let record = self.region.record(index).expect("a queued record");
            return Ok(Some(ProbedMessage {
                envelope: record.envelope,
                length: record.length,
            }));
        }
        if let Some(noted) = self.receiver.probes.noted_message(&pattern) {
            return Ok(Some(noted));
        }
        self.arm(pattern).map(|()| None)
    }

    /// Arms a probe that has found nothing, and queues restarts to the waiting sources.
    pub(crate) fn arm(&mut self, pattern: MatchPattern) -> Result<(), OutOfMemory> {
        let arming = self.receiver.probes.arm(pattern);
        if arming.map_err(|_| OutOfMemory::ProbeRecord)? == ArmResult::New {
            let rules = self.rules();
            self.peers.note_posted(pattern.source(), rules);
        }
        Ok(())
    }

    /// Cancels an unmatched receive, or a send that no receive has matched (MPI-3.1 section 3.8.4). The request
    /// completes soon, independently of the other process's program; its outcome specifies whether it was cancelled.
    /// Returns whether it is already known to be cancelled.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        match self.requests.entry_by_id(id) {
            Some(entry) if entry.is_send() => self.cancel_send(id.slot()),
            _ => self.cancel_receive(id),
        }
    }

    /// Dequeues the next receive with a pending CTS: its sender, and the fields of the CTS.
    pub(crate) fn next_pending_cts(&mut self) -> Option<(Rank, ReplyFields)> {
        let slot = self.receiver.pending_cts.head()?;
        self.receiver.pending_cts.remove(&mut self.requests, slot);
        let Some((matched, sender)) = self.requests.listed(slot).pending_cts() else {
            unreachable!("the list of CTSs that are due names a receive that owes none")
        };
        Some((matched.envelope.source, self.clear_to_send(slot, matched, sender)))
    }

    /// Returns the fields of the CTS for the matched receive in `slot`, whose data is still with the sender.
    pub(crate) fn clear_to_send(&mut self, slot: Slot, matched: MatchedMessage, sender: u32) -> ReplyFields {
        let target = self.requests.id(slot).0;
        let wanted = matched.wanted(self.requests.span(slot));
        if wanted == 0 {
            self.complete_receive(slot, matched);
        } else {
            let landing = RecvData::Receiving(Reassembly::new(wanted));
            self.requests
                .set_receive_state(slot, ReceiveState::Matched(matched, landing));
        }
        ReplyFields {
            request: sender,
            target,
            wanted,
            ..ReplyFields::default()
        }
    }
}
