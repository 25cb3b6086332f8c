//! Block arrays with next-fit allocation of contiguous runs.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::ops::Range;

/// Bytes per block, equal to a torus chunk.
pub const BLOCK_BYTES: usize = 32;
/// Blocks per word of the bitmap.
const WORD: u32 = usize::BITS;
/// One block.
pub type Block = [u8; BLOCK_BYTES];

/// Array of blocks with a bitmap of the allocated ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockArray {
    pub(super) blocks: Box<[Block]>,
    pub(super) taken: Box<[usize]>,
    pub(super) free: u32,
    pub(super) hint: u32,
}

impl BlockArray {
    /// Creates an array of free `blocks`, with `taken` as its bitmap (at least one bit per block).
    ///
    /// # Panics
    /// If the bitmap is too small.
    pub fn new(blocks: Box<[Block]>, mut taken: Box<[usize]>) -> Self {
        assert!(taken.len() >= Self::map_words(blocks.len()));
        taken.fill(0);
        BlockArray {
            free: blocks.len() as u32,
            blocks,
            taken,
            hint: 0,
        }
    }

    /// Returns the number of bitmap words that `blocks` blocks require.
    pub const fn map_words(blocks: usize) -> usize {
        blocks.div_ceil(usize::BITS as usize)
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Checks whether all blocks are free.
    pub fn is_empty(&self) -> bool {
        self.free as usize == self.blocks.len()
    }

    /// Allocates a run of `count` blocks, at least 1. Returns `None` if no free run is long enough. Next-fit, at most
    /// one pass over the map.
    pub(super) fn allocate_run(&mut self, count: u32) -> Option<u32> {
        if count > self.free {
            return None;
        }
        let (hint, len) = (self.hint, self.blocks.len() as u32);
        // The second pass extends past the start of the first one, for a run that straddles it.
        let start = self.find(hint..len, count);
        let start = start.or_else(|| self.find(0..len.min(hint + count), count))?;
        self.mark(start, count, true);
        Some(self.count_taken(start, count))
    }

    /// Returns the start of the first run of `count` free blocks in the range.
    fn find(&self, within: Range<u32>, count: u32) -> Option<u32> {
        let (mut start, mut at) = (within.start, within.start);
        while at < start + count {
            if at >= within.end {
                return None;
            }
            let shift = at % WORD;
            let word = self.taken[(at / WORD) as usize] >> shift;
            match word.trailing_ones() {
                0 => at += word.trailing_zeros().min(WORD - shift),
                taken => {
                    at += taken;
                    start = at;
                }
            }
        }
        (start + count <= within.end).then_some(start)
    }

    /// Marks a run as allocated or free.
    fn mark(&mut self, first: u32, count: u32, taken: bool) {
        let (mut at, end) = (first, first + count);
        while at < end {
            let shift = at % WORD;
            let bits = (WORD - shift).min(end - at);
            let mask = (usize::MAX >> (WORD - bits)) << shift;
            let word = &mut self.taken[(at / WORD) as usize];
            *word = if taken { *word | mask } else { *word & !mask };
            at += bits;
        }
    }

    /// Updates the counters for an allocated run and returns its start.
    #[inline]
    fn count_taken(&mut self, start: u32, count: u32) -> u32 {
        let end = start + count;
        self.free -= count;
        self.hint = if end as usize == self.blocks.len() { 0 } else { end };
        start
    }

    pub(super) fn free_run(&mut self, first: u32, count: u32) {
        self.mark(first, count, false);
        self.free += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of one bitmap word, and one block less or more.
    #[test]
    fn a_run_as_long_as_a_word_is_taken_and_freed() {
        const WORD: u32 = usize::BITS;
        for count in [WORD - 1, WORD, WORD + 1] {
            let all = vec![[0; BLOCK_BYTES]; 2 * count as usize].into_boxed_slice();
            let map = vec![0; BlockArray::map_words(all.len())].into_boxed_slice();
            let mut blocks = BlockArray::new(all, map);
            assert_eq!(blocks.allocate_run(count), Some(0));
            assert_eq!(blocks.allocate_run(count), Some(count));
            assert_eq!((blocks.allocate_run(1), blocks.free), (None, 0));
            for first in [0, count] {
                blocks.free_run(first, count);
                assert_eq!(blocks.allocate_run(count), Some(first));
            }
        }
    }

    /// Random allocations and frees, compared with a map of booleans: each run is the first free one from the end of
    /// the previous run on, then from the start.
    #[test]
    fn a_run_is_the_first_that_is_free_from_the_last_one_on() {
        let mut random = oorandom::Rand32::new(5);
        for len in [1, 63, 64, 65, 200, 1000] {
            let all = vec![[0; BLOCK_BYTES]; len].into_boxed_slice();
            let map = vec![0; BlockArray::map_words(len)].into_boxed_slice();
            let mut blocks = BlockArray::new(all, map);
            let mut plain = vec![false; len];
            let mut runs: Vec<(u32, u32)> = Vec::new();
            let mut hint = 0;
            for _ in 0..4000 {
                if random.rand_range(0..5) < 2 && !runs.is_empty() {
                    let (first, count) = runs.swap_remove(random.rand_range(0..runs.len() as u32) as usize);
                    blocks.free_run(first, count);
                    plain[first as usize..][..count as usize].fill(false);
                    continue;
                }
                let most = [3, 90][random.rand_range(0..2) as usize];
                let count = 1 + random.rand_range(0..most);
                let is_free = |start: &usize| {
                    let run = plain.get(*start..start + count as usize);
                    run.is_some_and(|run| !run.contains(&true))
                };
                let expected = (hint..len).find(is_free).or_else(|| (0..hint).find(is_free));
                let taken = blocks.allocate_run(count);
                assert_eq!(taken, expected.map(|start| start as u32), "{len}");
                if let Some(first) = taken {
                    let end = (first + count) as usize;
                    plain[first as usize..end].fill(true);
                    hint = if end == len { 0 } else { end };
                    runs.push((first, count));
                }
                let free = plain.iter().filter(|taken| !**taken).count();
                assert_eq!(blocks.free as usize, free);
            }
        }
    }
}
