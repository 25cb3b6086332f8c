//! Pending packets as reported by a device, and packet lengths.

use msg_layer::header::Header;

use super::fixture::{DeviceFixture, pattern};
use crate::envelope::Rank;
use crate::request::SendMode;
use crate::send::SendTo;
use crate::wire::{self, INLINE_BYTES};

const TO_LAST: SendTo = SendTo {
    dest: Rank::new(1),
    tag: 1,
    context: 0,
    mode: SendMode::Standard,
};

#[test]
fn a_device_has_to_send_what_was_copied_until_it_has_left() {
    let mut rig = DeviceFixture::new(2, 8);
    let now = |rig: &DeviceFixture, held| rig.adis[0].has_urgent_tx(|_| held);
    assert!(!rig.adis[0].has_pending_tx() && !now(&rig, false));
    let span = rig.span(vec![1; 4]);
    let copied = rig.adis[0].send_within_call(&mut rig.buffers, TO_LAST, span);
    assert_eq!(copied, Ok(None));
    assert!(rig.adis[0].has_pending_tx() && now(&rig, false));
    assert!(!rig.adis[0].are_copies_sent());
    assert!(!now(&rig, true), "its place is held");
    rig.step(0);
    assert!(!rig.adis[0].has_pending_tx() && !now(&rig, false));
    assert!(rig.adis[0].are_copies_sent());
}

#[test]
fn a_device_has_to_send_each_thing_that_is_due() {
    let mut rig = DeviceFixture::new(2, 1);
    let has = |rig: &DeviceFixture, node: usize| {
        let adi = &rig.adis[node];
        assert_eq!(adi.has_pending_tx(), adi.has_urgent_tx(|_| true));
        adi.has_pending_tx()
    };
    // An RTS.
    let span = rig.span(vec![1; 300]);
    let send = rig.adis[0].isend(&mut rig.buffers, TO_LAST, span).unwrap();
    assert!(has(&rig, 0));
    rig.step(0);
    assert!(!has(&rig, 0));
    rig.settle();
    // A CTS, for a recorded message.
    let span = rig.span(vec![0; 300]);
    let receive = rig.adis[1].irecv(&mut rig.buffers, pattern(1), span);
    assert!(receive.is_ok() && has(&rig, 1));
    rig.step(1);
    assert!(!has(&rig, 1));
    rig.settle();
    assert!(rig.outcome(0, send).is_some() && !has(&rig, 0));
    // CANCEL for a held message.
    let send = rig.send(0, 1, 300, SendMode::Standard);
    rig.settle();
    rig.adis[0].cancel(send);
    assert!(has(&rig, 0));
    rig.step(0);
    assert!(!has(&rig, 0));
}

/// A long message on a blocked link does not block messages on other links.
#[test]
fn transfers_go_on_by_the_ways_that_are_free() {
    let mut rig = DeviceFixture::new(3, 8);
    let to = |dest| SendTo {
        dest: Rank::new(dest),
        ..TO_LAST
    };
    for (dest, at) in [(1, 1), (2, 2)] {
        rig.post_at(at, pattern(1), 1000);
        rig.send_to(0, to(dest), 1000);
        rig.moved(0);
    }
    // Both are requested.
    let [blocked, free] = [1, 2].map(|rank| rig.adis[0].torus_coord(Rank::new(rank)));
    rig.wires[0].reject_runs(Some(blocked));
    rig.moved(1);
    rig.moved(2);
    rig.step(0);
    assert!(!rig.wires[0].sent().is_empty());
    assert!(rig.wires[0].sent().iter().all(|packet| packet.dest == free));
    rig.wires[0].reject_runs(None);
    rig.step(0);
    rig.settle();
    assert!(rig.adis[0].is_quiet());
}

#[test]
fn a_device_owes_answers_until_they_leave() {
    let mut rig = DeviceFixture::new(2, 8);
    rig.adis[1].delay_acks(true);
    assert!(!rig.adis[1].has_delayed_acks());
    rig.post(pattern(1), 4);
    rig.send(0, 1, 4, SendMode::Standard);
    rig.moved(0);
    assert!(rig.adis[1].has_delayed_acks() && rig.wires[1].sent().is_empty());
    rig.adis[1].delay_acks(false);
    rig.step(1);
    assert!(!rig.adis[1].has_delayed_acks());
    assert_eq!(rig.replies(1, wire::CTS).len(), 1);
}

/// The acknowledgement of a message with a successor waits for the successor's, which covers both.
#[test]
fn an_answer_serves_for_a_message_that_was_followed() {
    let mut rig = DeviceFixture::new(2, 8);
    rig.adis[1].delay_acks(true);
    // Longer than a bcopy, so the sender waits.
    let len = INLINE_BYTES;
    let sends = [SendMode::StandardDelayedAck, SendMode::Standard].map(|mode| {
        rig.post(pattern(1), len);
        let send = rig.send(0, 1, len, mode);
        rig.moved(0);
        assert_eq!(rig.adis[1].has_delayed_acks(), mode == SendMode::StandardDelayedAck);
        send
    });
    assert_eq!(rig.replies(1, wire::CTS).len(), 1);
    rig.moved(1);
    assert!(sends.iter().all(|send| rig.outcome(0, *send).is_some()));
    // Alone it waits, until the receiver stops delaying.
    rig.post(pattern(1), len);
    let alone = rig.send(0, 1, len, SendMode::StandardDelayedAck);
    rig.moved(0);
    assert!(rig.adis[1].has_delayed_acks() && rig.outcome(0, alone).is_none());
    rig.adis[1].delay_acks(false);
    rig.step(1);
    rig.settle();
    assert!(rig.outcome(0, alone).is_some());
}

/// Only rejected sources wait for a restart.
#[test]
fn an_answer_waits_though_other_sources_are_refused() {
    let mut rig = DeviceFixture::new(3, 0);
    rig.adis[2].delay_acks(true);
    let to_last = |tag| SendTo {
        dest: Rank::new(2),
        tag,
        ..TO_LAST
    };
    let refused = rig.send_to(1, to_last(2), 300);
    rig.settle();
    assert!(rig.outcome(1, refused).is_none() && !rig.adis[2].peers.has_no_rejected());
    rig.post(pattern(1), 4);
    rig.send_to(0, to_last(1), 4);
    rig.moved(0);
    assert!(rig.adis[2].has_delayed_acks() && rig.wires[2].sent().is_empty());
}

/// A packet on the link is as long as its header states.
#[test]
fn a_packet_is_as_long_as_what_is_in_it() {
    let mut rig = DeviceFixture::new(2, 1);
    let send = rig.send(0, 1, 300, SendMode::Standard);
    rig.settle();
    rig.adis[0].cancel(send);
    rig.step(0);
    let [cancel] = rig.wires[0].sent() else {
        panic!("one packet");
    };
    let (header, bytes) = Header::parse(&cancel.body).expect("a packet");
    assert_eq!(header.handler, wire::CANCEL);
    assert_eq!(bytes.len(), wire::CANCEL_BYTES);
    assert_eq!(cancel.body.len(), header.bytes() + bytes.len());
}
