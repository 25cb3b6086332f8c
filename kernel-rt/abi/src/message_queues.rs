//! Message queues of a blocked rank: the messages and grants that it waits for, and the messages that no receive has
//! matched. The host tool explains a hang from them.
//!
//! Like the blackboard the record is found by the image's symbol ([`SYMBOL`]) and requires no device. A node writes it
//! only while it is blocked in a call: after it has made no progress for a while, or when the tool requests it. So the
//! message path does not pay for it. The record is valid while the number of the call in it equals
//! [`calls_entered`](super::blackboard::BlackboardSnapshot::calls_entered) of the blackboard.
//!
//! ```text
//!   begun | call | KINDS times: total | KINDS * KIND_ENTRIES times: flags | context | peer | tag | bytes (2) | complete
//! ```
//! `begun` and `complete` contain the same sequence number unless the node is writing. Each queue has space for
//! [`KIND_ENTRIES`] entries; its total counts the others, too.

use core::sync::atomic::{AtomicU32, Ordering, fence};

/// The image's symbol of the record.
pub const SYMBOL: &str = "MIDPLANE_QUEUES";
/// Number of queues.
pub const KINDS: usize = QueueKind::ALL.len();
/// Maximum number of entries of one queue in a record.
pub const KIND_ENTRIES: usize = 8;
/// Maximum number of entries in a record.
pub const ENTRIES: usize = KINDS * KIND_ENTRIES;

const ENTRY_WORDS: usize = 6;
const AT_BEGUN: usize = 0;
const AT_CALL: usize = 1;
const AT_TOTALS: usize = 2;
const AT_ENTRIES: usize = AT_TOTALS + KINDS;
const AT_COMPLETE: usize = AT_ENTRIES + ENTRIES * ENTRY_WORDS;
/// Size of the record in 32-bit words.
pub const WORDS: usize = AT_COMPLETE + 1;
/// Size of the record in bytes.
pub const BYTES: usize = 4 * WORDS;

/// Bit of the first word of an entry: see [`QueueEntry::is_complete`].
const IS_COMPLETE: u32 = 1;

/// Queue of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum QueueKind {
    /// A receive of this rank that no message has matched.
    PostedReceive,
    /// A send of this rank that no receive has matched.
    PendingSend,
    /// A message that has arrived at this rank, and that no receive has matched.
    UnexpectedMessage,
    /// A grant that this rank waits for: a lock at the peer, or the peer's MPI_Win_post.
    WindowGrant,
    /// The end of the peer's access epoch (MPI_Win_complete), for which MPI_Win_wait waits.
    WindowEpoch,
    /// A lock of this rank's window that the peer holds.
    LockHolder,
}

impl QueueKind {
    /// All queues, in the order of the record.
    pub const ALL: [Self; 6] = [
        Self::PostedReceive,
        Self::PendingSend,
        Self::UnexpectedMessage,
        Self::WindowGrant,
        Self::WindowEpoch,
        Self::LockHolder,
    ];
}

/// An entry of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QueueEntry {
    /// Its queue.
    pub kind: QueueKind,
    /// The program's call is complete, as that of a buffered send: the rank does not wait for this entry.
    pub is_complete: bool,
    /// Context of the communicator or window. An odd context belongs to the collectives of the communicator with the
    /// even context below it.
    pub context: u16,
    /// The peer's rank in MPI_COMM_WORLD; `None` for MPI_ANY_SOURCE.
    pub peer: Option<u32>,
    /// The tag; `None` for MPI_ANY_TAG, and for windows.
    pub tag: Option<i32>,
    /// Length of the message, or of the receive's buffer, in bytes.
    pub bytes: u64,
}

/// The node's side.
#[repr(C)]
pub struct QueueRecord {
    words: [AtomicU32; WORDS],
}

impl Default for QueueRecord {
    fn default() -> Self {
        Self::new()
    }
}

impl QueueRecord {
    /// Creates a record without entries, which belongs to no call.
    pub const fn new() -> Self {
        Self {
            words: [const { AtomicU32::new(0) }; WORDS],
        }
    }

    fn set(&self, at: usize, word: u32) {
        // Within the record for each caller; `get` keeps the panic message out of the image.
        if let Some(place) = self.words.get(at) {
            place.store(word.to_le(), Ordering::Relaxed);
        }
    }

    /// Writes the queues of the call with this number. `visit` passes each entry to its argument. Excess entries are
    /// counted only.
    pub fn write(&self, call: u64, visit: impl FnOnce(&mut dyn FnMut(QueueEntry))) {
        let turn = u32::from_le(self.words[AT_BEGUN].load(Ordering::Relaxed)).wrapping_add(1);
        self.set(AT_BEGUN, turn);
        fence(Ordering::Release);
        let mut totals = [0_u32; KINDS];
        visit(&mut |entry| {
            let kind = entry.kind as usize;
            let total = &mut totals[kind];
            if (*total as usize) < KIND_ENTRIES {
                self.write_entry(kind * KIND_ENTRIES + *total as usize, &entry);
            }
            *total = total.saturating_add(1);
        });
        self.set(AT_CALL, call as u32);
        for (kind, total) in totals.into_iter().enumerate() {
            self.set(AT_TOTALS + kind, total);
        }
        fence(Ordering::Release);
        self.set(AT_COMPLETE, turn);
    }

    fn write_entry(&self, index: usize, entry: &QueueEntry) {
        let complete = if entry.is_complete { IS_COMPLETE } else { 0 };
        let words = [
            complete,
            entry.context.into(),
            entry.peer.unwrap_or(u32::MAX),
            // Tags are not negative.
            entry.tag.unwrap_or(-1) as u32,
            entry.bytes as u32,
            (entry.bytes >> 32) as u32,
        ];
        for (place, word) in words.into_iter().enumerate() {
            self.set(AT_ENTRIES + index * ENTRY_WORDS + place, word);
        }
    }
}

/// The tool's copy of a record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MessageQueues {
    /// The lower half of the number of the call in which the node has written it.
    pub call: u32,
    /// Number of entries of each queue, by [`QueueKind`].
    pub totals: [u32; KINDS],
    /// The first entries of each queue, in the order of [`QueueKind::ALL`].
    pub entries: heapless::Vec<QueueEntry, ENTRIES>,
}

impl MessageQueues {
    /// Reads a record from a copy of its bytes. Returns `None` if there are too few bytes, the node is writing, or the
    /// program has overwritten the record.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.get(..BYTES)?.as_chunks::<4>();
        let word = |at: usize| words.get(at).map(|word| u32::from_le_bytes(*word));
        if word(AT_BEGUN)? != word(AT_COMPLETE)? {
            return None;
        }
        let mut queues = Self {
            call: word(AT_CALL)?,
            ..Self::default()
        };
        for (kind, total) in QueueKind::ALL.into_iter().zip(&mut queues.totals) {
            *total = word(AT_TOTALS + kind as usize)?;
            for index in 0..(*total as usize).min(KIND_ENTRIES) {
                let first = AT_ENTRIES + (kind as usize * KIND_ENTRIES + index) * ENTRY_WORDS;
                let at = |place| word(first + place);
                let (flags, peer, tag) = (at(0)?, at(2)?, at(3)? as i32);
                if flags & !IS_COMPLETE != 0 {
                    return None;
                }
                let entry = QueueEntry {
                    kind,
                    is_complete: flags == IS_COMPLETE,
                    context: u16::try_from(at(1)?).ok()?,
                    peer: (peer != u32::MAX).then_some(peer),
                    tag: (tag >= 0).then_some(tag),
                    bytes: u64::from(at(4)?) | u64::from(at(5)?) << 32,
                };
                // Cannot fail: at most the entries of each queue.
                let _ = queues.entries.push(entry);
            }
        }
        Some(queues)
    }

    /// Returns the entries of one queue, up to [`KIND_ENTRIES`].
    pub fn queue(&self, kind: QueueKind) -> impl Iterator<Item = &QueueEntry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVE: QueueEntry = QueueEntry {
        kind: QueueKind::PostedReceive,
        is_complete: false,
        context: 6,
        peer: None,
        tag: Some(7),
        bytes: 1 << 33,
    };
    const SEND: QueueEntry = QueueEntry {
        kind: QueueKind::PendingSend,
        is_complete: true,
        context: 1,
        peer: Some(0),
        tag: None,
        bytes: 0,
    };

    fn bytes(record: &QueueRecord) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(&record.words) {
            *place = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        bytes
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let record = QueueRecord::new();
        record.write((1 << 32) + 5, |add| [SEND, RECEIVE].into_iter().for_each(add));
        let read = MessageQueues::read(&bytes(&record)).expect("a record");
        assert_eq!((read.call, read.totals), (5, [1, 1, 0, 0, 0, 0]));
        assert_eq!(&*read.entries, [RECEIVE, SEND], "in the order of the queues");
        assert_eq!(read.queue(QueueKind::PendingSend).collect::<Vec<_>>(), [&SEND]);
        record.write(6, |_| {});
        let read = MessageQueues::read(&bytes(&record)).expect("a record");
        assert_eq!((read.call, read.entries.len()), (6, 0));
    }

    #[test]
    fn excess_entries_are_counted() {
        let record = QueueRecord::new();
        record.write(1, |add| (0..KIND_ENTRIES + 3).for_each(|_| add(SEND)));
        let read = MessageQueues::read(&bytes(&record)).expect("a record");
        assert_eq!(read.totals[QueueKind::PendingSend as usize] as usize, KIND_ENTRIES + 3);
        assert_eq!(read.entries.len(), KIND_ENTRIES);
    }

    #[test]
    fn an_incomplete_or_overwritten_record_is_refused() {
        let record = QueueRecord::new();
        record.write(1, |add| add(RECEIVE));
        assert_eq!(MessageQueues::read(&bytes(&record)[1..]), None);
        let refused = |at: usize, word: u32| {
            let mut bytes = bytes(&record);
            bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
            MessageQueues::read(&bytes).is_none()
        };
        assert!(refused(AT_BEGUN, 2), "the node is writing");
        assert!(refused(AT_ENTRIES, 9), "unknown flags");
        assert!(refused(AT_ENTRIES + 1, 1 << 16), "a context of more than 16 bits");
    }
}
