//! An array of buckets, and a larger one in its place while memory is lent.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

use super::unexpected::{CROWDED, LEAST_BLOCKS};
use crate::device::config::boxed;
use crate::device::memory::region::Region;

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
