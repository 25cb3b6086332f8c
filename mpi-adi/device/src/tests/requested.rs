//! Contents of restarts (listed receives and `room`), and the sender's reaction.

use msg_layer::TrafficClass;

use super::fixture::SeenPacket::{Cts, Nctsd, Restart, Rts};
use super::fixture::{DeviceFixture, data, pattern};
use crate::envelope::{MatchPattern, Rank};
use crate::request::{RequestId, SendMode};
use crate::wire::{self, RESTART_ENTRIES, ROOM_FOR_ALL, RestartEntry};

/// A receive of any tag from any source, in the context of [`pattern`].
const ANY: MatchPattern = MatchPattern::new(None, None, 0);

/// Sends rejected messages of these tags from node 0, in this order.
fn refused(rig: &mut DeviceFixture, tags: impl IntoIterator<Item = i32>) -> Vec<RequestId> {
    let sends = tags.into_iter();
    let sends = sends.map(|tag| rig.send(0, tag, 50, SendMode::Standard));
    let sends = sends.collect();
    rig.settle();
    sends
}

#[test]
fn a_restart_names_receives_in_the_order_of_posting() {
    let mut rig = DeviceFixture::new(2, 0);
    refused(&mut rig, [1, 2, 1]);
    rig.silence();
    // The first receive gets the first message, so the second one requests the third.
    let (any, _) = rig.post(ANY, 50);
    let (one, _) = rig.post(pattern(1), 50);
    rig.speak();
    let entry = |tag, exact| RestartEntry::new(0, tag, exact);
    let [restart] = &rig.restarts(1)[..] else {
        panic!("one restart")
    };
    assert_eq!(restart.entries[..], [entry(None, false), entry(Some(1), true)]);
    assert_eq!((restart.horizon, restart.room), (2, 0));
    rig.moved(1);
    let offers = rig.offers(0);
    let said: Vec<_> = offers.iter().map(|o| (o.tag, o.asked)).collect();
    assert_eq!(said, [(1, Some(2)), (1, Some(2))]);
    rig.settle();
    assert_eq!(rig.outcome(1, any).map(|o| o.tag), Some(1));
    assert!(rig.outcome(1, one).is_some());
    let (two, _) = rig.post(pattern(2), 50);
    rig.settle();
    assert!(rig.outcome(1, two).is_some());
    assert!(rig.adis[0].is_quiet());
}

/// A message is cancelled that a restart has requested. Its receive takes the message that was requested for a later
/// receive, which must not take a message behind one that nobody has requested.
#[test]
fn receives_keep_the_order_of_messages_when_a_requested_one_is_cancelled() {
    let any_tag = MatchPattern::new(Some(Rank::new(0)), None, 0);
    // The tags of the rejected messages; the second receive; the messages that the two receives must get.
    let cases = [([1, 2, 3, 2], pattern(2), [1, 3]), ([1, 1, 3, 1], any_tag, [1, 2])];
    for (number, (tags, second, expected)) in cases.into_iter().enumerate() {
        let mut rig = DeviceFixture::new(2, 0);
        let send = |rig: &mut DeviceFixture, at: usize, tag| rig.send(0, tag, 50 + at, SendMode::Standard);
        let sends: Vec<_> = { tags.into_iter().enumerate() }
            .map(|(at, tag)| send(&mut rig, at, tag))
            .collect();
        rig.settle();
        rig.silence();
        let first = if number == 0 { any_tag } else { pattern(1) };
        let receives = [first, second].map(|pattern| rig.post(pattern, 99).0);
        rig.speak();
        rig.limit(0, TrafficClass::Normal, 0);
        rig.moved(1);
        rig.adis[0].cancel(sends[0]);
        send(&mut rig, tags.len(), tags[3]);
        rig.unlimit(0, TrafficClass::Normal);
        rig.step(0);
        rig.settle();
        let found = receives.map(|receive| rig.outcome(1, receive).map(|outcome| outcome.bytes));
        assert_eq!(found, expected.map(|at| Some(50 + at)), "case {number}");
    }
}

/// Random queues and receives, with messages cancelled after a restart has requested them. Each receive, in the order of
/// posting, must get the first message that it matches and that no earlier receive takes.
#[test]
fn receives_get_their_messages_whichever_are_cancelled() {
    for seed in 0..4_000 {
        let mut random = oorandom::Rand32::new(seed);
        let mut below = |limit: usize| random.rand_range(0..limit as u32) as usize;
        // With many tags, the queue does not distinguish all patterns.
        let kinds = if seed % 4 == 0 { 12 } else { 3 };
        let tags: Vec<_> = (0..2 + below(4 * kinds)).map(|_| 1 + below(kinds) as i32).collect();
        let asked: Vec<_> = (0..1 + below(2 * kinds)).map(|_| below(kinds + 1) as i32).collect();
        let mut cancelled: Vec<_> = (0..1 + below(3)).map(|_| below(tags.len())).collect();
        cancelled.dedup();
        let mut rig = DeviceFixture::new(2, 0);
        let send = |rig: &mut DeviceFixture, at, tag| rig.send(0, tag, 50 + at, SendMode::Standard);
        let sends: Vec<_> = { tags.iter().enumerate() }
            .map(|(at, tag)| send(&mut rig, at, *tag))
            .collect();
        rig.settle();
        rig.silence();
        let post = |tag: &i32| MatchPattern::new(Some(Rank::new(0)), (*tag > 0).then_some(*tag), 0);
        let receives: Vec<_> = asked.iter().map(|tag| rig.post(post(tag), 200).0).collect();
        rig.speak();
        rig.limit(0, TrafficClass::Normal, 0);
        rig.moved(1);
        cancelled.iter().for_each(|at| {
            rig.adis[0].cancel(sends[*at]);
        });
        let late: Vec<_> = (0..kinds).map(|at| (tags.len() + at, 1 + at as i32)).collect();
        late.iter().for_each(|(at, tag)| {
            send(&mut rig, *at, *tag);
        });
        rig.unlimit(0, TrafficClass::Normal);
        rig.step(0);
        rig.settle();
        let mut left: Vec<_> = tags.into_iter().enumerate().chain(late).collect();
        left.retain(|(at, _)| !cancelled.contains(at));
        for (tag, receive) in asked.into_iter().zip(receives) {
            let first = left.iter().position(|(_, of)| tag == 0 || tag == *of);
            let expected = first.map(|first| 50 + left.remove(first).0);
            let found = rig.outcome(1, receive).map(|outcome| outcome.bytes);
            assert_eq!(found, expected, "seed {seed}, a receive of tag {tag}");
        }
    }
}

/// The receive of a cancelled message could take the message of each of many others: more than the queue distinguishes.
#[test]
fn receives_of_many_tags_keep_the_order_when_a_requested_message_is_cancelled() {
    const TAGS: i32 = 12;
    let mut rig = DeviceFixture::new(2, 0);
    let tags = [99].into_iter().chain(1..=TAGS).chain(1..=TAGS);
    let sends = refused(&mut rig, tags);
    rig.silence();
    let any_tag = MatchPattern::new(Some(Rank::new(0)), None, 0);
    let receives: Vec<_> = { [any_tag].into_iter().chain((1..=TAGS).map(pattern)) }
        .map(|pattern| rig.post(pattern, 50).0)
        .collect();
    rig.speak();
    rig.limit(0, TrafficClass::Normal, 0);
    rig.moved(1);
    rig.adis[0].cancel(sends[0]);
    rig.send(0, 1, 10, SendMode::Standard);
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    rig.settle();
    // The first receive takes the first message of tag 1, and the second receive the next one of it.
    for (receive, tag) in receives.into_iter().zip([1].into_iter().chain(1..=TAGS)) {
        let found = rig.outcome(1, receive).map(|outcome| (outcome.tag, outcome.bytes));
        assert_eq!(found, Some((tag, 50)));
    }
}

#[test]
fn receives_that_one_restart_cannot_all_name_are_asked_for_with_everything() {
    let most = RESTART_ENTRIES as i32;
    // Exact receives only; and with one wildcard receive among them.
    for (posted, wildcards) in [(most, 0), (most + 1, 0), (most, 1), (most + 1, 1), (0, most + 1)] {
        let mut rig = DeviceFixture::new(2, 0);
        let sends = refused(&mut rig, 0..3 * most);
        rig.silence();
        let mut receives: Vec<_> = (0..posted).map(|tag| rig.post(pattern(2 * tag), 50).0).collect();
        for tag in 0..wildcards {
            let wildcards = MatchPattern::new(None, Some(2 * tag + 1), 0);
            receives.push(rig.post(wildcards, 50).0);
        }
        rig.speak();
        let fits = posted + wildcards <= most;
        let restarts = rig.restarts(1);
        assert_eq!(restarts.len(), 1);
        let (entries, room) = (restarts[0].entries.len(), restarts[0].room);
        let expected = if fits { (posted as usize, 0) } else { (0, ROOM_FOR_ALL) };
        assert_eq!((entries, room), expected, "{posted} and {wildcards}");
        rig.settle();
        for id in receives {
            assert!(rig.outcome(1, id).is_some(), "{posted} and {wildcards}");
        }
        let offered = rig.adis[0].stats.rts_sent - 3 * most as u64;
        if fits {
            assert_eq!(offered, posted as u64, "no other than those asked for");
        }
        for tag in 0..3 * most {
            let is_taken = tag % 2 == 0 && tag < 2 * posted || tag % 2 == 1 && tag < 2 * wildcards;
            if !is_taken {
                let (receive, key) = rig.post(pattern(tag), 50);
                rig.settle();
                assert!(rig.outcome(1, receive).is_some());
                assert_eq!(rig.buffers.0[key], [tag as u8; 50]);
            }
        }
        assert!(sends.into_iter().all(|id| rig.outcome(0, id).is_some()));
        rig.assert_clean();
    }
}

/// Probes follow the receives; when they do not fit, the restart requests all messages.
#[test]
fn a_restart_names_probes_for_its_source() {
    for probes in [1, RESTART_ENTRIES as i32, RESTART_ENTRIES as i32 + 1] {
        let mut rig = DeviceFixture::new(3, 0);
        refused(&mut rig, [60, 61]);
        rig.silence();
        for tag in 0..probes {
            assert_eq!(rig.adis[2].iprobe(pattern(tag)), Ok(None));
        }
        let other = MatchPattern::new(Some(Rank::new(1)), Some(70), 0);
        assert_eq!(rig.adis[2].iprobe(other), Ok(None), "not for node 0");
        rig.speak();
        let restarts = rig.restarts(2);
        assert_eq!(restarts.len(), 1);
        let fits = probes <= RESTART_ENTRIES as i32;
        assert_eq!(restarts[0].room, if fits { 0 } else { ROOM_FOR_ALL });
        let tags: Vec<_> = restarts[0].entries.iter().map(|e| (e.tag(), e.is_exact())).collect();
        let all = (0..probes).map(|tag| (Some(tag), false));
        assert_eq!(tags, if fits { all.collect() } else { vec![] });
    }
}

/// A restart has `room` for messages from the head of the queue. The resulting RTSs report the state of the queue, so
/// that nothing more is requested than exists.
#[test]
fn what_a_restart_has_room_for_is_counted_off_what_stands_refused() {
    let mut rig = DeviceFixture::new(2, 1);
    for tag in 1..=3 {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    rig.settle();
    for (tag, more) in [(1, true), (2, false)] {
        rig.post(pattern(tag), 300);
        assert_eq!(rig.moved(1), [Restart { age: tag as u8 }, Cts { complete: false }]);
        let offers = rig.offers(0);
        assert_eq!(offers.len(), 1);
        let offer = (
            offers[0].tag,
            offers[0].has_flag(wire::Rts::MORE),
            offers[0].has_flag(wire::Rts::FOLLOWS),
        );
        assert_eq!(offer, (tag + 1, more, false));
        rig.moved(0);
        assert_eq!(rig.moved(1), [Nctsd]);
    }
    assert!(!rig.adis[1].starves_others());
    rig.post(pattern(9), 1);
    assert_eq!(rig.moved(1), [], "there is nothing to ask for");
    rig.post(pattern(3), 300);
    rig.settle();
    rig.send(0, 9, 1, SendMode::Standard);
    rig.settle();
    assert!(rig.adis[0].is_quiet());
}

#[test]
fn an_offer_says_whether_another_follows() {
    let mut rig = DeviceFixture::new(2, 0);
    refused(&mut rig, [1, 2, 3]);
    rig.silence();
    for tag in [1, 3] {
        rig.post(pattern(tag), 50);
    }
    rig.speak();
    rig.limit(0, TrafficClass::Normal, 0);
    rig.moved(1);
    rig.send(0, 4, 50, SendMode::Standard);
    rig.send(0, 5, 50, SendMode::Standard);
    rig.unlimit(0, TrafficClass::Normal);
    rig.step(0);
    let said: Vec<_> = rig
        .offers(0)
        .iter()
        .map(|o| (o.tag, o.has_flag(wire::Rts::FOLLOWS)))
        .collect();
    assert_eq!(said, [(1, true), (3, true), (4, true), (5, false)]);
    // The same, with no message behind the repeated ones.
    let mut rig = DeviceFixture::new(2, 0);
    refused(&mut rig, [1, 2, 3]);
    rig.silence();
    for tag in [1, 3] {
        rig.post(pattern(tag), 50);
    }
    rig.speak();
    rig.moved(1);
    let said: Vec<_> = rig
        .offers(0)
        .iter()
        .map(|o| (o.tag, o.has_flag(wire::Rts::FOLLOWS), o.has_flag(wire::Rts::MORE)))
        .collect();
    assert_eq!(said, [(1, true, true), (3, false, true)]);
}

/// One of three records is freed while three sources wait.
#[test]
fn as_many_sources_are_restarted_as_records_come_free() {
    let mut rig = DeviceFixture::new(5, 3);
    for tag in 1..=3 {
        rig.send(0, tag, 300, SendMode::Standard);
    }
    rig.settle();
    for from in 1..=3 {
        rig.send(from, 7, 300, SendMode::Standard);
    }
    rig.settle();
    let (receive, _) = rig.post(pattern(1), 300);
    let restarts = rig.restarts(4);
    assert_eq!(restarts.len(), 1);
    assert_eq!(restarts[0].room, 1);
    assert_eq!(rig.moved(4), [Restart { age: 1 }, Cts { complete: false }]);
    assert_eq!(rig.moved(0), data(300));
    assert_eq!(rig.moved(1), [Rts { tag: 7, age: 1 }]);
    assert!(rig.outcome(4, receive).is_some());
}
