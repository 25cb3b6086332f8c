//! The start of the heap, behind the image.

use super::memory::{self, Needs};
use crate::board::start::or_fail;
use crate::{arch, heap};

/// Gives the heap what RAM is left, if that is as much as the node needs. To be called once.
pub fn start(needs: Needs) {
    let bytes = or_fail(memory::heap(arch::image_end() as u64, needs));
    let start = core::ptr::with_exposed_provenance_mut::<u8>(bytes.start as usize);
    // SAFETY: RAM behind the image, without another user; zero from here on, which it need not be after a reset.
    unsafe {
        start.write_bytes(0, bytes.len() as usize);
        heap::init(bytes);
    }
}
