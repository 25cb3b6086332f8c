//! State of a send request, from the program's call to completion.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::MessageTransfer;

use crate::envelope::{Context, Rank, Tag};
use crate::ids::{BcopyId, SequenceNumber};
use crate::memory::Span;
use crate::protocol::RtsState;

/// Send mode: whether a send may complete before a receive has matched it (MPI-3.1 section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendMode {
    /// Completes when the receiver has recorded the message or the data has been transmitted.
    Standard,
    /// Standard, with a delayed acknowledgement: another message to the same receiver follows, whose prompt
    /// acknowledgement also covers this one.
    StandardDelayedAck,
    /// Completes only after a receive has matched the message.
    Synchronous,
}

/// Properties of the posted receive for which a receiver requests a message, stored in the marks of a [`PendingSend`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestedFlags(u8);

impl RequestedFlags {
    const ALL: u8 = ASKED | ANY_TAG | EXACT | TOLD;

    /// Creates the properties of a receive that accepts any tag, or only messages of this source (`exact`). No RTS
    /// contains them yet.
    pub fn new(any_tag: bool, exact: bool) -> RequestedFlags {
        let mark = |is, mark| if is { mark } else { 0 };
        RequestedFlags(ASKED | mark(any_tag, ANY_TAG) | mark(exact, EXACT))
    }

    /// Checks whether the receive accepts any tag.
    pub fn any_tag(self) -> bool {
        self.0 & ANY_TAG != 0
    }

    /// Checks whether the receive accepts no other source, so that the requested message certainly matches.
    pub fn is_exact(self) -> bool {
        self.0 & EXACT != 0
    }

    /// Checks whether the RTS in flight contains this information.
    pub fn is_transmitted(self) -> bool {
        self.0 & TOLD != 0
    }
}

/// Cancel state of a held send (MPI-3.1 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CancelState {
    /// Not cancelled.
    None,
    /// The receiver has recorded the message; the CANCEL is still to be sent.
    Unrequested,
    /// The receiver has rejected the message but may have recorded it for a probe; the CANCEL is still to be sent.
    Rejected,
    /// The CANCEL has been sent.
    Requested,
}

/// Access to the bytes of bcopies by ID.
pub(crate) trait BcopyBytes<'a>: Copy + Fn(BcopyId) -> &'a [u8] {}

impl<'a, F: Copy + Fn(BcopyId) -> &'a [u8]> BcopyBytes<'a> for F {}

/// Location of a send's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendData {
    /// In the program's buffer.
    User(Span),
    /// In a bcopy (buffered copy). The send is complete for the program.
    Bcopy(BcopyId),
}

/// A send request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendRequest {
    /// Destination.
    pub dest: Rank,
    /// Tag.
    pub tag: Tag,
    /// Context of the communicator.
    pub context: Context,
    /// Send mode.
    pub mode: SendMode,
    /// Message length in bytes; after a CTS, the bytes that the receiver accepts.
    pub length: u32,
    /// Location of exactly these bytes.
    pub data: SendData,
    /// State of the protocol.
    pub state: SendState,
}

/// Protocol state of a send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendState {
    /// A bcopy whose RTS has not been transmitted yet.
    Bcopy,
    /// In the pending send queue of its destination.
    Pending(PendingSend),
    /// Recorded at the receiver without a buffer (NCTSD, not clear to send data), or cancelled after an NCTS (not clear
    /// to send). Waits for CTS or for CANCELLED.
    Held(CancelState),
    /// Data packets are being transmitted.
    Sending(MessageTransfer),
    /// Accepted while its eager data is being transmitted.
    Streaming,
    /// Finished; the program has not yet checked for completion.
    Done {
        /// The send was cancelled.
        cancelled: bool,
    },
}

/// Fields of a send in the pending send queue. They use ten bytes of the slot, after two of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(2))]
pub struct PendingSend {
    /// State of its RTS.
    pub rts_state: RtsState,
    marks: u8,
    serial: SequenceNumber,
}

/// All earlier messages were accepted or also sent in order when its last RTS was sent.
pub(crate) const IN_ORDER: u8 = 1 << 0;
/// Its last RTS was sent eagerly, with the data following immediately.
pub(crate) const EAGER: u8 = 1 << 1;
/// The send is cancelled as soon as the reply in flight reports that the receiver has not accepted it.
pub(crate) const CANCELLED: u8 = 1 << 2;
/// Its acknowledgement may be delayed until a later one: [`SendMode::StandardDelayedAck`].
pub(crate) const ACK_DEFERRABLE: u8 = 1 << 3;
/// A restart of the receiver requests it; the other three marks describe that request ([`RequestedFlags`]).
const ASKED: u8 = 1 << 4;
const ANY_TAG: u8 = 1 << 5;
const EXACT: u8 = 1 << 6;
const TOLD: u8 = 1 << 7;

impl PendingSend {
    /// Creates the fields for a message with this RTS state when it enters the queue.
    pub fn new(rts_state: RtsState) -> PendingSend {
        PendingSend {
            rts_state,
            marks: match rts_state {
                RtsState::Unanswered => IN_ORDER,
                RtsState::Unsent | RtsState::Rejected => 0,
            },
            serial: 0,
        }
    }

    /// Checks a mark.
    #[inline]
    pub(crate) fn has_mark(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Sets or clears a mark.
    #[inline]
    pub(crate) fn set_mark(&mut self, mark: u8, to: bool) {
        if to { self.marks |= mark } else { self.marks &= !mark }
    }

    /// Returns the sequence number among the sends to the destination.
    #[inline]
    pub(crate) fn serial(&self) -> SequenceNumber {
        self.serial
    }

    pub(crate) fn set_serial(&mut self, serial: SequenceNumber) {
        self.serial = serial;
    }

    /// Returns the receive for which a restart of the receiver requests this message.
    #[inline]
    pub(crate) fn requested(&self) -> Option<RequestedFlags> {
        self.has_mark(ASKED)
            .then_some(RequestedFlags(self.marks & RequestedFlags::ALL))
    }

    pub(crate) fn set_requested(&mut self, asked: Option<RequestedFlags>) {
        self.marks = self.marks & !RequestedFlags::ALL | asked.map_or(0, |asked| asked.0);
    }

    /// Sets whether the RTS in flight contains the restart's request, if there is one.
    #[inline]
    pub(crate) fn set_transmitted(&mut self, told: bool) {
        self.set_mark(TOLD, told && self.has_mark(ASKED));
    }
}

/// Serials are omitted, since the queue's order already determines them. The in-order mark matters to the next message
/// only while the reply is in flight.
impl Hash for PendingSend {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut known = *self;
        known.set_mark(
            IN_ORDER,
            self.has_mark(IN_ORDER) && self.rts_state == RtsState::Unanswered,
        );
        (known.rts_state, known.marks).hash(state);
    }
}

impl SendRequest {
    /// Hashes the state that determines the device's further behavior, up to IDs.
    pub(crate) fn hash<'a, H: Hasher>(&self, copy: impl BcopyBytes<'a>, state: &mut H) {
        (self.dest, self.tag, self.context, self.mode, self.length).hash(state);
        match self.data {
            SendData::User(span) => span.hash(state),
            SendData::Bcopy(bcopy) => copy(bcopy).hash(state),
        }
        self.state.hash(state);
    }
}
