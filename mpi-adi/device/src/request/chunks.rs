//! An array that grows out of the program's heap by chunks, which stay where they are.
//!
//! The list of chunks doubles up to [`FEW`], and then has room for [`MOST`] at once, if the heap has it: to copy a longer
//! one would make one call cost more than 10,000 instructions.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::any::Full;
use crate::memory::boxed_with;
use crate::names::MAX_SLOTS;
use crate::work::did;

/// Chunks up to which their list doubles.
const FEW: usize = 1 << 11;
/// Chunks that a longer list has room for: of 32 slots each, for every request that can have a name.
const MOST: usize = MAX_SLOTS / 32;

/// Chunks, and a list of them: no more than two words a chunk, or [`MOST`] words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chunks<C> {
    /// Boxed, so that the chunks stay where they are when the list grows.
    list: Vec<Box<C>>,
}

impl<C> Default for Chunks<C> {
    fn default() -> Self {
        Chunks { list: Vec::new() }
    }
}

impl<C> Chunks<C> {
    /// Adds the chunk that `make` makes; [`Full`] when the heap has no room for it.
    pub(crate) fn push(&mut self, make: impl FnOnce() -> C) -> Result<(), Full> {
        if cfg!(not(feature = "micro")) && self.list.len() == self.list.capacity() {
            self.make_long();
        }
        self.list.try_reserve(1).map_err(|_| Full)?;
        self.list.push(boxed_with(make).ok_or(Full)?);
        Ok(())
    }

    /// Makes room for [`MOST`] chunks in a list that is full with [`FEW`] or more, if the heap has it.
    fn make_long(&mut self) {
        let len = self.list.len();
        did(len / 8);
        if (FEW..MOST).contains(&len) {
            // What there is no room for is asked for again, less at a time.
            _ = self.list.try_reserve_exact(MOST - len);
        }
    }

    /// Chunks.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The chunk at `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&C> {
        self.list.get(index).map(|chunk| &**chunk)
    }

    /// As [`Chunks::get`], to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut C> {
        self.list.get_mut(index).map(|chunk| &mut **chunk)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &C> {
        self.list.iter().map(|chunk| &**chunk)
    }
}
