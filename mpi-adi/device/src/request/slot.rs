//! Packed request slot.
//!
//! | bytes | of a slot | receive | send |
//! |---|---|---|---|
//! | 24 | links: next and previous in three lists | | |
//! | 8 | address | of the program's buffer | of the program's buffer; a bcopy's index |
//! | 4 | length | of that buffer | of the message |
//! | 4 + 4 + 2 | rank, tag, context | pattern, or that of the matched message | destination |
//! | 2 | marks | generation; cancelled, detached | generation; detached, synchronous, bcopy |
//! | 4 | state and its small fields | must be listed in the next restart | RTS state, its marks, requested receive |
//! | 8 | words of this state | posted: serial. Matched: length, bytes received or sender's request ID | pending: serial. Sending: target, offset |
//! | 60 | (4 less where addresses have 32 bits) | | |
//!
//! Fields that sends and receives use first are fields of every slot; the others belong to a state. The device still
//! handles a request as a [`SendRequest`] or a [`ReceiveRequest`]. These are values read from the slot and written back; the compiler
//! copies only the parts in use. Words of 64 bits are aligned to four bytes to avoid padding.
#![forbid(unsafe_code)]

use msg_layer::{MessageTransfer, Reassembly};

use super::any::Request;
use super::outcome::{PlainCompletion, RequestOutcome};
use super::receive::{MatchedMessage, PostedReceive, ReceiveRequest, ReceiveState, RecvData};
use super::send::{CancelState, PendingSend, SendData, SendMode, SendRequest, SendState};
use crate::envelope::{Context, Envelope, MatchPattern, Rank, Tag};
use crate::ids::{
    BcopyId, BlockIndex, Generation, GenerationBits, PackedId, REQUEST_GENERATION_BITS, RequestId, SequenceNumber, Slot,
};
use crate::memory::{PackedSpan, Span};
use crate::protocol::RtsState;

/// Number of lists that a slot can be in simultaneously.
pub(super) const LISTS: usize = 3;

/// Request slot. Code that reads only a part of the request uses the accessor of that part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SlotEntry {
    pub(super) next: [Option<Slot>; LISTS],
    pub(super) prev: [Option<Slot>; LISTS],
    data: PackedSpan,
    peer: Option<Rank>,
    /// A message's tag, or the wildcard.
    tag: Tag,
    context: Context,
    marks: SlotFlags,
    state: SlotState,
}

const _: () = assert!(size_of::<SlotEntry>() <= 60 && align_of::<SlotEntry>() == 4);

/// State of a request, with the fields of that state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlotState {
    Free {
        next: Option<Slot>,
    },
    Posted {
        needs_listing: bool,
        serial: PackedId<SequenceNumber>,
    },
    CtsPending {
        length: u32,
        sender: u32,
    },
    Receiving {
        length: u32,
        received: u32,
    },
    Buffering {
        length: u32,
    },
    MprobeHeld {
        length: u32,
        sender: u32,
    },
    MprobeBuffered {
        length: u32,
        at: BlockIndex,
    },
    Received {
        length: u32,
    },
    ReceiveCancelled,
    Bcopy,
    Pending(PendingSend),
    Held(CancelState),
    Sending {
        in_order: bool,
        target: u32,
        offset: u32,
    },
    Streaming,
    Sent {
        cancelled: bool,
    },
}

/// State-independent properties of a request: its generation in the lowest bits, and flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SlotFlags(u16);

impl SlotFlags {
    const GENERATION: u16 = (1 << REQUEST_GENERATION_BITS) - 1;
    /// The program has no handle of it.
    const DISOWNED: u16 = 1 << 11;
    /// A posted receive that the program has cancelled. It waits for sources that were asked for messages on its
    /// behalf.
    const CANCELLED: u16 = 1 << 12;
    /// The program has detached it: it is freed when it finishes.
    const FORGOTTEN: u16 = 1 << 13;
    /// A send in synchronous mode.
    const SYNCHRONOUS: u16 = 1 << 14;
    /// A receive for a matched probe: its message waits until the program specifies a buffer.
    const HOLDS: u16 = Self::SYNCHRONOUS;
    /// A send whose data is in a bcopy.
    const BCOPY: u16 = 1 << 15;

    #[inline]
    fn has(self, mark: u16) -> bool {
        self.0 & mark != 0
    }

    #[inline]
    fn generation(self) -> Generation {
        Generation::from_bits(self.0 & Self::GENERATION)
    }
}

const _: () = assert!(SlotFlags::GENERATION < SlotFlags::DISOWNED);

impl SlotState {
    #[inline(always)]
    fn from_send(state: SendState) -> SlotState {
        match state {
            SendState::Bcopy => SlotState::Bcopy,
            SendState::Pending(send) => SlotState::Pending(send),
            SendState::Held(withdrawal) => SlotState::Held(withdrawal),
            SendState::Sending(MessageTransfer {
                target,
                offset,
                end: _,
                in_order,
            }) => SlotState::Sending {
                in_order,
                target,
                offset,
            },
            SendState::Streaming => SlotState::Streaming,
            SendState::Done { cancelled } => SlotState::Sent { cancelled },
        }
    }

    #[inline(always)]
    fn from_receive(state: ReceiveState) -> SlotState {
        match state {
            ReceiveState::Posted(PostedReceive {
                pattern: _,
                serial,
                needs_listing,
            }) => SlotState::Posted {
                needs_listing,
                serial: PackedId::new(serial),
            },
            ReceiveState::Matched(MatchedMessage { length, .. }, coming) => match coming {
                RecvData::CtsPending { sender } => SlotState::CtsPending { length, sender },
                // Its total is the part of the message that fits in the buffer.
                RecvData::Receiving(Reassembly { received, total: _ }) => SlotState::Receiving { length, received },
                RecvData::Buffering => SlotState::Buffering { length },
                RecvData::MprobeHeld { sender } => SlotState::MprobeHeld { length, sender },
                RecvData::MprobeBuffered { at } => SlotState::MprobeBuffered { length, at },
            },
            ReceiveState::Done(MatchedMessage { length, .. }) => SlotState::Received { length },
            ReceiveState::Cancelled(_) => SlotState::ReceiveCancelled,
        }
    }
}

impl SlotEntry {
    /// Creates an unused slot.
    pub(super) fn unused(next: Option<Slot>) -> SlotEntry {
        SlotEntry {
            next: [None; LISTS],
            prev: [None; LISTS],
            data: PackedSpan::new(Span::EMPTY),
            peer: None,
            tag: 0,
            context: 0,
            marks: SlotFlags(0),
            state: SlotState::Free { next },
        }
    }

    /// Frees the slot and invalidates the request's ID.
    #[inline]
    pub(super) fn free(&mut self, next: Option<Slot>, id_bits: GenerationBits) {
        self.state = SlotState::Free { next };
        self.next_generation(id_bits);
    }

    /// Advances the generation, so that the next request gets a different ID.
    #[inline]
    pub(super) fn next_generation(&mut self, id_bits: GenerationBits) {
        self.marks = SlotFlags(self.generation().next(id_bits).to_bits());
    }

    /// Stores `request` in this free slot. Returns the next free slot. Inlined, to specialize it for the known kind of
    /// request.
    #[inline(always)]
    pub(super) fn fill(&mut self, request: Request) -> Option<Slot> {
        let SlotState::Free { next } = self.state else {
            unreachable!("the free list holds free slots")
        };
        match request {
            Request::Send(send) => self.put_send(send),
            Request::Receive(receive) => {
                self.data = PackedSpan::new(receive.span);
                self.set_receive_state(receive.state);
            }
        }
        next
    }

    #[inline(always)]
    fn put_send(&mut self, send: SendRequest) {
        let (span, is_bcopy) = match send.data {
            SendData::User(span) => (span, 0),
            SendData::Bcopy(BcopyId(place)) => (Span::model(place.into(), send.length as usize), SlotFlags::BCOPY),
        };
        debug_assert_eq!(span.len(), send.length as usize);
        self.data = PackedSpan::new(span);
        (self.peer, self.tag, self.context) = (Some(send.dest), send.tag, send.context);
        let is_synchronous = match send.mode {
            SendMode::Synchronous => SlotFlags::SYNCHRONOUS,
            SendMode::Standard | SendMode::StandardDelayedAck => 0,
        };
        self.marks.0 |= is_bcopy | is_synchronous;
        self.set_send_state(send.state);
    }

    #[inline]
    pub(super) fn generation(&self) -> Generation {
        self.marks.generation()
    }

    /// Checks whether the program has detached the request: it is freed when it finishes.
    #[inline]
    pub(super) fn is_forgotten(&self) -> bool {
        self.marks.has(SlotFlags::FORGOTTEN)
    }

    /// Marks the request as detached. Returns true if it was not.
    pub(super) fn forget(&mut self) -> bool {
        let first = !self.is_forgotten();
        self.marks.0 |= SlotFlags::FORGOTTEN;
        first
    }

    /// Checks for a request of which the program has a handle.
    pub(super) fn is_owned(&self) -> bool {
        !matches!(self.state, SlotState::Free { .. }) && !self.marks.has(SlotFlags::FORGOTTEN | SlotFlags::DISOWNED)
    }

    /// Marks the request as one without a program's handle.
    pub(super) fn disown(&mut self) {
        self.marks.0 |= SlotFlags::DISOWNED;
    }

    /// Checks whether the slot contains the request `id`.
    #[inline]
    pub(super) fn has_id(&self, id: RequestId) -> bool {
        !matches!(self.state, SlotState::Free { .. }) && id.has_generation(self.generation())
    }

    /// Checks whether both are sends, or both posted receives, with the same table key.
    #[inline]
    pub(super) fn has_key_of(&self, other: &SlotEntry) -> bool {
        (self.tag, self.peer, self.context) == (other.tag, other.peer, other.context)
            && self.is_send() == other.is_send()
    }

    /// Returns the request.
    #[inline]
    pub(super) fn request(&self) -> Option<Request> {
        match self.send() {
            Some(send) => Some(Request::Send(send)),
            None => self.receive().map(Request::Receive),
        }
    }

    #[inline]
    pub(super) fn send(&self) -> Option<SendRequest> {
        let state = match self.state {
            SlotState::Bcopy => SendState::Bcopy,
            SlotState::Pending(send) => SendState::Pending(send),
            SlotState::Held(withdrawal) => SendState::Held(withdrawal),
            SlotState::Sending { .. } => SendState::Sending(self.transfer()?),
            SlotState::Streaming => SendState::Streaming,
            SlotState::Sent { cancelled } => SendState::Done { cancelled },
            SlotState::Free { .. }
            | SlotState::Posted { .. }
            | SlotState::CtsPending { .. }
            | SlotState::Receiving { .. }
            | SlotState::Buffering { .. }
            | SlotState::MprobeHeld { .. }
            | SlotState::MprobeBuffered { .. }
            | SlotState::Received { .. }
            | SlotState::ReceiveCancelled => return None,
        };
        self.send_in(state)
    }

    /// Returns the send, with the specified state.
    #[inline]
    fn send_in(&self, state: SendState) -> Option<SendRequest> {
        Some(SendRequest {
            dest: self.peer?,
            tag: self.tag,
            context: self.context,
            mode: if self.is_synchronous() {
                SendMode::Synchronous
            } else {
                SendMode::Standard
            },
            length: self.data.len(),
            data: self.send_data(),
            state,
        })
    }

    #[inline]
    pub(crate) fn dest(&self) -> Rank {
        self.peer.expect("a send has a destination")
    }

    #[inline]
    pub(crate) fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns [`SendRequest::length`] of the send.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.data.len()
    }

    #[inline]
    pub(crate) fn is_synchronous(&self) -> bool {
        self.marks.has(SlotFlags::SYNCHRONOUS)
    }

    /// Returns the remaining transfer of a send whose data is being transmitted.
    #[inline]
    pub(crate) fn transfer(&self) -> Option<MessageTransfer> {
        match self.state {
            SlotState::Sending {
                in_order,
                target,
                offset,
            } => Some(MessageTransfer {
                target,
                offset,
                end: self.data.len(),
                in_order,
            }),
            _ => None,
        }
    }

    /// Checks whether the send was accepted while its eager data is being transmitted.
    #[inline]
    pub(crate) fn is_streaming(&self) -> bool {
        self.state == SlotState::Streaming
    }

    /// Returns the cancel state of a held send.
    #[inline]
    pub(crate) fn cancel_state(&self) -> Option<CancelState> {
        match self.state {
            SlotState::Held(withdrawal) => Some(withdrawal),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn send_data(&self) -> SendData {
        if self.marks.has(SlotFlags::BCOPY) {
            SendData::Bcopy(BcopyId(self.data.span().address() as u8))
        } else {
            SendData::User(self.data.span())
        }
    }

    /// Returns the pending-queue state of the send.
    #[inline]
    pub(crate) fn pending(&self) -> Option<&PendingSend> {
        match &self.state {
            SlotState::Pending(send) => Some(send),
            _ => None,
        }
    }

    /// Returns the pending-queue state of the send, for writing.
    #[inline]
    pub(super) fn pending_mut(&mut self) -> Option<&mut PendingSend> {
        match &mut self.state {
            SlotState::Pending(send) => Some(send),
            _ => None,
        }
    }

    /// Checks for a pending send to `dest` with this context and tag.
    #[inline]
    pub(super) fn is_pending_to(&self, dest: Rank, context: Context, tag: Tag) -> bool {
        matches!(self.state, SlotState::Pending(_)) && (self.peer, self.context, self.tag) == (Some(dest), context, tag)
    }

    /// Checks for a send to `dest` whose RTS has no reply yet.
    pub(crate) fn has_rts_in_flight_to(&self, dest: Rank) -> bool {
        let is_offered = matches!(&self.state, SlotState::Pending(send) if send.rts_state == RtsState::Unanswered);
        is_offered && self.peer == Some(dest)
    }

    /// Sets the state of the send. A transfer also sets the remaining length.
    #[inline(always)]
    pub(super) fn set_send_state(&mut self, state: SendState) {
        if let SendState::Sending(MessageTransfer { end, .. }) = state {
            self.data.truncate(end);
        }
        self.state = SlotState::from_send(state);
    }

    /// Returns the serial of a posted receive with this pattern.
    #[inline]
    pub(super) fn serial_if_posted(&self, pattern: &MatchPattern) -> Option<SequenceNumber> {
        match self.state {
            SlotState::Posted { serial, .. } if self.pattern() == *pattern => Some(serial.get()),
            _ => None,
        }
    }

    /// Returns the pattern of the receive, or of its message once it has matched.
    #[inline]
    pub(crate) fn pattern(&self) -> MatchPattern {
        MatchPattern::from_parts(self.peer, self.tag, self.context)
    }

    #[inline]
    pub(crate) fn posted(&self) -> Option<PostedReceive> {
        match self.state {
            SlotState::Posted { needs_listing, serial } => Some(PostedReceive {
                pattern: self.pattern(),
                serial: serial.get(),
                needs_listing,
            }),
            _ => None,
        }
    }

    /// Returns the flag of a posted receive that it must be listed in the next restart, for writing.
    #[inline]
    pub(super) fn needs_listing_mut(&mut self) -> Option<&mut bool> {
        match &mut self.state {
            SlotState::Posted { needs_listing, .. } => Some(needs_listing),
            _ => None,
        }
    }

    /// Returns the program's buffer of the receive.
    #[inline]
    pub(super) fn span(&self) -> Option<Span> {
        self.is_receive().then(|| self.data.span())
    }

    /// Returns the matched message, of this length.
    #[inline]
    fn matched(&self, length: u32) -> Option<MatchedMessage> {
        let envelope = Envelope {
            source: self.peer?,
            tag: self.tag,
            context: self.context,
        };
        Some(MatchedMessage { envelope, length })
    }

    /// Returns the matched message with a pending CTS, and its sender's request ID.
    #[inline]
    pub(crate) fn pending_cts(&self) -> Option<(MatchedMessage, u32)> {
        match self.state {
            SlotState::CtsPending { length, sender } => Some((self.matched(length)?, sender)),
            _ => None,
        }
    }

    /// Returns the bytes of the matched message that fit in the receive's buffer. `None` if the receive has not
    /// matched.
    #[inline]
    pub(crate) fn wanted(&self) -> Option<u32> {
        match self.state {
            SlotState::CtsPending { length, .. }
            | SlotState::Receiving { length, .. }
            | SlotState::Buffering { length }
            | SlotState::MprobeHeld { length, .. }
            | SlotState::MprobeBuffered { length, .. } => Some(length.min(self.data.len())),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn receive(&self) -> Option<ReceiveRequest> {
        let span = self.data.span();
        let state = match self.state {
            SlotState::Posted { .. } => ReceiveState::Posted(self.posted()?),
            SlotState::CtsPending { length, sender } => {
                ReceiveState::Matched(self.matched(length)?, RecvData::CtsPending { sender })
            }
            SlotState::Receiving { length, received } => {
                let matched = self.matched(length)?;
                let total = matched.wanted(span);
                ReceiveState::Matched(matched, RecvData::Receiving(Reassembly { received, total }))
            }
            SlotState::Buffering { length } => ReceiveState::Matched(self.matched(length)?, RecvData::Buffering),
            SlotState::MprobeHeld { length, sender } => {
                ReceiveState::Matched(self.matched(length)?, RecvData::MprobeHeld { sender })
            }
            SlotState::MprobeBuffered { length, at } => {
                ReceiveState::Matched(self.matched(length)?, RecvData::MprobeBuffered { at })
            }
            SlotState::Received { length } => ReceiveState::Done(self.matched(length)?),
            SlotState::ReceiveCancelled => ReceiveState::Cancelled(self.pattern()),
            SlotState::Free { .. }
            | SlotState::Bcopy
            | SlotState::Pending(_)
            | SlotState::Held(_)
            | SlotState::Sending { .. }
            | SlotState::Streaming
            | SlotState::Sent { .. } => return None,
        };
        Some(ReceiveRequest { span, state })
    }

    /// Returns the outcome of the request, if it has finished. Reads only the fields of its state.
    #[inline]
    pub(super) fn outcome(&self) -> Option<RequestOutcome> {
        match self.state {
            SlotState::Received { length } => Some(RequestOutcome {
                source: self.peer?,
                tag: self.tag,
                bytes: length.min(self.data.len()) as usize,
                truncated: length > self.data.len(),
                cancelled: false,
            }),
            SlotState::Sent { cancelled } => Some(RequestOutcome {
                source: self.peer?,
                tag: self.tag,
                bytes: self.data.len() as usize,
                truncated: false,
                cancelled,
            }),
            SlotState::ReceiveCancelled => Some(RequestOutcome {
                source: self.pattern().source().unwrap_or(Rank::new(0)),
                tag: self.pattern().tag().unwrap_or(0),
                bytes: 0,
                truncated: false,
                cancelled: true,
            }),
            _ => None,
        }
    }

    /// Returns the message of a request that has finished, if it is neither truncated nor cancelled, and its buffer is
    /// plain.
    #[inline]
    pub(super) fn plain_completion(&self) -> Option<PlainCompletion> {
        let bytes = match self.state {
            SlotState::Received { length } if length <= self.data.len() => length,
            SlotState::Sent { cancelled: false } => self.data.len(),
            _ => return None,
        };
        let peer = self.peer.filter(|_| !self.data.span().is_typed())?;
        Some(PlainCompletion {
            peer,
            tag: self.tag,
            bytes,
            context: self.context,
        })
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        matches!(
            self.state,
            SlotState::Received { .. } | SlotState::Sent { .. } | SlotState::ReceiveCancelled
        )
    }

    /// Returns the program's buffer of the request; empty if the data is in a bcopy.
    #[inline]
    pub(crate) fn buffer(&self) -> Span {
        match self.send_data() {
            SendData::User(span) => span,
            SendData::Bcopy(_) => Span::EMPTY,
        }
    }

    pub(crate) fn context(&self) -> Context {
        self.context
    }

    /// Sets the state of the receive.
    #[inline(always)]
    pub(super) fn set_receive_state(&mut self, state: ReceiveState) {
        (self.peer, self.tag, self.context) = match state {
            ReceiveState::Posted(PostedReceive { pattern, .. }) | ReceiveState::Cancelled(pattern) => pattern.parts(),
            ReceiveState::Matched(MatchedMessage { envelope, .. }, _)
            | ReceiveState::Done(MatchedMessage { envelope, .. }) => {
                (Some(envelope.source), envelope.tag, envelope.context)
            }
        };
        self.state = SlotState::from_receive(state);
    }

    /// Completes the posted receive with this message if they match and no mark requires the slow path. Returns its
    /// buffer. Otherwise returns `None` and changes nothing.
    #[inline]
    pub(super) fn finish_posted(&mut self, matched: &MatchedMessage) -> Option<Span> {
        let is_plain = matches!(
            self.state,
            SlotState::Posted {
                needs_listing: false,
                ..
            }
        ) && !self
            .marks
            .has(SlotFlags::CANCELLED | SlotFlags::FORGOTTEN | SlotFlags::HOLDS);
        if !is_plain || !self.pattern().matches(&matched.envelope) {
            return None;
        }
        self.set_receive_state(ReceiveState::Done(*matched));
        Some(self.data.span())
    }

    /// Counts `len` bytes at `offset` of the message being received into the program's buffer. Returns that buffer, and
    /// the message once it is complete. Returns `None` if no such bytes are expected.
    #[inline]
    pub(super) fn begin_receive(&mut self, offset: u32, len: usize) -> Option<(Span, Option<MatchedMessage>)> {
        let SlotState::Receiving { length, received } = self.state else {
            return None;
        };
        let total = length.min(self.data.len());
        let mut landing = Reassembly { received, total };
        let is_whole = landing.accept(offset, len).ok()?;
        let received = landing.received;
        self.state = SlotState::Receiving { length, received };
        let matched = if is_whole { self.matched(length) } else { None };
        Some((self.data.span(), matched))
    }

    #[inline]
    pub(super) fn is_receive(&self) -> bool {
        matches!(
            self.state,
            SlotState::Posted { .. }
                | SlotState::CtsPending { .. }
                | SlotState::Receiving { .. }
                | SlotState::Buffering { .. }
                | SlotState::MprobeHeld { .. }
                | SlotState::MprobeBuffered { .. }
                | SlotState::Received { .. }
                | SlotState::ReceiveCancelled
        )
    }

    /// Checks for a receive of a matched probe.
    #[inline]
    pub(super) fn is_mprobe(&self) -> bool {
        self.marks.has(SlotFlags::HOLDS) && self.is_receive()
    }

    /// Checks for a posted receive that the program has cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.marks.has(SlotFlags::CANCELLED) && matches!(self.state, SlotState::Posted { .. })
    }

    /// Marks the posted receive as cancelled. It remains posted for now.
    pub(super) fn mark_cancelled(&mut self) {
        self.marks.0 |= SlotFlags::CANCELLED;
    }

    /// Marks the receive as belonging to a matched probe.
    pub(super) fn mark_mprobe(&mut self) {
        self.marks.0 |= SlotFlags::HOLDS;
    }

    /// Sets the buffer of a matched probe's message, as specified by the program.
    pub(super) fn set_target_buffer(&mut self, span: Span) {
        self.data = PackedSpan::new(span);
        self.marks.0 &= !SlotFlags::HOLDS;
    }

    #[inline]
    pub(crate) fn is_send(&self) -> bool {
        !self.is_receive() && !matches!(self.state, SlotState::Free { .. })
    }
}

#[cfg(test)]
mod tests;
