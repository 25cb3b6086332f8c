//! A plain list for each queue, in order of posting and of arrival, as MPICH has it: no memory of its own, and a
//! search as long as the queue.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use super::engine::{Matching, Measures};
use crate::device::envelope::{Context, Envelope, Pattern};
use crate::device::list::{Ends, Links};
use crate::device::memory::region::{Record, Region};
use crate::device::names::{BlockIndex, Slot};
use crate::device::request::RequestPool;

/// The two queues and what searching them has cost.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Lists {
    posted: Ends<Slot>,
    unexpected: Ends<BlockIndex>,
    measures: Measures,
}

impl Lists {
    /// The first recorded message of which `is` is true, and how many were looked at.
    #[inline]
    fn first(
        &self,
        region: &Region,
        mut is: impl FnMut(BlockIndex) -> bool,
    ) -> (Option<BlockIndex>, u32) {
        let mut hops = 0;
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            hops += 1;
            if is(at) {
                break;
            }
            next = region.next(at);
        }
        (next, hops)
    }

    /// The first posted receive of which `is` is true, and how many were looked at.
    #[inline]
    fn first_posted(
        &self,
        requests: &RequestPool,
        mut is: impl FnMut(&Pattern) -> bool,
    ) -> (Option<Slot>, u32) {
        let mut hops = 0;
        let mut next = self.posted.head();
        while let Some(slot) = next {
            hops += 1;
            if is(&requests.posted(slot).pattern) {
                break;
            }
            next = requests.next(slot);
        }
        (next, hops)
    }
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
        let (found, hops) = self.first_posted(requests, |pattern| pattern.matches(envelope));
        self.measures.searched(hops);
        found
    }

    #[inline]
    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.push(requests, slot);
        self.measures.posted();
    }

    #[inline]
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.remove(requests, slot);
        self.measures.unposted();
    }

    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.push(region, at);
        self.measures.recorded();
    }

    #[inline]
    fn probe(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex> {
        let (found, hops) = self.first(region, |at| region.matches(at, pattern));
        self.measures.searched(hops);
        found
    }

    #[inline]
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
        let (posted, hops) = self.first_posted(requests, |pattern| pattern.context == context);
        self.measures.traversals += u64::from(hops);
        if posted.is_some() {
            return false;
        }
        let (recorded, hops) = self.first(region, |at| region.envelope(at).context == context);
        self.measures.traversals += u64::from(hops);
        recorded.is_none()
    }

    // The posted receive queue is in the pool, the unexpected message queue is what its records say, wherever
    // they stand.
    fn hash<H: Hasher>(&self, region: &Region, state: &mut H) {
        (self.posted, self.measures.posted).hash(state);
        self.measures.unexpected.hash(state);
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            region.hash_record(at, state);
            next = region.next(at);
        }
    }

    fn measures(&self) -> Measures {
        self.measures
    }
}
