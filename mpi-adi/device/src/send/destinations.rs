//! Destinations with pending messages: one entry for each, in a hash table by rank.
//!
//! ```text
//!   chunk   | entry 0 | entry 1 | .. | entry 7 | buckets 0 .. 3 |      one bucket for two entries
//!               |                                    |
//!               +--- chain <-------------------------+   destinations whose ranks hash to one bucket
//! ```
//! As in the table of requests ([`hash_table`](crate::request)), the hash table is inside the chunks and grows by linear
//! hashing: no call does more than a constant share of that. The hash is universal, so the expected chain length is at
//! most two for any ranks.
//!
//! | bytes | of a destination |
//! |---|---|
//! | 4 | rank |
//! | 16 | ends of its queue, and of the list of messages to send RTSs for again |
//! | 8 | the first message without an RTS so far; the last one reinserted |
//! | 8 | counts of unanswered and rejected messages |
//! | 16 | next sequence number, and the last restart's horizon (cut-off sequence number) |
//! | 4 | the restart's state, flags |
//! | 8 | links in the list of destinations that may send an RTS |
//! | 4 | chain |
//! | 2 | half a bucket |
//! | 70 | and up to 2 in the list of chunks |
#![forbid(unsafe_code)]

use core::ops::{Index, IndexMut};

use super::restart_progress::{RestartState, WINDOW};
use crate::envelope::Rank;
use crate::ids::{DestinationId, Horizon, PackedId, SequenceNumber, Slot};
use crate::list::{LinkStorage, ListEnds};
use crate::protocol::ProtocolRules;
use crate::request::{BucketRange, ChunkList, KeyHash, PoolFull};
use crate::stats::Count;

/// Destinations for which memory is allocated at a time.
pub const CHUNK_DESTINATIONS: usize = 8;
/// Buckets of a chunk.
const CHUNK_BUCKETS: usize = CHUNK_DESTINATIONS / 2;

/// Heap bytes per destination with pending messages. The list of chunks uses up to two more.
pub const DESTINATION_BYTES: usize = size_of::<DestinationChunk>() / CHUNK_DESTINATIONS;

const _: () = assert!(size_of::<DestinationChunk>() <= CHUNK_DESTINATIONS * 70);

/// Pending send queue of one destination.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) rank: Rank,
    pub(super) queue: ListEnds<Slot>,
    /// Messages to send RTSs for again.
    pub(super) offers: ListEnds<Slot>,
    /// The first message without an RTS so far; all behind it have none either.
    pub(super) fresh: Option<Slot>,
    /// Last insertion into `offers`: the next one usually follows it.
    pub(super) finger: Option<Slot>,
    pub(super) unanswered: u32,
    pub(super) refused: u32,
    /// The next message's sequence number.
    serial: PackedId<SequenceNumber>,
    /// The horizon of the restart executed last.
    horizon: PackedId<Horizon>,
    pub(super) restart: RestartState,
    flags: DestinationFlags,
    /// Links in the list of destinations that may send an RTS.
    neighbours: (Option<DestinationId>, Option<DestinationId>),
    /// The next one in its bucket.
    chain: Option<DestinationId>,
}

/// Flags of a destination, in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DestinationFlags(u8);

/// The receiver's last reply reported low memory.
pub(super) const THROTTLED: u8 = 1 << 0;
/// Every message of the queue is in the pool's hash table, under its context and tag.
pub(super) const CHAINED: u8 = 1 << 1;
/// It is in the list of destinations that may send an RTS.
pub(super) const LISTED: u8 = 1 << 2;

impl Destination {
    pub(super) fn new(rank: Rank) -> Destination {
        Destination {
            rank,
            queue: ListEnds::default(),
            offers: ListEnds::default(),
            fresh: None,
            finger: None,
            unanswered: 0,
            refused: 0,
            serial: PackedId::new(0),
            horizon: PackedId::new(0),
            restart: RestartState::Closed,
            flags: DestinationFlags(0),
            neighbours: (None, None),
            chain: None,
        }
    }

    /// Resets a destination without pending messages to the initial state, in the same entry.
    pub(super) fn reset(&mut self) {
        *self = Destination {
            chain: self.chain,
            ..Destination::new(self.rank)
        };
    }

    /// Returns whether a flag is set.
    pub(super) fn is(&self, flag: u8) -> bool {
        self.flags.0 & flag != 0
    }

    /// Sets or clears a flag.
    pub(super) fn set(&mut self, flag: u8, to: bool) {
        if to {
            self.flags.0 |= flag
        } else {
            self.flags.0 &= !flag
        }
    }

    /// Returns the sequence number of the next message.
    pub(super) fn serial(&self) -> SequenceNumber {
        self.serial.get()
    }

    /// Advances the sequence number.
    pub(super) fn count(&mut self) {
        self.serial = PackedId::new(self.serial() + 1);
    }

    /// Returns the horizon of the restart executed last.
    pub(super) fn horizon(&self) -> Horizon {
        self.horizon.get()
    }

    pub(super) fn set_horizon(&mut self, horizon: Horizon) {
        self.horizon = PackedId::new(horizon);
    }

    /// Returns the next message to send an RTS for: messages with an earlier RTS are first, as in the queue.
    pub(super) fn next_rts(&self) -> Option<Slot> {
        self.offers.head().or(self.fresh)
    }

    pub(super) fn is_ready(&self, rules: impl ProtocolRules) -> bool {
        match self.restart {
            RestartState::Waiting { .. } => self.unanswered == 0 || !rules.awaits_replies(),
            RestartState::Closing => true,
            RestartState::Expected if rules.awaits_replies() => false,
            RestartState::Expected | RestartState::Closed => {
                let open = self.refused == 0 || self.unanswered < WINDOW;
                self.next_rts().is_some() && open
            }
        }
    }

    /// Returns whether no message is pending and no restart is open, so that the destination can be removed.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.restart == RestartState::Closed
    }
}

/// An entry for a destination.
#[derive(Clone, Debug)]
enum DestinationSlot {
    Free { next: Option<DestinationId> },
    Occupied(Destination),
}

#[derive(Clone, Debug)]
struct DestinationChunk {
    places: [DestinationSlot; CHUNK_DESTINATIONS],
    buckets: [Option<DestinationId>; CHUNK_BUCKETS],
}

/// All destinations, in the program's heap: it grows in calls of the program.
#[derive(Clone, Debug)]
pub(super) struct DestinationTable {
    chunks: ChunkList<DestinationChunk>,
    buckets: BucketRange,
    free: Option<DestinationId>,
    /// Links of chains followed past another destination.
    steps: Count,
}

impl Default for DestinationTable {
    fn default() -> Self {
        DestinationTable {
            chunks: ChunkList::default(),
            buckets: BucketRange::new(CHUNK_BUCKETS as u32),
            free: None,
            steps: 0,
        }
    }
}

impl DestinationTable {
    /// Allocates memory until `count` entries are free.
    #[inline]
    pub(super) fn reserve(&mut self, count: usize) -> Result<(), PoolFull> {
        if self.has_space(count) {
            Ok(())
        } else {
            self.grow(count)
        }
    }

    /// Returns whether `count` entries are free.
    #[inline]
    pub(super) fn has_space(&self, count: usize) -> bool {
        self.slot_count() - self.len() >= count
    }

    #[cold]
    fn grow(&mut self, count: usize) -> Result<(), PoolFull> {
        while self.slot_count() - self.len() < count {
            let (first, free) = (self.slot_count(), self.free);
            self.chunks.push(|| DestinationChunk {
                places: core::array::from_fn(|i| DestinationSlot::Free {
                    next: if i + 1 < CHUNK_DESTINATIONS {
                        Some(DestinationId::new((first + i + 1) as u32))
                    } else {
                        free
                    },
                }),
                buckets: [None; CHUNK_BUCKETS],
            })?;
            self.free = Some(DestinationId::new(first as u32));
        }
        Ok(())
    }

    fn slot_count(&self) -> usize {
        self.chunks.len() * CHUNK_DESTINATIONS
    }

    /// Returns the number of destinations.
    pub(super) fn len(&self) -> usize {
        self.buckets.members() as usize
    }

    /// Returns the number of destinations passed in searches for others.
    pub(super) fn steps(&self) -> Count {
        self.steps
    }

    fn slot(&self, at: DestinationId) -> &DestinationSlot {
        let index = at.index() as usize;
        let chunk = self.chunks.get(index / CHUNK_DESTINATIONS);
        &chunk.expect("a place").places[index % CHUNK_DESTINATIONS]
    }

    fn slot_mut(&mut self, at: DestinationId) -> &mut DestinationSlot {
        let index = at.index() as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_DESTINATIONS);
        &mut chunk.expect("a place").places[index % CHUNK_DESTINATIONS]
    }

    /// Returns the head of this bucket's chain.
    fn bucket(&mut self, index: u32) -> &mut Option<DestinationId> {
        let index = index as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_BUCKETS);
        &mut chunk.expect("a bucket in use").buckets[index % CHUNK_BUCKETS]
    }

    /// Returns the entry of destination `rank`.
    pub(super) fn find(&mut self, hashes: &KeyHash, rank: Rank) -> Option<DestinationId> {
        if self.len() == 0 {
            return None;
        }
        let mut next = *self.bucket(self.buckets.bucket_index(hashes.hash_destination(rank)));
        while let Some(at) = next.filter(|&at| self[at].rank != rank) {
            self.steps += 1;
            next = self[at].chain;
        }
        next
    }

    /// Allocates a reserved entry for the destination `rank`, which must not exist.
    pub(super) fn insert(&mut self, hashes: &KeyHash, rank: Rank) -> DestinationId {
        let at = self.free.expect("a free place");
        let DestinationSlot::Free { next } = *self.slot(at) else {
            unreachable!("the free list holds free places")
        };
        self.free = next;
        *self.slot_mut(at) = DestinationSlot::Occupied(Destination::new(rank));
        if let Some(bucket) = self.buckets.add(self.chunks.len() * CHUNK_BUCKETS) {
            self.split(hashes, bucket);
        }
        self.insert_slot(hashes, at);
        at
    }

    fn insert_slot(&mut self, hashes: &KeyHash, at: DestinationId) {
        let bucket = self.buckets.bucket_index(hashes.hash_destination(self[at].rank));
        self[at].chain = self.bucket(bucket).replace(at);
    }

    /// Splits a bucket between itself and the bucket that has come into use.
    #[cold]
    fn split(&mut self, hashes: &KeyHash, bucket: u32) {
        let mut next = self.bucket(bucket).take();
        while let Some(at) = next {
            next = self[at].chain;
            self.insert_slot(hashes, at);
        }
    }

    /// Removes the destination at `at`, which is in no list.
    pub(super) fn remove(&mut self, hashes: &KeyHash, at: DestinationId) {
        let Destination { rank, chain, .. } = self[at];
        let first = self.bucket(self.buckets.bucket_index(hashes.hash_destination(rank)));
        if *first == Some(at) {
            *first = chain;
        } else {
            let mut before = first.expect("in its chain");
            while let Some(next) = self[before].chain.filter(|&next| next != at) {
                self.steps += 1;
                before = next;
            }
            self[before].chain = chain;
        }
        self.buckets.remove();
        *self.slot_mut(at) = DestinationSlot::Free { next: self.free };
        self.free = Some(at);
    }

    pub(super) fn for_each_mut(&mut self, mut change: impl FnMut(&mut Destination)) {
        for index in 0..self.slot_count() {
            let place = self.slot_mut(DestinationId::new(index as u32));
            if let DestinationSlot::Occupied(destination) = place {
                change(destination);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Destination> {
        let places = self.chunks.iter().flat_map(|chunk| &chunk.places);
        places.filter_map(|place| match place {
            DestinationSlot::Occupied(destination) => Some(destination),
            DestinationSlot::Free { .. } => None,
        })
    }
}

impl Index<DestinationId> for DestinationTable {
    type Output = Destination;

    fn index(&self, at: DestinationId) -> &Destination {
        match self.slot(at) {
            DestinationSlot::Occupied(destination) => destination,
            DestinationSlot::Free { .. } => {
                unreachable!("a destination is named that is not there")
            }
        }
    }
}

impl IndexMut<DestinationId> for DestinationTable {
    fn index_mut(&mut self, at: DestinationId) -> &mut Destination {
        match self.slot_mut(at) {
            DestinationSlot::Occupied(destination) => destination,
            DestinationSlot::Free { .. } => {
                unreachable!("a destination is named that is not there")
            }
        }
    }
}

impl LinkStorage<DestinationId> for DestinationTable {
    fn next(&self, at: DestinationId) -> Option<DestinationId> {
        self[at].neighbours.1
    }
    fn set_next(&mut self, at: DestinationId, next: Option<DestinationId>) {
        self[at].neighbours.1 = next;
    }
    fn set_prev(&mut self, at: DestinationId, prev: Option<DestinationId>) {
        self[at].neighbours.0 = prev;
    }
    fn neighbours(&self, at: DestinationId) -> (Option<DestinationId>, Option<DestinationId>) {
        self[at].neighbours
    }
    fn set_neighbours(&mut self, at: DestinationId, prev: Option<DestinationId>, next: Option<DestinationId>) {
        self[at].neighbours = (prev, next);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oorandom::Rand32;

    use super::*;

    #[test]
    fn a_destination_is_found_from_when_it_is_inserted_until_it_is_removed() {
        for (seed, values) in [(1, 3), (2, 40), (3, 5000)] {
            let (mut random, hashes) = (Rand32::new(seed), KeyHash::new(seed));
            let mut destinations = DestinationTable::default();
            let mut there: BTreeMap<u32, DestinationId> = BTreeMap::new();
            for step in 0..10_000 {
                let index = random.rand_range(0..values);
                let rank = Rank::new(index);
                let found = destinations.find(&hashes, rank);
                assert_eq!(found, there.get(&index).copied(), "step {step}");
                let grows = random.rand_range(0..8) < if step / 2500 % 2 == 0 { 6 } else { 2 };
                match found {
                    Some(at) if !grows => {
                        destinations.remove(&hashes, at);
                        there.remove(&index);
                    }
                    None if grows => {
                        destinations.reserve(1).expect("room");
                        let at = destinations.insert(&hashes, rank);
                        assert_eq!(destinations[at].rank, rank);
                        assert!(there.insert(index, at).is_none_or(|other| other == at));
                    }
                    _ => {}
                }
                assert_eq!(destinations.len(), there.len());
            }
            for (&index, &at) in &there {
                assert_eq!(destinations.find(&hashes, Rank::new(index)), Some(at));
            }
            let mut ranks: Vec<u32> = destinations.iter().map(|d| d.rank.index()).collect();
            ranks.sort_unstable();
            assert_eq!(ranks, there.into_keys().collect::<Vec<_>>());
        }
    }

    #[test]
    fn places_that_are_reserved_are_free_and_removed_ones_come_again() {
        let (mut destinations, hashes) = (DestinationTable::default(), KeyHash::new(1));
        destinations.reserve(CHUNK_DESTINATIONS + 1).expect("room");
        assert_eq!(destinations.slot_count(), 2 * CHUNK_DESTINATIONS);
        for round in 0..3 {
            let all: Vec<DestinationId> = (0..2 * CHUNK_DESTINATIONS as u32)
                .map(|i| destinations.insert(&hashes, Rank::new(100 * round + i)))
                .collect();
            for at in all {
                destinations.remove(&hashes, at);
            }
        }
        destinations.reserve(2 * CHUNK_DESTINATIONS).expect("room");
        assert_eq!(destinations.slot_count(), 2 * CHUNK_DESTINATIONS, "none more");
    }

    /// A search passes few other destinations, for any choice of ranks.
    #[test]
    fn regular_ranks_do_not_share_buckets() {
        const RANKS: u32 = 4096;
        for shift in 0..20 {
            let (mut destinations, hashes) = (DestinationTable::default(), KeyHash::new(1));
            let rank = |i: u32| Rank::new(i << shift);
            for i in 0..RANKS {
                destinations.reserve(1).expect("room");
                destinations.insert(&hashes, rank(i));
            }
            for i in 0..RANKS {
                assert!(destinations.find(&hashes, rank(i)).is_some());
            }
            let steps = destinations.steps();
            assert!((1..3 * u64::from(RANKS)).contains(&steps), "{steps} by {shift} bits");
        }
    }

    #[test]
    fn what_is_as_good_as_new_stays_where_it_is_found() {
        const RANKS: u32 = 500;
        let (mut destinations, hashes) = (DestinationTable::default(), KeyHash::new(1));
        let places: Vec<DestinationId> = (0..RANKS)
            .map(|rank| {
                destinations.reserve(1).expect("room");
                destinations.insert(&hashes, Rank::new(rank))
            })
            .collect();
        for &at in &places {
            destinations[at].set(THROTTLED, true);
            destinations[at].count();
            destinations[at].reset();
            assert!(!destinations[at].is(THROTTLED) && destinations[at].serial() == 0);
        }
        for (rank, &at) in (0..RANKS).zip(&places) {
            assert_eq!(destinations.find(&hashes, Rank::new(rank)), Some(at));
        }
        let before = destinations.steps();
        for at in places {
            destinations.remove(&hashes, at);
        }
        assert!(destinations.steps() > before && destinations.len() == 0);
    }

    #[test]
    fn flags_are_set_one_by_one() {
        let mut destination = Destination::new(Rank::new(1));
        for flag in [THROTTLED, CHAINED, LISTED] {
            destination.set(flag, true);
            assert!(destination.is(flag));
        }
        destination.set(CHAINED, false);
        let said = [THROTTLED, CHAINED, LISTED].map(|flag| destination.is(flag));
        assert_eq!(said, [true, false, true]);
    }
}
