//! Tests of partner selection and search order, and comparison with the list engine.

use super::*;
use crate::fixture::{MatchingFixture, OperationMix, compare, envelope, order, region};
use midplane_device::ids::Slot;
use midplane_device::matching::{Matching, MatchingEngine};

fn from(source: u32) -> MatchPattern {
    envelope(source, 0, 0).pattern()
}

/// Returns the source of the n-th of many messages, chosen to create levels.
fn source(n: usize) -> u32 {
    [1, 2, 2, 3][n % 4] + 3 * (n as u32 / 100)
}

/// Posts the specified number of receives from each source.
fn post(rig: &mut MatchingFixture<PnpEngine>, sources: impl IntoIterator<Item = (u32, usize)>) -> Vec<Slot> {
    let sources = sources.into_iter();
    let all = sources.flat_map(|(source, count)| core::iter::repeat_n(source, count));
    all.map(|source| rig.post(from(source))).collect()
}

/// Returns the level of `source` among posted receives, if it is a partner.
fn level(rig: &MatchingFixture<PnpEngine>, source: u32) -> Option<u32> {
    let partner = rig.engine.posted.partner(Rank::new(source), || ());
    partner.map(|partner| partner.level)
}

/// Returns the number of queues and levels of posted receives.
fn made(rig: &MatchingFixture<PnpEngine>) -> (usize, usize) {
    (rig.engine.posted.used, rig.engine.posted.made)
}

#[test]
fn at_the_threshold_who_has_more_than_the_average_becomes_a_partner() {
    // Ten processes: the average of a hundred elements is ten.
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 10);
    post(&mut rig, [(1, 60), (2, 19), (3, 10), (4, 10)]);
    assert_eq!(made(&rig), (0, 0), "99 are below the threshold");
    post(&mut rig, [(5, 1)]);
    assert_eq!(made(&rig), (3, 1), "two partners, one queue for all others");
    let levels = [1, 2, 3, 4, 5, 6].map(|source| level(&rig, source));
    assert_eq!(levels, [Some(0), Some(0), None, None, None, None]);
    rig.check();
}

#[test]
fn in_a_large_job_who_has_an_element_at_the_threshold_becomes_a_partner() {
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 2048);
    post(&mut rig, (0..97).map(|source| (source, 1)));
    post(&mut rig, [(3, 3)]);
    assert_eq!(made(&rig), (98, 1), "97 partners");
    // Figure 9 (d) has 194 queues for FDS at 2,048 processes.
    post(&mut rig, (100..197).map(|source| (source, 1)));
    assert_eq!(made(&rig), (98, 1));
    post(&mut rig, [(196, 3)]);
    assert_eq!(made(&rig), (196, 2));
    assert_eq!((level(&rig, 3), level(&rig, 196)), (Some(0), Some(1)));
    rig.check();
}

#[test]
fn there_are_no_more_queues_than_the_cap() {
    for (peers, cap) in [(11, 26), (16, 32), (1000, 252)] {
        let mut rig = MatchingFixture::<PnpEngine>::new(1, peers);
        post(&mut rig, (0..400).map(|source| (source, 10)));
        let queues = &rig.engine.posted;
        assert_eq!((queues.used, queues.dedicated.len()), (cap, cap), "{peers}");
        let partners = queues.table.iter().flatten().count();
        assert_eq!(partners + queues.made, cap);
        assert!(queues.table.len() > partners);
        let table = size_of_val(&*queues.table);
        let bytes = size_of_val(&*queues.dedicated) + size_of_val(&*queues.levels) + table;
        assert_eq!(PnpEngine::fixed_bytes(1, peers), 2 * bytes);
        assert_eq!(PnpEngine::fixed_bytes(1, 1024), 2 * 10_240);
        rig.check();
    }
}

/// Partners are found among others, and a search for a non-partner ends at a free entry.
#[test]
fn the_table_has_room_and_spreads_sources() {
    for queues in 0..1000 {
        let places = table_places(queues);
        assert!(4 * queues < 3 * places, "{queues} in {places}");
    }
    let partners = PartnerQueues::<Slot>::new(10_000).unwrap();
    let count = partners.table.len();
    let mut places: Vec<usize> = (0..count as u32)
        .map(|source| partners.place(Rank::new(source)))
        .collect();
    places.sort_unstable();
    places.dedup();
    assert!(places.len() > count * 3 / 4, "{} of {count}", places.len());
}

/// The last two queues are one for a partner and one for non-partners.
#[test]
fn no_queue_is_left_while_there_is_room_for_a_partner() {
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 16);
    post(&mut rig, (0..16).map(|source| (source, 100)));
    assert_eq!(made(&rig), (32, 16));
    rig.check();
}

#[test]
fn when_the_cap_allows_few_those_with_the_most_elements_become_partners() {
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 2);
    let slots = post(&mut rig, (0..20).map(|source| (source, 2)));
    for slot in slots {
        rig.cancel(slot);
    }
    assert_eq!(made(&rig), (0, 0));
    // Eleven queues: ten partners. The average of two processes is fifty, so only one is above it.
    post(&mut rig, [(7, 49), (8, 51)]);
    assert_eq!((made(&rig), level(&rig, 8)), ((2, 1), Some(0)));
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 200);
    rig.engine.posted.dedicated = try_boxed_slice(ListEnds::default(), 4).unwrap();
    post(&mut rig, [(9, 5), (3, 30), (4, 5), (5, 30), (6, 30)]);
    let levels = [9, 3, 4, 5, 6].map(|source| level(&rig, source));
    assert_eq!(levels, [None, Some(0), None, Some(0), Some(0)]);
}

/// Checks the search order of figure 4 by the hops.
#[test]
fn a_search_goes_from_the_base_queue_to_the_partners_own() {
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 200);
    let base = post(&mut rig, [(1, 100)]);
    let shared = post(&mut rig, [(2, 99), (3, 1)]);
    assert_eq!(
        (level(&rig, 1), level(&rig, 2), level(&rig, 3)),
        (Some(0), Some(1), Some(1))
    );
    post(&mut rig, [(4, 1), (3, 1), (1, 1)]);
    // The base queue, level 0 and its hundred elements, level 1 and the partner's queue.
    let seek =
        |source| move |rig: &mut MatchingFixture<PnpEngine>| assert!(rig.arrive(envelope(source, 0, 0)).is_some());
    let nothing =
        |source| move |rig: &mut MatchingFixture<PnpEngine>| assert!(rig.arrive(envelope(source, 1, 0)).is_none());
    let places = |rig: &MatchingFixture<PnpEngine>, source| {
        let mut places = 0;
        rig.engine.posted.partner(Rank::new(source), || places += 1);
        places
    };
    let other = places(&rig, 4);
    assert_eq!(rig.hops(seek(4)), other + 100 + 101 + 2);
    post(&mut rig, [(4, 1)]);
    let [one, three] = [1, 3].map(|source| places(&rig, source));
    assert_eq!(rig.hops(nothing(1)), one + 100 + 101 + 2, "level 0 only, then its own");
    assert_eq!(rig.hops(nothing(3)), three + 100 + 101 + 2 + 2);
    assert_eq!(rig.hops(seek(1)), one + 1, "the oldest is in the base queue");
    assert_eq!(rig.hops(seek(3)), three + 99 + 101);
    for &slot in base[1..].iter().chain(&shared[..99]) {
        rig.cancel(slot);
    }
    assert_eq!(rig.hops(seek(3)), three + 1 + 2 + 2, "what is left is in its own queue");
    rig.check();
}

#[test]
fn wildcards_take_part_in_the_order_of_all_queues() {
    let mut rig = MatchingFixture::<PnpEngine>::new(400, 200);
    let any = MatchPattern::new(None, Some(0), 0);
    let any_tag = MatchPattern::new(Some(Rank::new(1)), None, 0);
    let mut slots = vec![rig.post(any)];
    slots.extend(post(&mut rig, [(1, 100)]));
    slots.extend([rig.post(any), rig.post(any_tag), rig.post(any), rig.post(from(1))]);
    assert_eq!(level(&rig, 1), Some(0));
    for slot in slots {
        assert_eq!(rig.arrive(envelope(1, 0, 0)), Some(slot));
    }
    assert_eq!(rig.arrive(envelope(1, 0, 0)), None);

    let records: Vec<_> = (0..300).map(|n| rig.record(envelope(source(n), 0, 0))).collect();
    assert!(rig.engine.unexpected.made > 1);
    for record in records {
        assert_eq!(rig.receive(any).ok(), record);
    }
    assert_eq!(rig.probe(any), None);
    rig.check();
}

#[test]
fn receives_are_cancelled_in_every_kind_of_queue() {
    let mut rig = MatchingFixture::<PnpEngine>::new(1, 200);
    let any = MatchPattern::new(None, Some(0), 0);
    let mut slots = post(&mut rig, [(1, 50), (2, 50), (3, 5), (1, 5), (2, 5)]);
    slots.extend([any; 5].map(|any| rig.post(any)));
    assert_eq!(made(&rig), (3, 1));
    // The middle first, then the ends.
    let step = 7;
    for first in [3, 4, 2, 5, 1, 6, 0] {
        for at in (first..slots.len()).step_by(step) {
            rig.cancel(slots[at]);
            rig.check();
        }
    }
    assert_eq!(rig.engine.measures().posted, 0);
    assert_eq!(rig.engine.posted.filling, 0);
    assert!(rig.engine.posted.lists().all(ListEnds::is_empty));
}

#[test]
fn records_keep_their_order_and_queues_when_they_are_numbered_anew() {
    let mut rig = MatchingFixture::<PnpEngine>::new(400, 200);
    rig.engine.numbers.set_limit(300);
    let old = rig.record(envelope(7, 0, 0)).unwrap();
    for n in 0..299 {
        rig.record(envelope(source(n), n as i32, 0)).unwrap();
    }
    let drained: Vec<_> = (0..299).filter(|n| n % 3 != 0 || *n < 110).collect();
    for n in drained {
        let pattern = envelope(source(n), n as i32, 0).pattern();
        assert!(rig.receive(pattern).is_ok());
    }
    let (before, marks) = (order(&rig), rig.engine.unexpected.levels().to_vec());
    assert!(marks.len() > 1);
    rig.check();
    rig.record(envelope(4, 0, 0)).unwrap();
    let after = order(&rig);
    assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 1));
    assert_ne!(rig.engine.unexpected.levels(), marks);
    assert_eq!(rig.region.word(old), 0, "the oldest is the first");
    rig.check();
    for envelope in after {
        let first = rig.probe(MatchPattern::new(None, None, 0));
        assert_eq!(rig.receive(envelope.pattern()).ok(), first);
        rig.check();
    }
    assert!(rig.engine.unexpected.lists().all(ListEnds::is_empty));
}

#[test]
fn a_level_that_is_younger_than_all_records_stays_so() {
    let mut rig = MatchingFixture::<PnpEngine>::new(400, 200);
    rig.engine.numbers.set_limit(100);
    let records = [1; 100].map(|source| rig.record(envelope(source, 0, 0)).unwrap());
    assert_eq!(rig.engine.unexpected.made, 1);
    rig.forget(records[50]);
    let last = rig.record(envelope(1, 0, 0)).unwrap();
    assert_eq!(rig.engine.unexpected.levels()[0].since, 99);
    assert_eq!(rig.engine.unexpected.dedicated[1].head(), Some(last));
    rig.forget(records[0]);
    rig.forget(records[99]);
    rig.check();
}

/// The history of an engine does not affect the hash of its queues.
#[test]
fn equal_queues_have_equal_hashes() {
    let mut young = MatchingFixture::<PnpEngine>::new(2, 200);
    let mut old = MatchingFixture::<PnpEngine>::new(400, 200);
    for n in 0..300 {
        old.record(envelope(n % 5, 0, 0)).unwrap();
    }
    for n in 0..300 {
        old.receive(from(n % 5)).unwrap();
    }
    assert!(old.engine.unexpected.made > 0);
    old.region = region(2);
    let empty = young.hash();
    assert_eq!(old.hash(), empty);
    let mut hashes = Vec::new();
    for order in [[3, 9], [9, 3]] {
        for rig in [&mut young, &mut old] {
            let records = order.map(|source| rig.record(envelope(source, 0, 0)).unwrap());
            // Sender IDs are consecutive.
            for (at, sender) in records.into_iter().zip(0..) {
                rig.region
                    .set_holding(at, midplane_device::memory::region::RecordData::None { sender });
            }
            hashes.push(rig.hash());
            for at in records {
                rig.forget(at);
            }
            assert_eq!(rig.hash(), empty);
        }
    }
    assert_eq!((hashes[0], hashes[2]), (hashes[1], hashes[3]));
    assert_ne!(hashes[0], hashes[2]);
}

#[test]
fn whatever_happens_the_results_are_those_of_a_list() {
    for (seed, peers) in [(1, 8), (2, 40), (3, 500), (4, 3)] {
        let mix = OperationMix {
            peers,
            contexts: 4,
            tags: 5,
            wild: 12,
            operations: 20_000,
            most_arrivals: 900,
        };
        let rig = compare::<PnpDesign>(seed, &mix);
        let made = [rig.engine.posted.made, rig.engine.unexpected.made];
        assert!(made.into_iter().all(|made| made > 0), "{made:?}");
    }
}
