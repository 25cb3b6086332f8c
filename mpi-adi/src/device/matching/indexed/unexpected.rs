//! Unexpected messages: all in one list, in the order of arrival; those that an exact search has passed also in the
//! chain of their envelope's bucket.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use super::rise::LateRise;
use super::wild::{WILD_ENTRIES, Wild};
use super::{NEAR, SHORT};
use crate::device::config::boxed;
use crate::device::envelope::Pattern;
use crate::device::list::{Ends, Links};
use crate::device::memory::region::Region;
use crate::device::names::BlockIndex;
use crate::device::request::{KINDS, KeyHash, NEIGHBOURS, kind};

/// Bytes of a bucket.
pub const BUCKET_BYTES: usize = size_of::<Option<BlockIndex>>();
/// Blocks of MPI memory for which there are [`BUCKETS`] buckets: 1.5 bytes a block. A message with data takes two
/// blocks or more, so that a bucket has 1.33 of the smallest such messages when all memory is used.
pub const BUCKET_BLOCKS: usize = 8;
/// See [`BUCKET_BLOCKS`].
pub const BUCKETS: usize = 3;
/// Blocks of MPI memory below which there are no buckets: so few are walked.
pub const LEAST_BLOCKS: usize = 32;

/// Buckets for so many blocks.
pub(super) const fn buckets(blocks: usize) -> u32 {
    if blocks < LEAST_BLOCKS {
        return 0;
    }
    (blocks / BUCKET_BLOCKS * BUCKETS) as u32
}

/// The bucket of `count` that this hash falls into: whole groups of [`NEIGHBOURS`] as far as there are, so that
/// neighbouring sources stay neighbours.
#[inline]
pub(super) fn bucket(hash: u32, count: u32) -> usize {
    let groups = count / NEIGHBOURS;
    if groups == 0 {
        return ((u64::from(hash) * u64::from(count)) >> 32) as usize;
    }
    let group = (u64::from(hash / NEIGHBOURS) * u64::from(count / NEIGHBOURS * NEIGHBOURS)) >> 32;
    (group as u32 * NEIGHBOURS + hash % NEIGHBOURS) as usize
}

/// A record that a search has found in a chain.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: BlockIndex,
    before: BlockIndex,
    bucket: usize,
}

/// The unexpected message queue.
#[derive(Clone, Debug)]
pub(super) struct UnexpectedQueue {
    list: Ends<BlockIndex>,
    /// What was before the last one that has been taken out.
    beside: Option<BlockIndex>,
    rise: LateRise<BlockIndex>,
    /// The youngest record that is in a chain, as are all that are older. A chain is a ring, whose last one the
    /// bucket names.
    indexed_to: Option<BlockIndex>,
    buckets: Box<[Option<BlockIndex>]>,
    hashes: KeyHash,
    /// Where the last search has found what is likely to be taken out next.
    found: Option<Found>,
    /// Indexes for wildcards, by kind; the first kind has none.
    wild: [Option<Wild>; KINDS],
    /// There is one of those.
    has_wild: bool,
    /// There is one of those, or a record has been in a chain.
    has_index: bool,
    /// Blocks of the reserve, the only ones that have a place in those.
    blocks: usize,
}

impl UnexpectedQueue {
    pub(super) fn new(blocks: usize) -> Option<UnexpectedQueue> {
        Some(UnexpectedQueue {
            list: Ends::default(),
            beside: None,
            rise: LateRise::NEW,
            indexed_to: None,
            buckets: boxed(None, buckets(blocks) as usize)?,
            hashes: KeyHash::new(0),
            found: None,
            wild: [const { None }; KINDS],
            has_wild: false,
            has_index: false,
            blocks,
        })
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.hashes = KeyHash::new(seed);
    }

    pub(super) fn first(&self) -> Option<BlockIndex> {
        self.list.head()
    }

    pub(super) fn next(region: &Region, at: BlockIndex) -> Option<BlockIndex> {
        Links::next(region, at)
    }

    /// Queues a record when there are `recorded` others.
    #[inline]
    pub(super) fn record(&mut self, region: &mut Region, at: BlockIndex, recorded: u32) {
        if recorded == 0 {
            self.rise = LateRise::NEW;
        }
        self.list.push(region, at);
    }

    #[inline]
    pub(super) fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        if self.has_index {
            self.leave(region, at);
        }
        self.beside = self.list.unlink(region, at);
        self.rise.leave(at, self.beside);
    }

    /// Takes a record out of all indexes.
    fn leave(&mut self, region: &mut Region, at: BlockIndex) {
        if region.word(at) != 0 {
            if self.indexed_to == Some(at) {
                (self.indexed_to, _) = region.neighbours(at);
            }
            self.unchain(region, at);
        }
        if self.has_wild {
            for wild in self.wild.iter_mut().flatten() {
                wild.leave(&self.hashes, region, at);
            }
        }
    }

    /// The first of the `recorded` records that `pattern` asks for, and how many were looked at.
    #[inline]
    pub(super) fn find(
        &mut self,
        region: &mut Region,
        pattern: &Pattern,
        recorded: u32,
    ) -> (Option<BlockIndex>, u32) {
        let head = self.list.head();
        if head.is_none_or(|head| region.matches(head, pattern)) {
            return (head, u32::from(head.is_some()));
        }
        if self.buckets.is_empty() {
            return self.walk(region, |at| region.matches(at, pattern));
        }
        match kind(pattern) {
            0 => self.find_exact(region, pattern, recorded > SHORT),
            kind => self.find_wild(region, pattern, kind),
        }
    }

    /// The first record of which `is` is true, and how many were looked at.
    pub(super) fn walk(
        &self,
        region: &Region,
        is: impl Fn(BlockIndex) -> bool,
    ) -> (Option<BlockIndex>, u32) {
        let mut hops = 0;
        let mut next = self.list.head();
        while let Some(at) = next {
            hops += 1;
            if is(at) {
                break;
            }
            next = Links::next(region, at);
        }
        (next, hops)
    }

    /// The first record that `pattern` asks for, which has no wildcard, behind the head of the list.
    fn find_exact(
        &mut self,
        region: &mut Region,
        pattern: &Pattern,
        is_long: bool,
    ) -> (Option<BlockIndex>, u32) {
        let mut hops = 1;
        if let Some(at) = self.find_beside(region, pattern, is_long, &mut hops) {
            return (Some(at), hops);
        }
        if self.indexed_to.is_some() {
            hops += 1;
            let bucket = bucket(self.hashes.of(pattern), self.buckets.len() as u32);
            self.found =
                self.find_in_chain(region, bucket, &mut hops, |at| region.matches(at, pattern));
            if let Some(found) = self.found {
                return (Some(found.at), hops);
            }
        }
        let first = after(region, &self.list, self.indexed_to);
        let mut next = first;
        for _ in 0..NEAR {
            let Some(at) = next else {
                return (None, hops);
            };
            hops += 1;
            if region.matches(at, pattern) {
                return (next, hops);
            }
            next = Links::next(region, at);
        }
        let (found, passed) = self.pass(region, first, pattern);
        (found, hops + passed)
    }

    /// The record before the last one that has been taken out, or else the youngest one, if that matches and no other
    /// one can.
    #[inline]
    fn find_beside(
        &mut self,
        region: &Region,
        pattern: &Pattern,
        is_long: bool,
        hops: &mut u32,
    ) -> Option<BlockIndex> {
        let list = &self.list;
        if !self.rise.holds(region, list, pattern_at, is_long, hops) {
            return None;
        }
        *hops += 1;
        let beside = self.beside.or(list.tail());
        beside.filter(|&at| region.matches(at, pattern))
    }

    /// Enters records from `first` on, the first [`NEAR`] of which do not match, into their chains, up to the first
    /// one that matches; that and how many more have been looked at.
    fn pass(
        &mut self,
        region: &mut Region,
        first: Option<BlockIndex>,
        pattern: &Pattern,
    ) -> (Option<BlockIndex>, u32) {
        self.has_index = true;
        let (mut next, mut passed) = (first, 0);
        while let Some(at) = next {
            if passed >= NEAR && region.matches(at, pattern) {
                break;
            }
            self.indexed_to = next;
            self.chain(region, at);
            passed += 1;
            next = Links::next(region, at);
        }
        (next, passed - passed.min(NEAR) + u32::from(next.is_some()))
    }

    fn find_wild(
        &mut self,
        region: &Region,
        pattern: &Pattern,
        kind: usize,
    ) -> (Option<BlockIndex>, u32) {
        if let Some(wild) = self.wild[kind].as_mut().filter(|_| !region.has_loans()) {
            return wild.find(&self.hashes, region, &self.list, pattern);
        }
        let (found, hops) = self.walk(region, |at| region.matches(at, pattern));
        if hops > WILD_ENTRIES && self.wild[kind].is_none() {
            // Without room for it, the next such search walks again.
            self.wild[kind] = Wild::new(kind, self.blocks);
            (self.has_wild, self.has_index) = (true, true);
        }
        (found, hops)
    }

    /// The first record in the bucket's chain of which `is` is true.
    fn find_in_chain(
        &self,
        region: &Region,
        bucket: usize,
        hops: &mut u32,
        is: impl Fn(BlockIndex) -> bool,
    ) -> Option<Found> {
        let last = self.buckets[bucket]?;
        let mut before = last;
        loop {
            *hops += 1;
            let at = in_chain_after(region, before);
            if is(at) {
                return Some(Found { at, before, bucket });
            }
            if at == last {
                return None;
            }
            before = at;
        }
    }

    /// Appends a record to the chain of its envelope's bucket.
    fn chain(&mut self, region: &mut Region, at: BlockIndex) {
        let hash = self.hashes.of(&region.envelope(at).pattern());
        let bucket = &mut self.buckets[bucket(hash, self.buckets.len() as u32)];
        let first = match *bucket {
            None => at,
            Some(last) => {
                let first = in_chain_after(region, last);
                region.set_word(last, BlockIndex::to_word(Some(at)));
                first
            }
        };
        region.set_word(at, BlockIndex::to_word(Some(first)));
        *bucket = Some(at);
    }

    /// Takes a record out of its chain.
    fn unchain(&mut self, region: &mut Region, at: BlockIndex) {
        let found = self.found.take().filter(|found| found.at == at);
        let found = found.or_else(|| {
            let hash = self.hashes.of(&region.envelope(at).pattern());
            let bucket = bucket(hash, self.buckets.len() as u32);
            self.find_in_chain(region, bucket, &mut 0, |other| other == at)
        });
        let Some(Found { before, bucket, .. }) = found else {
            unreachable!("a record with a place in a chain is in the chain of its bucket")
        };
        if before == at {
            self.buckets[bucket] = None;
        } else {
            let after = region.word(at);
            region.set_word(before, after);
            if self.buckets[bucket] == Some(at) {
                self.buckets[bucket] = Some(before);
            }
        }
        region.set_word(at, 0);
    }
}

/// The record that comes after the one at `at`, or the first one.
#[inline]
pub(super) fn after(
    region: &Region,
    list: &Ends<BlockIndex>,
    at: Option<BlockIndex>,
) -> Option<BlockIndex> {
    match at {
        Some(at) => Links::next(region, at),
        None => list.head(),
    }
}

fn pattern_at(region: &Region, at: BlockIndex) -> Pattern {
    region.envelope(at).pattern()
}

/// What comes after a record in its chain, which is a ring.
#[inline]
fn in_chain_after(region: &Region, at: BlockIndex) -> BlockIndex {
    BlockIndex::from_word(region.word(at)).expect("a ring")
}
