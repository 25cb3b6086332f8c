//! Parts of the [hash table](super::hash_table): the hash functions of keys, and the mapping of hashes to buckets.
#![forbid(unsafe_code)]

use crate::envelope::{Context, Envelope, MatchPattern, Rank, Tag};

/// Number of keys with consecutive sources that map to consecutive buckets: a cache line of 64 bytes.
pub(crate) const NEIGHBOURS: u32 = 16;

/// Number of pattern kinds, by wildcards.
pub(crate) const KINDS: usize = 4;

/// Returns the kind of a pattern, below [`KINDS`]: 1 for any source, 2 for any tag, 3 for both.
#[inline]
pub(crate) fn kind(pattern: &MatchPattern) -> usize {
    usize::from(pattern.source().is_none()) | usize::from(pattern.tag().is_none()) << 1
}

/// Returns the pattern of this kind that matches `envelope`.
#[inline]
pub(crate) fn pattern_of(envelope: &Envelope, kind: usize) -> MatchPattern {
    MatchPattern::new(
        (kind & 1 == 0).then_some(envelope.source),
        (kind & 2 == 0).then_some(envelope.tag),
        envelope.context,
    )
}

/// Hash functions of patterns, with random numbers drawn from a seed.
///
/// A hash is the upper half of a sum of products of the key's words and 64-bit random numbers (strongly universal: M.
/// Dietzfelbinger, STACS 1996; M. Thorup, High Speed Hashing for Integers and Strings, 2015, section 3.4). Its lowest
/// four bits are those of the source, rotated by a random amount. Keys that differ only in these bits map to different
/// buckets of one cache line; all others collide by chance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyHash {
    source: u64,
    tag: u64,
    context: u64,
    /// Constant of receives.
    receives: u64,
    /// Constant of sends.
    sends: u64,
    /// Constant of destinations.
    destinations: u64,
}

impl KeyHash {
    /// Creates the hash functions of this seed.
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
        // A loop, because the code that draws one number is 76 bytes on a Cortex-M and would be inlined six times.
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

    #[inline]
    pub(crate) fn hash_pattern(&self, pattern: &MatchPattern) -> u32 {
        let (source, tag) = pattern.words();
        self.sum(self.receives, pattern.context(), source, tag)
    }

    /// Returns the hashes of the patterns of all kinds that match `envelope`.
    #[inline]
    pub(crate) fn hash_kinds(&self, envelope: &Envelope) -> [u32; KINDS] {
        core::array::from_fn(|kind| self.hash_pattern(&pattern_of(envelope, kind)))
    }

    /// Returns the hash of a send to `dest` with this context and tag. It differs from that of a receive with the same
    /// values.
    #[inline]
    pub(crate) fn hash_send(&self, dest: Rank, context: Context, tag: Tag) -> u32 {
        self.sum(self.sends, context, dest.index(), tag as u32)
    }

    #[inline]
    pub(crate) fn hash_destination(&self, dest: Rank) -> u32 {
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

/// Linear-hashing state: the part of a bucket array that is in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BucketRange {
    /// Buckets in use; those after them are empty.
    used: u32,
    /// Mask of the hash bits in use: more than half of the values that it allows are buckets in use.
    mask: u32,
    members: u32,
}

impl BucketRange {
    /// Creates the state with `used` buckets in use, at least 1.
    pub(crate) const fn new(used: u32) -> BucketRange {
        BucketRange {
            used,
            mask: used.next_power_of_two() - 1,
            members: 0,
        }
    }

    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// Returns the bucket of this hash.
    #[inline]
    pub(crate) fn bucket_index(&self, hash: u32) -> u32 {
        let wide = hash & self.mask;
        if wide < self.used {
            wide
        } else {
            hash & (self.mask >> 1)
        }
    }

    /// Counts a member before its insertion, in an array of `buckets` buckets. Returns the bucket to split first, if
    /// any: from now on, some of its members belong to a bucket that was not in use.
    #[inline]
    pub(crate) fn add(&mut self, buckets: usize) -> Option<u32> {
        self.members += 1;
        if self.members > self.used && (self.used as usize) < buckets {
            Some(self.use_one_more())
        } else {
            None
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

    #[inline]
    pub(crate) fn remove(&mut self) {
        self.members -= 1;
    }
}

/// Hash functions and bucket state of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HashTable {
    pub(super) hashes: KeyHash,
    pub(super) buckets: BucketRange,
}

impl HashTable {
    pub(super) fn new() -> HashTable {
        HashTable {
            hashes: KeyHash::new(0),
            buckets: BucketRange::new(NEIGHBOURS),
        }
    }
}
