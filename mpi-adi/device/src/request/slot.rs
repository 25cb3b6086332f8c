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
//! handles a request as a [`Send`] or a [`Receive`]. These are values read from the slot and written back; the compiler
//! copies only the parts in use. Words of 64 bits are aligned to four bytes to avoid padding.
#![forbid(unsafe_code)]

use msg_layer::{Landing, Transfer};

use super::any::Request;
use super::outcome::{Outcome, Whole};
use super::receive::{Coming, Matched, Posted, Receive, ReceiveState};
use super::send::{Data, Mode, PendingSend, Send, SendState, Withdrawal};
use crate::envelope::{Context, Envelope, Pattern, Rank, Tag};
use crate::memory::{PackedSpan, Span};
use crate::names::{
    BcopyId, BlockIndex, Generation, GenerationBits, Packed, REQUEST_GENERATION_BITS, RequestId,
    Serial, Slot,
};
use crate::protocol::Offer;

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
    marks: Marks,
    state: State,
}

const _: () = assert!(size_of::<SlotEntry>() <= 60 && align_of::<SlotEntry>() == 4);

/// State of a request, with the fields of that state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Free {
        next: Option<Slot>,
    },
    Posted {
        to_name: bool,
        serial: Packed<Serial>,
    },
    CtsDue {
        length: u32,
        sender: u32,
    },
    Landing {
        length: u32,
        received: u32,
    },
    Bound {
        length: u32,
    },
    Stopped {
        length: u32,
        sender: u32,
    },
    Kept {
        length: u32,
        at: BlockIndex,
    },
    Received {
        length: u32,
    },
    ReceiveCancelled,
    Bcopy,
    Pending(PendingSend),
    Held(Withdrawal),
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
struct Marks(u16);

impl Marks {
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

const _: () = assert!(Marks::GENERATION < Marks::DISOWNED);

impl State {
    #[inline(always)]
    fn of_send(state: SendState) -> State {
        match state {
            SendState::Bcopy => State::Bcopy,
            SendState::Pending(send) => State::Pending(send),
            SendState::Held(withdrawal) => State::Held(withdrawal),
            SendState::Sending(Transfer {
                target,
                offset,
                end: _,
                in_order,
            }) => State::Sending {
                in_order,
                target,
                offset,
            },
            SendState::Streaming => State::Streaming,
            SendState::Done { cancelled } => State::Sent { cancelled },
        }
    }

    #[inline(always)]
    fn of_receive(state: ReceiveState) -> State {
        match state {
            ReceiveState::Posted(Posted {
                pattern: _,
                serial,
                to_name,
            }) => State::Posted {
                to_name,
                serial: Packed::new(serial),
            },
            ReceiveState::Matched(Matched { length, .. }, coming) => match coming {
                Coming::CtsDue { sender } => State::CtsDue { length, sender },
                // Its total is the part of the message that fits in the buffer.
                Coming::Landing(Landing { received, total: _ }) => {
                    State::Landing { length, received }
                }
                Coming::Bound => State::Bound { length },
                Coming::Stopped { sender } => State::Stopped { length, sender },
                Coming::Kept { at } => State::Kept { length, at },
            },
            ReceiveState::Done(Matched { length, .. }) => State::Received { length },
            ReceiveState::Cancelled(_) => State::ReceiveCancelled,
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
            marks: Marks(0),
            state: State::Free { next },
        }
    }

    /// Frees the slot and invalidates the request's ID.
    #[inline]
    pub(super) fn free(&mut self, next: Option<Slot>, name_bits: GenerationBits) {
        self.state = State::Free { next };
        self.pass_name(name_bits);
    }

    /// Advances the generation, so that the next request gets a different ID.
    #[inline]
    pub(super) fn pass_name(&mut self, name_bits: GenerationBits) {
        self.marks = Marks(self.generation().next(name_bits).to_bits());
    }

    /// Stores `request` in this free slot. Returns the next free slot. Inlined, to specialize it for the known kind of
    /// request.
    #[inline(always)]
    pub(super) fn take(&mut self, request: Request) -> Option<Slot> {
        let State::Free { next } = self.state else {
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
    fn put_send(&mut self, send: Send) {
        let (span, is_bcopy) = match send.data {
            Data::User(span) => (span, 0),
            Data::Bcopy(BcopyId(place)) => (
                Span::model(place.into(), send.length as usize),
                Marks::BCOPY,
            ),
        };
        debug_assert_eq!(span.len(), send.length as usize);
        self.data = PackedSpan::new(span);
        (self.peer, self.tag, self.context) = (Some(send.dest), send.tag, send.context);
        let is_synchronous = match send.mode {
            Mode::Synchronous => Marks::SYNCHRONOUS,
            Mode::Standard | Mode::Followed => 0,
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
        self.marks.has(Marks::FORGOTTEN)
    }

    /// Marks the request as detached. Returns true if it was not.
    pub(super) fn forget(&mut self) -> bool {
        let first = !self.is_forgotten();
        self.marks.0 |= Marks::FORGOTTEN;
        first
    }

    /// Checks for a request of which the program has a handle.
    pub(super) fn is_owned(&self) -> bool {
        !matches!(self.state, State::Free { .. })
            && !self.marks.has(Marks::FORGOTTEN | Marks::DISOWNED)
    }

    /// Marks the request as one without a program's handle.
    pub(super) fn disown(&mut self) {
        self.marks.0 |= Marks::DISOWNED;
    }

    /// Checks whether the slot contains the request `id`.
    #[inline]
    pub(super) fn is(&self, id: RequestId) -> bool {
        !matches!(self.state, State::Free { .. }) && id.is(self.generation())
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
    pub(super) fn send(&self) -> Option<Send> {
        let state = match self.state {
            State::Bcopy => SendState::Bcopy,
            State::Pending(send) => SendState::Pending(send),
            State::Held(withdrawal) => SendState::Held(withdrawal),
            State::Sending { .. } => SendState::Sending(self.transfer()?),
            State::Streaming => SendState::Streaming,
            State::Sent { cancelled } => SendState::Done { cancelled },
            State::Free { .. }
            | State::Posted { .. }
            | State::CtsDue { .. }
            | State::Landing { .. }
            | State::Bound { .. }
            | State::Stopped { .. }
            | State::Kept { .. }
            | State::Received { .. }
            | State::ReceiveCancelled => return None,
        };
        self.send_in(state)
    }

    /// Returns the send, with the specified state.
    #[inline]
    fn send_in(&self, state: SendState) -> Option<Send> {
        Some(Send {
            dest: self.peer?,
            tag: self.tag,
            context: self.context,
            mode: if self.is_synchronous() {
                Mode::Synchronous
            } else {
                Mode::Standard
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

    /// Returns [`Send::length`] of the send.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.data.len()
    }

    #[inline]
    pub(crate) fn is_synchronous(&self) -> bool {
        self.marks.has(Marks::SYNCHRONOUS)
    }

    /// Returns the remaining transfer of a send whose data is being transmitted.
    #[inline]
    pub(crate) fn transfer(&self) -> Option<Transfer> {
        match self.state {
            State::Sending {
                in_order,
                target,
                offset,
            } => Some(Transfer {
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
        self.state == State::Streaming
    }

    /// Returns the cancel state of a held send.
    #[inline]
    pub(crate) fn withdrawal(&self) -> Option<Withdrawal> {
        match self.state {
            State::Held(withdrawal) => Some(withdrawal),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn send_data(&self) -> Data {
        if self.marks.has(Marks::BCOPY) {
            Data::Bcopy(BcopyId(self.data.span().address() as u8))
        } else {
            Data::User(self.data.span())
        }
    }

    /// Returns the pending-queue state of the send.
    #[inline]
    pub(crate) fn pending(&self) -> Option<&PendingSend> {
        match &self.state {
            State::Pending(send) => Some(send),
            _ => None,
        }
    }

    /// Returns the pending-queue state of the send, for writing.
    #[inline]
    pub(super) fn pending_mut(&mut self) -> Option<&mut PendingSend> {
        match &mut self.state {
            State::Pending(send) => Some(send),
            _ => None,
        }
    }

    /// Checks for a pending send to `dest` with this context and tag.
    #[inline]
    pub(super) fn is_pending_to(&self, dest: Rank, context: Context, tag: Tag) -> bool {
        matches!(self.state, State::Pending(_))
            && (self.peer, self.context, self.tag) == (Some(dest), context, tag)
    }

    /// Checks for a send to `dest` whose RTS has no reply yet.
    pub(crate) fn is_offered_to(&self, dest: Rank) -> bool {
        let is_offered =
            matches!(&self.state, State::Pending(send) if send.offer == Offer::Unanswered);
        is_offered && self.peer == Some(dest)
    }

    /// Sets the state of the send. A transfer also sets the remaining length.
    #[inline(always)]
    pub(super) fn set_send_state(&mut self, state: SendState) {
        if let SendState::Sending(Transfer { end, .. }) = state {
            self.data.cut(end);
        }
        self.state = State::of_send(state);
    }

    /// Returns the serial of a posted receive with this pattern.
    #[inline]
    pub(super) fn serial_if_posted(&self, pattern: &Pattern) -> Option<Serial> {
        match self.state {
            State::Posted { serial, .. } if self.pattern() == *pattern => Some(serial.get()),
            _ => None,
        }
    }

    /// Returns the pattern of the receive, or of its message once it has matched.
    #[inline]
    pub(crate) fn pattern(&self) -> Pattern {
        Pattern::from_parts(self.peer, self.tag, self.context)
    }

    #[inline]
    pub(crate) fn posted(&self) -> Option<Posted> {
        match self.state {
            State::Posted { to_name, serial } => Some(Posted {
                pattern: self.pattern(),
                serial: serial.get(),
                to_name,
            }),
            _ => None,
        }
    }

    /// Returns the flag of a posted receive that it must be listed in the next restart, for writing.
    #[inline]
    pub(super) fn is_to_name(&mut self) -> Option<&mut bool> {
        match &mut self.state {
            State::Posted { to_name, .. } => Some(to_name),
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
    fn matched(&self, length: u32) -> Option<Matched> {
        let envelope = Envelope {
            source: self.peer?,
            tag: self.tag,
            context: self.context,
        };
        Some(Matched { envelope, length })
    }

    /// Returns the matched message with a pending CTS, and its sender's request ID.
    #[inline]
    pub(crate) fn cts_due(&self) -> Option<(Matched, u32)> {
        match self.state {
            State::CtsDue { length, sender } => Some((self.matched(length)?, sender)),
            _ => None,
        }
    }

    /// Returns the bytes of the matched message that fit in the receive's buffer. `None` if the receive has not
    /// matched.
    #[inline]
    pub(crate) fn wanted(&self) -> Option<u32> {
        match self.state {
            State::CtsDue { length, .. }
            | State::Landing { length, .. }
            | State::Bound { length }
            | State::Stopped { length, .. }
            | State::Kept { length, .. } => Some(length.min(self.data.len())),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn receive(&self) -> Option<Receive> {
        let span = self.data.span();
        let state = match self.state {
            State::Posted { .. } => ReceiveState::Posted(self.posted()?),
            State::CtsDue { length, sender } => {
                ReceiveState::Matched(self.matched(length)?, Coming::CtsDue { sender })
            }
            State::Landing { length, received } => {
                let matched = self.matched(length)?;
                let total = matched.wanted(span);
                ReceiveState::Matched(matched, Coming::Landing(Landing { received, total }))
            }
            State::Bound { length } => ReceiveState::Matched(self.matched(length)?, Coming::Bound),
            State::Stopped { length, sender } => {
                ReceiveState::Matched(self.matched(length)?, Coming::Stopped { sender })
            }
            State::Kept { length, at } => {
                ReceiveState::Matched(self.matched(length)?, Coming::Kept { at })
            }
            State::Received { length } => ReceiveState::Done(self.matched(length)?),
            State::ReceiveCancelled => ReceiveState::Cancelled(self.pattern()),
            State::Free { .. }
            | State::Bcopy
            | State::Pending(_)
            | State::Held(_)
            | State::Sending { .. }
            | State::Streaming
            | State::Sent { .. } => return None,
        };
        Some(Receive { span, state })
    }

    /// Returns the outcome of the request, if it has finished. Reads only the fields of its state.
    #[inline]
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self.state {
            State::Received { length } => Some(Outcome {
                source: self.peer?,
                tag: self.tag,
                bytes: length.min(self.data.len()) as usize,
                truncated: length > self.data.len(),
                cancelled: false,
            }),
            State::Sent { cancelled } => Some(Outcome {
                source: self.peer?,
                tag: self.tag,
                bytes: self.data.len() as usize,
                truncated: false,
                cancelled,
            }),
            State::ReceiveCancelled => Some(Outcome {
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
    pub(super) fn whole(&self) -> Option<Whole> {
        let bytes = match self.state {
            State::Received { length } if length <= self.data.len() => length,
            State::Sent { cancelled: false } => self.data.len(),
            _ => return None,
        };
        let peer = self.peer.filter(|_| !self.data.span().is_typed())?;
        Some(Whole {
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
            State::Received { .. } | State::Sent { .. } | State::ReceiveCancelled
        )
    }

    /// Returns the program's buffer of the request; empty if the data is in a bcopy.
    #[inline]
    pub(crate) fn buffer(&self) -> Span {
        match self.send_data() {
            Data::User(span) => span,
            Data::Bcopy(_) => Span::EMPTY,
        }
    }

    pub(crate) fn context(&self) -> Context {
        self.context
    }

    /// Sets the state of the receive.
    #[inline(always)]
    pub(super) fn set_receive_state(&mut self, state: ReceiveState) {
        (self.peer, self.tag, self.context) = match state {
            ReceiveState::Posted(Posted { pattern, .. }) | ReceiveState::Cancelled(pattern) => {
                pattern.parts()
            }
            ReceiveState::Matched(Matched { envelope, .. }, _)
            | ReceiveState::Done(Matched { envelope, .. }) => {
                (Some(envelope.source), envelope.tag, envelope.context)
            }
        };
        self.state = State::of_receive(state);
    }

    /// Completes the posted receive with this message if they match and no mark requires the slow path. Returns its
    /// buffer. Otherwise returns `None` and changes nothing.
    #[inline]
    pub(super) fn finish_posted(&mut self, matched: &Matched) -> Option<Span> {
        let is_plain = matches!(self.state, State::Posted { to_name: false, .. })
            && !self
                .marks
                .has(Marks::CANCELLED | Marks::FORGOTTEN | Marks::HOLDS);
        if !is_plain || !self.pattern().matches(&matched.envelope) {
            return None;
        }
        self.set_receive_state(ReceiveState::Done(*matched));
        Some(self.data.span())
    }

    /// Counts `len` bytes at `offset` of the message being received into the program's buffer. Returns that buffer, and
    /// the message once it is complete. Returns `None` if no such bytes are expected.
    #[inline]
    pub(super) fn land(&mut self, offset: u32, len: usize) -> Option<(Span, Option<Matched>)> {
        let State::Landing { length, received } = self.state else {
            return None;
        };
        let total = length.min(self.data.len());
        let mut landing = Landing { received, total };
        let is_whole = landing.accept(offset, len).ok()?;
        let received = landing.received;
        self.state = State::Landing { length, received };
        let matched = if is_whole { self.matched(length) } else { None };
        Some((self.data.span(), matched))
    }

    #[inline]
    pub(super) fn is_receive(&self) -> bool {
        matches!(
            self.state,
            State::Posted { .. }
                | State::CtsDue { .. }
                | State::Landing { .. }
                | State::Bound { .. }
                | State::Stopped { .. }
                | State::Kept { .. }
                | State::Received { .. }
                | State::ReceiveCancelled
        )
    }

    /// Checks for a receive of a matched probe.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.marks.has(Marks::HOLDS) && self.is_receive()
    }

    /// Checks for a posted receive that the program has cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        self.marks.has(Marks::CANCELLED) && matches!(self.state, State::Posted { .. })
    }

    /// Marks the posted receive as cancelled. It remains posted for now.
    pub(super) fn mark_cancelled(&mut self) {
        self.marks.0 |= Marks::CANCELLED;
    }

    /// Marks the receive as belonging to a matched probe.
    pub(super) fn hold(&mut self) {
        self.marks.0 |= Marks::HOLDS;
    }

    /// Sets the buffer of a matched probe's message, as specified by the program.
    pub(super) fn aim(&mut self, span: Span) {
        self.data = PackedSpan::new(span);
        self.marks.0 &= !Marks::HOLDS;
    }

    #[inline]
    pub(crate) fn is_send(&self) -> bool {
        !self.is_receive() && !matches!(self.state, State::Free { .. })
    }
}

#[cfg(test)]
mod tests;
