//! Addresses that stand for no buffer.

use core::ffi::c_void;

/// MPI_IN_PLACE, as `mpi.h` has it.
const IN_PLACE: usize = usize::MAX;

/// The buffer is MPI_IN_PLACE (section 5.2.1).
pub fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == IN_PLACE
}
