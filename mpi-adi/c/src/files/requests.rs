//! Requests of nonblocking calls on files: complete from the start, with their status.

use core::ffi::c_int;

use spin::Mutex;

use crate::handles::{HandleKind, HandleTable};
use crate::requests::{CompletedRequest, FILES, FamilyEntry, RequestFamily, enter_family, with_status};
use crate::types::MPI_Status;
use midplane_objects::error::{Error, LimitedResource};

const KIND: HandleKind = HandleKind {
    name: LimitedResource::WindowRequests,
    tag: FILES,
    place_bits: 16,
    generation_bits: 11,
    limit: 1 << 16,
};

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_file_request_table")]
static TABLE: Mutex<HandleTable<MPI_Status>> = Mutex::new(HandleTable::new(KIND));

struct FileFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_file_requests")]
static FAMILY: FamilyEntry = FamilyEntry::new(FILES, &FileFamily);

impl RequestFamily for FileFamily {
    fn has(&self, handle: c_int) -> bool {
        TABLE.lock().get(handle).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        TABLE.lock().get(handle).copied().map(with_status)
    }

    fn forget(&self, handle: c_int) {
        TABLE.lock().remove(handle);
    }

    fn free(&self, handle: c_int) -> Result<(), Error> {
        self.forget(handle);
        Ok(())
    }

    fn cancel(&self, _: c_int) -> Result<(), Error> {
        // The request is complete: the cancel comes too late (section 3.8.4).
        Ok(())
    }
}

/// Creates a request with this status; returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
pub(super) fn completed_request(status: MPI_Status) -> Result<c_int, Error> {
    enter_family(&FAMILY);
    TABLE.lock().add(status)
}
