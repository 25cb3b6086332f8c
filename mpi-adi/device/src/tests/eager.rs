//! Eager messages.

use msg_layer::TrafficClass;

use super::fixture::SeenPacket::{Eager, Ncts, Nctsd, Rts};
use super::fixture::{DeviceFixture, SeenPacket, pattern, pieces};
use crate::envelope::{MatchPattern, Rank};
use crate::request::SendMode;

/// Returns the packets of an eager message of 500 bytes.
fn eager_500(tag: i32) -> Vec<SeenPacket> {
    let eager = |(offset, len)| Eager { offset, len };
    let offer = Rts { tag, age: 0 };
    [offer].into_iter().chain(pieces(500).map(eager)).collect()
}

#[test]
fn an_eager_message_takes_one_trip_to_a_posted_receive_and_into_a_buffer() {
    for posted in [true, false] {
        for capacity in [500, 300, 0] {
            let mut rig = DeviceFixture::eager(2, 32, 500);
            let mut receive = posted.then(|| rig.post(pattern(7), capacity));
            let send = rig.send(0, 7, 500, SendMode::Standard);
            assert_eq!(rig.moved(0), eager_500(7));
            let (receive, key) = receive.take().unwrap_or_else(|| rig.post(pattern(7), capacity));
            let outcome = rig.outcome(1, receive).expect("one trip");
            assert_eq!((outcome.bytes, outcome.truncated), (capacity, capacity < 500));
            assert_eq!(rig.buffers.0[key], vec![7; capacity]);
            assert_eq!(rig.outcome(0, send), None, "its answer is on the way");
            assert_eq!(rig.moved(1).len(), 1);
            assert!(rig.outcome(0, send).is_some());
            assert!(rig.wires[0].sent().is_empty(), "nothing is sent again");
            let beyond = pieces(500).filter(|(offset, _)| posted && *offset >= capacity as u32);
            let dropped = beyond.count() as u64;
            assert_eq!(rig.adis[1].stats.eager_dropped, dropped, "beyond its end");
            rig.assert_clean();
        }
    }
}

#[test]
fn eager_data_that_has_no_place_is_dropped_and_sent_again_when_it_has() {
    // No memory for a record; memory for one.
    for (blocks, refusal) in [(0, Ncts), (1, Nctsd)] {
        let mut rig = DeviceFixture::eager(2, blocks, 500);
        let send = rig.send(0, 7, 500, SendMode::Standard);
        assert_eq!(rig.moved(0), eager_500(7));
        assert_eq!(rig.moved(1), [refusal]);
        let all = pieces(500).count() as u64;
        assert_eq!(rig.adis[1].stats.eager_dropped, all);
        let (receive, key) = rig.post(pattern(7), 500);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
        assert_eq!(rig.buffers.0[key], [7; 500]);
        // A rejected message is sent eagerly again, since the requesting receive is certain to receive it.
        let times = if blocks == 0 { 2 } else { 1 };
        assert_eq!(rig.adis[0].stats.eager_sent, times);
        assert_eq!(rig.adis[1].stats.eager_dropped, all, "only the first time");
        rig.assert_clean();
    }
}

/// Dropped data is transmitted twice. Unrequested messages are sent with their data if the sender's own memory could
/// hold them.
#[test]
fn no_more_goes_eagerly_before_an_answer_than_the_senders_own_memory_would_hold() {
    for (blocks, eager) in [(0, 1), (1, 1), (31, 1), (32, 2), (46, 2), (47, 3)] {
        let mut rig = DeviceFixture::eager(2, blocks, 500);
        rig.limit_blocks(blocks);
        let sends = [7, 8, 9].map(|tag| rig.send(0, tag, 500, SendMode::Standard));
        let moved = rig.moved(0);
        let expected = (7..).zip(0..3).flat_map(|(tag, before)| {
            let packets = if before < eager { usize::MAX } else { 1 };
            eager_500(tag).into_iter().take(packets)
        });
        assert_eq!(moved, expected.collect::<Vec<_>>(), "{blocks} blocks");
        assert_eq!(rig.adis[0].stats.eager_sent, eager);
        let receives = [9, 8, 7].map(|tag| rig.post(pattern(tag), 500));
        rig.settle();
        for (receive, key) in receives {
            let outcome = rig.outcome(1, receive).expect("it has come");
            let tag = outcome.tag as u8;
            assert_eq!(rig.buffers.0[key], [tag; 500]);
        }
        assert!(sends.into_iter().all(|send| rig.outcome(0, send).is_some()));
        rig.assert_clean();
    }
}

#[test]
fn the_answer_may_overtake_the_rest_of_an_eager_message() {
    for (blocks, rest) in [(32, true), (1, false), (0, false)] {
        let mut rig = DeviceFixture::eager(2, blocks, 500);
        let all = eager_500(7);
        let (first, others) = all.split_at(all.len() / 2);
        rig.limit(0, TrafficClass::Normal, others.len());
        let send = rig.send(0, 7, 500, SendMode::Standard);
        assert_eq!(rig.moved(0), first);
        assert_eq!(rig.outcome(0, send), None);
        rig.moved(1);
        assert_eq!(rig.outcome(0, send).is_some(), rest, "all is out");
        // If accepted, the rest follows; otherwise it stops.
        assert_eq!(rig.moved(0), if rest { others } else { &[] });
        let (receive, key) = rig.post(pattern(7), 500);
        rig.unlimit(0, TrafficClass::Normal);
        rig.step(0);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [7; 500]);
        assert!(rest || rig.outcome(0, send).is_some());
        rig.assert_clean();
    }
}

#[test]
fn more_eager_messages_at_a_time_than_there_are_places_are_asked_for_again() {
    let sources = crate::EAGER_SOURCES + 1;
    let mut rig = DeviceFixture::eager(sources as u16 + 1, 1 << 12, 500);
    for source in 0..sources {
        // The last packet of each is delayed.
        let all_but_one = pieces(500).count();
        rig.limit(source, TrafficClass::Normal, all_but_one);
        rig.send(source, 7, 500, SendMode::Standard);
        assert_eq!(rig.moved(source).len(), all_but_one);
    }
    let answers = rig.moved(sources);
    assert_eq!(answers.len(), sources);
    rig.settle();
    for source in 0..sources {
        rig.step(source);
    }
    rig.settle();
    let (last, dropped) = (sources, rig.adis[sources].stats.eager_dropped);
    let sent = pieces(500).count() as u64 - 1;
    assert_eq!(dropped, sent, "of the one that had no place");
    for source in 0..sources as u32 {
        let from = MatchPattern::new(Some(Rank::new(source)), Some(7), 0);
        let (receive, key) = rig.post(from, 500);
        assert!(rig.outcome(last, receive).is_some(), "source {source}");
        assert_eq!(rig.buffers.0[key], [7; 500]);
    }
}

#[test]
fn below_the_low_watermark_sources_that_send_are_told_and_stop_sending_eagerly() {
    // 17 blocks per message, 3 of 64 fit; below 16 free blocks the memory is low.
    let mut rig = DeviceFixture::eager(2, 64, 500);
    for tag in 1..=4 {
        rig.send(0, tag, 500, SendMode::Standard);
        rig.limit(0, TrafficClass::Normal, 0);
        rig.send(0, 10 + tag, 500, SendMode::Standard);
        rig.unlimit(0, TrafficClass::Normal);
        rig.moved(0);
        rig.moved(1);
        if tag < 2 {
            assert_eq!(rig.moved(0), eager_500(10 + tag));
        } else {
            // The third message has reduced the memory below the mark.
            let seen = rig.moved(0);
            let eager = seen.iter().filter(|s| matches!(s, Eager { .. })).count();
            assert_eq!(eager, 0, "{seen:?}");
        }
        rig.settle();
    }
    assert!(rig.adis[1].region.is_low(&rig.buffers));
    for tag in [1, 11, 2, 12, 3, 13, 4, 14] {
        let (receive, key) = rig.post(pattern(tag), 500);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 500]);
    }
    assert!(!rig.adis[1].region.is_low(&rig.buffers));
}
