//! Tables of the fields on the wire, for decoders and documentation. The layers above have tables of the same type.
//!
//! The message path reads and writes the fields in its own code, one word at a time. Tests compare both: each field of
//! a table is read from the bytes that this code has written.

use crate::coord::Direction;
use crate::vc::Vc;

/// Interpretation of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// An unsigned number.
    Number,
    /// A number in two's complement.
    Signed,
    /// Bits or an identifier, in hexadecimal form.
    Hex,
    /// Coordinates x, y, z, a byte each.
    Coordinates,
}

/// A little-endian field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireField {
    /// Name of one or several words, in lower case.
    pub name: &'static str,
    /// Offset of the first byte.
    pub at: usize,
    /// Size in bytes, 1 to 8.
    pub bytes: usize,
    /// Bits of the field in the integer of these bytes; all ones: the complete integer.
    pub mask: u64,
    /// Interpretation.
    pub kind: FieldKind,
    /// Names of values.
    pub values: &'static [(u64, &'static str)],
}

impl WireField {
    /// Creates a field that contains a number.
    pub const fn new(name: &'static str, at: usize, bytes: usize) -> Self {
        Self {
            name,
            at,
            bytes,
            mask: u64::MAX,
            kind: FieldKind::Number,
            values: &[],
        }
    }

    /// Creates a field of three coordinates.
    pub const fn coordinates(name: &'static str, at: usize) -> Self {
        Self::new(name, at, 3).of_kind(FieldKind::Coordinates)
    }

    /// Creates a field of some bits of a byte.
    pub const fn bits(name: &'static str, at: usize, mask: u8) -> Self {
        Self {
            mask: mask as u64,
            ..Self::new(name, at, 1)
        }
    }

    /// Returns the field with another interpretation.
    pub const fn of_kind(self, kind: FieldKind) -> Self {
        Self { kind, ..self }
    }

    /// Returns the field with names of its values.
    pub const fn named(self, values: &'static [(u64, &'static str)]) -> Self {
        Self { values, ..self }
    }

    /// Reads the field as an unsigned integer; `None` if `bytes` is too short.
    pub fn read(&self, bytes: &[u8]) -> Option<u64> {
        let part = bytes.get(self.at..self.at.checked_add(self.bytes)?)?;
        let whole = part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Some(match self.mask {
            u64::MAX => whole,
            mask => (whole & mask) >> mask.trailing_zeros(),
        })
    }
}

const CHANNELS: [(u64, &str); Vc::COUNT] = [
    (Vc::D0 as u64, Vc::D0.name()),
    (Vc::D1 as u64, Vc::D1.name()),
    (Vc::Bn as u64, Vc::Bn.name()),
    (Vc::Bp as u64, Vc::Bp.name()),
];

const DIRECTIONS: [(u64, &str); 6] = [
    (Direction::XPlus as u64, "X+"),
    (Direction::XMinus as u64, "X-"),
    (Direction::YPlus as u64, "Y+"),
    (Direction::YMinus as u64, "Y-"),
    (Direction::ZPlus as u64, "Z+"),
    (Direction::ZMinus as u64, "Z-"),
];

/// First byte of a frame, of a frame of the reliable layer, and of a detoured frame.
pub const MAGICS: [u8; 3] = [crate::wire::MAGIC, crate::reliable::MAGIC, crate::detour::MAGIC];

/// Header of a frame ([`wire`](crate::wire)).
pub const FRAME: &[WireField] = &[
    WireField::new("magic", 0, 1).of_kind(FieldKind::Hex),
    WireField::new("version", 1, 1),
    WireField::new("chunks of packets", 2, 2),
    WireField::new("granted D0", 4, 2),
    WireField::new("granted D1", 6, 2),
    WireField::new("granted BN", 8, 2),
    WireField::new("granted BP", 10, 2),
    WireField::new("checksum", 12, 4).of_kind(FieldKind::Hex),
];

/// Header of a packet ([`wire`](crate::wire)).
pub const PACKET: &[WireField] = &[
    WireField::new("checksum", 0, 1).of_kind(FieldKind::Hex),
    WireField::bits("hints", 1, 0x3f).of_kind(FieldKind::Hex),
    WireField::bits("deposit", 1, 0x40),
    WireField::bits("dynamic", 1, 0x80),
    WireField::bits("chunks less one", 2, 0x07),
    WireField::bits("channel", 2, 0x18).named(&CHANNELS),
    WireField::bits("class", 2, 0x20).named(&[(0, "normal"), (1, "priority")]),
    WireField::coordinates("destination", 3),
    WireField::new("unused bytes", 6, 1),
];

/// Header of the reliable layer ([`reliable`](crate::reliable)).
pub const RELIABLE: &[WireField] = &[
    WireField::new("magic", 0, 1).of_kind(FieldKind::Hex),
    WireField::bits("contains data", 1, 0x01),
    WireField::bits("frame missing", 1, 0x02),
    WireField::new("sequence number", 2, 2),
    WireField::new("acknowledgement", 4, 2),
    WireField::new("data bytes", 6, 2),
    WireField::new("running CRC", 8, 4).of_kind(FieldKind::Hex),
    WireField::new("checksum", 12, 4).of_kind(FieldKind::Hex),
];

/// Header of a detoured frame ([`detour`](crate::detour)).
pub const DETOUR: &[WireField] = &[
    WireField::new("magic", 0, 1).of_kind(FieldKind::Hex),
    WireField::new("remaining hops", 1, 1),
    WireField::new("link", 2, 1).named(&DIRECTIONS),
    WireField::new("hops", 4, 4).of_kind(FieldKind::Hex),
    WireField::new("checksum", 8, 4).of_kind(FieldKind::Hex),
];

/// Returns the value of the field with this name in the table.
#[cfg(test)]
fn value(table: &[WireField], name: &str, bytes: &[u8]) -> Option<u64> {
    let field = table.iter().find(|field| field.name == name)?;
    field.read(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fifo;
    use crate::coord::Coord;
    use crate::wire::{DirectionSet, FrameRepr, HeaderRepr};

    #[test]
    fn the_table_of_a_packet_reads_what_the_router_writes() {
        let hints = DirectionSet::NONE.with(Direction::XMinus).with(Direction::ZPlus);
        for (fifo, vc, deposit) in [(Fifo::Normal, Vc::Bn, false), (Fifo::Priority, Vc::Bp, true)] {
            let header = HeaderRepr {
                hints,
                deposit,
                dynamic: false,
                vc,
                fifo,
                body: 35,
                dest: Coord { x: 1, y: 2, z: 255 },
            };
            let bytes = header.emit();
            let read = |name| value(PACKET, name, &bytes).unwrap();
            assert_eq!(read("checksum"), u64::from(bytes[0]));
            assert_eq!(read("hints"), u64::from(hints.bits()));
            assert_eq!((read("deposit"), read("dynamic")), (u64::from(deposit), 0));
            assert_eq!(read("chunks less one"), 1);
            assert_eq!((read("channel"), read("class")), (vc as u64, fifo as u64));
            assert_eq!(read("destination"), 0xff_02_01);
            assert_eq!(read("unused bytes"), 64 - 8 - 35);
        }
        for direction in Direction::ALL {
            assert_eq!(DIRECTIONS[direction as usize], (direction as u64, direction.name()));
        }
    }

    #[test]
    fn the_table_of_a_frame_reads_what_the_router_writes() {
        let frame = FrameRepr {
            chunks: 300,
            granted: [1, 2, 3, 0xffff],
        };
        let bytes = frame.emit();
        let read = |name| value(FRAME, name, &bytes).unwrap();
        assert_eq!((read("magic"), read("version")), (u64::from(MAGICS[0]), 1));
        assert_eq!(read("chunks of packets"), 300);
        let granted = ["granted D0", "granted D1", "granted BN", "granted BP"].map(read);
        assert_eq!(granted, [1, 2, 3, 0xffff]);
    }

    #[test]
    fn a_short_buffer_has_no_field() {
        for table in [FRAME, PACKET, RELIABLE, DETOUR] {
            for field in table {
                let end = field.at + field.bytes;
                assert!(field.read(&[0; 16][..end]).is_some());
                assert_eq!(field.read(&[0; 16][..end - 1]), None);
            }
        }
    }
}
