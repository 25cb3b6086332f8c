//! List engine: one plain list per queue, in order of posting and of arrival, as in MPICH. It uses no memory of its
//! own, and search time is linear in the queue length.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use super::engine::{Matching, MatchingEngine, MatchingStats};
use crate::envelope::{Context, Envelope, MatchPattern};
use crate::ids::{BlockIndex, Slot};
use crate::list::{LinkStorage, ListEnds};
use crate::memory::region::{Region, UnexpectedRecord};
use crate::request::RequestPool;
use crate::stats::Count;

/// The two queues and their search costs.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ListEngine {
    posted: ListEnds<Slot>,
    unexpected: ListEnds<BlockIndex>,
    measures: MatchingStats,
}

impl Matching for ListEngine {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    #[inline]
    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let requests = &*requests;
        let (found, hops) = self
            .posted
            .find(requests, |slot| requests.posted(slot).pattern.matches(envelope));
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
    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let region = &*region;
        let (found, hops) = self.unexpected.find(region, |at| region.matches(at, pattern));
        self.measures.searched(hops);
        found
    }

    #[inline]
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.remove(region, at);
        self.measures.unrecorded();
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        let (found, hops) = self
            .unexpected
            .find(region, |at| region.record(at).is_some_and(|record| is(&record)));
        self.measures.searched(hops);
        found
    }

    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool {
        let (requests, region) = (&*requests, &*region);
        let (posted, hops) = self
            .posted
            .find(requests, |slot| requests.posted(slot).pattern.context() == context);
        self.measures.traversals += hops as Count;
        if posted.is_some() {
            return false;
        }
        let (recorded, hops) = self
            .unexpected
            .find(region, |at| region.envelope(at).context == context);
        self.measures.traversals += hops as Count;
        recorded.is_none()
    }

    // Records determine the state of the unexpected message queue, independent of their position.
    fn hash(&self, region: &Region, mut state: &mut dyn Hasher) {
        self.measures.unexpected.hash(&mut state);
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            region.hash_record(at, &mut state);
            next = region.next(at);
        }
    }

    fn measures(&self) -> MatchingStats {
        self.measures
    }
}

impl MatchingEngine for ListEngine {
    const NAME: &'static str = "list";

    fn fixed_bytes(_: usize, _: usize) -> usize {
        0
    }

    fn new(_: usize, _: usize) -> Option<Self> {
        Some(ListEngine::default())
    }
}
