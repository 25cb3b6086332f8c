//! Queues for each collective (COL): paper 002, section 4.1 and algorithms 1 and 2.
//!
//! ```text
//!   profiling queue      of all collectives
//!
//!   gather      level 1: [0] [1]    level 2: [0] [1] [2] [3] [4]
//!   allgather   level 1: [0] [1] [2]
//!   ...                  an element goes to the last level, to the queue: source modulo number of queues
//! ```
//! A *set* of parameters is a collective and a communicator (see [`Kind`] for why not the message's length). The
//! elements of its first call go to the profiling queue, and the searches that end there measure how many
//! elements are looked at to find one. When the second call begins, that mean, rounded up, is the number of queues
//! wanted: with so many, one element would be looked at. If the collective's last level has fewer queues, and as far
//! as the cap allows, they are made, as its new last level. From then on the set's elements go to the
//! collective's last level, whichever set that was made for, or to the profiling queue while it has no level. What
//! stands in a queue stays there, and queues are never taken back. The posted receive queue and the
//! unexpected message queue have sets, measures and queues of their own.
//!
//! A search looks through the profiling queue, and then through one queue of each level in the order in
//! which they were made. A set's elements move from queue to queue only in this order, so that the first that
//! matches is the oldest. An element's queue is found again by its serial: each set knows from which one on its
//! elements went to levels, and each level from which one on it was the last.
//!
//! [`Col`] has a plain list for point-to-point messages (COL+LL in the paper).
//!
//! # What the paper leaves open, and what is different
//! * *A call.* The device is given messages, not calls. A set's first call is over when the source of its first
//!   element comes again and as many elements have been found as had come until then. In a collective that
//!   has a source send twice in one call, a part of a call is measured.
//! * *The mean* is over the searches that find something.
//! * *The cap.* Algorithm 1 makes no queues at all if more are wanted than the cap leaves; section 5.2 and 5.4.1
//!   have as many made as there may be ("reaches the memory consumption cap"). So it is here. Nothing changes
//!   for a set that has been refused, since what is left never grows: each set decides once.
//! * The table of sets has a place for each collective in [`COMMUNICATORS`] communicators. The sets of a
//!   communicator whose places another one has stay on the profiling queue, until that one is idle and dropped.
//! * Receives from MPI_ANY_SOURCE or with MPI_ANY_TAG, which collectives do not have, stand in a queue of their
//!   own, whose first match is compared with that of the others by its serial. As a search for records, such a
//!   receive looks through all queues. Tags that are none of a collective's stay on the profiling queue.
//!
//! # Memory, fixed
//! For each of the two: k x sqrt(n) queues ([`QUEUES_PER_ROOT`](super::queues::QUEUES_PER_ROOT)) of 8 bytes for n
//! processes; as many levels of 24 bytes as that many queues can make (60 of 256 queues, 358 of 8,192); 24 bytes
//! for each of [`OPERATIONS`] x [`COMMUNICATORS`] sets. Nothing for an element: its links are in the pool or in its
//! record. In a job of 1,024 processes: 2 x 6,560 bytes.
//!
//! # What it cannot do
//! * What a communicator's first calls were like decides for ever. A first call that finds everything at
//!   once gets one queue, and a later one with a thousand messages waits in that one.
//! * The profiling queue is looked through first: what stands there for long is in the way of all collectives.
//! * A queue is searched from its head: several messages of one source that are taken in reverse order cost as
//!   much as in a list, and so do sources that are equal modulo the number of queues.
//! * The first collectives take what queues there are, and those that come later may have none.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::num::NonZeroU16;

use super::engine::{Kind, OPERATIONS};
use super::queues::{ByKind, Element, One, Queues, Search, most_queues};
use super::split::{Design, Split};
use crate::boxed::boxed;
use crate::envelope::{Context, Pattern, Rank};
use crate::list::Ends;
use crate::names::Serial;

/// Communicators whose collectives are told apart, if their contexts are neighbours.
pub const COMMUNICATORS: usize = 16;

/// Queues for each collective, and a list for point-to-point messages.
pub type Col = Split<ColDesign>;

/// The design of [`Col`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColDesign;

impl Design for ColDesign {
    const NAME: &'static str = "col";
    type Queues<I: Element> = ByKind<One<I>, Collectives<I>>;
}

/// A level of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    /// The serial of the first element that came when it was there.
    since: Serial,
    /// Its first queue; the others follow.
    first: u32,
    /// Its queues, at least one.
    queues: u32,
    /// The collective's next level.
    next: Option<NonZeroU16>,
}

impl Level {
    /// The queue for `source`.
    fn queue(&self, source: Rank) -> usize {
        (self.first + source.index() % self.queues) as usize
    }
}

/// The first and the last of a collective's levels, by number from 1 on.
type Chain = Option<(NonZeroU16, NonZeroU16)>;

/// What is known of a set of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    /// The place is free.
    Free,
    /// Its first call is measured.
    Profiling(Profile),
    /// It has been decided how many queues it needs.
    Settled {
        context: Context,
        /// The serial of the first element that has not gone to the profiling queue on its account.
        since: Serial,
    },
}

/// The measures of a set's first call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Profile {
    context: Context,
    /// The source of the first element has come again.
    again: bool,
    /// The source of the first element.
    first: Rank,
    /// Elements that came before that source came again.
    came: u32,
    /// Elements found.
    found: u32,
    /// Elements looked at to find them.
    hops: u32,
}

impl Profile {
    /// The queues wanted, if the first call is over now that an element of `source` comes.
    fn wanted(&mut self, source: Rank) -> Option<u32> {
        self.again |= self.came > 0 && source == self.first;
        if self.again && self.found >= self.came {
            return Some(self.hops.div_ceil(self.found));
        }
        self.came += u32::from(!self.again);
        None
    }
}

/// The queues of collectives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collectives<I> {
    /// Receives with a wildcard.
    wild: Ends<I>,
    profiling: Ends<I>,
    /// The queues of all levels, and how many there are.
    dedicated: Box<[Ends<I>]>,
    used: usize,
    /// The levels of all collectives in the order in which they were made, and how many there are.
    levels: Box<[Level]>,
    made: u16,
    chains: [Chain; OPERATIONS as usize],
    sets: Box<[Set]>,
}

/// The most levels that so many queues can make: each of a collective has more than the one before.
fn most_levels(mut queues: usize) -> usize {
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

/// The place in the table for the set of `operation` in the communicator with this context.
fn place(operation: u8, context: Context) -> usize {
    usize::from(operation) * COMMUNICATORS + usize::from(context / 2) % COMMUNICATORS
}

/// The collective and the source of an element that has no wildcard; the collective is `None` for a tag that is
/// none of theirs.
fn exact(pattern: &Pattern) -> Option<(Option<u8>, Rank)> {
    let Kind::Collective { operation } = Kind::of(pattern.context(), pattern.tag()) else {
        return None;
    };
    pattern.tag()?;
    Some((operation, pattern.source()?))
}

impl<I: Element> Collectives<I> {
    fn levels(&self, operation: u8) -> impl Iterator<Item = &Level> {
        let level = |number: NonZeroU16| &self.levels[usize::from(number.get()) - 1];
        let first = self.chains[usize::from(operation)].map(|(first, _)| level(first));
        core::iter::successors(first, move |last| last.next.map(level))
    }

    /// The queue of what came with this serial from `source` in this collective and context.
    fn owner(&mut self, pattern: &Pattern, serial: Serial) -> &mut Ends<I> {
        let Some((operation, source)) = exact(pattern) else {
            return &mut self.wild;
        };
        let queue =
            operation.and_then(
                |operation| match self.sets[place(operation, pattern.context())] {
                    Set::Settled { context, since }
                        if context == pattern.context() && since <= serial =>
                    {
                        let there = self.levels(operation).take_while(|at| at.since <= serial);
                        there.last().map(|level| level.queue(source))
                    }
                    _ => None,
                },
            );
        match queue {
            Some(queue) => &mut self.dedicated[queue],
            None => &mut self.profiling,
        }
    }

    /// An element of this set comes.
    fn comes(&mut self, operation: u8, context: Context, source: Rank, serial: Serial) {
        let set = &mut self.sets[place(operation, context)];
        if *set == Set::Free {
            *set = Set::Profiling(Profile {
                context,
                again: false,
                first: source,
                came: 0,
                found: 0,
                hops: 0,
            });
        }
        let Set::Profiling(profile) = set else {
            return;
        };
        if profile.context == context
            && let Some(wanted) = profile.wanted(source)
        {
            *set = Set::Settled {
                context,
                since: serial,
            };
            self.extend(operation, wanted, serial);
        }
    }

    /// Makes a level of `wanted` queues, or of as many as there may be, if that is more than the last one has:
    /// lines 8 to 15 of algorithm 1.
    fn extend(&mut self, operation: u8, wanted: u32, since: Serial) {
        let left = self.dedicated.len() - self.used;
        let queues = wanted.min(left as u32);
        let last = self.levels(operation).last();
        if queues <= last.map_or(0, |level| level.queues) {
            return;
        }
        let level = Level {
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

    /// An element of this set has been found in the profiling queue.
    fn found(&mut self, operation: u8, context: Context, hops: u32) {
        if let Set::Profiling(profile) = &mut self.sets[place(operation, context)]
            && profile.context == context
        {
            profile.found = profile.found.saturating_add(1);
            profile.hops = profile.hops.saturating_add(hops);
        }
    }
}

impl<I: Element> Queues<I> for Collectives<I> {
    fn fixed_bytes(peers: usize) -> usize {
        let queues = most_queues(peers);
        queues * size_of::<Ends<I>>()
            + most_levels(queues) * size_of::<Level>()
            + usize::from(OPERATIONS) * COMMUNICATORS * size_of::<Set>()
    }

    fn new(peers: usize) -> Option<Self> {
        let queues = most_queues(peers);
        let level = Level {
            since: 0,
            first: 0,
            queues: 1,
            next: None,
        };
        Some(Collectives {
            wild: Ends::default(),
            profiling: Ends::default(),
            dedicated: boxed(Ends::default(), queues)?,
            used: 0,
            levels: boxed(level, most_levels(queues))?,
            made: 0,
            chains: [None; OPERATIONS as usize],
            sets: boxed(Set::Free, usize::from(OPERATIONS) * COMMUNICATORS)?,
        })
    }

    fn push(&mut self, store: &mut I::Store, at: I) {
        let (pattern, serial) = (I::pattern(store, at), I::serial(store, at));
        if let Some((Some(operation), source)) = exact(&pattern) {
            self.comes(operation, pattern.context(), source, serial);
        }
        self.owner(&pattern, serial).push(store, at);
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        let (pattern, serial) = (I::pattern(store, at), I::serial(store, at));
        self.owner(&pattern, serial).remove(store, at);
    }

    fn find<F: Fn(I) -> bool>(&mut self, want: &Pattern, search: &mut Search<'_, I, F>) {
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

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut Search<'_, I, F>) {
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
                Set::Profiling(Profile { context: its, .. })
                | Set::Settled { context: its, .. }
                    if *its == context =>
                {
                    *set = Set::Free;
                }
                _ => {}
            }
        }
    }

    fn lists(&self) -> impl Iterator<Item = &Ends<I>> {
        let fixed = [&self.profiling, &self.wild].into_iter();
        fixed.chain(&self.dedicated[..self.used])
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut Serial> {
        let levels = &mut self.levels[..usize::from(self.made)];
        let sets = self.sets.iter_mut().filter_map(|set| match set {
            Set::Settled { since, .. } => Some(since),
            _ => None,
        });
        levels.iter_mut().map(|level| &mut level.since).chain(sets)
    }
}

#[cfg(test)]
mod tests;
