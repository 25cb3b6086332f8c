//! Partners and non-partners (PNP): paper 002, section 4.2.
//!
//! ```text
//!   base level        level 0                          level 1
//!   base queue -----> non-partners' queue -----------> non-partners' queue ---> ...
//!                     queue of partner 5               queue of partner 11
//!                     queue of partner 17
//!                     queue of partner 2
//!
//!   table: 5 -> its queue, level 0;  11 -> its queue, level 1;  ...
//! ```
//! All elements stand in the base queue until there are [`THRESHOLD`] of them (theta, section 5.3.1). Then a level is
//! made. The sources that have more than the average number of elements in the queue become partners: what
//! comes from one of them from now on goes to a queue of its own. All other sources share the level's queue for
//! non-partners, which is split in the same way when it has as many elements. What stands in a queue stays there.
//! The posted receive queue and the unexpected message queue have partners and levels of their own.
//!
//! A search looks the source up in the table. Then it looks through the base queue and the non-partners'
//! queues in the order in which they were made, of a partner only to its own level, and last through the partner's
//! own queue. A source's elements move from queue to queue only in this order, so that the first that matches is
//! the oldest. An element's queue is found again by its serial: each level knows from which one on elements
//! came when it was there.
//!
//! # What the paper leaves open
//! * *The average* is over all processes of the job, whether they have elements or not, as the words say ("the
//!   average number of elements that all processes send to the queue"). In a job of more than [`THRESHOLD`]
//!   processes everyone with an element is above it. The average over the sources that have some would not do:
//!   where each has as many as the others, there would be no partner at all, ever.
//! * When there may not be as many queues, those with the most elements become partners, and of several with
//!   as many the lowest ranks.
//! * A level's two sorts of queues count alike; it is not made for less than one partner.
//! * Receives from MPI_ANY_SOURCE have a queue of their own, whose first match is compared with that of the
//!   others by its serial. A receive from MPI_ANY_SOURCE looks through all queues of records, and leaves each
//!   at the first record that is younger than what it has found.
//!
//! A partner has nothing in the non-partners' queue of its own level; it is searched all the same, as in
//! the paper.
//!
//! # Memory, fixed
//! For each of the two: k x sqrt(n) queues ([`QUEUES_PER_ROOT`](super::queues::QUEUES_PER_ROOT)) of 8 bytes for n
//! processes, half as many levels of 16, and a table with a place of 12 bytes for each queue, the number of
//! which is rounded up to a power of two that leaves a quarter free. Nothing for an element: its links are in
//! the pool or in its record. When there are as many queues as there may be, the last non-partners' queue is as
//! long as it gets. In a job of 1,024 processes: 2 x 10,240 bytes.
//!
//! # What it cannot do
//! * A queue is searched from its head, and nothing tells tags and contexts apart: messages of one source that
//!   are taken in reverse order cost as much as in a list.
//! * The base queue and the non-partners' queues come first: what stands there for long is in the way of
//!   all. A level never goes away, nor does a partner, however long ago it has sent anything.
//! * A receive from MPI_ANY_SOURCE for which there is nothing looks at every queue there is.
//! * A queue whose length keeps crossing the threshold when no partner is to be had sorts its [`THRESHOLD`] elements
//!   each time.
//! * Ranks that fall onto the same place of the table are looked up one after the other.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::num::NonZeroU32;

use super::queues::{Element, Queues, Search, most_queues};
use super::split::{Design, Split};
use crate::boxed::boxed;
use crate::envelope::{Pattern, Rank};
use crate::list::{Ends, Links};
use crate::names::Serial;

/// Elements in a queue of non-partners that make a new level: theta of paper 002, section 5.3.1.
pub const THRESHOLD: usize = 100;

/// Partners and non-partners, for all elements alike.
pub type Pnp = Split<PnpDesign>;

/// The design of [`Pnp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PnpDesign;

impl Design for PnpDesign {
    const NAME: &'static str = "pnp";
    type Queues<I: Element> = Partners<I>;
}

/// A level: its queues were made together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    /// The lowest serial of what comes after it was made.
    since: Serial,
    /// The queue of those who are no partners.
    shared: u32,
}

/// A partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Partner {
    source: Rank,
    /// Its queue; the first of all is one of non-partners.
    queue: NonZeroU32,
    level: u32,
}

/// The queues of partners and non-partners.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partners<I> {
    /// Receives from any source.
    wild: Ends<I>,
    base: Ends<I>,
    /// The queues of all levels, and how many there are.
    dedicated: Box<[Ends<I>]>,
    used: usize,
    levels: Box<[Level]>,
    made: usize,
    /// Partners; from where a source falls on, up to the first free place.
    table: Box<[Option<Partner>]>,
    /// Elements in the last queue of non-partners.
    filling: usize,
    peers: usize,
}

/// Places of the table for so many queues.
fn table_places(queues: usize) -> usize {
    (queues + queues / 3 + 1).next_power_of_two()
}

/// Sources and the number of their elements in a queue of as many as the threshold.
type Counts = heapless::Vec<(u32, Rank), THRESHOLD>;

impl<I: Element> Partners<I> {
    /// Where `source` is looked for first in the table.
    fn place(&self, source: Rank) -> usize {
        let bits = self.table.len().ilog2();
        let hash = u64::from(source.index().wrapping_mul(0x9E37_79B9)) << bits;
        (hash >> 32) as usize
    }

    /// Looks `source` up; `hop` is called for each place that is looked at.
    fn partner(&self, source: Rank, mut hop: impl FnMut()) -> Option<Partner> {
        if self.made == 0 {
            return None;
        }
        let mut place = self.place(source);
        loop {
            hop();
            let partner = self.table[place]?;
            if partner.source == source {
                return Some(partner);
            }
            place = (place + 1) % self.table.len();
        }
    }

    fn levels(&self) -> &[Level] {
        &self.levels[..self.made]
    }

    /// The queue in which the element of `source` with this serial is, and whether it is the one that fills.
    fn owner(&mut self, source: Option<Rank>, serial: Serial) -> (&mut Ends<I>, bool) {
        let Some(source) = source else {
            return (&mut self.wild, false);
        };
        let own = self.partner(source, || ()).filter(|partner| {
            let level = self.levels[partner.level as usize];
            serial >= level.since
        });
        if let Some(partner) = own {
            return (&mut self.dedicated[partner.queue.get() as usize], false);
        }
        let made = self.levels().partition_point(|level| level.since <= serial);
        let fills = made == self.made;
        match made.checked_sub(1).map(|last| self.levels[last].shared) {
            Some(shared) => (&mut self.dedicated[shared as usize], fills),
            None => (&mut self.base, fills),
        }
    }

    /// The sources in the last queue of non-partners, those with the most elements first.
    fn counts(&self, store: &I::Store) -> Counts {
        let last = self.levels().last();
        let list = last.map_or(&self.base, |level| &self.dedicated[level.shared as usize]);
        let mut sources: heapless::Vec<Rank, THRESHOLD> = heapless::Vec::new();
        let mut next = list.head();
        while let Some(at) = next {
            let known = I::pattern(store, at).source();
            sources.extend(known.filter(|_| !sources.is_full()));
            next = store.next(at);
        }
        sources.sort_unstable();
        let same = sources.chunk_by(|left, right| left == right);
        let mut counts: Counts = same.map(|same| (same.len() as u32, same[0])).collect();
        counts.sort_unstable_by_key(|&(count, source)| (core::cmp::Reverse(count), source));
        counts
    }

    /// The last queue of non-partners has as many elements as the threshold, `last` the youngest: makes a level
    /// if there is someone who may become a partner.
    #[cold]
    fn split(&mut self, store: &I::Store, last: I) {
        let free = self.dedicated.len() - self.used;
        if free < 2 {
            return;
        }
        let mut counts = self.counts(store);
        counts.retain(|&(count, _)| count as usize * self.peers > THRESHOLD);
        counts.truncate(free - 1);
        if counts.is_empty() {
            return;
        }
        self.levels[self.made] = Level {
            since: I::serial(store, last) + 1,
            shared: self.used as u32,
        };
        self.used += 1;
        for (_, source) in counts {
            self.add(source);
        }
        self.made += 1;
        self.filling = 0;
    }

    /// Makes `source` a partner of the level that is being made.
    fn add(&mut self, source: Rank) {
        let Some(queue) = NonZeroU32::new(self.used as u32) else {
            return;
        };
        let mut place = self.place(source);
        while self.table[place].is_some() {
            place = (place + 1) % self.table.len();
        }
        self.table[place] = Some(Partner {
            source,
            queue,
            level: self.made as u32,
        });
        self.used += 1;
    }
}

impl<I: Element> Queues<I> for Partners<I> {
    fn fixed_bytes(peers: usize) -> usize {
        let queues = most_queues(peers);
        queues * size_of::<Ends<I>>()
            + queues / 2 * size_of::<Level>()
            + table_places(queues) * size_of::<Option<Partner>>()
    }

    fn new(peers: usize) -> Option<Self> {
        let queues = most_queues(peers);
        let level = Level {
            since: 0,
            shared: 0,
        };
        Some(Partners {
            wild: Ends::default(),
            base: Ends::default(),
            dedicated: boxed(Ends::default(), queues)?,
            used: 0,
            levels: boxed(level, queues / 2)?,
            made: 0,
            table: boxed(None, table_places(queues))?,
            filling: 0,
            peers,
        })
    }

    fn push(&mut self, store: &mut I::Store, at: I) {
        let (queue, fills) = self.owner(I::pattern(store, at).source(), I::serial(store, at));
        queue.push(store, at);
        if fills {
            self.filling += 1;
            if self.filling == THRESHOLD {
                self.split(store, at);
            }
        }
    }

    fn remove(&mut self, store: &mut I::Store, at: I) {
        let (queue, fills) = self.owner(I::pattern(store, at).source(), I::serial(store, at));
        queue.remove(store, at);
        self.filling -= usize::from(fills);
    }

    fn find<F: Fn(I) -> bool>(&mut self, want: &Pattern, search: &mut Search<'_, I, F>) {
        let Some(source) = want.source() else {
            return self.find_anywhere(search);
        };
        let partner = self.partner(source, || search.hop());
        let levels = match partner {
            Some(partner) => &self.levels[..=partner.level as usize],
            None => self.levels(),
        };
        let shared = levels.iter().map(|level| level.shared);
        let own = partner.map(|partner| partner.queue.get());
        let mut others = shared.chain(own);
        let _ = search.list(&self.base)
            || others.any(|queue| search.listed(&self.dedicated[queue as usize]));
        search.list(&self.wild);
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut Search<'_, I, F>) {
        search.list(&self.base);
        search.list(&self.wild);
        for list in &self.dedicated[..self.used] {
            search.listed(list);
        }
    }

    fn lists(&self) -> impl Iterator<Item = &Ends<I>> {
        let fixed = [&self.wild, &self.base].into_iter();
        fixed.chain(&self.dedicated[..self.used])
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut Serial> {
        let levels = &mut self.levels[..self.made];
        levels.iter_mut().map(|level| &mut level.since)
    }
}

#[cfg(test)]
mod tests;
