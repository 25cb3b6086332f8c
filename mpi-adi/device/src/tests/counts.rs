//! Statistics and bounds.

use msg_layer::TrafficClass;
use net_torus::Shape;

use super::fixture::SeenPacket::{Data, Ncts, Rts};
use super::fixture::{DeviceFixture, SeenPacket, pattern, pieces};
use crate::config::STEP_PACKETS;
use crate::envelope::{MatchPattern, Rank};
use crate::matching::IndexedEngine;
use crate::memory::region::BLOCK_BYTES;
use crate::request::{CHUNK_SLOTS, SendMode};
use crate::send::SendTo;
use crate::stats::DeviceStats;
use crate::wire::{self, INLINE_BYTES};

fn exact(source: u32, tag: i32) -> MatchPattern {
    MatchPattern::new(Some(Rank::new(source)), Some(tag), 0)
}

/// Every event once or twice: received immediately, buffered, recorded, rejected and requested, requested without
/// result.
#[test]
fn everything_that_is_done_is_counted() {
    let mut rig = DeviceFixture::eager(2, 2, 500);
    let post = |rig: &mut DeviceFixture, tag| {
        let (id, _) = rig.post(pattern(tag), 600);
        rig.settle();
        id
    };
    for tag in [1, 2] {
        post(&mut rig, tag);
    }
    // Bcopies; the first acknowledgement is delayed and piggybacked on the second.
    for tag in [1, 2] {
        rig.send(0, tag, 4, SendMode::Standard);
    }
    rig.moved_together(0);
    rig.settle();
    // Two records, one without a buffer in each state.
    for tag in 3..=8 {
        rig.send(0, tag, if tag < 5 { 300 } else { 400 }, SendMode::Standard);
    }
    rig.settle();
    for tag in [8, 7, 9] {
        post(&mut rig, tag);
    }
    rig.send(0, 9, 40, SendMode::Standard);
    rig.settle();
    for tag in 3..=6 {
        post(&mut rig, tag);
    }
    // Unexpected, with a buffer.
    rig.send(0, 10, 4, SendMode::Standard);
    rig.settle();
    post(&mut rig, 10);
    let sender = DeviceStats {
        messages_sent: 10,
        rts_sent: 14,
        cts_received: 10,
        nctsd_received: 4,
        ncts_received: 4,
        restarts_received: 5,
        done_sent: 1,
        eager_sent: 9,
        layer: rig.adis[0].stats.layer,
        ..DeviceStats::default()
    };
    assert_eq!(*rig.adis[0].stats(), sender);
    let receiver = DeviceStats {
        messages_received: 10,
        rts_received: 14,
        cts_sent: 10,
        cts_merged: 1,
        nctsd_sent: 4,
        ncts_sent: 4,
        restarts_sent: 5,
        named: 3,
        // All packets of two messages of 300 bytes and of five transmissions of 400.
        eager_dropped: (2 * pieces(300).count() + 5 * pieces(400).count()) as u64,
        layer: rig.adis[1].stats.layer,
        ..DeviceStats::default()
    };
    assert_eq!(*rig.adis[1].stats(), receiver);
}

/// Messages visited in a sequential search.
#[test]
fn what_is_searched_is_counted() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    // The numbers are those of the default engine.
    let mut rig = DeviceFixture::with_engine(&IndexedEngine::KIND, shape, 8);
    for tag in 0..4 {
        rig.send(0, tag, 4, SendMode::Standard);
    }
    rig.settle();
    assert_eq!(rig.adis[1].matching().unexpected, 4);
    assert_eq!(rig.adis[1].region.peak_records(), 4);
    assert_eq!(rig.adis[1].matching().traversals, 0);
    rig.post(pattern(3), 4);
    assert_eq!(rig.adis[1].matching().traversals, 4, "records");
    assert_eq!(rig.adis[1].matching().unexpected, 3);
    for tag in 10..15 {
        rig.post(exact(0, tag), 4);
    }
    assert_eq!(rig.adis[1].matching().traversals, 4 + 5 * 3);
    assert_eq!(rig.adis[1].matching().posted, 5);
    rig.send(0, 14, 4, SendMode::Standard);
    rig.settle();
    // The first and the last one: their tags rise.
    assert_eq!(rig.adis[1].matching().traversals, 4 + 5 * 3 + 2, "receives");
    let (posted, peak) = (rig.adis[1].matching().posted, rig.adis[1].matching().peak_posted);
    assert_eq!((posted, peak), (4, 5));
    // Requests: two completed ones that are still to be tested, and the posted ones.
    let requests = rig.adis[1].requests();
    assert_eq!((requests.live(), requests.handle_count(), requests.peak()), (6, 6, 6));
    let adi = &rig.adis[1];
    let parts = adi.matching().traversals + adi.sender.pending.steps() + adi.peers.search_steps();
    assert_eq!(adi.search_steps(), parts + adi.stats().named);

    // A cancelled synchronous send: its record is searched for among the others.
    let send = rig.send(0, 20, 300, SendMode::Synchronous);
    rig.settle();
    rig.adis[0].cancel(send);
    rig.step(0);
    rig.settle();
    // Four receives, the last of them twice; four records.
    assert_eq!(rig.adis[1].matching().traversals, 21 + 5 + 4);
}

#[test]
fn what_the_queue_and_the_peers_search_is_counted() {
    let mut rig = DeviceFixture::new(40, 0);
    let steps = |rig: &DeviceFixture, node: usize| {
        let adi = &rig.adis[node];
        (adi.sender.pending.steps(), adi.peers.search_steps(), adi.stats.named)
    };
    for tag in [1, 1, 1, 2, 3] {
        rig.send(0, tag, 50, SendMode::Standard);
    }
    rig.settle();
    assert_eq!((steps(&rig, 0), steps(&rig, 39)), ((0, 0, 0), (0, 0, 0)));
    rig.silence();
    for _ in 0..3 {
        rig.post(pattern(1), 50);
    }
    rig.post(MatchPattern::new(Some(Rank::new(0)), None, 0), 50);
    rig.speak();
    // One step to find the source, of 40; receives that the restart checks.
    assert_eq!(steps(&rig, 39), (0, 1, 4));
    rig.settle();
    // The second message of the same tag passes the first, the third passes two; the wildcard tag passes three.
    assert_eq!(steps(&rig, 0), (1 + 2 + 3, 0, 0));
    let adi = &rig.adis[0];
    assert_eq!(adi.search_steps(), 6 + adi.matching().traversals);
    let adi = &rig.adis[39];
    assert_eq!(adi.search_steps(), 1 + 4 + adi.matching().traversals);

    // A search passes the unanswered destinations before the searched one.
    let mut rig = DeviceFixture::new(40, 0);
    for dest in 1..40 {
        let to = SendTo {
            dest: Rank::new(dest),
            tag: 1,
            context: 0,
            mode: SendMode::Synchronous,
        };
        rig.send_to(0, to, 50);
    }
    assert!(rig.adis[0].sender.pending.steps() > 0);

    // Every restart checks a receive from any source.
    let mut rig = DeviceFixture::new(2, 0);
    for tag in 1..=3 {
        rig.send(0, tag, 50, SendMode::Standard);
    }
    rig.settle();
    rig.silence();
    for tag in [1, 3, 2] {
        rig.post(MatchPattern::new(None, Some(tag), 0), 50);
    }
    rig.speak();
    assert_eq!(rig.adis[1].stats.named, 3);
    rig.settle();
    // The third one passes the first one on its insertion.
    assert_eq!(steps(&rig, 0).0, 1);

    // Memory for one more: the head of the queue is checked.
    let mut rig = DeviceFixture::new(2, 1);
    for tag in 1..=3 {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    rig.settle();
    for (tag, looked) in [(1, 1), (2, 2)] {
        rig.post(pattern(tag), 300);
        rig.settle();
        assert_eq!(steps(&rig, 0).0, looked);
    }
}

#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn one_step_sends_so_many_packets_at_most_and_says_that_it_has_sent() {
    // RTSs.
    let mut rig = DeviceFixture::new(2, 0);
    rig.limit(0, TrafficClass::Normal, 0);
    for tag in 0..100 {
        rig.send(0, tag, 50, SendMode::Standard);
    }
    rig.unlimit(0, TrafficClass::Normal);
    for step in 1..=3 {
        assert!(rig.adis[0].progress(&mut rig.wires[0], &mut rig.buffers));
        assert_eq!(rig.wires[0].sent().len(), step * STEP_PACKETS);
    }
    // Restarts: before and after the received packets.
    const SOURCES: usize = 3 * STEP_PACKETS;
    let mut rig = DeviceFixture::new(SOURCES as u16 + 1, 0);
    for source in 0..SOURCES {
        rig.send(source, 1, 50, SendMode::Standard);
    }
    rig.settle();
    rig.buffers.1 = 1000;
    rig.adis[SOURCES].heap_freed(&rig.buffers);
    for packets in [2 * STEP_PACKETS, SOURCES] {
        let (wires, buffers) = (&mut rig.wires[SOURCES], &mut rig.buffers);
        assert!(rig.adis[SOURCES].progress(wires, buffers));
        assert_eq!(rig.wires[SOURCES].sent().len(), packets);
    }
    assert_eq!(rig.adis[SOURCES].stats.restarts_sent, SOURCES as u64);
}

#[test]
fn a_late_answer_waits_for_room_and_counts_as_something_done() {
    let mut rig = DeviceFixture::new(2, 8);
    let (receive, _) = rig.post(pattern(1), 4);
    let send = rig.send(0, 1, 4, SendMode::Standard);
    assert!(rig.outcome(0, send).is_some());
    let (packets, _) = rig.injected(0);
    for (dest, class, body) in packets {
        rig.wires[dest].deliver(class, &body);
    }
    assert!(rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers));
    assert!(rig.outcome(1, receive).is_some());
    assert!(!rig.adis[1].is_quiet());
    rig.limit(1, TrafficClass::Priority, 0);
    assert!(!rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers));
    rig.unlimit(1, TrafficClass::Priority);
    assert!(rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers));
    assert!(!rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers));
    rig.settle();
    rig.assert_clean();
}

/// A message longer than a step, and two in round robin.
#[test]
fn long_messages_take_turns() {
    let mut rig = DeviceFixture::new(2, 0);
    for tag in [1, 2] {
        rig.post(pattern(tag), 20_000);
        rig.send(0, tag, 20_000, SendMode::Standard);
    }
    rig.moved(0);
    rig.moved_together(1);
    let offsets = |seen: Vec<SeenPacket>| -> Vec<u32> {
        let offset = |seen: &SeenPacket| match seen {
            Data { offset, .. } => Some(*offset),
            _ => None,
        };
        seen.iter().filter_map(offset).collect()
    };
    let starts: Vec<usize> = {
        let offsets = offsets(rig.moved(0));
        let starts = (0..offsets.len()).filter(|&at| offsets[at] == 0);
        starts.collect()
    };
    assert_eq!(starts, [0, 8]);
    rig.settle();
    assert!(rig.buffers.0.iter().filter(|b| b.iter().all(|&b| b == 1)).count() == 2);
    // Eagerly: the first one is complete before the second RTS.
    let mut rig = DeviceFixture::eager(2, 0, 20_000);
    for tag in [1, 2] {
        rig.post(pattern(tag), 20_000);
        rig.send(0, tag, 20_000, SendMode::Standard);
    }
    let seen = rig.moved(0);
    let second = seen.iter().position(|s| *s == Rts { tag: 2, age: 0 });
    assert_eq!(second, Some(1 + pieces(20_000).count()));
    rig.settle();
    rig.adis.iter().for_each(|adi| assert!(adi.is_quiet()));
}

#[test]
fn what_was_asked_for_in_the_name_of_one_source_goes_eagerly_up_to_twice_the_limit() {
    for (len, eager) in [(500, true), (1000, true), (1001, false)] {
        let mut rig = DeviceFixture::eager(2, 0, 500);
        rig.send(0, 1, len, SendMode::Standard);
        assert_eq!(rig.offers(0)[0].has_flag(wire::Rts::EAGER), len <= 500);
        rig.settle();
        let (receive, _) = rig.post(pattern(1), len);
        rig.moved(1);
        assert_eq!(rig.offers(0)[0].has_flag(wire::Rts::EAGER), eager, "{len}");
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
    }
    // A message that fits an RTS travels inside it.
    for (len, inline) in [(INLINE_BYTES, true), (INLINE_BYTES + 1, false)] {
        let mut rig = DeviceFixture::eager(2, 0, 500);
        rig.send(0, 1, len, SendMode::Standard);
        let offer = rig.offers(0)[0];
        assert_eq!(
            (offer.has_flag(wire::Rts::INLINE), offer.has_flag(wire::Rts::EAGER)),
            (inline, !inline)
        );
    }
}

/// An acknowledgement is piggybacked on a message of the other direction while both fit a packet.
#[test]
fn an_answer_goes_with_what_it_fits() {
    // The horizon of a requested message uses 8 bytes.
    for (asked, len) in [(false, INLINE_BYTES), (true, INLINE_BYTES - 4), (true, INLINE_BYTES)] {
        let mut rig = DeviceFixture::new(2, 8);
        let back = |tag| SendTo {
            dest: Rank::new(0),
            tag,
            context: 0,
            mode: SendMode::Standard,
        };
        // Node 0 has no memory left for messages of node 1.
        let fill = (1 << 16) / BLOCK_BYTES;
        if asked {
            for tag in 0..fill as i32 {
                rig.send_to(
                    1,
                    SendTo {
                        mode: SendMode::Synchronous,
                        ..back(tag)
                    },
                    1,
                );
            }
            rig.settle();
        }
        rig.limit(1, TrafficClass::Normal, 0);
        rig.send_to(1, back(fill as i32), len);
        if asked {
            rig.unlimit(1, TrafficClass::Normal);
            rig.step(1);
            assert!(rig.moved(1).len() == 1 && rig.moved(0) == [Ncts]);
            rig.limit(1, TrafficClass::Normal, 0);
            rig.post_at(0, exact(1, fill as i32), len);
            rig.moved(0);
        }
        rig.post(pattern(1), 4);
        rig.send(0, 1, 4, SendMode::Standard);
        let (packets, _) = rig.injected(0);
        for (dest, class, body) in packets {
            rig.wires[dest].deliver(class, &body);
        }
        rig.unlimit(1, TrafficClass::Normal);
        rig.step(1);
        let fits = !asked || len < INLINE_BYTES;
        assert_eq!(rig.replies(1, wire::CTS).len(), usize::from(!fits), "{asked} {len}");
        assert_eq!(rig.offers(1).len(), 1);
        rig.settle();
        assert!(rig.adis[0].is_quiet());
    }
}

/// A destination uses an entry while a message to it is pending, or while it is the last one.
#[test]
fn destinations_that_are_done_with_take_no_memory() {
    let mut rig = DeviceFixture::new(2 * CHUNK_SLOTS as u16, 64);
    for round in 0..2 {
        for dest in 1..2 * CHUNK_SLOTS as u32 {
            let to = SendTo {
                dest: Rank::new(dest),
                tag: round,
                context: 0,
                mode: SendMode::Standard,
            };
            let send = rig.send_to(0, to, 300);
            rig.post_at(dest as usize, exact(0, round), 300);
            rig.settle();
            assert!(rig.outcome(0, send).is_some());
        }
    }
    assert_eq!(rig.adis[0].requests().slots(), CHUNK_SLOTS);
}

#[test]
fn a_short_message_to_one_is_bcopy_whatever_stands_refused_by_another() {
    let mut rig = DeviceFixture::new(3, 0);
    rig.send(0, 1, 300, SendMode::Standard);
    rig.settle();
    let to = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };
    let send = rig.send_to(0, to, 4);
    assert!(rig.outcome(0, send).is_some());
    let send = rig.send(0, 1, 4, SendMode::Standard);
    assert!(rig.outcome(0, send).is_none());
}
