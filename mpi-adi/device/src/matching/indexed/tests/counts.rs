//! Hops of each search, entry by entry, and the index contents across size changes.

use super::super::MatchingEngine;
use super::{EngineFixture, LoanHeap};
use crate::envelope::{Envelope, MatchPattern, Rank};
use crate::ids::{BlockIndex, RequestId};
use crate::matching::indexed::table::{BUCKET_BYTES, bucket};
use crate::matching::indexed::{FAR, IndexedEngine, MOVED_RECORDS, Matching, NEAR, SHORT, WILD_ENTRIES, WILD_MOVES};
use crate::request::{KeyHash, NEIGHBOURS};

/// Tag that no entry uses.
const MISSING: i32 = 999_999;

fn envelope(tag: i32) -> Envelope {
    Envelope {
        source: Rank::new(7),
        tag,
        context: 0,
    }
}

fn any_source(tag: i32) -> MatchPattern {
    MatchPattern::new(None, Some(tag), 0)
}

type BothQueues = EngineFixture<IndexedEngine>;

fn queues(blocks: usize, heap: u32) -> BothQueues {
    let mut ours = BothQueues::new(blocks, 1);
    ours.heap = LoanHeap(heap);
    ours
}

/// Records messages with these tags, in this order.
fn record(ours: &mut BothQueues, tags: impl IntoIterator<Item = i32>) -> Vec<(i32, BlockIndex)> {
    let one = |tag| {
        let number = ours.message(envelope(tag)).unwrap_err().unwrap();
        (tag, ours.at[&number])
    };
    tags.into_iter().map(one).collect()
}

/// Posts receives with these tags, in this order.
fn post(ours: &mut BothQueues, tags: impl IntoIterator<Item = i32>) -> Vec<RequestId> {
    let one = |tag| ours.receive(envelope(tag).pattern()).unwrap_err();
    tags.into_iter().map(one).collect()
}

/// Returns a probe's result and its hops.
fn probe(ours: &mut BothQueues, pattern: &MatchPattern) -> (Option<BlockIndex>, u64) {
    let before = ours.engine.measures().traversals;
    let found = ours.engine.probe(&mut ours.region, pattern);
    (found, ours.engine.measures().traversals - before)
}

/// Returns the hops of a probe that finds nothing.
fn vain(ours: &mut BothQueues) -> u64 {
    let (found, hops) = probe(ours, &envelope(MISSING).pattern());
    assert_eq!(found, None);
    hops
}

fn finds_all(ours: &mut BothQueues, records: &[(i32, BlockIndex)]) {
    for &(tag, at) in records {
        assert_eq!(probe(ours, &envelope(tag).pattern()).0, Some(at), "{tag}");
    }
}

/// Receives in no ascending order: each is checked once, whether it moves to the table or not.
#[test]
fn a_message_looks_at_each_receive_up_to_its_own() {
    let near = NEAR as i32;
    for count in [1, 2, 5, near - 1, near, near + 1, near + 2, 40] {
        for place in 0..=count {
            let mut ours = queues(1, 0);
            let posted = post(&mut ours, (0..count).rev());
            let tag = if place < count { count - 1 - place } else { MISSING };
            let found = ours.engine.match_incoming(&mut ours.requests, &envelope(tag));
            let own = posted.get(place as usize).map(|id| id.slot());
            assert_eq!(found, own);
            let hops = ours.engine.measures().traversals;
            assert_eq!(hops, (place + 1).min(count) as u64, "{place} of {count}");
        }
    }
}

/// Records in no ascending order. The search restarts at the head if that does not match. In a long queue it first
/// checks two records, which show that the keys do not ascend.
#[test]
fn a_receive_looks_at_each_record_up_to_its_own() {
    let short = SHORT as i32;
    for count in [1, 2, 4, 5, short, short + 1, 40] {
        for place in 0..=count {
            let mut ours = queues(200, 0);
            let records = record(&mut ours, (0..count).rev());
            let tag = if place < count { count - 1 - place } else { MISSING };
            let (found, hops) = probe(&mut ours, &envelope(tag).pattern());
            let own = records.get(place as usize).map(|&(_, at)| at);
            assert_eq!(found, own);
            let for_rise = if count > short { 2 } else { 0 };
            let expected = match place {
                0 => 1,
                _ => 1 + for_rise + (place + 1).min(count),
            };
            assert_eq!(hops, expected as u64, "{place} of {count}");
        }
    }
}

/// Each record is checked once for ascending keys, even if others arrive later.
#[test]
fn a_record_that_comes_later_does_not_make_a_search_look_at_the_others_again() {
    let mut ours = queues(200, 0);
    let records = record(&mut ours, 0..20);
    let last = probe(&mut ours, &envelope(19).pattern());
    assert_eq!(last, (Some(records[19].1), 1 + 20 + 1));
    let later = record(&mut ours, [20]);
    let last = probe(&mut ours, &envelope(20).pattern());
    assert_eq!(last, (Some(later[0].1), 1 + 1 + 1));
}

/// The wildcard index is created after a search has passed more than [`WILD_ENTRIES`] records.
#[test]
fn a_wildcard_looks_at_each_record_until_there_is_an_index_for_it() {
    let many = WILD_ENTRIES as i32;
    let mut ours = queues(2000, 0);
    let mut records = record(&mut ours, (0..many).rev());
    for _ in 0..3 {
        let missing = probe(&mut ours, &any_source(MISSING));
        assert_eq!(missing, (None, many as u64));
    }
    records.extend(record(&mut ours, [many]));
    // Each search indexes some records, and the next one does not pass them.
    let moved = WILD_MOVES as i32;
    for hops in [many + 1, many + 2 - moved, many + 2 - 2 * moved] {
        let missing = probe(&mut ours, &any_source(MISSING));
        assert_eq!(missing, (None, hops as u64));
    }
    // After the head, each indexed record is the first of its chain.
    for &(tag, at) in &records[1..WILD_MOVES as usize] {
        assert_eq!(probe(&mut ours, &any_source(tag)), (Some(at), 2), "{tag}");
    }
    for &(tag, at) in &records {
        assert_eq!(probe(&mut ours, &any_source(tag)).0, Some(at), "{tag}");
    }
}

/// After unsuccessful searches, the chains answer for new records, too. The head is skipped until a chain search
/// returns it or the record next to the last match.
#[test]
fn searches_in_vain_end_at_the_head_or_beside_the_last_match() {
    let mut ours = queues(2000, 0);
    let count = 2 * MOVED_RECORDS as i32;
    let mut records = record(&mut ours, (0..count).rev());
    assert_eq!(vain(&mut ours), 1 + 2 + count as u64);
    records.extend(record(&mut ours, [30, 31, 32]));
    // The fourth search chains the three.
    let hops = [(); 7].map(|()| vain(&mut ours));
    assert_eq!(hops, [4, 4, 4, 4, 0, 0, 0]);
    for (place, ends) in [(10, false), (0, true), (11, false), (18, true)] {
        finds_all(&mut ours, &records[place..=place]);
        assert_eq!(vain(&mut ours), u64::from(ends), "{place}");
        (0..4).for_each(|_| _ = vain(&mut ours));
        assert_eq!(vain(&mut ours), 0);
    }
}

/// Kinds of patterns without receives in the table are not searched.
#[test]
fn a_message_looks_for_the_kinds_of_receives_that_there_are() {
    let mut ours = queues(1, 0);
    post(&mut ours, (0..1000).rev());
    assert!(ours.receive(any_source(5000)).is_err());
    let arrive = |ours: &mut BothQueues, at: u32| {
        let source = Rank::new(1000 + at * 16);
        let tag = 10_000 + at as i32;
        let envelope = Envelope {
            source,
            tag,
            context: 0,
        };
        assert_eq!(ours.engine.match_incoming(&mut ours.requests, &envelope), None);
    };
    arrive(&mut ours, 0);
    let before = ours.engine.measures().traversals;
    (1..=1000).for_each(|at| arrive(&mut ours, at));
    let hops = ours.engine.measures().traversals - before;
    // Two chains each.
    assert!((2000..3200).contains(&hops), "{hops}");
}

/// An index search result remains valid when another entry is removed.
#[test]
fn what_was_found_stays_where_it_is_when_another_one_leaves() {
    let mut ours = queues(200, 0);
    let posted = post(&mut ours, (0..40).rev());
    for tag in [MISSING, 10] {
        ours.engine.match_incoming(&mut ours.requests, &envelope(tag));
    }
    ours.cancel(posted[9]);
    assert_eq!(ours.message(envelope(10)), Ok(posted[29]));
    assert!(ours.message(envelope(30)).is_err(), "cancelled");

    let mut ours = queues(200, 0);
    let mut records = record(&mut ours, (0..40).rev());
    vain(&mut ours);
    finds_all(&mut ours, &records[29..30]);
    let (tag, at) = records.remove(9);
    ours.forget(at);
    finds_all(&mut ours, &records);
    assert_eq!(probe(&mut ours, &envelope(tag).pattern()).0, None);
}

/// Envelopes chosen to share a chain do so only for a known seed.
#[test]
fn a_seed_says_which_envelopes_share_a_chain() {
    const BLOCKS: usize = 400;
    let buckets = (IndexedEngine::fixed_bytes(BLOCKS, 0) / BUCKET_BYTES) as u32;
    let hashes = KeyHash::new(0);
    let shares = |tag: &i32| bucket(hashes.hash_pattern(&envelope(*tag).pattern()), buckets) == 5;
    let tags: Vec<i32> = (0..).filter(shares).take(100).collect();
    let hops = [0, 1].map(|seed| {
        let mut ours = BothQueues::new(BLOCKS, seed);
        record(&mut ours, tags.iter().rev().copied());
        (0..20).for_each(|_| _ = vain(&mut ours));
        let search = |&tag| probe(&mut ours, &envelope(tag).pattern()).1;
        tags.iter().map(search).sum::<u64>()
    });
    // The head and half of the chain; the head and little more than one record.
    assert!(hops[0] > 4000 && hops[1] < 400, "{hops:?}");
}

/// Every complete group of neighbours has its share of the hashes.
#[test]
fn hashes_fall_into_all_groups_of_buckets() {
    for count in [1, 5, NEIGHBOURS - 1] {
        assert_eq!(bucket(0, count), 0);
        assert_eq!(bucket(u32::MAX, count), count as usize - 1);
    }
    for groups in [1, 2, 9, 1000] {
        for rest in [0, 1, NEIGHBOURS - 1] {
            let count = groups * NEIGHBOURS + rest;
            assert_eq!(bucket(3, count), 3);
            assert_eq!(bucket(u32::MAX, count), (groups * NEIGHBOURS) as usize - 1);
            let middle = u64::from(groups / 2) * (1 << 32) / u64::from(groups) + 16;
            let group = (groups / 2 * NEIGHBOURS) as usize;
            assert_eq!(bucket(middle as u32, count) / 16 * 16, group, "{count}");
        }
    }
}

/// The buckets' documented size equals their actual size.
#[test]
fn buckets_are_as_many_as_is_said() {
    let bytes = [31, 32, 40, 1000].map(|blocks| IndexedEngine::fixed_bytes(blocks, 0));
    // Some per block, and those for records older than the youngest [`FAR`].
    let deep = (1000_usize.div_ceil(64) + 1000_usize.div_ceil(512)) * (16 * 8 + size_of::<usize>());
    assert_eq!(bytes, [0, 48, 60, FAR as usize * 4 + deep]);
}

/// Records beyond the linear-search limit use buckets as soon as a loan exists. The buckets are freed with it.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn records_in_loans_take_buckets_and_give_them_back() {
    let mut ours = queues(24, 1000);
    record(&mut ours, (0..WILD_ENTRIES as i32).rev());
    vain(&mut ours);
    assert!(!ours.engine.unexpected.has_grown());
    let records = record(&mut ours, 100..400);
    assert!(ours.engine.unexpected.has_grown());
    assert!(vain(&mut ours) < 2 * u64::from(WILD_ENTRIES));
    finds_all(&mut ours, &records);
    for (_, at) in records {
        ours.forget(at);
    }
    finds_nothing_of_loans(&mut ours);
}

/// Removes all records.
fn take_all(ours: &mut BothQueues) {
    let any = MatchPattern::new(None, None, 0);
    while let Some(at) = ours.engine.take_match(&mut ours.region, &any) {
        ours.region.release(&mut ours.heap, at);
    }
}

/// Once all records are removed, the loans and their buckets are freed.
fn finds_nothing_of_loans(ours: &mut BothQueues) {
    take_all(ours);
    assert!(!ours.region.has_loans());
    for _ in 0..100 {
        let any = MatchPattern::new(None, None, 0);
        assert_eq!(ours.engine.probe(&mut ours.region, &any), None);
    }
    assert!(!ours.engine.unexpected.has_grown());
}

/// Chained records, many or one, are found after the buckets grow and after they shrink again.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn what_is_in_a_chain_is_found_when_the_buckets_change() {
    for stay in [300, 1] {
        let mut ours = queues(400, 20_000);
        let mut records = record(&mut ours, (0..300).rev());
        vain(&mut ours);
        for (_, at) in records.drain(stay..) {
            ours.forget(at);
        }
        records.extend(record(&mut ours, 1000..1700));
        vain(&mut ours);
        assert!(ours.engine.unexpected.has_grown());
        finds_all(&mut ours, &records);
        for (_, at) in records.drain(stay / 2..) {
            ours.forget(at);
        }
        records.extend(record(&mut ours, [2000]));
        (0..5).for_each(|_| _ = vain(&mut ours));
        finds_all(&mut ours, &records);
        finds_nothing_of_loans(&mut ours);
    }
}

/// Records in the wildcard index are found after it has grown, before a search reaches the others.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn what_is_in_an_index_for_wildcards_is_there_when_it_grows() {
    let mut ours = queues(400, 20_000);
    let mut records = record(&mut ours, (0..40).rev());
    for _ in 0..2 {
        assert_eq!(probe(&mut ours, &any_source(MISSING)).0, None);
    }
    records.extend(record(&mut ours, 100..1100));
    for &(tag, at) in &records {
        let (found, hops) = probe(&mut ours, &any_source(tag));
        assert_eq!(found, Some(at), "{tag}");
        assert!(hops < 2 * u64::from(FAR), "{tag}: {hops}");
    }
    let (found, hops) = probe(&mut ours, &any_source(MISSING));
    assert_eq!(found, None);
    assert!(hops < 2 * u64::from(FAR), "{hops}");
}

/// With MPI memory of a single block, buckets exist as long as a loan does.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn wildcards_go_on_when_the_loans_of_a_single_block_are_over() {
    let mut ours = queues(1, 1000);
    let records = record(&mut ours, (0..100).rev());
    for _ in 0..2 {
        assert_eq!(probe(&mut ours, &any_source(MISSING)).0, None);
    }
    for &(tag, at) in &records {
        assert_eq!(probe(&mut ours, &any_source(tag)).0, Some(at));
        ours.forget(at);
    }
    finds_nothing_of_loans(&mut ours);
    record(&mut ours, [1]);
    assert!(probe(&mut ours, &any_source(1)).0.is_some());
}

/// If no block is free for another record and its node, records are traversed and found.
#[test]
fn what_has_no_node_is_found() {
    let blocks = 400;
    let mut ours = queues(blocks, 0);
    let mut records = Vec::new();
    let next = |ours: &mut BothQueues, tag| ours.message(envelope(tag)).unwrap_err();
    while let Some(number) = next(&mut ours, records.len() as i32) {
        records.push((records.len() as i32, ours.at[&number]));
    }
    assert_eq!(ours.region.free_to_extend(), 0);
    // The youngest records have no nodes.
    assert_eq!(records.len(), (blocks + FAR as usize) / 2);
    for _ in 0..2 {
        finds_all(&mut ours, &records);
        for &(tag, at) in &records {
            assert_eq!(probe(&mut ours, &any_source(tag)).0, Some(at), "{tag}");
        }
        vain(&mut ours);
        // A message that replaces another one.
        let (_, at) = records.remove(0);
        ours.forget(at);
        let tag = records.len() as i32 + 1000;
        let number = next(&mut ours, tag).unwrap();
        records.push((tag, ours.at[&number]));
    }
    take_all(&mut ours);
    assert_eq!(ours.region.free_to_extend() as usize, blocks);
}
