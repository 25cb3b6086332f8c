//! Queues per collective (COL): paper 002, section 4.1 and algorithms 1 and 2.
//!
//! ```text
//!   profiling queue      of all collectives
//!
//!   gather      level 1: [0] [1]    level 2: [0] [1] [2] [3] [4]
//!   allgather   level 1: [0] [1] [2]
//!   ...                  an element goes to the last level, to the queue: source modulo number of queues
//! ```
//! A *set* of parameters is a collective and a communicator (see [`MessageClass`] for the reason to omit the message's length).
//! The elements of its first call are enqueued in the profiling queue, and the searches that end there measure the mean
//! number of elements checked per match. When the second call begins, that mean, rounded up, is the required number of
//! queues: with it, a search would check one element. If the collective's last level has fewer queues, a new last level
//! is created, within the cap. From then on, the set's elements use the collective's last level, regardless of the set
//! that created it, or the profiling queue while there is no level. Queued elements do not move, and queues are never
//! freed. The posted receive queue and the unexpected message queue have separate sets, measures and queues.
//!
//! A search checks the profiling queue, and then one queue of each level in the order of their creation. A set's later
//! elements are only ever enqueued further along this order, so the first match is the oldest. An element's queue
//! follows from its serial: each set stores the serial from which on its elements used levels, and each level the
//! serial from which on it was the last.
//!
//! [`ColEngine`] uses a plain list for point-to-point messages (COL+LL in the paper).
//!
//! # Interpretation of the paper, and differences
//! * *A call.* The device receives messages, not calls. A set's first call ends when the source of its first element
//!   repeats and the matches found equal the elements enqueued until then. If a collective makes a source send twice
//!   per call, a part of a call is measured.
//! * *The mean* is over the successful searches.
//! * *The cap.* Algorithm 1 creates no queues at all if the required number exceeds the cap; sections 5.2 and 5.4.1
//!   create the maximum number ("reaches the memory consumption cap"), as does this engine. A set without a level never
//!   gets one later, since the remaining number never grows: each set decides once.
//! * The table of sets has an entry for each collective in [`COMMUNICATORS`] communicators. If its entries are in use
//!   by another communicator, a communicator's sets use the profiling queue until the other one is idle and freed.
//! * Receives from MPI_ANY_SOURCE or with MPI_ANY_TAG, which collectives do not use, are in a separate queue. Its first
//!   match is compared with that of the others by serial. Such a receive searches all queues of records. Tags that
//!   belong to no collective use the profiling queue.
//!
//! # Memory, fixed
//! For each of the two: k x sqrt(n) queues ([`QUEUES_PER_ROOT`](super::queues::QUEUES_PER_ROOT)) of 8 bytes for n
//! processes; the maximum number of levels of that many queues, 24 bytes each (60 of 256 queues, 358 of 8,192); 24
//! bytes for each of [`OPERATIONS`] x [`COMMUNICATORS`] sets. Elements require no memory: their links are in the pool
//! or in the record. In a job of 1,024 processes: 2 x 6,560 bytes.
//!
//! # Limits
//! * A communicator's first calls determine its queues forever. A first call that finds each element immediately gets
//!   one queue, and a later one with a thousand messages has to use it.
//! * The profiling queue is searched first: elements that stay there for long delay all collectives.
//! * A queue is searched from its head: several messages of one source received in reverse order cost as much as in a
//!   list, and so do sources that are equal modulo the number of queues.
//! * The first collectives use up the available queues, and later ones may get none.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::num::NonZeroU16;

use super::queues::{ByKind, ElementQueues, QueueElement, QueueSearch, SingleQueue, max_queues};
use super::split::{SplitDesign, SplitEngine};
use midplane_device::envelope::{Context, MatchPattern, Rank};
use midplane_device::ids::SequenceNumber;
use midplane_device::list::ListEnds;
use midplane_device::matching::{MessageClass, OPERATIONS};
use midplane_device::try_box::try_boxed_slice;

/// Number of communicators with separate sets, if their contexts are consecutive.
pub const COMMUNICATORS: usize = 16;

/// Engine with queues per collective, and a list for point-to-point messages.
pub type ColEngine = SplitEngine<ColDesign>;

/// Design of [`ColEngine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColDesign;

impl SplitDesign for ColDesign {
    const NAME: &'static str = "col";
    type Queues<I: QueueElement> = ByKind<SingleQueue<I>, CollectiveQueues<I>>;
}

/// A level of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CollectiveLevel {
    /// Serial of the first element enqueued after its creation.
    since: SequenceNumber,
    /// Index of its first queue; the others follow.
    first: u32,
    /// Number of its queues, at least one.
    queues: u32,
    /// The collective's next level.
    next: Option<NonZeroU16>,
}

impl CollectiveLevel {
    /// Returns the queue index for `source`.
    fn queue(&self, source: Rank) -> usize {
        (self.first + source.index() % self.queues) as usize
    }
}

/// First and last level of a collective, counted from 1.
type LevelChain = Option<(NonZeroU16, NonZeroU16)>;

/// State of a set of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParameterSetState {
    /// The entry is free.
    Free,
    /// The first call is being measured.
    Profiling(CallProfile),
    /// The number of queues has been determined.
    Fixed {
        context: Context,
        /// Serial of the first element that is not in the profiling queue because of this set.
        since: SequenceNumber,
    },
}

/// Measures of a set's first call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CallProfile {
    context: Context,
    /// The source of the first element has repeated.
    again: bool,
    /// Source of the first element.
    first: Rank,
    /// Elements enqueued before that source repeated.
    came: u32,
    /// Elements found.
    found: u32,
    /// Elements checked in these searches.
    hops: u32,
}

impl CallProfile {
    /// Returns the required number of queues, if the first call ends with this element of `source`.
    fn wanted(&mut self, source: Rank) -> Option<u32> {
        self.again |= self.came > 0 && source == self.first;
        if self.again && self.found >= self.came {
            return Some(self.hops.div_ceil(self.found));
        }
        self.came += u32::from(!self.again);
        None
    }
}

/// Queues of collectives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectiveQueues<I> {
    /// Receives with a wildcard.
    wild: ListEnds<I>,
    profiling: ListEnds<I>,
    /// Queues of all levels, and the number in use.
    dedicated: Box<[ListEnds<I>]>,
    used: usize,
    /// Levels of all collectives in the order of creation, and their number.
    levels: Box<[CollectiveLevel]>,
    made: u16,
    chains: [LevelChain; OPERATIONS as usize],
    sets: Box<[ParameterSetState]>,
}

/// Returns the maximum number of levels that `queues` queues can form: each level of a collective has more queues than
/// the previous one.
fn max_levels(mut queues: usize) -> usize {
    let mut levels = 0;
    for size in 1.. {
        let more = (queues / size).min(OPERATIONS.into());
        levels += more;
        queues -= more * size;
        if more < OPERATIONS.into() {
            break;
        }
    }
    levels
}

/// Returns the table index of the set of `operation` in the communicator with this context.
fn place(operation: u8, context: Context) -> usize {
    usize::from(operation) * COMMUNICATORS + usize::from(context / 2) % COMMUNICATORS
}

/// Returns the collective and the source of an element without wildcards. The collective is `None` for a tag that
/// belongs to none.
fn exact(pattern: &MatchPattern) -> Option<(Option<u8>, Rank)> {
    let MessageClass::Collective { operation } = MessageClass::from_criteria(pattern.context(), pattern.tag()) else {
        return None;
    };
    pattern.tag()?;
    Some((operation, pattern.source()?))
}

impl<I: QueueElement> CollectiveQueues<I> {
    fn levels(&self, operation: u8) -> impl Iterator<Item = &CollectiveLevel> {
        let level = |number: NonZeroU16| &self.levels[usize::from(number.get()) - 1];
        let first = self.chains[usize::from(operation)].map(|(first, _)| level(first));
        core::iter::successors(first, move |last| last.next.map(level))
    }

    /// Returns the queue of an element with this pattern and serial.
    fn owner(&mut self, pattern: &MatchPattern, serial: SequenceNumber) -> &mut ListEnds<I> {
        let Some((operation, source)) = exact(pattern) else {
            return &mut self.wild;
        };
        let queue = operation.and_then(|operation| match self.sets[place(operation, pattern.context())] {
            ParameterSetState::Fixed { context, since } if context == pattern.context() && since <= serial => {
                let there = self.levels(operation).take_while(|at| at.since <= serial);
                there.last().map(|level| level.queue(source))
            }
            _ => None,
        });
        match queue {
            Some(queue) => &mut self.dedicated[queue],
            None => &mut self.profiling,
        }
    }

    /// Updates the set for a new element.
    fn note_arrival(&mut self, operation: u8, context: Context, source: Rank, serial: SequenceNumber) {
        let set = &mut self.sets[place(operation, context)];
        if *set == ParameterSetState::Free {
            *set = ParameterSetState::Profiling(CallProfile {
                context,
                again: false,
                first: source,
                came: 0,
                found: 0,
                hops: 0,
            });
        }
        let ParameterSetState::Profiling(profile) = set else {
            return;
        };
        if profile.context == context
            && let Some(wanted) = profile.wanted(source)
        {
            *set = ParameterSetState::Fixed { context, since: serial };
            self.extend(operation, wanted, serial);
        }
    }

    /// Creates a level of `wanted` queues, or of the available number, if that exceeds the size of the last level:
    /// lines 8 to 15 of algorithm 1.
    fn extend(&mut self, operation: u8, wanted: u32, since: SequenceNumber) {
        let left = self.dedicated.len() - self.used;
        let queues = wanted.min(left as u32);
        let last = self.levels(operation).last();
        if queues <= last.map_or(0, |level| level.queues) {
            return;
        }
        let level = CollectiveLevel {
            since,
            first: self.used as u32,
            queues,
            next: None,
        };
        self.levels[usize::from(self.made)] = level;
        self.used += queues as usize;
        self.made += 1;
        let name = NonZeroU16::MIN.saturating_add(self.made - 1);
        let chain = &mut self.chains[usize::from(operation)];
        if let Some((_, last)) = *chain {
            self.levels[usize::from(last.get()) - 1].next = Some(name);
        }
        *chain = Some((chain.map_or(name, |(first, _)| first), name));
    }

    /// Updates the set for an element found in the profiling queue.
    fn found(&mut self, operation: u8, context: Context, hops: u32) {
        if let ParameterSetState::Profiling(profile) = &mut self.sets[place(operation, context)]
            && profile.context == context
        {
            profile.found = profile.found.saturating_add(1);
            profile.hops = profile.hops.saturating_add(hops);
        }
    }
}

impl<I: QueueElement> ElementQueues<I> for CollectiveQueues<I> {
    fn fixed_bytes(peers: usize) -> usize {
        let queues = max_queues(peers);
        queues * size_of::<ListEnds<I>>()
            + max_levels(queues) * size_of::<CollectiveLevel>()
            + usize::from(OPERATIONS) * COMMUNICATORS * size_of::<ParameterSetState>()
    }

    fn new(peers: usize) -> Option<Self> {
        let queues = max_queues(peers);
        let level = CollectiveLevel {
            since: 0,
            first: 0,
            queues: 1,
            next: None,
        };
        Some(CollectiveQueues {
            wild: ListEnds::default(),
            profiling: ListEnds::default(),
            dedicated: try_boxed_slice(ListEnds::default(), queues)?,
            used: 0,
            levels: try_boxed_slice(level, max_levels(queues))?,
            made: 0,
            chains: [None; OPERATIONS as usize],
            sets: try_boxed_slice(ParameterSetState::Free, usize::from(OPERATIONS) * COMMUNICATORS)?,
        })
    }

    fn push(&mut self, store: &mut I::Store, at: I) {
        let (pattern, serial) = (I::pattern(store, at), I::serial(store, at));
        if let Some((Some(operation), source)) = exact(&pattern) {
            self.note_arrival(operation, pattern.context(), source, serial);
        }
        self.owner(&pattern, serial).push(store, at);
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        let (pattern, serial) = (I::pattern(store, at), I::serial(store, at));
        self.owner(&pattern, serial).remove(store, at);
    }

    fn find<F: Fn(I) -> bool>(&mut self, want: &MatchPattern, search: &mut QueueSearch<'_, I, F>) {
        let Some((operation, source)) = exact(want) else {
            return self.find_anywhere(search);
        };
        let profiled = search.list(&self.profiling);
        if let Some(operation) = operation {
            if profiled {
                self.found(operation, want.context(), search.hops());
            } else {
                let mut levels = self.levels(operation);
                levels.any(|level| search.listed(&self.dedicated[level.queue(source)]));
            }
        }
        search.list(&self.wild);
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut QueueSearch<'_, I, F>) {
        search.list(&self.profiling);
        search.list(&self.wild);
        for list in &self.dedicated[..self.used] {
            search.listed(list);
        }
    }

    fn forget(&mut self, context: Context) {
        for operation in 0..OPERATIONS {
            let set = &mut self.sets[place(operation, context)];
            match set {
                ParameterSetState::Profiling(CallProfile { context: its, .. })
                | ParameterSetState::Fixed { context: its, .. }
                    if *its == context =>
                {
                    *set = ParameterSetState::Free;
                }
                _ => {}
            }
        }
    }

    fn lists(&self) -> impl Iterator<Item = &ListEnds<I>> {
        let fixed = [&self.profiling, &self.wild].into_iter();
        fixed.chain(&self.dedicated[..self.used])
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut SequenceNumber> {
        let levels = &mut self.levels[..usize::from(self.made)];
        let sets = self.sets.iter_mut().filter_map(|set| match set {
            ParameterSetState::Fixed { since, .. } => Some(since),
            _ => None,
        });
        levels.iter_mut().map(|level| &mut level.since).chain(sets)
    }
}

#[cfg(test)]
mod tests;
