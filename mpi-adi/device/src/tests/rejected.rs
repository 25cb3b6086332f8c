//! Rejected messages: the causes of restarts to their source, and their cost.

use super::fixture::SeenPacket::{Cts, Data, Ncts, Nctsd, Restart, Rts};
use super::fixture::{DeviceFixture, pattern};
use crate::envelope::{MatchPattern, Rank};
use crate::request::SendMode;

#[test]
fn with_no_memory_at_all_a_posted_receive_restarts_its_source() {
    let mut rig = DeviceFixture::new(2, 0);
    let send = rig.send(0, 7, 5, SendMode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Ncts]);
    assert_eq!(rig.moved(0), [], "a refused message waits for restart");
    let (receive, _) = rig.post(pattern(7), 5);
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    assert_eq!(rig.moved(0), [Rts { tag: 7, age: 1 }]);
    assert_eq!(rig.moved(1), [Cts { complete: true }]);
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn a_record_that_a_receive_has_matched_restarts_refused_sources() {
    let mut rig = DeviceFixture::new(2, 1);
    let first = rig.send(0, 1, 50, SendMode::Standard);
    let second = rig.send(0, 2, 50, SendMode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Nctsd, Ncts]);
    let (one, _) = rig.post(pattern(1), 50);
    assert_eq!(rig.moved(1), [Restart { age: 1 }, Cts { complete: false }]);
    assert_eq!(rig.moved(0), [Rts { tag: 2, age: 1 }, Data { offset: 0, len: 50 }]);
    assert_eq!(rig.moved(1), [Nctsd]);
    let (two, _) = rig.post(pattern(2), 50);
    rig.settle();
    assert!([one, two].into_iter().all(|id| rig.outcome(1, id).is_some()));
    assert!([first, second].into_iter().all(|id| rig.outcome(0, id).is_some()));
    rig.assert_clean();
}

/// The killer's order: packets and steps grow linearly with the number of messages, not quadratically.
#[test]
fn receiving_in_reverse_order_takes_a_bounded_number_of_offers_for_each_message() {
    for messages in [100, 1_000] {
        let mut rig = DeviceFixture::new(2, 4);
        let sends: Vec<_> = (1..=messages)
            .map(|tag| rig.send(0, tag, 16, SendMode::Standard))
            .collect();
        rig.settle();
        for tag in (1..=messages).rev() {
            let (receive, _) = rig.post(pattern(tag), 16);
            rig.settle();
            assert!(rig.outcome(1, receive).is_some());
        }
        assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
        let stats = rig.adis[0].stats;
        let offers = stats.rts_sent + stats.restarts_received + stats.done_sent;
        assert!(offers <= 4 * messages as u64, "{offers} for {messages} messages");
        assert!(rig.adis[0].sender.pending.steps() <= 4 * messages as u64);
        rig.assert_clean();
    }
}

/// Sources with many rejected messages, one slot is freed: one RTS, not one per message.
#[test]
fn freed_memory_brings_as_many_offers_as_it_has_room_for() {
    let mut rig = DeviceFixture::new(3, 2);
    let sends: Vec<_> = (0..200)
        .map(|n| (n % 2, rig.send(n as usize % 2, 7, 16, SendMode::Standard)))
        .collect();
    rig.settle();
    for n in 0..200 {
        let before = rig.adis[0].stats.rts_sent + rig.adis[1].stats.rts_sent;
        let (receive, _) = rig.post(MatchPattern::new(Some(Rank::new(n % 2)), None, 0), 16);
        rig.settle();
        assert!(rig.outcome(2, receive).is_some());
        let offers = rig.adis[0].stats.rts_sent + rig.adis[1].stats.rts_sent - before;
        assert!(offers <= 6, "{offers} offers for one receive");
    }
    assert!(
        sends
            .into_iter()
            .all(|(from, id)| rig.outcome(from as usize, id).is_some())
    );
    rig.assert_clean();
}
