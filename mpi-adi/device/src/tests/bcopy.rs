//! Buffered copies (bcopy): sends are complete once transmitted.

use super::fixture::SeenPacket::{Cts, Rts};
use super::fixture::{DeviceFixture, pattern};
use crate::envelope::Rank;
use crate::request::{RequestOutcome, SendMode};
use crate::send::bcopy;

#[test]
fn a_short_message_to_a_posted_receive_takes_one_trip() {
    let mut rig = DeviceFixture::new(2, 8);
    let (receive, key) = rig.post(pattern(7), 10);
    let send = rig.send(0, 7, 10, SendMode::Standard);
    assert_eq!(rig.moved(0), [Rts { tag: 7, age: 0 }]);
    assert_eq!(rig.buffers.0[key], [7; 10]);
    let done = RequestOutcome {
        source: Rank::new(0),
        tag: 7,
        bytes: 10,
        truncated: false,
        cancelled: false,
    };
    assert_eq!(rig.outcome(1, receive), Some(done));
    assert!(rig.outcome(0, send).is_some(), "its answer is still on the way");
    assert!(!rig.adis[0].is_quiet());
    assert_eq!(rig.moved(1), [Cts { complete: true }]);
    assert_eq!(rig.adis[1].region.peak_bytes(), 0);
    rig.assert_clean();
}

#[test]
fn what_is_not_bcopy_completes_with_its_answer() {
    for (len, mode) in [(33, SendMode::Standard), (10, SendMode::Synchronous)] {
        let mut rig = DeviceFixture::new(2, 8);
        let (receive, key) = rig.post(pattern(7), len);
        let send = rig.send(0, 7, len, mode);
        assert_eq!(rig.moved(0), [Rts { tag: 7, age: 0 }]);
        assert_eq!(rig.buffers.0[key], vec![7; len]);
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.outcome(0, send), None, "its answer is still on the way");
        assert_eq!(rig.moved(1), [Cts { complete: true }]);
        assert!(rig.outcome(0, send).is_some());
        rig.assert_clean();
    }
}

/// The program reuses its buffers long before the receiver accepts the messages.
#[test]
fn bcopy_sends_that_are_refused_or_recorded_without_data_are_kept() {
    for blocks in [0, 1, 2] {
        let mut rig = DeviceFixture::new(2, blocks);
        for tag in 1..=4 {
            let send = rig.send(0, tag, 4, SendMode::Standard);
            assert!(rig.outcome(0, send).is_some());
            rig.buffers.0.last_mut().expect("its buffer").fill(0xEE);
        }
        rig.settle();
        // A long message behind them keeps its position.
        let long = rig.send(0, 3, 100, SendMode::Standard);
        rig.settle();
        for (tag, len) in [(4, 4), (3, 4), (1, 4), (3, 100), (2, 4)] {
            let (receive, key) = rig.post(pattern(tag), len);
            rig.settle();
            assert!(rig.outcome(1, receive).is_some(), "{blocks} blocks, tag {tag}");
            assert_eq!(rig.buffers.0[key], vec![tag as u8; len], "{blocks} blocks");
        }
        assert!(rig.outcome(0, long).is_some());
        rig.assert_clean();
    }
}

#[test]
fn there_are_so_many_bcopy_sends_and_the_next_one_waits_for_its_answer() {
    let mut rig = DeviceFixture::new(2, 128);
    let sends: Vec<_> = (0..=bcopy::BCOPIES as i32)
        .map(|tag| rig.send(0, tag, 4, SendMode::Standard))
        .collect();
    let (last, bcopy) = sends.split_last().expect("some");
    for &send in bcopy {
        assert!(rig.outcome(0, send).is_some());
    }
    assert_eq!(rig.outcome(0, *last), None);
    rig.settle();
    assert!(rig.outcome(0, *last).is_some());
    for tag in 0..=bcopy::BCOPIES as i32 {
        let (receive, key) = rig.post(pattern(tag), 4);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 4]);
    }
    rig.assert_clean();
}
