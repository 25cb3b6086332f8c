//! Replies: shared, piggybacked, invalid, and without a free injection slot.

use msg_layer::TrafficClass;

use super::fixture::SeenPacket::{Cts, Rts};
use super::fixture::{DeviceFixture, pattern};
use crate::envelope::{MatchPattern, Rank};
use crate::ids::Generation;
use crate::request::{RequestId, SendMode};
use crate::send::SendTo;
use crate::send::bcopy::BCOPIES;
use crate::wire;
use crate::wire::ReplyFields;

#[test]
fn bcopy_sends_that_come_together_share_an_answer() {
    let mut rig = DeviceFixture::new(2, 8);
    let count = i32::from(crate::MAX_SHARED_ACKS) + 3;
    let receives: Vec<_> = (0..count).map(|tag| rig.post(pattern(tag), 4).0).collect();
    for tag in 0..count {
        let send = rig.send(0, tag, 4, SendMode::Standard);
        assert!(rig.outcome(0, send).is_some());
    }
    assert_eq!(rig.moved_together(0).len(), count as usize);
    for receive in receives {
        assert!(rig.outcome(1, receive).is_some());
    }
    let answers = rig.replies(1, wire::CTS);
    let before: Vec<_> = answers.iter().map(|answer| answer.before).collect();
    assert_eq!(before, [crate::MAX_SHARED_ACKS - 1, 2]);
    assert_eq!(rig.moved(1), [Cts { complete: true }, Cts { complete: true }]);
    let stats = &rig.adis[1].stats;
    assert_eq!((stats.cts_sent, stats.cts_merged), (count as u64, count as u64 - 2));
    assert_eq!(rig.adis[0].stats.cts_received, count as u64);
    rig.assert_clean();
}

#[test]
fn an_answer_goes_with_a_message_the_other_way() {
    let mut rig = DeviceFixture::new(2, 8);
    let (receive, _) = rig.post(pattern(1), 4);
    let send = rig.send(0, 1, 4, SendMode::Standard);
    rig.adis[0].forget(send);
    let (packets, _) = rig.injected(0);
    let [(_, class, rts)] = &packets[..] else {
        panic!("the offer")
    };
    rig.wires[1].deliver(*class, rts);
    assert!(rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers));
    assert!(rig.outcome(1, receive).is_some());
    let span = rig.span(vec![9; 40]);
    let to = SendTo {
        dest: Rank::new(0),
        tag: 2,
        context: 0,
        mode: SendMode::Standard,
    };
    let back = rig.adis[1].isend(&mut rig.buffers, to, span).unwrap();
    rig.step(1);
    assert_eq!(rig.moved(1), [Rts { tag: 2, age: 0 }], "and nothing else");
    assert_eq!(rig.adis[1].stats.cts_merged, 1);
    assert!(rig.adis[0].sender.bcopies.is_empty());
    let landing = rig.span(vec![0; 40]);
    let pattern = MatchPattern::new(Some(Rank::new(1)), Some(2), 0);
    let last = rig.adis[0].irecv(&mut rig.buffers, pattern, landing).unwrap();
    rig.settle();
    assert!(rig.outcome(0, last).is_some() && rig.outcome(1, back).is_some());
    assert_eq!(rig.buffers.0[landing.address()], [9; 40]);
    rig.assert_clean();
}

/// Invalid replies that identify any bcopies, in any number, are counted.
#[test]
fn wrong_answers_to_bcopy_sends_move_nothing_or_end_them() {
    let mut state = 1_u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut malformed = 0;
    for round in 0..200 {
        let mut rig = DeviceFixture::new(3, 8);
        for _ in 0..200 {
            let span = rig.span(vec![1; 4]);
            let to = SendTo {
                dest: Rank::new(1 + random(2)),
                tag: 1,
                context: 0,
                mode: SendMode::Standard,
            };
            let id = rig.adis[0].isend(&mut rig.buffers, to, span).unwrap();
            rig.adis[0].forget(id);
            rig.limit(0, TrafficClass::Normal, random(40) as usize);
            rig.step(0);
            rig.wires[0].sent_mut().clear();
            let fields = ReplyFields {
                request: RequestId::bcopy(random(BCOPIES as u32 + 2), Generation::from_byte(random(3) as u8)).0,
                flags: wire::flag_if(random(2) == 0, ReplyFields::COMPLETE)
                    | wire::flag_if(random(8) == 0, ReplyFields::STALE),
                before: [0, 1, 2, 40][random(4) as usize],
                ..ReplyFields::default()
            };
            let handler = [wire::CTS, wire::CTS, wire::NCTSD, wire::NCTS][random(4) as usize];
            let answer = fields.emit(handler);
            let header = msg_layer::header::Header {
                handler,
                source: rig.adis[0].identity.shape.coord(1 + random(2)).unwrap(),
                argument: 0,
                place: None,
            };
            let mut body = vec![0; header.bytes() + answer.bytes.len()];
            header
                .emit(&mut body, answer.bytes.len())
                .copy_from_slice(&answer.bytes);
            rig.wires[0].deliver(TrafficClass::Priority, &body);
            rig.step(0);
        }
        let stats = rig.adis[0].stats;
        assert!(stats.cts_received > 0, "round {round}");
        malformed += stats.layer.malformed;
    }
    assert!(malformed > 1000);
}

#[test]
fn an_rts_waits_while_there_is_no_room_for_its_answer() {
    let mut rig = DeviceFixture::new(2, 8);
    rig.limit(1, TrafficClass::Priority, 0);
    let send = rig.send(0, 7, 5, SendMode::Standard);
    rig.moved(0);
    assert_eq!(rig.adis[1].stats.rts_received, 0);
    rig.unlimit(1, TrafficClass::Priority);
    rig.step(1);
    assert_eq!(rig.moved(1), [Cts { complete: true }]);
    assert!(rig.outcome(0, send).is_some());
}
