//! Unexpected messages: all in one list, in the order of arrival; those that an exact search has passed also in the
//! chain of their envelope's bucket.
//!
//! A bucket says which of eight classes of envelopes its chain has had since it was empty, so that a search which
//! finds nothing, as for a message that is still to come or was refused, seldom looks at a record at all.
#![forbid(unsafe_code)]

use super::rise::LateRise;
use super::table::{Table, after, bucket, buckets, grown_buckets};
use super::wild::{WILD_ENTRIES, Wild};
use super::{NEAR_RECORDS, SHORT};
use crate::device::envelope::Pattern;
use crate::device::list::{Ends, Links};
use crate::device::memory::region::{MAX_BLOCKS, MAX_LOAN_BLOCKS, MAX_LOANS, Region};
use crate::device::names::BlockIndex;
use crate::device::request::{KINDS, KeyHash, NEIGHBOURS, kind};

/// Bytes of a bucket.
pub const BUCKET_BYTES: usize = size_of::<Bucket>();
/// Searches through the chains, without a look at the head or beside the last match that would have found the same, after
/// which both are passed over, until a chain has one of them again.
const MISSES: u8 = 4;

/// A chain's last record, and the classes of hashes that it has had since it was empty.
///
/// ```text
///   bit  31 .. 24    23 .. 0
///        classes     number of the last record's block; means nothing when there are no classes
/// ```
#[derive(Clone, Copy, Debug)]
struct Bucket(u32);

impl Bucket {
    const EMPTY: Bucket = Bucket(0);
    const BLOCK_BITS: u32 = 24;
    const CLASSES: u32 = u32::BITS - Self::BLOCK_BITS;

    /// The class of a hash, which the bucket that it falls into says nothing about.
    #[inline]
    fn class(hash: u32) -> u32 {
        1 << (Self::BLOCK_BITS + hash / NEIGHBOURS % Self::CLASSES)
    }

    /// The last one of the chain.
    #[inline]
    fn last(self) -> Option<BlockIndex> {
        let block = self.0 & ((1 << Self::BLOCK_BITS) - 1);
        (self.0 >> Self::BLOCK_BITS != 0).then(|| BlockIndex::new(block))
    }

    /// The last one of the chain, if that may have a record with this hash.
    #[inline]
    fn last_of(self, hash: u32) -> Option<BlockIndex> {
        self.last().filter(|_| self.0 & Self::class(hash) != 0)
    }

    /// The chain ends with `last`, which has this hash.
    #[inline]
    fn append(&mut self, last: BlockIndex, hash: u32) {
        self.0 |= Self::class(hash);
        self.end_with(last);
    }

    /// The chain ends with `last`, one of its records.
    #[inline]
    fn end_with(&mut self, last: BlockIndex) {
        self.0 = self.0 >> Self::BLOCK_BITS << Self::BLOCK_BITS | last.index();
    }
}

// A block has a number of so many bits.
const _: () = assert!(MAX_BLOCKS + MAX_LOANS * MAX_LOAN_BLOCKS as usize == 1 << Bucket::BLOCK_BITS);

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
    buckets: Table<Bucket>,
    hashes: KeyHash,
    /// Searches through the chains that found nothing at the head or beside the last match, up to [`MISSES`].
    misses: u8,
    /// Where the last search has found what is likely to be taken out next.
    found: Option<Found>,
    /// Indexes for wildcards, by kind; the first kind has none.
    wild: [Option<Wild>; KINDS],
    /// There is one of those.
    has_wild: bool,
    /// There is one of those, or a record has been in a chain.
    has_index: bool,
    /// Blocks of the reserve.
    blocks: usize,
}

impl UnexpectedQueue {
    pub(super) fn new(blocks: usize) -> Option<UnexpectedQueue> {
        Some(UnexpectedQueue {
            list: Ends::default(),
            beside: None,
            rise: LateRise::NEW,
            indexed_to: None,
            buckets: Table::new(Bucket::EMPTY, buckets(blocks) as usize)?,
            hashes: KeyHash::new(0),
            misses: 0,
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

    /// Some of the heap is in use for loans.
    #[cfg(test)]
    pub(super) fn has_grown(&self) -> bool {
        let mut wild = self.wild.iter().flatten();
        self.buckets.is_grown() || wild.any(Wild::has_grown)
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
        match self.list.is_empty() && !self.has_index {
            true => (None, 0),
            false => self.find_recorded(region, pattern, recorded),
        }
    }

    /// As [`UnexpectedQueue::find`].
    // Apart from what most receives that are posted find: nothing, in a queue that has had no index.
    #[inline(never)]
    fn find_recorded(
        &mut self,
        region: &mut Region,
        pattern: &Pattern,
        recorded: u32,
    ) -> (Option<BlockIndex>, u32) {
        let Some(head) = self.list.head() else {
            self.fit_all(region);
            return (None, 0);
        };
        if self.misses == MISSES && self.indexed_to.is_some() && kind(pattern) == 0 {
            return self.find_in_index(region, pattern, 0);
        }
        if region.matches(head, pattern) {
            return (Some(head), 1);
        }
        if self.buckets.is_empty() {
            self.fit(region);
            if self.buckets.is_empty() {
                return self.walk(region, |at| region.matches(at, pattern));
            }
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
        self.find_in_index(region, pattern, hops)
    }

    /// As [`UnexpectedQueue::find_exact`], in the chains and behind what is in them; `hops` have been looked at.
    fn find_in_index(
        &mut self,
        region: &mut Region,
        pattern: &Pattern,
        mut hops: u32,
    ) -> (Option<BlockIndex>, u32) {
        if self.indexed_to.is_some() {
            self.misses = (self.misses + 1).min(MISSES);
            let hash = self.hashes.of(pattern);
            let bucket = bucket(hash, self.buckets.len() as u32);
            self.found = self.buckets[bucket].last_of(hash).and_then(|last| {
                find_in_chain(region, bucket, last, &mut hops, |at| {
                    region.matches(at, pattern)
                })
            });
            if let Some(Found { at, .. }) = self.found {
                if Some(at) == self.list.head() || Some(at) == self.beside.or(self.list.tail()) {
                    self.misses = 0;
                }
                return (Some(at), hops);
            }
        }
        let first = after(region, &self.list, self.indexed_to);
        let mut next = first;
        // What is looked for in vain again and again is to be told by the chains.
        let is_vain = self.misses == MISSES && self.indexed_to.is_some();
        let near = if is_vain { 0 } else { NEAR_RECORDS };
        for _ in 0..near {
            let Some(at) = next else {
                return (None, hops);
            };
            hops += 1;
            if region.matches(at, pattern) {
                return (next, hops);
            }
            next = Links::next(region, at);
        }
        let (found, passed) = self.pass(region, first, pattern, near);
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

    /// Enters records from `first` on, the first `near` of which do not match, into their chains, up to the first
    /// one that matches; that and how many more have been looked at.
    fn pass(
        &mut self,
        region: &mut Region,
        first: Option<BlockIndex>,
        pattern: &Pattern,
        near: u32,
    ) -> (Option<BlockIndex>, u32) {
        self.has_index = true;
        self.fit(region);
        let (mut next, mut passed) = (first, 0);
        while let Some(at) = next {
            if passed >= near && region.matches(at, pattern) {
                break;
            }
            // None are left where the last loan has gone, and the MPI memory is too small to have any.
            if !self.buckets.is_empty() {
                self.indexed_to = next;
                self.chain(region, at);
            }
            passed += 1;
            next = Links::next(region, at);
        }
        (next, passed - passed.min(near) + u32::from(next.is_some()))
    }

    fn find_wild(
        &mut self,
        region: &Region,
        pattern: &Pattern,
        kind: usize,
    ) -> (Option<BlockIndex>, u32) {
        if let Some(wild) = self.wild[kind].as_mut() {
            return wild.find(&self.hashes, region, &self.list, pattern);
        }
        let (found, hops) = self.walk(region, |at| region.matches(at, pattern));
        if hops > WILD_ENTRIES {
            // Without room for it, the next such search walks again.
            self.wild[kind] = Wild::new(kind, self.blocks);
            (self.has_wild, self.has_index) = (true, true);
        }
        (found, hops)
    }

    /// Makes the table as large as the records want it, if loans have come or gone and the heap has room.
    #[inline]
    fn fit(&mut self, region: &mut Region) {
        let has_too_few = self.buckets.is_crowded(region);
        if has_too_few || self.buckets.is_grown() {
            self.change_buckets(region, has_too_few);
        }
    }

    /// The same for all indexes.
    fn fit_all(&mut self, region: &mut Region) {
        self.fit(region);
        for wild in self.wild.iter_mut().flatten() {
            wild.fit(&self.hashes, region, &self.list);
        }
    }

    #[cold]
    fn change_buckets(&mut self, region: &mut Region, has_too_few: bool) {
        let is_over = self.list.head().is_none() || !region.has_loans();
        let has_changed = match has_too_few {
            true => self
                .buckets
                .grow(Bucket::EMPTY, grown_buckets(region.records())),
            false => is_over && self.buckets.shrink(Bucket::EMPTY),
        };
        if !has_changed {
            return;
        }
        self.found = None;
        let chained = self.indexed_to.and(self.list.head());
        let last = self.indexed_to;
        if self.buckets.is_empty() {
            self.indexed_to = None;
        }
        let mut next = chained;
        while let Some(at) = next {
            region.set_word(at, 0);
            if !self.buckets.is_empty() {
                self.chain(region, at);
            }
            next = match next == last {
                true => None,
                false => Links::next(region, at),
            };
        }
    }

    /// Appends a record to the chain of its envelope's bucket.
    fn chain(&mut self, region: &mut Region, at: BlockIndex) {
        let hash = self.hashes.of(&region.envelope(at).pattern());
        let bucket = bucket(hash, self.buckets.len() as u32);
        let bucket = &mut self.buckets[bucket];
        let first = match bucket.last() {
            None => at,
            Some(last) => {
                let first = in_chain_after(region, last);
                region.set_word(last, BlockIndex::to_word(Some(at)));
                first
            }
        };
        region.set_word(at, BlockIndex::to_word(Some(first)));
        bucket.append(at, hash);
    }

    /// Takes a record out of its chain.
    fn unchain(&mut self, region: &mut Region, at: BlockIndex) {
        let found = self.found.take().filter(|found| found.at == at);
        let found = found.or_else(|| {
            let hash = self.hashes.of(&region.envelope(at).pattern());
            let bucket = bucket(hash, self.buckets.len() as u32);
            let last = self.buckets[bucket].last()?;
            find_in_chain(region, bucket, last, &mut 0, |other| other == at)
        });
        let Some(Found { before, bucket, .. }) = found else {
            unreachable!("a record with a place in a chain is in the chain of its bucket")
        };
        if before == at {
            self.buckets[bucket] = Bucket::EMPTY;
        } else {
            let after = region.word(at);
            region.set_word(before, after);
            if self.buckets[bucket].last() == Some(at) {
                self.buckets[bucket].end_with(before);
            }
        }
        region.set_word(at, 0);
    }
}

fn pattern_at(region: &Region, at: BlockIndex) -> Pattern {
    region.envelope(at).pattern()
}

/// The first record of which `is` is true in the bucket's chain, which ends with `last`.
fn find_in_chain(
    region: &Region,
    bucket: usize,
    last: BlockIndex,
    hops: &mut u32,
    is: impl Fn(BlockIndex) -> bool,
) -> Option<Found> {
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

/// What comes after a record in its chain, which is a ring.
#[inline]
fn in_chain_after(region: &Region, at: BlockIndex) -> BlockIndex {
    BlockIndex::from_word(region.word(at)).expect("a ring")
}
