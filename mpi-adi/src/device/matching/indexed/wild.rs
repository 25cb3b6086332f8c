//! An index of unexpected messages for one kind of wildcard: by tag (any source), by source (any tag), or by context.
//!
//! It is made when a program first searches far for such a pattern, and then kept. As in the queue, a record is
//! entered when a search passes it. Unlike in the exact index, a record is most often taken out from the middle
//! of its chain, by a receive of another kind; so chains are linked both ways, and the links do not fit into records.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use super::unexpected::{after, bucket};
use crate::device::config::boxed;
use crate::device::envelope::{Envelope, Pattern};
use crate::device::list::{Ends, Links};
use crate::device::memory::region::Region;
use crate::device::names::BlockIndex;
use crate::device::request::{KeyHash, pattern_of};

/// Entries that a search for a wildcard walks over before there is an index for such patterns.
pub const WILD_ENTRIES: u32 = 32;
/// A record's place in a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// `None` at the end.
    next: Option<BlockIndex>,
    /// The last one, at the beginning.
    prev: BlockIndex,
}

/// The index.
#[derive(Clone, Debug)]
pub(super) struct Wild {
    /// By block; `None` for what is not entered.
    places: Box<[Option<Place>]>,
    /// The first of each chain.
    buckets: Box<[Option<BlockIndex>]>,
    /// The youngest record that is entered, as are all that are older.
    indexed_to: Option<BlockIndex>,
    kind: usize,
}

impl Wild {
    /// Bytes of an index for so many blocks.
    pub(super) const fn bytes(blocks: usize) -> usize {
        blocks * size_of::<Option<Place>>() + blocks / 2 * size_of::<Option<BlockIndex>>()
    }

    /// An index for patterns of this kind, with no record entered. `None` when the heap has no room for it.
    pub(super) fn new(kind: usize, blocks: usize) -> Option<Wild> {
        Some(Wild {
            places: boxed(None, blocks)?,
            buckets: boxed(None, blocks / 2)?,
            indexed_to: None,
            kind,
        })
    }

    /// A record is about to leave the queue.
    pub(super) fn leave(&mut self, hashes: &KeyHash, region: &Region, at: BlockIndex) {
        let place = self.places.get_mut(at.index() as usize);
        let Some(Place { next, prev }) = place.and_then(Option::take) else {
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
        let mut next = self.buckets[bucket(hashes.of(pattern), self.buckets.len() as u32)];
        while let Some(at) = next {
            hops += 1;
            if region.matches(at, pattern) {
                return (next, hops);
            }
            next = self.place(at).next;
        }
        let mut next = after(region, list, self.indexed_to);
        while let Some(at) = next {
            hops += 1;
            if region.matches(at, pattern) {
                break;
            }
            self.indexed_to = next;
            let bucket = self.bucket(hashes, &region.envelope(at));
            self.append(bucket, at);
            next = Links::next(region, at);
        }
        (next, hops)
    }

    fn bucket(&self, hashes: &KeyHash, envelope: &Envelope) -> usize {
        let hash = hashes.of(&pattern_of(envelope, self.kind));
        bucket(hash, self.buckets.len() as u32)
    }

    fn place(&self, at: BlockIndex) -> Place {
        self.places[at.index() as usize].expect("a record that is entered")
    }

    fn change(&mut self, at: BlockIndex, change: impl FnOnce(&mut Place)) {
        let place = &mut self.places[at.index() as usize];
        change(place.as_mut().expect("a record that is entered"));
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
        self.places[at.index() as usize] = Some(Place { next: None, prev });
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
