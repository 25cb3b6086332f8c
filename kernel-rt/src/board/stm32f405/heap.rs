//! The start of the heap, behind the image.

use super::memory::{self, HeapNeeds};
use crate::board::start::or_fail;
use crate::{arch, heap};

/// Initializes the heap with the remaining RAM, if that meets the node's needs. Must be called once.
pub fn start(needs: HeapNeeds) {
    let bytes = or_fail(memory::heap(arch::image_end() as u64, needs));
    let start = core::ptr::with_exposed_provenance_mut::<u8>(bytes.start as usize);
    // SAFETY: RAM behind the image, without another user; zeroed here, because it need not be zero after a reset.
    unsafe {
        start.write_bytes(0, bytes.len() as usize);
        heap::init(bytes);
    }
}
