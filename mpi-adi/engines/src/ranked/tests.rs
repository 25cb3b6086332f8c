//! Common tests of both engines: the order, elements queued before a context is open, and equivalence with [`ListEngine`].
#![forbid(unsafe_code)]

use core::hash::Hasher;

use oorandom::Rand32;
use rustc_hash::FxHasher;

use crate::arrivals::ArrivalTicket;
use crate::{FourD, PerRank};
use midplane_device::envelope::{Context, Envelope, MatchPattern, Rank, Tag};
use midplane_device::ids::{BlockIndex, MAX_SLOTS, RequestId, Slot};
use midplane_device::matching::{ListEngine, Matching, MatchingEngine};
use midplane_device::memory::blocks::{BLOCK_BYTES, BlockArray};
use midplane_device::memory::region::{RecordData, Region};
use midplane_device::memory::{RawMemory, Span};
use midplane_device::request::{MatchedMessage, PostedReceive, ReceiveRequest, ReceiveState, Request, RequestPool};

/// An engine with its pool and region.
pub(crate) struct EngineFixture<E> {
    pub engine: E,
    pub requests: RequestPool,
    pub region: Region,
    posts: u64,
}

/// Result of a message arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArrivalResult {
    Received(Slot),
    Recorded(BlockIndex),
    Rejected,
}

impl<E: MatchingEngine> EngineFixture<E> {
    pub fn new(engine: E, blocks: usize) -> Self {
        let blocks = BlockArray::new(
            vec![[0; BLOCK_BYTES]; blocks].into_boxed_slice(),
            vec![0; BlockArray::map_words(blocks)].into_boxed_slice(),
        );
        EngineFixture {
            engine,
            requests: RequestPool::new(MAX_SLOTS),
            region: Region::new(blocks),
            posts: 0,
        }
    }

    pub fn open(&mut self, context: Context) {
        self.engine.open(&mut self.requests, &mut self.region, context);
    }

    /// Starts a receive. Returns the matching record, or the receive's slot in the queue.
    pub fn receive(&mut self, pattern: MatchPattern) -> Result<BlockIndex, Slot> {
        self.requests.grow(1).unwrap();
        self.engine.reserve(self.requests.slots()).unwrap();
        let state = ReceiveState::Posted(PostedReceive {
            pattern,
            serial: self.posts,
            needs_listing: false,
        });
        self.posts += 1;
        let span = Span::EMPTY;
        let id = self.requests.insert(Request::Receive(ReceiveRequest { span, state }));
        let id = id.unwrap();
        match self.engine.take_match(&mut self.region, &pattern) {
            None => {
                self.engine.post(&mut self.requests, id.slot());
                Err(id.slot())
            }
            Some(at) => {
                self.end(id);
                self.region.release(&mut RawMemory, at);
                Ok(at)
            }
        }
    }

    fn end(&mut self, id: RequestId) {
        self.requests.cancel_receive(id.slot());
        self.requests.take_completed(id).unwrap();
    }

    /// Handles the arrival of a message with this sender request.
    pub fn arrive(&mut self, envelope: Envelope, sender: u32) -> ArrivalResult {
        if let Some(slot) = self.engine.match_incoming(&mut self.requests, &envelope) {
            self.engine.unpost(&mut self.requests, slot);
            let id = self.requests.id(slot);
            let matched = MatchedMessage { envelope, length: 0 };
            self.requests.finish_receive(slot, matched);
            self.requests.take_completed(id).unwrap();
            return ArrivalResult::Received(slot);
        }
        match self.region.record_without_buffer(&mut RawMemory, envelope, 0, sender) {
            Some(at) => {
                self.engine.record(&mut self.region, at);
                ArrivalResult::Recorded(at)
            }
            None => ArrivalResult::Rejected,
        }
    }

    pub fn cancel(&mut self, slot: Slot) {
        self.engine.unpost(&mut self.requests, slot);
        self.end(self.requests.id(slot));
    }

    /// Cancels the message with this sender request.
    pub fn withdraw(&mut self, request: u32) -> Option<BlockIndex> {
        let holding = RecordData::None { sender: request };
        let at = self
            .engine
            .find_record(&self.region, &|record| record.holding == holding)?;
        self.engine.unrecord(&mut self.region, at);
        self.region.release(&mut RawMemory, at);
        Some(at)
    }

    pub fn probe(&mut self, pattern: &MatchPattern) -> Option<BlockIndex> {
        self.engine.probe(&mut self.region, pattern)
    }

    pub fn is_idle(&mut self, context: Context) -> bool {
        self.engine
            .context_is_idle(&mut self.requests, &mut self.region, context)
    }

    pub fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.engine.hash(&self.region, &mut hasher);
        hasher.finish()
    }
}

pub(crate) fn envelope(context: Context, source: u32, tag: Tag) -> Envelope {
    Envelope {
        source: Rank::new(source),
        tag,
        context,
    }
}

pub(crate) fn exact(context: Context, source: u32, tag: Tag) -> MatchPattern {
    envelope(context, source, tag).pattern()
}

pub(crate) fn any_source(context: Context, tag: Option<Tag>) -> MatchPattern {
    MatchPattern::new(None, tag, context)
}

const PEERS: usize = 300;
const BLOCKS: usize = 64;

/// Instantiates a test for both engines, the second one also with a list per context, and for both with few sequence
/// numbers.
macro_rules! for_each_engine {
    ($test:ident) => {
        mod $test {
            use super::*;
            #[test]
            fn array() {
                super::$test(|| PerRank::new(BLOCKS, PEERS).unwrap());
            }
            #[test]
            fn fourd() {
                super::$test(|| FourD::new(BLOCKS, PEERS).unwrap());
            }
            #[test]
            fn fourd_of_a_small_job() {
                super::$test(|| FourD::new(BLOCKS, 9).unwrap());
            }
            #[test]
            fn array_that_numbers_anew() {
                super::$test(|| {
                    let mut array = PerRank::new(BLOCKS, PEERS).unwrap();
                    array.limit_numbers(40);
                    array
                });
            }
            #[test]
            fn fourd_that_numbers_anew() {
                super::$test(|| {
                    let mut fourd = FourD::new(BLOCKS, PEERS).unwrap();
                    fourd.limit_numbers(7);
                    fourd
                });
            }
            /// Records as in borrowed memory.
            #[test]
            fn fourd_with_fewer_blocks() {
                super::$test(|| FourD::with_adjustment(5, 9, 0).unwrap());
            }
        }
    };
}

/// 001 section 4.3.3.
fn the_order_is_that_of_posting<E: MatchingEngine>(new: impl Fn() -> E) {
    for is_open in [false, true] {
        for (sources, ends) in [([0, 0, 0, 0], [0, 1, 2, 3]), ([0, 8, 0, 0], [0, 2, 1, 3])] {
            let mut desk = EngineFixture::new(new(), BLOCKS);
            if is_open {
                desk.open(4);
            }
            let posts = [exact(4, 0, 7), exact(4, 0, 7), any_source(4, None), exact(4, 0, 7)];
            let slots = posts.map(|pattern| desk.receive(pattern).unwrap_err());
            let got = sources.map(|source| desk.arrive(envelope(4, source, 7), 0));
            assert_eq!(got, ends.map(|end: usize| ArrivalResult::Received(slots[end])));
        }
    }
}
for_each_engine!(the_order_is_that_of_posting);

fn receives_from_any_source_take_records_as_they_came<E: MatchingEngine>(new: impl Fn() -> E) {
    for is_open in [false, true] {
        let mut desk = EngineFixture::new(new(), BLOCKS);
        if is_open {
            desk.open(4);
        }
        let sources = [8, 1, 400, 0, 5, 1, 7];
        let ats = sources.map(|source| match desk.arrive(envelope(4, source, 3), source) {
            ArrivalResult::Recorded(at) => at,
            end => panic!("{end:?}"),
        });
        assert_eq!(desk.probe(&any_source(4, Some(2))), None);
        for at in ats {
            assert_eq!(desk.probe(&any_source(4, Some(3))), Some(at));
            assert_eq!(desk.receive(any_source(4, None)), Ok(at));
        }
    }
}
for_each_engine!(receives_from_any_source_take_records_as_they_came);

fn what_came_before_a_context_was_open_moves_over<E: MatchingEngine>(new: impl Fn() -> E) {
    let mut desk = EngineFixture::new(new(), BLOCKS);
    let slots = [1, 8, 1].map(|source| desk.receive(exact(4, source, 0)).unwrap_err());
    let any = desk.receive(any_source(4, Some(9))).unwrap_err();
    let other = desk.receive(exact(5, 1, 0)).unwrap_err();
    let ats = [3, 2, 3].map(|source| desk.arrive(envelope(4, source, 1), source));
    let before = desk.hash();
    desk.open(4);
    assert_eq!(desk.hash(), before);
    assert!(!desk.is_idle(4) && !desk.is_idle(5) && desk.is_idle(6));
    // A later receive for a rank that already has one.
    let last = desk.receive(exact(4, 1, 0)).unwrap_err();
    for slot in [slots[0], slots[2], last] {
        assert_eq!(desk.arrive(envelope(4, 1, 0), 0), ArrivalResult::Received(slot));
    }
    assert_eq!(desk.arrive(envelope(5, 1, 0), 0), ArrivalResult::Received(other));
    assert_eq!(desk.arrive(envelope(4, 7, 9), 0), ArrivalResult::Received(any));
    assert_eq!(desk.withdraw(2).map(ArrivalResult::Recorded), Some(ats[1]));
    for end in [ats[0], ats[2]] {
        assert_eq!(desk.receive(exact(4, 3, 1)).map(ArrivalResult::Recorded), Ok(end));
    }
    assert!(!desk.is_idle(4));
    desk.cancel(slots[1]);
    assert!(desk.is_idle(4) && desk.is_idle(5));
}
for_each_engine!(what_came_before_a_context_was_open_moves_over);

/// The position of a record does not affect the hash.
fn equal_queues_have_equal_hashes<E: MatchingEngine>(new: impl Fn() -> E) {
    let recorded = |sources: &[u32], withdrawn: Option<u32>| {
        let mut desk = EngineFixture::new(new(), 2);
        desk.open(4);
        for &source in sources {
            if let ArrivalResult::Rejected = desk.arrive(envelope(4, source, 0), source) {
                desk.withdraw(withdrawn.unwrap()).unwrap();
                desk.arrive(envelope(4, source, 0), source);
            }
        }
        desk.hash()
    };
    assert_eq!(recorded(&[1, 2], None), recorded(&[3, 1, 2], Some(3)));
    assert_ne!(recorded(&[1, 2], None), recorded(&[2, 1], None));
    assert_ne!(recorded(&[1, 2], None), recorded(&[1], None));
}
for_each_engine!(equal_queues_have_equal_hashes);

/// Two engines in lock step.
struct EnginePair<E> {
    lists: EngineFixture<ListEngine>,
    engine: EngineFixture<E>,
    posted: Vec<Slot>,
    messages: u32,
}

const CONTEXTS: u32 = 4;

impl<E: MatchingEngine> EnginePair<E> {
    fn pattern(random: &mut Rand32, ranks: u32) -> MatchPattern {
        let maybe = |random: &mut Rand32| random.rand_range(0..4) > 0;
        let source = Rank::new(random.rand_range(0..ranks));
        let tag = random.rand_range(0..3) as Tag;
        let context = random.rand_range(0..CONTEXTS) as Context;
        MatchPattern::new(
            Some(source).filter(|_| maybe(random)),
            Some(tag).filter(|_| maybe(random)),
            context,
        )
    }

    /// Executes one operation; `fill` out of ten are receives and messages.
    fn step(&mut self, random: &mut Rand32, ranks: u32, fill: u32) {
        let (lists, engine) = (&mut self.lists, &mut self.engine);
        let pattern = Self::pattern(random, ranks);
        let source = pattern.source().map(Rank::index);
        let (tag, context) = (pattern.tag(), pattern.context());
        match random.rand_range(0..10) {
            choice if choice < fill && choice % 2 == 0 => {
                let taken = lists.receive(pattern);
                assert_eq!(engine.receive(pattern), taken, "{pattern:?}");
                self.posted.extend(taken.err());
            }
            choice if choice < fill => {
                let envelope = envelope(context, source.unwrap_or(1), tag.unwrap_or(1));
                let end = lists.arrive(envelope, self.messages);
                assert_eq!(engine.arrive(envelope, self.messages), end, "{envelope:?}");
                self.messages += 1;
                if let ArrivalResult::Received(slot) = end {
                    self.posted.retain(|&posted| posted != slot);
                }
            }
            0..4 if !self.posted.is_empty() => {
                let at = random.rand_range(0..self.posted.len() as u32);
                let slot = self.posted.swap_remove(at as usize);
                lists.cancel(slot);
                engine.cancel(slot);
            }
            4..7 => {
                let message = self.messages.saturating_sub(random.rand_range(0..100));
                assert_eq!(lists.withdraw(message), engine.withdraw(message));
            }
            7 => assert_eq!(lists.probe(&pattern), engine.probe(&pattern), "{pattern:?}"),
            8 => assert_eq!(lists.is_idle(context), engine.is_idle(context), "{context}"),
            _ => engine.open(context),
        }
        let first = |lists: &mut EngineFixture<_>| lists.engine_first();
        assert_eq!(first(lists), engine.engine_first());
        let (expected, got) = (lists.engine.measures(), engine.engine.measures());
        let lengths =
            |m: midplane_device::matching::MatchingStats| (m.posted, m.peak_posted, m.unexpected, m.peak_unexpected);
        assert_eq!(lengths(expected), lengths(got));
        assert_eq!(expected.searches, got.searches);
    }

    /// Removes all elements.
    fn drain(mut self) {
        let (lists, engine) = (&mut self.lists, &mut self.engine);
        for slot in self.posted {
            lists.cancel(slot);
            engine.cancel(slot);
        }
        for context in 0..CONTEXTS as Context {
            let pattern = any_source(context, None);
            while lists.probe(&pattern).is_some() {
                assert_eq!(lists.receive(pattern), engine.receive(pattern));
            }
            assert!(engine.is_idle(context));
        }
        assert_eq!(engine.engine_first(), None);
        let left = engine.engine.measures();
        assert_eq!((left.posted, left.unexpected), (0, 0));
    }
}

impl<E: MatchingEngine> EngineFixture<E> {
    fn engine_first(&mut self) -> Option<BlockIndex> {
        self.engine.find_record(&self.region, &|_| true)
    }
}

/// Fills and drains both queues alternately, with few ranks and with many, until they are empty.
fn it_does_what_lists_do<E: MatchingEngine + Clone>(new: impl Fn() -> E) {
    for seed in 0..60 {
        let mut random = Rand32::new(seed);
        let ranks = [3, 12, 320][seed as usize % 3];
        let mut pair = EnginePair {
            lists: EngineFixture::new(ListEngine::new(BLOCKS, PEERS).unwrap(), BLOCKS),
            engine: EngineFixture::new(new(), BLOCKS),
            posted: Vec::new(),
            messages: 0,
        };
        for turn in 0..12 {
            let fill = if turn % 2 == 0 { 8 } else { 3 };
            for _ in 0..100 {
                pair.step(&mut random, ranks, fill);
            }
            // A copy continues as the original does.
            pair.engine.engine = pair.engine.engine.clone();
        }
        pair.drain();
    }
}
for_each_engine!(it_does_what_lists_do);

/// Sequence numbers restart at the limit set by a test.
#[test]
fn numbers_are_as_few_as_a_test_says() {
    let mut array = PerRank::new(BLOCKS, PEERS).unwrap();
    array.limit_numbers(5);
    let mut desk = EngineFixture::new(array, BLOCKS);
    for sender in 0..12 {
        let ArrivalResult::Recorded(at) = desk.arrive(envelope(0, 1, 1), sender) else {
            panic!("there is room");
        };
        assert_eq!(ArrivalTicket::from_record(&desk.region, at).number, sender % 5);
        assert_eq!(desk.withdraw(sender), Some(at));
    }
}

/// Hops of an update after an unrelated search.
#[test]
fn the_way_to_a_queue_counts_when_it_changes() {
    let hops = |desk: &mut EngineFixture<FourD>, change: &mut dyn FnMut(&mut EngineFixture<FourD>)| {
        let before = desk.engine.measures().traversals;
        change(desk);
        desk.engine.measures().traversals - before
    };
    let mut desk = EngineFixture::new(FourD::new(BLOCKS, PEERS).unwrap(), BLOCKS);
    desk.open(0);
    let [one, other] = [9, 299].map(|source| envelope(0, source, 1));
    let ArrivalResult::Recorded(at) = desk.arrive(one, 0) else {
        panic!("there is room");
    };
    assert_ne!(desk.arrive(other, 1), ArrivalResult::Rejected);
    let again = desk.region.record_without_buffer(&mut RawMemory, one, 0, 2).unwrap();
    desk.probe(&other.pattern());
    // The context's lead, the path to the queue, and the record.
    let way = hops(&mut desk, &mut |desk| _ = desk.probe(&one.pattern())) - 2;
    assert!(way > 0);
    for record in [true, false] {
        desk.probe(&other.pattern());
        let change = hops(&mut desk, &mut |desk| {
            if record {
                desk.engine.record(&mut desk.region, again)
            } else {
                desk.engine.unrecord(&mut desk.region, at)
            }
        });
        assert_eq!(change, way, "{record}");
    }
}

/// An update searches for its context's lead if the last search was for another context.
#[test]
fn the_way_to_a_context_counts_when_it_changes() {
    let mut desk = EngineFixture::new(PerRank::new(BLOCKS, PEERS).unwrap(), BLOCKS);
    for context in [0, 2, 4] {
        desk.open(context);
    }
    let slots = [4, 2, 4].map(|context| desk.receive(exact(context, 3, 1)).unwrap_err());
    for (slot, hops) in slots.into_iter().zip([0, 2, 3]) {
        let before = desk.engine.measures().traversals;
        desk.cancel(slot);
        assert_eq!(desk.engine.measures().traversals - before, hops);
    }
}
