//! The software header of a packet: 8 bytes for a short message, 16 for a packet of a long one.
//!
//! ```text
//!   byte  0        1       2 3 4      5      6 7        8..12    12..16
//!         handler  length  source     kind   argument   target   offset
//!                          (x y z)                      (long messages only)
//! ```
//! Blue Gene/L's software header is the same size and holds the handler ("active packet") and its
//! argument; integers are little-endian.

use net_torus::coord::Coord;

use crate::port::BODY_BYTES;

/// Bytes of the header of a short message.
pub const SHORT_HEADER: usize = 8;
/// Bytes of the header of a long message's packet.
pub const LONG_HEADER: usize = 16;
/// Greatest payload of a short message in bytes.
pub const SHORT_BYTES: usize = BODY_BYTES - SHORT_HEADER;
/// Greatest payload of one packet of a long message in bytes.
pub const LONG_BYTES: usize = BODY_BYTES - LONG_HEADER;

const KIND_SHORT: u8 = 0;
const KIND_LONG: u8 = 1;

/// Where the bytes of a long message's packet belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The receiver's own name for the destination, given out by the receiver beforehand.
    pub target: u32,
    /// Offset of the packet's first byte in the message, in bytes.
    pub offset: u32,
}

/// A software header that can be on the wire: illegal ones cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Number of the handler at the receiver.
    pub handler: u8,
    /// The sender's coordinates.
    pub source: Coord,
    /// A small argument for the handler.
    pub argument: u16,
    /// `Some` in the packets of a long message.
    pub place: Option<Place>,
}

/// Why a packet body is not a message of this layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// Shorter than its header or than the length it states.
    Truncated,
    /// A kind of message that does not exist.
    Kind,
}

impl Header {
    /// Bytes that the header takes on the wire.
    #[inline]
    pub fn bytes(&self) -> usize {
        if self.place.is_some() {
            LONG_HEADER
        } else {
            SHORT_HEADER
        }
    }

    /// Writes the header for a payload of `len` bytes and returns where the payload goes.
    ///
    /// # Panics
    /// When `body` is shorter than header and payload, or the payload longer than one packet's: the
    /// layer's own senders cut messages so that neither can be.
    #[inline]
    pub fn emit<'b>(&self, body: &'b mut [u8], len: usize) -> &'b mut [u8] {
        let (head, rest) = body.split_at_mut(self.bytes());
        head[0] = self.handler;
        head[1] = u8::try_from(len).expect("one packet's payload");
        head[2..5].copy_from_slice(&[self.source.x, self.source.y, self.source.z]);
        head[5] = if self.place.is_some() {
            KIND_LONG
        } else {
            KIND_SHORT
        };
        head[6..8].copy_from_slice(&self.argument.to_le_bytes());
        if let Some(place) = self.place {
            head[8..12].copy_from_slice(&place.target.to_le_bytes());
            head[12..16].copy_from_slice(&place.offset.to_le_bytes());
        }
        &mut rest[..len]
    }

    /// Reads a header and its payload from a packet's body; bytes after the payload are the chunk's
    /// padding.
    #[inline]
    pub fn parse(body: &[u8]) -> Result<(Header, &[u8]), HeaderError> {
        let (head, rest) = body
            .split_first_chunk::<SHORT_HEADER>()
            .ok_or(HeaderError::Truncated)?;
        let [handler, len, x, y, z, kind, a0, a1] = *head;
        let (place, rest) = match kind {
            KIND_SHORT => (None, rest),
            KIND_LONG => {
                let (more, rest) = rest
                    .split_first_chunk::<{ LONG_HEADER - SHORT_HEADER }>()
                    .ok_or(HeaderError::Truncated)?;
                let [t0, t1, t2, t3, o0, o1, o2, o3] = *more;
                let place = Place {
                    target: u32::from_le_bytes([t0, t1, t2, t3]),
                    offset: u32::from_le_bytes([o0, o1, o2, o3]),
                };
                (Some(place), rest)
            }
            _ => return Err(HeaderError::Kind),
        };
        let payload = rest.get(..len as usize).ok_or(HeaderError::Truncated)?;
        let source = Coord { x, y, z };
        Ok((
            Header {
                handler,
                source,
                argument: u16::from_le_bytes([a0, a1]),
                place,
            },
            payload,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        for place in [
            None,
            Some(Place {
                target: 0x8000_0001,
                offset: u32::MAX,
            }),
        ] {
            let header = Header {
                handler: 7,
                source: Coord { x: 1, y: 2, z: 255 },
                argument: 0xBEEF,
                place,
            };
            let mut body = [0xAA; BODY_BYTES];
            header.emit(&mut body, 3).copy_from_slice(b"abc");
            assert_eq!(Header::parse(&body), Ok((header, &b"abc"[..])));
        }
    }

    #[test]
    fn what_is_cut_short_or_of_an_unknown_kind_is_refused() {
        let header = Header {
            handler: 1,
            source: Coord::default(),
            argument: 0,
            place: Some(Place {
                target: 1,
                offset: 2,
            }),
        };
        let mut body = [0; 24];
        header.emit(&mut body, 8);
        for len in 0..24 {
            assert_eq!(
                Header::parse(&body[..len]),
                Err(HeaderError::Truncated),
                "{len} bytes"
            );
        }
        body[5] = 2;
        assert_eq!(Header::parse(&body), Err(HeaderError::Kind));
    }
}
