//! Software header of a packet: 8 bytes for a short message, 16 for a packet of a long one.
//!
//! ```text
//!   byte  0        1       2 3 4      5      6 7        8..12    12..16
//!         handler  length  source     kind   argument   target   offset
//!                          (x y z)                      (long messages only)
//! ```
//! Blue Gene/L's software header has the same size and contains the handler ("active packet") and its argument.
//! Integers are little-endian.

use net_torus::coord::Coord;
use net_torus::wire::{put_word, word_of};

use crate::port::{BODY_BYTES, TrafficClass};

/// Header bytes of a short message.
pub const SHORT_HEADER: usize = 8;
/// Header bytes of a long message's packet.
pub const LONG_HEADER: usize = 16;
/// Maximum payload of a short message in bytes.
pub const SHORT_BYTES: usize = BODY_BYTES - SHORT_HEADER;
/// Maximum payload in bytes of a short message in a priority packet.
pub const PRIORITY_BYTES: usize = TrafficClass::Priority.body_bytes() - SHORT_HEADER;
/// Maximum payload in bytes of one packet of a long message.
pub const LONG_BYTES: usize = BODY_BYTES - LONG_HEADER;

/// Offset of the kind field.
pub(crate) const KIND_AT: usize = 5;
pub(crate) const KIND_SHORT: u8 = 0;
pub(crate) const KIND_LONG: u8 = 1;

/// Destination of the bytes of a long message's packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct TargetOffset {
    /// Handle of the destination buffer, which the receiver has provided to the sender.
    pub target: u32,
    /// Offset of the packet's first byte in the message, in bytes.
    pub offset: u32,
}

impl TargetOffset {
    #[inline]
    fn word(self) -> u64 {
        u64::from(self.target) | u64::from(self.offset) << 32
    }
}

/// A valid software header: the type cannot express an invalid one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Handler ID at the receiver.
    pub handler: u8,
    /// Coordinates of the sender.
    pub source: Coord,
    /// Small argument of the handler.
    pub argument: u16,
    /// `Some` in the packets of a long message.
    pub place: Option<TargetOffset>,
}

/// Reasons why a packet body is not a message of this layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// Shorter than its header or its length field.
    Truncated,
    /// Unknown message kind.
    Kind,
}

impl Header {
    /// Returns the header's size on the wire in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        if self.place.is_some() {
            LONG_HEADER
        } else {
            SHORT_HEADER
        }
    }

    /// Writes the header for a payload of `len` bytes. Returns the payload's part of `body`.
    ///
    /// # Panics
    /// If `body` is shorter than header and payload, or the payload exceeds the maximum of a packet. The layer's own
    /// senders split messages to avoid both.
    #[inline]
    pub fn emit<'b>(&self, body: &'b mut [u8], len: usize) -> &'b mut [u8] {
        let (head, rest) = body.split_at_mut(self.bytes());
        let (words, _) = head.as_chunks_mut::<WORD>();
        put_word(&mut words[0], self.first(len));
        if let Some(place) = self.place {
            put_word(&mut words[1], place.word());
        }
        &mut rest[..len]
    }

    /// Returns the first word for a payload of `len` bytes.
    #[inline]
    fn first(&self, len: usize) -> u64 {
        let Coord { x, y, z } = self.source;
        let len_byte = u8::try_from(len).expect("one packet's payload");
        let kind = match self.place {
            Some(_) => KIND_LONG,
            None => KIND_SHORT,
        };
        let [a0, a1] = self.argument.to_le_bytes();
        u64::from_le_bytes([self.handler, len_byte, x, y, z, kind, a0, a1])
    }

    /// Returns a function that writes the headers of full packets of a long message, with the specified place. Like
    /// [`Header::emit`], it returns the payload's part of the body.
    #[inline]
    pub(crate) fn emit_all(&self) -> impl Fn(&mut [u8], TargetOffset) -> &mut [u8] + use<> {
        let first = Header {
            place: Some(TargetOffset::default()),
            ..*self
        }
        .first(LONG_BYTES);
        move |body, place| {
            let (head, rest) = body.split_at_mut(LONG_HEADER);
            let (words, _) = head.as_chunks_mut::<WORD>();
            put_word(&mut words[0], first);
            put_word(&mut words[1], place.word());
            &mut rest[..LONG_BYTES]
        }
    }

    /// Checks whether the packet with this body belongs to a long message.
    #[inline]
    pub(crate) fn is_long(body: &[u8]) -> bool {
        body.get(KIND_AT) == Some(&KIND_LONG)
    }

    /// Parses the header and payload of a packet's body. Bytes after the payload are padding of the chunk.
    #[inline]
    pub fn parse(body: &[u8]) -> Result<(Header, &[u8]), HeaderError> {
        let first = HeaderPrefix::read(body)?;
        let (place, payload) = first.rest(body)?;
        Ok((first.header(place), payload))
    }
}

/// First [`SHORT_HEADER`] bytes of a header: all that the packets of a long message have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeaderPrefix(u64);

impl HeaderPrefix {
    #[inline]
    pub fn read(body: &[u8]) -> Result<HeaderPrefix, HeaderError> {
        body.first_chunk()
            .map(|word| HeaderPrefix(word_of(word)))
            .ok_or(HeaderError::Truncated)
    }

    #[inline]
    pub fn header(self, place: Option<TargetOffset>) -> Header {
        let [handler, _, x, y, z, _, a0, a1] = self.0.to_le_bytes();
        Header {
            handler,
            source: Coord { x, y, z },
            argument: u16::from_le_bytes([a0, a1]),
            place,
        }
    }

    /// Parses the rest of the packet with this body.
    #[inline]
    pub fn rest(self, body: &[u8]) -> Result<(Option<TargetOffset>, &[u8]), HeaderError> {
        let [_, len, _, _, _, kind, _, _] = self.0.to_le_bytes();
        let (place, start) = match kind {
            KIND_SHORT => (None, SHORT_HEADER),
            KIND_LONG => {
                let word = body.get(SHORT_HEADER..).and_then(|rest| rest.first_chunk());
                let word = word_of(word.ok_or(HeaderError::Truncated)?);
                let (target, offset) = (word as u32, (word >> 32) as u32);
                (Some(TargetOffset { target, offset }), LONG_HEADER)
            }
            _ => return Err(HeaderError::Kind),
        };
        let payload = body.get(start..start + usize::from(len));
        Ok((place, payload.ok_or(HeaderError::Truncated)?))
    }
}

/// Bytes per header word.
const WORD: usize = size_of::<u64>();

#[cfg(test)]
mod tests {
    use super::*;
    use net_torus::profile::by_profile;

    #[test]
    fn a_header_reads_back_as_it_was_written() {
        for place in [
            None,
            Some(TargetOffset {
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

    /// The payload limits depend on the profile; the header does not.
    #[test]
    fn a_packet_carries_what_the_header_leaves() {
        let bytes = [SHORT_BYTES, LONG_BYTES, PRIORITY_BYTES];
        assert_eq!(bytes, by_profile([240, 232, 240], [112, 104, 48]));
    }

    #[test]
    fn what_is_cut_short_or_of_an_unknown_kind_is_refused() {
        let header = Header {
            handler: 1,
            source: Coord::default(),
            argument: 0,
            place: Some(TargetOffset { target: 1, offset: 2 }),
        };
        let mut body = [0; 24];
        header.emit(&mut body, 8);
        for len in 0..24 {
            assert_eq!(Header::parse(&body[..len]), Err(HeaderError::Truncated), "{len} bytes");
        }
        body[5] = 2;
        assert_eq!(Header::parse(&body), Err(HeaderError::Kind));
    }
}
