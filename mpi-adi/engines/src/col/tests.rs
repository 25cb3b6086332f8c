//! Tests of profiles, levels and search order, and comparison with the list engine.

use super::*;
use crate::fixture::{MatchingFixture, OperationMix, compare, envelope, order};
use midplane_device::envelope::Tag;
use midplane_device::matching::MatchingEngine;

const GATHER: Tag = 4;
const SCAN: Tag = 8;

/// Returns the number of queues and levels.
fn made<I>(queues: &CollectiveQueues<I>) -> (usize, u16) {
    (queues.used, queues.made)
}

/// Records messages of all `sources`, and receives them in reverse order.
fn gather(rig: &mut MatchingFixture<ColEngine>, sources: core::ops::Range<u32>, tag: Tag, context: Context) {
    for source in sources.clone() {
        rig.record(envelope(source, tag, context)).unwrap();
    }
    for source in sources.rev() {
        assert!(rig.receive(envelope(source, tag, context).pattern()).is_ok());
    }
    rig.check();
}

#[test]
fn the_second_call_has_as_many_queues_as_the_first_one_looked_at() {
    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    gather(&mut rig, 1..20, GATHER, 1);
    assert_eq!(
        made(&rig.engine.unexpected.collective),
        (0, 0),
        "the first call is profiled"
    );
    gather(&mut rig, 1..20, GATHER, 1);
    // The mean of 19, 18, .. 1.
    assert_eq!(made(&rig.engine.unexpected.collective), (10, 1));
    assert_eq!(made(&rig.engine.posted.collective), (0, 0), "its own measures");
    let hops = rig.hops(|rig| gather(rig, 1..20, GATHER, 1));
    // Nineteen elements in ten queues: two in all but one queue, and the second is requested first. Each search also
    // checks its queue.
    assert_eq!(hops, 19 + 9 * 3 + 1);
    gather(&mut rig, 1..20, GATHER, 1);
    assert_eq!(made(&rig.engine.unexpected.collective), (10, 1), "no call makes more");
}

/// Each collective of [`COMMUNICATORS`] communicators has a separate set, which remains when another communicator is
/// freed.
#[test]
fn sets_are_of_a_collective_in_a_communicator() {
    let contexts = (0..COMMUNICATORS as Context).map(|number| 2 * number + 1);
    let sets = contexts.flat_map(|context| (0..OPERATIONS).map(move |of| place(of, context)));
    let mut sets: Vec<usize> = sets.collect();
    sets.sort_unstable();
    assert!(sets.into_iter().eq(0..COMMUNICATORS * usize::from(OPERATIONS)));

    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    for _ in 0..2 {
        gather(&mut rig, 1..20, GATHER, 1);
    }
    rig.record(envelope(5, GATHER, 1)).unwrap();
    let other = 1 + 2 * COMMUNICATORS as Context;
    assert_eq!(place(GATHER as u8, other), place(GATHER as u8, 1));
    assert!(rig.is_idle(other));
    assert!(rig.receive(envelope(5, GATHER, 1).pattern()).is_ok());
    rig.check();
    let hops = rig.hops(|rig| gather(rig, 1..20, GATHER, 1));
    assert_eq!(hops, 19 + 9 * 3 + 1);
}

#[test]
fn posted_receives_are_profiled_by_the_arrivals_that_find_one() {
    let mut rig = MatchingFixture::<ColEngine>::new(1, 1000);
    for call in 0..3 {
        for source in 1..8 {
            rig.post(envelope(source, GATHER, 3).pattern());
        }
        let expected = if call == 0 { (0, 0) } else { (4, 1) };
        assert_eq!(made(&rig.engine.posted.collective), expected);
        assert_eq!(rig.arrive(envelope(8, GATHER, 3)), None, "no part of the mean");
        for source in (1..8).rev() {
            assert!(rig.arrive(envelope(source, GATHER, 3)).is_some());
        }
        rig.check();
    }
}

/// Nonblocking calls overlap.
#[test]
fn the_first_call_is_over_when_its_elements_are_found() {
    let mut rig = MatchingFixture::<ColEngine>::new(1, 1000);
    let all = |rig: &mut MatchingFixture<ColEngine>| {
        for source in 1..8 {
            rig.post(envelope(source, GATHER, 1).pattern());
        }
    };
    all(&mut rig);
    all(&mut rig);
    for source in [7, 6, 5, 4, 3, 2] {
        assert!(rig.arrive(envelope(source, GATHER, 1)).is_some());
        rig.post(envelope(1, GATHER, 1).pattern());
        assert_eq!(made(&rig.engine.posted.collective), (0, 0));
    }
    assert!(rig.arrive(envelope(1, GATHER, 1)).is_some());
    rig.post(envelope(1, GATHER, 1).pattern());
    assert_eq!(made(&rig.engine.posted.collective), (4, 1));
    rig.check();
}

#[test]
fn a_context_that_is_dropped_is_profiled_anew() {
    let mut rig = MatchingFixture::<ColEngine>::new(1, 1000);
    for sources in [1..4, 1..10] {
        for call in 0..2 {
            for source in sources.clone() {
                rig.post(envelope(source, GATHER, 1).pattern());
            }
            for source in sources.clone().rev() {
                assert!(rig.arrive(envelope(source, GATHER, 1)).is_some(), "{call}");
            }
        }
        assert!(rig.is_idle(1));
    }
    assert_eq!(made(&rig.engine.posted.collective), (2 + 5, 2));
}

#[test]
fn new_parameters_make_a_level_if_they_need_more_queues() {
    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    for (context, sources, expected) in [
        (1, 20, (10, 1)),
        (3, 10, (10, 1)), // five do not need a level
        (5, 40, (30, 2)), // twenty do
    ] {
        gather(&mut rig, 1..sources, GATHER, context);
        gather(&mut rig, 1..sources, GATHER, context);
        assert_eq!(made(&rig.engine.unexpected.collective), expected);
    }
    // Another collective has separate levels.
    gather(&mut rig, 1..4, SCAN, 1);
    gather(&mut rig, 1..4, SCAN, 1);
    assert_eq!(made(&rig.engine.unexpected.collective), (32, 3));
    let queues = &rig.engine.unexpected.collective;
    let levels = |tag: Tag| {
        let levels = queues.levels(tag as u8 - 1);
        levels.map(|level| (level.first, level.queues)).collect::<Vec<_>>()
    };
    assert_eq!((levels(GATHER), levels(SCAN)), (vec![(0, 10), (10, 20)], vec![(30, 2)]));
}

/// Checks the search order of algorithm 2 by the hops.
#[test]
fn a_search_goes_from_the_profiling_queue_through_the_levels() {
    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    let waits = rig.record(envelope(77, SCAN, 1)).unwrap();
    let take = |source| {
        move |rig: &mut MatchingFixture<ColEngine>| {
            assert!(rig.receive(envelope(source, GATHER, 1).pattern()).is_ok());
        }
    };
    gather(&mut rig, 1..4, GATHER, 1);
    // Elements checked: 4, 3 and 2, so three queues are created.
    rig.record(envelope(1, GATHER, 1)).unwrap();
    assert_eq!(made(&rig.engine.unexpected.collective), (3, 1));
    gather(&mut rig, 1..11, GATHER, 3);
    // Seven queues: (11 + 10 + ... + 2) / 10.
    let first = rig.record(envelope(1, GATHER, 3)).unwrap();
    assert_eq!(made(&rig.engine.unexpected.collective), (10, 2));
    rig.record(envelope(1, GATHER, 1)).unwrap();
    rig.forget(first);
    assert_eq!(rig.hops(take(1)), 1 + 2, "the profiling queue, level 1");
    assert_eq!(rig.hops(take(1)), 1 + 1 + 2, "level 1 is empty, level 2");
    rig.forget(waits);
    rig.record(envelope(1, GATHER, 1)).unwrap();
    assert_eq!(rig.hops(take(1)), 1 + 2);
    rig.check();
}

#[test]
fn there_are_no_more_queues_than_the_cap() {
    // 8 x sqrt(9): the mean of 100 is 50, of which 24 are available.
    let mut rig = MatchingFixture::<ColEngine>::new(200, 9);
    for tag in [GATHER, SCAN] {
        for _ in 0..3 {
            gather(&mut rig, 0..100, tag, 1);
        }
        assert_eq!(made(&rig.engine.unexpected.collective), (24, 1));
    }
    let queues = &rig.engine.unexpected.collective;
    let bytes = size_of_val(&*queues.dedicated) + size_of_val(&*queues.levels);
    assert_eq!(ColEngine::fixed_bytes(1, 9), 2 * (bytes + size_of_val(&*queues.sets)));
    assert_eq!(
        (ColEngine::fixed_bytes(1, 1024), size_of::<ParameterSetState>()),
        (2 * 6560, 24)
    );
    assert_eq!([256, 8192].map(max_levels), [60, 358]);
}

/// The table of levels is never full before the queues are: one more queue each time, round robin.
#[test]
fn every_queue_can_become_part_of_a_level() {
    for peers in [0, 1, 2, 5, 100, 4096, 1 << 20] {
        let mut queues = CollectiveQueues::<midplane_device::ids::Slot>::new(peers).unwrap();
        for wanted in 1..3000 {
            for operation in 0..OPERATIONS {
                queues.extend(operation, wanted, 0);
            }
        }
        assert_eq!(usize::from(queues.made), queues.levels.len(), "{peers}");
        let bound = 4.0 * ((queues.dedicated.len() * 8) as f64).sqrt();
        assert!((queues.levels.len() as f64) <= bound, "{peers}");
    }
}

#[test]
fn when_the_table_is_full_sets_stay_on_the_profiling_queue() {
    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    let (its, other) = (1, 1 + 2 * COMMUNICATORS as Context);
    for _ in 0..3 {
        gather(&mut rig, 1..4, GATHER, its);
        gather(&mut rig, 1..40, GATHER, other);
    }
    assert_eq!(made(&rig.engine.unexpected.collective), (2, 1));
    let waits = rig.record(envelope(1, GATHER, other)).unwrap();
    assert!(!rig.is_idle(other) && rig.is_idle(its));
    // Now the entry is free.
    gather(&mut rig, 2..40, GATHER, other);
    gather(&mut rig, 2..40, GATHER, other);
    assert_eq!(made(&rig.engine.unexpected.collective).1, 2);
    rig.forget(waits);
    rig.check();
}

#[test]
fn wildcards_and_other_tags_take_part_in_the_order_of_all_queues() {
    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    gather(&mut rig, 1..8, GATHER, 1);
    gather(&mut rig, 1..8, GATHER, 1);
    let any_source = MatchPattern::new(None, Some(GATHER), 1);
    let any = MatchPattern::new(None, None, 1);
    let any_tag = MatchPattern::new(Some(Rank::new(2)), None, 1);
    let tags = [GATHER, 0, 9, SCAN, Tag::MAX, GATHER, 300, GATHER];
    let records = tags.map(|tag| rig.record(envelope(2, tag, 1)));
    for (at, record) in records.into_iter().enumerate() {
        assert_eq!(rig.probe(any), record);
        assert_eq!(rig.probe(any_tag), record);
        let gathered = tags[at..].iter().position(|&tag| tag == GATHER);
        assert_eq!(rig.probe(any_source), records[at + gathered.unwrap()]);
        rig.forget(record.unwrap());
        rig.check();
    }
    for call in 0..3 {
        let exact = envelope(2, GATHER, 1).pattern();
        let slots = [any, exact, any_tag, any_source, exact].map(|pattern| rig.post(pattern));
        rig.cancel(slots[2]);
        for slot in [slots[0], slots[1], slots[3], slots[4]] {
            assert_eq!(rig.arrive(envelope(2, GATHER, 1)), Some(slot), "{call}");
        }
        rig.check();
    }
    assert!(rig.engine.posted.collective.made > 0);
}

#[test]
fn point_to_point_messages_share_one_list() {
    let mut rig = MatchingFixture::<ColEngine>::new(300, 1000);
    for _ in 0..3 {
        for source in 0..90 {
            rig.record(envelope(source, GATHER, 0)).unwrap();
        }
    }
    assert_eq!(made(&rig.engine.unexpected.collective), (0, 0));
    let take = |rig: &mut MatchingFixture<ColEngine>| {
        assert!(rig.receive(envelope(89, GATHER, 0).pattern()).is_ok());
    };
    assert_eq!(rig.hops(take), 90);
    rig.check();
}

#[test]
fn records_keep_their_order_and_queues_when_they_are_numbered_anew() {
    let mut rig = MatchingFixture::<ColEngine>::new(100, 1000);
    rig.record(envelope(3, GATHER, 7)).unwrap();
    rig.record(envelope(3, 5, 0)).unwrap();
    for context in [1, 3] {
        for _ in 0..2 {
            gather(&mut rig, 1..8 * u32::from(context), GATHER, context);
        }
        rig.record(envelope(context.into(), GATHER, context)).unwrap();
    }
    rig.record(envelope(1, GATHER, 1)).unwrap();
    assert_eq!(rig.engine.unexpected.collective.made, 2);
    let before = order(&rig);
    rig.engine.numbers.set_limit(1);
    rig.record(envelope(9, GATHER, 1)).unwrap();
    rig.engine.numbers.set_limit(u32::MAX);
    let after = order(&rig);
    assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 1));
    let marks: Vec<SequenceNumber> = rig.engine.unexpected.marks_mut().map(|mark| *mark).collect();
    assert!(
        marks.iter().all(|&mark| mark <= after.len() as SequenceNumber),
        "{marks:?}"
    );
    rig.check();
    for envelope in after {
        assert!(rig.receive(envelope.pattern()).is_ok());
        rig.check();
    }
    assert!(rig.engine.unexpected.lists().all(ListEnds::is_empty));
}

#[test]
fn whatever_happens_the_results_are_those_of_a_list() {
    let mut made = 0;
    for (seed, peers) in [(1, 8), (2, 40), (3, 500), (4, 3)] {
        let mix = OperationMix {
            peers,
            contexts: 40,
            tags: 10,
            wild: 40,
            operations: 20_000,
            most_arrivals: 900,
        };
        let few = OperationMix {
            contexts: 2,
            tags: 4,
            ..mix
        };
        for mix in [mix, few] {
            let rig = compare::<ColDesign>(seed, &mix);
            let queues = [rig.engine.posted.collective.made, rig.engine.unexpected.collective.made];

            made += queues.into_iter().sum::<u16>();
        }
    }
    assert!(made > 10, "{made}");
}
