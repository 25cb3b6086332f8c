//! An index of unexpected messages for one kind of wildcard: by tag (any source), by source (any tag), or by context.
//!
//! It is made when a program first searches far for such a pattern, and then kept. As in the queue, a record is
//! entered when a search passes it. Unlike in the exact index, a record is most often taken out from the middle
//! of its chain, by a receive of another kind; so chains are linked both ways, and the links do not fit into records.
//!
//! Blocks of a loan get places when a search first enters one of them; without room on the heap, the records from there
//! on are walked. What was made for loans is given back by the first search without any.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::table::{Table, after, bucket, grown_buckets};
use crate::device::boxed::boxed;
use crate::device::envelope::{Envelope, Pattern};
use crate::device::list::{Ends, Links};
use crate::device::memory::region::{MAX_LOANS, Region};
use crate::device::names::BlockIndex;
use crate::device::request::{KeyHash, pattern_of};

/// Entries that a search for a wildcard walks over before there is an index for such patterns.
pub const WILD_ENTRIES: u32 = 32;
/// A record's place in a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainLinks {
    /// `None` at the end.
    next: Option<BlockIndex>,
    /// The last one, at the beginning.
    prev: BlockIndex,
}

/// The index.
#[derive(Clone, Debug)]
pub(super) struct Wild {
    /// By block of the reserve; `None` for what is not entered.
    places: Box<[Option<ChainLinks>]>,
    /// The same for loans, as far as a search has entered records in them.
    lent: Vec<Box<[Option<ChainLinks>]>>,
    /// The first of each chain.
    buckets: Table<Option<BlockIndex>>,
    /// The youngest record that is entered, as are all that are older.
    indexed_to: Option<BlockIndex>,
    kind: usize,
}

impl Wild {
    /// Bytes of an index for so many blocks, without loans.
    pub(super) const fn bytes(blocks: usize) -> usize {
        blocks * size_of::<Option<ChainLinks>>() + blocks / 2 * size_of::<Option<BlockIndex>>()
    }

    /// An index for patterns of this kind, with no record entered. `None` when the heap has no room for it.
    pub(super) fn new(kind: usize, blocks: usize) -> Option<Wild> {
        Some(Wild {
            places: boxed(None, blocks)?,
            lent: Vec::new(),
            buckets: Table::new(None, blocks / 2)?,
            indexed_to: None,
            kind,
        })
    }

    /// Some of the heap is in use for loans.
    #[cfg(test)]
    pub(super) fn has_grown(&self) -> bool {
        self.buckets.is_grown() || !self.lent.is_empty()
    }

    /// A record is about to leave the queue.
    pub(super) fn leave(&mut self, hashes: &KeyHash, region: &Region, at: BlockIndex) {
        let place = self.place_mut(at).and_then(Option::take);
        let Some(ChainLinks { next, prev }) = place else {
            return;
        };
        if self.indexed_to == Some(at) {
            (self.indexed_to, _) = region.neighbours(at);
        }
        let bucket = self.bucket(hashes, &region.envelope(at));
        self.unlink(bucket, at, next, prev);
    }

    /// The first record that `pattern`, which is of this kind, asks for, and how many were looked at.
    pub(super) fn find(
        &mut self,
        hashes: &KeyHash,
        region: &Region,
        list: &Ends<BlockIndex>,
        pattern: &Pattern,
    ) -> (Option<BlockIndex>, u32) {
        let mut hops = 1;
        self.fit(hashes, region, list);
        if self.buckets.is_empty() {
            let mut next = list.head();
            while let Some(at) = next.filter(|&at| !region.matches(at, pattern)) {
                hops += 1;
                next = Links::next(region, at);
            }
            return (next, hops);
        }
        let mut next = self.buckets[bucket(hashes.of(pattern), self.buckets.len() as u32)];
        while let Some(at) = next {
            hops += 1;
            if region.matches(at, pattern) {
                return (next, hops);
            }
            next = self.place(at).next;
        }
        let mut next = after(region, list, self.indexed_to);
        let mut has_places = true;
        while let Some(at) = next {
            hops += 1;
            if region.matches(at, pattern) {
                break;
            }
            has_places = has_places && self.make_place(region, at);
            if has_places {
                self.enter(hashes, region, at);
            }
            next = Links::next(region, at);
        }
        (next, hops)
    }

    /// The next record of the queue, in whose array of blocks there are places.
    fn enter(&mut self, hashes: &KeyHash, region: &Region, at: BlockIndex) {
        self.indexed_to = Some(at);
        let bucket = self.bucket(hashes, &region.envelope(at));
        self.append(bucket, at);
    }

    /// Makes places for the blocks of the loan that `at` is in, if it is in one; false when the heap has no room.
    #[inline]
    fn make_place(&mut self, region: &Region, at: BlockIndex) -> bool {
        match Region::place_in_loan(at) {
            Some((loan, block))
                if self
                    .lent
                    .get(loan)
                    .is_none_or(|places| block >= places.len()) =>
            {
                self.make_places(region, loan)
            }
            _ => true,
        }
    }

    #[cold]
    fn make_places(&mut self, region: &Region, loan: usize) -> bool {
        if self.lent.is_empty() {
            if self.lent.try_reserve_exact(MAX_LOANS).is_err() {
                return false;
            }
            self.lent.resize_with(MAX_LOANS, Box::default);
        }
        let Some(mut places) = boxed(None, region.blocks_of_loan(loan)) else {
            return false;
        };
        // Those that are there were made for a smaller loan of this number, and are in use by the one that is there now.
        let before = &self.lent[loan];
        places[..before.len()].copy_from_slice(before);
        self.lent[loan] = places;
        true
    }

    /// Makes the index as large as the records want it, if loans have come or gone and the heap has room.
    pub(super) fn fit(&mut self, hashes: &KeyHash, region: &Region, list: &Ends<BlockIndex>) {
        let has_changed = if self.buckets.is_crowded(region) {
            self.buckets.grow(None, grown_buckets(region.records()))
        } else if !self.lent.is_empty() && !region.has_loans() {
            self.lent = Vec::new();
            self.buckets.shrink(None)
        } else {
            false
        };
        if has_changed {
            self.enter_again(hashes, region, list);
        }
    }

    /// Fills buckets that have come into use with what has been entered.
    #[cold]
    fn enter_again(&mut self, hashes: &KeyHash, region: &Region, list: &Ends<BlockIndex>) {
        let last = self.indexed_to.take();
        let mut next = last.and(list.head());
        while let Some(at) = next {
            match self.buckets.is_empty() {
                true => _ = self.place_mut(at).and_then(Option::take),
                false => self.enter(hashes, region, at),
            }
            next = match next == last {
                true => None,
                false => Links::next(region, at),
            };
        }
    }

    fn bucket(&self, hashes: &KeyHash, envelope: &Envelope) -> usize {
        let hash = hashes.of(&pattern_of(envelope, self.kind));
        bucket(hash, self.buckets.len() as u32)
    }

    fn place(&self, at: BlockIndex) -> ChainLinks {
        let place = match Region::place_in_loan(at) {
            None => self.places[at.index() as usize],
            Some((loan, block)) => self.lent[loan][block],
        };
        place.expect("a record that is entered")
    }

    fn place_mut(&mut self, at: BlockIndex) -> Option<&mut Option<ChainLinks>> {
        match Region::place_in_loan(at) {
            None => self.places.get_mut(at.index() as usize),
            Some((loan, block)) => self.lent.get_mut(loan)?.get_mut(block),
        }
    }

    fn change(&mut self, at: BlockIndex, change: impl FnOnce(&mut ChainLinks)) {
        let place = self.place_mut(at).and_then(Option::as_mut);
        change(place.expect("a record that is entered"));
    }

    fn append(&mut self, bucket: usize, at: BlockIndex) {
        let prev = match self.buckets[bucket] {
            None => {
                self.buckets[bucket] = Some(at);
                at
            }
            Some(first) => {
                let last = self.place(first).prev;
                self.change(last, |last| last.next = Some(at));
                self.change(first, |first| first.prev = at);
                last
            }
        };
        let place = self.place_mut(at).expect("a place has been made");
        *place = Some(ChainLinks { next: None, prev });
    }

    /// Takes the record at `at`, whose place is given up already, out of its chain.
    fn unlink(
        &mut self,
        bucket: usize,
        at: BlockIndex,
        next: Option<BlockIndex>,
        prev: BlockIndex,
    ) {
        let first = self.buckets[bucket];
        if first == Some(at) {
            self.buckets[bucket] = next;
        } else {
            self.change(prev, |before| before.next = next);
        }
        match (next, first) {
            (Some(next), _) => self.change(next, |after| after.prev = prev),
            (None, Some(first)) if first != at => self.change(first, |first| first.prev = prev),
            (None, _) => {}
        }
    }
}
