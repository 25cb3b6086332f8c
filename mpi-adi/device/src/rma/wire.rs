//! One-sided packets on the wire, little-endian.
//!
//! ```text
//!   requests   0 kind   1 operation, lock type   2..4 window   4 datatype   5 what ends with it   then
//!     PUT, ACCUMULATE    pieces: 0..8 place   8 bytes   9.. the bytes
//!     FETCH              0..8 place   8 bytes   9.. the elements, or nothing: the operation needs none
//!     COMPARE            0..8 place   8 bytes   9.. to compare, then the new ones
//!     GET                0..8 place   8..12 bytes
//!     all others         nothing
//!   data of a get, and of a fetch of more than an answer: no such head; the header's place is the origin's name for
//!   it, and an offset
//!   answers    16 bytes: the first of the result, or a flush's fault flag, or size and unit of a window
//! ```
//! A place is a displacement in bytes from the beginning of the window, in a dynamic window an address. The argument of
//! a request that is answered is the origin's name for the answer, which the answer repeats with what it is on top.
//!
//! The last PUT or ACCUMULATE of an epoch that the program has closed says so itself: COMPLETE or UNLOCK, as if that had
//! come right behind it. Else 0.
#![forbid(unsafe_code)]

use msg_layer::header::SHORT_BYTES;

use crate::envelope::Context;
use crate::parts::Name;

/// Handler number of one-sided packets, and of their answers.
pub const ONE_SIDED: u8 = Name::OneSided.handler();

/// Bytes of the head.
pub const HEAD_BYTES: usize = 6;
/// A LOCK asks for a shared lock, behind all that wait.
pub const SHARED: u8 = 0;
/// For an exclusive lock.
pub const EXCLUSIVE: u8 = 1;
/// For a shared lock, by a process that may have others: before those that wait.
pub const SHARED_BESIDE: u8 = 2;
/// The shared lock that is asked for already is now one by a process that may have others.
pub const URGENT: u8 = 3;
/// Bytes before a piece's own.
pub const PIECE_BYTES: usize = 9;
/// The most bytes of one piece: whole elements of any size, and a packet with one such is not longer than there are.
pub const MOST_BYTES: usize =
    (SHORT_BYTES - HEAD_BYTES - PIECE_BYTES) / ELEMENT_BYTES * ELEMENT_BYTES;
/// The greatest element: two long doubles, or one and its place.
const ELEMENT_BYTES: usize = 32;
const _: () = assert!(MOST_BYTES > 0);

/// What a packet asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Bytes go into memory.
    Put,
    /// Elements are combined with those in memory.
    Accumulate,
    /// The same, and those that were there come back.
    Fetch,
    /// An element is replaced if it equals another, and comes back.
    Compare,
    /// Bytes come back.
    Get,
    /// All before this is done.
    Flush,
    /// A lock.
    Lock,
    /// The end of a lock, and all before this is done.
    Unlock,
    /// A lock that was asked for is granted.
    Grant,
    /// An exposure epoch is open for the receiver.
    Post,
    /// The receiver's exposure epoch is complete as far as the sender goes.
    Complete,
    /// How large the window is.
    Size,
    /// The sender, and those below it in the tree, have come to a fence.
    Arrived,
    /// All processes have come to it.
    Released,
}

impl Kind {
    const ALL: [Kind; 14] = {
        use Kind::*;
        [
            Put, Accumulate, Fetch, Compare, Get, Flush, Lock, Unlock, Grant, Post, Complete, Size,
            Arrived, Released,
        ]
    };
}

/// What every request begins with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Head {
    /// What it asks for.
    pub kind: Kind,
    /// The operation; of a lock, not 0: exclusive.
    pub operation: u8,
    /// The window.
    pub window: Context,
    /// The elements' datatype.
    pub datatype: u8,
    /// Of a put or an accumulate: the epoch ends with it, as it does with a packet of this kind.
    pub ends: Option<Kind>,
}

impl Head {
    /// A head of this kind for this window.
    pub fn new(kind: Kind, window: Context) -> Head {
        Head {
            kind,
            operation: 0,
            window,
            datatype: 0,
            ends: None,
        }
    }

    /// Writes the head; what follows goes behind it.
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

    /// Reads a head, and gives what follows; `None` when it is none.
    pub fn parse(bytes: &[u8]) -> Option<(Head, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let kind = *Kind::ALL.get(head[0] as usize)?;
        let ends = match (kind, head[5]) {
            (_, 0) => None,
            (Kind::Put | Kind::Accumulate, ends) => {
                let is_it = |kind: &Kind| *kind as u8 == ends;
                Some([Kind::Complete, Kind::Unlock].into_iter().find(is_it)?)
            }
            _ => return None,
        };
        let head = Head {
            kind,
            operation: head[1],
            window: Context::from_le_bytes([head[2], head[3]]),
            datatype: head[4],
            ends,
        };
        Some((head, rest))
    }
}

/// Writes where a piece's bytes go and how many they are, into the first [`PIECE_BYTES`] of `out`; and gives where they
/// stand in the packet.
///
/// # Panics
/// When `out` is too short, or `len` above [`MOST_BYTES`].
pub fn emit_piece(out: &mut [u8], place: u64, len: usize) -> &mut [u8] {
    emit_piece_head(out, place, len);
    &mut out[PIECE_BYTES..][..len]
}

/// As [`emit_piece`], of bytes that are written behind it later.
///
/// # Panics
/// As [`emit_piece`].
pub fn emit_piece_head(out: &mut [u8], place: u64, len: usize) {
    assert!(len <= MOST_BYTES);
    out[..8].copy_from_slice(&place.to_le_bytes());
    out[8] = len as u8;
}

/// A piece: its place, how many bytes it says, and what follows. `None` when it is cut short.
pub fn parse_piece(bytes: &[u8]) -> Option<(u64, usize, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<PIECE_BYTES>()?;
    let (place, len) = head.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*place), len[0] as usize, rest))
}

/// What an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Said {
    /// What was asked for.
    Result = 0,
    /// There is no place for it now: ask again.
    Refused = 1,
}

/// Bits of an origin's name for an answer.
pub const NAME_BITS: u32 = 15;

impl Said {
    /// The argument of an answer.
    pub fn about(self, name: u16) -> u16 {
        (self as u16) << NAME_BITS | (name & ((1 << NAME_BITS) - 1))
    }

    /// What an answer with this argument is, and about which name.
    pub fn of(argument: u16) -> (Said, u16) {
        let said = match argument >> NAME_BITS {
            0 => Said::Result,
            _ => Said::Refused,
        };
        (said, argument & ((1 << NAME_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_back_as_it_was_written() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let head = Head {
                kind,
                operation: 7,
                window: 0x1234,
                datatype: 3,
                ends: (number < 2).then_some(Kind::Unlock),
            };
            let mut bytes = [0; HEAD_BYTES + 1];
            head.emit(&mut bytes);
            assert_eq!(Head::parse(&bytes), Some((head, &[0][..])));
            assert_eq!(Head::parse(&bytes[..HEAD_BYTES - 1]), None);
        }
        let unknown = [Kind::ALL.len() as u8, 0, 0, 0, 0, 0];
        assert_eq!(Head::parse(&unknown), None);
        for (kind, ends) in [(Kind::Put, Kind::Flush), (Kind::Flush, Kind::Unlock)] {
            let wrong = [kind as u8, 0, 0, 0, 0, ends as u8];
            assert_eq!(Head::parse(&wrong), None);
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
        for said in [Said::Result, Said::Refused] {
            for name in [0, 5, (1 << NAME_BITS) - 1] {
                assert_eq!(Said::of(said.about(name)), (said, name));
            }
        }
    }
}
