//! State of a receive request, from the program's call to completion.
#![forbid(unsafe_code)]

use msg_layer::Reassembly;

use crate::envelope::{Envelope, MatchPattern};
use crate::ids::{BlockIndex, SequenceNumber};
use crate::memory::Span;

/// A receive request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReceiveRequest {
    /// The program's buffer. The pool stores at most the length of the longest message (`u32::MAX`).
    pub span: Span,
    /// State of the protocol.
    pub state: ReceiveState,
}

/// Protocol state of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceiveState {
    /// In the posted receive queue.
    Posted(PostedReceive),
    /// Matched with a message whose data is incomplete.
    Matched(MatchedMessage, RecvData),
    /// Finished; the program has not yet checked for completion.
    Done(MatchedMessage),
    /// Cancelled before a match; the program has not yet checked for completion.
    Cancelled(MatchPattern),
}

/// Fields of a posted receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostedReceive {
    /// Matching criteria.
    pub pattern: MatchPattern,
    /// Sequence number in the order of receives.
    pub serial: SequenceNumber,
    /// It must be listed in the next restart.
    pub needs_listing: bool,
}

/// A message that a receive has matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatchedMessage {
    /// The message's envelope.
    pub envelope: Envelope,
    /// Length in bytes, which may exceed the receive's buffer.
    pub length: u32,
}

impl MatchedMessage {
    /// Returns the bytes of the message that fit in the program's buffer.
    pub fn wanted(&self, span: Span) -> u32 {
        self.length.min(u32::try_from(span.len()).unwrap_or(u32::MAX))
    }
}

/// State of a matched message's incoming data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecvData {
    /// The message was recorded without a buffer; the CTS is still to be sent.
    CtsPending {
        /// The sender's ID of its request.
        sender: u32,
    },
    /// Data packets are being received into the program's buffer.
    Receiving(Reassembly),
    /// Data is being received into the buffer of its record.
    Buffering,
    /// Held for a matched probe: the program has not yet specified a buffer. The sender keeps the data, and no CTS is
    /// sent until then.
    MprobeHeld {
        /// The sender's ID of its request.
        sender: u32,
    },
    /// Held for a matched probe like [`RecvData::MprobeHeld`], but the data is in the buffer of its record or being received
    /// there.
    MprobeBuffered {
        /// The record, which is in no queue.
        at: BlockIndex,
    },
}

impl ReceiveRequest {
    /// Returns the message held for a matched probe, if any.
    pub fn held(&self) -> Option<MatchedMessage> {
        match self.state {
            ReceiveState::Matched(matched, RecvData::MprobeHeld { .. } | RecvData::MprobeBuffered { .. }) => {
                Some(matched)
            }
            _ => None,
        }
    }

    /// Returns the matching criteria, or the envelope of the matched message.
    pub(super) fn pattern(&self) -> MatchPattern {
        match &self.state {
            ReceiveState::Posted(PostedReceive { pattern, .. }) | ReceiveState::Cancelled(pattern) => *pattern,
            ReceiveState::Matched(MatchedMessage { envelope, .. }, _)
            | ReceiveState::Done(MatchedMessage { envelope, .. }) => envelope.pattern(),
        }
    }
}
