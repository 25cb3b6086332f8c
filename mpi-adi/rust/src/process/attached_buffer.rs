//! Buffer for buffered sends.

use alloc::vec::Vec;

use midplane_objects::buffered::BufferUse;
use midplane_objects::error::Error;

pub(crate) struct AttachedBuffer {
    /// Accessed by its address only.
    pub(crate) memory: Vec<u8>,
    pub(crate) room: BufferUse,
}

impl AttachedBuffer {
    /// Allocates `bytes` bytes. Returns [`Error::NoSpace`] when the heap is full.
    pub(crate) fn new(bytes: usize) -> Result<AttachedBuffer, Error> {
        let (mut memory, room) = (midplane_objects::coll::try_with_capacity(bytes)?, BufferUse::new(bytes));
        memory.resize(bytes, 0);
        Ok(AttachedBuffer { memory, room })
    }
}
