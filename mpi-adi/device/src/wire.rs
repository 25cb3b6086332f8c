//! Wire format of the device's messages, little-endian.
//!
//! ```text
//!   RTS        0..2 context   2 flags   3 age   4..8 tag   8..12 length   12..16 sender's request
//!              16..24 horizon of the restart that requested it (if the flag is set)   then the data
//!              then, if the header's argument is not 0, a piggybacked acknowledgement: the ID of a message of the
//!              other direction; it and the RTSs directly before it, argument in all, were received with their data
//!   DONE       0 age   1 flags
//!   replies    0..4 sender's request   4..8 receiver's handle   8..12 bytes wanted   12 flags
//!              13 RTSs directly before this one that were received with their data
//!   restart  0 age   1 number of entries   2..4 room   4..12 horizon   then entries of 7 bytes:
//!              0..2 context   2..6 tag (-1: any)   6 not 0: from this source only
//!   DATA     a packet of a long message: target (receiver's handle, offset) and bytes
//!   CANCEL     0..4 sender's request, 4 not 0: it was rejected
//!   ARRIVE, RELEASE, TELL   the barrier's value, or nothing. The header's argument is the dimension,
//!              of TELL its two lowest bits; then the parity of the barrier's number, and whether it comes from another
//!              group of the line; of all three, flag 16: the processes' values differ in their lengths, or their
//!              calls; and flag 32: the sender's last barrier
//!   EAGER    like DATA, but the target is the sender's request, since the CTS has not arrived yet
//! ```
//! With the network's and the message layer's headers of 8 bytes each, an RTS without data is one 32-byte chunk: 16
//! bytes of envelope were enough for Blue Gene/Q too.
#![forbid(unsafe_code)]

use msg_layer::handler::{REPLY_BYTES, ReplyPacket};
use msg_layer::header::{PRIORITY_BYTES, SHORT_BYTES};

use crate::envelope::{Context, Envelope, Rank, Tag};
use crate::extensions::ExtensionId;
use crate::ids::Horizon;
use crate::protocol::Age;

/// Handler ID of RTS (request).
pub const RTS: u8 = 1;
/// Handler ID of data packets (request; no reply).
pub const DATA: u8 = 2;
/// Handler ID of DONE (request; no reply).
pub const DONE: u8 = 3;
/// Handler ID of eager data packets (request; no reply).
pub const EAGER: u8 = 4;
/// Bytes of CANCEL.
pub const CANCEL_BYTES: usize = 5;
/// Handler ID of CANCEL (request).
pub const CANCEL: u8 = 5;
/// Handler ID of CTS, clear to send (reply).
pub const CTS: u8 = 1;
/// Handler ID of NCTSD, not clear to send data (reply).
pub const NCTSD: u8 = 2;
/// Handler ID of NCTS, not clear to send (reply).
pub const NCTS: u8 = 3;
/// Handler ID of restart (reply).
pub const RESTART: u8 = 4;
/// Handler ID of CANCELLED (reply, in the common format).
pub const CANCELLED: u8 = ExtensionId::Cancels.handler();
/// Handler ID of the arrival of a pair's second node in the barrier (priority). The argument is the dimension.
pub const ARRIVE: u8 = 5;
/// Handler ID of the barrier's release of the second node of a pair (priority; same format).
pub const RELEASE: u8 = 6;
/// Handler ID of the exchange between the nodes of a line in the barrier (priority; same format).
pub const TELL: u8 = 9;

/// Bytes of an RTS before its data, when no restart requested it.
pub const RTS_BYTES: usize = 16;
/// Bytes that a restart's horizon adds to an RTS.
pub const ASKED_BYTES: usize = 8;
/// Bytes that a piggybacked acknowledgement adds to an RTS.
pub const MERGED_BYTES: usize = 4;
/// Maximum size in bytes of a message that travels inside its RTS.
pub const INLINE_BYTES: usize = SHORT_BYTES - RTS_BYTES - ASKED_BYTES;

/// An RTS that a restart requested.
pub(crate) const FLAG_ASKED: u8 = 16;

/// Returns the flag if the condition is true, else 0.
pub(crate) fn flag_if(is: bool, flag: u8) -> u8 {
    if is { flag } else { 0 }
}

/// Request to send: announces a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rts {
    /// The message's context.
    pub context: Context,
    /// The message's tag.
    pub tag: Tag,
    /// The message's length in bytes.
    pub length: u32,
    /// The sender's ID of the message.
    pub request: u32,
    /// The age of this RTS.
    pub age: Age,
    /// Flags: [`Rts::INLINE`] and its siblings.
    pub flags: u8,
    /// Horizon of the restart that requested this RTS, as received.
    pub asked: Option<Horizon>,
}

impl Rts {
    /// Must not be buffered: CTS means that a receive has matched.
    pub const SYNCHRONOUS: u8 = 1;
    /// The data follows in the same packet.
    pub const INLINE: u8 = 2;
    /// Every earlier message was accepted, or has an RTS in order under the same age.
    pub const IN_ORDER: u8 = 4;
    /// Other messages to the same receiver are rejected.
    pub const MORE: u8 = 8;
    /// The data follows in separate packets, without waiting for the CTS.
    pub const EAGER: u8 = 32;
    /// Another RTS to the same receiver follows.
    pub const FOLLOWS: u8 = 64;
    /// The acknowledgement may be delayed: the sender has completed the message, or a later acknowledgement covers it.
    pub const ACK_DEFERRABLE: u8 = 128;

    /// Returns whether a flag is set.
    #[inline]
    pub fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the envelope of the message from `source`.
    pub fn envelope(&self, source: Rank) -> Envelope {
        Envelope {
            source,
            tag: self.tag,
            context: self.context,
        }
    }

    /// Returns the bytes of the RTS before its data.
    pub fn bytes(&self) -> usize {
        RTS_BYTES + if self.asked.is_some() { ASKED_BYTES } else { 0 }
    }

    /// Writes the RTS and returns the buffer for inline data.
    pub fn emit<'o>(&self, out: &'o mut [u8]) -> &'o mut [u8] {
        let (head, data) = out.split_at_mut(self.bytes());
        head[0..2].copy_from_slice(&self.context.to_le_bytes());
        head[2] = self.flags | flag_if(self.asked.is_some(), FLAG_ASKED);
        head[3] = self.age;
        head[4..8].copy_from_slice(&self.tag.to_le_bytes());
        head[8..12].copy_from_slice(&self.length.to_le_bytes());
        head[12..16].copy_from_slice(&self.request.to_le_bytes());
        if let Some(horizon) = self.asked {
            head[16..24].copy_from_slice(&horizon.to_le_bytes());
        }
        data
    }

    /// Parses an RTS and its inline data; returns `None` when it is inconsistent.
    pub fn parse(bytes: &[u8]) -> Option<(Rts, &[u8])> {
        let (head, mut data) = bytes.split_first_chunk::<RTS_BYTES>()?;
        let asked = if head[2] & FLAG_ASKED != 0 {
            let (horizon, rest) = data.split_first_chunk::<ASKED_BYTES>()?;
            data = rest;
            Some(u64::from_le_bytes(*horizon))
        } else {
            None
        };
        let rts = Rts {
            context: u16::from_le_bytes([head[0], head[1]]),
            tag: word(head, 4) as i32,
            length: word(head, 8),
            request: word(head, 12),
            age: head[3],
            flags: head[2] & !FLAG_ASKED,
            asked,
        };
        let expected = if rts.has_flag(Rts::INLINE) {
            rts.length as usize
        } else {
            0
        };
        (data.len() == expected && rts.tag >= 0).then_some((rts, data))
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// DONE: the sender has executed a restart that requested none of its pending messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoneMessage {
    /// The restart's age.
    pub age: Age,
    /// Messages to the receiver are rejected.
    pub more: bool,
}

impl DoneMessage {
    /// Bytes on the wire.
    pub const BYTES: usize = 2;

    /// Returns the encoded message.
    pub fn emit(&self) -> [u8; Self::BYTES] {
        [self.age, u8::from(self.more)]
    }

    /// Parses the message; returns `None` when it is truncated.
    pub fn parse(bytes: &[u8]) -> Option<DoneMessage> {
        let [age, flags] = *bytes.first_chunk::<{ Self::BYTES }>()?;
        Some(DoneMessage { age, more: flags != 0 })
    }
}

/// A receive listed in a restart, as transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestartEntry([u8; ENTRY_BYTES]);

impl RestartEntry {
    /// Creates the entry for this context and tag (`None`: any). `is_exact`: the receive specifies this source.
    pub fn new(context: Context, tag: Option<Tag>, is_exact: bool) -> RestartEntry {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..2].copy_from_slice(&context.to_le_bytes());
        bytes[2..6].copy_from_slice(&tag.unwrap_or(ANY_TAG).to_le_bytes());
        bytes[6] = is_exact.into();
        RestartEntry(bytes)
    }

    /// Parses an entry; returns `None` when its tag is neither a valid tag nor the wildcard.
    fn parse(bytes: &[u8; ENTRY_BYTES]) -> Option<RestartEntry> {
        let entry = RestartEntry(*bytes);
        (entry.any_or_tag() >= ANY_TAG).then_some(entry)
    }

    fn any_or_tag(&self) -> Tag {
        word(&self.0, 2) as Tag
    }

    /// Returns the requested context.
    pub fn context(&self) -> Context {
        u16::from_le_bytes([self.0[0], self.0[1]])
    }

    /// Returns the requested tag; `None`: any.
    pub fn tag(&self) -> Option<Tag> {
        Some(self.any_or_tag()).filter(|&tag| tag != ANY_TAG)
    }

    /// Returns whether the receive specifies this source, no wildcard.
    pub fn is_exact(&self) -> bool {
        self.0[6] != 0
    }
}

/// Maximum number of receives in one restart, one priority packet; with more, it requests all messages.
pub const RESTART_ENTRIES: usize = {
    let room = (PRIORITY_BYTES - RESTART_BYTES) / ENTRY_BYTES;
    if room < 20 { room } else { 20 }
};
/// Value of `room` that means "all messages".
pub const ROOM_FOR_ALL: u16 = u16::MAX;
pub(crate) const RESTART_BYTES: usize = 12;
pub(crate) const ENTRY_BYTES: usize = 7;
/// The wildcard tag of an entry.
const ANY_TAG: Tag = -1;

/// Restart: requests RTSs of rejected messages under a new age.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestartRequest {
    /// The new age.
    pub age: Age,
    /// Messages from the head of the pending send queue that the receiver has memory for.
    pub room: u16,
    /// The number of receives that the receiver had started when it created the restart.
    pub horizon: Horizon,
    /// Receives posted since the last restart, in the order of posting.
    pub entries: heapless::Vec<RestartEntry, RESTART_ENTRIES>,
}

impl RestartRequest {
    /// Returns the bytes on the wire.
    pub fn bytes(&self) -> usize {
        RESTART_BYTES + ENTRY_BYTES * self.entries.len()
    }

    /// Writes the message.
    pub fn emit(&self, out: &mut [u8]) {
        out[0] = self.age;
        out[1] = self.entries.len() as u8;
        out[2..4].copy_from_slice(&self.room.to_le_bytes());
        out[4..12].copy_from_slice(&self.horizon.to_le_bytes());
        let outs = out[RESTART_BYTES..].chunks_exact_mut(ENTRY_BYTES);
        for (entry, out) in self.entries.iter().zip(outs) {
            out.copy_from_slice(&entry.0);
        }
    }

    /// Parses the message; returns `None` when it is inconsistent.
    pub fn parse(bytes: &[u8]) -> Option<RestartRequest> {
        let (head, rest) = bytes.split_first_chunk::<RESTART_BYTES>()?;
        if rest.len() != head[1] as usize * ENTRY_BYTES {
            return None;
        }
        let mut entries = heapless::Vec::new();
        for bytes in rest.as_chunks().0 {
            entries.push(RestartEntry::parse(bytes)?).ok()?;
        }
        Some(RestartRequest {
            age: head[0],
            room: u16::from_le_bytes([head[2], head[3]]),
            horizon: u64::from_le_bytes(head[4..12].try_into().ok()?),
            entries,
        })
    }
}

/// Fields of a reply; the message type determines the valid ones.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ReplyFields {
    /// The sender's ID of its message.
    pub request: u32,
    /// CTS: the receiver's handle of the target buffer.
    pub target: u32,
    /// CTS: bytes of the message that the receiver wants.
    pub wanted: u32,
    /// Flags: [`ReplyFields::COMPLETE`] and its siblings.
    pub flags: u8,
    /// Number of RTSs directly before this one that were received with their data and get no other reply.
    pub before: u8,
}

impl ReplyFields {
    /// CTS: the data arrived with the RTS, no more is wanted.
    pub const COMPLETE: u8 = 1;
    /// NCTS: the RTS was stale; the sender may repeat it without a request.
    pub const STALE: u8 = 2;
    /// CTS: the eager data in flight is being received; no other is wanted.
    pub const STREAM: u8 = 4;
    /// The receiver's MPI memory is low: send no eager data for now.
    pub const SCARCE: u8 = 8;

    /// Returns whether a flag is set.
    #[inline]
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the reply with handler ID `handler`.
    pub fn emit(&self, handler: u8) -> ReplyPacket {
        let mut bytes = [0; REPLY_BYTES];
        bytes[0..4].copy_from_slice(&self.request.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.target.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.wanted.to_le_bytes());
        bytes[12] = self.flags;
        bytes[13] = self.before;
        ReplyPacket {
            handler,
            argument: 0,
            bytes,
        }
    }

    /// Parses a reply; returns `None` when it is truncated.
    pub fn parse(bytes: &[u8]) -> Option<ReplyFields> {
        let head = bytes.first_chunk::<REPLY_BYTES>()?;
        Some(ReplyFields {
            request: word(head, 0),
            target: word(head, 4),
            wanted: word(head, 8),
            flags: head[12],
            before: head[13],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rts_reads_back_as_it_was_written_and_a_contradiction_is_refused() {
        for asked in [None, Some(u64::MAX - 1)] {
            for bits in 0..=u8::MAX {
                let rts = Rts {
                    context: 3,
                    tag: 77,
                    length: 2,
                    request: 9,
                    age: 255,
                    flags: bits & !FLAG_ASKED,
                    asked,
                };
                let len = rts.bytes() + if rts.has_flag(Rts::INLINE) { 2 } else { 0 };
                let mut bytes = vec![0; len];
                rts.emit(&mut bytes).fill(7);
                let data = if rts.has_flag(Rts::INLINE) { &[7, 7][..] } else { &[] };
                assert_eq!(Rts::parse(&bytes), Some((rts, data)));
                assert_eq!(Rts::parse(&bytes[..len - 1]), None, "cut short");
                Rts { tag: -1, ..rts }.emit(&mut bytes);
                assert_eq!(Rts::parse(&bytes), None, "no message has a wildcard for a tag");
            }
        }
    }

    #[test]
    fn an_answer_reads_back_as_it_was_written() {
        let fields = ReplyFields {
            request: 1,
            target: 0x8000_0002,
            wanted: 3,
            flags: ReplyFields::COMPLETE | ReplyFields::SCARCE,
            before: 7,
        };
        for fields in [
            fields,
            ReplyFields {
                flags: ReplyFields::STALE | ReplyFields::STREAM,
                ..fields
            },
        ] {
            let answer = fields.emit(CTS);
            assert_eq!(ReplyFields::parse(&answer.bytes), Some(fields));
            assert_eq!(ReplyFields::parse(&answer.bytes[..15]), None);
        }
    }

    #[test]
    fn a_restart_reads_back_as_it_was_written() {
        let mut restart = RestartRequest {
            age: 200,
            room: 7,
            horizon: u64::MAX - 2,
            entries: heapless::Vec::new(),
        };
        for tag in 0..=RESTART_ENTRIES as i32 {
            let mut bytes = vec![0; restart.bytes()];
            restart.emit(&mut bytes);
            assert!(bytes.len() <= PRIORITY_BYTES);
            assert_eq!(RestartRequest::parse(&bytes), Some(restart.clone()));
            assert_eq!(RestartRequest::parse(&bytes[..bytes.len() - 1]), None);
            let tag = Some(tag).filter(|tag| tag % 2 == 0);
            let entry = RestartEntry::new(1, tag, tag.is_none());
            assert_eq!(
                (entry.context(), entry.tag(), entry.is_exact()),
                (1, tag, tag.is_none())
            );
            let _ = restart.entries.push(entry);
        }
        let mut bytes = vec![0; restart.bytes()];
        restart.emit(&mut bytes);
        bytes[RESTART_BYTES + 2..][..4].copy_from_slice(&(-2_i32).to_le_bytes());
        assert_eq!(RestartRequest::parse(&bytes), None, "neither a tag nor any");
        assert_eq!(
            DoneMessage::parse(&DoneMessage { age: 3, more: true }.emit()),
            Some(DoneMessage { age: 3, more: true })
        );
    }
}
