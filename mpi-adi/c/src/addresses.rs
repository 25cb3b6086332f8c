//! Special addresses, with the values of `mpi.h` (MPI-5.0 chapter 20).

use core::ffi::c_void;

/// MPI_IN_PLACE.
pub const IN_PLACE: usize = 1;
/// MPI_BUFFER_AUTOMATIC.
pub const BUFFER_AUTOMATIC: usize = 2;
/// MPI_UNWEIGHTED.
pub const UNWEIGHTED: usize = 10;
/// MPI_WEIGHTS_EMPTY.
pub const WEIGHTS_EMPTY: usize = 11;
/// MPI_COMM_DUP_FN, and the functions of datatypes and windows with the same effect. The functions that copy or delete
/// nothing are null.
pub const DUP_FN: usize = 1;

/// Checks whether the buffer is MPI_IN_PLACE (section 5.2.1).
pub fn is_in_place(buffer: *const c_void) -> bool {
    buffer.addr() == IN_PLACE
}
