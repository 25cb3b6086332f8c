//! Messages of a process to itself: matched where they are sent, without a packet.
//!
//! ```text
//!   isend --+-- a posted receive matches ------------> from buffer to buffer; both are complete
//!           +-- room for a record with its data -----> an unexpected message; the send is complete
//!           +-- room for a record --------------------> an unexpected message; the send is held until a receive takes it
//!           +-- no room ------------------------------> pending send queue: refused like a message of another process
//! ```
//! These are the rows of [`protocol`](crate::protocol)'s table for an offer under an equal age, with the
//! same records in the same memory: whatever asks for messages (receives, probes, every matching engine) finds
//! these as it finds those of other processes. What has no record waits in the pending send queue and travels by
//! packets of its own, through the network back to here, by all the rules of the protocol.
//!
//! # Order
//! A message must not overtake an earlier one that takes the long way (MPI-3.1 section 3.5). What is in the
//! pending send queue has been neither matched nor recorded, as far as its sender knows, and leaves the queue with
//! the answer that it has been. So the short way is open only while the queue for this process is empty; then
//! every earlier message to it has a receive or a record, and its place. This is
//! [`Rules::guards_own_queue`], and the explorer finds what goes wrong without it. No message to oneself is a
//! bcopy, so that no other place needs a look.
//!
//! # Long messages
//! A call copies [`COPY_BYTES`] at most, so that traffic does not wait for more. What is longer becomes a transfer
//! as after a CTS, of which each turn copies as much ([`Adi::copy_on`]), and counts in its step of progress as a turn of
//! packets does; no packets either.
#![forbid(unsafe_code)]

use msg_layer::Transfer;
use msg_layer::header::Place;

use crate::adi::Adi;
use crate::config::COPY_BYTES;
use crate::envelope::{Envelope, Rank};
use crate::matching::Matching;
use crate::memory::region::Holding;
use crate::memory::{COPY_CHUNK, Span, UserMemory};
use crate::names::{BlockIndex, RequestId, Slot};
use crate::protocol::{Recorded, Rules};
use crate::request::{Data, Full, Matched, Mode, Request, SendState, Withdrawal};
use crate::send::SendTo;
use crate::wire::Fields;

/// What has become of a send to oneself.
pub(crate) enum Here {
    /// It is complete, and has no request.
    Complete,
    /// It has this request.
    Started(RequestId),
    /// There is not even a record for it, and nothing has changed.
    NoRecord,
}

impl<R: Rules> Adi<R> {
    /// The short way is open: no message to this process itself is before its receiver any more.
    #[inline]
    pub(crate) fn may_match_here(&mut self, dest: Rank) -> bool {
        dest == self.identity.rank
            && (!self.rules.guards_own_queue() || !self.sender.pending.has(&self.requests, dest))
    }

    /// Sends to this process itself for a call that blocks, if the receive that messages are held against before all others
    /// takes it at once. False: nothing has changed.
    #[inline]
    pub fn send_to_first<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        span: Span,
    ) -> bool {
        if span.len() > COPY_BYTES || !self.may_match_here(to.dest) {
            return false;
        }
        let envelope = Envelope {
            source: self.identity.rank,
            tag: to.tag,
            context: to.context,
        };
        let matched = Matched {
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

    /// Starts a send to this process itself, for which the short way is open, out of the heap. So many slots besides are
    /// kept for others. A call that `blocks` takes no slot when it is complete at once.
    #[inline(never)]
    pub(crate) fn send_here<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        (span, length): (Span, u32),
        keep: u32,
        blocks: bool,
    ) -> Result<Here, Full> {
        let envelope = Envelope {
            source: self.identity.rank,
            tag: to.tag,
            context: to.context,
        };
        let matched = Matched { envelope, length };
        let posted = self.matching.arrive(&mut self.requests, &envelope);
        if blocks
            && length as usize <= COPY_BYTES
            && let Some(receive) = posted
            && let Some(target) = self.requests.open_span(receive)
        {
            self.take_posted(receive, &envelope);
            memory.copy(span, target, matched.wanted(target) as usize);
            self.received(receive, matched);
            self.stats.messages_sent += 1;
            return Ok(Here::Complete);
        }
        self.start_here(memory, to, (span, matched), keep, posted)
    }

    /// As [`Adi::send_here`], with a request, for a message that this receive matches.
    #[inline(never)]
    fn start_here<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        (span, matched): (Span, Matched),
        keep: u32,
        posted: Option<Slot>,
    ) -> Result<Here, Full> {
        let Matched { envelope, length } = matched;
        let holds = posted.is_some_and(|receive| self.requests.holds(receive));
        self.requests.grow(1 + keep)?;
        let send = |state| Request::Send(to.send(span, length, state));
        let done = SendState::Done { cancelled: false };
        let id = match posted {
            Some(receive) if holds => {
                let held = SendState::Held(Withdrawal::None);
                let id = self.requests.insert(send(held))?;
                self.hold_back(receive, matched, id.0);
                id
            }
            Some(receive) => {
                let id = self.requests.insert(send(done))?;
                self.take_posted(receive, &envelope);
                self.hand_over(memory, id.slot(), span, receive, matched);
                id
            }
            None => {
                let next = self.requests.next_id().ok_or(Full)?;
                let is_synchronous = to.mode == Mode::Synchronous;
                match self.make_room(memory, &envelope, length, next.0, is_synchronous) {
                    Recorded::WithBuffer(at) => {
                        let id = self.requests.insert(send(done))?;
                        self.record_here(&envelope, at);
                        self.buffer_here(memory, id.slot(), span, length, at);
                        id
                    }
                    Recorded::Alone(at) => {
                        self.record_here(&envelope, at);
                        self.requests
                            .insert(send(SendState::Held(Withdrawal::None)))?
                    }
                    Recorded::Nothing => return Ok(Here::NoRecord),
                }
            }
        };
        self.stats.messages_sent += 1;
        Ok(Here::Started(id))
    }

    #[inline]
    fn take_posted(&mut self, receive: Slot, envelope: &Envelope) {
        self.unpost(receive);
        self.receiver.probes.taken(envelope);
    }

    fn record_here(&mut self, envelope: &Envelope, at: BlockIndex) {
        self.receiver.probes.taken(envelope);
        self.matching.record(&mut self.region, at);
    }

    /// The message of the send in `slot` goes into the buffer of its record at `at`.
    fn buffer_here<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        span: Span,
        length: u32,
        at: BlockIndex,
    ) {
        if length as usize > COPY_BYTES {
            let target = self.region.id(at).0;
            return self.begin_transfer(slot, &to_here(target, length));
        }
        let mut chunk = [0; COPY_CHUNK];
        for offset in (0..length as usize).step_by(COPY_CHUNK) {
            let part = &mut chunk[..(length as usize - offset).min(COPY_CHUNK)];
            memory.read(span, offset, part);
            self.region.write_buffer(at, offset as u32, part);
        }
        let received = length;
        self.region.set_holding(at, Holding::Buffer { received });
    }

    /// The message in `span` of the send in `slot` goes to the receive that it has matched.
    #[inline]
    fn hand_over<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        span: Span,
        receive: Slot,
        matched: Matched,
    ) {
        let wanted = matched.wanted(self.requests.span(receive));
        if wanted as usize <= COPY_BYTES {
            return self.copy_here(memory, span, receive, matched);
        }
        let sender = self.requests.id(slot).0;
        let fields = self.clear_to_send(receive, matched, sender);
        self.begin_transfer(slot, &fields);
    }

    /// The message in `span` is copied to the receive that it has matched.
    #[inline]
    fn copy_here<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        span: Span,
        receive: Slot,
        matched: Matched,
    ) {
        let to = self.requests.span(receive);
        memory.copy(span, to, matched.wanted(to) as usize);
        self.received(receive, matched);
    }

    /// The send of this process whose record, of a message of `source`, names `sender`, when its message can be
    /// taken where it is: the program has not begun to take it back, and knows that it is recorded.
    pub(crate) fn held_here(&self, source: Rank, sender: u32) -> Option<(Slot, Span)> {
        if source != self.identity.rank {
            return None;
        }
        let id = RequestId(sender);
        let send = self.requests.get_send(id)?;
        match (send.state, send.data) {
            (SendState::Held(Withdrawal::None), Data::User(span)) => Some((id.slot(), span)),
            _ => None,
        }
    }

    /// The receive in `slot` has taken the record of the held send in `send`.
    pub(crate) fn take_held<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        (send, span): (Slot, Span),
        slot: Slot,
        matched: Matched,
    ) {
        self.hand_over(memory, send, span, slot, matched);
        let state = self.requests.send(send).state;
        if matches!(state, SendState::Held(Withdrawal::None)) {
            self.finish_send(send, false);
        }
    }

    /// Copies the next part of a message to oneself, as its packets would have been taken.
    pub(crate) fn copy_on<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        data: Data,
        transfer: &mut Transfer,
    ) {
        let mut chunk = [0; COPY_CHUNK];
        let end = transfer.end.min(transfer.offset + COPY_BYTES as u32);
        while transfer.offset < end {
            let part = &mut chunk[..((end - transfer.offset) as usize).min(COPY_CHUNK)];
            self.read(memory, data, transfer.offset as usize, part);
            let place = Place {
                target: transfer.target,
                offset: transfer.offset,
            };
            if self.take_data(memory, place, part).is_err() {
                // A packet that nobody should have sent has been there before.
                self.stats.layer.malformed += 1;
                transfer.offset = transfer.end;
                return;
            }
            transfer.offset += part.len() as u32;
        }
    }
}

/// What a CTS would say that wants all of a message.
fn to_here(target: u32, wanted: u32) -> Fields {
    Fields {
        target,
        wanted,
        ..Fields::default()
    }
}
