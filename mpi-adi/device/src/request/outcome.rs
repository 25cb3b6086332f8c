//! What the program is told of a request that has finished.
#![forbid(unsafe_code)]

use crate::envelope::{Context, Rank, Tag};
use crate::memory::Span;

/// How a finished request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Receive: who sent the message.
    pub source: Rank,
    /// Receive: its tag.
    pub tag: Tag,
    /// Receive: bytes received, at most the buffer's.
    pub bytes: usize,
    /// Receive: the message was longer than the buffer (MPI_ERR_TRUNCATE); only its beginning was kept.
    pub truncated: bool,
    /// Taken back before a message matched, or before a receive did.
    pub cancelled: bool,
}

/// A whole message of a request that has finished, with nothing else to tell: what fits two registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole {
    /// Receive: who sent it. Send: who gets it.
    pub peer: Rank,
    /// Its tag.
    pub tag: Tag,
    /// Its bytes.
    pub bytes: u32,
    /// Its context.
    pub context: Context,
}

/// A request that has finished and is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Concluded {
    /// How it ended.
    pub outcome: Outcome,
    /// Its context: of a receive that has matched, its message's.
    pub context: Context,
    /// The program's buffer, if the request has kept it until now.
    pub buffer: Span,
}

impl Outcome {
    /// Of a receive that took this of its message: all, or as much as there was room for.
    pub fn of(whole: Whole, truncated: bool) -> Self {
        Self {
            source: whole.peer,
            tag: whole.tag,
            bytes: whole.bytes as usize,
            truncated,
            cancelled: false,
        }
    }
}
