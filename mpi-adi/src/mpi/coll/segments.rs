//! Segments: what reductions and local copies work by, for memory not to grow with the message.

use crate::device::memory::Span;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

/// Bytes that a reduction combines at a time, and that a local copy moves at a time.
pub const SEGMENT_BYTES: usize = 1024;

#[repr(align(16))]
pub(super) struct Segment(pub(super) [u8; SEGMENT_BYTES]);

impl Segment {
    pub(super) const ZERO: Segment = Segment([0; SEGMENT_BYTES]);
}

pub(super) fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Lengths { expected, given })
    }
}

pub(super) fn read(comm: Communicator<'_>, span: Span, offset: usize, out: &mut [u8]) {
    comm.env
        .with(&mut |_, kernel| kernel.memory().read(span, offset, out));
}

pub(super) fn write(comm: Communicator<'_>, span: Span, offset: usize, bytes: &[u8]) {
    comm.env
        .with(&mut |_, kernel| kernel.memory().write(span, offset, bytes));
}

/// Copies `from` to `to`, which must be as long.
pub(super) fn copy(comm: Communicator<'_>, from: Span, to: Span) -> Result<(), Error> {
    same_length(to.len(), from.len())?;
    if from == to {
        return Ok(());
    }
    let mut segment = Segment::ZERO;
    let mut offset = 0;
    while offset < from.len() {
        let bytes = &mut segment.0[..SEGMENT_BYTES.min(from.len() - offset)];
        read(comm, from, offset, bytes);
        write(comm, to, offset, bytes);
        offset += bytes.len();
    }
    Ok(())
}

/// Bytes of the segments that elements of `element` bytes are combined by.
pub(super) fn segment_bytes(element: usize) -> usize {
    SEGMENT_BYTES / element * element
}
