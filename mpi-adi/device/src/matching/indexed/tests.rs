//! Compares the engine with a list, in lock step, and counts its hops.

mod counts;
mod worst;

use std::collections::BTreeMap;

use super::{FAR, IndexedEngine, Matching, MatchingEngine};
use crate::envelope::{Envelope, MatchPattern, Rank};
use crate::ids::{BlockIndex, RequestId};
use crate::matching::ListEngine;
use crate::memory::region::{BLOCK_BYTES, BlockArray, RecordData, Region};
use crate::memory::{Span, UserMemory};
use crate::request::{PostedReceive, ReceiveRequest, ReceiveState, Request, RequestPool};
use crate::try_box::try_boxed_slice;
use oorandom::Rand32;

/// An engine with its pool and region.
struct EngineFixture<E> {
    requests: RequestPool,
    region: Region,
    engine: E,
    heap: LoanHeap,
    posts: u64,
    /// Records of the messages, by message number.
    at: BTreeMap<u32, BlockIndex>,
}

/// Number of blocks available for loans.
struct LoanHeap(u32);

impl UserMemory for LoanHeap {
    fn read(&self, _: Span, _: usize, _: &mut [u8]) {}

    fn write(&mut self, _: Span, _: usize, _: &[u8]) {}

    fn spare_blocks(&self) -> u32 {
        self.0
    }

    fn lend(&mut self, count: u32) -> Option<BlockArray> {
        self.0 = self.0.checked_sub(count)?;
        Some(free_blocks(count as usize))
    }

    fn return_loan(&mut self, loan: BlockArray) {
        self.0 += loan.len() as u32;
    }
}

fn free_blocks(count: usize) -> BlockArray {
    let map = vec![0; BlockArray::map_words(count)].into_boxed_slice();
    BlockArray::new(try_boxed_slice([0; BLOCK_BYTES], count).unwrap(), map)
}

impl<E: MatchingEngine> EngineFixture<E> {
    fn new(blocks: usize, seed: u64) -> Self {
        let reserve = free_blocks(blocks);
        let mut requests = RequestPool::new(1 << 22);
        let mut engine = E::new(blocks, 1 << 20).unwrap();
        requests.seed(seed);
        engine.seed(seed);
        EngineFixture {
            requests,
            region: Region::new(reserve),
            engine,
            heap: LoanHeap(0),
            posts: 0,
            at: BTreeMap::new(),
        }
    }

    /// Starts a receive. Returns the number of the matched message, or the receive's slot.
    fn receive(&mut self, pattern: MatchPattern) -> Result<u32, RequestId> {
        if let Some(at) = self.engine.take_match(&mut self.region, &pattern) {
            let record = self.region.record(at).unwrap();
            let RecordData::None { sender } = record.holding else {
                unreachable!("no record has a buffer");
            };
            self.region.release(&mut self.heap, at);
            return Ok(sender);
        }
        self.requests.grow(1).unwrap();
        let posted = PostedReceive {
            pattern,
            serial: self.posts,
            needs_listing: false,
        };
        self.posts += 1;
        let state = ReceiveState::Posted(posted);
        let span = Span::EMPTY;
        let request = Request::Receive(ReceiveRequest { span, state });
        let id = self.requests.insert(request).unwrap();
        self.engine.post(&mut self.requests, id.slot());
        Err(id)
    }
}

impl<E: MatchingEngine> EngineFixture<E> {
    /// Handles a message arrival. Returns the matching receive; otherwise the number of its record, if it was recorded.
    fn message(&mut self, envelope: Envelope) -> Result<RequestId, Option<u32>> {
        if let Some(slot) = self.engine.match_incoming(&mut self.requests, &envelope) {
            let id = self.requests.id(slot);
            self.cancel(id);
            return Ok(id);
        }
        let number = self.at.len() as u32;
        let record = self.region.record_without_buffer(&mut self.heap, envelope, 0, number);
        Err(record.map(|at| {
            self.engine.record(&mut self.region, at);
            self.at.insert(number, at);
            number
        }))
    }

    fn cancel(&mut self, id: RequestId) {
        self.engine.unpost(&mut self.requests, id.slot());
        self.requests.cancel_receive(id.slot());
        assert!(self.requests.take_completed(id).is_some());
    }

    fn forget(&mut self, at: BlockIndex) {
        self.engine.unrecord(&mut self.region, at);
        self.region.release(&mut self.heap, at);
    }
}

fn below(random: &mut Rand32, end: u32) -> u32 {
    random.rand_range(0..end)
}

fn envelope(random: &mut Rand32, values: u32) -> Envelope {
    Envelope {
        source: Rank::new(below(random, values) * 3),
        tag: below(random, values) as i32,
        context: below(random, 2) as u16,
    }
}

#[test]
fn it_finds_what_a_list_finds() {
    for seed in 0..60 {
        let mut random = Rand32::new(seed);
        let blocks = [1, 8, 40, 300, 2000][seed as usize % 5];
        let values = [2, 5, 30, 1000][seed as usize / 5 % 4];
        let mut ours = EngineFixture::<IndexedEngine>::new(blocks, seed);
        // A list requires fewer blocks.
        let mut list = EngineFixture::<ListEngine>::new(2000, seed);
        let (mut posted, mut recorded) = (Vec::new(), Vec::new());
        // Phases in which receives or messages prevail.
        for step in 0..6000 {
            let receives = step / 1000 % 2 == 0;
            let exact = below(&mut random, 2) == 0;
            let Envelope { source, tag, context } = envelope(&mut random, values);
            match below(&mut random, 20) {
                0 => {
                    if !posted.is_empty() {
                        let at = below(&mut random, posted.len() as u32) as usize;
                        let id = posted.swap_remove(at);
                        ours.cancel(id);
                        list.cancel(id);
                    }
                }
                1 => {
                    if !recorded.is_empty() {
                        let at = below(&mut random, recorded.len() as u32) as usize;
                        let number = recorded.swap_remove(at);
                        ours.forget(ours.at[&number]);
                        list.forget(list.at[&number]);
                    }
                }
                turn if (turn < 13) == receives => {
                    let pattern = MatchPattern::new(
                        (exact || below(&mut random, 2) == 0).then_some(source),
                        (exact || below(&mut random, 2) == 0).then_some(tag),
                        context,
                    );
                    let result = ours.receive(pattern);
                    assert_eq!(result, list.receive(pattern), "seed {seed}, step {step}");
                    match result {
                        Ok(number) => recorded.retain(|&other| other != number),
                        Err(id) => posted.push(id),
                    }
                }
                _ => {
                    let envelope = Envelope { source, tag, context };
                    let result = ours.message(envelope);
                    if result == Err(None) {
                        assert_eq!(ours.region.free_blocks(&ours.heap), 0);
                        continue;
                    }
                    assert_eq!(result, list.message(envelope), "seed {seed}, step {step}");
                    match result {
                        Ok(id) => posted.retain(|&other| other != id),
                        Err(number) => recorded.extend(number),
                    }
                }
            }
            let (measures, others) = (ours.engine.measures(), list.engine.measures());
            assert_eq!(measures.posted, others.posted);
            assert_eq!(measures.unexpected, others.unexpected);
        }
    }
}

/// Returns exact patterns in ascending order, with occasional exceptions: a repetition or a wildcard.
fn rising(random: &mut Rand32, count: u32) -> Vec<MatchPattern> {
    let mut key = (0, 0, 0);
    let next = |_| {
        let (context, source, tag) = key;
        match below(random, 40) {
            0 => return MatchPattern::new(None, Some(tag), context),
            1 => {}
            2..8 => key = (context, source + 1 + below(random, 3), 0),
            8 => key = (context + 1, 0, 0),
            _ => key = (context, source, tag + 1 + below(random, 2) as i32),
        }
        let (context, source, tag) = key;
        MatchPattern::new(Some(Rank::new(source)), Some(tag), context)
    };
    (0..count).map(next).collect()
}

fn envelope_of(pattern: &MatchPattern) -> Envelope {
    Envelope {
        source: pattern.source().unwrap_or(Rank::new(1)),
        tag: pattern.tag().unwrap_or(0),
        context: pattern.context(),
    }
}

/// The queues are emptied from the tail, from the head and at random, while more entries arrive.
#[test]
fn it_finds_what_a_list_finds_in_queues_that_rise() {
    for seed in 0..400 {
        let mut random = Rand32::new(seed);
        let mut ours = EngineFixture::<IndexedEngine>::new(800, seed);
        let mut list = EngineFixture::<ListEngine>::new(800, seed);
        let unexpected = seed % 2 == 0;
        let mut waiting = Vec::new();
        for _ in 0..6 {
            let count = below(&mut random, 60);
            let patterns = rising(&mut random, count);
            for pattern in &patterns {
                if unexpected {
                    let envelope = envelope_of(pattern);
                    assert_eq!(ours.message(envelope), list.message(envelope));
                } else {
                    assert_eq!(ours.receive(*pattern), list.receive(*pattern));
                }
            }
            waiting.extend(patterns);
            let stay = below(&mut random, 2) * below(&mut random, 30);
            while waiting.len() > stay as usize {
                let place = match below(&mut random, 12) {
                    0 => below(&mut random, waiting.len() as u32) as usize,
                    1 => 0,
                    _ => waiting.len() - 1,
                };
                let pattern = waiting.remove(place);
                if unexpected {
                    assert_eq!(ours.receive(pattern), list.receive(pattern), "seed {seed}");
                } else {
                    let envelope = envelope_of(&pattern);
                    assert_eq!(ours.message(envelope), list.message(envelope), "seed {seed}");
                }
            }
        }
    }
}

/// Returns the hops when a queue of `entries` ascending entries is emptied from its tail: unexpected messages, or
/// receives.
fn hops_from_the_end(entries: u64, unexpected: bool) -> u64 {
    let envelopes = (0..entries as i32).map(|tag| Envelope {
        source: Rank::new(7),
        tag,
        context: 0,
    });
    let mut ours = EngineFixture::<IndexedEngine>::new(2 * entries as usize, 1);
    for envelope in envelopes.clone() {
        if unexpected {
            assert!(ours.message(envelope).is_err_and(|at| at.is_some()))
        } else {
            assert!(ours.receive(envelope.pattern()).is_err())
        }
    }
    let before = ours.engine.measures().traversals;
    for envelope in envelopes.rev() {
        if unexpected {
            assert!(ours.receive(envelope.pattern()).is_ok())
        } else {
            assert!(ours.message(envelope).is_ok())
        }
    }
    ours.engine.measures().traversals - before
}

/// Only the head and the entry next to the last match are checked. Before that, each record outside the index is
/// checked once.
#[test]
fn a_queue_that_rises_is_emptied_from_its_end_by_looks_at_a_few_entries() {
    for unexpected in [false, true] {
        for entries in [30, 200, 1000, 10_000] {
            let hops = hops_from_the_end(entries, unexpected);
            // Searches before the queue is known to ascend pass the entries outside the index.
            let known = u64::from(unexpected) * 4 * u64::from(FAR);
            assert!(hops < 4 * entries + known, "{hops} for {entries}");
        }
    }
}

/// Returns the hops of `searches` searches that find nothing.
fn vain_hops(ours: &mut EngineFixture<IndexedEngine>, searches: u32) -> u64 {
    let before = ours.engine.measures().traversals;
    for tag in 0..searches {
        let pattern = MatchPattern::new(Some(Rank::new(tag % 64)), Some(100_000 + tag as i32), 0);
        assert_eq!(ours.engine.probe(&mut ours.region, &pattern), None);
    }
    ours.engine.measures().traversals - before
}

/// Records `count` unexpected messages with tags in pseudo-random order.
fn scattered(count: u32) -> (EngineFixture<IndexedEngine>, Vec<Envelope>) {
    let mut ours = EngineFixture::<IndexedEngine>::new(2 * count as usize, 1);
    let envelopes: Vec<_> = (0..count)
        .map(|at| Envelope {
            source: Rank::new(at * 37 % 64),
            tag: (at * 911 % count) as i32,
            context: 0,
        })
        .collect();
    for envelope in &envelopes {
        assert!(ours.message(*envelope).is_err_and(|at| at.is_some()));
    }
    (ours, envelopes)
}

/// A rejected or future message has no record; the chains' classes show this.
#[test]
fn a_search_for_what_is_not_there_looks_at_less_than_an_entry() {
    for count in [1000, 10_000] {
        let (mut ours, _) = scattered(count);
        // The first search passes the entries outside the index, and later ones those that it did not index.
        let first = vain_hops(&mut ours, 1);
        assert!((u64::from(FAR)..u64::from(2 * FAR)).contains(&first), "{first}");
        vain_hops(&mut ours, FAR / 4);
        let hops = vain_hops(&mut ours, 4000);
        assert!(hops < 4000, "{hops} of {count}");
        assert!(hops > 500, "{hops} of {count}: the chains are looked at");
    }
}

/// The head is skipped after unsuccessful searches, and checked first again once it has been the match.
#[test]
fn searches_in_vain_do_not_keep_from_looking_at_the_head_first() {
    let (mut ours, envelopes) = scattered(1000);
    vain_hops(&mut ours, 100);
    let before = ours.engine.measures().traversals;
    for envelope in &envelopes {
        assert!(ours.receive(envelope.pattern()).is_ok());
    }
    let hops = ours.engine.measures().traversals - before;
    assert!((1000..1010).contains(&hops), "{hops}");
}

/// Records in borrowed memory are found as fast as those in the MPI memory, by exact receives and by wildcards. The
/// index memory is freed with the loans.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn borrowed_memory_is_searched_as_fast() {
    const COUNT: u32 = 20_000;
    for blocks in [1, 40, 400] {
        let mut ours = EngineFixture::<IndexedEngine>::new(blocks, 3);
        ours.heap = LoanHeap(4 * COUNT);
        for round in 0..2 {
            for at in 0..COUNT {
                let envelope = Envelope {
                    source: Rank::new(at * 37 % 64),
                    tag: (at * 911 % COUNT) as i32,
                    context: 0,
                };
                assert!(ours.message(envelope).is_err_and(|at| at.is_some()));
            }
            assert!(ours.region.has_loans());
            let mut hops = 0;
            // In a different order, without the messages that the other kind of receive has removed.
            for at in (0..COUNT).map(|at| at * 7919 % COUNT) {
                let source = (round == 0 || at % 3 != 0).then_some(Rank::new(at * 37 % 64));
                let pattern = MatchPattern::new(source, Some((at * 911 % COUNT) as i32), 0);
                let before = ours.engine.measures().traversals;
                assert!(ours.receive(pattern).is_ok(), "{blocks} blocks, {pattern:?}");
                hops += ours.engine.measures().traversals - before;
            }
            assert!(hops < 8 * u64::from(COUNT), "{hops} hops, {blocks} blocks");
        }
        assert!(!ours.region.has_loans());
        // Each probe frees a chunk of buckets.
        for _ in 0..2 * COUNT {
            let any = MatchPattern::new(None, None, 0);
            assert_eq!(ours.engine.probe(&mut ours.region, &any), None);
        }
        assert!(!ours.engine.unexpected.has_grown(), "{blocks} blocks");
    }
}

/// A loan that replaces a smaller one at its index keeps its entries when a search reaches blocks that the smaller one
/// did not have. One that replaces a larger one has enough slots.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn a_larger_loan_in_the_place_of_a_smaller_one_keeps_its_entries() {
    let mut ours = EngineFixture::<IndexedEngine>::new(8, 1);
    let envelope = |tag: i32| Envelope {
        source: Rank::new(0),
        tag,
        context: 0,
    };
    let missing = MatchPattern::new(None, Some(1000), 0);
    for (heap, count) in [(64, 48), (4000, 600), (64, 48)] {
        ours.heap = LoanHeap(heap);
        for tag in 0..count {
            assert!(ours.message(envelope(tag)).is_err_and(|at| at.is_some()));
            // The first search creates the index.
            for _ in 0..2 * u32::from(tag == 47 || tag + 1 == count) {
                assert_eq!(ours.engine.probe(&mut ours.region, &missing), None);
            }
        }
        for tag in 0..count {
            assert!(ours.receive(envelope(tag).pattern()).is_ok());
        }
        assert!(!ours.region.has_loans());
    }
}

/// A search continues after the last loan has ended.
#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn searches_go_on_when_the_loans_are_over() {
    let mut ours = EngineFixture::<IndexedEngine>::new(24, 1);
    ours.heap = LoanHeap(1000);
    let envelope = |tag: i32| Envelope {
        source: Rank::new(tag as u32 % 3),
        tag: tag * 7 % 90,
        context: 0,
    };
    let missing = MatchPattern::new(Some(Rank::new(0)), Some(100), 0);
    for tag in 0..90 {
        assert!(ours.message(envelope(tag)).is_err_and(|at| at.is_some()));
    }
    assert_eq!(ours.engine.probe(&mut ours.region, &missing), None);
    for tag in 0..90 {
        assert!(ours.receive(envelope(tag).pattern()).is_ok());
    }
    assert!(!ours.region.has_loans());
    ours.heap = LoanHeap(0);
    for tag in 0..24 {
        assert!(ours.message(envelope(tag)).is_err_and(|at| at.is_some()));
    }
    for _ in 0..2 {
        assert_eq!(ours.engine.probe(&mut ours.region, &missing), None);
        for tag in 0..24 {
            let at = ours.engine.probe(&mut ours.region, &envelope(tag).pattern());
            assert!(at.is_some(), "{tag}");
        }
    }
}
