//! An array of buckets, and a larger one in its place while memory is lent; how many there are, and which is whose.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

use crate::device::boxed::boxed;
use crate::device::list::{Ends, Links};
use crate::device::memory::region::Region;
use crate::device::names::BlockIndex;
use crate::device::request::NEIGHBOURS;

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

/// Records for each bucket, above which loans have made the table too small: more than MPI memory alone has room for.
pub(super) const CROWDED: u32 = 4;

/// Buckets for so many records, when the table has become too small: it fits until there are six times as many.
pub(super) const fn grown_buckets(records: u32) -> usize {
    buckets(4 * records as usize) as usize
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

/// The buckets in use.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    buckets: Box<[T]>,
    /// What it began with, as long as a larger one is in use: going back to it cannot fail.
    first: Option<Box<[T]>>,
}

impl<T: Copy> Table<T> {
    /// So many buckets, for good. `None` when the heap has no room.
    pub(super) fn new(empty: T, count: usize) -> Option<Table<T>> {
        Some(Table {
            buckets: boxed(empty, count)?,
            first: None,
        })
    }

    /// A larger one than it began with is in use.
    #[inline]
    pub(super) fn is_grown(&self) -> bool {
        self.first.is_some()
    }

    /// There are so many records, lent blocks counted, that chains grow long.
    #[inline]
    pub(super) fn is_crowded(&self, region: &Region) -> bool {
        region.records() > (CROWDED * self.buckets.len() as u32).max(LEAST_BLOCKS as u32)
    }

    /// Takes so many buckets into use, all of them empty; false when the heap has no room.
    pub(super) fn grow(&mut self, empty: T, count: usize) -> bool {
        let Some(grown) = boxed(empty, count) else {
            return false;
        };
        let before = core::mem::replace(&mut self.buckets, grown);
        self.first.get_or_insert(before);
        true
    }

    /// Goes back to what it began with, all of it empty; false when that is in use.
    pub(super) fn shrink(&mut self, empty: T) -> bool {
        let Some(first) = self.first.take() else {
            return false;
        };
        self.buckets = first;
        self.buckets.fill(empty);
        true
    }
}

impl<T> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.buckets
    }
}

impl<T> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.buckets
    }
}
