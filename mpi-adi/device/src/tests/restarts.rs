//! Restarts that cross RTSs, new sends and new receives; and their addressees.

use super::fixture::SeenPacket::{Done, Ncts, Restart, Rts};
use super::fixture::{DeviceFixture, pattern};
use crate::adi::Adi;
use crate::envelope::{MatchPattern, Rank};
use crate::request::SendMode;

/// Rules (a) and (b): a restart crosses an RTS in flight, which becomes stale.
#[test]
fn an_offer_that_a_restart_has_crossed_is_made_again() {
    let mut rig = DeviceFixture::new(2, 0);
    let one = rig.send(0, 1, 5, SendMode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Ncts]);
    let two = rig.send(0, 2, 5, SendMode::Standard);
    let (receive, _) = rig.post(pattern(2), 5);
    // The second RTS is in flight under age 0 when the restart arrives: no RTS is sent before its reply.
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    assert_eq!(rig.moved(0), [Rts { tag: 2, age: 0 }]);
    assert_eq!(rig.moved(1), [Ncts]);
    assert_eq!(rig.moved(0), [Rts { tag: 2, age: 1 }], "asked for; tag 1 is not");
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, two).is_some());
    let (receive, _) = rig.post(pattern(1), 5);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, one).is_some());
    rig.assert_clean();
}

/// Rule (b): messages sent during a restart stay behind it.
#[test]
fn a_new_message_does_not_pass_a_restart() {
    let mut rig = DeviceFixture::new(2, 0);
    let one = rig.send(0, 9, 1, SendMode::Standard);
    rig.moved(0);
    rig.moved(1);
    let two = rig.send(0, 9, 2, SendMode::Standard);
    let (first, _) = rig.post(pattern(9), 8);
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    let three = rig.send(0, 9, 3, SendMode::Standard);
    assert_eq!(
        rig.moved(0),
        [Rts { tag: 9, age: 0 }],
        "the third waits for the second's answer"
    );
    rig.settle();
    let (second, _) = rig.post(pattern(9), 8);
    rig.settle();
    let (third, _) = rig.post(pattern(9), 8);
    rig.settle();
    for (receive, bytes) in [(first, 1), (second, 2), (third, 3)] {
        assert_eq!(rig.outcome(1, receive).map(|o| o.bytes), Some(bytes));
    }
    assert!([one, two, three].into_iter().all(|id| rig.outcome(0, id).is_some()));
    rig.assert_clean();
}

/// Rule (e): a receive posted after the restart was sent may belong to an earlier message.
#[test]
fn what_a_restart_brings_does_not_take_a_receive_posted_since() {
    let mut rig = DeviceFixture::new(2, 0);
    let any_tag = MatchPattern::new(Some(Rank::new(0)), None, 0);
    let sends = [1, 2, 3].map(|tag| rig.send(0, tag, tag as usize, SendMode::Standard));
    rig.settle();
    let (second, _) = rig.post(pattern(2), 8);
    let restart = rig.wires[1].take_sent();
    // It is gone before its message arrives.
    rig.adis[1].cancel(second);
    rig.adis[1].forget(second);
    let (first, _) = rig.post(any_tag, 8);
    rig.wires[1].sent_mut().splice(0..0, restart);
    rig.settle();
    assert_eq!(rig.outcome(1, first).map(|o| o.tag), Some(1));
    assert!(!rig.adis[1].has_request(second));
    let rest = [rig.post(any_tag, 8).0, rig.post(any_tag, 8).0];
    rig.settle();
    assert_eq!(rest.map(|id| rig.outcome(1, id).map(|o| o.tag)), [Some(2), Some(3)]);
    assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
    rig.assert_clean();
}

#[test]
fn a_restart_that_asks_for_nothing_that_is_there_is_closed_by_done() {
    let mut rig = DeviceFixture::new(2, 0);
    let one = rig.send(0, 1, 5, SendMode::Standard);
    rig.settle();
    let (two, _) = rig.post(pattern(2), 5);
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    assert_eq!(rig.moved(0), [Done]);
    let (first, _) = rig.post(pattern(1), 5);
    rig.settle();
    let later = rig.send(0, 2, 5, SendMode::Standard);
    rig.settle();
    assert!([first, two].into_iter().all(|id| rig.outcome(1, id).is_some()));
    assert!([one, later].into_iter().all(|id| rig.outcome(0, id).is_some()));
    rig.assert_clean();
}

#[test]
fn a_receive_from_any_source_asks_a_few_of_those_who_wait_at_a_time() {
    const SOURCES: usize = 40;
    let few = u64::from(crate::peers::WILDCARD_RESTARTS);
    let mut rig = DeviceFixture::new(SOURCES as u16 + 1, 0);
    for source in 0..SOURCES {
        // Only every fourth has a message for the request.
        rig.send(source, if source % 4 == 3 { 7 } else { 8 }, 10, SendMode::Standard);
    }
    rig.settle();
    let from_any = |tag| MatchPattern::new(None, Some(tag), 0);
    let sent = |rig: &DeviceFixture| rig.adis[SOURCES].stats.restarts_sent;
    for _ in 0..SOURCES / 4 {
        let before = sent(&rig);
        let (receive, key) = rig.post(from_any(7), 10);
        assert!(sent(&rig) - before <= few);
        rig.settle();
        assert!(rig.outcome(SOURCES, receive).is_some());
        assert_eq!(rig.buffers.0[key], [7; 10]);
        assert!(sent(&rig) - before <= 2 * few, "no more than were under way");
    }
    for _ in 0..SOURCES - SOURCES / 4 {
        let (receive, key) = rig.post(from_any(8), 10);
        rig.settle();
        assert!(rig.outcome(SOURCES, receive).is_some());
        assert_eq!(rig.buffers.0[key], [8; 10]);
    }
    assert_eq!(rig.adis[SOURCES].region.peak_records(), 0);
    assert!(rig.adis.iter().all(Adi::is_quiet));
}
