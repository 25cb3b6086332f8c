//! Tables of the device's messages, for decoders and documentation ([`net_torus::fields`]). The formats are in
//! [`wire`](crate::wire) and [`rma::wire`](crate::rma::wire).
#![forbid(unsafe_code)]

use msg_layer::TrafficClass;
use net_torus::fields::{FieldKind, WireField};

use crate::rma::wire::{HEAD_BYTES, ONE_SIDED, PacketKind};
use crate::wire::{
    ARRIVE, ASKED_BYTES, CANCEL, CANCELLED, CTS, DATA, DONE, EAGER, ENTRY_BYTES, FLAG_ASKED, NCTS, NCTSD, RELEASE,
    RESTART, RESTART_BYTES, RTS, RTS_BYTES, ReplyFields, Rts, TELL,
};

/// Format of a message, selected by its class and its handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageFormat {
    /// Class of its packets.
    pub class: TrafficClass,
    /// Handler ID.
    pub handler: u8,
    /// Short name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Fields at the start of the payload.
    pub fields: &'static [WireField],
    /// Fields that exist if a field is not zero; `None`: there are none.
    pub optional: Option<OptionalFields>,
    /// Entries after the fields, each of the same size; `None`: there are none.
    pub entries: Option<EntryFields>,
}

/// Fields that exist under a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionalFields {
    /// The name of the field that is not zero if these exist.
    pub condition: &'static str,
    /// The fields.
    pub fields: &'static [WireField],
}

/// Entries of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryFields {
    /// Offset of the first entry.
    pub at: usize,
    /// Size of an entry in bytes.
    pub bytes: usize,
    /// The fields of an entry.
    pub fields: &'static [WireField],
}

const fn flag(name: &'static str, at: usize, mask: u8) -> WireField {
    WireField::bits(name, at, mask)
}

const RTS_FIELDS: &[WireField] = &[
    WireField::new("context", 0, 2),
    flag("synchronous", 2, Rts::SYNCHRONOUS),
    flag("inline data", 2, Rts::INLINE),
    flag("in order", 2, Rts::IN_ORDER),
    flag("more rejected", 2, Rts::MORE),
    flag("requested by restart", 2, FLAG_ASKED),
    flag("eager data follows", 2, Rts::EAGER),
    flag("another RTS follows", 2, Rts::FOLLOWS),
    flag("acknowledgement may be delayed", 2, Rts::ACK_DEFERRABLE),
    WireField::new("age", 3, 1),
    WireField::new("tag", 4, 4).of_kind(FieldKind::Signed),
    WireField::new("length", 8, 4),
    WireField::new("request", 12, 4).of_kind(FieldKind::Hex),
];

const HORIZON: OptionalFields = OptionalFields {
    condition: "requested by restart",
    fields: &[WireField::new("horizon", RTS_BYTES, ASKED_BYTES)],
};

const REPLY_FIELDS: &[WireField] = &[
    WireField::new("request", 0, 4).of_kind(FieldKind::Hex),
    WireField::new("target", 4, 4).of_kind(FieldKind::Hex),
    WireField::new("bytes wanted", 8, 4),
    flag("complete", 12, ReplyFields::COMPLETE),
    flag("stale", 12, ReplyFields::STALE),
    flag("stream accepted", 12, ReplyFields::STREAM),
    flag("memory scarce", 12, ReplyFields::SCARCE),
    WireField::new("messages before", 13, 1),
];

const RESTART_FIELDS: &[WireField] = &[
    WireField::new("age", 0, 1),
    WireField::new("entries", 1, 1),
    WireField::new("room", 2, 2),
    WireField::new("horizon", 4, 8),
];

const RESTART_ENTRIES: EntryFields = EntryFields {
    at: RESTART_BYTES,
    bytes: ENTRY_BYTES,
    fields: &[
        WireField::new("context", 0, 2),
        WireField::new("tag", 2, 4).of_kind(FieldKind::Signed),
        WireField::new("this source only", 6, 1),
    ],
};

const RMA_FIELDS: &[WireField] = &[
    WireField::new("operation kind", 0, 1).named(RMA_KINDS),
    WireField::new("operation", 1, 1),
    WireField::new("window", 2, 2),
    WireField::new("datatype", 4, 1),
    WireField::new("end of epoch", HEAD_BYTES - 1, 1),
];

const RMA_KINDS: &[(u64, &str)] = &[
    (PacketKind::Put as u64, "put"),
    (PacketKind::Accumulate as u64, "accumulate"),
    (PacketKind::Fetch as u64, "fetch"),
    (PacketKind::Compare as u64, "compare and swap"),
    (PacketKind::Get as u64, "get"),
    (PacketKind::Flush as u64, "flush"),
    (PacketKind::Lock as u64, "lock"),
    (PacketKind::Unlock as u64, "unlock"),
    (PacketKind::Grant as u64, "grant"),
    (PacketKind::Post as u64, "post"),
    (PacketKind::Complete as u64, "complete"),
    (PacketKind::Size as u64, "size"),
    (PacketKind::Arrived as u64, "arrived at fence"),
    (PacketKind::Released as u64, "released from fence"),
];

const fn request(handler: u8, name: &'static str, meaning: &'static str) -> MessageFormat {
    MessageFormat {
        class: TrafficClass::Normal,
        handler,
        name,
        meaning,
        fields: &[],
        optional: None,
        entries: None,
    }
}

const fn reply(handler: u8, name: &'static str, meaning: &'static str) -> MessageFormat {
    MessageFormat {
        class: TrafficClass::Priority,
        ..request(handler, name, meaning)
    }
}

impl MessageFormat {
    const fn with(self, fields: &'static [WireField]) -> Self {
        Self { fields, ..self }
    }
}

/// All messages of the device.
pub const MESSAGES: &[MessageFormat] = &[
    MessageFormat {
        optional: Some(HORIZON),
        ..request(RTS, "RTS", "request to send").with(RTS_FIELDS)
    },
    request(DATA, "DATA", "data of a long message"),
    request(DONE, "DONE", "a restart found no message")
        .with(&[WireField::new("age", 0, 1), WireField::new("messages rejected", 1, 1)]),
    request(EAGER, "EAGER", "data that follows its RTS without waiting for the CTS"),
    request(CANCEL, "CANCEL", "cancels a send").with(&[
        WireField::new("request", 0, 4).of_kind(FieldKind::Hex),
        WireField::new("rejected", 4, 1),
    ]),
    request(ONE_SIDED, "RMA", "one-sided request").with(RMA_FIELDS),
    reply(CTS, "CTS", "clear to send").with(REPLY_FIELDS),
    reply(NCTSD, "NCTSD", "not clear to send data").with(REPLY_FIELDS),
    reply(NCTS, "NCTS", "not clear to send").with(REPLY_FIELDS),
    MessageFormat {
        entries: Some(RESTART_ENTRIES),
        ..reply(RESTART, "RESTART", "requests rejected messages again").with(RESTART_FIELDS)
    },
    reply(CANCELLED, "CANCELLED", "reply to a cancelled send").with(REPLY_FIELDS),
    reply(ARRIVE, "ARRIVE", "barrier: second node of a pair has arrived"),
    reply(RELEASE, "RELEASE", "barrier: releases the second node of a pair"),
    reply(TELL, "TELL", "barrier: a node of a line has arrived"),
    reply(ONE_SIDED, "RMA reply", "result of a one-sided request"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rma::wire::RequestHead;
    use crate::wire::{DoneMessage, RestartEntry, RestartRequest};
    use alloc::vec::Vec;

    fn read(fields: &[WireField], bytes: &[u8]) -> Vec<u64> {
        fields.iter().map(|field| field.read(bytes).unwrap()).collect()
    }

    fn find(name: &str) -> &'static MessageFormat {
        MESSAGES.iter().find(|message| message.name == name).unwrap()
    }

    #[test]
    fn the_table_of_an_rts_reads_what_the_device_writes() {
        let flags = Rts::SYNCHRONOUS | Rts::IN_ORDER | Rts::EAGER | Rts::ACK_DEFERRABLE;
        let rts = Rts {
            context: 3,
            tag: 77,
            length: 0x1_0002,
            request: 9,
            age: 255,
            flags,
            asked: Some(1 << 40),
        };
        let mut bytes = [0; 24];
        rts.emit(&mut bytes);
        let wanted = [3, 1, 0, 1, 0, 1, 1, 0, 1, 255, 77, 0x1_0002, 9];
        assert_eq!(read(find("RTS").fields, &bytes), wanted);
        assert_eq!(read(HORIZON.fields, &bytes), [1 << 40]);
        assert!(RTS_FIELDS.iter().any(|field| field.name == HORIZON.condition));
    }

    #[test]
    fn the_tables_of_replies_read_what_the_device_writes() {
        let fields = ReplyFields {
            request: 1,
            target: 0x8000_0002,
            wanted: 3,
            flags: ReplyFields::COMPLETE | ReplyFields::STREAM,
            before: 7,
        };
        for name in ["CTS", "NCTSD", "NCTS", "CANCELLED"] {
            let format = find(name);
            let packet = fields.emit(format.handler);
            assert_eq!(read(format.fields, &packet.bytes), [1, 0x8000_0002, 3, 1, 0, 1, 0, 7]);
        }
        let mut restart = RestartRequest {
            age: 200,
            room: 7,
            horizon: u64::MAX - 2,
            entries: heapless::Vec::new(),
        };
        for tag in [None, Some(5)] {
            let _ = restart.entries.push(RestartEntry::new(4, tag, tag.is_some()));
        }
        let mut bytes = [0; 26];
        restart.emit(&mut bytes);
        let format = find("RESTART");
        assert_eq!(read(format.fields, &bytes), [200, 2, 7, u64::MAX - 2]);
        let entries = format.entries.unwrap();
        let entry = |number: usize| read(entries.fields, &bytes[entries.at + number * entries.bytes..]);
        assert_eq!(entry(0), [4, 0xffff_ffff, 0]);
        assert_eq!(entry(1), [4, 5, 1]);
    }

    #[test]
    fn the_other_tables_read_what_the_device_writes() {
        let done = DoneMessage { age: 3, more: true }.emit();
        assert_eq!(read(find("DONE").fields, &done), [3, 1]);
        for (value, name) in RMA_KINDS {
            let mut bytes = [0; HEAD_BYTES];
            let kind = PacketKind::ALL[*value as usize];
            let mut head = RequestHead::new(kind, 0x1234);
            (head.operation, head.datatype) = (7, 5);
            head.emit(&mut bytes);
            assert_eq!(read(find("RMA").fields, &bytes), [*value, 7, 0x1234, 5, 0], "{name}");
        }
        assert_eq!(RMA_KINDS.len(), PacketKind::ALL.len());
    }

    #[test]
    fn class_and_handler_select_one_message() {
        for (at, message) in MESSAGES.iter().enumerate() {
            let is_same = |other: &MessageFormat| (other.class, other.handler) == (message.class, message.handler);
            assert!(!MESSAGES[..at].iter().any(is_same), "{}", message.name);
        }
    }
}
