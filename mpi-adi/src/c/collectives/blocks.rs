//! Where each rank's part of a buffer is.

use core::ffi::{c_int, c_void};

use crate::c::args;
use crate::device::memory::Span;
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// Equal blocks, one a rank, in the order of the ranks.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    all: Span,
    each: usize,
}

impl Blocks {
    /// # Safety
    /// As for [`args::buffer`], for as many times `count` elements as there are ranks.
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        count: c_int,
        datatype: c_int,
    ) -> Result<Blocks, Error> {
        let each = args::length(count, datatype)?;
        let total = each
            .checked_mul(comm.size() as usize)
            .ok_or(Error::TooLong { bytes: usize::MAX })?;
        // SAFETY: the caller's promise.
        let all = unsafe { args::bytes(buffer, total) }?;
        Ok(Blocks { all, each })
    }

    pub(super) fn of(&self, rank: CommRank) -> Span {
        if self.each == 0 {
            Span::EMPTY
        } else {
            self.all.part(rank.0 as usize * self.each, self.each)
        }
    }
}

/// Blocks of different lengths at different places: the v-collectives.
pub(super) struct VBlocks<'a> {
    base: *const c_void,
    counts: &'a [c_int],
    displs: &'a [c_int],
    extent: usize,
}

impl<'a> VBlocks<'a> {
    /// # Safety
    /// `counts` and `displs` are as for [`args::array`], one item a rank; the elements that they and
    /// `base` describe are as for [`args::buffer`].
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        base: *const c_void,
        counts: *const c_int,
        displs: *const c_int,
        datatype: c_int,
    ) -> Result<VBlocks<'a>, Error> {
        let size = comm.size() as usize;
        // SAFETY: the caller's promise.
        let (counts, displs) = unsafe {
            (
                args::array(counts, size, "the array of counts")?,
                args::array(displs, size, "displs")?,
            )
        };
        let places = VBlocks {
            base,
            counts,
            displs,
            extent: args::datatype(datatype)?.extent(),
        };
        for rank in comm.membership().ranks() {
            args::count(counts[rank.0 as usize])?;
            places.check(rank)?;
        }
        Ok(places)
    }

    fn bytes(&self, rank: CommRank) -> usize {
        self.counts[rank.0 as usize] as usize * self.extent
    }

    fn address(&self, rank: CommRank) -> *const c_void {
        self.base
            .wrapping_byte_offset(self.displs[rank.0 as usize] as isize * self.extent as isize)
    }

    fn check(&self, rank: CommRank) -> Result<(), Error> {
        if self.bytes(rank) > 0 && args::is_in_place(self.base) {
            return Err(Error::InPlace);
        }
        // SAFETY: the promise at `VBlocks::new`; the span is dropped at once.
        unsafe { args::bytes(self.address(rank), self.bytes(rank)) }.map(|_| ())
    }

    pub(super) fn of(&self, rank: CommRank) -> Span {
        // SAFETY: the promise at `VBlocks::new`. It cannot fail, as `check` has found.
        unsafe { args::bytes(self.address(rank), self.bytes(rank)) }.unwrap_or(Span::EMPTY)
    }
}

/// Blocks of different lengths, one behind the other: what reduce_scatter divides.
pub(super) struct Row<'a> {
    all: Span,
    counts: &'a [c_int],
    extent: usize,
}

impl<'a> Row<'a> {
    /// # Safety
    /// `counts` is as for [`args::array`], one item a rank; `buffer` is as for [`args::buffer`], for as
    /// many elements as they add up to.
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        counts: *const c_int,
        datatype: c_int,
    ) -> Result<Row<'a>, Error> {
        // SAFETY: the caller's promise.
        let counts = unsafe { args::array(counts, comm.size() as usize, "recvcounts") }?;
        let mut total = 0usize;
        for count in counts {
            total = total.saturating_add(args::length(*count, datatype)?);
        }
        // SAFETY: the caller's promise.
        let all = unsafe { args::bytes(buffer, total) }?;
        let extent = args::datatype(datatype)?.extent();
        Ok(Row {
            all,
            counts,
            extent,
        })
    }

    pub(super) fn of(&self, rank: CommRank) -> Span {
        let (before, from) = self.counts.split_at(rank.0 as usize);
        let elements = |counts: &[c_int]| counts.iter().map(|count| *count as usize).sum::<usize>();
        let (offset, len) = (elements(before), elements(&from[..1]));
        match len {
            0 => Span::EMPTY,
            _ => self.all.part(offset * self.extent, len * self.extent),
        }
    }
}
