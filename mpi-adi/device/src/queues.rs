//! Message queues of a blocked process, for the explanation of a hang.
//!
//! Nothing is recorded for them: a visit walks the requests, the unexpected messages and the windows. It changes
//! nothing and allocates nothing. Its cost is proportional to their number, so hosts visit only a process that has
//! made no progress for a while.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use crate::adi::Adi;
use crate::envelope::{Context, Rank, Tag};
use crate::matching::Matching;

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

impl Adi {
    /// Calls `visit` for each entry of the queues: requests in the order of their slots, then windows, then unexpected
    /// messages in the order of the matching engine. The statistics count one search.
    pub fn visit_queues(&mut self, visit: &mut dyn FnMut(QueueEntry)) {
        self.requests.unmatched().for_each(&mut *visit);
        if let Some(all) = self.extensions.one_sided.as_deref() {
            all.visit_waits(visit);
        }
        let visit = RefCell::new(visit);
        // The search finds nothing, so that it visits every message.
        self.matching.find_record(&self.region, &|record| {
            visit.borrow_mut()(QueueEntry {
                kind: QueueKind::UnexpectedMessage,
                is_complete: false,
                context: record.envelope.context,
                peer: Some(record.envelope.source),
                tag: Some(record.envelope.tag),
                bytes: record.length as usize,
            });
            false
        });
    }
}
