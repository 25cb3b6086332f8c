//! Arrays of blocks, of which runs are taken and freed.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use bitvec::order::Lsb0;
use bitvec::view::BitView;

/// Bytes of a block, as of a torus chunk.
pub const BLOCK_BYTES: usize = 32;
/// One block.
pub type Block = [u8; BLOCK_BYTES];

/// An array of blocks, with a bit map of those that are taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    pub(super) blocks: Box<[Block]>,
    pub(super) taken: Box<[usize]>,
    pub(super) free: u32,
    pub(super) hint: u32,
}

impl Blocks {
    /// All of `blocks`, free, with `taken` as their bit map (at least one bit a block).
    ///
    /// # Panics
    /// When the bit map is too small.
    pub fn new(blocks: Box<[Block]>, mut taken: Box<[usize]>) -> Self {
        assert!(taken.len() >= Self::map_words(blocks.len()));
        taken.fill(0);
        Blocks {
            free: blocks.len() as u32,
            blocks,
            taken,
            hint: 0,
        }
    }

    /// Words of bit map for `blocks` blocks.
    pub const fn map_words(blocks: usize) -> usize {
        blocks.div_ceil(usize::BITS as usize)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// None are taken.
    pub fn is_empty(&self) -> bool {
        self.free as usize == self.blocks.len()
    }

    /// Takes a run of `count` blocks, at least 1; `None` when there is none. Next-fit, at most one pass
    /// over the map.
    pub(super) fn take_run(&mut self, count: u32) -> Option<u32> {
        if count > self.free {
            return None;
        }
        let len = self.blocks.len();
        if let Some((word, mask)) = within_a_word(self.hint, count)
            && (self.hint + count) as usize <= len
            && self.taken[word] & mask == 0
        {
            // As below, which takes ten times as long.
            let start = self.hint;
            self.taken[word] |= mask;
            return Some(self.took(start, count));
        }
        let bits = &mut self.taken.view_bits_mut::<Lsb0>()[..len];
        let (mut at, mut end, mut wrapped) = (self.hint as usize, len, false);
        loop {
            let start = bits[at..end].first_zero().map(|skip| at + skip);
            match start {
                Some(start) if start + count as usize <= end => {
                    match bits[start..start + count as usize].last_one() {
                        Some(blocked) => at = start + blocked + 1,
                        None => {
                            bits[start..start + count as usize].fill(true);
                            return Some(self.took(start as u32, count));
                        }
                    }
                }
                _ if wrapped => return None,
                _ => {
                    // The second pass reaches beyond the first one's start, for a run that straddles it.
                    wrapped = true;
                    at = 0;
                    end = (self.hint as usize + count as usize).min(len);
                }
            }
        }
    }

    /// Notes that the run is taken; where it begins.
    #[inline]
    fn took(&mut self, start: u32, count: u32) -> u32 {
        let end = start + count;
        self.free -= count;
        self.hint = if end as usize == self.blocks.len() {
            0
        } else {
            end
        };
        start
    }

    pub(super) fn free_run(&mut self, first: u32, count: u32) {
        match within_a_word(first, count) {
            Some((word, mask)) => self.taken[word] &= !mask,
            None => {
                let (start, end) = (first as usize, (first + count) as usize);
                self.taken.view_bits_mut::<Lsb0>()[start..end].fill(false);
            }
        }
        self.free += count;
    }
}

/// The word of the bit map that all bits of a run are in, and these bits; `None`: they are in several.
#[inline]
fn within_a_word(first: u32, count: u32) -> Option<(usize, usize)> {
    let shift = first % usize::BITS;
    (shift + count < usize::BITS).then(|| {
        let mask = ((1 << count) - 1) << shift;
        ((first / usize::BITS) as usize, mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that are just a word of the bit map, or a block less or more.
    #[test]
    fn a_run_as_long_as_a_word_is_taken_and_freed() {
        const WORD: u32 = usize::BITS;
        for count in [WORD - 1, WORD, WORD + 1] {
            let all = vec![[0; BLOCK_BYTES]; 2 * count as usize].into_boxed_slice();
            let map = vec![0; Blocks::map_words(all.len())].into_boxed_slice();
            let mut blocks = Blocks::new(all, map);
            assert_eq!(blocks.take_run(count), Some(0));
            assert_eq!(blocks.take_run(count), Some(count));
            assert_eq!((blocks.take_run(1), blocks.free), (None, 0));
            for first in [0, count] {
                blocks.free_run(first, count);
                assert_eq!(blocks.take_run(count), Some(first));
            }
        }
    }
}
