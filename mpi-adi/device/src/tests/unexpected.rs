//! Messages longer than an RTS, for posted receives and into MPI memory; synchronous sends.

use super::fixture::SeenPacket::{Cts, Data, Nctsd, Rts};
use super::fixture::{DeviceFixture, data, pattern};
use crate::envelope::Rank;
use crate::request::{RequestOutcome, SendMode};

#[test]
fn a_long_message_to_a_posted_receive_waits_for_cts_and_goes_straight_to_its_place() {
    let mut rig = DeviceFixture::new(2, 8);
    let (receive, key) = rig.post(pattern(7), 500);
    let send = rig.send(0, 7, 500, SendMode::Standard);
    assert_eq!(rig.moved(0), [Rts { tag: 7, age: 0 }]);
    assert_eq!(rig.moved(1), [Cts { complete: false }]);
    assert_eq!(rig.moved(0), data(500));
    assert_eq!(rig.buffers.0[key], [7; 500]);
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    assert_eq!(rig.adis[1].region.peak_bytes(), 0);
    rig.assert_clean();
}

#[test]
fn an_unexpected_message_is_buffered_where_there_is_room() {
    for len in [0, 10, 224, 225, 500] {
        let mut rig = DeviceFixture::new(2, 32);
        let send = rig.send(0, 7, len, SendMode::Standard);
        rig.settle();
        assert!(
            rig.outcome(0, send).is_some(),
            "a buffered send of {len} bytes completes"
        );
        let (receive, key) = rig.post(pattern(7), len);
        assert_eq!(rig.outcome(1, receive).map(|o| o.bytes), Some(len));
        assert_eq!(rig.buffers.0[key], vec![7; len]);
        assert_eq!(rig.adis[1].region.peak_bytes(), (1 + len.div_ceil(32)) * 32);
        rig.assert_clean();
    }
}

#[test]
fn a_receive_can_match_while_the_buffer_still_fills() {
    let mut rig = DeviceFixture::new(2, 32);
    let send = rig.send(0, 7, 500, SendMode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Cts { complete: false }]);
    let (receive, key) = rig.post(pattern(7), 300);
    assert_eq!(rig.outcome(1, receive), None);
    rig.settle();
    let cut = RequestOutcome {
        source: Rank::new(0),
        tag: 7,
        bytes: 300,
        truncated: true,
        cancelled: false,
    };
    assert_eq!(rig.outcome(1, receive), Some(cut));
    assert_eq!(rig.buffers.0[key], [7; 300]);
    assert!(rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn with_room_for_a_record_only_the_sender_keeps_the_data() {
    let mut rig = DeviceFixture::new(2, 1);
    let send = rig.send(0, 7, 100, SendMode::Standard);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Nctsd]);
    assert_eq!(rig.outcome(0, send), None);
    let (receive, key) = rig.post(pattern(7), 100);
    assert_eq!(rig.moved(1), [Cts { complete: false }]);
    assert_eq!(rig.moved(0), [Data { offset: 0, len: 100 }]);
    assert_eq!(rig.buffers.0[key], [7; 100]);
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}

#[test]
fn a_synchronous_send_completes_only_when_matched() {
    let mut rig = DeviceFixture::new(2, 8);
    let send = rig.send(0, 7, 5, SendMode::Synchronous);
    rig.moved(0);
    assert_eq!(rig.moved(1), [Nctsd], "never buffered");
    rig.settle();
    assert_eq!(rig.outcome(0, send), None);
    let (receive, key) = rig.post(pattern(7), 5);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    assert_eq!(rig.buffers.0[key], [7; 5]);
    rig.assert_clean();
}

#[test]
fn a_synchronous_send_of_nothing_completes_when_matched() {
    let mut rig = DeviceFixture::new(2, 8);
    let send = rig.send(0, 7, 0, SendMode::Synchronous);
    rig.settle();
    assert_eq!(rig.outcome(0, send), None);
    let (receive, _) = rig.post(pattern(7), 0);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
    rig.assert_clean();
}
