//! Location of each rank's part of a buffer.

use alloc::vec::Vec;
use core::ffi::c_void;

use crate::args;
use crate::counts::{IntArray, IntSlice, Ints, KeptInts};
use crate::datatypes::{TypedBuffer, TypedElements};
use crate::inter_calls::BufferArgs;
use crate::types::Handle;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;

/// Data of this process: in a separate buffer or, with MPI_IN_PLACE, at its location among all.
pub(super) struct OwnBlock {
    area: BufferSlice,
    /// Keeps the buffer alive until the call ends.
    _data: TypedBuffer,
}

impl OwnBlock {
    /// # Safety
    /// `buffer` must satisfy [`args::buffer`], unless it is MPI_IN_PLACE; then `place` is used.
    pub(super) unsafe fn new(
        BufferArgs {
            buffer,
            count,
            datatype,
        }: BufferArgs,
        place: impl FnOnce() -> BufferSlice,
    ) -> Result<OwnBlock, Error> {
        let in_place = args::is_in_place(buffer);
        let data = if in_place {
            TypedBuffer::EMPTY
        } else {
            // SAFETY: guaranteed by the caller.
            unsafe { args::buffer(buffer, count, datatype) }?
        };
        let area = if in_place { place() } else { data.span().into() };
        Ok(OwnBlock { area, _data: data })
    }

    pub(super) fn area(&self) -> BufferSlice {
        self.area
    }
}

/// Equal blocks, one per rank, in rank order.
pub(super) struct EqualBlocks {
    all: TypedBuffer,
    each: usize,
}

impl EqualBlocks {
    /// # Safety
    /// `buffer` must satisfy [`args::buffer`] for `count` elements per rank.
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        count: isize,
        elements: &TypedElements,
    ) -> Result<EqualBlocks, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { EqualBlocks::with_count(comm.size() as usize, buffer, count, elements) }
    }

    /// Describes the specified number of blocks; see [`EqualBlocks::new`].
    ///
    /// # Safety
    /// `buffer` must satisfy [`args::buffer`] for `count` elements per block.
    pub(super) unsafe fn with_count(
        blocks: usize,
        buffer: *const c_void,
        count: isize,
        elements: &TypedElements,
    ) -> Result<EqualBlocks, Error> {
        let count = args::count(count)?;
        let each = elements.length(count)?;
        let total = count.checked_mul(blocks).ok_or(Error::TooLong { bytes: usize::MAX })?;
        // SAFETY: guaranteed by the caller.
        let all = unsafe { elements.at(buffer, total) }?;
        Ok(EqualBlocks { all, each })
    }

    pub(super) fn area_of(&self, rank: CommRank) -> BufferSlice {
        if self.each == 0 {
            BufferSlice::EMPTY
        } else {
            let all = BufferSlice::from(self.all.span());
            all.part(rank.0 as usize * self.each, self.each)
        }
    }
}

/// Blocks of different lengths at specified displacements, for the v-collectives.
pub(super) struct VectorBlocks<C> {
    /// The longest block, as if it were at rank 0's displacement.
    first: TypedBuffer,
    counts: C,
    displs: C,
    size: usize,
}

impl VectorBlocks<IntSlice<'_>> {
    /// # Safety
    /// `counts` and `displs` must satisfy [`args::array`], with one item per rank. The elements that they and `base`
    /// describe must satisfy [`args::buffer`].
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        base: *const c_void,
        counts: IntArray,
        displs: IntArray,
        elements: TypedElements,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { VectorBlocks::with_count(comm.size() as usize, base, counts, displs, elements) }
    }

    /// Describes the specified number of blocks; see [`VectorBlocks::new`].
    ///
    /// # Safety
    /// See [`VectorBlocks::new`], with one item per block.
    pub(super) unsafe fn with_count(
        blocks: usize,
        base: *const c_void,
        counts: IntArray,
        displs: IntArray,
        elements: TypedElements,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        let (counts, displs) = unsafe {
            (
                counts.items(blocks, "the array of counts")?,
                displs.items(blocks, "displs")?,
            )
        };
        let mut most = 0;
        for (given, displ) in counts.iter().zip(displs.iter()) {
            let count = args::count(given)?;
            most = most.max(elements.length(count)?);
            elements.check(base, displ, count)?;
        }
        let from = displs.iter().next().unwrap_or(0);
        // SAFETY: the caller's guarantee about the elements accessed from here: the blocks, which have just been
        // checked.
        let first = unsafe { elements.origin(base, from, most) }?;
        let size = elements.size();
        Ok(VectorBlocks {
            first,
            counts,
            displs,
            size,
        })
    }

    /// Copies the arrays, for a nonblocking collective. The standard requires the program to keep them unchanged until
    /// completion (MPI-3.1 section 5.12), but programs do not.
    pub(super) fn kept(self) -> Result<VectorBlocks<KeptInts>, Error> {
        Ok(VectorBlocks {
            first: self.first,
            counts: self.counts.kept()?,
            displs: self.displs.kept()?,
            size: self.size,
        })
    }
}

impl<C: Ints> VectorBlocks<C> {
    pub(super) fn area_of(&self, rank: CommRank) -> BufferSlice {
        let at = rank.0 as usize;
        let behind = self.displs.at(at) - self.displs.at(0);
        match self.counts.at(at) as usize * self.size {
            0 => BufferSlice::EMPTY,
            bytes => BufferSlice::from(self.first.span()).moved(behind * self.size as isize, bytes),
        }
    }
}

/// Blocks of different lengths and datatypes at specified displacements, for the w-collectives.
pub(super) struct MixedTypeBlocks(Vec<TypedBuffer>);

impl MixedTypeBlocks {
    /// Describes the specified number of blocks, each at an item of `displs`, in bytes from `base`.
    ///
    /// # Safety
    /// See [`MixedTypeBlocks::new`]; `displs` must satisfy [`args::array`], with one item per block.
    pub(super) unsafe fn in_bytes(
        blocks: usize,
        base: *const c_void,
        counts: IntArray,
        displs: IntArray,
        types: *const Handle,
    ) -> Result<MixedTypeBlocks, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let displs = displs.items(blocks, "displs")?;
            MixedTypeBlocks::new(base, counts, displs.iter(), types)
        }
    }

    /// Describes one block per item of `places`, in bytes from `base`.
    ///
    /// # Safety
    /// `counts` and `types` must satisfy [`args::array`], with one item per block. The elements that these and `base`
    /// describe must satisfy [`args::buffer`].
    pub(super) unsafe fn new(
        base: *const c_void,
        counts: IntArray,
        places: impl ExactSizeIterator<Item = isize>,
        types: *const Handle,
    ) -> Result<MixedTypeBlocks, Error> {
        let many = places.len();
        // SAFETY: guaranteed by the caller.
        let (counts, types) = unsafe {
            (
                counts.items(many, "the array of counts")?,
                args::array(types, many, "the array of datatypes")?,
            )
        };
        let mut blocks = coll::try_with_capacity(many)?;
        for ((place, count), datatype) in places.zip(counts.iter()).zip(types) {
            let at = if args::is_in_place(base) {
                base
            } else {
                base.wrapping_byte_offset(place)
            };
            // SAFETY: guaranteed by the caller.
            blocks.push(unsafe { args::buffer(at, count, (*datatype).value()) }?);
        }
        Ok(MixedTypeBlocks(blocks))
    }

    pub(super) fn area_of(&self, rank: CommRank) -> BufferSlice {
        self.0[rank.0 as usize].span().into()
    }
}

/// Consecutive blocks of different lengths, for reduce_scatter.
pub(super) struct BlockRow<C> {
    all: TypedBuffer,
    counts: C,
    size: usize,
}

impl BlockRow<IntSlice<'_>> {
    /// # Safety
    /// `counts` must satisfy [`args::array`], with one item per rank. `buffer` must satisfy [`args::buffer`], for the
    /// sum of the counts.
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        counts: IntArray,
        elements: &TypedElements,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        let counts = unsafe { counts.items(comm.size() as usize, "recvcounts") }?;
        let mut total = 0usize;
        for count in counts.iter() {
            total = total.saturating_add(args::count(count)?);
        }
        // SAFETY: guaranteed by the caller.
        let all = unsafe { elements.at(buffer, total) }?;
        Ok(BlockRow::over(all, counts, elements.size()))
    }

    /// Copies the counts; see [`VectorBlocks::kept`].
    pub(super) fn kept(self) -> Result<BlockRow<KeptInts>, Error> {
        Ok(BlockRow::over(self.all, self.counts.kept()?, self.size))
    }
}

impl<C: Ints> BlockRow<C> {
    /// Describes data of as many elements of this size as the sum of the non-negative counts.
    pub(super) fn over(all: TypedBuffer, counts: C, size: usize) -> Self {
        BlockRow { all, counts, size }
    }

    pub(super) fn area_of(&self, rank: CommRank) -> BufferSlice {
        let before = (0..rank.0 as usize).map(|at| self.counts.at(at) as usize);
        let (offset, len) = (before.sum::<usize>(), self.count(rank));
        match len {
            0 => BufferSlice::EMPTY,
            _ => BufferSlice::from(self.all.span()).part(offset * self.size, len * self.size),
        }
    }

    /// Returns the number of elements of this rank.
    pub(super) fn count(&self, rank: CommRank) -> usize {
        self.counts.at(rank.0 as usize) as usize
    }
}
