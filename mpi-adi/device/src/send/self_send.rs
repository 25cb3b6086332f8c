//! Self-sends: messages of a process to itself are matched in the send call, without a packet (loopback).
//!
//! ```text
//!   isend --+-- a posted receive matches ------------> copy from buffer to buffer; both complete
//!           +-- memory for a record with its data ---> an unexpected message; the send completes
//!           +-- memory for a record -----------------> an unexpected message; the send is held until a match
//!           +-- no memory ---------------------------> pending send queue: rejected like a message of another process
//! ```
//! These are the rows of [`protocol`](crate::protocol)'s table for an RTS under an equal age, with the same records in
//! the same memory. So receives, probes and every matching engine find self-sends like messages of other processes. A
//! message without a record waits in the pending send queue and travels in packets through the network back to this
//! node, by all rules of the protocol.
//!
//! # Order
//! A message must not overtake an earlier one on the slow path (MPI-3.1 section 3.5). A message in the pending send
//! queue has been neither matched nor recorded, as far as its sender knows, and is dequeued on the reply. So the fast
//! path is available only while the queue for this process is empty: then every earlier self-send has a receive or a
//! record, and its position. [`ProtocolRules::guards_own_queue`] states this rule, and the explorer finds an error without it.
//! No self-send is a bcopy, so no other check is required.
//!
//! # Long messages
//! A call copies at most [`COPY_BYTES`], so that network traffic does not wait longer. A longer message becomes a
//! transfer as after a CTS, without packets. Each step copies as much ([`Adi::copy_next_part`]), which counts as one quantum
//! of packets.
#![forbid(unsafe_code)]

use msg_layer::MessageTransfer;
use msg_layer::header::TargetOffset;

use crate::adi::Adi;
use crate::config::COPY_BYTES;
use crate::envelope::{Envelope, Rank};
use crate::ids::{BlockIndex, RequestId, Slot};
use crate::matching::Matching;
use crate::memory::region::RecordData;
use crate::memory::{COPY_CHUNK, Span, UserMemory};
use crate::protocol::{ProtocolRules, RecordedMessage};
use crate::request::{CancelState, MatchedMessage, PoolFull, Request, SendData, SendMode, SendState};
use crate::send::SendTo;
use crate::wire::ReplyFields;

/// Result of a self-send.
pub(crate) enum SelfSend {
    /// Complete, without a request.
    Complete,
    /// Started with this request.
    Started(RequestId),
    /// No memory even for a record; nothing has changed.
    NoRecord,
}

impl<R: ProtocolRules> Adi<R> {
    /// Returns whether `dest` is this process and the fast path is available: no self-send is still on its way to its
    /// receiver.
    #[inline]
    pub(crate) fn may_send_to_self(&mut self, dest: Rank) -> bool {
        dest == self.identity.rank && (!self.rules.guards_own_queue() || !self.sender.pending.has(&self.requests, dest))
    }

    /// Sends to this process for a blocking call, if the first posted receive completes. On false, nothing has changed.
    #[inline]
    pub fn send_to_first<M: UserMemory + ?Sized>(&mut self, memory: &mut M, to: &SendTo, span: Span) -> bool {
        if span.len() > COPY_BYTES || !self.may_send_to_self(to.dest) {
            return false;
        }
        let envelope = Envelope {
            source: self.identity.rank,
            tag: to.tag,
            context: to.context,
        };
        let matched = MatchedMessage {
            envelope,
            length: span.len() as u32,
        };
        let Some(target) = self.finish_likely_first(&matched) else {
            return false;
        };
        memory.copy(span, target, matched.wanted(target) as usize);
        self.stats.messages_sent += 1;
        true
    }

    /// Starts a self-send on the fast path, with heap memory, and keeps `keep` slots free for others. A call that
    /// `blocks` uses no slot when the message completes immediately.
    #[inline(never)]
    pub(crate) fn send_to_self<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        span: Span,
        length: u32,
        keep: u32,
        blocks: bool,
    ) -> Result<SelfSend, PoolFull> {
        let envelope = Envelope {
            source: self.identity.rank,
            tag: to.tag,
            context: to.context,
        };
        let matched = MatchedMessage { envelope, length };
        let posted = self.matching.match_incoming(&mut self.requests, &envelope);
        if blocks
            && length as usize <= COPY_BYTES
            && let Some(receive) = posted
            && let Some(target) = self.requests.open_span(receive)
        {
            self.unpost_matched(receive, &envelope);
            memory.copy(span, target, matched.wanted(target) as usize);
            self.complete_receive(receive, matched);
            self.stats.messages_sent += 1;
            return Ok(SelfSend::Complete);
        }
        self.start_self_send(memory, to, span, matched, keep, posted)
    }

    /// Starts a self-send with a request, for the matching posted receive or for a record.
    #[inline(never)]
    fn start_self_send<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        span: Span,
        matched: MatchedMessage,
        keep: u32,
        posted: Option<Slot>,
    ) -> Result<SelfSend, PoolFull> {
        let MatchedMessage { envelope, length } = matched;
        let holds = posted.is_some_and(|receive| self.requests.is_mprobe(receive));
        self.requests.grow(1 + keep)?;
        let send = |state| Request::Send(to.send(span, length, state));
        let done = SendState::Done { cancelled: false };
        let id = match posted {
            Some(receive) if holds => {
                let held = SendState::Held(CancelState::None);
                let id = self.requests.insert(send(held))?;
                self.defer_with_nctsd(receive, matched, id.0);
                id
            }
            Some(receive) => {
                let id = self.requests.insert(send(done))?;
                self.unpost_matched(receive, &envelope);
                self.deliver_self_send(memory, id.slot(), span, receive, matched);
                id
            }
            None => {
                let next = self.requests.next_id().ok_or(PoolFull)?;
                let is_synchronous = to.mode == SendMode::Synchronous;
                match self.create_record(memory, &envelope, length, next.0, is_synchronous) {
                    RecordedMessage::WithBuffer(at) => {
                        let id = self.requests.insert(send(done))?;
                        self.record_self_send(&envelope, at);
                        self.buffer_self_send(memory, id.slot(), span, length, at);
                        id
                    }
                    RecordedMessage::WithoutBuffer(at) => {
                        self.record_self_send(&envelope, at);
                        self.requests.insert(send(SendState::Held(CancelState::None)))?
                    }
                    RecordedMessage::None => return Ok(SelfSend::NoRecord),
                }
            }
        };
        self.stats.messages_sent += 1;
        Ok(SelfSend::Started(id))
    }

    #[inline]
    fn unpost_matched(&mut self, receive: Slot, envelope: &Envelope) {
        self.unpost(receive);
        self.receiver.probes.disarm_matching(envelope);
    }

    fn record_self_send(&mut self, envelope: &Envelope, at: BlockIndex) {
        self.receiver.probes.disarm_matching(envelope);
        self.matching.record(&mut self.region, at);
    }

    /// Copies the message of the send in `slot` into the buffer of its record at `at`.
    fn buffer_self_send<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        span: Span,
        length: u32,
        at: BlockIndex,
    ) {
        if length as usize > COPY_BYTES {
            let target = self.region.id(at).0;
            return self.begin_transfer(slot, &self_cts_fields(target, length));
        }
        let mut chunk = [0; COPY_CHUNK];
        for offset in (0..length as usize).step_by(COPY_CHUNK) {
            let part = &mut chunk[..(length as usize - offset).min(COPY_CHUNK)];
            memory.read(span, offset, part);
            self.region.write_buffer(at, offset as u32, part);
        }
        let received = length;
        self.region.set_holding(at, RecordData::Buffer { received });
    }

    /// Transfers the message in `span` of the send in `slot` to its matched receive.
    #[inline]
    fn deliver_self_send<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        span: Span,
        receive: Slot,
        matched: MatchedMessage,
    ) {
        let wanted = matched.wanted(self.requests.span(receive));
        if wanted as usize <= COPY_BYTES {
            return self.copy_self_send(memory, span, receive, matched);
        }
        let sender = self.requests.id(slot).0;
        let fields = self.clear_to_send(receive, matched, sender);
        self.begin_transfer(slot, &fields);
    }

    /// Copies the message in `span` to its matched receive.
    #[inline]
    fn copy_self_send<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        span: Span,
        receive: Slot,
        matched: MatchedMessage,
    ) {
        let to = self.requests.span(receive);
        memory.copy(span, to, matched.wanted(to) as usize);
        self.complete_receive(receive, matched);
    }

    /// Returns this process's held send that a record from `source` identifies as `sender`, if its message can be
    /// copied directly: it is not being cancelled, and the send side knows that it is recorded.
    pub(crate) fn find_held_self_send(&self, source: Rank, sender: u32) -> Option<(Slot, Span)> {
        if source != self.identity.rank {
            return None;
        }
        let id = RequestId(sender);
        let send = self.requests.get_send(id)?;
        match (send.state, send.data) {
            (SendState::Held(CancelState::None), SendData::User(span)) => Some((id.slot(), span)),
            _ => None,
        }
    }

    /// Completes the match of the receive in `slot` with the held send in `send`.
    pub(crate) fn receive_held<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        send: Slot,
        span: Span,
        slot: Slot,
        matched: MatchedMessage,
    ) {
        self.deliver_self_send(memory, send, span, slot, matched);
        let state = self.requests.send(send).state;
        if matches!(state, SendState::Held(CancelState::None)) {
            self.finish_send(send, false);
        }
    }

    /// Copies the next part of a self-send, through the handler for data packets.
    pub(crate) fn copy_next_part<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        data: SendData,
        transfer: &mut MessageTransfer,
    ) {
        let mut chunk = [0; COPY_CHUNK];
        let end = transfer.end.min(transfer.offset + COPY_BYTES as u32);
        while transfer.offset < end {
            let part = &mut chunk[..((end - transfer.offset) as usize).min(COPY_CHUNK)];
            self.read_data(memory, data, transfer.offset as usize, part);
            let place = TargetOffset {
                target: transfer.target,
                offset: transfer.offset,
            };
            if self.handle_data(memory, place, part).is_err() {
                // A malformed packet has already changed the receive.
                self.stats.layer.malformed += 1;
                transfer.offset = transfer.end;
                return;
            }
            transfer.offset += part.len() as u32;
        }
    }
}

/// Returns the fields of a CTS that wants the complete message.
fn self_cts_fields(target: u32, wanted: u32) -> ReplyFields {
    ReplyFields {
        target,
        wanted,
        ..ReplyFields::default()
    }
}
