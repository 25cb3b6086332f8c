//! Segments: what reductions and local copies work by, for memory not to grow with the message.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use msg_layer::header::LONG_BYTES;

use crate::coll::schedule::Half;
use crate::comm::Communicator;
use crate::error::Error;
use midplane_device::interface::Device;
use midplane_device::memory::area::Area;

/// Bytes that a reduction combines at a time, and that a local copy moves at a time.
pub const SEGMENT_BYTES: usize = 1024;

/// Bytes of a message of a collective that uses all links at once: three packets, which fit in Blue Gene/L's injection
/// FIFOs with the offer before them, so that one direction does not hold up the others.
pub(super) const RING_BYTES: usize = 3 * LONG_BYTES;
const _: () = assert!(RING_BYTES <= SEGMENT_BYTES);

/// What is no longer is computed with in segments of so many bytes: clearing two long ones takes longer than many an
/// operation.
pub(super) const SHORT_BYTES: usize = 64;

/// A segment, aligned for whatever a combining function of the program's own takes it for.
#[repr(align(16))]
pub(super) struct Segment<const BYTES: usize>(pub(super) [u8; BYTES]);

impl<const BYTES: usize> Segment<BYTES> {
    pub(super) const ZERO: Self = Segment([0; BYTES]);
}

/// Segments of the program's heap, two for each lane: for elements that are longer than those on the stack, and for what
/// is on no stack.
pub(super) struct LongSegments {
    words: Vec<u128>,
    /// Words of one.
    each: usize,
}

impl LongSegments {
    /// Those of so many lanes, each as long as an element. Fails with [`Error::NoRoom`].
    pub(super) fn new(element: usize, lanes: usize) -> Result<LongSegments, Error> {
        let each = element.div_ceil(size_of::<u128>());
        let all = each.saturating_mul(2 * lanes);
        let none = |_| Error::NoRoom {
            bytes: element.saturating_mul(2 * lanes),
        };
        let mut words = Vec::new();
        words.try_reserve_exact(all).map_err(none)?;
        words.resize(all, 0);
        Ok(LongSegments { words, each })
    }

    /// Where one begins, for a message that comes to it or goes from it.
    pub(super) fn pointer(&mut self, lane: usize, half: Half) -> *mut u8 {
        let at = (2 * lane + half as usize) * self.each;
        self.words.as_mut_ptr().wrapping_add(at).cast()
    }

    /// Both of a lane.
    pub(super) fn both(&mut self, lane: usize) -> [&mut [u8]; 2] {
        let two = &mut self.words[2 * lane * self.each..][..2 * self.each];
        let (first, second) = two.split_at_mut(self.each);
        [first, second].map(bytemuck::cast_slice_mut)
    }
}

/// Bytes of as many whole elements as fit in so many bytes; of one element where none does.
pub(super) fn whole(bytes: usize, element: usize) -> usize {
    (bytes / element.max(1)).max(1) * element
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
            step: whole(SEGMENT_BYTES, element),
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

pub(super) fn read(comm: Communicator<'_>, area: Area, out: &mut [u8]) {
    comm.env.read(area, out);
}

pub(super) fn write(comm: Communicator<'_>, area: Area, bytes: &[u8]) {
    comm.env.write(area, bytes);
}

/// Copies `from` to `to`, which must be as long.
// On a stack frame of its own: its segment is not there while a message is waited for.
#[inline(never)]
pub(super) fn copy(comm: Communicator<'_>, from: Area, to: Area) -> Result<(), Error> {
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
