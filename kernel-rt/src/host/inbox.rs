//! The inbox: a ring in the node's memory through which the host gives the program its standard input.
//!
//! Like the blackboard it is found by the image's symbol ([`SYMBOL`]) and needs no device. The node asks for
//! input when the program first reads; from then on the host, who alone writes [`AT_WRITTEN`], the bytes and
//! [`AT_CLOSED`], keeps the ring filled, and the node, who alone writes the other words, empties it.
//!
//! ```text
//!   magic | wanted | read | written | closed | CAPACITY bytes
//! ```
//! `read` and `written` count bytes and wrap around; byte n lies at n modulo [`CAPACITY`].

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The image's symbol at which the inbox stands.
pub const SYMBOL: &str = "MIDPLANE_INBOX";
/// First word of an inbox that has been set up ("MPI1", for input).
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPI1");
/// Bytes that the ring holds; a power of two.
pub const CAPACITY: u32 = 4096;
/// Size of what the host reads: the words before the ring, little-endian.
pub const HEAD_BYTES: usize = 20;

/// Offset in bytes of how many bytes the host has written.
pub const AT_WRITTEN: u64 = 12;
/// Offset in bytes of the host's word that no more will come; not 0: so it is.
pub const AT_CLOSED: u64 = 16;
/// Offset in bytes of the ring.
pub const AT_RING: u64 = HEAD_BYTES as u64;

const _: () = assert!(CAPACITY.is_power_of_two());

/// The ring as the node sees it.
#[repr(C)]
pub struct Inbox {
    magic: AtomicU32,
    wanted: AtomicU32,
    read: AtomicU32,
    written: AtomicU32,
    closed: AtomicU32,
    ring: [AtomicU8; CAPACITY as usize],
}

/// What there is to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// So many bytes, at least 1.
    Bytes(usize),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    End,
}

impl Inbox {
    /// An empty inbox for which nothing has been asked.
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

    /// Takes what is there, as much as `out` holds (at least 1 byte). Asks the host for input. Does not
    /// block.
    pub fn take(&self, out: &mut [u8]) -> Taken {
        self.magic.store(MAGIC, Ordering::Relaxed);
        self.wanted.store(1, Ordering::Release);
        // Closed is looked at first: what was written before it is then seen, too.
        let closed = self.closed.load(Ordering::Acquire) != 0;
        let written = self.written.load(Ordering::Acquire);
        let read = self.read.load(Ordering::Relaxed);
        // The host is trusted with the count no more than with anything else from outside.
        let waiting = written.wrapping_sub(read).min(CAPACITY) as usize;
        let count = waiting.min(out.len());
        for (at, byte) in out.iter_mut().take(count).enumerate() {
            let place = read.wrapping_add(at as u32) % CAPACITY;
            *byte = self.ring[place as usize].load(Ordering::Relaxed);
        }
        self.read
            .store(read.wrapping_add(count as u32), Ordering::Release);
        match (count, closed) {
            (0, false) => Taken::Nothing,
            (0, true) => Taken::End,
            (count, _) => Taken::Bytes(count),
        }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

/// What the host sees of an inbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Bytes that the host has written.
    pub written: u32,
    /// Bytes that there is room for.
    pub room: u32,
}

impl Head {
    /// Reads the words before the ring; `None` while the program has not asked for input.
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let word = |at: usize| {
            let [a, b, c, d] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            u32::from_le_bytes([a, b, c, d])
        };
        let (magic, wanted, read, written) = (word(0), word(4), word(8), word(12));
        (magic == MAGIC && wanted != 0).then(|| Head {
            written,
            // A node that says nonsense gets nothing.
            room: CAPACITY.saturating_sub(written.wrapping_sub(read)),
        })
    }

    /// Where `bytes` go that come next, at most as many as there is room for: the offset in the ring of the
    /// first part, and how long it is; the rest, if any, goes to the ring's beginning.
    pub fn place(&self, bytes: usize) -> (u64, usize) {
        let at = self.written % CAPACITY;
        (u64::from(at), bytes.min((CAPACITY - at) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host's side, on the same memory.
    fn give(inbox: &Inbox, bytes: &[u8]) -> usize {
        let word = |word: &AtomicU32| word.load(Ordering::Relaxed).to_le_bytes();
        let words = [
            &inbox.magic,
            &inbox.wanted,
            &inbox.read,
            &inbox.written,
            &inbox.closed,
        ];
        let mut head = [0; HEAD_BYTES];
        for (to, from) in head.chunks_mut(4).zip(words) {
            to.copy_from_slice(&word(from));
        }
        let Some(head) = Head::read(&head) else {
            return 0;
        };
        let bytes = &bytes[..bytes.len().min(head.room as usize)];
        let (at, first) = head.place(bytes.len());
        for (i, byte) in bytes.iter().enumerate() {
            let place = if i < first {
                at as usize + i
            } else {
                i - first
            };
            inbox.ring[place].store(*byte, Ordering::Relaxed);
        }
        inbox.written.store(
            head.written.wrapping_add(bytes.len() as u32),
            Ordering::Release,
        );
        bytes.len()
    }

    #[test]
    fn nothing_is_given_before_it_is_asked_for() {
        let inbox = Inbox::new();
        assert_eq!(give(&inbox, b"early"), 0);
        assert_eq!(inbox.take(&mut [0; 4]), Taken::Nothing);
        assert_eq!(give(&inbox, b"now"), 3);
        let mut out = [0; 4];
        assert_eq!(inbox.take(&mut out), Taken::Bytes(3));
        assert_eq!(&out[..3], b"now");
        inbox.closed.store(1, Ordering::Release);
        assert_eq!(inbox.take(&mut out), Taken::End);
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
            given += give(&inbox, &input[given..]);
            for _ in 0..3 {
                if let Taken::Bytes(count) = inbox.take(&mut out) {
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
        assert_eq!(inbox.take(&mut [0; 8000]), Taken::Bytes(CAPACITY as usize));
        let mut head = [0xff; HEAD_BYTES];
        assert_eq!(Head::read(&head), None, "no magic");
        head[..4].copy_from_slice(&MAGIC.to_le_bytes());
        head[8..12].copy_from_slice(&7u32.to_le_bytes());
        assert_eq!(Head::read(&head).map(|head| head.room), Some(0));
    }
}
