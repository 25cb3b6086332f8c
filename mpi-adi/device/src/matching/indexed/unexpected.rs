//! Unexpected message queue: all records in one list, in the order of arrival. The oldest of many are also in a hash
//! index for all kinds of patterns (`deep`). Others that an exact search has passed are also in the chain of their
//! envelope's bucket.
//!
//! A bucket stores which of eight classes of envelopes its chain has contained since it was empty. A search that finds
//! nothing, for example for a rejected or future message, therefore rarely checks a record.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use super::deep::DeepIndex;
use super::limits::{FAR, MOVED_RECORDS, NEAR_RECORDS, SHORT, WILD_ENTRIES, WILD_MOVES};
use super::sorted_run::LateRun;
use super::table::{Bucket, after, bucket, buckets};
use crate::envelope::MatchPattern;
use crate::ids::BlockIndex;
use crate::list::{LinkStorage, ListEnds};
use crate::memory::region::Region;
use crate::request::{KeyHash, kind};
use crate::try_box::try_boxed_slice;

/// Maximum count of chain searches that would not have matched at the head or next to the last match. After that,
/// searches skip both, until a chain search returns one of them.
const MISSES: u8 = 4;
/// Records per bucket above which the oldest move to their index.
const CROWDED: u32 = 4;
/// Records that move to the index of the oldest per arrival. More than one, to include records for which no block was
/// free before.
const CAUGHT_UP: u32 = 2;

/// A record found in a chain.
#[derive(Clone, Copy, Debug)]
struct FoundRecord {
    at: BlockIndex,
    before: BlockIndex,
    bucket: usize,
}

/// Unexpected message queue.
#[derive(Clone, Debug)]
pub(super) struct UnexpectedQueue {
    list: ListEnds<BlockIndex>,
    /// The record before the last removed one.
    beside: Option<BlockIndex>,
    rise: LateRun<BlockIndex>,
    /// Hash index of the oldest records, for all kinds of patterns.
    deep: DeepIndex,
    /// The youngest chained record. All older records that are not in [that index](Self::deep) are chained, too. A
    /// chain is a ring; the bucket contains its last record.
    indexed_to: Option<BlockIndex>,
    buckets: Box<[Bucket]>,
    hashes: KeyHash,
    /// Chain searches that would have matched neither at the head nor next to the last match, up to [`MISSES`].
    misses: u8,
    /// Result of the last search, likely to be removed next.
    found: Option<FoundRecord>,
    /// Maximum records outside the index of the oldest, while the memory has a free block for another one in it.
    far: u32,
    /// Set once a record has been chained or in the index of the oldest.
    has_index: bool,
}

impl UnexpectedQueue {
    pub(super) fn new(blocks: usize) -> Option<UnexpectedQueue> {
        let buckets = try_boxed_slice(Bucket::EMPTY, buckets(blocks) as usize)?;
        Some(UnexpectedQueue {
            list: ListEnds::default(),
            beside: None,
            rise: LateRun::NEW,
            deep: DeepIndex::new(blocks)?,
            indexed_to: None,
            far: FAR.min((CROWDED * buckets.len() as u32).max(WILD_ENTRIES)),
            buckets,
            hashes: KeyHash::new(0),
            misses: 0,
            found: None,
            has_index: false,
        })
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.hashes = KeyHash::new(seed);
    }

    pub(super) fn first(&self) -> Option<BlockIndex> {
        self.list.head()
    }

    pub(super) fn next(region: &Region, at: BlockIndex) -> Option<BlockIndex> {
        LinkStorage::next(region, at)
    }

    /// Checks whether heap memory is in use for loans.
    #[cfg(test)]
    pub(super) fn has_grown(&self) -> bool {
        self.deep.has_grown()
    }

    /// Enqueues a record behind `recorded` others.
    #[inline]
    pub(super) fn record(&mut self, region: &mut Region, at: BlockIndex, recorded: u32) {
        if recorded == 0 {
            self.rise = LateRun::NEW;
        }
        self.list.push(region, at);
        if recorded - self.deep.len() >= self.far {
            self.index_oldest(region, CAUGHT_UP);
        }
    }

    /// Moves up to `count` records to the index of the oldest, while blocks are free.
    #[inline(never)]
    fn index_oldest(&mut self, region: &mut Region, count: u32) {
        for _ in 0..count {
            let Some(at) = after(region, &self.list, self.deep.to()) else {
                return;
            };
            if !self.deep.has_space(region) {
                return;
            }
            self.rise.check_passed(region, self.deep.to(), at, pattern_at);
            if region.word(at) != 0 {
                self.unchain(region, at);
                self.indexed_to = self.indexed_to.filter(|&to| to != at);
            }
            self.deep.insert(&self.hashes, region, at);
            self.has_index = true;
        }
    }

    #[inline]
    pub(super) fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        if self.has_index {
            self.remove_record(region, at);
        }
        self.beside = self.list.unlink(region, at);
        self.rise.note_removal(at, self.beside);
    }

    /// Removes a record from its index.
    fn remove_record(&mut self, region: &mut Region, at: BlockIndex) {
        let word = region.word(at);
        if word != 0 {
            if Region::is_extended(word) {
                return self.deep.remove(&self.hashes, region, at);
            }
            if self.indexed_to == Some(at) {
                let (before, _) = region.neighbours(at);
                self.indexed_to = before.filter(|_| before != self.deep.to());
            }
            self.unchain(region, at);
        }
    }

    /// Returns the first of the `recorded` records that matches `pattern`, and the hops.
    #[inline]
    pub(super) fn find(
        &mut self,
        region: &mut Region,
        pattern: &MatchPattern,
        recorded: u32,
    ) -> (Option<BlockIndex>, u32) {
        if self.list.is_empty() && !self.has_index {
            (None, 0)
        } else {
            self.find_recorded(region, pattern, recorded)
        }
    }

    /// Implements [`UnexpectedQueue::find`].
    // Outlined from the common case of a receive that is posted: an empty queue that has had no index.
    #[inline(never)]
    fn find_recorded(
        &mut self,
        region: &mut Region,
        pattern: &MatchPattern,
        recorded: u32,
    ) -> (Option<BlockIndex>, u32) {
        let Some(head) = self.list.head() else {
            self.deep.trim(region);
            return (None, 0);
        };
        if self.misses == MISSES && self.indexed_to.is_some() && kind(pattern) == 0 {
            return self.find_in_index(region, pattern, 0);
        }
        if region.matches(head, pattern) {
            return (Some(head), 1);
        }
        if self.buckets.is_empty() && self.deep.len() == 0 {
            return self.walk(region, |at| region.matches(at, pattern));
        }
        match kind(pattern) {
            0 => self.find_exact(region, pattern, recorded > SHORT),
            _ => self.find_wild(region, pattern),
        }
    }

    /// Returns the first record that satisfies `is`, and the hops.
    pub(super) fn walk(&self, region: &Region, is: impl Fn(BlockIndex) -> bool) -> (Option<BlockIndex>, u32) {
        let mut hops = 0;
        let mut next = self.list.head();
        while let Some(at) = next {
            hops += 1;
            if is(at) {
                break;
            }
            next = LinkStorage::next(region, at);
        }
        (next, hops)
    }

    /// Returns the first record after the head that matches `pattern`, which has no wildcard, and the hops.
    fn find_exact(&mut self, region: &mut Region, pattern: &MatchPattern, is_long: bool) -> (Option<BlockIndex>, u32) {
        let mut hops = 1;
        if let Some(at) = self.find_next_to_last(region, pattern, is_long, &mut hops) {
            return (Some(at), hops);
        }
        self.find_in_index(region, pattern, hops)
    }

    /// Searches the chains and the records after them, as in [`UnexpectedQueue::find_exact`]. `hops` is the count so
    /// far.
    fn find_in_index(
        &mut self,
        region: &mut Region,
        pattern: &MatchPattern,
        mut hops: u32,
    ) -> (Option<BlockIndex>, u32) {
        let hash = self.hashes.hash_pattern(pattern);
        if let Some(at) = self.deep.find(region, pattern, 0, hash, &mut hops) {
            return (Some(at), hops);
        }
        if self.indexed_to.is_some() {
            self.misses = (self.misses + 1).min(MISSES);
            let bucket = bucket(hash, self.buckets.len() as u32);
            self.found = self.buckets[bucket]
                .block_of(hash)
                .and_then(|last| find_in_chain(region, bucket, last, &mut hops, |at| region.matches(at, pattern)));
            if let Some(FoundRecord { at, .. }) = self.found {
                if Some(at) == self.list.head() || Some(at) == self.beside.or(self.list.tail()) {
                    self.misses = 0;
                }
                return (Some(at), hops);
            }
        }
        let first = after(region, &self.list, self.indexed_to.or(self.deep.to()));
        let mut next = first;
        // After repeated unsuccessful searches, the chains should answer the next one.
        let is_vain = self.misses == MISSES && self.indexed_to.is_some();
        let near = if is_vain { 1 } else { NEAR_RECORDS };
        for _ in 0..near {
            let Some(at) = next else {
                return (None, hops);
            };
            hops += 1;
            let (is_found, behind) = region.check_match(at, pattern);
            if is_found {
                return (next, hops);
            }
            next = behind;
        }
        let (found, passed) = self.pass(region, first, pattern, near);
        (found, hops + passed)
    }

    /// Returns the record before the last removed one, or else the youngest one, if it matches and no other can.
    #[inline]
    fn find_next_to_last(
        &mut self,
        region: &Region,
        pattern: &MatchPattern,
        is_long: bool,
        hops: &mut u32,
    ) -> Option<BlockIndex> {
        let list = &self.list;
        if !self.rise.is_sorted(region, list, pattern_at, is_long, hops) {
            return None;
        }
        *hops += 1;
        let beside = self.beside.or(list.tail());
        beside.filter(|&at| region.matches(at, pattern))
    }

    /// Returns the first match from `first` on, and the further hops. The first `near` records do not match. Chains up
    /// to [`MOVED_RECORDS`] leading records that do not match.
    fn pass(
        &mut self,
        region: &mut Region,
        first: Option<BlockIndex>,
        pattern: &MatchPattern,
        near: u32,
    ) -> (Option<BlockIndex>, u32) {
        let moves = if self.buckets.is_empty() { 0 } else { MOVED_RECORDS };
        self.has_index |= moves > 0;
        let (mut next, mut passed) = (first, 0);
        while let Some(at) = next.filter(|_| passed < moves) {
            if passed >= near && region.matches(at, pattern) {
                break;
            }
            self.indexed_to = next;
            self.chain(region, at);
            passed += 1;
            next = LinkStorage::next(region, at);
        }
        let mut rest = next;
        while let Some(at) = next {
            let (is_found, behind) = region.check_match(at, pattern);
            if is_found {
                break;
            }
            passed += 1;
            next = behind;
        }
        // Chains the same number again, if that includes all passed records.
        if passed > moves && passed <= 2 * moves {
            while let Some(at) = rest.filter(|_| rest != next) {
                self.indexed_to = rest;
                self.chain(region, at);
                rest = LinkStorage::next(region, at);
            }
        }
        (next, passed - passed.min(near) + u32::from(next.is_some()))
    }

    /// Returns the first record after the head that matches a pattern with a wildcard, and the hops.
    fn find_wild(&mut self, region: &mut Region, pattern: &MatchPattern) -> (Option<BlockIndex>, u32) {
        let mut hops = 1;
        let hash = self.hashes.hash_pattern(pattern);
        let kind = kind(pattern);
        if let Some(at) = self.deep.find(region, pattern, kind, hash, &mut hops) {
            return (Some(at), hops);
        }
        let mut next = match self.deep.to() {
            // The head has been checked.
            None => after(region, &self.list, self.list.head()),
            to => after(region, &self.list, to),
        };
        let mut walked = 0;
        while let Some(at) = next {
            walked += 1;
            let (is_found, behind) = region.check_match(at, pattern);
            if is_found {
                break;
            }
            next = behind;
        }
        // Once an index exists, few records should be traversed repeatedly.
        let far = match self.deep.len() {
            0 => WILD_ENTRIES,
            _ => NEAR_RECORDS,
        };
        if walked >= far && region.has_spare() && self.deep.allocate_buckets() {
            self.index_oldest(region, WILD_MOVES.min(walked - 1));
        }
        (next, hops + walked)
    }

    /// Appends a record to the chain of its envelope's bucket.
    fn chain(&mut self, region: &mut Region, at: BlockIndex) {
        let hash = self.hashes.hash_pattern(&region.envelope(at).pattern());
        let bucket = bucket(hash, self.buckets.len() as u32);
        let bucket = &mut self.buckets[bucket];
        let first = match bucket.block() {
            None => at,
            Some(last) => {
                let first = in_chain_after(region, last);
                region.set_word(last, BlockIndex::to_word(Some(at)));
                first
            }
        };
        region.set_word(at, BlockIndex::to_word(Some(first)));
        bucket.add(at, hash);
    }

    /// Removes a record from its chain.
    fn unchain(&mut self, region: &mut Region, at: BlockIndex) {
        let found = self.found.take().filter(|found| found.at == at);
        let found = found.or_else(|| {
            let hash = self.hashes.hash_pattern(&region.envelope(at).pattern());
            let bucket = bucket(hash, self.buckets.len() as u32);
            let last = self.buckets[bucket].block()?;
            find_in_chain(region, bucket, last, &mut 0, |other| other == at)
        });
        let Some(FoundRecord { before, bucket, .. }) = found else {
            unreachable!("a record with a place in a chain is in the chain of its bucket")
        };
        if before == at {
            self.buckets[bucket] = Bucket::EMPTY;
        } else {
            let after = region.word(at);
            region.set_word(before, after);
            if self.buckets[bucket].block() == Some(at) {
                self.buckets[bucket].set(before);
            }
        }
        region.set_word(at, 0);
    }
}

fn pattern_at(region: &Region, at: BlockIndex) -> MatchPattern {
    region.envelope(at).pattern()
}

/// Returns the first record that satisfies `is` in the bucket's chain, which ends with `last`.
fn find_in_chain(
    region: &Region,
    bucket: usize,
    last: BlockIndex,
    hops: &mut u32,
    is: impl Fn(BlockIndex) -> bool,
) -> Option<FoundRecord> {
    let mut before = last;
    loop {
        *hops += 1;
        let at = in_chain_after(region, before);
        if is(at) {
            return Some(FoundRecord { at, before, bucket });
        }
        if at == last {
            return None;
        }
        before = at;
    }
}

/// Returns the successor of a record in its chain, which is a ring.
#[inline]
fn in_chain_after(region: &Region, at: BlockIndex) -> BlockIndex {
    BlockIndex::from_word(region.word(at)).expect("a ring")
}
