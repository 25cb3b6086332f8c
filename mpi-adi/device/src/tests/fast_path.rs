//! The fast path: the same results as on the slow path, without a request.

use super::fixture::{DeviceFixture, pattern};
use crate::envelope::{Context, MatchPattern, Rank};
use crate::fast_path::{FastRecv, FastSend};
use crate::memory::region::BLOCK_BYTES;
use crate::request::{PlainCompletion, SendMode};
use crate::send::bcopy::{BCOPIES, BCOPY_BYTES};
use crate::send::{COPY_BYTES, SendTo};

const TAG: i32 = 7;

fn to(dest: u32, tag: i32) -> SendTo {
    SendTo {
        dest: Rank::new(dest),
        tag,
        context: 0,
        mode: SendMode::Standard,
    }
}

/// Sends `len` bytes from node 0, each the tag.
fn send(rig: &mut DeviceFixture, to: SendTo, len: usize) -> FastSend {
    let span = rig.span(vec![to.tag as u8; len]);
    rig.adis[0].send_fast(&mut rig.buffers, &to, span)
}

/// Receives up to `len` bytes at the last node; returns the buffer's key, too.
fn receive(rig: &mut DeviceFixture, pattern: MatchPattern, len: usize) -> (FastRecv, usize) {
    let span = rig.span(vec![0; len]);
    let last = rig.adis.len() - 1;
    let received = rig.adis[last].receive_fast(&mut rig.buffers, &pattern, span);
    (received, span.address())
}

fn whole(peer: u32, tag: i32, bytes: u32) -> PlainCompletion {
    PlainCompletion {
        peer: Rank::new(peer),
        tag,
        bytes,
        context: 0,
    }
}

#[test]
fn a_short_message_is_copied_and_leaves_later() {
    for len in [0, 8, BCOPY_BYTES] {
        let mut rig = DeviceFixture::new(2, 64);
        let (receive, key) = rig.post(pattern(TAG), len);
        assert_eq!(send(&mut rig, to(1, TAG), len), FastSend::Complete);
        assert_eq!(rig.adis[0].requests.live(), 0);
        assert!(rig.adis[0].has_pending_tx() && !rig.adis[0].are_copies_sent());
        assert!(rig.adis[0].is_coalescing_dest(Rank::new(1)) && !rig.adis[0].is_coalescing_dest(Rank::new(0)));
        assert_eq!(rig.adis[0].coalescing_dest(), Some(Rank::new(1)));
        let last = rig.buffers.0.len() - 1;
        rig.buffers.0[last].fill(99);
        let (adi, wire) = (&mut rig.adis[0], &mut rig.wires[0]);
        adi.transmit_pending(wire, &mut rig.buffers);
        assert!(adi.are_copies_sent() && !adi.has_pending_tx());
        rig.settle();
        assert_eq!(rig.outcome(1, receive).map(|o| o.bytes), Some(len));
        assert_eq!(rig.buffers.0[key], vec![TAG as u8; len]);
        assert_eq!(rig.adis[0].stats.messages_sent, 1);
        rig.step(1);
        rig.settle();
        rig.assert_clean();
    }
}

#[test]
fn what_is_no_copy_is_left_to_the_whole_way() {
    let mut rig = DeviceFixture::new(2, 64);
    let synchronous = SendTo {
        mode: SendMode::Synchronous,
        ..to(1, TAG)
    };
    assert_eq!(send(&mut rig, to(1, TAG), BCOPY_BYTES + 1), FastSend::Unavailable);
    assert_eq!(send(&mut rig, synchronous, 8), FastSend::Unavailable);
    assert!(!rig.adis[0].has_pending_tx() && rig.adis[0].is_quiet());
    for _ in 0..BCOPIES {
        assert_eq!(send(&mut rig, to(1, TAG), 8), FastSend::Complete);
    }
    assert_eq!(send(&mut rig, to(1, TAG), 8), FastSend::Unavailable, "no copy is free");
    assert_eq!(rig.adis[0].stats.messages_sent, BCOPIES as u64);
    // Behind a rejected message it is complete.
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, TAG, 100, SendMode::Standard);
    rig.settle();
    assert_eq!(send(&mut rig, to(1, TAG), 8), FastSend::Complete);
}

#[test]
fn a_message_to_oneself_goes_to_its_posted_receive_or_takes_the_whole_way() {
    for len in [0, 8, COPY_BYTES] {
        let mut rig = DeviceFixture::new(1, 64);
        let (receive, key) = rig.post(pattern(TAG), len);
        assert_eq!(send(&mut rig, to(0, TAG), len), FastSend::Complete);
        let adi = &mut rig.adis[0];
        assert_eq!(adi.requests.live(), 1, "the receive");
        let done = whole(0, TAG, len as u32);
        assert_eq!(adi.take_plain_completed(receive), Some(done));
        assert_eq!(rig.buffers.0[key], vec![TAG as u8; len]);
        assert_eq!(rig.adis[0].stats.messages_received, 1);
        rig.assert_clean();
    }
    let mut rig = DeviceFixture::new(1, 64);
    let FastSend::Started(recorded) = send(&mut rig, to(0, TAG), 8) else {
        panic!("recorded, and its request is complete");
    };
    let sent = rig.adis[0].take_plain_completed(recorded);
    assert_eq!(sent, Some(whole(0, TAG, 8)));
    let (received, _) = receive(&mut rig, pattern(TAG), 8);
    assert_eq!(received, FastRecv::Complete(whole(0, TAG, 8)));
    rig.assert_clean();
    // Without memory for a record it waits in the queue; a later message does not overtake it.
    let mut rig = DeviceFixture::new(1, 0);
    assert_eq!(send(&mut rig, to(0, TAG), 8), FastSend::Unavailable);
    rig.send(0, TAG, 8, SendMode::Standard);
    let (behind, _) = rig.post(pattern(TAG + 1), 8);
    assert_eq!(send(&mut rig, to(0, TAG + 1), 8), FastSend::Unavailable);
    assert_eq!(rig.outcome(0, behind), None);
}

#[test]
fn a_message_that_is_here_is_taken_without_a_request() {
    for len in [0, 8, 200] {
        let mut rig = DeviceFixture::new(2, 64);
        rig.send(0, TAG, len, SendMode::Standard);
        rig.send(0, TAG + 1, len, SendMode::Standard);
        rig.settle();
        let blocks = 1 + len.div_ceil(BLOCK_BYTES);
        assert_eq!(rig.adis[1].region.used_bytes(), 2 * blocks * BLOCK_BYTES);
        let wild = MatchPattern::new(None, None, 0);
        for tag in [TAG, TAG + 1] {
            let (received, key) = receive(&mut rig, wild, len);
            assert_eq!(received, FastRecv::Complete(whole(0, tag, len as u32)));
            assert_eq!(rig.buffers.0[key], vec![tag as u8; len]);
        }
        assert_eq!(rig.adis[1].stats.messages_received, 2);
        assert_eq!(rig.adis[1].requests.live(), 0);
        assert_eq!(rig.adis[1].region.used_bytes(), 0);
        assert_eq!(rig.adis[1].matching().unexpected, 0);
    }
}

#[test]
fn of_a_message_that_is_too_long_what_fits_is_received() {
    let mut rig = DeviceFixture::new(2, 64);
    rig.send(0, TAG, 40, SendMode::Standard);
    rig.settle();
    let (received, key) = receive(&mut rig, pattern(TAG), 30);
    assert_eq!(received, FastRecv::Truncated(whole(0, TAG, 30)));
    assert_eq!(rig.buffers.0[key], vec![TAG as u8; 30]);
    assert_eq!(rig.adis[1].region.used_bytes(), 0);
}

#[test]
fn what_is_not_here_is_received_as_ever() {
    // No message has arrived.
    let mut rig = DeviceFixture::new(2, 64);
    let (received, key) = receive(&mut rig, pattern(TAG), 8);
    let FastRecv::Started(id) = received else {
        panic!("{received:?}");
    };
    assert_eq!(rig.adis[1].matching().posted, 1);
    assert_eq!(rig.adis[1].take_plain_completed(id), None, "not finished");
    assert_eq!(send(&mut rig, to(1, TAG), 8), FastSend::Complete);
    rig.step(0);
    rig.settle();
    assert_eq!(rig.adis[1].take_plain_completed(id), Some(whole(0, TAG, 8)));
    assert_eq!(rig.adis[1].take_plain_completed(id), None, "it is gone");
    assert_eq!(rig.buffers.0[key], [TAG as u8; 8]);
    // Its record has arrived, and its data has not.
    let mut rig = DeviceFixture::new(2, 1);
    rig.send(0, TAG, 100, SendMode::Standard);
    rig.settle();
    let (received, key) = receive(&mut rig, pattern(TAG), 100);
    let FastRecv::Started(id) = received else {
        panic!("{received:?}");
    };
    rig.step(1);
    rig.settle();
    assert_eq!(rig.adis[1].take_plain_completed(id), Some(whole(0, TAG, 100)));
    assert_eq!(rig.buffers.0[key], vec![TAG as u8; 100]);
}

#[test]
fn memory_that_is_freed_restarts_who_waits_for_it() {
    // Memory for one message with its data.
    let mut rig = DeviceFixture::new(2, 2);
    for tag in [TAG, TAG + 1] {
        rig.send(0, tag, 8, SendMode::Standard);
        rig.settle();
    }
    let any: Context = 0;
    let wild = MatchPattern::new(None, None, any);
    for tag in [TAG, TAG + 1] {
        let (received, _) = receive(&mut rig, wild, 8);
        assert_eq!(received, FastRecv::Complete(whole(0, tag, 8)));
        rig.step(1);
        rig.settle();
    }
}

#[test]
fn searches_are_counted_once() {
    let mut rig = DeviceFixture::new(2, 64);
    let before = rig.adis[1].matching().searches;
    receive(&mut rig, pattern(TAG), 8);
    assert_eq!(rig.adis[1].matching().searches, before + 1);
}

/// With an exhausted heap, nothing is allocated and nothing has changed.
#[test]
fn without_memory_it_is_left_to_the_whole_way_to_say_so() {
    let mut rig = DeviceFixture::new(1, 64);
    rig.limit_slots(32);
    for tag in 0..32 {
        let (received, _) = receive(&mut rig, pattern(tag), 8);
        assert!(matches!(received, FastRecv::Started(_)), "{tag}");
    }
    let (received, _) = receive(&mut rig, pattern(TAG), 8);
    assert_eq!(received, FastRecv::Unavailable);
    assert_eq!(rig.adis[0].matching().posted, 32);
}
