//! Requests found by a key, in constant expected time: a hash table inside the pool's slots.
//!
//! ```text
//!   chunk of slots   | slot 0 | slot 1 | .. | slot 31 | buckets 0 .. 31 |      as many buckets as slots
//!                        |                                |
//!                        +--- chain <---------------------+   requests whose keys fall into one bucket, in the
//!                                                             order in which they were entered
//! ```
//! The table takes no memory of its own: a slot comes with a bucket, and a request has links for one chain. It
//! grows by linear hashing (W. Litwin, VLDB 1980): when there are more members than buckets in use, and slots to
//! hold one more, one bucket is split. So no call does more than a constant share of the growth, and at most one
//! member a bucket is expected for ever.
//!
//! Equal keys share a chain, oldest first, so the first one that is found is the oldest. Others in its chain are
//! there by chance: whatever the keys are, their hashes are pairwise independent ([`KeyHash`]), so that fewer than
//! two are expected, and who chooses the keys cannot choose otherwise without knowing the seed.
#![forbid(unsafe_code)]

use super::pool::{KEYED, RequestPool};
use crate::device::envelope::{Context, Envelope, Pattern, Rank};
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

/// How much of the buckets is in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Table {
    pub(super) hashes: KeyHash,
    /// Buckets in use; those behind them are empty.
    buckets: u32,
    members: u32,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            hashes: KeyHash::new(0),
            buckets: NEIGHBOURS,
            members: 0,
        }
    }

    /// The bucket of this hash.
    #[inline]
    fn bucket(&self, hash: u32) -> u32 {
        // The greatest power of two that is not above the number of buckets, less one.
        let mask = u32::MAX >> self.buckets.leading_zeros() >> 1;
        let wide = hash & (mask << 1 | 1);
        if wide < self.buckets {
            wide
        } else {
            hash & mask
        }
    }
}

impl RequestPool {
    /// Hashes by this seed from now on.
    ///
    /// # Panics
    /// When a request is in the table.
    pub(crate) fn seed(&mut self, seed: u64) {
        assert_eq!(self.table.members, 0, "hashes are kept nowhere");
        self.table.hashes = KeyHash::new(seed);
    }

    /// Enters the request in `slot`, as the last of its key, whose hash is `hash`.
    #[inline]
    pub(crate) fn enter(&mut self, slot: Slot, hash: u32) {
        if self.table.members >= self.table.buckets {
            self.split();
        }
        self.table.members += 1;
        self.append_to(self.table.bucket(hash), slot);
    }

    /// Takes the request in `slot` out again; `hash` is that of its key.
    #[inline]
    pub(crate) fn withdraw(&mut self, slot: Slot, hash: u32) {
        let bucket = self.table.bucket(hash);
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
        self.table.members -= 1;
    }

    /// The oldest request in the bucket of this hash.
    #[inline]
    pub(crate) fn first_of(&self, hash: u32) -> Option<Slot> {
        self.bucket(self.table.bucket(hash))
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

    /// Takes one more bucket into use, if there is one: some members of another one move there.
    fn split(&mut self) {
        let new = self.table.buckets;
        if new as usize >= self.slots() {
            return;
        }
        let half = 1 << (u32::BITS - 1 - new.leading_zeros());
        let old = new - half;
        self.table.buckets = new + 1;
        let mut next = self.bucket(old);
        self.set_bucket(old, None);
        while let Some(slot) = next {
            next = self.next_in::<KEYED>(slot);
            let hash = self.key_hash(slot);
            self.append_to(self.table.bucket(hash), slot);
        }
    }
}
