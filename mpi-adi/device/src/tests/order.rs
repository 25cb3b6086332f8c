//! Message order with stale, early, out-of-order and cancelled RTSs.

use msg_layer::TrafficClass;

use super::fixture::SeenPacket::{Cts, Done, Ncts, Nctsd, Restart, Rts};
use super::fixture::{DeviceFixture, Packet, pattern};
use crate::envelope::{MatchPattern, Rank};
use crate::request::SendMode;
use crate::send::SendTo;
use crate::send::pending::WINDOW;
use crate::wire::{self, ReplyFields};

const ANY: MatchPattern = MatchPattern::new(None, None, 0);

/// An RTS is stale since the one before it, in the same step, has caused a new age. It is repeated without a request,
/// though no receive requests it any more; but not before the restart that its rejection announces.
#[test]
fn a_stale_offer_is_made_again_by_itself_when_the_restart_has_come() {
    let mut rig = DeviceFixture::new(2, 0);
    for tag in 1..=3 {
        rig.send(0, tag, 50, SendMode::Standard);
    }
    rig.settle();
    rig.silence();
    let mut receives: Vec<_> = [1, 2].map(|tag| rig.post(pattern(tag), 50).0).into();
    rig.speak();
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    receives.push(rig.post(pattern(3), 50).0);
    assert_eq!(rig.moved_together(0), [1, 2].map(|tag| Rts { tag, age: 1 }));
    assert!(rig.replies(1, wire::NCTS)[0].is(ReplyFields::STALE));
    assert_eq!(
        rig.moved(1),
        [Cts { complete: true }, Ncts, Restart { age: 2 }],
        "the first one is older than the restart"
    );
    assert_eq!(rig.moved(0), [2, 3].map(|tag| Rts { tag, age: 2 }));
    rig.settle();
    for receive in receives {
        assert!(rig.outcome(1, receive).is_some());
    }
    assert!(rig.adis[0].is_quiet());
}

/// Rule (e), without a message behind: it is requested again though it reports no other rejected message.
#[test]
fn a_message_that_came_too_early_for_a_receive_is_asked_for_by_it() {
    let mut rig = DeviceFixture::new(2, 0);
    rig.send(0, 1, 50, SendMode::Standard);
    rig.settle();
    let (gone, _) = rig.post(pattern(1), 50);
    rig.moved(1);
    rig.adis[1].cancel(gone);
    rig.adis[1].forget(gone);
    let (receive, _) = rig.post(pattern(1), 50);
    assert_eq!(rig.moved(0), [Rts { tag: 1, age: 1 }]);
    assert!(
        rig.replies(1, wire::NCTS)[0].is(ReplyFields::STALE),
        "{:?}",
        rig.replies(1, wire::NCTS)
    );
    assert_eq!(rig.moved(1), [Ncts, Restart { age: 2 }]);
    rig.settle();
    assert!(rig.outcome(1, receive).is_some());
    assert!(rig.adis[0].is_quiet());
}

/// Rule (d): a requested message whose receive another source has matched is not recorded before a rejected one.
#[test]
fn what_is_offered_out_of_order_is_not_recorded() {
    let mut rig = DeviceFixture::new(3, 1);
    rig.send(1, 9, 300, SendMode::Standard);
    rig.settle();
    for tag in [1, 2] {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    rig.settle();
    let second = MatchPattern::new(None, Some(2), 0);
    rig.post(second, 300);
    assert_eq!(rig.moved(2), [Restart { age: 1 }]);
    let offers = rig.offers(0);
    assert_eq!((offers[0].tag, offers[0].has_flag(wire::Rts::IN_ORDER)), (2, false));
    rig.send(1, 2, 300, SendMode::Standard);
    assert_eq!(rig.moved(1), [Rts { tag: 2, age: 0 }]);
    let nine = MatchPattern::new(Some(Rank::new(1)), Some(9), 0);
    rig.post(nine, 300);
    assert_eq!(rig.adis[2].region.used_bytes(), 0);
    rig.moved(0);
    assert_eq!(rig.replies(2, wire::NCTS).len(), 1, "there is room, but not for it");
    rig.settle();
    let (first, _) = rig.post(ANY, 300);
    rig.settle();
    assert_eq!(rig.outcome(2, first).map(|o| o.tag), Some(1));
}

/// Rule (d): memory is freed between two RTSs of a source, of which the first was rejected.
#[test]
fn nothing_is_recorded_behind_a_refusal_under_the_same_age() {
    let mut rig = DeviceFixture::new(3, 1);
    rig.send(1, 9, 300, SendMode::Standard);
    rig.settle();
    // The first RTS announces that another follows.
    rig.limit(0, TrafficClass::Normal, 0);
    for tag in [1, 2] {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    let (mut packets, _) = rig.injected(0);
    let second = packets.pop().expect("two offers");
    let (dest, class, body) = packets.pop().expect("two offers");
    rig.wires[dest].deliver(class, &body);
    rig.step(dest);
    let nine = MatchPattern::new(Some(Rank::new(1)), Some(9), 0);
    rig.post(nine, 300);
    let (dest, class, body) = second;
    rig.wires[dest].deliver(class, &body);
    rig.step(dest);
    assert_eq!(rig.adis[2].region.records(), 0);
    rig.settle();
    let (first, _) = rig.post(ANY, 300);
    rig.settle();
    assert_eq!(rig.outcome(2, first).map(|o| o.tag), Some(1));
}

#[test]
fn an_offer_says_whether_all_before_it_was_offered_or_accepted() {
    let mut rig = DeviceFixture::eager(2, 0, 500);
    // A transmitted bcopy, and a message that moves it into the queue.
    rig.send(0, 1, 4, SendMode::Standard);
    rig.send(0, 2, 400, SendMode::Synchronous);
    rig.send(0, 3, 400, SendMode::Synchronous);
    let in_order =
        |rig: &DeviceFixture| -> Vec<_> { rig.offers(0).iter().map(|o| o.has_flag(wire::Rts::IN_ORDER)).collect() };
    assert_eq!(in_order(&rig), [true; 3]);
    rig.settle();
    rig.send(0, 4, 400, SendMode::Standard);
    rig.send(0, 5, 400, SendMode::Standard);
    assert_eq!(in_order(&rig), [false; 2], "what is before them stands refused");
    let eager: Vec<_> = rig
        .offers(0)
        .iter()
        .map(|o| (o.has_flag(wire::Rts::EAGER), o.has_flag(wire::Rts::MORE)))
        .collect();
    assert_eq!(eager, [(false, true); 2]);
}

/// While messages are rejected, at most a window of RTSs is unanswered; otherwise there is no limit.
#[test]
fn offers_are_bounded_while_others_stand_refused() {
    let mut rig = DeviceFixture::new(2, 0);
    for tag in 0..3 * WINDOW as i32 {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    assert_eq!(rig.offers(0).len(), 3 * WINDOW as usize);
    rig.settle();
    for tag in 0..3 * WINDOW as i32 {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    assert_eq!(rig.offers(0).len(), WINDOW as usize);
    rig.settle();
    assert_eq!(rig.adis[0].stats.rts_sent, 6 * u64::from(WINDOW));
    for n in 0..6 * WINDOW as i32 {
        let (receive, _) = rig.post(ANY, 300);
        rig.settle();
        let tag = rig.outcome(1, receive).map(|o| o.tag);
        assert_eq!(tag, Some(n % (3 * WINDOW as i32)));
    }
}

/// A reply that covers bcopies in the queue dequeues all of them; and a restart does not wait for replies that have
/// arrived with it.
#[test]
fn an_answer_covers_messages_that_have_entered_the_queue() {
    let mut rig = DeviceFixture::new(2, 0);
    for tag in 1..=4 {
        rig.post(pattern(tag), 300);
    }
    for tag in 1..=3 {
        rig.send(0, tag, 4, SendMode::Standard);
    }
    rig.send(0, 4, 300, SendMode::Standard);
    rig.send(0, 5, 300, SendMode::Standard);
    assert_eq!(rig.moved_together(0).len(), 5);
    let answers = rig.replies(1, wire::CTS);
    assert_eq!(answers.iter().map(|a| a.before).collect::<Vec<_>>(), [3]);
    assert!(!answers[0].is(ReplyFields::STREAM), "its data is not coming yet");
    rig.settle();
    assert_eq!(rig.adis[0].stats.cts_received, 4);
    let (last, _) = rig.post(pattern(5), 300);
    rig.settle();
    assert!(rig.outcome(1, last).is_some());
    assert!(rig.adis[0].is_quiet());
}

/// Process 1 has accepted a bcopy of process 0. Returns the packets of a message of the other direction, on which the
/// acknowledgement is piggybacked.
fn accepted_with_a_late_acknowledgement(rig: &mut DeviceFixture) -> Vec<Packet> {
    let (first, _) = rig.post(pattern(1), 50);
    rig.send(0, 1, 4, SendMode::Standard);
    // One step, in which no acknowledgement is delayed yet.
    let (packets, _) = rig.injected(0);
    let (dest, class, body) = packets.into_iter().next().expect("an offer");
    rig.wires[dest].deliver(class, &body);
    rig.adis[1].progress(&mut rig.wires[1], &mut rig.buffers);
    assert!(rig.outcome(1, first).is_some());
    let back = SendTo {
        dest: Rank::new(0),
        tag: 7,
        context: 0,
        mode: SendMode::Standard,
    };
    rig.send_to(1, back, 50);
    let (packets, seen) = rig.injected(1);
    assert_eq!(seen, [Rts { tag: 7, age: 0 }], "with the answer");
    packets
}

/// The acknowledgement of a bcopy is piggybacked on a message of the other direction, behind a restart that requests
/// the bcopy. The request then passes to the next message.
#[test]
fn a_request_for_a_message_that_was_taken_passes_to_the_next() {
    for (any_tag, second) in [(true, 2), (false, 1)] {
        let mut rig = DeviceFixture::new(2, 0);
        let packets = accepted_with_a_late_acknowledgement(&mut rig);
        rig.send(0, second, 50, SendMode::Standard);
        rig.send(0, 3, 50, SendMode::Standard);
        rig.moved(0);
        rig.moved(1);
        let asks = MatchPattern::new(Some(Rank::new(0)), (!any_tag).then_some(1), 0);
        let (receive, _) = rig.post(asks, 50);
        assert_eq!(rig.moved(1), [Restart { age: 1 }]);
        assert!(rig.offers(0).is_empty(), "an answer is still to come");
        for (dest, class, body) in packets {
            rig.wires[dest].deliver(class, &body);
            rig.step(dest);
        }
        let offers: Vec<_> = rig.offers(0).iter().map(|o| o.tag).collect();
        assert_eq!(offers, [second]);
        rig.settle();
        assert_eq!(rig.outcome(1, receive).map(|o| o.tag), Some(second));
    }
}

/// As above. The receive of the taken message gets the one that was requested for a later receive, and the message after
/// that is requested for the later one, too. A new message of its tag does not overtake it.
#[test]
fn a_passed_request_leaves_each_receive_its_message() {
    let mut rig = DeviceFixture::new(2, 0);
    let packets = accepted_with_a_late_acknowledgement(&mut rig);
    for (tag, len) in [(2, 50), (3, 51), (2, 52)] {
        rig.send(0, tag, len, SendMode::Standard);
    }
    rig.moved(0);
    rig.moved(1);
    rig.silence();
    let any_tag = MatchPattern::new(Some(Rank::new(0)), None, 0);
    let receives = [any_tag, pattern(2)].map(|pattern| rig.post(pattern, 99).0);
    rig.speak();
    rig.moved(1);
    for (dest, class, body) in packets {
        rig.wires[dest].deliver(class, &body);
        rig.step(dest);
    }
    rig.send(0, 2, 53, SendMode::Standard);
    rig.settle();
    let found = receives.map(|receive| rig.outcome(1, receive).map(|outcome| outcome.bytes));
    assert_eq!(found, [Some(50), Some(52)]);
}

/// Two messages are rejected, and a third is in flight when a restart requests the second, which is then cancelled.
#[test]
fn a_message_taken_back_leaves_those_to_be_offered_again_in_their_places() {
    let mut rig = DeviceFixture::new(2, 0);
    let sends = [1, 2].map(|tag| rig.send(0, tag, 50, SendMode::Standard));
    rig.settle();
    rig.send(0, 3, 50, SendMode::Standard);
    rig.limit(0, TrafficClass::Normal, 1);
    rig.send(0, 4, 50, SendMode::Standard);
    rig.post(pattern(2), 50);
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    rig.adis[0].cancel(sends[1]);
    rig.unlimit(0, TrafficClass::Normal);
    rig.settle();
    assert!(rig.outcome(0, sends[1]).is_some_and(|o| o.cancelled));
    for tag in [1, 3, 4] {
        let (receive, key) = rig.post(pattern(tag), 50);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some(), "{tag}");
        assert_eq!(rig.buffers.0[key], [tag as u8; 50]);
    }
    assert!(rig.adis[0].is_quiet());
}

/// As above; it only waits for injection, and a message without an RTS so far is behind it.
#[test]
fn a_message_taken_back_before_it_is_offered_again_is_not_offered() {
    let mut rig = DeviceFixture::new(2, 0);
    let sends = [1, 2, 3].map(|tag| rig.send(0, tag, 50, SendMode::Standard));
    rig.settle();
    rig.limit(0, TrafficClass::Normal, 0);
    rig.send(0, 4, 50, SendMode::Standard);
    rig.silence();
    for tag in [1, 3] {
        rig.post(pattern(tag), 50);
    }
    rig.speak();
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    rig.adis[0].cancel(sends[0]);
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    let offers: Vec<_> = rig
        .offers(0)
        .iter()
        .map(|o| (o.tag, o.has_flag(wire::Rts::FOLLOWS), o.has_flag(wire::Rts::MORE)))
        .collect();
    assert_eq!(offers, [(3, true, true), (4, false, true)]);
    rig.settle();
    assert!(rig.outcome(0, sends[0]).is_some_and(|o| o.cancelled));
    // A rejected one is subtracted from the count, too.
    rig.adis[0].cancel(sends[1]);
    rig.step(0);
    rig.settle();
    rig.post(pattern(4), 50);
    rig.moved(1);
    let offers: Vec<_> = rig
        .offers(0)
        .iter()
        .map(|o| (o.tag, o.has_flag(wire::Rts::MORE)))
        .collect();
    assert_eq!(offers, [(4, false)]);
    rig.settle();
    assert!(rig.adis[0].is_quiet());
}

#[test]
fn a_restart_that_finds_an_empty_queue_is_closed_by_done() {
    let mut rig = DeviceFixture::new(2, 0);
    let send = rig.send(0, 1, 50, SendMode::Standard);
    rig.settle();
    rig.post(pattern(1), 50);
    let (restart, _) = rig.injected(1);
    rig.adis[0].cancel(send);
    rig.step(0);
    rig.settle();
    assert!(rig.outcome(0, send).is_some_and(|o| o.cancelled));
    rig.limit(0, TrafficClass::Normal, 0);
    for (dest, class, body) in restart {
        rig.wires[dest].deliver(class, &body);
        rig.step(dest);
    }
    assert!(!rig.adis[0].is_quiet(), "it owes an answer");
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    assert_eq!(rig.moved(0), [Done]);
    assert!(rig.adis[0].is_quiet() && rig.adis[1].peers.has_no_rejected());
    let later = rig.send(0, 1, 50, SendMode::Standard);
    assert_eq!(rig.moved(0), [Rts { tag: 1, age: 1 }]);
    rig.settle();
    assert!(rig.outcome(0, later).is_some());
}

/// A source without an RTS to send in its turn passes the turn on.
#[test]
fn a_source_that_is_done_while_there_is_memory_passes_its_turn_on() {
    let mut rig = DeviceFixture::new(4, 1);
    rig.send(0, 9, 300, SendMode::Standard);
    rig.settle();
    let send = rig.send(1, 1, 300, SendMode::Standard);
    rig.send(2, 2, 300, SendMode::Standard);
    rig.settle();
    rig.post(pattern(9), 300);
    let (restart, _) = rig.injected(3);
    rig.adis[1].cancel(send);
    rig.step(1);
    rig.settle();
    for (dest, class, body) in restart {
        rig.wires[dest].deliver(class, &body);
        rig.step(dest);
    }
    assert_eq!(rig.moved(1), [Done]);
    assert_eq!(rig.moved(3), [Restart { age: 1 }], "to node 2");
    assert_eq!(rig.moved(2), [Rts { tag: 2, age: 1 }]);
    assert_eq!(rig.moved(3), [Nctsd]);
}
