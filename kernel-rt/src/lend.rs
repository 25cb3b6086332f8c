//! The program's memory as the MPI device sees it on a node: its buffers, and with `--mpi-borrow` what its
//! heap can spare.
#![forbid(unsafe_code)]

use midplane_device::memory::{RawMemory, Span, UserMemory};
use midplane_device::region::{BLOCK_BYTES, Block, Blocks};

use crate::heap;

/// The part of the heap that is never lent, as a divisor of its size: what is left to the program when it
/// asks for more while messages that are not received yet hold all that was lent.
pub const KEPT_SHARE: usize = 4;

/// The node's memory.
#[derive(Clone, Copy, Debug)]
pub struct NodeMemory {
    /// Whether the program's heap lends to the MPI device, if this build has what that takes.
    pub lends: bool,
}

/// Bytes that a loan of `count` blocks takes out of the heap.
fn loan_bytes(count: usize) -> usize {
    count * BLOCK_BYTES + Blocks::map_words(count) * size_of::<usize>()
}

impl NodeMemory {
    /// The program's heap lends to the MPI device.
    pub fn lends(&self) -> bool {
        cfg!(feature = "borrow") && self.lends
    }

    fn spare_bytes(&self) -> usize {
        match self.lends() {
            true => heap::free().saturating_sub(heap::size() / KEPT_SHARE),
            false => 0,
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
    fn whole(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }

    fn spare_blocks(&self) -> u32 {
        // A bit map's words are few enough to be paid by rounding down to whole words of it.
        let spare = self.spare_bytes();
        let count = spare / (BLOCK_BYTES + 1);
        let count = if loan_bytes(count) <= spare {
            count
        } else {
            count.saturating_sub(usize::BITS as usize)
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn lend(&mut self, count: u32) -> Option<Blocks> {
        let count = count as usize;
        if !self.lends() || loan_bytes(count) > self.spare_bytes() {
            return None;
        }
        let blocks: Block = [0; BLOCK_BYTES];
        Some(Blocks::new(
            midplane_device::boxed(blocks, count)?,
            midplane_device::boxed(0, Blocks::map_words(count))?,
        ))
    }
}
