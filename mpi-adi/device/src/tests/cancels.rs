//! Cancelled sends and receives.

use msg_layer::TrafficClass;

use super::fixture::SeenPacket::Rts;
use super::fixture::{DeviceFixture, pattern};
use crate::request::SendMode;

#[test]
fn a_cancelled_receive_matches_nothing_any_more() {
    let mut rig = DeviceFixture::new(2, 8);
    let (cancelled, key) = rig.post(pattern(7), 5);
    assert!(rig.adis[1].cancel(cancelled));
    assert!(rig.outcome(1, cancelled).unwrap().cancelled);
    let send = rig.send(0, 7, 5, SendMode::Standard);
    rig.settle();
    assert_eq!(rig.buffers.0[key], [0; 5]);
    let (receive, _) = rig.post(pattern(7), 5);
    assert!(!rig.adis[1].cancel(receive), "it has matched");
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn a_bcopy_send_that_has_not_left_can_be_cancelled() {
    let mut rig = DeviceFixture::new(2, 8);
    rig.limit(0, TrafficClass::Normal, 0);
    let sends = [1, 2, 3].map(|tag| rig.send(0, tag, 4, SendMode::Standard));
    assert!(rig.adis[0].cancel(sends[1]));
    assert!(rig.outcome(0, sends[1]).is_some_and(|outcome| outcome.cancelled));
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    assert_eq!(rig.moved(0), [1, 3].map(|tag| Rts { tag, age: 0 }));
    for tag in [1, 3] {
        rig.post(pattern(tag), 4);
    }
    rig.settle();
    for send in [sends[0], sends[2]] {
        assert!(rig.outcome(0, send).is_some_and(|outcome| !outcome.cancelled));
    }
    assert!(rig.adis[0].is_quiet());
}

/// For every state at the receiver: unknown, rejected, recorded without a buffer, with a buffer, matched.
#[test]
fn a_cancelled_send_ends_without_the_receivers_help_and_is_received_or_not() {
    // (blocks at the receiver, mode, moved before the cancel, cancelled in the end)
    for (blocks, mode, moved, cancelled) in [
        (0, SendMode::Standard, 0, true),
        (0, SendMode::Standard, 1, true),
        (0, SendMode::Standard, 2, true),
        (1, SendMode::Standard, 0, true),
        (1, SendMode::Standard, 1, true),
        (1, SendMode::Standard, 2, true),
        (99, SendMode::Standard, 1, false),
        (99, SendMode::Standard, 2, false),
        (99, SendMode::Synchronous, 1, true),
        (99, SendMode::Synchronous, 2, true),
    ] {
        let case = (blocks, mode, moved);
        let mut rig = DeviceFixture::new(2, blocks);
        let first = rig.send(0, 7, 300, mode);
        let second = rig.send(0, 7, 400, mode);
        for from in 0..moved {
            rig.moved(from);
        }
        rig.adis[0].cancel(first);
        rig.step(0);
        rig.settle();
        let outcome = rig.outcome(0, first).unwrap_or_else(|| panic!("{case:?}"));
        assert_eq!(outcome.cancelled, cancelled, "{case:?}");
        let lengths: &[usize] = if cancelled { &[400] } else { &[300, 400] };
        for &length in lengths {
            let (receive, key) = rig.post(pattern(7), length);
            rig.settle();
            let bytes = rig.outcome(1, receive).map(|outcome| outcome.bytes);
            assert_eq!(bytes, Some(length), "{case:?}");
            assert_eq!(rig.buffers.0[key], vec![7; length]);
        }
        assert!(rig.outcome(0, second).is_some_and(|o| !o.cancelled), "{case:?}");
        rig.assert_clean();
    }
}

#[test]
fn a_send_that_a_receive_has_matched_is_not_cancelled() {
    let mut rig = DeviceFixture::new(2, 1);
    let send = rig.send(0, 7, 300, SendMode::Standard);
    rig.settle();
    // The receive's CTS and the CANCEL cross.
    let (receive, key) = rig.post(pattern(7), 300);
    rig.adis[0].cancel(send);
    rig.step(0);
    rig.settle();
    assert!(rig.outcome(0, send).is_some_and(|outcome| !outcome.cancelled));
    assert!(rig.outcome(1, receive).is_some());
    assert_eq!(rig.buffers.0[key], [7; 300]);
    rig.assert_clean();
}

#[test]
fn a_cancelled_send_that_was_given_up_is_freed_however_it_ends() {
    for blocks in [0, 1, 40] {
        let mut rig = DeviceFixture::new(2, blocks);
        let send = rig.send(0, 7, 300, SendMode::Standard);
        rig.adis[0].cancel(send);
        rig.adis[0].forget(send);
        rig.step(0);
        rig.settle();
        if blocks == 40 {
            let (receive, _) = rig.post(pattern(7), 300);
            assert!(rig.outcome(1, receive).is_some());
        }
        rig.assert_clean();
    }
    // The message is matched while its sender cancels it.
    let mut rig = DeviceFixture::new(2, 0);
    let (receive, _) = rig.post(pattern(7), 5);
    let send = rig.send(0, 7, 5, SendMode::Standard);
    rig.adis[0].cancel(send);
    rig.adis[0].forget(send);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some());
    rig.assert_clean();
}
