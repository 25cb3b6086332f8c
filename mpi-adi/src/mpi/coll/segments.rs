//! Segments: what reductions and local copies work by, for memory not to grow with the message.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::device::matching::Matching;
use crate::device::memory::area::Area;
use crate::mpi::coll::schedule::Half;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

/// Bytes that a reduction combines at a time, and that a local copy moves at a time.
pub const SEGMENT_BYTES: usize = 1024;

/// What is no longer is computed with in segments of so many bytes: clearing two long ones takes longer than many an
/// operation.
pub(super) const SHORT_BYTES: usize = 64;

/// A segment, aligned for whatever a combining function of the program's own takes it for.
#[repr(align(16))]
pub(super) struct Segment<const BYTES: usize>(pub(super) [u8; BYTES]);

impl<const BYTES: usize> Segment<BYTES> {
    pub(super) const ZERO: Self = Segment([0; BYTES]);
}

/// Two segments of the program's heap, for elements that are longer than those on the stack.
pub(super) struct LongSegments {
    words: Vec<u128>,
}

impl LongSegments {
    /// Each as long as an element. Fails with [`Error::NoRoom`].
    pub(super) fn new(element: usize) -> Result<LongSegments, Error> {
        let each = element.div_ceil(size_of::<u128>());
        let none = |_| Error::NoRoom {
            bytes: element.saturating_mul(2),
        };
        let mut words = Vec::new();
        words
            .try_reserve_exact(each.saturating_mul(2))
            .map_err(none)?;
        words.resize(2 * each, 0);
        Ok(LongSegments { words })
    }

    /// Where one begins, for a message that comes to it or goes from it.
    pub(super) fn pointer(&mut self, half: Half) -> *mut u8 {
        let each = self.words.len() / 2;
        let begin = self.words.as_mut_ptr();
        match half {
            Half::First => begin.cast(),
            Half::Second => begin.wrapping_add(each).cast(),
        }
    }

    pub(super) fn both(&mut self) -> [&mut [u8]; 2] {
        let half = self.words.len() / 2;
        let (first, second) = self.words.split_at_mut(half);
        [first, second].map(bytemuck::cast_slice_mut)
    }
}

/// A way through `len` bytes in segments of whole elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Walk {
    len: usize,
    offset: usize,
    step: usize,
}

impl Walk {
    /// At the beginning of `len` bytes. Elements without bytes are no way at all; one that does not fit in a segment
    /// on the stack is alone in one of [`LongSegments`].
    pub(super) fn new(len: usize, element: usize) -> Walk {
        Walk {
            len,
            offset: 0,
            step: (SEGMENT_BYTES / element.max(1)).max(1) * element,
        }
    }

    /// Bytes of the present segment; 0 at the end.
    pub(super) fn bytes(&self) -> usize {
        self.step.min(self.len - self.offset)
    }

    /// The present segment of `area`, which has at least as many bytes as the way; `None` at the end.
    pub(super) fn part(&self, area: Area) -> Option<Area> {
        let bytes = self.bytes();
        (bytes > 0).then(|| area.part(self.offset, bytes))
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

pub(super) fn read<E: Matching>(comm: Communicator<'_, E>, area: Area, out: &mut [u8]) {
    comm.env
        .with(&mut |_, kernel| area.read(kernel.memory(), out));
}

pub(super) fn write<E: Matching>(comm: Communicator<'_, E>, area: Area, bytes: &[u8]) {
    comm.env
        .with(&mut |_, kernel| area.write(kernel.memory(), bytes));
}

/// Copies `from` to `to`, which must be as long.
// On a stack frame of its own: its segment is not there while a message is waited for.
#[inline(never)]
pub(super) fn copy<E: Matching>(
    comm: Communicator<'_, E>,
    from: Area,
    to: Area,
) -> Result<(), Error> {
    same_length(to.len(), from.len())?;
    if from == to {
        return Ok(());
    }
    let mut segment = Segment::<SEGMENT_BYTES>::ZERO;
    let mut walk = Walk::new(from.len(), 1);
    while let (Some(from), Some(to)) = (walk.part(from), walk.part(to)) {
        let bytes = &mut segment.0[..from.len()];
        read(comm, from, bytes);
        write(comm, to, bytes);
        walk.advance();
    }
    Ok(())
}
