//! An engine whose posted receive queue and unexpected message queue are each split into several, by a rule
//! that one of the designs of paper 002 gives.
//!
//! # Order
//! A posted receive's serial is that which the device gives it. A record's is its number in the order of arrival,
//! in the word that its block keeps for the engine. The word has 32 bits, and a message may stay unexpected for
//! ever: so when 2^31 messages have been recorded, those that are left are numbered anew, from 0 on. That takes
//! no memory: the queue with the oldest head is found again and again, and its head, numbered and marked as
//! done by the highest bit, moves to its end. It takes time: the number of records times the number of queues.
#![forbid(unsafe_code)]

use core::fmt::Debug;
use core::hash::{Hash, Hasher};

use super::engine::{Matching, Measures};
use super::queues::{Element, Queues, Search};
use crate::device::envelope::{Context, Envelope, Pattern};
use crate::device::list::Links;
use crate::device::memory::region::{Record, Region};
use crate::device::names::{BlockIndex, Serial, Slot};
use crate::device::request::RequestPool;

/// How the two queues are split.
pub trait Design: Clone + PartialEq + Eq + Debug {
    /// What users call it.
    const NAME: &'static str;
    /// The queues.
    type Queues<I: Element>: Queues<I>;
}

/// The mark of a record that is numbered anew already.
const NEW: u32 = 1 << 31;
/// When as many have been recorded, records are numbered anew: a mark, which is at most the number of the next
/// record, is still below [`NEW`].
const MOST_ARRIVALS: u32 = NEW - 1;

/// The engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split<D: Design> {
    pub(super) posted: D::Queues<Slot>,
    pub(super) unexpected: D::Queues<BlockIndex>,
    /// The number of the next record.
    arrivals: u32,
    /// [`MOST_ARRIVALS`]; a test may have less.
    pub(super) most_arrivals: u32,
    measures: Measures,
}

impl<D: Design> Split<D> {
    /// Numbers all records from 0 on, in their order.
    #[cold]
    fn renumber(&mut self, region: &mut Region) {
        let mut number = 0;
        loop {
            let lists = self.unexpected.lists_mut();
            let heads = lists.filter_map(|list| Some((list.head()?, list)));
            let to_do = heads.filter(|(at, _)| region.word(*at) < NEW);
            let Some((at, list)) = to_do.min_by_key(|(at, _)| region.word(*at)) else {
                break;
            };
            list.remove(region, at);
            list.push(region, at);
            let old = Serial::from(region.word(at));
            region.set_word(at, NEW | number);
            for mark in self.unexpected.marks_mut().filter(|mark| **mark <= old) {
                *mark = (NEW | number).into();
            }
            number += 1;
        }
        for mark in self.unexpected.marks_mut() {
            // It is above all that are left.
            let new = mark.checked_sub(NEW.into());
            *mark = new.unwrap_or(number.into());
        }
        for list in self.unexpected.lists() {
            let mut next = list.head();
            while let Some(at) = next {
                region.set_word(at, region.word(at) & !NEW);
                next = region.next(at);
            }
        }
        self.arrivals = number;
    }

    /// The first recorded message of which `is` is true, of all, and the hops that it took.
    fn first(&self, region: &Region, is: impl Fn(BlockIndex) -> bool) -> (Option<BlockIndex>, u32) {
        let mut search = Search::new(region, is);
        self.unexpected.find_anywhere(&mut search);
        search.end()
    }
}

impl<D: Design> Matching for Split<D> {
    const NAME: &'static str = D::NAME;

    fn fixed_bytes(_: usize, peers: usize) -> usize {
        let posted = <D::Queues<Slot> as Queues<Slot>>::fixed_bytes(peers);
        posted + <D::Queues<BlockIndex> as Queues<BlockIndex>>::fixed_bytes(peers)
    }

    fn new(_: usize, peers: usize) -> Option<Self> {
        Some(Split {
            posted: Queues::new(peers)?,
            unexpected: Queues::new(peers)?,
            arrivals: 0,
            most_arrivals: MOST_ARRIVALS,
            measures: Measures::default(),
        })
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
        if self.arrivals >= self.most_arrivals {
            self.renumber(region);
        }
        region.set_word(at, self.arrivals);
        self.arrivals += 1;
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

    fn find_record(&mut self, region: &Region, is: impl Fn(&Record) -> bool) -> Option<BlockIndex> {
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
        self.measures.traversals += u64::from(hops);
        let mut search = Search::new(region, |at| region.matches(at, &anything));
        self.unexpected.find(&anything, &mut search);
        let (recorded, hops) = search.end();
        self.measures.traversals += u64::from(hops);
        if posted.is_none() {
            self.posted.forget(context);
        }
        if recorded.is_none() {
            self.unexpected.forget(context);
        }
        posted.is_none() && recorded.is_none()
    }

    // Posted receives are hashed with the pool, and their serials say their order. Records are looked for one by
    // one, the first that is younger than the last: a model checker has few.
    fn hash<H: Hasher>(&self, region: &Region, state: &mut H) {
        (self.measures.posted, self.measures.unexpected).hash(state);
        let (mut record, _) = self.first(region, |_| true);
        while let Some(at) = record {
            region.hash_record(at, state);
            let word = region.word(at);
            (record, _) = self.first(region, |at| region.word(at) > word);
        }
    }

    fn measures(&self) -> Measures {
        self.measures
    }
}
