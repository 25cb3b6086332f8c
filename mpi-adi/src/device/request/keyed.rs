//! Requests found by a key, in constant expected time: a hash table inside the pool's slots.
//!
//! ```text
//!   chunk of slots   | slot 0 | slot 1 | .. | slot 31 | buckets 0 .. 23 |      three buckets for four slots
//!                        |                                |
//!                        +--- chain <---------------------+   requests whose keys fall into one bucket, in the
//!                                                             order in which they were entered
//! ```
//! Members are posted receives, under their patterns, if the matching engine enters them; and pending sends, under
//! destination, context and tag, if a restart has named a tag to their destination. A search skips what is not of
//! its kind.
//!
//! The table takes no memory of its own: slots come with buckets, and a request has links for one chain. It
//! grows by linear hashing (W. Litwin, VLDB 1980): when there are more members than buckets in use, and another
//! bucket is there, one bucket is split. So no call does more than a constant share of the growth, and no more than
//! 4/3 members a bucket are expected for ever.
//!
//! Equal keys share a chain, oldest first, so the first one that is found is the oldest. Others in its chain are
//! there by chance: whatever the keys are, their hashes are pairwise independent ([`KeyHash`]), so that fewer than
//! two are expected, and who chooses the keys cannot choose otherwise without knowing the seed.
#![forbid(unsafe_code)]

use super::pool::{KEYED, RequestPool};
use super::send::Send;
use crate::device::envelope::{Context, Envelope, Pattern, Rank, Tag};
use crate::device::list::Links;
use crate::device::names::Slot;

/// Keys with neighbouring sources fall into neighbouring buckets, so many at a time: a cache line of 64 bytes.
pub(crate) const NEIGHBOURS: u32 = 16;

/// The kinds of patterns: which wildcards they have.
pub(crate) const KINDS: usize = 4;

/// The kind of a pattern, below [`KINDS`]: 1 for any source, 2 for any tag, 3 for both.
#[inline]
pub(crate) fn kind(pattern: &Pattern) -> usize {
    usize::from(pattern.source().is_none()) | usize::from(pattern.tag().is_none()) << 1
}

/// The pattern of this kind that matches `envelope`.
#[inline]
pub(crate) fn pattern_of(envelope: &Envelope, kind: usize) -> Pattern {
    Pattern::new(
        (kind & 1 == 0).then_some(envelope.source),
        (kind & 2 == 0).then_some(envelope.tag),
        envelope.context,
    )
}

/// Hashes of patterns, by numbers drawn from a seed.
///
/// A hash is the upper half of a sum of products of the key's words and random numbers of 64 bits (strongly
/// universal: M. Dietzfelbinger, STACS 1996; M. Thorup, High Speed Hashing for Integers and Strings, 2015,
/// section 3.4), but for its lowest four bits: these are the source's lowest four bits, turned by a random amount.
/// Keys that differ in these alone are in different buckets of one cache line; all others collide by chance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyHash {
    source: u64,
    tag: u64,
    context: u64,
    kinds: [u64; KINDS],
    /// What is sent.
    sends: u64,
    /// Destinations as such.
    destinations: u64,
}

impl KeyHash {
    /// The hashes of this seed.
    pub(crate) fn new(seed: u64) -> KeyHash {
        // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        KeyHash {
            source: draw(),
            tag: draw(),
            context: draw(),
            kinds: [draw(), draw(), draw(), draw()],
            sends: draw(),
            destinations: draw(),
        }
    }

    /// The hash of a pattern.
    #[inline]
    pub(crate) fn of(&self, pattern: &Pattern) -> u32 {
        let source = pattern.source().map_or(0, Rank::index);
        let tag = pattern.tag().unwrap_or(0) as u32;
        self.sum(self.kinds[kind(pattern)], pattern.context(), source, tag)
    }

    /// The hash of the pattern that asks for just this.
    #[inline]
    pub(crate) fn exact(&self, envelope: &Envelope) -> u32 {
        let Envelope {
            source,
            tag,
            context,
        } = *envelope;
        self.sum(self.kinds[0], context, source.index(), tag as u32)
    }

    /// The hash of what is sent to `dest` in this context with this tag: another one than that of what is received
    /// so.
    #[inline]
    pub(crate) fn of_send(&self, dest: Rank, context: Context, tag: Tag) -> u32 {
        self.sum(self.sends, context, dest.index(), tag as u32)
    }

    /// The hash of a destination.
    #[inline]
    pub(crate) fn of_destination(&self, dest: Rank) -> u32 {
        self.sum(self.destinations, 0, dest.index(), 0)
    }

    #[inline]
    fn sum(&self, kind: u64, context: Context, source: u32, tag: u32) -> u32 {
        let sum = kind
            .wrapping_add(self.context.wrapping_mul(context.into()))
            .wrapping_add(self.source.wrapping_mul((source / NEIGHBOURS).into()))
            .wrapping_add(self.tag.wrapping_mul(tag.into()));
        let hash = (sum >> 32) as u32;
        hash & !(NEIGHBOURS - 1) | hash.wrapping_add(source) & (NEIGHBOURS - 1)
    }
}

/// How much of an array of buckets is in use, by linear hashing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Buckets {
    /// Buckets in use; those behind them are empty.
    used: u32,
    members: u32,
}

impl Buckets {
    /// So many in use at first, a power of two.
    pub(crate) const fn new(used: u32) -> Buckets {
        assert!(used.is_power_of_two());
        Buckets { used, members: 0 }
    }

    /// Members of all of them.
    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// The bucket of this hash.
    #[inline]
    pub(crate) fn of(&self, hash: u32) -> u32 {
        // The greatest power of two that is not above the number of buckets, less one.
        let mask = u32::MAX >> self.used.leading_zeros() >> 1;
        let wide = hash & (mask << 1 | 1);
        if wide < self.used { wide } else { hash & mask }
    }

    /// One more member is about to come, and the array has so many buckets. The bucket that is to be split before:
    /// from now on, some of its members belong to a bucket that has not been in use.
    #[inline]
    pub(crate) fn add(&mut self, buckets: usize) -> Option<u32> {
        self.members += 1;
        match self.members > self.used && (self.used as usize) < buckets {
            true => Some(self.use_one_more()),
            false => None,
        }
    }

    fn use_one_more(&mut self) -> u32 {
        let half = 1 << (u32::BITS - 1 - self.used.leading_zeros());
        let split = self.used - half;
        self.used += 1;
        split
    }

    /// A member has gone.
    #[inline]
    pub(crate) fn remove(&mut self) {
        self.members -= 1;
    }
}

/// The table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Table {
    pub(super) hashes: KeyHash,
    buckets: Buckets,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            hashes: KeyHash::new(0),
            buckets: Buckets::new(NEIGHBOURS),
        }
    }
}

impl RequestPool {
    /// Hashes by this seed from now on.
    ///
    /// # Panics
    /// When a request is in the table. Nothing may be pending to any destination, either.
    pub(crate) fn seed(&mut self, seed: u64) {
        assert_eq!(self.table.buckets.members(), 0, "hashes are kept nowhere");
        self.table.hashes = KeyHash::new(seed);
    }

    /// Enters the request in `slot`, as the last of its key, whose hash is `hash`.
    #[inline]
    pub(crate) fn enter(&mut self, slot: Slot, hash: u32) {
        if let Some(bucket) = self.table.buckets.add(self.buckets()) {
            self.split(bucket);
        }
        self.append_to(self.table.buckets.of(hash), slot);
    }

    /// Takes the request in `slot` out again; `hash` is that of its key.
    #[inline]
    pub(crate) fn withdraw(&mut self, slot: Slot, hash: u32) {
        let bucket = self.table.buckets.of(hash);
        let first = self.bucket(bucket);
        let (prev, next) = self.links::<KEYED>().neighbours(slot);
        // The first one's `prev` is the last one.
        if first == Some(slot) {
            self.set_bucket(bucket, next);
        } else if let Some(prev) = prev {
            self.links::<KEYED>().set_next(prev, next);
        }
        match (next, first) {
            (Some(next), _) => self.links::<KEYED>().set_prev(next, prev),
            (None, Some(first)) => self.links::<KEYED>().set_prev(first, prev),
            (None, None) => {}
        }
        self.table.buckets.remove();
    }

    /// The oldest request in the bucket of this hash.
    #[inline]
    pub(crate) fn first_of(&self, hash: u32) -> Option<Slot> {
        self.bucket(self.table.buckets.of(hash))
    }

    fn append_to(&mut self, bucket: u32, slot: Slot) {
        match self.bucket(bucket) {
            None => {
                self.links::<KEYED>().set_neighbours(slot, Some(slot), None);
                self.set_bucket(bucket, Some(slot));
            }
            Some(first) => {
                let last = self.prev_in::<KEYED>(first);
                self.links::<KEYED>().set_neighbours(slot, last, None);
                if let Some(last) = last {
                    self.links::<KEYED>().set_next(last, Some(slot));
                }
                self.links::<KEYED>().set_prev(first, Some(slot));
            }
        }
    }

    /// Divides the members of a bucket between it and the bucket that has come into use.
    #[cold]
    fn split(&mut self, bucket: u32) {
        let mut next = self.bucket(bucket);
        self.set_bucket(bucket, None);
        while let Some(slot) = next {
            next = self.next_in::<KEYED>(slot);
            let hash = self.key_hash(slot);
            self.append_to(self.table.buckets.of(hash), slot);
        }
    }

    /// The hashes of keys.
    #[inline]
    pub(crate) fn hashes(&self) -> &KeyHash {
        &self.table.hashes
    }

    /// The hash of a pattern.
    #[inline]
    pub(crate) fn hash_of(&self, pattern: &Pattern) -> u32 {
        self.table.hashes.of(pattern)
    }

    /// The hash of the key of the send in `slot`.
    #[inline]
    pub(crate) fn send_hash(&self, slot: Slot) -> u32 {
        let Send {
            dest, context, tag, ..
        } = self.send(slot);
        self.table.hashes.of_send(dest, context, tag)
    }
}
