//! File of captured frames: the tool creates it with the set of links, and a simulator appends the frames.
//!
//! ```text
//!   0..8   0x4D50_4652_414D_4553    8..16 maximum size of the records of one process, in bytes
//!   16..20 number of ranks          20..24 zero
//!   24..   a byte for each rank: the links whose frames are captured, a bit for each direction; padded to 8 bytes
//!   then records, each padded to 8 bytes:
//!   0..8   time of the transmission in nanoseconds of virtual time
//!   8..12  rank of the sender       12 direction   13 zero   14..16 size of the frame in bytes   16.. the frame
//! ```
//! A record without a frame is the last one of a process: its later frames are missing. Several processes append records;
//! those of each process are in the order of time. All integers are little-endian.

use net_torus::Direction;

const MAGIC: u64 = 0x4D50_4652_414D_4553;
/// Size of the header before the links, in bytes.
pub const HEADER_BYTES: usize = 24;
/// Size of a record before the frame, in bytes.
const RECORD_HEAD_BYTES: usize = 16;
/// Maximum size of a frame in bytes: that of a buffer between emulated nodes.
pub const MAX_FRAME_BYTES: usize = 4096;
/// Maximum size of a record in bytes.
pub const MAX_RECORD_BYTES: usize = RECORD_HEAD_BYTES + MAX_FRAME_BYTES.next_multiple_of(ALIGNMENT);
const ALIGNMENT: usize = 8;

/// Beginning of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaptureHeader {
    /// Maximum size of the records of one process, in bytes.
    pub max_bytes: u64,
    /// Number of ranks.
    pub ranks: u32,
}

impl CaptureHeader {
    /// Returns the header's bytes; a byte for each rank follows ([`links_bytes`](CaptureHeader::links_bytes)).
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.max_bytes.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.ranks.to_le_bytes());
        bytes
    }

    /// Parses a header; `None` if it is invalid.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        (word(head, 0) == MAGIC).then_some(Self {
            max_bytes: word(head, 8),
            ranks: word(head, 16) as u32,
        })
    }

    /// Returns the size of the links' set in bytes, padding included.
    pub fn links_bytes(&self) -> usize {
        (self.ranks as usize).next_multiple_of(ALIGNMENT)
    }
}

/// Checks whether the frames of a link are captured, from the byte of its node.
pub fn has_link(byte: u8, direction: Direction) -> bool {
    byte >> direction as u8 & 1 != 0
}

/// A captured frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRecord<'a> {
    /// Time of the transmission in nanoseconds.
    pub time_ns: u64,
    /// Rank of the sender.
    pub rank: u32,
    /// Direction of the link at the sender.
    pub direction: Direction,
    /// The frame; empty in the last record of a process that has omitted its later frames.
    pub frame: &'a [u8],
}

impl<'a> FrameRecord<'a> {
    /// Writes the record, and returns its size in bytes. `None`: the frame exceeds the maximum of a link.
    pub fn emit(&self, out: &mut [u8; MAX_RECORD_BYTES]) -> Option<usize> {
        let size = self.frame.len();
        let body = out.get_mut(RECORD_HEAD_BYTES..RECORD_HEAD_BYTES + size.next_multiple_of(ALIGNMENT))?;
        body[..size].copy_from_slice(self.frame);
        body[size..].fill(0);
        let bytes = RECORD_HEAD_BYTES + body.len();
        out[..8].copy_from_slice(&self.time_ns.to_le_bytes());
        out[8..12].copy_from_slice(&self.rank.to_le_bytes());
        out[12] = self.direction as u8;
        out[13] = 0;
        out[14..16].copy_from_slice(&(size as u16).to_le_bytes());
        Some(bytes)
    }

    /// Parses the record at the start of `bytes`, and returns the bytes after it; `None` if it is invalid or incomplete.
    pub fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_first_chunk::<RECORD_HEAD_BYTES>()?;
        let size = usize::from(u16::from_le_bytes([head[14], head[15]]));
        let (body, rest) = rest.split_at_checked(size.next_multiple_of(ALIGNMENT))?;
        let record = Self {
            time_ns: word(head, 0),
            rank: word(head, 8) as u32,
            direction: *Direction::ALL.get(usize::from(head[12]))?,
            frame: &body[..size],
        };
        Some((record, rest))
    }
}

/// Returns eight bytes as an integer; those after the end are zero.
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; ALIGNMENT];
    for (to, from) in word.iter_mut().zip(bytes.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        let header = CaptureHeader {
            max_bytes: 1 << 40,
            ranks: 9,
        };
        let bytes = header.emit();
        assert_eq!(CaptureHeader::parse(&bytes), Some(header));
        assert_eq!(header.links_bytes(), 16);
        for len in 0..HEADER_BYTES {
            assert_eq!(CaptureHeader::parse(&bytes[..len]), None);
        }
        assert_eq!(CaptureHeader::parse(&[0; HEADER_BYTES]), None);
    }

    #[test]
    fn a_byte_contains_the_links_of_a_node() {
        let byte = 1 << Direction::XPlus as u8 | 1 << Direction::ZMinus as u8;
        let links = Direction::ALL.map(|direction| has_link(byte, direction));
        assert_eq!(links, [true, false, false, false, false, true]);
    }

    #[test]
    fn a_record_reads_back_as_it_was_written_and_an_incomplete_one_is_rejected() {
        let frame = [7; MAX_FRAME_BYTES];
        let mut out = [0xAA; MAX_RECORD_BYTES];
        for size in [0, 1, 16, 271, MAX_FRAME_BYTES] {
            let record = FrameRecord {
                time_ns: u64::MAX - 1,
                rank: 65_535,
                direction: Direction::ZMinus,
                frame: &frame[..size],
            };
            let bytes = record.emit(&mut out).unwrap();
            assert_eq!(bytes % ALIGNMENT, 0);
            assert_eq!(FrameRecord::parse(&out[..bytes]), Some((record, &[][..])));
            assert_eq!(FrameRecord::parse(&out[..bytes - 1]), None);
        }
        out[12] = 6;
        assert_eq!(FrameRecord::parse(&out), None, "no such direction");
        let long = [0; MAX_RECORD_BYTES];
        let record = FrameRecord {
            time_ns: 0,
            rank: 0,
            direction: Direction::XPlus,
            frame: &long,
        };
        assert_eq!(record.emit(&mut out), None);
    }
}
