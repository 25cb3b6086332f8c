//! Wire format of one-sided (RMA) packets, little-endian.
//!
//! ```text
//!   requests   0 kind   1 operation, lock type   2..4 window   4 datatype   5 piggybacked end of epoch   then
//!     PUT, ACCUMULATE    pieces: 0..8 displacement   8 length   9.. the bytes
//!     FETCH              0..8 displacement   8 length   9.. the elements, or nothing if the operation requires none
//!     COMPARE            0..8 displacement   8 length   9.. to compare, then the new ones
//!     GET                0..8 displacement   8..12 length
//!     all others         nothing
//!   data of a get, and of a fetch longer than a reply: no such head; the header contains the origin's ID of it as
//!   the target, and an offset
//!   replies    16 bytes: the beginning of the result, or a flush's fault flag, or size and unit of a window
//! ```
//! A displacement is in bytes from the beginning of the window; in a dynamic window it is an address. The argument of a
//! request with a reply is the origin's ID of the reply. The reply repeats it, with the reply's type in the top bit.
//!
//! The last PUT or ACCUMULATE of an epoch that the program has closed contains the end of the epoch: COMPLETE or
//! UNLOCK, as if that had followed directly. Otherwise 0.
#![forbid(unsafe_code)]

use msg_layer::header::{SHORT_BYTES, TargetOffset};

use crate::envelope::{Context, Rank};
use crate::extensions::ExtensionId;

/// Handler ID of one-sided packets, and of their replies.
pub const ONE_SIDED: u8 = ExtensionId::OneSided.handler();

/// Bytes of the head.
pub const HEAD_BYTES: usize = 6;
/// LOCK type: a shared lock, behind all waiting requests.
pub const SHARED: u8 = 0;
/// LOCK type: an exclusive lock.
pub const EXCLUSIVE: u8 = 1;
/// LOCK type: a shared lock for a process that may have others, before the waiting requests.
pub const SHARED_BESIDE: u8 = 2;
/// LOCK type: the process with a pending request for a shared lock may now have others.
pub const URGENT: u8 = 3;
/// Bytes of a piece's header.
pub const PIECE_BYTES: usize = 9;
/// Maximum bytes of one piece: whole elements of any size that fit a packet.
pub const MAX_BYTES: usize = (SHORT_BYTES - HEAD_BYTES - PIECE_BYTES) / ELEMENT_BYTES * ELEMENT_BYTES;
/// Maximum element size: two long doubles, or one and its index.
const ELEMENT_BYTES: usize = 32;
const _: () = assert!(MAX_BYTES > 0);
/// Maximum bytes of one get; longer ones are split.
pub const MAX_GET_BYTES: u32 = 1 << 30;

/// A received request: its source, the header's argument and target, and the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RmaRequest<'a> {
    pub(crate) source: Rank,
    pub(crate) argument: u16,
    pub(crate) place: Option<TargetOffset>,
    pub(crate) bytes: &'a [u8],
}

/// Kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// Writes bytes to memory.
    Put,
    /// Combines elements with those in memory.
    Accumulate,
    /// Combines elements with those in memory, and returns the old ones.
    Fetch,
    /// Replaces an element if it equals another, and returns the old one.
    Compare,
    /// Returns bytes.
    Get,
    /// Confirms that all earlier operations are done.
    Flush,
    /// Requests a lock.
    Lock,
    /// Releases a lock, and confirms that all earlier operations are done.
    Unlock,
    /// Grants a requested lock.
    Grant,
    /// An exposure epoch is open for the receiver.
    Post,
    /// The sender has completed its access in the receiver's exposure epoch.
    Complete,
    /// Requests the size of the window.
    Size,
    /// The sender, and those below it in the tree, have arrived at a fence.
    Arrived,
    /// All processes have arrived at a fence.
    Released,
}

impl PacketKind {
    pub(crate) const ALL: [PacketKind; 14] = {
        use PacketKind::*;
        [
            Put, Accumulate, Fetch, Compare, Get, Flush, Lock, Unlock, Grant, Post, Complete, Size, Arrived, Released,
        ]
    };
}

/// Head of every request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestHead {
    /// Its kind.
    pub kind: PacketKind,
    /// The operation; of a LOCK, its type.
    pub operation: u8,
    /// The window.
    pub window: Context,
    /// The elements' datatype.
    pub datatype: u8,
    /// Of a put or an accumulate: it ends the epoch like a packet of this kind.
    pub ends: Option<PacketKind>,
}

impl RequestHead {
    /// Creates a head of this kind for this window.
    pub fn new(kind: PacketKind, window: Context) -> RequestHead {
        RequestHead {
            kind,
            operation: 0,
            window,
            datatype: 0,
            ends: None,
        }
    }

    /// Writes the head; the body follows it.
    ///
    /// # Panics
    /// When `out` is shorter than [`HEAD_BYTES`].
    pub fn emit(&self, out: &mut [u8]) {
        let window = self.window.to_le_bytes();
        let head = [
            self.kind as u8,
            self.operation,
            window[0],
            window[1],
            self.datatype,
            self.ends.map_or(0, |kind| kind as u8),
        ];
        out[..HEAD_BYTES].copy_from_slice(&head);
    }

    /// Parses a head, and returns the body after it; `None` when it is invalid.
    pub fn parse(bytes: &[u8]) -> Option<(RequestHead, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let kind = *PacketKind::ALL.get(head[0] as usize)?;
        let ends = match (kind, head[5]) {
            (_, 0) => None,
            (PacketKind::Put | PacketKind::Accumulate, ends) => {
                let is_it = |kind: &PacketKind| *kind as u8 == ends;
                Some([PacketKind::Complete, PacketKind::Unlock].into_iter().find(is_it)?)
            }
            _ => return None,
        };
        let head = RequestHead {
            kind,
            operation: head[1],
            window: Context::from_le_bytes([head[2], head[3]]),
            datatype: head[4],
            ends,
        };
        Some((head, rest))
    }
}

/// Writes the request of a get; returns its length.
pub fn get_request(out: &mut [u8], window: Context, place: u64, len: u32) -> usize {
    RequestHead::new(PacketKind::Get, window).emit(out);
    out[HEAD_BYTES..][..8].copy_from_slice(&place.to_le_bytes());
    out[HEAD_BYTES + 8..][..4].copy_from_slice(&len.to_le_bytes());
    HEAD_BYTES + 12
}

/// Writes displacement and length of a piece to the first [`PIECE_BYTES`] of `out`; returns the buffer for its bytes.
///
/// # Panics
/// When `out` is too short, or `len` above [`MAX_BYTES`].
pub fn emit_piece(out: &mut [u8], place: u64, len: usize) -> &mut [u8] {
    emit_piece_head(out, place, len);
    &mut out[PIECE_BYTES..][..len]
}

/// Writes only displacement and length of a piece; its bytes follow later.
///
/// # Panics
/// See [`emit_piece`].
pub fn emit_piece_head(out: &mut [u8], place: u64, len: usize) {
    assert!(len <= MAX_BYTES);
    out[..8].copy_from_slice(&place.to_le_bytes());
    out[8] = len as u8;
}

/// Parses a piece header: displacement, length, and the remaining bytes. `None` when it is truncated.
pub fn parse_piece(bytes: &[u8]) -> Option<(u64, usize, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<PIECE_BYTES>()?;
    let (place, len) = head.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*place), len[0] as usize, rest))
}

/// Type of a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum ReplyKind {
    /// The requested result.
    Result = 0,
    /// Rejected, since no slot is free: the origin requests it again.
    Rejected = 1,
}

/// Bits of an origin's ID of a reply.
pub const NAME_BITS: u32 = 15;

impl ReplyKind {
    /// Returns the argument of a reply.
    pub fn to_argument(self, name: u16) -> u16 {
        (self as u16) << NAME_BITS | (name & ((1 << NAME_BITS) - 1))
    }

    /// Returns the type and the ID in this argument of a reply.
    pub fn from_argument(argument: u16) -> (ReplyKind, u16) {
        let said = match argument >> NAME_BITS {
            0 => ReplyKind::Result,
            _ => ReplyKind::Rejected,
        };
        (said, argument & ((1 << NAME_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_back_as_it_was_written() {
        for (number, kind) in PacketKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let head = RequestHead {
                kind,
                operation: 7,
                window: 0x1234,
                datatype: 3,
                ends: (number < 2).then_some(PacketKind::Unlock),
            };
            let mut bytes = [0; HEAD_BYTES + 1];
            head.emit(&mut bytes);
            assert_eq!(RequestHead::parse(&bytes), Some((head, &[0][..])));
            assert_eq!(RequestHead::parse(&bytes[..HEAD_BYTES - 1]), None);
        }
        let unknown = [PacketKind::ALL.len() as u8, 0, 0, 0, 0, 0];
        assert_eq!(RequestHead::parse(&unknown), None);
        for (kind, ends) in [
            (PacketKind::Put, PacketKind::Flush),
            (PacketKind::Flush, PacketKind::Unlock),
        ] {
            let wrong = [kind as u8, 0, 0, 0, 0, ends as u8];
            assert_eq!(RequestHead::parse(&wrong), None);
        }
    }

    #[test]
    fn a_piece_reads_back_as_it_was_written() {
        let mut bytes = [0; PIECE_BYTES + 3];
        emit_piece(&mut bytes, u64::MAX - 1, 2).copy_from_slice(&[5, 6]);
        assert_eq!(parse_piece(&bytes), Some((u64::MAX - 1, 2, &[5, 6, 0][..])));
        assert_eq!(parse_piece(&bytes[..PIECE_BYTES - 1]), None);
    }

    #[test]
    fn an_answer_says_what_it_is_and_about_what() {
        for said in [ReplyKind::Result, ReplyKind::Rejected] {
            for name in [0, 5, (1 << NAME_BITS) - 1] {
                assert_eq!(ReplyKind::from_argument(said.to_argument(name)), (said, name));
            }
        }
    }
}
