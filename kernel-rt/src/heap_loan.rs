//! The program's memory as the MPI device uses it on a node: registered buffers and, with `--mpi-borrow`, loans from
//! the free part of the program's heap.
#![forbid(unsafe_code)]

use midplane_device::memory::{RawMemory, Span, UserMemory};
use midplane_device::region::{BLOCK_BYTES, Block, BlockArray};

use crate::heap;

/// Divisor of the heap size for the part that is never lent. It remains available to the program while messages not yet
/// received occupy all lent memory.
pub const KEPT_SHARE: usize = 4;

/// The node's memory.
#[derive(Clone, Copy, Debug)]
pub struct NodeMemory {
    /// Whether the program's heap lends to the MPI device, provided that this build supports it.
    pub lends: bool,
}

/// Returns the bytes that a loan of `count` blocks takes from the heap.
fn loan_bytes(count: usize) -> usize {
    count * BLOCK_BYTES + BlockArray::map_words(count) * size_of::<usize>()
}

impl NodeMemory {
    /// Returns whether the program's heap lends to the MPI device.
    pub fn lends(&self) -> bool {
        cfg!(feature = "borrow") && self.lends
    }

    fn spare_bytes(&self) -> usize {
        if self.lends() {
            heap::free().saturating_sub(heap::size() / KEPT_SHARE)
        } else {
            0
        }
    }
}

impl UserMemory for NodeMemory {
    #[inline]
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        RawMemory.read(span, offset, out);
    }

    #[inline]
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        RawMemory.write(span, offset, bytes);
    }

    #[inline]
    fn copy(&mut self, from: Span, to: Span, len: usize) {
        RawMemory.copy(from, to, len);
    }

    #[inline]
    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }

    fn spare_blocks(&self) -> u32 {
        // A bit map is small enough that rounding down to full words of it covers its size.
        let spare = self.spare_bytes();
        let count = spare / (BLOCK_BYTES + 1);
        let count = if loan_bytes(count) <= spare {
            count
        } else {
            count.saturating_sub(usize::BITS as usize)
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn lend(&mut self, count: u32) -> Option<BlockArray> {
        let count = count as usize;
        if !self.lends() || loan_bytes(count) > self.spare_bytes() {
            return None;
        }
        let blocks: Block = [0; BLOCK_BYTES];
        Some(BlockArray::new(
            midplane_device::try_boxed_slice(blocks, count)?,
            midplane_device::try_boxed_slice(0, BlockArray::map_words(count))?,
        ))
    }
}
