//! Generic engine that splits the posted receive queue and the unexpected message queue into several, by the rule of a
//! design of paper 002.
//!
//! # Order
//! The device assigns a posted receive's serial. A record's serial is its [sequence number](super::arrivals) of
//! arrival, stored in the engine's word of its block.
#![forbid(unsafe_code)]

use core::fmt::Debug;
use core::hash::{Hash, Hasher};

use super::arrivals::{MOST_NUMBERS, Numbers, renumber};
use super::queues::{Element, Queues, Search};
use midplane_device::envelope::{Context, Envelope, Pattern};
use midplane_device::matching::{Matching, MatchingEngine, Measures};
use midplane_device::memory::region::{Record, Region};
use midplane_device::names::{BlockIndex, Serial, Slot};
use midplane_device::request::RequestPool;
use midplane_device::stats::Count;

/// Rule that splits the two queues.
pub trait Design: Send + Clone + PartialEq + Eq + Debug + 'static {
    /// User-visible name.
    const NAME: &'static str;
    /// The queues.
    type Queues<I: Element>: Queues<I>;
}

/// Flag of a renumbered serial, above all sequence numbers.
const NEW: Serial = 1 << 32;

/// Matching engine with split queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split<D: Design> {
    pub(super) posted: D::Queues<Slot>,
    pub(super) unexpected: D::Queues<BlockIndex>,
    pub(super) numbers: Numbers,
    measures: Measures,
}

impl<D: Design> Split<D> {
    /// Renumbers all records from 0 in their order, and updates the marks.
    #[cold]
    fn renumber(&mut self, region: &mut Region) {
        let each =
            |queues: &D::Queues<BlockIndex>, f: &mut dyn FnMut(&_)| queues.lists().for_each(f);
        let (unexpected, mut records) = (&mut self.unexpected, 0);
        renumber(
            region,
            &mut self.numbers,
            unexpected,
            each,
            |queues, old, number| {
                for mark in queues.marks_mut().filter(|mark| **mark <= old.into()) {
                    *mark = NEW | Serial::from(number);
                }
                records = number + 1;
                number
            },
        );
        for mark in unexpected.marks_mut() {
            // A mark without the flag is above all remaining records.
            *mark = mark.checked_sub(NEW).unwrap_or(records.into());
        }
    }

    /// Returns the first recorded message in any queue that satisfies `is`, and the hops of the search.
    fn first(&self, region: &Region, is: impl Fn(BlockIndex) -> bool) -> (Option<BlockIndex>, u32) {
        let mut search = Search::new(region, is);
        self.unexpected.find_anywhere(&mut search);
        search.end()
    }
}

impl<D: Design> Matching for Split<D> {
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

    fn arrive(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let mut search = Search::new(requests, |slot| {
            requests.posted(slot).pattern.matches(envelope)
        });
        self.posted.find(&envelope.pattern(), &mut search);
        let (found, hops) = search.end();
        self.measures.searched(hops);
        found
    }

    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        if self.numbers.are_out() {
            self.renumber(region);
        }
        region.set_word(at, self.numbers.take());
        self.unexpected.push(region, at);
        self.measures.recorded();
    }

    fn probe(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex> {
        let mut search = Search::new(region, |at| region.matches(at, pattern));
        self.unexpected.find(pattern, &mut search);
        let (found, hops) = search.end();
        self.measures.searched(hops);
        found
    }

    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.remove(region, at);
        self.measures.unrecorded();
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&Record) -> bool) -> Option<BlockIndex> {
        let (found, hops) = self.first(region, |at| {
            region.record(at).is_some_and(|record| is(&record))
        });
        self.measures.searched(hops);
        found
    }

    fn context_is_idle(
        &mut self,
        requests: &mut RequestPool,
        region: &mut Region,
        context: Context,
    ) -> bool {
        let anything = Pattern::new(None, None, context);
        let mut search = Search::new(requests, |slot| {
            requests.posted(slot).pattern.context() == context
        });
        self.posted.find(&anything, &mut search);
        let (posted, hops) = search.end();
        self.measures.traversals += hops as Count;
        let mut search = Search::new(region, |at| region.matches(at, &anything));
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

    fn measures(&self) -> Measures {
        self.measures
    }
}

impl<D: Design> MatchingEngine for Split<D> {
    const NAME: &'static str = D::NAME;

    fn fixed_bytes(_: usize, peers: usize) -> usize {
        let posted = <D::Queues<Slot> as Queues<Slot>>::fixed_bytes(peers);
        posted + <D::Queues<BlockIndex> as Queues<BlockIndex>>::fixed_bytes(peers)
    }

    fn new(_: usize, peers: usize) -> Option<Self> {
        Some(Split {
            posted: Queues::new(peers)?,
            unexpected: Queues::new(peers)?,
            numbers: Numbers::new(MOST_NUMBERS),
            measures: Measures::default(),
        })
    }
}
