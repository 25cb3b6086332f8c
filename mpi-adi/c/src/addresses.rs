//! Special buffer addresses.

use core::ffi::c_void;

/// MPI_IN_PLACE, with the value of `mpi.h`.
const IN_PLACE: usize = usize::MAX;

/// Checks whether the buffer is MPI_IN_PLACE (section 5.2.1).
pub fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == IN_PLACE
}
