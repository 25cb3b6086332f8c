//! Message queues for the explanation of a hang.

use super::fixture::{DeviceFixture, pattern};
use crate::envelope::{MatchPattern, Rank};
use crate::queues::{QueueEntry, QueueKind};
use crate::request::SendMode;

fn queues(rig: &mut DeviceFixture, at: usize) -> Vec<QueueEntry> {
    let mut entries = Vec::new();
    rig.adis[at].visit_queues(&mut |entry| entries.push(entry));
    entries
}

fn entry(kind: QueueKind, peer: u32, tag: i32, bytes: usize) -> QueueEntry {
    QueueEntry {
        kind,
        is_complete: false,
        context: 0,
        peer: Some(Rank::new(peer)),
        tag: Some(tag),
        bytes,
    }
}

#[test]
fn messages_without_a_receive_are_in_the_queues_of_both_sides() {
    let mut rig = DeviceFixture::new(2, 64);
    assert_eq!(queues(&mut rig, 0), []);
    rig.send(0, 7, 300, SendMode::Synchronous);
    rig.settle();
    assert_eq!(queues(&mut rig, 0), [entry(QueueKind::PendingSend, 1, 7, 300)]);
    assert_eq!(queues(&mut rig, 1), [entry(QueueKind::UnexpectedMessage, 0, 7, 300)]);
    let (receive, _) = rig.post(pattern(8), 40);
    let expected = [
        entry(QueueKind::PostedReceive, 0, 8, 40),
        entry(QueueKind::UnexpectedMessage, 0, 7, 300),
    ];
    assert_eq!(queues(&mut rig, 1), expected);
    // Both match, and the queues are empty.
    rig.post(pattern(7), 300);
    rig.send(0, 8, 40, SendMode::Standard);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some());
    assert_eq!((queues(&mut rig, 0), queues(&mut rig, 1)), (Vec::new(), Vec::new()));
}

#[test]
fn a_rejected_message_is_in_the_senders_queue_only() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, 7, 300, SendMode::Standard);
    rig.settle();
    assert_eq!(queues(&mut rig, 0), [entry(QueueKind::PendingSend, 1, 7, 300)]);
    assert_eq!(queues(&mut rig, 1), []);
}

#[test]
fn wildcards_have_no_value() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.post(MatchPattern::new(None, None, 4), 16);
    let expected = QueueEntry {
        context: 4,
        peer: None,
        tag: None,
        ..entry(QueueKind::PostedReceive, 0, 0, 16)
    };
    assert_eq!(queues(&mut rig, 1), [expected]);
}
