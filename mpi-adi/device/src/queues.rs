//! Message queues of a blocked process, for the explanation of a hang.
//!
//! Nothing is recorded for them: a [visit](crate::Adi::visit_queues) walks the requests, the unexpected messages and the
//! windows. It changes nothing and allocates nothing. Its cost is proportional to their number, so hosts visit only a
//! process that has made no progress for a while.
#![forbid(unsafe_code)]

use crate::envelope::{Context, Rank, Tag};

/// Queue of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// A receive that no message has matched.
    PostedReceive,
    /// A send that no receive has matched.
    PendingSend,
    /// A message that has arrived and that no receive has matched.
    UnexpectedMessage,
    /// A grant that this process waits for: a lock at the peer, or the peer's exposure epoch (MPI_Win_post).
    WindowGrant,
    /// The end of the peer's access epoch (MPI_Win_complete), which an exposure epoch of this process requires.
    WindowEpoch,
    /// A lock of this process's window that the peer holds.
    LockHolder,
}

/// An entry of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueEntry {
    /// Its queue.
    pub kind: QueueKind,
    /// The program's call is complete, as that of a buffered send.
    pub is_complete: bool,
    /// Context of the communicator or window.
    pub context: Context,
    /// The peer; `None` for MPI_ANY_SOURCE.
    pub peer: Option<Rank>,
    /// The tag; `None` for MPI_ANY_TAG and for windows.
    pub tag: Option<Tag>,
    /// Length of the message, or of the receive's buffer, in bytes.
    pub bytes: usize,
}

impl QueueEntry {
    /// Creates an entry of a window.
    pub(crate) fn for_window(kind: QueueKind, context: Context, peer: Rank) -> QueueEntry {
        QueueEntry {
            kind,
            is_complete: false,
            context,
            peer: Some(peer),
            tag: None,
            bytes: 0,
        }
    }
}
