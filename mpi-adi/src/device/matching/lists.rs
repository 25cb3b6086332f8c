//! A plain list for each queue, in order of posting and of arrival, as MPICH has it: no memory of its own, and a
//! search as long as the queue.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use super::engine::{Matching, Measures};
use crate::device::envelope::{Context, Envelope, Pattern};
use crate::device::list::{Links, List};
use crate::device::memory::region::{Record, Region};
use crate::device::names::{BlockIndex, Slot};
use crate::device::request::RequestPool;

/// The two queues and what searching them has cost.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Lists {
    posted: List<Slot>,
    unexpected: List<BlockIndex>,
    peak_posted: u32,
    traversals: u64,
}

impl Matching for Lists {
    const NAME: &'static str = "list";

    fn fixed_bytes(_: usize, _: usize) -> usize {
        0
    }

    fn new(_: usize, _: usize) -> Option<Self> {
        Some(Lists::default())
    }

    #[inline]
    fn arrive(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let mut next = self.posted.head();
        while let Some(at) = next {
            self.traversals += 1;
            if requests.posted(at).pattern.matches(envelope) {
                return Some(at);
            }
            next = requests.next(at);
        }
        None
    }

    #[inline]
    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.push(requests, slot);
        self.peak_posted = self.peak_posted.max(self.posted.len());
    }

    #[inline]
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.remove(requests, slot);
    }

    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.push(region, at);
    }

    #[inline]
    fn probe(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex> {
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            self.traversals += 1;
            if region.matches(at, pattern) {
                return Some(at);
            }
            next = region.next(at);
        }
        None
    }

    #[inline]
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.remove(region, at);
    }

    fn find_record(&mut self, region: &Region, is: impl Fn(&Record) -> bool) -> Option<BlockIndex> {
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            self.traversals += 1;
            if region.record(at).is_some_and(|record| is(&record)) {
                return Some(at);
            }
            next = region.next(at);
        }
        None
    }

    fn context_is_idle(
        &mut self,
        requests: &mut RequestPool,
        region: &mut Region,
        context: Context,
    ) -> bool {
        let mut next = self.posted.head();
        while let Some(slot) = next {
            self.traversals += 1;
            if requests.posted(slot).pattern.context == context {
                return false;
            }
            next = requests.next(slot);
        }
        let anything = Pattern {
            source: None,
            tag: None,
            context,
        };
        self.probe(region, &anything).is_none()
    }

    // The posted receive queue is in the pool, the unexpected message queue is what its records say, wherever
    // they stand.
    fn hash<H: Hasher>(&self, region: &Region, state: &mut H) {
        self.posted.hash(state);
        self.unexpected.len().hash(state);
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            region.hash_record(at, state);
            next = region.next(at);
        }
    }

    fn measures(&self) -> Measures {
        Measures {
            posted: self.posted.len(),
            peak_posted: self.peak_posted,
            unexpected: self.unexpected.len(),
            traversals: self.traversals,
        }
    }
}
