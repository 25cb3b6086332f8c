//! Where each rank's part of a buffer is.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use crate::args;
use crate::datatypes::{Elements, Lent};
use midplane_device::memory::area::Area;
use midplane_objects::coll;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;
use midplane_objects::group::exact;

/// What one process gives or gets: in a buffer of its own, or, with MPI_IN_PLACE, in its place among all.
pub(super) struct Own {
    area: Area,
    /// Held until the call is over.
    _data: Lent,
}

impl Own {
    /// # Safety
    /// As for [`args::buffer`], unless `buffer` is MPI_IN_PLACE: then it is `place`.
    pub(super) unsafe fn new(
        (buffer, count, datatype): (*const c_void, c_int, c_int),
        place: impl FnOnce() -> Area,
    ) -> Result<Own, Error> {
        let in_place = args::is_in_place(buffer);
        let data = match in_place {
            true => Lent::EMPTY,
            // SAFETY: the caller's promise.
            false => unsafe { args::buffer(buffer, count, datatype) }?,
        };
        let area = match in_place {
            true => place(),
            false => data.span().into(),
        };
        Ok(Own { area, _data: data })
    }

    pub(super) fn area(&self) -> Area {
        self.area
    }
}

/// Equal blocks, one a rank, in the order of the ranks.
pub(super) struct Blocks {
    all: Lent,
    each: usize,
}

impl Blocks {
    /// # Safety
    /// As for [`args::buffer`], for as many times `count` elements as there are ranks.
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        count: c_int,
        elements: &Elements,
    ) -> Result<Blocks, Error> {
        // SAFETY: the caller's promise.
        unsafe { Blocks::many(comm.size() as usize, buffer, count, elements) }
    }

    /// As [`Blocks::new`], of so many blocks.
    ///
    /// # Safety
    /// As for [`args::buffer`], for as many times `count` elements as there are blocks.
    pub(super) unsafe fn many(
        blocks: usize,
        buffer: *const c_void,
        count: c_int,
        elements: &Elements,
    ) -> Result<Blocks, Error> {
        let count = args::count(count)?;
        let each = elements.length(count)?;
        let total = count
            .checked_mul(blocks)
            .ok_or(Error::TooLong { bytes: usize::MAX })?;
        // SAFETY: the caller's promise.
        let all = unsafe { elements.at(buffer, total) }?;
        Ok(Blocks { all, each })
    }

    pub(super) fn of(&self, rank: CommRank) -> Area {
        if self.each == 0 {
            Area::EMPTY
        } else {
            let all = Area::from(self.all.span());
            all.part(rank.0 as usize * self.each, self.each)
        }
    }
}

/// Blocks of different lengths at different places: the v-collectives.
pub(super) struct VBlocks<C> {
    /// The longest block, as if it were at rank 0's displacement.
    first: Lent,
    counts: C,
    displs: C,
    size: usize,
}

impl VBlocks<&[c_int]> {
    /// # Safety
    /// `counts` and `displs` are as for [`args::array`], one item a rank; the elements that they and
    /// `base` describe are as for [`args::buffer`].
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        base: *const c_void,
        counts: *const c_int,
        displs: *const c_int,
        elements: Elements,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        unsafe { VBlocks::many(comm.size() as usize, base, counts, displs, elements) }
    }

    /// As [`VBlocks::new`], of so many blocks.
    ///
    /// # Safety
    /// As for [`VBlocks::new`], with one item a block.
    pub(super) unsafe fn many(
        blocks: usize,
        base: *const c_void,
        counts: *const c_int,
        displs: *const c_int,
        elements: Elements,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        let (counts, displs) = unsafe {
            (
                args::array(counts, blocks, "the array of counts")?,
                args::array(displs, blocks, "displs")?,
            )
        };
        let mut most = 0;
        for (&given, displ) in counts.iter().zip(displs) {
            let count = args::count(given)?;
            most = most.max(elements.length(count)?);
            elements.check(base, *displ as isize, count)?;
        }
        let from = displs.first().map_or(0, |displ| *displ as isize);
        // SAFETY: the caller's promise about what is reached from here: the blocks, which have just been checked.
        let first = unsafe { elements.origin(base, from, most) }?;
        let size = elements.size();
        Ok(VBlocks {
            first,
            counts,
            displs,
            size,
        })
    }

    /// With copies of the arrays, for a collective that goes on when its call has returned. The arrays are the program's to
    /// keep until then (MPI-3.1 section 5.12), and programs do not.
    pub(super) fn kept(self) -> Result<VBlocks<Vec<c_int>>, Error> {
        Ok(VBlocks {
            first: self.first,
            counts: exact(self.counts)?,
            displs: exact(self.displs)?,
            size: self.size,
        })
    }
}

impl<C: AsRef<[c_int]>> VBlocks<C> {
    pub(super) fn of(&self, rank: CommRank) -> Area {
        let (at, displs) = (rank.0 as usize, self.displs.as_ref());
        let behind = displs[at] as isize - displs[0] as isize;
        match self.counts.as_ref()[at] as usize * self.size {
            0 => Area::EMPTY,
            bytes => Area::from(self.first.span()).moved(behind * self.size as isize, bytes),
        }
    }
}

/// Blocks of different lengths and datatypes at different places: the w-collectives.
pub(super) struct WBlocks(Vec<Lent>);

impl WBlocks {
    /// So many blocks, each at an item of `displs`, in bytes from `base`.
    ///
    /// # Safety
    /// As for [`WBlocks::new`], with `displs` as for [`args::array`], one item a block.
    pub(super) unsafe fn in_bytes(
        blocks: usize,
        base: *const c_void,
        counts: *const c_int,
        displs: *const c_int,
        types: *const c_int,
    ) -> Result<WBlocks, Error> {
        // SAFETY: the caller's promise.
        unsafe {
            let displs = args::array(displs, blocks, "displs")?;
            let places = displs.iter().map(|displ| *displ as isize);
            WBlocks::new(base, counts, places, types)
        }
    }

    /// As many blocks as `places` has, each so many bytes from `base`.
    ///
    /// # Safety
    /// `counts` and `types` are as for [`args::array`], one item a block; the elements that all these and `base`
    /// describe are as for [`args::buffer`].
    pub(super) unsafe fn new(
        base: *const c_void,
        counts: *const c_int,
        places: impl ExactSizeIterator<Item = isize>,
        types: *const c_int,
    ) -> Result<WBlocks, Error> {
        let many = places.len();
        // SAFETY: the caller's promise.
        let (counts, types) = unsafe {
            (
                args::array(counts, many, "the array of counts")?,
                args::array(types, many, "the array of datatypes")?,
            )
        };
        let mut blocks = coll::room(many)?;
        for ((place, count), datatype) in places.zip(counts).zip(types) {
            let at = match args::is_in_place(base) {
                true => base,
                false => base.wrapping_byte_offset(place),
            };
            // SAFETY: the caller's promise.
            blocks.push(unsafe { args::buffer(at, *count, *datatype) }?);
        }
        Ok(WBlocks(blocks))
    }

    pub(super) fn of(&self, rank: CommRank) -> Area {
        self.0[rank.0 as usize].span().into()
    }
}

/// Blocks of different lengths, one behind the other: what reduce_scatter divides.
pub(super) struct Row<C> {
    all: Lent,
    counts: C,
    size: usize,
}

impl Row<&[c_int]> {
    /// # Safety
    /// `counts` is as for [`args::array`], one item a rank; `buffer` is as for [`args::buffer`], for as
    /// many elements as they add up to.
    pub(super) unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        counts: *const c_int,
        elements: &Elements,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        let counts = unsafe { args::array(counts, comm.size() as usize, "recvcounts") }?;
        let mut total = 0usize;
        for count in counts {
            total = total.saturating_add(args::count(*count)?);
        }
        // SAFETY: the caller's promise.
        let all = unsafe { elements.at(buffer, total) }?;
        Ok(Row::over(all, counts, elements.size()))
    }

    /// As [`VBlocks::kept`].
    pub(super) fn kept(self) -> Result<Row<Vec<c_int>>, Error> {
        Ok(Row::over(self.all, exact(self.counts)?, self.size))
    }
}

impl<C: AsRef<[c_int]>> Row<C> {
    /// Of data that has as many elements of this size as these counts, none of which is negative, add up to.
    pub(super) fn over(all: Lent, counts: C, size: usize) -> Self {
        Row { all, counts, size }
    }

    pub(super) fn of(&self, rank: CommRank) -> Area {
        let (before, from) = self.counts.as_ref().split_at(rank.0 as usize);
        let elements = |counts: &[c_int]| counts.iter().map(|count| *count as usize).sum::<usize>();
        let (offset, len) = (elements(before), elements(&from[..1]));
        match len {
            0 => Area::EMPTY,
            _ => Area::from(self.all.span()).part(offset * self.size, len * self.size),
        }
    }

    /// How many elements this rank gets.
    pub(super) fn count(&self, rank: CommRank) -> usize {
        self.counts.as_ref()[rank.0 as usize] as usize
    }
}
