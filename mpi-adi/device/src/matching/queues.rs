//! What engines of several queues share: what stands in a queue, a search through queues in turn, and the
//! structures of queues as such ([`Queues`]).
//!
//! Every queue is in the order of posting or of arrival, and each element knows its place in that order, its
//! [serial](Element::serial). So the first match of several queues is the one with the smallest serial, and a
//! search leaves a queue as soon as it comes to something younger than what it has found.
#![forbid(unsafe_code)]

use core::fmt::Debug;

use super::engine::Kind;
use crate::envelope::{Context, Pattern};
use crate::list::{Ends, Links};
use crate::memory::region::Region;
use crate::names::{BlockIndex, Serial, Slot};
use crate::request::RequestPool;

/// Queues at most, as a multiple of the square root of the job's processes: k_C and k_P of paper 002, section
/// 5.3.
pub(super) const QUEUES_PER_ROOT: usize = 8;

/// Queues at most in a structure of a job of so many processes: k x sqrt(n).
pub(super) fn most_queues(peers: usize) -> usize {
    let square = QUEUES_PER_ROOT * QUEUES_PER_ROOT;
    peers.saturating_mul(square).isqrt()
}

/// What stands in a queue: a posted receive, or a record.
pub trait Element: Send + Copy + Eq + Debug + 'static {
    /// Where elements are.
    type Store: Links<Self>;

    /// What it asks for, or its envelope.
    fn pattern(store: &Self::Store, at: Self) -> Pattern;

    /// Its place in the order of posting or of arrival.
    fn serial(store: &Self::Store, at: Self) -> Serial;
}

impl Element for Slot {
    type Store = RequestPool;

    #[inline]
    fn pattern(requests: &RequestPool, slot: Slot) -> Pattern {
        requests.posted(slot).pattern
    }

    #[inline]
    fn serial(requests: &RequestPool, slot: Slot) -> Serial {
        requests.posted(slot).serial
    }
}

impl Element for BlockIndex {
    type Store = Region;

    #[inline]
    fn pattern(region: &Region, at: BlockIndex) -> Pattern {
        region.envelope(at).pattern()
    }

    #[inline]
    fn serial(region: &Region, at: BlockIndex) -> Serial {
        region.word(at).into()
    }
}

/// A search for the oldest element of which `is` is true.
pub struct Search<'a, I: Element, F> {
    store: &'a I::Store,
    is: F,
    found: Option<(Serial, I)>,
    hops: u32,
}

impl<'a, I: Element, F: Fn(I) -> bool> Search<'a, I, F> {
    pub(super) fn new(store: &'a I::Store, is: F) -> Self {
        Search {
            store,
            is,
            found: None,
            hops: 0,
        }
    }

    /// The oldest element found, and the hops that it took.
    pub(super) fn end(self) -> (Option<I>, u32) {
        (self.found.map(|(_, at)| at), self.hops)
    }

    /// Hops until now.
    pub(super) fn hops(&self) -> u32 {
        self.hops
    }

    /// An entry of a table has been looked at.
    #[inline]
    pub(super) fn hop(&mut self) {
        self.hops += 1;
    }

    /// Looks through a queue, up to what is younger than what has been found; true if it has something older.
    #[inline]
    pub(super) fn list(&mut self, list: &Ends<I>) -> bool {
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

    /// As [`Search::list`], for one of a table of queues, which is a hop itself.
    #[inline]
    pub(super) fn listed(&mut self, list: &Ends<I>) -> bool {
        self.hop();
        self.list(list)
    }
}

/// Queues for elements of one sort, and the rule by which an element has its place in one of them.
pub trait Queues<I: Element>: Send + Clone + PartialEq + Eq + Debug {
    /// Bytes that [`new`](Queues::new) takes from the heap, in a job of so many processes.
    fn fixed_bytes(peers: usize) -> usize;

    /// Empty queues; `None` when the heap does not have [`fixed_bytes`](Queues::fixed_bytes).
    fn new(peers: usize) -> Option<Self>;

    /// Puts `at` into a queue; it is younger than all that are in queues.
    fn push(&mut self, store: &mut I::Store, at: I);

    /// Takes `at` out of its queue.
    fn remove(&mut self, store: &mut I::Store, at: I);

    /// Looks through the queues in which an element can be that `want` matches, or that matches `want`.
    fn find<F: Fn(I) -> bool>(&mut self, want: &Pattern, search: &mut Search<'_, I, F>);

    /// Looks through all queues.
    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut Search<'_, I, F>);

    /// No element of this context is in a queue, and the context may be used for another communicator.
    fn forget(&mut self, context: Context) {
        let _ = context;
    }

    /// All queues in use.
    fn lists(&self) -> impl Iterator<Item = &Ends<I>>;

    /// Serials with which those of elements are compared.
    fn marks_mut(&mut self) -> impl Iterator<Item = &mut Serial>;
}

/// A single queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct One<I>(Ends<I>);

impl<I: Element> Queues<I> for One<I> {
    fn fixed_bytes(_: usize) -> usize {
        0
    }

    fn new(_: usize) -> Option<Self> {
        Some(One(Ends::default()))
    }

    fn push(&mut self, store: &mut I::Store, at: I) {
        self.0.push(store, at);
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        self.0.remove(store, at);
    }

    fn find<F: Fn(I) -> bool>(&mut self, _: &Pattern, search: &mut Search<'_, I, F>) {
        self.find_anywhere(search);
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut Search<'_, I, F>) {
        search.list(&self.0);
    }

    fn lists(&self) -> impl Iterator<Item = &Ends<I>> {
        core::iter::once(&self.0)
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut Serial> {
        core::iter::empty()
    }
}

/// Queues for the elements of point-to-point messages and others for those of collectives (paper 002, figure
/// 2). A pattern says its context, so that no search has to look at both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByKind<P, C> {
    pub(super) point_to_point: P,
    pub(super) collective: C,
}

fn kind(pattern: &Pattern) -> Kind {
    Kind::of(pattern.context(), pattern.tag())
}

impl<I: Element, P: Queues<I>, C: Queues<I>> Queues<I> for ByKind<P, C> {
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
            Kind::PointToPoint => self.point_to_point.push(store, at),
            Kind::Collective { .. } => self.collective.push(store, at),
        }
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        match kind(&I::pattern(store, at)) {
            Kind::PointToPoint => self.point_to_point.remove(store, at),
            Kind::Collective { .. } => self.collective.remove(store, at),
        }
    }

    fn find<F: Fn(I) -> bool>(&mut self, want: &Pattern, search: &mut Search<'_, I, F>) {
        match kind(want) {
            Kind::PointToPoint => self.point_to_point.find(want, search),
            Kind::Collective { .. } => self.collective.find(want, search),
        }
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut Search<'_, I, F>) {
        self.point_to_point.find_anywhere(search);
        self.collective.find_anywhere(search);
    }

    fn forget(&mut self, context: Context) {
        match Kind::of(context, None) {
            Kind::PointToPoint => self.point_to_point.forget(context),
            Kind::Collective { .. } => self.collective.forget(context),
        }
    }

    fn lists(&self) -> impl Iterator<Item = &Ends<I>> {
        self.point_to_point.lists().chain(self.collective.lists())
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut Serial> {
        let collective = self.collective.marks_mut();
        self.point_to_point.marks_mut().chain(collective)
    }
}
