//! The outbox: ring buffers in the node's memory for the program's output and the kernel's log.
//!
//! Like the blackboard it is found by the image's symbol ([`SYMBOL`]) and requires no device. Each [`OutputStream`] has one
//! ring, filled by the node and emptied by the tool:
//!
//! ```text
//!   magic | rung | for each stream: written | read | CAPACITY bytes
//! ```
//! `written`, updated only by the node, and `read`, updated only by the tool, count bytes and wrap around; byte n is at
//! index n modulo [`CAPACITY`]. A full ring makes the node wait, so nothing is lost. The rings' contents remain
//! readable after the node's death.
//!
//! # The doorbell
//! The tool does not poll continuously. A node that has published something sets `rung`; if it was 0, the node rings
//! the doorbell: it sends the tool one byte. The tool then first clears `rung` and reads until the rings are empty. So
//! either the tool finds the published bytes, or the node finds `rung` cleared and rings: both write first and then
//! read the other's word, with a barrier in between. At the start `rung` is 0: the first byte rings.

use core::fmt;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering, fence};

use super::memory_access::MemoryAccess;

/// The image's symbol of the outbox.
pub const SYMBOL: &str = "MIDPLANE_OUTBOX";
/// First word of an initialized outbox ("MPO1").
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPO1");
/// Capacity of a ring in bytes; a power of two.
pub const CAPACITY: u32 = 8192;
/// Size of an outbox in bytes.
pub const BYTES: usize = size_of::<Outbox>();

const _: () = assert!(CAPACITY.is_power_of_two());

// Offsets of the words, in bytes from the start of the outbox, and of a ring.
pub(super) const AT_MAGIC: u64 = 0;
pub(super) const AT_RUNG: u64 = 4;
pub(super) const AT_RINGS: u64 = 8;
pub(super) const AT_WRITTEN: u64 = 0;
pub(super) const AT_READ: u64 = 4;
pub(super) const AT_BYTES: u64 = 8;
pub(super) const RING_BYTES: u64 = size_of::<OutputRing>() as u64;

/// Output streams of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum OutputStream {
    /// The program's standard output.
    Out = 0,
    /// The program's standard error.
    Err = 1,
    /// The kernel's log: defmt frames.
    Log = 2,
}

impl OutputStream {
    /// Number of streams.
    pub const COUNT: usize = Self::ALL.len();
    /// All streams.
    pub const ALL: [Self; 3] = [Self::Out, Self::Err, Self::Log];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Out => "stdout",
            Self::Err => "stderr",
            Self::Log => "log",
        }
    }
}

#[repr(C)]
struct OutputRing {
    written: AtomicU32,
    read: AtomicU32,
    bytes: [AtomicU8; CAPACITY as usize],
}

impl OutputRing {
    const fn new() -> Self {
        Self {
            written: AtomicU32::new(0),
            read: AtomicU32::new(0),
            bytes: [const { AtomicU8::new(0) }; CAPACITY as usize],
        }
    }
}

/// The node's side. All zeros is an uninitialized outbox.
#[repr(C)]
pub struct Outbox {
    magic: AtomicU32,
    rung: AtomicU32,
    rings: [OutputRing; OutputStream::COUNT],
}

/// Write position of the node in a ring, including unpublished bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RingWriter(u32);

impl RingWriter {
    /// Creates the position at the start of a ring.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Returns the number of bytes since the ring's start; wraps around.
    pub(super) fn position(&self) -> u32 {
        self.0
    }

    /// Advances by `bytes`.
    pub(super) fn advance(&mut self, bytes: u32) {
        self.0 = self.0.wrapping_add(bytes);
    }
}

impl Outbox {
    /// Creates an empty outbox.
    pub const fn new() -> Self {
        Self {
            magic: AtomicU32::new(0),
            rung: AtomicU32::new(0),
            rings: [const { OutputRing::new() }; OutputStream::COUNT],
        }
    }

    /// Initializes the outbox: from now on the tool polls it.
    pub fn begin(&self) {
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Copies a prefix of `bytes` to a stream's ring, up to its free space; returns its length. The tool can read it
    /// after [`Outbox::publish`]. Does not block.
    pub fn put(&self, stream: OutputStream, pen: &mut RingWriter, bytes: &[u8]) -> usize {
        let ring = &self.rings[stream as usize];
        let used = pen.0.wrapping_sub(ring.read.load(Ordering::Acquire));
        let count = bytes.len().min(CAPACITY.saturating_sub(used) as usize);
        for &byte in bytes.iter().take(count) {
            ring.bytes[(pen.0 % CAPACITY) as usize].store(byte, Ordering::Relaxed);
            pen.0 = pen.0.wrapping_add(1);
        }
        count
    }

    /// Returns whether the ring contains unpublished bytes.
    pub fn is_pending(&self, stream: OutputStream, pen: &RingWriter) -> bool {
        self.rings[stream as usize].written.load(Ordering::Relaxed) != pen.0
    }

    /// Publishes all bytes written so far. The caller must then check [`Outbox::must_ring`].
    pub fn publish(&self, stream: OutputStream, pen: &RingWriter) {
        let ring = &self.rings[stream as usize];
        ring.written.store(pen.0, Ordering::Release);
    }

    /// Returns whether the doorbell must be rung for published bytes: the tool was not rung since its last poll.
    pub fn must_ring(&self) -> bool {
        // Orders the published bytes before the read of the word; see the top of this file.
        fence(Ordering::SeqCst);
        self.rung.load(Ordering::Relaxed) == 0 && self.rung.swap(1, Ordering::SeqCst) == 0
    }
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}

/// Error: the program overwrote its node's outbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutboxCorruption {
    /// The first word is neither 0 nor [`MAGIC`].
    Magic(u32),
    /// The number of waiting bytes exceeds the ring's capacity.
    Count(OutputStream, u32),
    /// The memory ends before the outbox does.
    Position,
}

impl fmt::Display for OutboxCorruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic(word) => write!(f, "no outbox here (first word {word:#010x})"),
            Self::Count(stream, bytes) => write!(
                f,
                "overwritten outbox: {bytes} bytes in the ring of {}, which holds {CAPACITY}",
                stream.name()
            ),
            Self::Position => write!(f, "the memory ends before the outbox"),
        }
    }
}

impl core::error::Error for OutboxCorruption {}

/// The tool's side of one node's outbox. All values in the node's memory are checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutboxReader {
    at: u64,
    read: [u32; OutputStream::COUNT],
}

impl OutboxReader {
    /// Creates a reader of the outbox at `at`, from which nothing was read yet.
    pub const fn new(at: u64) -> Self {
        let read = [0; OutputStream::COUNT];
        Self { at, read }
    }

    /// Announces that the tool is about to poll: the node rings for all later bytes. Must be called before
    /// [`OutboxReader::read_stream`].
    pub fn arm(&self, window: &impl MemoryAccess) {
        if window.load(self.at + AT_RUNG) != Some(0) {
            window.store(self.at + AT_RUNG, 0);
        }
        // Orders the clear before the reads: all bytes published before the node last read the word are visible; see
        // the top of this file.
        fence(Ordering::SeqCst);
    }

    /// Reads the bytes waiting in a stream's ring, up to the size of `out`; returns the filled part of `out`. It is
    /// empty if nothing waits, or `out` is empty.
    ///
    /// # Errors
    /// If the program has overwritten the outbox; nothing is read then.
    pub fn read_stream<'o>(
        &mut self,
        window: &impl MemoryAccess,
        stream: OutputStream,
        out: &'o mut [u8],
    ) -> Result<&'o [u8], OutboxCorruption> {
        let load = |at: u64| window.load(at).ok_or(OutboxCorruption::Position);
        match load(self.at + AT_MAGIC)? {
            0 => return Ok(&[]),
            MAGIC => {}
            word => return Err(OutboxCorruption::Magic(word)),
        }
        let ring = self.at + AT_RINGS + RING_BYTES * stream as u64;
        let read = &mut self.read[stream as usize];
        let waiting = load(ring + AT_WRITTEN)?.wrapping_sub(*read);
        if waiting > CAPACITY {
            return Err(OutboxCorruption::Count(stream, waiting));
        }
        let count = out.len().min(waiting as usize);
        let out = &mut out[..count];
        let begin = *read % CAPACITY;
        let (first, rest) = out.split_at_mut(count.min((CAPACITY - begin) as usize));
        let bytes = ring + AT_BYTES;
        window
            .read(bytes + u64::from(begin), first)
            .and_then(|()| window.read(bytes, rest))
            .ok_or(OutboxCorruption::Position)?;
        if count > 0 {
            *read = read.wrapping_add(count as u32);
            window.store(ring + AT_READ, *read);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_access::tests::SingleStructure;

    impl SingleStructure for Outbox {
        fn word(&self, at: u64) -> Option<&AtomicU32> {
            let ring = (at.checked_sub(AT_RINGS).unwrap_or(u64::MAX) / RING_BYTES) as usize;
            match (at, at.wrapping_sub(AT_RINGS) % RING_BYTES) {
                (AT_MAGIC, _) => Some(&self.magic),
                (AT_RUNG, _) => Some(&self.rung),
                (_, AT_WRITTEN) => Some(&self.rings.get(ring)?.written),
                (_, AT_READ) => Some(&self.rings.get(ring)?.read),
                _ => None,
            }
        }

        fn bytes(&self, at: u64, count: usize) -> Option<&[AtomicU8]> {
            let at = at.checked_sub(AT_RINGS)?;
            let ring = self.rings.get((at / RING_BYTES) as usize)?;
            let from = (at % RING_BYTES).checked_sub(AT_BYTES)? as usize;
            ring.bytes.get(from..from + count)
        }
    }

    fn outbox() -> (Outbox, OutboxReader) {
        let outbox = Outbox::new();
        outbox.begin();
        (outbox, OutboxReader::new(0))
    }

    fn drain(reader: &mut OutboxReader, outbox: &Outbox, stream: OutputStream) -> Vec<u8> {
        let mut out = vec![0; CAPACITY as usize];
        let taken = reader.read_stream(outbox, stream, &mut out).expect("sound");
        taken.to_vec()
    }

    #[test]
    fn nothing_is_seen_before_it_is_published() {
        let (outbox, mut reader) = outbox();
        let mut pen = RingWriter::new();
        assert_eq!(outbox.put(OutputStream::Err, &mut pen, b"a word"), 6);
        assert!(outbox.is_pending(OutputStream::Err, &pen));
        assert_eq!(drain(&mut reader, &outbox, OutputStream::Err), b"");
        outbox.publish(OutputStream::Err, &pen);
        assert!(!outbox.is_pending(OutputStream::Err, &pen));
        assert_eq!(drain(&mut reader, &outbox, OutputStream::Out), b"");
        assert_eq!(drain(&mut reader, &outbox, OutputStream::Err), b"a word");
        assert_eq!(drain(&mut reader, &outbox, OutputStream::Err), b"");
    }

    #[test]
    fn a_node_that_has_not_come_up_has_printed_nothing() {
        let outbox = Outbox::new();
        assert_eq!(drain(&mut OutboxReader::new(0), &outbox, OutputStream::Out), b"");
    }

    #[test]
    fn a_full_ring_takes_nothing_until_it_is_read() {
        let (outbox, mut reader) = outbox();
        let mut pen = RingWriter::new();
        let much = vec![7; CAPACITY as usize + 5];
        assert_eq!(outbox.put(OutputStream::Log, &mut pen, &much), CAPACITY as usize);
        assert_eq!(outbox.put(OutputStream::Log, &mut pen, &much), 0);
        outbox.publish(OutputStream::Log, &pen);
        let mut little = [0; 3];
        let taken = reader.read_stream(&outbox, OutputStream::Log, &mut little);
        assert_eq!(taken, Ok(&[7; 3][..]));
        assert_eq!(outbox.put(OutputStream::Log, &mut pen, &much), 3);
    }

    #[test]
    fn a_long_output_comes_whole_and_in_order_around_the_ring() {
        let (outbox, mut reader) = outbox();
        // The counts wrap around on the way.
        let start = u32::MAX - 5000;
        let ring = &outbox.rings[OutputStream::Out as usize];
        ring.written.store(start, Ordering::Relaxed);
        ring.read.store(start, Ordering::Relaxed);
        reader.read[OutputStream::Out as usize] = start;
        let mut pen = RingWriter(start);
        let output: Vec<u8> = (0..100_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let (mut put, mut got) = (0, Vec::new());
        let mut turn = 0;
        while got.len() < output.len() {
            turn += 1;
            put += outbox.put(OutputStream::Out, &mut pen, &output[put..(put + 3000).min(100_000)]);
            if turn % 3 == 0 {
                outbox.publish(OutputStream::Out, &pen);
                got.extend(drain(&mut reader, &outbox, OutputStream::Out));
            }
        }
        assert!(got == output);
    }

    #[test]
    fn the_bell_rings_once_until_the_tool_looks() {
        let (outbox, reader) = outbox();
        assert!(outbox.must_ring(), "the first time");
        assert!(!outbox.must_ring());
        reader.arm(&outbox);
        assert!(outbox.must_ring());
        assert!(!outbox.must_ring());
    }

    #[test]
    fn no_bell_is_missed_by_a_tool_that_only_looks_when_rung() {
        let (outbox, mut reader) = outbox();
        let (ring, bell) = std::sync::mpsc::channel();
        let lines = 50_000u32;
        std::thread::scope(|scope| {
            let node = &outbox;
            scope.spawn(move || {
                let mut pen = RingWriter::new();
                for line in 0..lines {
                    let mut rest = &line.to_le_bytes()[..];
                    while !rest.is_empty() {
                        let taken = node.put(OutputStream::Out, &mut pen, rest);
                        rest = &rest[taken..];
                        node.publish(OutputStream::Out, &pen);
                        if node.must_ring() {
                            ring.send(()).expect("the tool listens");
                        }
                        std::hint::spin_loop();
                    }
                }
            });
            let mut got = Vec::new();
            // Ends when the node closes its end of the channel; missed bytes would then be lacking.
            while bell.recv().is_ok() {
                reader.arm(&outbox);
                got.extend(drain(&mut reader, &outbox, OutputStream::Out));
            }
            let expected: Vec<u8> = (0..lines).flat_map(u32::to_le_bytes).collect();
            assert!(got == expected, "{} of {}", got.len(), expected.len());
        });
    }

    #[test]
    fn nonsense_is_told_and_nothing_is_read_for_it() {
        let (outbox, mut reader) = outbox();
        let mut out = [0; 16];
        let ring = &outbox.rings[OutputStream::Err as usize];
        for nonsense in [CAPACITY + 1, u32::MAX, 1 << 31] {
            ring.written.store(nonsense, Ordering::Relaxed);
            let told = reader.read_stream(&outbox, OutputStream::Err, &mut out);
            assert_eq!(told, Err(OutboxCorruption::Count(OutputStream::Err, nonsense)));
        }
        assert_eq!(reader.read_stream(&outbox, OutputStream::Out, &mut out), Ok(&[][..]));
        outbox.magic.store(7, Ordering::Relaxed);
        let told = reader.read_stream(&outbox, OutputStream::Out, &mut out);
        assert_eq!(told, Err(OutboxCorruption::Magic(7)));
        let nowhere = OutboxReader::new(1 << 40).read_stream(&outbox, OutputStream::Out, &mut out);
        assert_eq!(nowhere, Err(OutboxCorruption::Position));
    }

    #[test]
    fn a_node_that_is_told_nonsense_waits() {
        let (outbox, _) = outbox();
        let ring = &outbox.rings[OutputStream::Out as usize];
        ring.read.store(17, Ordering::Relaxed);
        assert_eq!(outbox.put(OutputStream::Out, &mut RingWriter::new(), b"x"), 0);
    }
}
