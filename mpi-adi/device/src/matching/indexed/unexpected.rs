//! Unexpected messages: all in one list, in the order of arrival; the oldest of many also in an index for patterns of all
//! kinds (`deep`); of the others, those that an exact search has passed also in the chain of their envelope's bucket.
//!
//! A bucket says which of eight classes of envelopes its chain has had since it was empty, so that a search which
//! finds nothing, as for a message that is still to come or was refused, seldom looks at a record at all.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use super::deep::Deep;
use super::limits::{FAR, MOVED_RECORDS, NEAR_RECORDS, SHORT, WILD_ENTRIES, WILD_MOVES};
use super::rise::LateRise;
use super::table::{Bucket, after, bucket, buckets};
use crate::boxed::boxed;
use crate::envelope::Pattern;
use crate::list::{Ends, Links};
use crate::memory::region::Region;
use crate::names::BlockIndex;
use crate::request::{KeyHash, kind};

/// Searches through the chains, without a look at the head or beside the last match that would have found the same, after
/// which both are passed over, until a chain has one of them again.
const MISSES: u8 = 4;
/// Records for each bucket, above which the oldest are moved to their index.
const CROWDED: u32 = 4;
/// Records that are moved to the index of the oldest when one more comes: more than one, for what found no room there before.
const CAUGHT_UP: u32 = 2;

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
    /// The oldest records, in an index for patterns of all kinds.
    deep: Deep,
    /// The youngest record that is in a chain, as are all that are older and not in [that index](Self::deep). A chain is a
    /// ring, whose last one the bucket names.
    indexed_to: Option<BlockIndex>,
    buckets: Box<[Bucket]>,
    hashes: KeyHash,
    /// Searches through the chains that found nothing at the head or beside the last match, up to [`MISSES`].
    misses: u8,
    /// Where the last search has found what is likely to be taken out next.
    found: Option<Found>,
    /// Records that are not in the index of the oldest, at most, as long as the memory has a block for another one there.
    far: u32,
    /// A record has been in a chain, or in the index of the oldest.
    has_index: bool,
}

impl UnexpectedQueue {
    pub(super) fn new(blocks: usize) -> Option<UnexpectedQueue> {
        let buckets = boxed(Bucket::EMPTY, buckets(blocks) as usize)?;
        Some(UnexpectedQueue {
            list: Ends::default(),
            beside: None,
            rise: LateRise::NEW,
            deep: Deep::new(blocks)?,
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
        Links::next(region, at)
    }

    /// Some of the heap is in use for loans.
    #[cfg(test)]
    pub(super) fn has_grown(&self) -> bool {
        self.deep.has_grown()
    }

    /// Queues a record when there are `recorded` others.
    #[inline]
    pub(super) fn record(&mut self, region: &mut Region, at: BlockIndex, recorded: u32) {
        if recorded == 0 {
            self.rise = LateRise::NEW;
        }
        self.list.push(region, at);
        if recorded - self.deep.len() >= self.far {
            self.index_oldest(region, CAUGHT_UP);
        }
    }

    /// Moves so many records to the index of the oldest, if the memory has room.
    #[inline(never)]
    fn index_oldest(&mut self, region: &mut Region, count: u32) {
        for _ in 0..count {
            let Some(at) = after(region, &self.list, self.deep.to()) else {
                return;
            };
            if !self.deep.has_room(region) {
                return;
            }
            self.rise.pass(region, self.deep.to(), at, pattern_at);
            if region.word(at) != 0 {
                self.unchain(region, at);
                self.indexed_to = self.indexed_to.filter(|&to| to != at);
            }
            self.deep.enter(&self.hashes, region, at);
            self.has_index = true;
        }
    }

    #[inline]
    pub(super) fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        if self.has_index {
            self.leave(region, at);
        }
        self.beside = self.list.unlink(region, at);
        self.rise.leave(at, self.beside);
    }

    /// Takes a record out of the index that it is in.
    fn leave(&mut self, region: &mut Region, at: BlockIndex) {
        let word = region.word(at);
        if word != 0 {
            if Region::is_extended(word) {
                return self.deep.leave(&self.hashes, region, at);
            }
            if self.indexed_to == Some(at) {
                let (before, _) = region.neighbours(at);
                self.indexed_to = before.filter(|_| before != self.deep.to());
            }
            self.unchain(region, at);
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
        let hash = self.hashes.of(pattern);
        if let Some(at) = self.deep.find(region, pattern, 0, hash, &mut hops) {
            return (Some(at), hops);
        }
        if self.indexed_to.is_some() {
            self.misses = (self.misses + 1).min(MISSES);
            let bucket = bucket(hash, self.buckets.len() as u32);
            self.found = self.buckets[bucket].block_of(hash).and_then(|last| {
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
        let first = after(region, &self.list, self.indexed_to.or(self.deep.to()));
        let mut next = first;
        // What is looked for in vain again and again is to be told by the chains.
        let is_vain = self.misses == MISSES && self.indexed_to.is_some();
        let near = if is_vain { 1 } else { NEAR_RECORDS };
        for _ in 0..near {
            let Some(at) = next else {
                return (None, hops);
            };
            hops += 1;
            let (is_found, behind) = region.look(at, pattern);
            if is_found {
                return (next, hops);
            }
            next = behind;
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

    /// The first record from `first` on that matches, the first `near` of which do not, and how many more have been looked
    /// at. Enters the first [`MOVED_RECORDS`] into their chains, as far as they do not match.
    fn pass(
        &mut self,
        region: &mut Region,
        first: Option<BlockIndex>,
        pattern: &Pattern,
        near: u32,
    ) -> (Option<BlockIndex>, u32) {
        let moves = match self.buckets.is_empty() {
            true => 0,
            false => MOVED_RECORDS,
        };
        self.has_index |= moves > 0;
        let (mut next, mut passed) = (first, 0);
        while let Some(at) = next.filter(|_| passed < moves) {
            if passed >= near && region.matches(at, pattern) {
                break;
            }
            self.indexed_to = next;
            self.chain(region, at);
            passed += 1;
            next = Links::next(region, at);
        }
        let mut rest = next;
        while let Some(at) = next {
            let (is_found, behind) = region.look(at, pattern);
            if is_found {
                break;
            }
            passed += 1;
            next = behind;
        }
        // As many again, if that leaves none behind.
        if passed > moves && passed <= 2 * moves {
            while let Some(at) = rest.filter(|_| rest != next) {
                self.indexed_to = rest;
                self.chain(region, at);
                rest = Links::next(region, at);
            }
        }
        (next, passed - passed.min(near) + u32::from(next.is_some()))
    }

    /// As [`UnexpectedQueue::find_exact`], of a pattern with a wildcard.
    fn find_wild(&mut self, region: &mut Region, pattern: &Pattern) -> (Option<BlockIndex>, u32) {
        let mut hops = 1;
        let hash = self.hashes.of(pattern);
        let kind = kind(pattern);
        if let Some(at) = self.deep.find(region, pattern, kind, hash, &mut hops) {
            return (Some(at), hops);
        }
        let mut next = match self.deep.to() {
            // The head has been looked at.
            None => after(region, &self.list, self.list.head()),
            to => after(region, &self.list, to),
        };
        let mut walked = 0;
        while let Some(at) = next {
            walked += 1;
            let (is_found, behind) = region.look(at, pattern);
            if is_found {
                break;
            }
            next = behind;
        }
        // Once there is an index, little is left to be walked again and again.
        let far = match self.deep.len() {
            0 => WILD_ENTRIES,
            _ => NEAR_RECORDS,
        };
        if walked >= far && region.has_spare() && self.deep.make_room() {
            self.index_oldest(region, WILD_MOVES.min(walked - 1));
        }
        (next, hops + walked)
    }

    /// Appends a record to the chain of its envelope's bucket.
    fn chain(&mut self, region: &mut Region, at: BlockIndex) {
        let hash = self.hashes.of(&region.envelope(at).pattern());
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

    /// Takes a record out of its chain.
    fn unchain(&mut self, region: &mut Region, at: BlockIndex) {
        let found = self.found.take().filter(|found| found.at == at);
        let found = found.or_else(|| {
            let hash = self.hashes.of(&region.envelope(at).pattern());
            let bucket = bucket(hash, self.buckets.len() as u32);
            let last = self.buckets[bucket].block()?;
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
            if self.buckets[bucket].block() == Some(at) {
                self.buckets[bucket].set(before);
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
