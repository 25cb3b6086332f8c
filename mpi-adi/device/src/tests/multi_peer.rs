//! Several sources, destinations and contexts.

use msg_layer::TrafficClass;

use super::fixture::SeenPacket::{Data, Nctsd, Restart, Rts};
use super::fixture::{DeviceFixture, pattern, pieces};
use crate::envelope::{Context, MatchPattern, Rank};
use crate::request::{RequestId, RequestOutcome, SendMode};
use crate::send::SendTo;

fn to(dest: u32, tag: i32, context: Context) -> SendTo {
    SendTo {
        dest: Rank::new(dest),
        tag,
        context,
        mode: SendMode::Standard,
    }
}

const ANYBODY: MatchPattern = MatchPattern::new(None, Some(7), 0);

/// All waiting sources are asked, a few at a time, until one has the requested message.
#[test]
fn all_who_wait_are_asked_in_turn() {
    const SOURCES: usize = 40;
    for by_probe in [false, true] {
        for has_it in [0, 19, SOURCES - 1] {
            let mut rig = DeviceFixture::new(SOURCES as u16 + 1, 0);
            for source in 0..SOURCES {
                let tag = if source == has_it { 7 } else { 8 };
                rig.send(source, tag, 50, SendMode::Standard);
            }
            rig.settle();
            if by_probe {
                assert_eq!(rig.adis[SOURCES].iprobe(ANYBODY), Ok(None));
                rig.step(SOURCES);
                rig.settle();
                let found = rig.adis[SOURCES].iprobe(ANYBODY).unwrap();
                assert_eq!(found.map(|found| found.envelope.source), Some(Rank::new(has_it as u32)));
            } else {
                let (receive, _) = rig.post(ANYBODY, 50);
                rig.settle();
                let outcome = rig.outcome(SOURCES, receive);
                assert_eq!(outcome.map(|o| o.source), Some(Rank::new(has_it as u32)));
            }
        }
    }
}

/// Destinations are served in round robin, and messages rejected by one block none to another.
#[test]
fn offers_to_several_destinations_take_turns() {
    let mut rig = DeviceFixture::new(4, 0);
    rig.limit(0, TrafficClass::Normal, 0);
    for tag in 0..3 {
        for dest in 1..4 {
            rig.send_to(0, to(dest, tag, 0), 300);
        }
    }
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    let shape = rig.adis[0].identity.shape;
    let order = |rig: &DeviceFixture| -> Vec<u32> {
        let out = rig.wires[0].sent().iter();
        out.map(|sent| shape.rank(sent.dest).unwrap()).collect()
    };
    assert_eq!(order(&rig), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    // Node 3 has no memory; the others have. One of them is complete immediately.
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 3);
    assert_eq!(rig.adis[3].stats.ncts_sent, 3);
    rig.silence();
    let receives = [2, 0].map(|tag| rig.post(pattern(tag), 300).0);
    rig.speak();
    rig.limit(0, TrafficClass::Normal, 0);
    for dest in [1, 2] {
        rig.send_to(0, to(dest, 5, 0), 300);
    }
    rig.moved(3);
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    assert_eq!(order(&rig), [1, 2, 3, 3]);
    rig.settle();
    for receive in receives {
        assert!(rig.outcome(3, receive).is_some());
    }
    let (last, _) = rig.post(pattern(1), 300);
    rig.settle();
    assert!(rig.outcome(3, last).is_some() && rig.adis[0].is_quiet());
}

/// Receives of any tag match only messages of their context, with the same tag or not.
#[test]
fn what_is_asked_for_is_of_the_receives_context() {
    let mut rig = DeviceFixture::new(2, 0);
    for (tag, context) in [(1, 5), (2, 6), (1, 6), (3, 5), (4, 6), (1, 6)] {
        rig.send_to(0, to(1, tag, context), 50);
    }
    rig.settle();
    rig.silence();
    let of = |tag, context| MatchPattern::new(Some(Rank::new(0)), tag, context);
    let patterns = [of(None, 6), of(None, 6), of(Some(1), 6), of(None, 5), of(None, 6)];
    let receives: Vec<RequestId> = patterns.map(|pattern| rig.post(pattern, 50).0).into();
    rig.speak();
    assert_eq!(rig.moved(1), [Restart { age: 1 }]);
    let offers: Vec<_> = rig.offers(0).iter().map(|o| (o.tag, o.context)).collect();
    assert_eq!(offers, [(1, 5), (2, 6), (1, 6), (4, 6), (1, 6)]);
    rig.settle();
    let tags = receives.iter().map(|&id| rig.outcome(1, id).map(|o| o.tag));
    assert_eq!(tags.collect::<Vec<_>>(), [2, 1, 1, 1, 4].map(Some));
    let (last, _) = rig.post(of(Some(3), 5), 50);
    rig.settle();
    assert!(rig.outcome(1, last).is_some());
    assert!(rig.adis.iter().all(|adi| adi.is_quiet()));
}

/// Messages of two sources have the same ID: only the cancelled one is discarded.
#[test]
fn a_message_taken_back_is_told_from_another_sources() {
    let mut rig = DeviceFixture::new(3, 2);
    let sends = [0, 1].map(|from| rig.send(from, 1, 300, SendMode::Synchronous));
    assert_eq!(rig.offers(0)[0].request, rig.offers(1)[0].request);
    for from in [0, 1] {
        rig.moved(from);
        assert_eq!(rig.moved(2), [Nctsd]);
    }
    rig.adis[1].cancel(sends[1]);
    rig.step(1);
    rig.settle();
    assert!(rig.outcome(1, sends[1]).is_some_and(|o| o.cancelled));
    let any = MatchPattern::new(None, Some(1), 0);
    let (receive, _) = rig.post(any, 300);
    rig.settle();
    let expected = RequestOutcome {
        source: Rank::new(0),
        tag: 1,
        bytes: 300,
        truncated: false,
        cancelled: false,
    };
    assert_eq!(rig.outcome(2, receive), Some(expected));
    assert!(rig.outcome(0, sends[0]).is_some());
    rig.assert_clean();
}

/// Remains of a context: bcopies, sends that were given up, unexpected messages; and of the next one, which is for its
/// collectives.
#[test]
fn a_context_is_idle_when_nothing_of_it_is_left() {
    for context in [4, 5] {
        // A bcopy, and a message that is too long.
        for len in [4, 300] {
            let mut rig = DeviceFixture::new(2, 64);
            let idle = |rig: &mut DeviceFixture, node: usize| [2, 4, 6].map(|c| rig.adis[node].context_is_idle(c));
            assert_eq!(idle(&mut rig, 0), [true; 3]);
            let send = rig.send_to(0, to(1, 1, context), len);
            assert_eq!(idle(&mut rig, 0), [true, false, true]);
            rig.adis[0].forget(send);
            assert_eq!(idle(&mut rig, 0), [true, false, true]);
            rig.settle();
            assert_eq!(idle(&mut rig, 0), [true; 3], "it is the receiver's");
            assert_eq!(idle(&mut rig, 1), [true, false, true]);
            let pattern = MatchPattern::new(None, None, context);
            let (receive, _) = rig.post(pattern, 300);
            assert!(rig.outcome(1, receive).is_some());
            assert_eq!(idle(&mut rig, 1), [true; 3]);
        }
    }
}

#[test]
fn a_device_knows_who_it_is_and_which_requests_there_are() {
    let mut rig = DeviceFixture::new(3, 1);
    for rank in 0..3 {
        let adi = &rig.adis[rank as usize];
        assert_eq!((adi.rank(), adi.size()), (Rank::new(rank), 3));
        assert_eq!(adi.shape().rank(adi.own_coord()), Some(rank));
    }
    let send = rig.send(0, 1, 4, SendMode::Standard);
    assert!(rig.adis[0].is_done(send) && rig.adis[0].has_request(send));
    assert!(
        rig.adis[0].completed_outcome(send).is_some_and(|o| o.tag == 1),
        "and is left there"
    );
    assert!(rig.outcome(0, send).is_some());
    assert!(!rig.adis[0].has_request(send) && rig.adis[0].is_done(send));
}

/// Each pending packet prevents a device from being quiet.
#[test]
fn a_device_is_quiet_when_it_has_nothing_to_send() {
    // Data: eagerly, and after its CTS.
    for limit in [0, 500] {
        let mut rig = DeviceFixture::eager(2, 0, limit);
        rig.post(pattern(1), 500);
        rig.limit(0, TrafficClass::Normal, 1);
        rig.send(0, 1, 500, SendMode::Standard);
        // The RTS, and all data but the last packet.
        for _ in 0..pieces(500).count() {
            assert!(!rig.adis[0].is_quiet(), "{limit}");
            rig.moved(0);
            rig.moved(1);
            rig.step(0);
        }
        let seen = rig.moved(0);
        assert!(seen.len() == 1 && seen != [Rts { tag: 1, age: 0 }]);
        assert!(matches!(seen[0], Data { .. }) == (limit == 0));
        rig.settle();
        assert!(rig.adis.iter().all(|adi| adi.is_quiet()));
    }
    // The CTS of a receive that has matched a record without a buffer; a CANCEL.
    let mut rig = DeviceFixture::new(2, 1);
    let send = rig.send(0, 1, 300, SendMode::Standard);
    rig.settle();
    rig.limit(0, TrafficClass::Normal, 0);
    rig.adis[0].cancel(send);
    assert!(!rig.adis[0].is_quiet());
    rig.silence();
    rig.post(pattern(1), 300);
    assert!(!rig.adis[1].is_quiet());
    rig.speak();
    assert!(rig.adis[1].is_quiet());
}

/// Unreceived messages block no process in MPI_Finalize, with any amount of memory.
#[test]
fn what_stands_refused_keeps_nobody() {
    for records in [0, 1, 8] {
        let mut rig = DeviceFixture::new(2, records);
        rig.send(0, 1, 300, SendMode::Standard);
        rig.send(0, 2, 300, SendMode::Standard);
        assert!(!rig.adis[0].may_exit(), "neither has been answered");
        rig.settle();
        assert!(rig.adis.iter().all(|adi| adi.may_exit()), "{records}");
        assert_eq!(rig.adis[0].is_quiet(), records >= 2);
    }
    // A copied message is complete for the program, and still stored in its device.
    let mut rig = DeviceFixture::new(2, 0);
    let span = rig.span(vec![1; 4]);
    let copied = rig.adis[0].send_within_call(&mut rig.buffers, to(1, 1, 0), span);
    assert_eq!(copied, Ok(None));
    assert!(!rig.adis[0].may_exit(), "it has still to leave");
    rig.step(0);
    rig.settle();
    assert!(rig.adis.iter().all(|adi| adi.may_exit()));
    assert!(!rig.adis[0].is_quiet());
    // With a matching receive, its restart is pending.
    let mut rig = DeviceFixture::new(2, 0);
    let send = rig.send(0, 1, 300, SendMode::Standard);
    rig.settle();
    rig.silence();
    let (receive, _) = rig.post(pattern(1), 300);
    assert!(rig.adis[0].may_exit() && !rig.adis[1].may_exit());
    rig.speak();
    assert!(rig.adis[1].may_exit());
    rig.settle();
    assert!(rig.adis.iter().all(|adi| adi.is_quiet()));
    assert!(rig.outcome(1, receive).is_some() && rig.outcome(0, send).is_some());
}
