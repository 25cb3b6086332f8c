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
//! All elements are in the base queue until it contains [`THRESHOLD`] of them (theta, section 5.3.1). Then a level is
//! created. Sources with more than the average number of elements in the queue become partners: their later elements
//! are enqueued in dedicated queues. All other sources share the level's non-partner queue, which is split in the same
//! way when it reaches the threshold. Queued elements do not move. The posted receive queue and the unexpected message
//! queue have separate partners and levels.
//!
//! A search looks the source up in the table. Then it searches the base queue and the non-partner queues in the order
//! of their creation (for a partner, only up to its level), and last the partner's queue. A source's later elements are
//! only ever enqueued further along this order, so the first match is the oldest. An element's queue follows from its
//! serial: each level stores the serial from which on elements used it.
//!
//! # Interpretation of the paper
//! * *The average* is over all processes of the job, including those without elements ("the average number of elements
//!   that all processes send to the queue"). In a job of more than [`THRESHOLD`] processes, each source with an element
//!   is above it. The average over the sources with elements does not work: with equal counts, no source would ever
//!   become a partner.
//! * If the queue limit is reached, the sources with the most elements become partners; among equals, the lowest ranks.
//! * Both kinds of a level's queues count towards the limit. A level requires at least one partner.
//! * Receives from MPI_ANY_SOURCE are in a separate queue. Its first match is compared with that of the others by
//!   serial. A receive from MPI_ANY_SOURCE searches all queues of records, and stops in each at the first record
//!   younger than its current match.
//!
//! A partner has no elements in the non-partner queue of its own level; it is searched nevertheless, as in the paper.
//!
//! # Memory, fixed
//! For each of the two: k x sqrt(n) queues ([`QUEUES_PER_ROOT`](super::queues::QUEUES_PER_ROOT)) of 8 bytes for n
//! processes, half as many levels of 16 bytes, and a table with a 12-byte entry per queue, rounded up to a power of two
//! that keeps a quarter free. Elements require no memory: their links are in the pool or in the record. At the queue
//! limit, the last non-partner queue grows without bound. In a job of 1,024 processes: 2 x 10,240 bytes.
//!
//! # Limits
//! * A queue is searched from its head, and does not distinguish tags and contexts: messages of one source received in
//!   reverse order cost as much as in a list.
//! * The base queue and the non-partner queues are searched first: elements that stay there for long delay all
//!   searches. Levels and partners are never removed, even if a source no longer sends.
//! * An unsuccessful receive from MPI_ANY_SOURCE checks every queue.
//! * If a queue's length repeatedly crosses the threshold and no partner is available, its [`THRESHOLD`] elements are
//!   sorted each time.
//! * Ranks that hash to the same table index are probed linearly.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::num::NonZeroU32;

use super::queues::{ElementQueues, QueueElement, QueueSearch, max_queues};
use super::split::{SplitDesign, SplitEngine};
use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::ids::SequenceNumber;
use midplane_device::list::{LinkStorage, ListEnds};
use midplane_device::try_box::try_boxed_slice;

/// Elements in a non-partner queue at which a new level is created: theta of paper 002, section 5.3.1.
pub const THRESHOLD: usize = 100;

/// Engine with partner and non-partner queues for all elements.
pub type PnpEngine = SplitEngine<PnpDesign>;

/// Design of [`PnpEngine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PnpDesign;

impl SplitDesign for PnpDesign {
    const NAME: &'static str = "pnp";
    type Queues<I: QueueElement> = PartnerQueues<I>;
}

/// A level: queues created together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct QueueLevel {
    /// Minimum serial of elements enqueued after its creation.
    since: SequenceNumber,
    /// Index of the non-partner queue.
    shared: u32,
}

/// A partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Partner {
    source: Rank,
    /// Index of its queue; index 0 is a non-partner queue.
    queue: NonZeroU32,
    level: u32,
}

/// Partner and non-partner queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartnerQueues<I> {
    /// Receives from any source.
    wild: ListEnds<I>,
    base: ListEnds<I>,
    /// Queues of all levels, and the number in use.
    dedicated: Box<[ListEnds<I>]>,
    used: usize,
    levels: Box<[QueueLevel]>,
    made: usize,
    /// Hash table of partners with linear probing.
    table: Box<[Option<Partner>]>,
    /// Elements in the last non-partner queue.
    filling: usize,
    peers: usize,
}

fn table_places(queues: usize) -> usize {
    (queues + queues / 3 + 1).next_power_of_two()
}

/// Element counts of the sources in a queue at the threshold.
type SourceCounts = heapless::Vec<(u32, Rank), THRESHOLD>;

impl<I: QueueElement> PartnerQueues<I> {
    /// Returns the first index to probe for `source`.
    fn place(&self, source: Rank) -> usize {
        let bits = self.table.len().ilog2();
        let hash = u64::from(source.index().wrapping_mul(0x9E37_79B9)) << bits;
        (hash >> 32) as usize
    }

    /// Looks `source` up. Calls `hop` for each entry probed.
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

    fn levels(&self) -> &[QueueLevel] {
        &self.levels[..self.made]
    }

    /// Returns the queue of an element of `source` with this serial, and whether it is the last non-partner queue.
    fn owner(&mut self, source: Option<Rank>, serial: SequenceNumber) -> (&mut ListEnds<I>, bool) {
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

    /// Counts the elements of each source in the last non-partner queue, in descending order.
    fn counts(&self, store: &I::Store) -> SourceCounts {
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
        let mut counts: SourceCounts = same.map(|same| (same.len() as u32, same[0])).collect();
        counts.sort_unstable_by_key(|&(count, source)| (core::cmp::Reverse(count), source));
        counts
    }

    /// Creates a level if any source qualifies as a partner. The last non-partner queue has just reached the threshold;
    /// `last` is its youngest element.
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
        self.levels[self.made] = QueueLevel {
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

    /// Makes `source` a partner of the level being created.
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

impl<I: QueueElement> ElementQueues<I> for PartnerQueues<I> {
    fn fixed_bytes(peers: usize) -> usize {
        let queues = max_queues(peers);
        queues * size_of::<ListEnds<I>>()
            + queues / 2 * size_of::<QueueLevel>()
            + table_places(queues) * size_of::<Option<Partner>>()
    }

    fn new(peers: usize) -> Option<Self> {
        let queues = max_queues(peers);
        let level = QueueLevel { since: 0, shared: 0 };
        Some(PartnerQueues {
            wild: ListEnds::default(),
            base: ListEnds::default(),
            dedicated: try_boxed_slice(ListEnds::default(), queues)?,
            used: 0,
            levels: try_boxed_slice(level, queues / 2)?,
            made: 0,
            table: try_boxed_slice(None, table_places(queues))?,
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

    fn find<F: Fn(I) -> bool>(&mut self, want: &MatchPattern, search: &mut QueueSearch<'_, I, F>) {
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
        let _ = search.list(&self.base) || others.any(|queue| search.listed(&self.dedicated[queue as usize]));
        search.list(&self.wild);
    }

    fn find_anywhere<F: Fn(I) -> bool>(&self, search: &mut QueueSearch<'_, I, F>) {
        search.list(&self.base);
        search.list(&self.wild);
        for list in &self.dedicated[..self.used] {
            search.listed(list);
        }
    }

    fn lists(&self) -> impl Iterator<Item = &ListEnds<I>> {
        let fixed = [&self.wild, &self.base].into_iter();
        fixed.chain(&self.dedicated[..self.used])
    }

    fn marks_mut(&mut self) -> impl Iterator<Item = &mut SequenceNumber> {
        let levels = &mut self.levels[..self.made];
        levels.iter_mut().map(|level| &mut level.since)
    }
}

#[cfg(test)]
mod tests;
