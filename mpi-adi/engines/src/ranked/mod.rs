//! Common parts of the engines of paper 001, chapter 4, which partition the queues by context and by rank: `array`
//! (section 4.4, figure 4.4) and `fourd` (section 4.3).
//!
//! ```text
//!   lead of a context --- root --- queues by rank: for each location, posted receives and records
//!      |    |
//!      |    +-- posted: receives from any source
//!      +------- unexpected: records that exceed the capacity of the queues by rank
//!   lead of all contexts that are not open: both queues linear
//! ```
//! * **Order** (section 4.3.3). A rank always uses the same queue, and within a queue the order is that of posting and
//!   of arrival. Between queues, a receive's [serial](midplane_device::request::PostedReceive::serial) and a record's sequence number
//!   decide. A message searches the queue of its rank and the receives from any source; a receive from any source
//!   searches the queues of all ranks. Both select the first in the total order, as a single list would. The thesis
//!   does not specify which record a receive from any source selects.
//! * **Sequence numbers**: `arrivals.rs`.
//! * **Linear queues.** A lead's two linear queues contain all elements that the queues by rank cannot. These are
//!   receives from any source, ranks outside the job, and records beyond the engine's capacity
//!   ([`lend`](midplane_device::memory::UserMemory::lend)). They are also all elements of a context that is not open, because its
//!   communicator does not exist here yet or the heap was full. So queue insertion cannot fail. Opening a context moves
//!   its queued elements, in order.
//! * **Search before insertion** (section 4.3): an insertion follows a failed search of the sister queue, a deletion a
//!   search of the same queue. Both continue at the end of that search; if another search has been made since, they
//!   repeat it.
//!
//! Differences from the thesis: ranks are those of MPI_COMM_WORLD and the structures are sized for the job, because a
//! message contains its sender's rank there for any communicator. Sequence numbers are common to all contexts, so that
//! a search for a record can include all.
#![forbid(unsafe_code)]

mod context_roots;
#[cfg(test)]
pub(super) mod tests;

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::arrivals::{ArrivalTicket, MAX_NUMBERS, SequenceNumbers, earlier, renumber};
use context_roots::{ContextIndex, ContextRoot, ContextRoots};
use midplane_device::envelope::{Context, Envelope, MatchPattern, Rank};
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::list::{LinkStorage, ListEnds};
use midplane_device::matching::{Matching, MatchingEngine, MatchingStats, OutOfSpace};
use midplane_device::memory::region::{Region, UnexpectedRecord};
use midplane_device::request::RequestPool;
use midplane_device::stats::Count;

/// The two queues of the ranks that share a location.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct QueueHeads {
    pub(super) posted: ListEnds<Slot>,
    pub(super) unexpected: ListEnds<BlockIndex>,
}

impl QueueHeads {
    /// Checks whether both queues are empty.
    #[inline]
    pub(super) fn are_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }
}

/// Lookup of a context's queues by rank. The ranks are always below the job's size.
pub trait ByRank: Clone + fmt::Debug + Send + 'static {
    /// User-visible name of the engine.
    const NAME: &'static str;
    /// Root of the queues of one context.
    type Root: Clone + fmt::Debug + Send;
    /// Location of a pair of queues.
    type Place: Copy;

    /// See [`MatchingEngine::fixed_bytes`].
    fn fixed_bytes(blocks: usize, peers: usize) -> usize;
    /// Returns the bytes of one context's queues: [`MatchingEngine::context_bytes`] without the lead.
    fn root_bytes(peers: usize) -> usize;
    /// See [`MatchingEngine::receive_bytes`].
    fn receive_bytes(peers: usize) -> usize;
    /// See [`MatchingEngine::new`].
    fn new(blocks: usize, peers: usize) -> Option<Self>;
    /// See [`Matching::reserve`].
    fn reserve(&mut self, receives: usize) -> Result<(), OutOfSpace>;
    /// See [`Matching::has_reserved`].
    fn has_reserved(&self, receives: usize) -> bool;
    /// Returns the maximum records that can be queued by rank simultaneously.
    fn max_records(&self) -> u32;

    /// Creates the queues of one more context. Returns `None` if a linear queue is faster.
    fn open(&mut self) -> Result<Option<Self::Root>, OutOfSpace>;
    /// Frees the queues of a context, which are [empty](ByRank::is_empty).
    fn close(&mut self, root: Self::Root);
    /// Checks whether the context's queues are empty.
    fn is_empty(&self, root: &Self::Root) -> bool;

    /// Returns the queues of a rank, if they exist, and the hops.
    fn find<'a>(&'a mut self, context: Context, root: &'a Self::Root, rank: Rank) -> (Option<&'a QueueHeads>, u32);
    /// Returns the queues of a rank for an insertion or removal, and the hops. Creates them if they do not exist. There
    /// are no hops after a search for the same rank.
    fn heads<'a>(&'a mut self, context: Context, root: &'a mut Self::Root, rank: Rank) -> (&'a mut QueueHeads, u32);
    /// Frees the queues that [`ByRank::heads`] has just returned, if the update has emptied them.
    fn tidy(&mut self, root: &mut Self::Root);
    /// Calls `f` for all queues of a context, except for some empty ones. Returns the hops.
    fn each(&self, context: Context, root: &Self::Root, f: impl FnMut(&QueueHeads, Self::Place)) -> u32;
    /// Notifies that the search among [all](ByRank::each) queues ended at `place`.
    fn found_at(&mut self, place: Self::Place);
}

/// Matching engine with queues partitioned by context and rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankedEngine<Q: ByRank> {
    leads: ContextRoots<Q::Root>,
    queues: Q,
    peers: u32,
    /// Records in queues by rank.
    ranked: u32,
    numbers: SequenceNumbers,
    measures: MatchingStats,
}

/// The first record found, its location if it is queued by rank, and the hops.
struct FirstRecord<P> {
    record: Option<BlockIndex>,
    place: Option<P>,
    hops: u32,
}

impl<Q: ByRank> RankedEngine<Q> {
    /// Creates an engine with these queues.
    pub(super) fn with_queues(queues: Q, peers: usize) -> Self {
        RankedEngine {
            leads: ContextRoots::new(),
            queues,
            peers: u32::try_from(peers).unwrap_or(u32::MAX),
            ranked: 0,
            numbers: SequenceNumbers::new(MAX_NUMBERS),
            measures: MatchingStats::default(),
        }
    }

    /// Limits the sequence numbers, for a test: records are renumbered after `limit` arrivals.
    #[doc(hidden)]
    pub fn limit_numbers(&mut self, limit: u32) {
        self.numbers.set_limit(limit);
    }

    pub(super) fn contexts(&self) -> usize {
        self.leads.open.len()
    }

    pub(super) const LEAD_BYTES: usize = size_of::<ContextRoot<Q::Root>>();

    pub(super) fn queues(&self) -> &Q {
        &self.queues
    }

    /// Returns the first record of `lead`, of any rank, that satisfies `is`.
    fn first_of_all(
        &self,
        region: &Region,
        lead: &ContextRoot<Q::Root>,
        is: impl Fn(BlockIndex) -> bool,
    ) -> FirstRecord<Q::Place> {
        let (mut record, mut hops) = lead.unexpected.find(region, &is);
        let mut place = None;
        if let Some(root) = &lead.root {
            let way = self.queues.each(lead.context, root, |heads, at| {
                let (found, looked) = heads.unexpected.find(region, &is);
                hops += looked;
                if found.is_some() && earlier(region, record, found) == found {
                    (record, place) = (found, Some(at));
                }
            });
            hops += way;
        }
        FirstRecord { record, place, hops }
    }

    /// Returns the lead's root and the rank, if elements of `source` are queued by rank there.
    #[inline]
    fn by_rank(lead: &mut ContextRoot<Q::Root>, source: Option<Rank>, peers: u32) -> Option<(&mut Q::Root, Rank)> {
        let rank = source.filter(|&rank| rank.index() < peers)?;
        Some((lead.root.as_mut()?, rank))
    }

    /// Returns the lead of a context for an insertion or removal.
    #[inline]
    fn lead_again(&mut self, context: Context) -> ContextIndex {
        let (at, hops) = self.leads.find_again(context);
        self.measures.traversals += hops as Count;
        at
    }

    /// Applies `change` to the list that contains the receive in `slot`, or will contain it.
    #[inline]
    fn change_posted(
        &mut self,
        requests: &mut RequestPool,
        slot: Slot,
        change: impl FnOnce(&mut ListEnds<Slot>, &mut RequestPool),
    ) {
        let pattern = requests.posted(slot).pattern;
        let (source, context) = (pattern.source(), pattern.context());
        let at = self.lead_again(context);
        let lead = self.leads.at_mut(at);
        match Self::by_rank(lead, source, self.peers) {
            Some((root, rank)) => {
                let (heads, hops) = self.queues.heads(context, root, rank);
                change(&mut heads.posted, requests);
                self.queues.tidy(root);
                self.measures.traversals += hops as Count;
            }
            None => change(&mut lead.posted, requests),
        }
    }

    /// Appends a receive to its queue.
    #[inline]
    fn enqueue_receive(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.change_posted(requests, slot, |list, requests| list.push(requests, slot));
    }

    /// Appends a record to its queue and stores its sequence number.
    #[inline]
    fn enqueue_record(&mut self, region: &mut Region, at: BlockIndex, number: u32) {
        let has_room = self.ranked < self.queues.max_records();
        let Envelope { source, context, .. } = region.envelope(at);
        let lead_at = self.lead_again(context);
        let lead = self.leads.at_mut(lead_at);
        let by_rank = Self::by_rank(lead, Some(source), self.peers).filter(|_| has_room);
        let is_linear = by_rank.is_none();
        match by_rank {
            Some((root, rank)) => {
                let (heads, hops) = self.queues.heads(context, root, rank);
                heads.unexpected.push(region, at);
                self.measures.traversals += hops as Count;
                self.ranked += 1;
            }
            None => lead.unexpected.push(region, at),
        }
        ArrivalTicket { number, is_linear }.put(region, at);
    }

    /// Renumbers the remaining records from 0 in their order, without moving them.
    #[cold]
    fn renumber(&mut self, region: &mut Region) {
        let leads = &self.leads;
        let each = |queues: &Q, f: &mut dyn FnMut(&ListEnds<BlockIndex>)| {
            for lead in leads.all() {
                f(&lead.unexpected);
                if let Some(root) = &lead.root {
                    queues.each(lead.context, root, |heads, _| f(&heads.unexpected));
                }
            }
        };
        renumber(region, &mut self.numbers, &mut self.queues, each, |_, old, number| {
            ArrivalTicket::with_number(old, number)
        });
    }

    /// Moves the elements queued for `context` before it was opened.
    fn move_over(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) {
        let mut next = self.leads.others.posted.head();
        while let Some(slot) = next {
            next = requests.next(slot);
            if requests.posted(slot).pattern.context() == context {
                self.leads.others.posted.remove(requests, slot);
                self.enqueue_receive(requests, slot);
            }
        }
        let mut next = self.leads.others.unexpected.head();
        while let Some(at) = next {
            next = region.next(at);
            if region.envelope(at).context == context {
                self.leads.others.unexpected.remove(region, at);
                let ArrivalTicket { number, .. } = ArrivalTicket::from_record(region, at);
                self.enqueue_record(region, at, number);
            }
        }
    }
}

impl<Q: ByRank> Matching for RankedEngine<Q> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    #[inline]
    fn reserve(&mut self, receives: usize) -> Result<(), OutOfSpace> {
        self.queues.reserve(receives)
    }

    #[inline]
    fn has_reserved(&self, receives: usize) -> bool {
        self.queues.has_reserved(receives)
    }

    fn open(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) {
        let (at, _) = self.leads.find(context);
        if at.is_some() || self.leads.reserve().is_err() {
            return;
        }
        if let Ok(root) = self.queues.open() {
            self.leads.open.push(ContextRoot::new(context, root));
            self.move_over(requests, region, context);
        }
    }

    #[inline]
    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.enqueue_receive(requests, slot);
        self.measures.posted();
    }

    #[inline]
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.change_posted(requests, slot, |list, requests| list.remove(requests, slot));
        self.measures.unposted();
    }

    #[inline]
    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let requests = &*requests;
        let (at, mut hops) = self.leads.find(envelope.context);
        let lead = self.leads.at_mut(at);
        let matches = |slot| requests.posted(slot).pattern.matches(envelope);
        let mut exact = None;
        if let Some((root, rank)) = Self::by_rank(lead, Some(envelope.source), self.peers) {
            let (heads, way) = self.queues.find(envelope.context, root, rank);
            let (found, looked) = heads.map_or((None, 0), |heads| heads.posted.find(requests, matches));
            exact = found;
            hops += way + looked;
        }
        let (other, looked) = lead.posted.find(requests, matches);
        self.measures.searched(hops + looked);
        match (exact, other) {
            (Some(exact), Some(other)) if requests.posted(other).serial < requests.posted(exact).serial => Some(other),
            (None, other) => other,
            (exact, _) => exact,
        }
    }

    #[inline]
    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        if self.numbers.is_exhausted() {
            self.renumber(region);
        }
        let number = self.numbers.next_number();
        self.enqueue_record(region, at, number);
        self.measures.recorded();
    }

    #[inline]
    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let region = &*region;
        let (at, mut hops) = self.leads.find(pattern.context());
        let matches = |at| region.matches(at, pattern);
        let Some(source) = pattern.source() else {
            let first = self.first_of_all(region, self.leads.at(at), matches);
            if let Some(place) = first.place {
                self.queues.found_at(place);
            }
            self.measures.searched(hops + first.hops);
            return first.record;
        };
        let lead = self.leads.at_mut(at);
        let mut exact = None;
        if let Some((root, rank)) = Self::by_rank(lead, Some(source), self.peers) {
            let (heads, way) = self.queues.find(pattern.context(), root, rank);
            let (found, looked) = heads.map_or((None, 0), |heads| heads.unexpected.find(region, matches));
            exact = found;
            hops += way + looked;
        }
        let (other, looked) = lead.unexpected.find(region, matches);
        self.measures.searched(hops + looked);
        earlier(region, exact, other)
    }

    #[inline]
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        let Envelope { source, context, .. } = region.envelope(at);
        let is_linear = ArrivalTicket::from_record(region, at).is_linear;
        let lead_at = self.lead_again(context);
        let lead = self.leads.at_mut(lead_at);
        match Self::by_rank(lead, Some(source), self.peers).filter(|_| !is_linear) {
            Some((root, rank)) => {
                let (heads, hops) = self.queues.heads(context, root, rank);
                heads.unexpected.remove(region, at);
                self.queues.tidy(root);
                self.measures.traversals += hops as Count;
                self.ranked -= 1;
            }
            None => lead.unexpected.remove(region, at),
        }
        self.measures.unrecorded();
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        let (mut found, mut hops) = (None, 0);
        for lead in self.leads.all() {
            let first = self.first_of_all(region, lead, |at| region.record(at).is_some_and(|record| is(&record)));
            found = earlier(region, found, first.record);
            hops += first.hops;
        }
        self.measures.searched(hops);
        found
    }

    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool {
        let (requests, region) = (&*requests, &*region);
        let (at, mut hops) = self.leads.find(context);
        let lead = self.leads.at(at);
        let is_idle = if let Some(at) = at {
            let is_idle = lead.posted.is_empty()
                && lead.unexpected.is_empty()
                && lead.root.as_ref().is_none_or(|root| self.queues.is_empty(root));
            if is_idle && let Some(root) = self.leads.remove(at).root {
                self.queues.close(root);
            }
            is_idle
        } else {
            let (posted, looked) = lead
                .posted
                .find(requests, |slot| requests.posted(slot).pattern.context() == context);
            let (recorded, also_looked) = lead
                .unexpected
                .find(region, |at| region.envelope(at).context == context);
            hops += looked + also_looked;
            posted.is_none() && recorded.is_none()
        };
        self.measures.traversals += hops as Count;
        is_idle
    }

    // The pool hashes the receives; their serials determine the order. The records are hashed in order, independent of
    // their position.
    fn hash(&self, region: &Region, mut state: &mut dyn Hasher) {
        (self.measures.posted, self.measures.unexpected).hash(&mut state);
        let mut records = Vec::new();
        let mut add = |list: ListEnds<BlockIndex>| {
            let _ = list.find(region, |at| {
                records.push(at);
                false
            });
        };
        for lead in self.leads.all() {
            add(lead.unexpected);
            if let Some(root) = &lead.root {
                let _ = self.queues.each(lead.context, root, |heads, _| add(heads.unexpected));
            }
        }
        records.sort_unstable_by_key(|&at| region.word(at));
        for at in records {
            region.hash_record(at, &mut state);
        }
    }

    fn measures(&self) -> MatchingStats {
        self.measures
    }
}

impl<Q: ByRank> MatchingEngine for RankedEngine<Q> {
    const NAME: &'static str = Q::NAME;

    fn fixed_bytes(blocks: usize, peers: usize) -> usize {
        Q::fixed_bytes(blocks, peers)
    }

    fn context_bytes(peers: usize) -> usize {
        Self::LEAD_BYTES + Q::root_bytes(peers)
    }

    fn receive_bytes(peers: usize) -> usize {
        Q::receive_bytes(peers)
    }

    fn new(blocks: usize, peers: usize) -> Option<Self> {
        Some(Self::with_queues(Q::new(blocks, peers)?, peers))
    }
}
