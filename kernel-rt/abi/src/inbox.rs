//! The inbox: a ring buffer in the node's memory for the program's standard input, filled by the host.
//!
//! Like the blackboard it is found by the image's symbol ([`SYMBOL`]) and requires no device. The node requests input
//! at the program's first read. From then on the host, the only writer of `written`, the bytes and `closed`, keeps the
//! ring filled, and the node, the only writer of the other words, empties it.
//!
//! ```text
//!   magic | wanted | read | written | closed | CAPACITY bytes
//! ```
//! `read` and `written` count bytes and wrap around; byte n is at index n modulo [`CAPACITY`].

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::memory_access::MemoryAccess;

/// The image's symbol of the inbox.
pub const SYMBOL: &str = "MIDPLANE_INBOX";
/// First word of an initialized inbox ("MPI1", for input).
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPI1");
/// Capacity of the ring in bytes; a power of two.
pub const CAPACITY: u32 = 4096;
// Offsets of the words, in bytes from the start of the inbox.
pub(super) const AT_MAGIC: u64 = 0;
pub(super) const AT_WANTED: u64 = 4;
pub(super) const AT_READ: u64 = 8;
pub(super) const AT_WRITTEN: u64 = 12;
pub(super) const AT_CLOSED: u64 = 16;
pub(super) const AT_RING: u64 = 20;

const _: () = assert!(CAPACITY.is_power_of_two());

/// The node's side of the ring.
#[repr(C)]
pub struct Inbox {
    magic: AtomicU32,
    wanted: AtomicU32,
    read: AtomicU32,
    written: AtomicU32,
    closed: AtomicU32,
    ring: [AtomicU8; CAPACITY as usize],
}

/// Result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadResult {
    /// Number of bytes, at least 1.
    Bytes(usize),
    /// No input yet.
    Empty,
    /// End of input.
    End,
}

impl Inbox {
    /// Creates an empty inbox without a request for input.
    pub const fn new() -> Self {
        Inbox {
            magic: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
            read: AtomicU32::new(0),
            written: AtomicU32::new(0),
            closed: AtomicU32::new(0),
            ring: [const { AtomicU8::new(0) }; CAPACITY as usize],
        }
    }

    /// Reads the available bytes, up to the size of `out` (at least 1 byte). Requests input from the host. Does not
    /// block.
    pub fn read_input(&self, out: &mut [u8]) -> ReadResult {
        self.magic.store(MAGIC, Ordering::Relaxed);
        self.wanted.store(1, Ordering::Release);
        // `closed` is read first, so that all earlier writes are visible.
        let closed = self.closed.load(Ordering::Acquire) != 0;
        let written = self.written.load(Ordering::Acquire);
        let read = self.read.load(Ordering::Relaxed);
        // The host's count is not trusted, like all external data.
        let waiting = written.wrapping_sub(read).min(CAPACITY) as usize;
        let count = waiting.min(out.len());
        for (at, byte) in out.iter_mut().take(count).enumerate() {
            let place = read.wrapping_add(at as u32) % CAPACITY;
            *byte = self.ring[place as usize].load(Ordering::Relaxed);
        }
        self.read.store(read.wrapping_add(count as u32), Ordering::Release);
        match (count, closed) {
            (0, false) => ReadResult::Empty,
            (0, true) => ReadResult::End,
            (count, _) => ReadResult::Bytes(count),
        }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

/// The host's copy of an inbox's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InboxState {
    written: u32,
    /// Free space in bytes.
    pub room: u32,
}

impl InboxState {
    /// Reads the state of the inbox at `at`; returns `None` before the program has requested input.
    pub fn load(window: &impl MemoryAccess, at: u64) -> Option<InboxState> {
        let [magic, wanted] = [AT_MAGIC, AT_WANTED].map(|word| window.load(at + word));
        let [read, written] = [AT_READ, AT_WRITTEN].map(|word| window.load(at + word));
        (magic? == MAGIC && wanted? != 0).then_some(())?;
        let written = written?;
        // A node with invalid counts receives nothing.
        let room = CAPACITY.saturating_sub(written.wrapping_sub(read?));
        Some(InboxState { written, room })
    }

    /// Copies input to the inbox at `at`, up to its free space; returns the number of bytes.
    pub fn write_input(self, window: &impl MemoryAccess, at: u64, bytes: &[u8]) -> usize {
        let bytes = &bytes[..bytes.len().min(self.room as usize)];
        let place = self.written % CAPACITY;
        let (first, rest) = bytes.split_at(bytes.len().min((CAPACITY - place) as usize));
        let ring = at + AT_RING;
        let is_there = window.write(ring + u64::from(place), first) && window.write(ring, rest);
        // The count last, after the bytes that it counts.
        let written = self.written.wrapping_add(bytes.len() as u32);
        if is_there && window.store(at + AT_WRITTEN, written) {
            bytes.len()
        } else {
            0
        }
    }
}

/// Signals the end of input to the program whose inbox is at `at`.
pub fn close(window: &impl MemoryAccess, at: u64) {
    window.store(at + AT_CLOSED, 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_access::tests::SingleStructure;

    impl SingleStructure for Inbox {
        fn word(&self, at: u64) -> Option<&AtomicU32> {
            Some(match at {
                AT_MAGIC => &self.magic,
                AT_WANTED => &self.wanted,
                AT_READ => &self.read,
                AT_WRITTEN => &self.written,
                AT_CLOSED => &self.closed,
                _ => return None,
            })
        }

        fn bytes(&self, at: u64, count: usize) -> Option<&[AtomicU8]> {
            let from = at.checked_sub(AT_RING)? as usize;
            self.ring.get(from..from + count)
        }
    }

    /// The host's side, on the same memory.
    fn feed_inbox(inbox: &Inbox, bytes: &[u8]) -> usize {
        InboxState::load(inbox, 0).map_or(0, |head| head.write_input(inbox, 0, bytes))
    }

    #[test]
    fn nothing_is_given_before_it_is_asked_for() {
        let inbox = Inbox::new();
        assert_eq!(feed_inbox(&inbox, b"early"), 0);
        assert_eq!(inbox.read_input(&mut [0; 4]), ReadResult::Empty);
        assert_eq!(feed_inbox(&inbox, b"now"), 3);
        let mut out = [0; 4];
        assert_eq!(inbox.read_input(&mut out), ReadResult::Bytes(3));
        assert_eq!(&out[..3], b"now");
        close(&inbox, 0);
        assert_eq!(inbox.read_input(&mut out), ReadResult::End);
    }

    #[test]
    fn a_long_input_comes_whole_and_in_order_around_the_ring() {
        let inbox = Inbox::new();
        // The counts wrap around on the way.
        inbox.read.store(u32::MAX - 5000, Ordering::Relaxed);
        inbox.written.store(u32::MAX - 5000, Ordering::Relaxed);
        let input: Vec<u8> = (0..50_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let (mut given, mut got, mut out) = (0, Vec::new(), [0; 900]);
        while got.len() < input.len() {
            given += feed_inbox(&inbox, &input[given..]);
            for _ in 0..3 {
                if let ReadResult::Bytes(count) = inbox.read_input(&mut out) {
                    got.extend_from_slice(&out[..count]);
                }
            }
        }
        assert_eq!(got, input);
    }

    #[test]
    fn nonsense_from_either_side_is_harmless() {
        let inbox = Inbox::new();
        inbox.written.store(1 << 30, Ordering::Relaxed);
        assert_eq!(inbox.read_input(&mut [0; 8000]), ReadResult::Bytes(CAPACITY as usize));
        let inbox = Inbox::new();
        inbox.magic.store(7, Ordering::Relaxed);
        inbox.wanted.store(1, Ordering::Relaxed);
        assert_eq!(InboxState::load(&inbox, 0), None, "no magic");
        inbox.magic.store(MAGIC, Ordering::Relaxed);
        inbox.read.store(7, Ordering::Relaxed);
        assert_eq!(InboxState::load(&inbox, 0).map(|head| head.room), Some(0));
        assert_eq!(InboxState::load(&inbox, 1 << 40), None);
    }
}
