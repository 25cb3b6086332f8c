//! Common parts of engines with several queues: queue elements, a search across queues, and the interface [`ElementQueues`].
//!
//! Every queue is in the order of posting or of arrival, and each element has a sequence number in that order, its
//! [serial](QueueElement::serial). The first match among several queues is therefore the one with the smallest serial. A
//! search ends in a queue as soon as it reaches an element younger than the match found so far.
#![forbid(unsafe_code)]

use core::fmt::Debug;

use midplane_device::envelope::{Context, MatchPattern};
use midplane_device::ids::{BlockIndex, SequenceNumber, Slot};
use midplane_device::list::{LinkStorage, ListEnds};
use midplane_device::matching::MessageClass;
use midplane_device::memory::region::Region;
use midplane_device::request::RequestPool;

/// Maximum queues as a multiple of the square root of the job's processes: k_C and k_P of paper 002, section 5.3.
pub(super) const QUEUES_PER_ROOT: usize = 8;

/// Returns the maximum queues of a structure in a job of `peers` processes: k x sqrt(n).
pub(super) fn max_queues(peers: usize) -> usize {
    let square = QUEUES_PER_ROOT * QUEUES_PER_ROOT;
    peers.saturating_mul(square).isqrt()
}

/// Queue element: a posted receive or a record.
pub trait QueueElement: Send + Copy + Eq + Debug + 'static {
    /// Storage of the elements.
    type Store: LinkStorage<Self>;

    /// Returns the receive's pattern, or the message's envelope as a pattern.
    fn pattern(store: &Self::Store, at: Self) -> MatchPattern;

    /// Returns the sequence number in the order of posting or of arrival.
    fn serial(store: &Self::Store, at: Self) -> SequenceNumber;
}

impl QueueElement for Slot {
    type Store = RequestPool;

    #[inline]
    fn pattern(requests: &RequestPool, slot: Slot) -> MatchPattern {
        requests.posted(slot).pattern
    }

    #[inline]
    fn serial(requests: &RequestPool, slot: Slot) -> SequenceNumber {
        requests.posted(slot).serial
    }
}

impl QueueElement for BlockIndex {
    type Store = Region;

    #[inline]
    fn pattern(region: &Region, at: BlockIndex) -> MatchPattern {
        region.envelope(at).pattern()
    }

    #[inline]
    fn serial(region: &Region, at: BlockIndex) -> SequenceNumber {
        region.word(at).into()
    }
}

/// Search for the oldest element that satisfies `is`.
pub struct QueueSearch<'a, I: QueueElement, F> {
    store: &'a I::Store,
    is: F,
    found: Option<(SequenceNumber, I)>,
    hops: u32,
}

impl<'a, I: QueueElement, F: Fn(I) -> bool> QueueSearch<'a, I, F> {
    pub(super) fn new(store: &'a I::Store, is: F) -> Self {
        QueueSearch {
            store,
            is,
            found: None,
            hops: 0,
        }
    }

    /// Returns the oldest element found, and the hops of the search.
    pub(super) fn end(self) -> (Option<I>, u32) {
        (self.found.map(|(_, at)| at), self.hops)
    }

    pub(super) fn hops(&self) -> u32 {
        self.hops
    }

    /// Counts a table entry as a hop.
    #[inline]
    pub(super) fn hop(&mut self) {
        self.hops += 1;
    }

    /// Searches a queue, up to elements younger than the current match. Returns true if it found an older one.
    #[inline]
    pub(super) fn list(&mut self, list: &ListEnds<I>) -> bool {
        let found = self.found;
        let mut next = list.head();
        while let Some(at) = next {
            self.hops += 1;
            if found.is_some_and(|(oldest, _)| I::serial(self.store, at) >= oldest) {
                return false;
            }
            if (self.is)(at) {
                self.found = Some((I::serial(self.store, at), at));
                return true;
            }
            next = self.store.next(at);
        }
        false
    }

    /// Searches a queue of a table as [`QueueSearch::list`] does, and counts the table entry as a hop.
    #[inline]
    pub(super) fn listed(&mut self, list: &ListEnds<I>) -> bool {
        self.hop();
        self.list(list)
    }
}

/// Queues for one type of element, and the rule that assigns an element to a queue.
pub trait ElementQueues<I: QueueElement>: Send + Clone + PartialEq + Eq + Debug {
    /// Returns the heap bytes that [`new`](ElementQueues::new) allocates in a job of `peers` processes.
    fn fixed_bytes(peers: usize) -> usize;

    /// Creates empty queues. Returns `None` if the heap does not have [`fixed_bytes`](ElementQueues::fixed_bytes).
    fn new(peers: usize) -> Option<Self>;

    /// Enqueues `at`, which is younger than all queued elements.
    fn push(&mut self, store: &mut I::Store, at: I);

    /// Removes `at` from its queue.
    fn remove(&mut self, store: &mut I::Store, at: I);

    /// Searches the queues that can contain an element matching `want`, or matched by it.
    fn find<F: Fn(I) -> bool>(&mut self, want: &MatchPattern, search: &mut QueueSearch<'_, I, F>);

    /// Searches all queues.
    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut QueueSearch<'_, I, F>);

    /// Frees the state of a context without queued elements, before another communicator reuses it.
    fn forget(&mut self, context: Context) {
        let _ = context;
    }

    /// Returns all queues in use.
    fn lists(&self) -> impl Iterator<Item = &ListEnds<I>>;

    /// Returns the stored serials that are compared with those of elements.
    fn marks_mut(&mut self) -> impl Iterator<Item = &mut SequenceNumber>;
}

/// A single queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SingleQueue<I>(ListEnds<I>);

impl<I: QueueElement> ElementQueues<I> for SingleQueue<I> {
    fn fixed_bytes(_: usize) -> usize {
        0
    }

    fn new(_: usize) -> Option<Self> {
        Some(SingleQueue(ListEnds::default()))
    }

    fn push(&mut self, store: &mut I::Store, at: I) {
        self.0.push(store, at);
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        self.0.remove(store, at);
    }

    fn find<F: Fn(I) -> bool>(&mut self, _: &MatchPattern, search: &mut QueueSearch<'_, I, F>) {
        self.find_anywhere(search);
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut QueueSearch<'_, I, F>) {
        search.list(&self.0);
    }

    fn lists(&self) -> impl Iterator<Item = &ListEnds<I>> {
        core::iter::once(&self.0)
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut SequenceNumber> {
        core::iter::empty()
    }
}

/// Separate queues for point-to-point and for collective messages (paper 002, figure 2). A pattern determines the
/// context, so a search requires only one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByKind<P, C> {
    pub(super) point_to_point: P,
    pub(super) collective: C,
}

fn kind(pattern: &MatchPattern) -> MessageClass {
    MessageClass::from_criteria(pattern.context(), pattern.tag())
}

impl<I: QueueElement, P: ElementQueues<I>, C: ElementQueues<I>> ElementQueues<I> for ByKind<P, C> {
    fn fixed_bytes(peers: usize) -> usize {
        P::fixed_bytes(peers) + C::fixed_bytes(peers)
    }

    fn new(peers: usize) -> Option<Self> {
        Some(ByKind {
            point_to_point: P::new(peers)?,
            collective: C::new(peers)?,
        })
    }

    fn push(&mut self, store: &mut I::Store, at: I) {
        match kind(&I::pattern(store, at)) {
            MessageClass::PointToPoint => self.point_to_point.push(store, at),
            MessageClass::Collective { .. } => self.collective.push(store, at),
        }
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        match kind(&I::pattern(store, at)) {
            MessageClass::PointToPoint => self.point_to_point.remove(store, at),
            MessageClass::Collective { .. } => self.collective.remove(store, at),
        }
    }

    fn find<F: Fn(I) -> bool>(&mut self, want: &MatchPattern, search: &mut QueueSearch<'_, I, F>) {
        match kind(want) {
            MessageClass::PointToPoint => self.point_to_point.find(want, search),
            MessageClass::Collective { .. } => self.collective.find(want, search),
        }
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut QueueSearch<'_, I, F>) {
        self.point_to_point.find_anywhere(search);
        self.collective.find_anywhere(search);
    }

    fn forget(&mut self, context: Context) {
        match MessageClass::from_criteria(context, None) {
            MessageClass::PointToPoint => self.point_to_point.forget(context),
            MessageClass::Collective { .. } => self.collective.forget(context),
        }
    }

    fn lists(&self) -> impl Iterator<Item = &ListEnds<I>> {
        self.point_to_point.lists().chain(self.collective.lists())
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut SequenceNumber> {
        let collective = self.collective.marks_mut();
        self.point_to_point.marks_mut().chain(collective)
    }
}
