//! Segments: what reductions and local copies work by, for memory not to grow with the message.
#![forbid(unsafe_code)]

use crate::device::matching::Matching;
use crate::device::memory::Span;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

/// Bytes that a reduction combines at a time, and that a local copy moves at a time.
pub const SEGMENT_BYTES: usize = 1024;

/// A segment, aligned for whatever a combining function of the program's own takes it for.
#[repr(align(16))]
pub(super) struct Segment(pub(super) [u8; SEGMENT_BYTES]);

impl Segment {
    pub(super) const ZERO: Segment = Segment([0; SEGMENT_BYTES]);
}

/// A way through `len` bytes in segments of whole elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Walk {
    len: usize,
    offset: usize,
    step: usize,
}

impl Walk {
    /// At the beginning of `len` bytes. An element is at least 1 byte and fits in a segment.
    pub(super) fn new(len: usize, element: usize) -> Walk {
        Walk {
            len,
            offset: 0,
            step: SEGMENT_BYTES / element * element,
        }
    }

    /// Bytes of the present segment; 0 at the end.
    pub(super) fn bytes(&self) -> usize {
        self.step.min(self.len - self.offset)
    }

    /// The present segment of `span`, which has at least as many bytes as the way; `None` at the end.
    pub(super) fn part(&self, span: Span) -> Option<Span> {
        let bytes = self.bytes();
        (bytes > 0).then(|| span.part(self.offset, bytes))
    }

    /// Goes on to the next segment.
    pub(super) fn advance(&mut self) {
        self.offset += self.bytes();
    }
}

pub(super) fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Lengths { expected, given })
    }
}

pub(super) fn read<E: Matching>(comm: Communicator<'_, E>, span: Span, out: &mut [u8]) {
    comm.env
        .with(&mut |_, kernel| kernel.memory().read(span, 0, out));
}

pub(super) fn write<E: Matching>(comm: Communicator<'_, E>, span: Span, bytes: &[u8]) {
    comm.env
        .with(&mut |_, kernel| kernel.memory().write(span, 0, bytes));
}

/// Copies `from` to `to`, which must be as long.
// On a stack frame of its own: its segment is not there while a message is waited for.
#[inline(never)]
pub(super) fn copy<E: Matching>(
    comm: Communicator<'_, E>,
    from: Span,
    to: Span,
) -> Result<(), Error> {
    same_length(to.len(), from.len())?;
    if from == to {
        return Ok(());
    }
    let mut segment = Segment::ZERO;
    let mut walk = Walk::new(from.len(), 1);
    while let (Some(from), Some(to)) = (walk.part(from), walk.part(to)) {
        let bytes = &mut segment.0[..from.len()];
        read(comm, from, bytes);
        write(comm, to, bytes);
        walk.advance();
    }
    Ok(())
}
