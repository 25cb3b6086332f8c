//! Packets that no device sends.

use msg_layer::TrafficClass;
use msg_layer::header::{Header, TargetOffset};

use super::fixture::SeenPacket::{Restart, Rts};
use super::fixture::{DeviceFixture, pattern};
use crate::envelope::Rank;
use crate::ids::{Generation, RequestId};
use crate::request::SendMode;
use crate::send::SendTo;
use crate::send::bcopy::BCOPIES;
use crate::wire::{self, DoneMessage, ReplyFields};

#[test]
fn any_bytes_from_the_network_are_counted_and_move_nothing() {
    let mut rig = DeviceFixture::new(2, 8);
    let (receive, _) = rig.post(pattern(7), 500);
    let send = rig.send(0, 8, 500, SendMode::Standard);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..20_000 {
        let class = if random() % 2 == 0 {
            TrafficClass::Normal
        } else {
            TrafficClass::Priority
        };
        let len = random() as usize % (class.body_bytes() + 1);
        let mut body: Vec<u8> = (0..len).map(|_| random() as u8).collect();
        // Most packets get a valid header, so that they reach the handlers.
        if round % 4 != 0 && len >= 16 {
            body[0] = 1 + random() as u8 % 4;
            body[1] = random() as u8 % (len as u8 - 15);
            body[2..5].copy_from_slice(&[random() as u8 % 2, 0, 0]);
            body[5] = random() as u8 % 2;
        }
        rig.wires[0].deliver(class, &body);
        rig.step(0);
        rig.wires[0].sent_mut().clear();
    }
    // Node 0 has counted all packets, and its own send is unchanged.
    let stats = rig.adis[0].stats;
    assert!(stats.layer.malformed + stats.layer.unknown_handler > 10_000);
    assert!(rig.adis[0].has_request(send) && !rig.adis[1].is_done(receive));
}

/// Passes a packet to node `to` in the name of node `from`; returns whether it is malformed.
fn forge(rig: &mut DeviceFixture, to: usize, from: u32, class: TrafficClass, handler: u8, bytes: &[u8]) -> bool {
    forge_at(rig, to, from, class, handler, None, bytes)
}

/// Forges a packet with a target, for a long message's data.
fn forge_at(
    rig: &mut DeviceFixture,
    to: usize,
    from: u32,
    class: TrafficClass,
    handler: u8,
    place: Option<TargetOffset>,
    bytes: &[u8],
) -> bool {
    let header = Header {
        handler,
        source: rig.adis[0].identity.shape.coord(from).expect("a node"),
        argument: 0,
        place,
    };
    let mut body = vec![0; header.bytes() + bytes.len()];
    header.emit(&mut body, bytes.len()).copy_from_slice(bytes);
    let before = rig.adis[to].stats.layer.malformed;
    rig.wires[to].deliver(class, &body);
    rig.step(to);
    rig.adis[to].stats.layer.malformed > before
}

#[test]
fn a_done_that_is_not_due_is_malformed() {
    let mut rig = DeviceFixture::new(2, 0);
    let done = |rig: &mut DeviceFixture, age| {
        let done = DoneMessage { age, more: false };
        forge(rig, 1, 0, TrafficClass::Normal, wire::DONE, &done.emit())
    };
    assert!(done(&mut rig, 0), "there is no restart");
    rig.send(0, 1, 50, SendMode::Standard);
    rig.settle();
    assert!(done(&mut rig, 0) && done(&mut rig, 1), "its message stands refused");
    rig.post(pattern(1), 50);
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    assert!(done(&mut rig, 0) && done(&mut rig, 2), "of another age");
    assert!(!done(&mut rig, 1));
    assert!(done(&mut rig, 1), "there is none any more");
}

/// Cancels a message that its receiver knows: from then on CANCELLED has a handler.
fn begin_cancels(rig: &mut DeviceFixture, to: SendTo) {
    let bytes = ReplyFields::default().emit(wire::CANCELLED).bytes;
    let forged = forge(rig, 0, 1, TrafficClass::Priority, wire::CANCELLED, &bytes);
    assert!(!forged && rig.adis[0].stats.layer.unknown_handler == 1);
    let mode = SendMode::Synchronous;
    let held = rig.send_to(0, SendTo { mode, ..to }, 300);
    rig.settle();
    assert!(!rig.adis[0].cancel(held), "it is known there");
    rig.step(0);
    rig.settle();
    assert!(rig.outcome(0, held).is_some_and(|outcome| outcome.cancelled));
}

#[test]
fn an_answer_to_what_was_not_offered_to_its_source_is_malformed() {
    for len in [4, 300] {
        let mut rig = DeviceFixture::new(3, 8);
        let to = SendTo {
            dest: Rank::new(1),
            tag: 1,
            context: 0,
            mode: SendMode::Standard,
        };
        begin_cancels(&mut rig, to);
        rig.send_to(0, to, len);
        let request = rig.offers(0)[0].request;
        let answer = |rig: &mut DeviceFixture, from, handler, before| {
            let fields = ReplyFields {
                request,
                flags: ReplyFields::COMPLETE,
                before,
                ..ReplyFields::default()
            };
            let bytes = fields.emit(handler).bytes;
            forge(rig, 0, from, TrafficClass::Priority, handler, &bytes)
        };
        for handler in [wire::CTS, wire::NCTS, wire::NCTSD, wire::CANCELLED] {
            assert!(answer(&mut rig, 2, handler, 0), "it does not go there");
        }
        assert!(answer(&mut rig, 1, wire::CANCELLED, 0), "it was not taken back");
        assert!(answer(&mut rig, 1, wire::CTS, 1), "there is none before it");
        assert!(!answer(&mut rig, 1, wire::CTS, 0));
        assert!(answer(&mut rig, 1, wire::CTS, 0), "it has been answered");
    }
}

/// For any other contents: only a CTS completes a bcopy, and only one that confirms its data.
#[test]
fn a_bcopy_send_that_is_not_taken_with_its_data_is_kept() {
    for (handler, complete) in [(wire::NCTS, true), (wire::NCTSD, true), (wire::CTS, false)] {
        let mut rig = DeviceFixture::new(2, 8);
        rig.send(0, 1, 4, SendMode::Standard);
        let request = rig.offers(0)[0].request;
        let fields = ReplyFields {
            request,
            flags: wire::flag_if(complete, ReplyFields::COMPLETE),
            wanted: 4,
            target: 77,
            ..ReplyFields::default()
        };
        let bytes = fields.emit(handler).bytes;
        assert!(!forge(&mut rig, 0, 1, TrafficClass::Priority, handler, &bytes));
        match handler {
            wire::CTS => {
                let out = rig.wires[0].sent();
                assert_eq!(out.len(), 2, "its data follows: {out:?}");
            }
            _ => assert!(!rig.adis[0].sender.bcopies.is_empty() || !rig.adis[0].is_quiet()),
        }
        if handler == wire::NCTS {
            rig.wires[0].sent_mut().clear();
            let restart = wire::RestartRequest {
                age: 1,
                room: 1,
                horizon: 0,
                entries: Default::default(),
            };
            let mut bytes = vec![0; restart.bytes()];
            restart.emit(&mut bytes);
            assert!(!forge(&mut rig, 0, 1, TrafficClass::Priority, wire::RESTART, &bytes));
            assert_eq!(rig.injected(0).1, [Rts { tag: 1, age: 1 }]);
        }
    }
}

#[test]
fn an_answer_to_a_copy_that_there_is_no_place_for_is_malformed() {
    let mut rig = DeviceFixture::new(2, 8);
    rig.send(0, 1, 4, SendMode::Standard);
    for place in [1, BCOPIES as u32 - 1, BCOPIES as u32, 63] {
        let fields = ReplyFields {
            request: RequestId::bcopy(place, Generation::FIRST).0,
            flags: ReplyFields::COMPLETE,
            ..ReplyFields::default()
        };
        let bytes = fields.emit(wire::CTS).bytes;
        assert!(forge(&mut rig, 0, 1, TrafficClass::Priority, wire::CTS, &bytes));
    }
}

/// Only a CTS follows an NCTSD.
#[test]
fn a_message_that_is_held_is_neither_held_nor_refused_again() {
    let mut rig = DeviceFixture::new(2, 1);
    let send = rig.send(0, 1, 300, SendMode::Standard);
    let request = rig.offers(0)[0].request;
    rig.settle();
    for handler in [wire::NCTSD, wire::NCTS] {
        let fields = ReplyFields {
            request,
            ..ReplyFields::default()
        };
        let bytes = fields.emit(handler).bytes;
        assert!(forge(&mut rig, 0, 1, TrafficClass::Priority, handler, &bytes));
        assert!(!rig.adis[0].is_done(send));
    }
    rig.post(pattern(1), 300);
    rig.settle();
    assert!(rig.adis[0].is_done(send));
}

/// A restart requests a message before its NCTS arrives. On an ordered network the reply arrives first, or is stale.
/// The RTS is repeated nevertheless, for the receive that the restart lists.
#[test]
fn a_refusal_that_a_restart_has_overtaken_does_not_settle_what_the_restart_asks_for() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, 1, 50, SendMode::Standard);
    let request = rig.offers(0)[0].request;
    rig.wires[0].sent_mut().clear();
    let entry = wire::RestartEntry::new(0, Some(1), true);
    let restart = wire::RestartRequest {
        age: 1,
        room: 0,
        horizon: 1,
        entries: [entry].into_iter().collect(),
    };
    let mut bytes = vec![0; restart.bytes()];
    restart.emit(&mut bytes);
    let priority = TrafficClass::Priority;
    assert!(!forge(&mut rig, 0, 1, priority, wire::RESTART, &bytes));
    assert_eq!(rig.injected(0).1, [], "it waits for the answer");
    let refused = ReplyFields {
        request,
        ..ReplyFields::default()
    };
    let bytes = refused.emit(wire::NCTS).bytes;
    assert!(!forge(&mut rig, 0, 1, priority, wire::NCTS, &bytes));
    assert_eq!(rig.injected(0).1, [Rts { tag: 1, age: 1 }]);
}

/// Eager data of a message in progress, beyond the end of the receive buffer.
#[test]
fn eager_data_behind_the_end_of_its_message_is_malformed() {
    let mut rig = DeviceFixture::eager(2, 8, 500);
    let (receive, key) = rig.post(pattern(1), 300);
    rig.send(0, 1, 500, SendMode::Standard);
    let request = rig.offers(0)[0].request;
    // The RTS arrives, its data does not.
    let data = rig.wires[0].sent_mut().split_off(1);
    rig.moved(0);
    let mut eager = |offset, bytes: &[u8]| {
        let place = TargetOffset {
            target: request,
            offset,
        };
        let class = TrafficClass::Normal;
        forge_at(&mut rig, 1, 0, class, wire::EAGER, Some(place), bytes)
    };
    assert!(eager(301, &[9; 8]) && eager(u32::MAX, &[]));
    assert!(!eager(300, &[9; 8]), "cut off");
    rig.wires[0].sent_mut().extend(data);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some());
    assert_eq!(rig.buffers.0[key], [1; 300]);
    rig.wires[1].sent_mut().clear();
}

/// It covers a rejected message behind an unanswered one: neither changes.
#[test]
fn an_answer_that_covers_more_than_was_offered_changes_nothing() {
    let mut rig = DeviceFixture::new(2, 0);
    let sends = [1, 2].map(|tag| rig.send(0, tag, 50, SendMode::Standard));
    let request = rig.offers(0)[1].request;
    rig.settle();
    rig.post(pattern(1), 50);
    rig.moved(1);
    assert_eq!(rig.offers(0).len(), 1);
    let fields = ReplyFields {
        request,
        flags: ReplyFields::COMPLETE,
        before: 1,
        ..ReplyFields::default()
    };
    let bytes = fields.emit(wire::CTS).bytes;
    assert!(forge(&mut rig, 0, 1, TrafficClass::Priority, wire::CTS, &bytes));
    assert_eq!(sends.map(|send| rig.adis[0].is_done(send)), [false; 2]);
    rig.post(pattern(2), 50);
    rig.settle();
    assert_eq!(sends.map(|send| rig.adis[0].is_done(send)), [true; 2]);
}
