//! Chunked array in the program's heap. Growth does not move the chunks.
//!
//! The list of chunks doubles up to [`MAX_DOUBLED`], and then reserves space for [`MAX_CHUNKS`] in one step, if the heap has it.
//! Copying a longer list would make one call exceed 10,000 instructions.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::any::PoolFull;
use crate::ids::MAX_SLOTS;
use crate::memory::try_boxed_with;
use crate::work::count_steps;

/// Number of chunks up to which their list doubles.
const MAX_DOUBLED: usize = 1 << 11;
/// Capacity of a longer list: chunks of 32 slots for every request that can have an ID.
const MAX_CHUNKS: usize = MAX_SLOTS / 32;

/// Chunks, and their list of at most two words per chunk, or [`MAX_CHUNKS`] words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChunkList<C> {
    /// Boxed, so that growth of the list does not move the chunks.
    list: Vec<Box<C>>,
}

impl<C> Default for ChunkList<C> {
    fn default() -> Self {
        ChunkList { list: Vec::new() }
    }
}

impl<C> ChunkList<C> {
    /// Appends the chunk that `make` creates. Returns [`PoolFull`] if the heap is full.
    pub(crate) fn push(&mut self, make: impl FnOnce() -> C) -> Result<(), PoolFull> {
        if cfg!(not(feature = "micro")) && self.list.len() == self.list.capacity() {
            self.make_long();
        }
        self.list.try_reserve(1).map_err(|_| PoolFull)?;
        self.list.push(try_boxed_with(make).ok_or(PoolFull)?);
        Ok(())
    }

    /// Reserves space for [`MAX_CHUNKS`] chunks in a full list of [`MAX_DOUBLED`] or more, if the heap has it.
    fn make_long(&mut self) {
        let len = self.list.len();
        count_steps(len / 8);
        if (MAX_DOUBLED..MAX_CHUNKS).contains(&len) {
            // On failure, the list grows in smaller steps later.
            _ = self.list.try_reserve_exact(MAX_CHUNKS - len);
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the chunk at `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&C> {
        self.list.get(index).map(|chunk| &**chunk)
    }

    /// Returns the chunk at `index`, for writing.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut C> {
        self.list.get_mut(index).map(|chunk| &mut **chunk)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &C> {
        self.list.iter().map(|chunk| &**chunk)
    }
}
