//! Generic engine that splits the posted receive queue and the unexpected message queue into several, by the rule of a
//! design of paper 002.
//!
//! # Order
//! The device assigns a posted receive's serial. A record's serial is its [sequence number](super::arrivals) of
//! arrival, stored in the engine's word of its block.
#![forbid(unsafe_code)]

use core::fmt::Debug;
use core::hash::{Hash, Hasher};

use super::arrivals::{MAX_NUMBERS, SequenceNumbers, renumber};
use super::queues::{ElementQueues, QueueElement, QueueSearch};
use midplane_device::envelope::{Context, Envelope, MatchPattern};
use midplane_device::ids::{BlockIndex, SequenceNumber, Slot};
use midplane_device::matching::{Matching, MatchingEngine, MatchingStats};
use midplane_device::memory::region::{Region, UnexpectedRecord};
use midplane_device::request::RequestPool;
use midplane_device::stats::Count;

/// Rule that splits the two queues.
pub trait SplitDesign: Send + Clone + PartialEq + Eq + Debug + 'static {
    /// User-visible name.
    const NAME: &'static str;
    /// The queues.
    type Queues<I: QueueElement>: ElementQueues<I>;
}

/// Flag of a renumbered serial, above all sequence numbers.
const NEW: SequenceNumber = 1 << 32;

/// Matching engine with split queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitEngine<D: SplitDesign> {
    pub(super) posted: D::Queues<Slot>,
    pub(super) unexpected: D::Queues<BlockIndex>,
    pub(super) numbers: SequenceNumbers,
    measures: MatchingStats,
}

impl<D: SplitDesign> SplitEngine<D> {
    /// Renumbers all records from 0 in their order, and updates the marks.
    #[cold]
    fn renumber(&mut self, region: &mut Region) {
        let each = |queues: &D::Queues<BlockIndex>, f: &mut dyn FnMut(&_)| queues.lists().for_each(f);
        let (unexpected, mut records) = (&mut self.unexpected, 0);
        renumber(region, &mut self.numbers, unexpected, each, |queues, old, number| {
            for mark in queues.marks_mut().filter(|mark| **mark <= old.into()) {
                *mark = NEW | SequenceNumber::from(number);
            }
            records = number + 1;
            number
        });
        for mark in unexpected.marks_mut() {
            // A mark without the flag is above all remaining records.
            *mark = mark.checked_sub(NEW).unwrap_or(records.into());
        }
    }

    /// Returns the first recorded message in any queue that satisfies `is`, and the hops of the search.
    fn first(&self, region: &Region, is: impl Fn(BlockIndex) -> bool) -> (Option<BlockIndex>, u32) {
        let mut search = QueueSearch::new(region, is);
        self.unexpected.find_anywhere(&mut search);
        search.end()
    }
}

impl<D: SplitDesign> Matching for SplitEngine<D> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.push(requests, slot);
        self.measures.posted();
    }

    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.remove(requests, slot);
        self.measures.unposted();
    }

    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let mut search = QueueSearch::new(requests, |slot| requests.posted(slot).pattern.matches(envelope));
        self.posted.find(&envelope.pattern(), &mut search);
        let (found, hops) = search.end();
        self.measures.searched(hops);
        found
    }

    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        if self.numbers.is_exhausted() {
            self.renumber(region);
        }
        region.set_word(at, self.numbers.next_number());
        self.unexpected.push(region, at);
        self.measures.recorded();
    }

    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let mut search = QueueSearch::new(region, |at| region.matches(at, pattern));
        self.unexpected.find(pattern, &mut search);
        let (found, hops) = search.end();
        self.measures.searched(hops);
        found
    }

    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.remove(region, at);
        self.measures.unrecorded();
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        let (found, hops) = self.first(region, |at| region.record(at).is_some_and(|record| is(&record)));
        self.measures.searched(hops);
        found
    }

    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool {
        let anything = MatchPattern::new(None, None, context);
        let mut search = QueueSearch::new(requests, |slot| requests.posted(slot).pattern.context() == context);
        self.posted.find(&anything, &mut search);
        let (posted, hops) = search.end();
        self.measures.traversals += hops as Count;
        let mut search = QueueSearch::new(region, |at| region.matches(at, &anything));
        self.unexpected.find(&anything, &mut search);
        let (recorded, hops) = search.end();
        self.measures.traversals += hops as Count;
        if posted.is_none() {
            self.posted.forget(context);
        }
        if recorded.is_none() {
            self.unexpected.forget(context);
        }
        posted.is_none() && recorded.is_none()
    }

    // Posted receives are hashed with the pool, and their serials determine their order. Each record is found by a
    // search for the next younger one: a model checker has few.
    fn hash(&self, region: &Region, mut state: &mut dyn Hasher) {
        (self.measures.posted, self.measures.unexpected).hash(&mut state);
        let (mut record, _) = self.first(region, |_| true);
        while let Some(at) = record {
            region.hash_record(at, &mut state);
            let word = region.word(at);
            (record, _) = self.first(region, |at| region.word(at) > word);
        }
    }

    fn measures(&self) -> MatchingStats {
        self.measures
    }
}

impl<D: SplitDesign> MatchingEngine for SplitEngine<D> {
    const NAME: &'static str = D::NAME;

    fn fixed_bytes(_: usize, peers: usize) -> usize {
        let posted = <D::Queues<Slot> as ElementQueues<Slot>>::fixed_bytes(peers);
        posted + <D::Queues<BlockIndex> as ElementQueues<BlockIndex>>::fixed_bytes(peers)
    }

    fn new(_: usize, peers: usize) -> Option<Self> {
        Some(SplitEngine {
            posted: ElementQueues::new(peers)?,
            unexpected: ElementQueues::new(peers)?,
            numbers: SequenceNumbers::new(MAX_NUMBERS),
            measures: MatchingStats::default(),
        })
    }
}
