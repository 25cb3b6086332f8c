//! State of a receive request, from the program's call to completion.
#![forbid(unsafe_code)]

use msg_layer::Landing;

use crate::envelope::{Envelope, Pattern};
use crate::memory::Span;
use crate::names::{BlockIndex, Serial};

/// A receive request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Receive {
    /// The program's buffer. The pool stores at most the length of the longest message (`u32::MAX`).
    pub span: Span,
    /// State of the protocol.
    pub state: ReceiveState,
}

/// Protocol state of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceiveState {
    /// In the posted receive queue.
    Posted(Posted),
    /// Matched with a message whose data is incomplete.
    Matched(Matched, Coming),
    /// Finished; the program has not yet checked for completion.
    Done(Matched),
    /// Cancelled before a match; the program has not yet checked for completion.
    Cancelled(Pattern),
}

/// Fields of a posted receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Posted {
    /// Matching criteria.
    pub pattern: Pattern,
    /// Sequence number in the order of receives.
    pub serial: Serial,
    /// It must be listed in the next restart.
    pub to_name: bool,
}

/// A message that a receive has matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Matched {
    /// The message's envelope.
    pub envelope: Envelope,
    /// Length in bytes, which may exceed the receive's buffer.
    pub length: u32,
}

impl Matched {
    /// Returns the bytes of the message that fit in the program's buffer.
    pub fn wanted(&self, span: Span) -> u32 {
        self.length
            .min(u32::try_from(span.len()).unwrap_or(u32::MAX))
    }
}

/// State of a matched message's incoming data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coming {
    /// The message was recorded without a buffer; the CTS is still to be sent.
    CtsDue {
        /// The sender's ID of its request.
        sender: u32,
    },
    /// Data packets are being received into the program's buffer.
    Landing(Landing),
    /// Data is being received into the buffer of its record.
    Bound,
    /// Held for a matched probe: the program has not yet specified a buffer. The sender keeps the data, and no CTS is
    /// sent until then.
    Stopped {
        /// The sender's ID of its request.
        sender: u32,
    },
    /// Held for a matched probe like [`Coming::Stopped`], but the data is in the buffer of its record or being received
    /// there.
    Kept {
        /// The record, which is in no queue.
        at: BlockIndex,
    },
}

impl Receive {
    /// Returns the message held for a matched probe, if any.
    pub fn held(&self) -> Option<Matched> {
        match self.state {
            ReceiveState::Matched(matched, Coming::Stopped { .. } | Coming::Kept { .. }) => {
                Some(matched)
            }
            _ => None,
        }
    }

    /// Returns the matching criteria, or the envelope of the matched message.
    pub(super) fn pattern(&self) -> Pattern {
        match &self.state {
            ReceiveState::Posted(Posted { pattern, .. }) | ReceiveState::Cancelled(pattern) => {
                *pattern
            }
            ReceiveState::Matched(Matched { envelope, .. }, _)
            | ReceiveState::Done(Matched { envelope, .. }) => envelope.pattern(),
        }
    }
}
