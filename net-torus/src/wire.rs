//! Wire format of packets and frames: pure functions of bytes, without state.
//!
//! A packet contains 1..=8 chunks of 32 bytes and starts with a header of 8 bytes, as in Blue Gene/L's torus ("Blue
//! Gene/L torus, packet header": header checksum, six hint bits, deposit bit, FIFO, size in chunks, dynamic bit,
//! virtual channel, destination):
//!
//! ```text
//!  byte 0   CRC-8 of bytes 1..8, on links that are not exact
//!  byte 1   bits 0..5 hint bits X+ X- Y+ Y- Z+ Z-, bit 6 deposit, bit 7 dynamic
//!  byte 2   bits 0..2 size in chunks less one, bits 3..4 virtual channel, bit 5 FIFO, bits 6..7 zero
//!  byte 3-5 destination x, y, z
//!  byte 6   unused bytes at the packet's end, so that a body's length is exact
//!  byte 7   zero
//! ```
//!
//! A frame is the unit that a [`Link`](crate::link::Link) transmits. It contains a header with the sender's token
//! grants for the opposite direction, then complete packets back to back:
//!
//! ```text
//!  byte 0     0x4D
//!  byte 1     version, 1
//!  byte 2-3   size of the packets in chunks, little-endian
//!  byte 4-11  chunks granted so far on D0, D1, BN, BP, each modulo 65,536, little-endian
//!  byte 12-15 CRC-32 of bytes 0..12, little-endian, on links that are not exact
//! ```
//!
//! On an exact link ([`Link::is_exact`](crate::link::Link::is_exact)) the checksum fields are undefined. Bytes after
//! the frame's end are ignored: an Ethernet-like link pads short frames.

use crate::checksum::CRC_32;
use crate::chunk::{CHUNK_BYTES, PACKET_BYTES};
use crate::coord::{Coord, Direction};
use crate::profile::{HAS_DYNAMIC, PACKET_CHUNKS, PRIORITY_CHUNKS};
use crate::vc::{self, Vc};
use crc::{CRC_8_SMBUS, Crc, Table};

/// Size of a packet header in bytes ("Blue Gene/L torus, packet header").
pub const HEADER_BYTES: usize = 8;
/// Maximum body in bytes.
pub const BODY_BYTES: usize = PACKET_BYTES - HEADER_BYTES;
/// Size of a frame header in bytes.
pub const FRAME_HEADER_BYTES: usize = 16;
/// Minimum MTU in bytes with which a link can transmit every packet.
pub const MIN_MTU: usize = FRAME_HEADER_BYTES + PACKET_BYTES;

pub(crate) const MAGIC: u8 = 0x4D;
const VERSION: u8 = 1;
/// Magic byte and version, the first two bytes of a frame.
const MARK: u16 = u16::from_le_bytes([MAGIC, VERSION]);
static CRC8: Crc<u8, Table<1>> = Crc::<u8, Table<1>>::new(&CRC_8_SMBUS);

/// Functions that compute and check checksums. A router uses them by reference, so that an image with only exact links
/// contains neither them nor the CRC tables.
pub(crate) struct ChecksumFunctions {
    /// [`FrameRepr::check_sum`].
    pub check_frame: fn(&[u8]) -> Result<(), FrameError>,
    /// [`Packet::new_checked`].
    pub check_packet: fn(&[u8]) -> CheckedPacket<'_>,
    /// [`FrameRepr::emit`].
    pub emit_frame: fn(&FrameRepr) -> FrameHeader,
    /// [`HeaderWord::with_checksum`].
    pub summed: fn(HeaderWord) -> HeaderWord,
}

pub(crate) static SUMS: ChecksumFunctions = ChecksumFunctions {
    check_frame: FrameRepr::check_sum,
    check_packet: |bytes| Packet::new_checked(bytes),
    emit_frame: FrameRepr::emit,
    summed: HeaderWord::with_checksum,
};

/// Kinds of malformed frames and packets from a link. Each is counted by kind and changes no other state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameError {
    /// The frame is shorter than its header, or than its header specifies.
    FrameTruncated,
    /// The magic, the version or the header's checksum is wrong.
    FrameHeader,
    /// The grants would exceed the maximum buffer of a neighbour.
    Grant,
    /// The packet header's checksum is wrong; the rest of its frame is dropped, too.
    Checksum,
    /// The packet extends beyond its frame's end; the rest of its frame is dropped, too.
    Size,
    /// The unused bytes exceed the last chunk or overlap the header.
    Padding,
    /// Reserved bits are not zero.
    Reserved,
    /// The virtual channel does not match the FIFO or the dynamic bit, or does not support packets of this size.
    Channel,
    /// The destination is outside the torus.
    Destination,
    /// The hint bits do not lead to the destination: none or two in a dimension that is not finished, a turn by 180
    /// degrees, a link that does not exist, or a deposit packet that would turn.
    Hints,
    /// The neighbour sent without tokens; the packet does not fit and is dropped.
    Overrun,
}

impl FrameError {
    /// Number of kinds.
    pub const COUNT: usize = 11;
    /// All kinds, in the order of their values.
    pub const ALL: [FrameError; Self::COUNT] = [
        FrameError::FrameTruncated,
        FrameError::FrameHeader,
        FrameError::Grant,
        FrameError::Checksum,
        FrameError::Size,
        FrameError::Padding,
        FrameError::Reserved,
        FrameError::Channel,
        FrameError::Destination,
        FrameError::Hints,
        FrameError::Overrun,
    ];

    /// Returns the name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            FrameError::FrameTruncated => "frame truncated",
            FrameError::FrameHeader => "frame header",
            FrameError::Grant => "token grant",
            FrameError::Checksum => "packet checksum",
            FrameError::Size => "packet size",
            FrameError::Padding => "packet padding",
            FrameError::Reserved => "reserved bits",
            FrameError::Channel => "virtual channel",
            FrameError::Destination => "destination",
            FrameError::Hints => "hint bits",
            FrameError::Overrun => "overrun",
        }
    }
}

/// FIFO pair of a packet: it is injected into one FIFO and received from the other of the same kind.
///
/// The two kinds never block each other anywhere in the machine. They use separate injection FIFOs, separate virtual
/// channels on every link, and separate reception FIFOs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Fifo {
    /// Data and requests.
    Normal,
    /// Control traffic that the receiver can always accept.
    Priority,
}

impl Fifo {
    /// Both kinds, in the order of their values.
    pub const ALL: [Fifo; 2] = [Fifo::Normal, Fifo::Priority];

    /// Returns the maximum packet size in chunks.
    pub const fn greatest(self) -> usize {
        match self {
            Fifo::Normal => PACKET_CHUNKS,
            Fifo::Priority => PRIORITY_CHUNKS,
        }
    }

    /// Returns the maximum packet body in bytes.
    pub const fn body_bytes(self) -> usize {
        self.greatest() * CHUNK_BYTES - HEADER_BYTES
    }
}

/// Set of directions; as hint bits, the directions in which a packet may travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionSet(u8);

impl DirectionSet {
    /// Empty set.
    pub const NONE: Self = Self(0);

    /// Creates a set from the six low bits of `bits`, in the order of [`Direction::ALL`].
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x3f)
    }
    /// Returns one bit per direction, in the order of [`Direction::ALL`].
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Returns the set with `d` added.
    #[must_use]
    pub const fn with(self, d: Direction) -> Self {
        Self(self.0 | 1 << d as u8)
    }
    /// Returns the set with `d` removed.
    #[must_use]
    pub const fn without(self, d: Direction) -> Self {
        Self(self.0 & !(1 << d as u8))
    }
    /// Returns the union of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Checks whether the set contains `d`.
    pub const fn has(self, d: Direction) -> bool {
        self.0 & 1 << d as u8 != 0
    }
    /// Returns the intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// Checks whether the set is a subset of `other`.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
    /// Checks whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Returns the number of directions.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }
    /// Returns the first direction.
    #[inline]
    pub fn first(self) -> Option<Direction> {
        (self.0 != 0).then(|| Direction::ALL[self.0.trailing_zeros() as usize])
    }
    /// Returns an iterator over the directions, in order.
    pub fn iter(self) -> impl Iterator<Item = Direction> {
        Direction::ALL.into_iter().filter(move |d| self.has(*d))
    }
}

/// Decoded packet header. Aligned, so that it is moved in two words rather than by a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(8))]
pub struct HeaderRepr {
    /// Directions that the source allows, one per dimension to travel.
    pub hints: DirectionSet,
    /// Every node on the route receives a copy (a multicast along one line).
    pub deposit: bool,
    /// Packet may use the dynamic channels, and then overtake and be overtaken.
    pub dynamic: bool,
    /// Channel whose buffer receives the packet at the next node.
    pub vc: Vc,
    /// FIFO pair.
    pub fifo: Fifo,
    /// Body in bytes, at most [`Fifo::body_bytes`].
    pub body: u8,
    /// Destination.
    pub dest: Coord,
}

impl HeaderRepr {
    /// Returns the size of the packet in chunks, 1..=8.
    pub const fn chunks(&self) -> usize {
        (HEADER_BYTES + self.body as usize).div_ceil(CHUNK_BYTES)
    }

    /// Parses a header. Fails with [`FrameError::Checksum`], [`FrameError::Reserved`], [`FrameError::Padding`] or
    /// [`FrameError::Channel`].
    pub fn parse(header: &[u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        if CRC8.checksum(&header[1..]) != header[0] {
            return Err(FrameError::Checksum);
        }
        Self::parse_unsummed(header)
    }

    /// Parses a header from an exact link, without the checksum check.
    pub fn parse_unsummed(header: &[u8; HEADER_BYTES]) -> Result<Self, FrameError> {
        let word = HeaderWord::read(header);
        word.check()?;
        Ok(word.repr())
    }

    /// Returns the header bytes with the checksum.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        self.word().with_checksum().0.to_le_bytes()
    }

    /// Returns the header bytes without the checksum.
    pub fn emit_unsummed(&self) -> [u8; HEADER_BYTES] {
        self.word().0.to_le_bytes()
    }

    /// Returns the header as one word.
    #[inline]
    pub(crate) fn word(&self) -> HeaderWord {
        let way = HeaderWord::to(self.dest, self.hints, self.deposit);
        way.with_body(self.body.into(), self.vc, self.fifo, self.dynamic)
    }
}

/// Packet header as one little-endian word with a zero checksum byte. Routers store and compare headers in this form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeaderWord(u64);

/// Width of the checksum, the first byte.
const SUM_BITS: u32 = u8::BITS;
/// Bit offsets and masks of the fields in a [`HeaderWord`].
const HINTS_AT: u32 = 8;
const DEPOSIT: u64 = 1 << 14;
const DYNAMIC: u64 = 1 << 15;
const SIZE_AT: u32 = 16;
const VC_AT: u32 = 19;
const FIFO_AT: u32 = 21;
const DEST_AT: u32 = 24;
const UNUSED_AT: u32 = 48;
/// Bits that must be zero.
const RESERVED: u64 = 0xff << 56 | 0xc0 << 16;
/// Destination field.
const DEST: u64 = 0xff_ffff << DEST_AT;

impl HeaderWord {
    /// Returns a header with the destination fields; [`HeaderWord::with_body`] completes it.
    pub fn to(dest: Coord, hints: DirectionSet, deposit: bool) -> Self {
        let [x, y, z] = [dest.x, dest.y, dest.z].map(u64::from);
        let dest = (x | y << 8 | z << 16) << DEST_AT;
        Self(dest | u64::from(hints.bits()) << HINTS_AT | if deposit { DEPOSIT } else { 0 })
    }

    /// Completes the header for a packet with a body of `body` bytes.
    #[inline]
    pub fn with_body(self, body: usize, vc: Vc, fifo: Fifo, dynamic: bool) -> Self {
        let bytes = HEADER_BYTES + body;
        let chunks = bytes.div_ceil(CHUNK_BYTES);
        let unused = (chunks * CHUNK_BYTES - bytes) as u64;
        let kind = (chunks as u64 - 1) << SIZE_AT | (vc as u64) << VC_AT | (fifo as u64) << FIFO_AT;
        Self(self.0 | kind | unused << UNUSED_AT | if HAS_DYNAMIC && dynamic { DYNAMIC } else { 0 })
    }

    /// Reads a header without a check ([`HeaderWord::check`]).
    #[inline]
    pub fn read(header: &[u8; HEADER_BYTES]) -> Self {
        Self(word_of(header) >> SUM_BITS << SUM_BITS)
    }

    /// Writes the header at the start of a packet.
    #[inline]
    pub fn put(self, packet: &mut [u8]) {
        if let Some(header) = packet.first_chunk_mut() {
            put_word(header, self.0);
        }
    }

    /// Calls `fill` to write the body of a packet that already contains its header. A shorter buffer receives only the
    /// body's beginning.
    #[inline(always)]
    pub fn fill(self, packet: &mut [u8], fill: impl FnOnce(&mut [u8])) {
        let packet = &mut packet[HEADER_BYTES..];
        let bytes = self.body();
        // Zeroes the padding, so that an earlier packet's data never leaks to another receiver. The loop by words runs
        // before the body is written: for the few words it is cheaper than a call for the exact number of bytes.
        let (words, _) = packet.as_chunks_mut();
        let carried = words.len().min(bytes / HEADER_BYTES);
        for word in &mut words[carried..] {
            put_word(word, 0);
        }
        let bytes = packet.len().min(bytes);
        fill(&mut packet[..bytes]);
    }

    /// Checks the header. Fails with [`FrameError::Reserved`], [`FrameError::Padding`] or [`FrameError::Channel`].
    #[inline]
    pub fn check(self) -> Result<(), FrameError> {
        /// Mask of the legal combinations of dynamic bit, FIFO and channel.
        const FITS: u16 = {
            let (normal, priority, dynamic) = (0, 1 << 2, 1 << 3);
            let of_dynamic = 1 << (dynamic | normal | Vc::D0 as u16)
                | 1 << (dynamic | normal | Vc::D1 as u16)
                | 1 << (dynamic | normal | Vc::Bn as u16);
            let of_others = 1 << (normal | Vc::Bn as u16) | 1 << (priority | Vc::Bp as u16);
            if HAS_DYNAMIC { of_dynamic | of_others } else { of_others }
        };
        if self.0 & RESERVED != 0 {
            return Err(FrameError::Reserved);
        }
        let unused = self.unused();
        // Unused bytes are in the last chunk, after the header.
        let most = if self.chunks() == 1 {
            CHUNK_BYTES - HEADER_BYTES
        } else {
            CHUNK_BYTES - 1
        };
        if unused > most {
            return Err(FrameError::Padding);
        }
        let channel = self.0 >> VC_AT & 0b111 | if self.0 & DYNAMIC != 0 { 1 << 3 } else { 0 };
        match FITS >> channel & 1 {
            0 => Err(FrameError::Channel),
            _ if self.chunks() > self.fifo().greatest() => Err(FrameError::Channel),
            _ => Ok(()),
        }
    }

    /// Decodes a checked header.
    pub fn repr(self) -> HeaderRepr {
        HeaderRepr {
            hints: self.hints(),
            deposit: self.is_deposit(),
            dynamic: self.is_dynamic(),
            vc: self.vc(),
            fifo: self.fifo(),
            body: self.body() as u8,
            dest: self.dest(),
        }
    }

    /// Returns the size of the packet in chunks, 1..=8.
    #[inline]
    pub fn chunks(self) -> usize {
        (self.0 >> SIZE_AT & 7) as usize + 1
    }

    fn unused(self) -> usize {
        (self.0 >> UNUSED_AT & 0xff) as usize
    }

    /// Returns the size of the body in bytes, for a checked header.
    #[inline]
    pub fn body(self) -> usize {
        (self.chunks() * CHUNK_BYTES - HEADER_BYTES).saturating_sub(self.unused())
    }

    #[inline]
    pub fn hints(self) -> DirectionSet {
        DirectionSet::from_bits((self.0 >> HINTS_AT) as u8)
    }

    #[inline]
    pub fn is_deposit(self) -> bool {
        self.0 & DEPOSIT != 0
    }

    #[inline]
    pub fn is_dynamic(self) -> bool {
        HAS_DYNAMIC && self.0 & DYNAMIC != 0
    }

    #[inline]
    pub fn vc(self) -> Vc {
        Vc::ALL[(self.0 >> VC_AT & 3) as usize]
    }

    /// Returns the header of the same packet on another channel.
    #[inline]
    pub fn with_vc(self, vc: Vc) -> Self {
        Self(self.0 & !(3 << VC_AT) | (vc as u64) << VC_AT)
    }

    #[inline]
    pub fn fifo(self) -> Fifo {
        match self.0 >> FIFO_AT & 1 {
            0 => Fifo::Normal,
            _ => Fifo::Priority,
        }
    }

    pub fn dest(self) -> Coord {
        let [_, _, _, x, y, z, _, _] = self.0.to_le_bytes();
        Coord { x, y, z }
    }

    /// Returns the bits, 8 per coordinate, in which the destination differs from that of `other`.
    #[inline]
    pub fn away(self, other: HeaderWord) -> u32 {
        ((self.0 ^ other.0) >> DEST_AT) as u32 & (DEST >> DEST_AT) as u32
    }

    /// Returns the header with its checksum, for [`HeaderWord::put`].
    pub fn with_checksum(self) -> Self {
        Self(self.0 | u64::from(self.sum()))
    }

    fn sum(self) -> u8 {
        let [_, bytes @ ..] = self.0.to_le_bytes();
        CRC8.checksum(&bytes)
    }
}

/// Checked view of a packet: the buffer contains the complete packet, and its header is valid.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    word: HeaderWord,
    bytes: &'a [u8],
}

/// A packet, or its defect and, if the header's size field is reliable, its size in chunks.
pub type CheckedPacket<'a> = Result<Packet<'a>, (FrameError, Option<usize>)>;

impl<'a> Packet<'a> {
    /// Checks the packet at the start of `bytes`. Fails with [`FrameError::Size`] when `bytes` is too short, else like
    /// [`HeaderRepr::parse`]. If the size in chunks is reliable, the error contains it, so that the reader can skip the
    /// packet.
    #[inline(never)]
    pub fn new_checked(bytes: &'a [u8]) -> CheckedPacket<'a> {
        Self::new(bytes, |word, sum| {
            if word.sum() == sum {
                word.check()
            } else {
                Err(FrameError::Checksum)
            }
        })
    }

    /// Checks a packet from an exact link, without the checksum check.
    pub fn new_unsummed(bytes: &'a [u8]) -> CheckedPacket<'a> {
        Self::new(bytes, |word, _| word.check())
    }

    #[inline]
    fn new(bytes: &'a [u8], check: impl FnOnce(HeaderWord, u8) -> Result<(), FrameError>) -> CheckedPacket<'a> {
        let Some(header) = bytes.first_chunk() else {
            return Err((FrameError::Size, None));
        };
        let word = HeaderWord::read(header);
        let chunks = word.chunks();
        match check(word, header[0]) {
            Err(FrameError::Checksum) => Err((FrameError::Checksum, None)),
            _ if bytes.len() < chunks * CHUNK_BYTES => Err((FrameError::Size, None)),
            Err(defect) => Err((defect, Some(chunks))),
            Ok(()) => Ok(Self {
                word,
                bytes: &bytes[..chunks * CHUNK_BYTES],
            }),
        }
    }

    /// Returns the decoded header.
    pub fn repr(&self) -> HeaderRepr {
        self.word.repr()
    }
    /// Returns the header word.
    #[inline]
    pub(crate) fn word(&self) -> HeaderWord {
        self.word
    }
    /// Returns the body.
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..HEADER_BYTES + self.word.body()]
    }
    /// Returns header, body and padding.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Reads a header word, with one load where it is aligned, as in queues and in shared-memory links.
#[inline]
pub fn word_of(bytes: &[u8; HEADER_BYTES]) -> u64 {
    match bytemuck::try_from_bytes::<u64>(bytes) {
        Ok(word) => u64::from_le(*word),
        Err(_) => word_by_bytes(bytes),
    }
}

/// Writes a header word, with one store where it is aligned.
#[inline]
pub fn put_word(bytes: &mut [u8; HEADER_BYTES], word: u64) {
    match bytemuck::try_from_bytes_mut::<u64>(bytes) {
        Ok(place) => *place = word.to_le(),
        Err(_) => put_by_bytes(bytes, word),
    }
}

// Calls, of which the reading one uses a slice: otherwise the compiler would merge both equivalent branches into the
// bytewise one.
#[cold]
#[inline(never)]
fn word_by_bytes(bytes: &[u8]) -> u64 {
    { bytes.iter().rev() }.fold(0, |word, byte| word << u8::BITS | u64::from(*byte))
}

#[cold]
#[inline(never)]
fn put_by_bytes(bytes: &mut [u8; HEADER_BYTES], word: u64) {
    *bytes = word.to_le_bytes();
}

type FrameHeader = [u8; FRAME_HEADER_BYTES];

/// Reads a frame header as two words.
#[inline]
fn words(header: &FrameHeader) -> [u64; 2] {
    let (words, _) = header.as_chunks();
    [word_of(&words[0]), word_of(&words[1])]
}

/// Writes a frame header from two words.
#[inline]
fn put_words(header: &mut FrameHeader, [first, second]: [u64; 2]) {
    let (words, _) = header.as_chunks_mut();
    put_word(&mut words[0], first);
    put_word(&mut words[1], second);
}

/// Decoded frame header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRepr {
    /// Size of the packets in chunks.
    pub chunks: u16,
    /// Chunks that the frame's sender has granted so far, by [`Vc`], modulo 65,536. The total instead of an increment
    /// makes a lost or repeated frame harmless.
    pub granted: [u16; Vc::COUNT],
}

impl FrameRepr {
    /// Parses a frame header and returns it with the packet bytes. Fails with [`FrameError::FrameTruncated`] or
    /// [`FrameError::FrameHeader`].
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        Self::check_sum(frame)?;
        Self::parse_unsummed(frame)
    }

    /// Checks the header's checksum. Fails with [`FrameError::FrameHeader`].
    #[inline(never)]
    pub(crate) fn check_sum(frame: &[u8]) -> Result<(), FrameError> {
        let parts = frame.split_first_chunk::<12>();
        match parts.map(|(header, rest)| (header, rest.as_chunks::<4>().0)) {
            Some((header, [crc, ..])) if CRC_32.checksum(header) != u32::from_le_bytes(*crc) => {
                Err(FrameError::FrameHeader)
            }
            _ => Ok(()),
        }
    }

    /// Parses a frame from an exact link, without the checksum check.
    pub fn parse_unsummed(frame: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        let (granted, packets) = Self::parse_granted(frame)?;
        let repr = Self {
            chunks: (packets.len() / CHUNK_BYTES) as u16,
            granted: vc::unpack_counters(granted),
        };
        Ok((repr, packets))
    }

    /// Parses a frame without the checksum check. Returns the counters in the form of [`vc::pack_counters`] and the packet
    /// bytes.
    #[inline]
    pub(crate) fn parse_granted(frame: &[u8]) -> Result<(u64, &[u8]), FrameError> {
        let Some((header, rest)) = frame.split_first_chunk::<FRAME_HEADER_BYTES>() else {
            return Err(FrameError::FrameTruncated);
        };
        let [first, second] = words(header);
        if first as u16 != MARK {
            return Err(FrameError::FrameHeader);
        }
        let chunks = (first >> 16) as u16;
        match rest.get(..chunks as usize * CHUNK_BYTES) {
            Some(packets) => Ok((first >> 32 | second << 32, packets)),
            None => Err(FrameError::FrameTruncated),
        }
    }

    /// Returns the header bytes with the checksum.
    #[inline(never)]
    pub fn emit(&self) -> [u8; FRAME_HEADER_BYTES] {
        let mut header = self.emit_unsummed();
        let crc = CRC_32.checksum(&header[..12]);
        header[12..].copy_from_slice(&crc.to_le_bytes());
        header
    }

    /// Returns the header bytes without the checksum.
    pub fn emit_unsummed(&self) -> [u8; FRAME_HEADER_BYTES] {
        let mut header = [0; FRAME_HEADER_BYTES];
        Self::put_unsummed(&mut header, self.chunks, vc::pack_counters(self.granted));
        header
    }

    /// Writes the header bytes without the checksum; `granted` contains the counters in the form of [`vc::pack_counters`].
    #[inline]
    pub(crate) fn put_unsummed(header: &mut FrameHeader, chunks: u16, granted: u64) {
        let first = u64::from(MARK) | u64::from(chunks) << 16 | granted << 32;
        put_words(header, [first, granted >> 32]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repr() -> HeaderRepr {
        HeaderRepr {
            hints: DirectionSet::NONE.with(Direction::XMinus).with(Direction::ZPlus),
            deposit: false,
            dynamic: false,
            vc: Vc::Bn,
            fifo: Fifo::Normal,
            body: 100,
            dest: Coord { x: 3, y: 4, z: 255 },
        }
    }

    #[test]
    fn headers_round_trip() {
        for body in 0..=BODY_BYTES as u8 {
            for (vc, fifo, dynamic) in [
                (Vc::D0, Fifo::Normal, true),
                (Vc::D1, Fifo::Normal, true),
                (Vc::Bn, Fifo::Normal, true),
                (Vc::Bn, Fifo::Normal, false),
                (Vc::Bp, Fifo::Priority, false),
            ] {
                if dynamic && !HAS_DYNAMIC {
                    continue;
                }
                let repr = HeaderRepr {
                    body,
                    vc,
                    fifo,
                    dynamic,
                    ..repr()
                };
                let expected = if usize::from(body) <= fifo.body_bytes() {
                    Ok(repr)
                } else {
                    Err(FrameError::Channel)
                };
                assert_eq!(HeaderRepr::parse(&repr.emit()), expected);
            }
        }
        let frame = FrameRepr {
            chunks: 0,
            granted: [1, 2, 0xffff, 4],
        };
        assert_eq!(FrameRepr::parse(&frame.emit()), Ok((frame, &[][..])));
    }

    #[test]
    fn every_single_bit_error_in_a_header_is_seen() {
        let good = repr().emit();
        for bit in 0..64 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(HeaderRepr::parse(&bad), Err(FrameError::Checksum), "bit {bit}");
        }
        let good = FrameRepr {
            chunks: 0,
            granted: [9; 4],
        }
        .emit();
        for bit in 0..128 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameRepr::parse(&bad), Err(FrameError::FrameHeader), "bit {bit}");
        }
    }

    #[test]
    fn wrong_fields_are_told_apart() {
        let with = |i: usize, value: u8| {
            let mut header = repr().emit();
            header[i] = value;
            header[0] = CRC8.checksum(&header[1..]);
            HeaderRepr::parse(&header)
        };
        assert_eq!(with(7, 1), Err(FrameError::Reserved));
        assert_eq!(with(2, 0x40), Err(FrameError::Reserved));
        assert_eq!(with(6, 32), Err(FrameError::Padding));
        assert_eq!(with(2, (Vc::Bp as u8) << 3), Err(FrameError::Channel));
        assert_eq!(with(2, 1 << 5 | (Vc::Bn as u8) << 3), Err(FrameError::Channel));
        assert_eq!(with(2, Vc::D1 as u8 * 8), Err(FrameError::Channel));
        // One chunk with 31 unused bytes would end inside the header.
        let mut header = HeaderRepr { body: 0, ..repr() }.emit();
        header[6] = 31;
        header[0] = CRC8.checksum(&header[1..]);
        assert_eq!(HeaderRepr::parse(&header), Err(FrameError::Padding));
    }

    #[test]
    fn dynamic_packets_are_refused_where_there_are_no_channels_for_them() {
        for vc in [Vc::D0, Vc::D1, Vc::Bn] {
            let mut header = HeaderRepr { vc, ..repr() }.emit();
            header[1] |= 1 << 7;
            header[0] = CRC8.checksum(&header[1..]);
            let expected = if HAS_DYNAMIC { Ok(()) } else { Err(FrameError::Channel) };
            assert_eq!(HeaderRepr::parse(&header).map(|_| ()), expected, "{vc:?}");
        }
    }

    #[test]
    fn a_packet_is_only_seen_whole() {
        let mut bytes = [0u8; 128];
        bytes[..8].copy_from_slice(&repr().emit());
        assert_eq!(
            Packet::new_checked(&bytes[..127]).unwrap_err(),
            (FrameError::Size, None)
        );
        assert_eq!(Packet::new_checked(&bytes[..7]).unwrap_err(), (FrameError::Size, None));
        let packet = Packet::new_checked(&bytes).unwrap();
        assert_eq!(packet.body().len(), 100);
        assert_eq!(packet.bytes().len(), 128);
    }
}
