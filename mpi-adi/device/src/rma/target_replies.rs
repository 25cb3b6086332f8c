//! Replies of this process, as a target, that do not fit one packet.
#![forbid(unsafe_code)]

use msg_layer::header::{LONG_BYTES, SHORT_BYTES, TargetOffset};

use crate::envelope::Rank;
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::wire::MAX_BYTES;

/// Maximum number of concurrent gets, longer than a reply, that a target serves.
pub const CURSORS: usize = 16;
/// Maximum number of fetch results, longer than a reply, that a target keeps until they are sent.
pub const RESULTS: usize = 8;
/// Maximum element size.
const ELEMENT_BYTES: usize = 32;
/// Data bytes of a get in one packet: whole elements of any size, so that each is read atomically.
pub(super) const DATA_BYTES: usize = LONG_BYTES / ELEMENT_BYTES * ELEMENT_BYTES;

/// A get in progress.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct GetCursor {
    pub(super) origin: Rank,
    /// The origin's ID of it.
    pub(super) name: u16,
    pub(super) span: Span,
    pub(super) offset: u32,
}

impl GetCursor {
    fn is_in(&self, memory: Span) -> bool {
        let (at, from) = (self.span.address(), memory.address());
        at < from + memory.len() && from < at + self.span.len()
    }
}

/// A fetch result longer than a reply.
#[derive(Clone, Hash, Debug)]
pub(super) struct FetchResult {
    pub(super) origin: Rank,
    /// The origin's ID of it.
    pub(super) name: u16,
    pub(super) len: u8,
    pub(super) bytes: [u8; MAX_BYTES],
}

/// Replies of this process, as a target.
#[derive(Clone, Debug)]
pub(super) struct TargetReplies {
    pub(super) cursors: heapless::Deque<GetCursor, CURSORS>,
    pub(super) results: heapless::Vec<FetchResult, RESULTS>,
}

impl TargetReplies {
    pub(super) fn new() -> TargetReplies {
        TargetReplies {
            cursors: heapless::Deque::new(),
            results: heapless::Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.cursors.is_empty()
    }

    /// Returns whether a get in progress reads from this memory.
    pub(super) fn reads(&self, memory: Span) -> bool {
        self.cursors.iter().any(|cursor| cursor.is_in(memory))
    }

    /// Emits the result of a fetch.
    pub(super) fn next_fetched(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        let fetched = self.results.pop()?;
        let len = fetched.len as usize;
        out[..len].copy_from_slice(&fetched.bytes[..len]);
        Some(OutgoingPacket {
            dest: fetched.origin,
            argument: 0,
            place: Some(TargetOffset {
                target: fetched.name.into(),
                offset: 0,
            }),
            len,
        })
    }

    /// Emits a packet of the next get in round robin.
    pub(super) fn next_from_cursors(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<OutgoingPacket> {
        let mut cursor = self.cursors.pop_front()?;
        let offset = cursor.offset as usize;
        let len = (cursor.span.len() - offset).min(DATA_BYTES);
        memory.read(cursor.span, offset, &mut out[..len]);
        let place = TargetOffset {
            target: cursor.name.into(),
            offset: cursor.offset,
        };
        cursor.offset += len as u32;
        if (cursor.offset as usize) < cursor.span.len() {
            // Cannot fail: it has just been dequeued.
            let _ = self.cursors.push_back(cursor);
        }
        Some(OutgoingPacket {
            dest: cursor.origin,
            argument: 0,
            place: Some(place),
            len,
        })
    }
}
