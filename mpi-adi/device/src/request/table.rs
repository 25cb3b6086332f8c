//! The parts of the [hash table](super::keyed): the hashes of keys, and which bucket is whose.
#![forbid(unsafe_code)]

use crate::envelope::{Context, Envelope, Pattern, Rank, Tag};

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
    /// What is received.
    receives: u64,
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
        // In a loop: what draws one is 76 bytes on a Cortex-M, and would be there six times.
        let mut drawn = [0; 6];
        for number in &mut drawn {
            *number = draw();
        }
        let [source, tag, context, receives, sends, destinations] = drawn;
        KeyHash {
            source,
            tag,
            context,
            receives,
            sends,
            destinations,
        }
    }

    /// The hash of a pattern.
    #[inline]
    pub(crate) fn of(&self, pattern: &Pattern) -> u32 {
        let (source, tag) = pattern.words();
        self.sum(self.receives, pattern.context(), source, tag)
    }

    /// The hashes of the patterns of all kinds that match `envelope`.
    #[inline]
    pub(crate) fn of_kinds(&self, envelope: &Envelope) -> [u32; KINDS] {
        core::array::from_fn(|kind| self.of(&pattern_of(envelope, kind)))
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
    /// The bits of a hash that may count: half of these numbers, and one more, are in use at least.
    mask: u32,
    members: u32,
}

impl Buckets {
    /// So many in use at first, at least 1.
    pub(crate) const fn new(used: u32) -> Buckets {
        Buckets {
            used,
            mask: used.next_power_of_two() - 1,
            members: 0,
        }
    }

    /// Members of all of them.
    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// The bucket of this hash.
    #[inline]
    pub(crate) fn of(&self, hash: u32) -> u32 {
        let wide = hash & self.mask;
        if wide < self.used {
            wide
        } else {
            hash & (self.mask >> 1)
        }
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
        if self.used > self.mask {
            self.mask = self.mask << 1 | 1;
        }
        let split = self.used & (self.mask >> 1);
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
    pub(super) buckets: Buckets,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            hashes: KeyHash::new(0),
            buckets: Buckets::new(NEIGHBOURS),
        }
    }
}
