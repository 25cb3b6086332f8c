//! A receive, from the program's call to its end.
#![forbid(unsafe_code)]

use msg_layer::Landing;

use crate::envelope::{Envelope, Pattern};
use crate::memory::Span;
use crate::names::{BlockIndex, Serial};

/// A receive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Receive {
    /// The program's buffer, of which the pool keeps no more bytes than the longest message has (`u32::MAX`).
    pub span: Span,
    /// Where it stands.
    pub state: ReceiveState,
}

/// Where a receive stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceiveState {
    /// In the posted receive queue.
    Posted(Posted),
    /// It has matched a message whose data has still to come.
    Matched(Matched, Coming),
    /// Finished; the program has yet to ask.
    Done(Matched),
    /// Cancelled before it matched; the program has yet to ask.
    Cancelled(Pattern),
}

/// What a posted receive waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Posted {
    /// What it asks for.
    pub pattern: Pattern,
    /// Its place in the order of receives.
    pub serial: Serial,
    /// A restart has still to name it.
    pub to_name: bool,
}

/// The message that a receive has matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Matched {
    /// Its envelope.
    pub envelope: Envelope,
    /// Its bytes, which may be more than the receive's buffer holds.
    pub length: u32,
}

impl Matched {
    /// Bytes of it that the program's buffer takes.
    pub fn wanted(&self, span: Span) -> u32 {
        self.length
            .min(u32::try_from(span.len()).unwrap_or(u32::MAX))
    }
}

/// How a matched message comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coming {
    /// Its record had no buffer; the CTS is still to be sent.
    CtsDue {
        /// The sender's name for its request.
        sender: u32,
    },
    /// In data packets, into the program's buffer.
    Landing(Landing),
    /// Into the buffer of its record, which is still filling.
    Bound,
    /// Not yet: a matched probe has it, and the program has still to say where to. Its sender has the data, and the CTS
    /// is not due before.
    Stopped {
        /// The sender's name for its request.
        sender: u32,
    },
    /// Not yet, as [`Coming::Stopped`], but the data is in the buffer of its record, or on the way there.
    Kept {
        /// The record, which is in no queue any more.
        at: BlockIndex,
    },
}

impl Receive {
    /// The message that it has for a matched probe, if it is one's.
    pub fn held(&self) -> Option<Matched> {
        match self.state {
            ReceiveState::Matched(matched, Coming::Stopped { .. } | Coming::Kept { .. }) => {
                Some(matched)
            }
            _ => None,
        }
    }

    /// What it asks for, or from when it has matched what it has.
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
