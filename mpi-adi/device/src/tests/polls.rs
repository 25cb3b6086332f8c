//! Programs that poll by posting and cancelling receives, where nothing can be recorded: rule (f).

use super::fixture::{DeviceFixture, SeenPacket, pattern};
use crate::adi::Adi;
use crate::envelope::{MatchPattern, Rank};
use crate::request::SendMode;

const ANY: MatchPattern = MatchPattern::new(None, None, 0);

/// Two sources are asked for a receive that is cancelled immediately: it gets the message that arrives first.
#[test]
fn a_cancelled_receive_takes_the_message_that_was_asked_for_in_its_name() {
    let mut rig = DeviceFixture::new(3, 0);
    let sends = [0, 1].map(|from| rig.send(from, 1, 50 + from, SendMode::Standard));
    rig.settle();
    let (first, _) = rig.post(ANY, 100);
    assert!(!rig.adis[2].cancel(first), "not before both have answered");
    rig.moved(2);
    assert!(!rig.adis[2].cancel(first), "nor when it is cancelled again");
    assert_eq!(rig.outcome(2, first), None);
    rig.moved(1);
    let outcome = rig.outcome(2, first).expect("the message of the second one");
    assert_eq!((outcome.bytes, outcome.cancelled), (51, false));
    rig.settle();
    let (second, _) = rig.post(ANY, 100);
    rig.adis[2].cancel(second);
    rig.settle();
    let outcome = rig.outcome(2, second).expect("the message of the first one");
    assert_eq!((outcome.bytes, outcome.cancelled), (50, false));
    rig.settle();
    for (from, send) in sends.into_iter().enumerate() {
        assert!(rig.outcome(from, send).is_some());
    }
    rig.assert_clean();
}

/// A receive is cancelled when each source asked has replied that it has no message for it.
#[test]
fn a_cancelled_receive_ends_with_the_last_answer() {
    for exact in [false, true] {
        let mut rig = DeviceFixture::new(3, 0);
        let sends = [0, 1].map(|from| rig.send(from, 1, 50, SendMode::Standard));
        rig.settle();
        let source = exact.then(|| Rank::new(0));
        let (nothing, _) = rig.post(MatchPattern::new(source, Some(2), 0), 50);
        assert!(!rig.adis[2].cancel(nothing));
        rig.moved(2);
        assert_eq!(rig.moved(0), [SeenPacket::Done]);
        let outcome = rig.outcome(2, nothing);
        assert_eq!(outcome.is_some(), exact, "the other one has been asked, too");
        if !exact {
            assert_eq!(rig.moved(1), [SeenPacket::Done]);
            let outcome = rig.outcome(2, nothing);
            assert!(outcome.is_some_and(|outcome| outcome.cancelled));
        }
        for _ in sends {
            let (receive, _) = rig.post(ANY, 50);
            rig.settle();
            assert!(rig.outcome(2, receive).is_some());
        }
        for (from, send) in sends.into_iter().enumerate() {
            assert!(rig.outcome(from, send).is_some());
        }
        rig.assert_clean();
    }
}

/// No source has been asked for it, or the program ignores its outcome: it is cancelled immediately.
#[test]
fn a_receive_that_waits_for_nobody_is_cancelled_at_once() {
    let mut rig = DeviceFixture::new(2, 0);
    let (early, _) = rig.post(pattern(1), 50);
    assert!(rig.adis[1].cancel(early) && rig.outcome(1, early).is_some());
    let send = rig.send(0, 1, 50, SendMode::Standard);
    rig.settle();
    let (given_up, key) = rig.post(pattern(1), 50);
    assert!(!rig.adis[1].cancel(given_up));
    rig.adis[1].forget(given_up);
    assert!(!rig.adis[1].has_request(given_up));
    rig.settle();
    assert_ne!(rig.buffers.0[key], [1; 50], "the buffer is the program's again");
    assert_eq!(rig.outcome(0, send), None, "and no message is lost");
    let (receive, _) = rig.post(pattern(1), 50);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

/// Each receive that is posted, cancelled and waited for gets a message while there is one, from any source.
#[test]
fn each_poll_brings_a_message() {
    const SOURCES: usize = 12;
    for blocks in [0, 1, 2] {
        let mut rig = DeviceFixture::new(SOURCES as u16 + 1, blocks);
        for round in 0..3 {
            for from in 0..SOURCES {
                rig.send(from, round, 10, SendMode::Standard);
            }
        }
        rig.settle();
        for poll in 0..3 * SOURCES {
            let (receive, _) = rig.post(ANY, 10);
            rig.adis[SOURCES].cancel(receive);
            rig.settle();
            let outcome = rig.outcome(SOURCES, receive).expect("it ends");
            assert!(!outcome.cancelled, "poll {poll} with {blocks} blocks");
        }
        assert!(rig.adis.iter().all(Adi::is_quiet));
    }
}

/// The fault that rule (f) prevents: the message always arrives after its receive has been cancelled.
#[test]
fn without_the_wait_a_message_never_meets_a_receive() {
    let mut rig = DeviceFixture::new(3, 0);
    for from in [0, 1] {
        rig.send(from, 1, 50, SendMode::Standard);
    }
    rig.settle();
    for _ in 0..5 {
        let (receive, _) = rig.post(ANY, 50);
        rig.moved(2);
        // Ends as a cancel without rule (f) would.
        rig.adis[2].cancel(receive);
        rig.adis[2].forget(receive);
        rig.settle();
    }
    assert_eq!(rig.adis[2].stats.messages_received, 0);
}
