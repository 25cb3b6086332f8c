//! The device's messages on the wire, little-endian.
//!
//! ```text
//!   RTS      0..2 context   2 flags   3 age   4..8 tag   8..12 length   12..16 sender's request   16.. data
//!   answers  0..4 sender's request   4..8 receiver's handle   8..12 bytes wanted   12 flags   13 age
//!   DATA     a long message's packet: place (receiver's handle, offset) and bytes
//! ```
//! With the network's and the message layer's headers of 8 bytes each an RTS without data is one 32-byte
//! chunk: 16 bytes of envelope were enough for Blue Gene/Q too.
#![forbid(unsafe_code)]

use msg_layer::handler::{ANSWER_BYTES, Answer};
use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Tag};
use crate::protocol::Age;

/// Handler number of RTS (request).
pub const RTS: u8 = 1;
/// Handler number of data packets (request; never answered).
pub const DATA: u8 = 2;
/// Handler number of CTS (answer).
pub const CTS: u8 = 1;
/// Handler number of NCTSD (answer).
pub const NCTSD: u8 = 2;
/// Handler number of NCTS (answer).
pub const NCTS: u8 = 3;
/// Handler number of resendAll (answer).
pub const RESEND_ALL: u8 = 4;

/// Bytes of an RTS before its data.
pub const RTS_BYTES: usize = 16;
/// Greatest message in bytes that travels inside its RTS.
pub const INLINE_BYTES: usize = SHORT_BYTES - RTS_BYTES;

const FLAG_SYNCHRONOUS: u8 = 1;
const FLAG_INLINE: u8 = 2;
const FLAG_COMPLETE: u8 = 1;

/// Ready to send: offers a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rts {
    /// The message's context.
    pub context: Context,
    /// The message's tag.
    pub tag: Tag,
    /// The message's length in bytes.
    pub length: u32,
    /// The sender's name for the message.
    pub request: u32,
    /// The age under which it is offered.
    pub age: Age,
    /// Must not be buffered: CTS means that a receive has matched.
    pub synchronous: bool,
    /// The data follows.
    pub inline: bool,
}

impl Rts {
    /// Writes the RTS; the data, if it travels along, goes to the bytes after it.
    pub fn emit(&self, out: &mut [u8]) {
        out[0..2].copy_from_slice(&self.context.to_le_bytes());
        out[2] = if self.synchronous {
            FLAG_SYNCHRONOUS
        } else {
            0
        } | if self.inline { FLAG_INLINE } else { 0 };
        out[3] = self.age;
        out[4..8].copy_from_slice(&self.tag.to_le_bytes());
        out[8..12].copy_from_slice(&self.length.to_le_bytes());
        out[12..16].copy_from_slice(&self.request.to_le_bytes());
    }

    /// Reads an RTS and the data that travels along; `None` when it contradicts itself.
    pub fn parse(bytes: &[u8]) -> Option<(Rts, &[u8])> {
        let (head, data) = bytes.split_first_chunk::<RTS_BYTES>()?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let rts = Rts {
            context: u16::from_le_bytes([head[0], head[1]]),
            tag: word(4) as i32,
            length: word(8),
            request: word(12),
            age: head[3],
            synchronous: head[2] & FLAG_SYNCHRONOUS != 0,
            inline: head[2] & FLAG_INLINE != 0,
        };
        let expected = if rts.inline { rts.length as usize } else { 0 };
        (data.len() == expected && rts.tag >= 0).then_some((rts, data))
    }
}

/// An answer's fields; which of them count depends on the message.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Fields {
    /// The sender's name for its message.
    pub request: u32,
    /// CTS: the receiver's name for the place of the data.
    pub target: u32,
    /// CTS: bytes of the message that the receiver wants.
    pub wanted: u32,
    /// CTS: the data has come with the RTS, none is wanted.
    pub complete: bool,
    /// resendAll: the new age.
    pub age: Age,
}

impl Fields {
    /// The answer with handler number `handler`.
    pub fn emit(&self, handler: u8) -> Answer {
        let mut bytes = [0; ANSWER_BYTES];
        bytes[0..4].copy_from_slice(&self.request.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.target.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.wanted.to_le_bytes());
        bytes[12] = if self.complete { FLAG_COMPLETE } else { 0 };
        bytes[13] = self.age;
        Answer {
            handler,
            argument: 0,
            bytes,
        }
    }

    /// Reads an answer; `None` when it is cut short.
    pub fn parse(bytes: &[u8]) -> Option<Fields> {
        let head = bytes.first_chunk::<ANSWER_BYTES>()?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Some(Fields {
            request: word(0),
            target: word(4),
            wanted: word(8),
            complete: head[12] & FLAG_COMPLETE != 0,
            age: head[13],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rts_reads_back_as_it_was_written_and_a_contradiction_is_refused() {
        let rts = Rts {
            context: 3,
            tag: 77,
            length: 2,
            request: 9,
            age: 255,
            synchronous: true,
            inline: true,
        };
        let mut bytes = [0; RTS_BYTES + 2];
        rts.emit(&mut bytes);
        bytes[RTS_BYTES..].copy_from_slice(b"hi");
        assert_eq!(Rts::parse(&bytes), Some((rts, &b"hi"[..])));
        assert_eq!(
            Rts::parse(&bytes[..RTS_BYTES + 1]),
            None,
            "less data than it states"
        );
        assert_eq!(Rts::parse(&bytes[..RTS_BYTES - 1]), None, "cut short");
        let negative = Rts { tag: -1, ..rts };
        negative.emit(&mut bytes);
        assert_eq!(
            Rts::parse(&bytes),
            None,
            "no message has a wildcard for a tag"
        );
    }

    #[test]
    fn an_answer_reads_back_as_it_was_written() {
        let fields = Fields {
            request: 1,
            target: 0x8000_0002,
            wanted: 3,
            complete: true,
            age: 4,
        };
        let answer = fields.emit(CTS);
        assert_eq!(Fields::parse(&answer.bytes), Some(fields));
        assert_eq!(Fields::parse(&answer.bytes[..15]), None);
    }
}
