//! Completion status of a request, as the program receives it.
#![forbid(unsafe_code)]

use crate::envelope::{Context, Rank, Tag};
use crate::memory::Span;

/// Completion status of a finished request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestOutcome {
    /// Receive: source of the message.
    pub source: Rank,
    /// Receive: tag of the message.
    pub tag: Tag,
    /// Receive: bytes received, at most the buffer's size.
    pub bytes: usize,
    /// Receive: the message was longer than the buffer (MPI_ERR_TRUNCATE); only its first bytes were stored.
    pub truncated: bool,
    /// Cancelled before a match.
    pub cancelled: bool,
}

/// Completion status of an untruncated, uncancelled request, small enough for two registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainCompletion {
    /// Receive: source. Send: destination.
    pub peer: Rank,
    /// Tag.
    pub tag: Tag,
    /// Length in bytes.
    pub bytes: u32,
    /// Context.
    pub context: Context,
}

/// A request that has completed and is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletedRequest {
    /// Completion status.
    pub outcome: RequestOutcome,
    /// Context of the request; for a matched receive, of its message.
    pub context: Context,
    /// The program's buffer, if the request has kept it until now.
    pub buffer: Span,
}

impl RequestOutcome {
    /// Creates the status of a receive with these bytes of its message: all, or as many as fit in the buffer.
    pub fn from_plain(whole: PlainCompletion, truncated: bool) -> Self {
        Self {
            source: whole.peer,
            tag: whole.tag,
            bytes: whole.bytes as usize,
            truncated,
            cancelled: false,
        }
    }
}
