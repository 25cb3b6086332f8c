//! Segments of reductions and local copies. They keep memory use independent of the message length.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use msg_layer::header::LONG_BYTES;

use crate::coll::schedule::SegmentHalf;
use crate::comm::Communicator;
use crate::error::Error;
use midplane_device::interface::Device;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Bytes that a reduction combines, or a local copy moves, in one step.
pub const SEGMENT_BYTES: usize = 1024;

/// Bytes of a message in a collective that uses all links concurrently: three packets, which fit with their RTS in Blue
/// Gene/L's injection FIFOs, so that one direction does not block the others.
pub(super) const RING_BYTES: usize = 3 * LONG_BYTES;
const _: () = assert!(RING_BYTES <= SEGMENT_BYTES);

/// Shorter data uses segments of this size: clearing two long segments takes longer than many operations.
pub(super) const SHORT_BYTES: usize = 64;

/// A segment, aligned for any element type of a program's combining function.
#[repr(align(16))]
pub(super) struct Segment<const BYTES: usize>(pub(super) [u8; BYTES]);

impl<const BYTES: usize> Segment<BYTES> {
    pub(super) const ZERO: Self = Segment([0; BYTES]);
}

/// Two segments per lane on the program's heap: for elements longer than a segment on the stack, and for nonblocking
/// collectives.
pub(super) struct LongSegments {
    words: Vec<u128>,
    /// Words of one segment.
    each: usize,
}

impl LongSegments {
    /// Allocates the segments of `lanes` lanes, each as long as an element. Fails with [`Error::NoSpace`].
    pub(super) fn new(element: usize, lanes: usize) -> Result<LongSegments, Error> {
        let each = element.div_ceil(size_of::<u128>());
        let all = each.saturating_mul(2 * lanes);
        let none = |_| Error::NoSpace {
            bytes: element.saturating_mul(2 * lanes),
        };
        let mut words = Vec::new();
        words.try_reserve_exact(all).map_err(none)?;
        words.resize(all, 0);
        Ok(LongSegments { words, each })
    }

    /// Returns the address of a segment, for a message that is received in it or sent from it.
    pub(super) fn pointer(&mut self, lane: usize, half: SegmentHalf) -> *mut u8 {
        let at = (2 * lane + half as usize) * self.each;
        self.words.as_mut_ptr().wrapping_add(at).cast()
    }

    /// Returns both segments of a lane.
    pub(super) fn both(&mut self, lane: usize) -> [&mut [u8]; 2] {
        let two = &mut self.words[2 * lane * self.each..][..2 * self.each];
        let (first, second) = two.split_at_mut(self.each);
        [first, second].map(bytemuck::cast_slice_mut)
    }
}

/// Returns the bytes of the complete elements that fit in `bytes`; at least one element.
pub(super) fn round_to_elements(bytes: usize, element: usize) -> usize {
    (bytes / element.max(1)).max(1) * element
}

/// Iteration over `len` bytes in segments of complete elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SegmentWalk {
    len: usize,
    offset: usize,
    step: usize,
}

impl SegmentWalk {
    /// Starts at the beginning of `len` bytes. With elements of size zero the iteration is empty. An element that does
    /// not fit in a segment on the stack has one of the [`LongSegments`] to itself.
    pub(super) fn new(len: usize, element: usize) -> SegmentWalk {
        SegmentWalk {
            len,
            offset: 0,
            step: round_to_elements(SEGMENT_BYTES, element),
        }
    }

    /// Returns the bytes of the present segment; 0 at the end.
    pub(super) fn bytes(&self) -> usize {
        self.step.min(self.len - self.offset)
    }

    /// Returns the present segment of `area`, which must contain at least `len` bytes; `None` at the end.
    pub(super) fn part(&self, area: BufferSlice) -> Option<BufferSlice> {
        let bytes = self.bytes();
        (bytes > 0).then(|| area.part(self.offset, bytes))
    }

    /// Advances to the next segment.
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

pub(super) fn read(comm: Communicator<'_>, area: BufferSlice, out: &mut [u8]) {
    comm.env.read(area, out);
}

pub(super) fn write(comm: Communicator<'_>, area: BufferSlice, bytes: &[u8]) {
    comm.env.write(area, bytes);
}

/// Copies `from` to `to`, which must be as long.
// Not inlined, so that its segment uses no stack while the caller waits for a message.
#[inline(never)]
pub(super) fn copy(comm: Communicator<'_>, from: BufferSlice, to: BufferSlice) -> Result<(), Error> {
    same_length(to.len(), from.len())?;
    if from == to {
        return Ok(());
    }
    let mut segment = Segment::<SEGMENT_BYTES>::ZERO;
    let mut walk = SegmentWalk::new(from.len(), 1);
    while let (Some(from), Some(to)) = (walk.part(from), walk.part(to)) {
        let bytes = &mut segment.0[..from.len()];
        read(comm, from, bytes);
        write(comm, to, bytes);
        walk.advance();
    }
    Ok(())
}
