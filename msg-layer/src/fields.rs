//! Table of the message header's fields, for decoders and documentation ([`net_torus::fields`]).

use net_torus::fields::{FieldKind, WireField};

use crate::header::{KIND_AT, KIND_LONG, KIND_SHORT};

/// Header of a short message, and the first bytes of that of a long one ([`header`](crate::header)).
pub const SHORT: &[WireField] = &[
    WireField::new("handler", 0, 1),
    WireField::new("payload bytes", 1, 1),
    WireField::coordinates("source", 2),
    WireField::new("kind", KIND_AT, 1).named(&[(KIND_SHORT as u64, "short"), (KIND_LONG as u64, "long")]),
    WireField::new("argument", 6, 2).of_kind(FieldKind::Hex),
];

/// Additional fields in a packet of a long message.
pub const LONG: &[WireField] = &[
    WireField::new("target", 8, 4).of_kind(FieldKind::Hex),
    WireField::new("offset", 12, 4),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Header, LONG_HEADER, SHORT_HEADER, TargetOffset};
    use net_torus::coord::Coord;

    #[test]
    fn the_tables_read_what_the_layer_writes() {
        let short = Header {
            handler: 9,
            source: Coord { x: 1, y: 2, z: 3 },
            argument: 0xBEEF,
            place: None,
        };
        let long = Header {
            place: Some(TargetOffset {
                target: 0x8000_0001,
                offset: 232,
            }),
            ..short
        };
        for header in [short, long] {
            let mut body = [0; 64];
            header.emit(&mut body, 5);
            let read = |fields: &[WireField]| -> Vec<u64> {
                let values = fields.iter().map(|field| field.read(&body[..header.bytes()]));
                values.map(Option::unwrap).collect()
            };
            let kind = u64::from(header.place.is_some());
            assert_eq!(read(SHORT), [9, 5, 0x03_02_01, kind, 0xBEEF]);
            if header.place.is_some() {
                assert_eq!(read(LONG), [0x8000_0001, 232]);
            }
        }
        let end = |fields: &[WireField]| fields.iter().map(|field| field.at + field.bytes).max();
        assert_eq!((end(SHORT), end(LONG)), (Some(SHORT_HEADER), Some(LONG_HEADER)));
    }
}
