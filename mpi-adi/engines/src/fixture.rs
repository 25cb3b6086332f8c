//! Test fixture: an engine with a pool and MPI memory, lock-step comparison of two engines, and tests common to all.
#![forbid(unsafe_code)]

use core::hash::Hasher;
use std::collections::hash_map::DefaultHasher;

use super::choice::{EngineChoice, WithEngine};
use super::queues::{ElementQueues, QueueElement};
use super::split::{SplitDesign, SplitEngine};
use midplane_device::envelope::{Context, Envelope, MatchPattern, Rank, Tag};
use midplane_device::ids::{BlockIndex, SequenceNumber, Slot};
use midplane_device::list::{LinkStorage, ListEnds};
use midplane_device::matching::ListEngine;
use midplane_device::matching::{Matching, MatchingEngine};
use midplane_device::memory::region::{BLOCK_BYTES, BlockArray, RecordData, Region};
use midplane_device::memory::{RawMemory, Span};
use midplane_device::request::{PostedReceive, ReceiveRequest, ReceiveState, Request, RequestPool};

pub(super) fn envelope(source: u32, tag: Tag, context: Context) -> Envelope {
    Envelope {
        source: Rank::new(source),
        tag,
        context,
    }
}

pub(super) fn region(blocks: usize) -> Region {
    let words = vec![0; BlockArray::map_words(blocks)].into_boxed_slice();
    Region::new(BlockArray::new(
        vec![[0; BLOCK_BYTES]; blocks].into_boxed_slice(),
        words,
    ))
}

/// An engine with its pool and region.
pub(super) struct MatchingFixture<E> {
    pub(super) engine: E,
    pub(super) requests: RequestPool,
    pub(super) region: Region,
    posts: SequenceNumber,
    sends: u32,
}

impl<E: MatchingEngine> MatchingFixture<E> {
    pub(super) fn new(blocks: usize, peers: usize) -> Self {
        MatchingFixture {
            engine: E::new(blocks, peers).unwrap(),
            requests: RequestPool::new(1 << 14),
            region: region(blocks),
            posts: 0,
            sends: 0,
        }
    }

    /// Posts a receive, without a check for a match.
    pub(super) fn post(&mut self, pattern: MatchPattern) -> Slot {
        self.requests.grow(1).unwrap();
        self.engine.reserve(self.requests.slots()).unwrap();
        let posted = PostedReceive {
            pattern,
            serial: self.posts,
            needs_listing: false,
        };
        self.posts += 1;
        let receive = ReceiveRequest {
            span: Span::EMPTY,
            state: ReceiveState::Posted(posted),
        };
        let request = Request::Receive(receive);
        let slot = self.requests.insert(request).unwrap().slot();
        self.engine.post(&mut self.requests, slot);
        slot
    }

    /// Starts a receive, which matches or is posted.
    pub(super) fn receive(&mut self, pattern: MatchPattern) -> Result<BlockIndex, Slot> {
        match self.engine.take_match(&mut self.region, &pattern) {
            Some(at) => {
                self.region.release(&mut RawMemory, at);
                Ok(at)
            }
            None => Err(self.post(pattern)),
        }
    }

    /// Handles the arrival of a message. Returns the matching receive.
    pub(super) fn arrive(&mut self, envelope: Envelope) -> Option<Slot> {
        let slot = self.engine.match_incoming(&mut self.requests, &envelope)?;
        self.cancel(slot);
        Some(slot)
    }

    /// Records a message.
    pub(super) fn record(&mut self, envelope: Envelope) -> Option<BlockIndex> {
        let sender = self.sends;
        let at = self.region.record_without_buffer(&mut RawMemory, envelope, 0, sender)?;
        self.sends += 1;
        self.engine.record(&mut self.region, at);
        Some(at)
    }

    /// Handles the arrival of a message, which matches, or is recorded if memory is available.
    pub(super) fn message(&mut self, envelope: Envelope) -> Result<Slot, Option<BlockIndex>> {
        match self.arrive(envelope) {
            Some(slot) => Ok(slot),
            None => Err(self.record(envelope)),
        }
    }

    /// Cancels a posted receive.
    pub(super) fn cancel(&mut self, slot: Slot) {
        self.engine.unpost(&mut self.requests, slot);
        let id = self.requests.id(slot);
        self.requests.cancel_receive(slot);
        self.requests.take_completed(id).unwrap();
    }

    /// Cancels a recorded message for its sender.
    pub(super) fn withdraw(&mut self, sender: u32) -> Option<BlockIndex> {
        let at = self
            .engine
            .find_record(&self.region, &|record| record.holding == RecordData::None { sender })?;
        self.forget(at);
        Some(at)
    }

    /// Discards a record.
    pub(super) fn forget(&mut self, at: BlockIndex) {
        self.engine.unrecord(&mut self.region, at);
        self.region.release(&mut RawMemory, at);
    }

    pub(super) fn probe(&mut self, pattern: MatchPattern) -> Option<BlockIndex> {
        self.engine.probe(&mut self.region, &pattern)
    }

    pub(super) fn is_idle(&mut self, context: Context) -> bool {
        self.engine
            .context_is_idle(&mut self.requests, &mut self.region, context)
    }

    pub(super) fn hash(&self) -> u64 {
        let mut state = DefaultHasher::new();
        self.engine.hash(&self.region, &mut state);
        state.finish()
    }

    /// Returns the hops of `what`.
    pub(super) fn hops(&mut self, what: impl FnOnce(&mut Self)) -> u64 {
        let before = self.engine.measures().traversals;
        what(self);
        self.engine.measures().traversals - before
    }
}

impl<D: SplitDesign> MatchingFixture<SplitEngine<D>> {
    /// Checks that every queue is consistent and in order, that every element is in the queue searched for it, and that
    /// the element counts are correct.
    pub(super) fn check(&mut self) {
        let measures = self.engine.measures();
        let posted = check(&mut self.engine.posted, &mut self.requests);
        let unexpected = check(&mut self.engine.unexpected, &mut self.region);
        assert_eq!((posted, unexpected), (measures.posted, measures.unexpected));
    }
}

fn check<I: QueueElement>(queues: &mut impl ElementQueues<I>, store: &mut I::Store) -> u32 {
    let mut all = 0;
    let lists: Vec<ListEnds<I>> = queues.lists().copied().collect();
    for list in lists {
        let (mut before, mut next) = (None, list.head());
        while let Some(at) = next {
            assert_eq!(store.neighbours(at).0, before);
            let serial = I::serial(store, at);
            assert!(before.is_none_or(|before| I::serial(store, before) < serial));
            all += 1;
            before = next;
            next = store.next(at);
        }
        assert_eq!(list.tail(), before);
    }
    all
}

/// Parameters of random operations.
pub(super) struct OperationMix {
    pub(super) peers: u32,
    pub(super) contexts: Context,
    pub(super) tags: u32,
    /// One receive out of this number uses any source, and the same share any tag.
    pub(super) wild: u32,
    pub(super) operations: u32,
    /// Limit at which records are renumbered.
    pub(super) most_arrivals: u32,
}

/// Runs an engine and plain lists in lock step, and checks that they find the same receives and records.
pub(super) fn compare<D: SplitDesign>(seed: u64, mix: &OperationMix) -> MatchingFixture<SplitEngine<D>> {
    const BLOCKS: usize = 600;
    let peers = mix.peers as usize;
    let mut lists = MatchingFixture::<ListEngine>::new(BLOCKS, peers);
    let mut rig = MatchingFixture::<SplitEngine<D>>::new(BLOCKS, peers);
    rig.engine.numbers.set_limit(mix.most_arrivals);
    let mut random = oorandom::Rand32::new(seed);
    let mut posted: Vec<Slot> = Vec::new();
    for operation in 0..mix.operations {
        // Receives and messages prevail alternately.
        let flood = operation / 1500 % 3;
        let message = envelope(
            // Some sources send far more than others.
            random.rand_range(0..mix.peers) >> random.rand_range(0..3),
            random.rand_range(0..mix.tags) as Tag,
            random.rand_range(0..mix.contexts.into()) as Context,
        );
        let source = (random.rand_range(0..mix.wild) > 0).then_some(message.source);
        let tag = (random.rand_range(0..mix.wild) > 0).then_some(message.tag);
        let pattern = MatchPattern::new(source, tag, message.context);
        let (receives, messages) = [(70, 85), (15, 85), (42, 84)][flood as usize];
        let kind = random.rand_range(0..100);
        if kind < receives {
            let got = rig.receive(pattern);
            assert_eq!(got, lists.receive(pattern), "operation {operation}");
            posted.extend(got.err());
        } else if kind < messages {
            let got = rig.message(message);
            assert_eq!(got, lists.message(message), "operation {operation}");
            posted.retain(|&slot| Ok(slot) != got);
        } else if kind < 90 && !posted.is_empty() {
            let slot = posted.swap_remove(random.rand_range(0..posted.len() as u32) as usize);
            rig.cancel(slot);
            lists.cancel(slot);
        } else if kind < 94 {
            let sender = random.rand_range(0..rig.sends.max(1));
            assert_eq!(rig.withdraw(sender), lists.withdraw(sender));
        } else if kind < 99 {
            assert_eq!(rig.probe(pattern), lists.probe(pattern));
        } else {
            drop_context(&mut rig, &mut lists, &mut posted, message.context, operation);
        }
        if operation.is_multiple_of(512) {
            rig.check();
        }
    }
    rig.check();
    let (own, other) = (rig.engine.measures(), lists.engine.measures());
    assert_eq!(
        (own.posted, own.unexpected, own.searches),
        (other.posted, other.unexpected, other.searches)
    );
    rig
}

/// Queries a context; occasionally empties, drops and reopens it.
fn drop_context<D: SplitDesign>(
    rig: &mut MatchingFixture<SplitEngine<D>>,
    lists: &mut MatchingFixture<ListEngine>,
    posted: &mut Vec<Slot>,
    context: Context,
    operation: u32,
) {
    let ends = operation.is_multiple_of(16);
    if ends {
        let of_context = |requests: &RequestPool, slot| requests.posted(slot).pattern.context();
        posted.retain(|&slot| {
            let stays = of_context(&rig.requests, slot) != context;
            if !stays {
                rig.cancel(slot);
                lists.cancel(slot);
            }
            stays
        });
        let anything = MatchPattern::new(None, None, context);
        while let Some(at) = rig.probe(anything) {
            assert_eq!(lists.probe(anything), Some(at));
            rig.forget(at);
            lists.forget(at);
        }
        assert_eq!(lists.probe(anything), None);
    }
    let idle = rig.is_idle(context);
    assert_eq!(idle, lists.is_idle(context));
    assert!(idle || !ends);
    if idle {
        let MatchingFixture {
            engine,
            requests,
            region,
            ..
        } = rig;
        engine.open(requests, region, context);
    }
}

/// Returns the envelopes of all records, by sequence number.
pub(super) fn order<D: SplitDesign>(rig: &MatchingFixture<SplitEngine<D>>) -> Vec<Envelope> {
    let mut records: Vec<(SequenceNumber, BlockIndex)> = Vec::new();
    for list in rig.engine.unexpected.lists() {
        let mut next = list.head();
        while let Some(at) = next {
            records.push((BlockIndex::serial(&rig.region, at), at));
            next = rig.region.next(at);
        }
    }
    records.sort_by_key(|&(serial, _)| serial);
    let envelopes = records.iter().map(|&(_, at)| rig.region.envelope(at));
    envelopes.collect()
}

/// Hops of searches of each engine with few entries.
struct FewHops;

impl WithEngine for FewHops {
    type Output = [u64; 4];

    fn run<E: MatchingEngine>(self) -> [u64; 4] {
        let mut rig = MatchingFixture::<E>::new(40, 40);
        for tag in [3, 2, 1] {
            rig.post(envelope(7, tag, 0).pattern());
        }
        for tag in [5, 4] {
            rig.record(envelope(7, tag, 0)).unwrap();
        }
        let before = rig.engine.measures();
        let hops = [
            rig.hops(|rig| assert!(rig.is_idle(2))),
            rig.hops(|rig| assert!(!rig.is_idle(0))),
            rig.hops(|rig| assert_eq!(rig.withdraw(2), None)),
            rig.hops(|rig| assert!(rig.withdraw(1).is_some())),
        ];
        let after = rig.engine.measures();
        assert_eq!(after.searches - before.searches, 2, "{}", E::NAME);
        assert_eq!(after.longest, 2, "{}", E::NAME);
        // A receive or a record alone.
        rig.post(envelope(7, 1, 4).pattern());
        rig.record(envelope(7, 1, 6)).unwrap();
        assert!([0, 4, 6].iter().all(|&context| !rig.is_idle(context)));
        assert!(rig.is_idle(8));
        hops
    }
}

#[test]
fn whether_a_context_is_idle_is_no_search_but_its_hops_count() {
    for &choice in EngineChoice::ALL {
        let idle = match choice {
            // It queries the pool for receives, without hops.
            EngineChoice::Default => [2, 1],
            // A posted receive suffices: the context is not idle.
            EngineChoice::List => [3 + 2, 1],
            _ => [3 + 2, 1 + 1],
        };
        let expected = [idle[0], idle[1], 2, 2];
        assert_eq!(choice.with(FewHops), expected, "{choice}");
    }
}

/// Whether 9 receives have been reserved, before and after, and a tenth.
struct Reserved;

impl WithEngine for Reserved {
    type Output = [bool; 3];

    fn run<E: MatchingEngine>(self) -> [bool; 3] {
        let mut rig = MatchingFixture::<E>::new(40, 40);
        let before = rig.engine.has_reserved(9);
        rig.engine.reserve(9).unwrap();
        [before, rig.engine.has_reserved(9), rig.engine.has_reserved(10)]
    }
}

#[test]
fn an_engine_knows_for_how_many_receives_it_has_room() {
    for &choice in EngineChoice::ALL {
        // All other engines have the capacity without a reservation.
        let is_made = choice != EngineChoice::FourD;
        assert_eq!(choice.with(Reserved), [is_made, true, is_made], "{choice}");
    }
}
