//! Memory of windows that several processes share (MPI_Win_allocate_shared, section 11.2.3).
//!
//! The processes exchange the sizes of their parts. Rank 0 creates the memory, all map it, and each derives the addresses of
//! all parts. Parts follow one another without gaps, or start at pages if the program permits it
//! (`alloc_shared_noncontig`).

use alloc::vec::Vec;
use core::ffi::c_int;

use midplane_objects::coll::try_with_capacity;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::installed::{SharedMemory, shared_memory};

/// Alignment of parts that need not follow one another.
const PAGE: usize = 4096;

/// A part: its offset and size in bytes, and its unit of displacements.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedPart {
    pub offset: usize,
    pub size: usize,
    pub disp_unit: c_int,
}

/// The mapped memory, and the parts of all processes by rank.
pub(super) struct SharedParts {
    memory: &'static SharedMemory,
    address: usize,
    bytes: usize,
    parts: Vec<SharedPart>,
}

impl Drop for SharedParts {
    fn drop(&mut self) {
        if self.address != 0 {
            (self.memory.unmap)(self.address, self.bytes);
        }
    }
}

const NOT_SHARED: Error = Error::Wrong {
    class: ErrorClass::RmaShared,
    what: "not all processes of the communicator share memory; MPI_Comm_split_type with MPI_COMM_TYPE_SHARED makes \
           communicators of those that do",
};
const TOO_LARGE: Error = Error::Wrong {
    class: ErrorClass::NoMem,
    what: "the parts of the window exceed the memory of the host or of the job",
};

impl SharedParts {
    /// Checks that the processes of a communicator can share memory. Fails with class RmaShared.
    pub fn check(comm: Communicator<'_>) -> Result<(), Error> {
        if comm.size() == 1 || shared_memory().is_some() {
            Ok(())
        } else {
            Err(NOT_SHARED)
        }
    }

    /// Allocates the memory of all processes of the window's communicator; the offset of this process's `part` is computed
    /// here. Blocks until all have called it. A process that
    /// fails here has called all of its collectives. Fails with classes NoMem and RmaShared, at all processes.
    pub fn allocate(
        comm: Communicator<'_>,
        function: &'static str,
        part: SharedPart,
        is_contiguous: bool,
    ) -> Result<SharedParts, Error> {
        let memory = shared_memory().ok_or(NOT_SHARED)?;
        let (own, size_of_comm) = (comm.own_rank().0 as usize, comm.size() as usize);
        let lists =
            try_with_capacity::<[u64; 4]>(size_of_comm).and_then(|cells| Ok((cells, try_with_capacity(size_of_comm)?)));
        let mut all = [u64::from(lists.is_ok())];
        comm.and_masks(function, &mut all)?;
        let (mut cells, parts) = lists?;
        if all == [0] {
            return Err(Error::NoSpaceElsewhere);
        }
        cells.resize(size_of_comm, [0; 4]);
        cells[own] = [
            part.size as u64,
            part.disp_unit as u64,
            is_contiguous.into(),
            memory.host.into(),
        ];
        comm.share_bytes(function, bytemuck::cast_slice_mut(&mut cells))?;
        if cells.iter().any(|[_, _, _, host]| *host != memory.host.into()) {
            return Err(NOT_SHARED);
        }
        let is_contiguous = cells.iter().any(|[_, _, contiguous, _]| *contiguous != 0);
        let mut shared = SharedParts {
            memory,
            address: 0,
            bytes: 0,
            parts,
        };
        let is_in_range = shared.place_parts(&cells, is_contiguous);
        let mut id = [0; 3];
        let created = (own == 0 && is_in_range.is_some()).then(|| (memory.create)(shared.bytes.max(1)));
        if let Some(Some([first, second])) = created {
            id = [1, first, second];
        }
        comm.bcast_bytes(function, bytemuck::cast_slice_mut(&mut id), CommRank(0))?;
        let [is_created, id @ ..] = id;
        if is_created != 0 {
            shared.bytes = shared.bytes.max(1);
            shared.address = (memory.map)(id, shared.bytes).unwrap_or(0);
        }
        // After it all have mapped the memory, or cannot.
        let mut all = [u64::from(shared.address != 0)];
        let agreed = comm.and_masks(function, &mut all);
        if own == 0 && is_created != 0 {
            (memory.close)(id);
        }
        agreed?;
        match all {
            [0] => Err(TOO_LARGE),
            _ => Ok(shared),
        }
    }

    /// Computes the offsets of the parts and the total size. `None`: the size is beyond the address space.
    fn place_parts(&mut self, cells: &[[u64; 4]], is_contiguous: bool) -> Option<()> {
        for [size, unit, ..] in cells {
            if !is_contiguous {
                self.bytes = self.bytes.checked_next_multiple_of(PAGE)?;
            }
            self.parts.push(SharedPart {
                offset: self.bytes,
                size: *size as usize,
                disp_unit: *unit as c_int,
            });
            self.bytes = self.bytes.checked_add(*size as usize)?;
        }
        (self.bytes <= isize::MAX as usize).then_some(())
    }

    /// Returns the address of the part of `rank`, and the part. `None`: the first one that is not empty.
    pub fn part(&self, rank: Option<CommRank>) -> (usize, SharedPart) {
        let part = match rank {
            Some(rank) => self.parts.get(rank.0 as usize),
            None => self.parts.iter().find(|part| part.size > 0).or(self.parts.first()),
        };
        let none = SharedPart {
            offset: 0,
            size: 0,
            disp_unit: 1,
        };
        let part = part.copied().unwrap_or(none);
        (self.address + part.offset, part)
    }
}
