//! The default error handler of files, by which the calls of chapter 13 go (section 13.7).

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use super::comm_objects::Blame;
use super::report::note_errors;
use super::types::constants::{MPI_ERRORS_RETURN, MPI_FILE_NULL};

pub(super) static HANDLER: AtomicI32 = AtomicI32::new(MPI_ERRORS_RETURN);

/// The handler, with what its function is given as the file.
pub(super) fn blame() -> Blame {
    // It returns errors from the start.
    note_errors();
    Blame::new(MPI_FILE_NULL, HANDLER.load(Ordering::Relaxed))
}

/// Whether files have this error handler.
pub(super) fn have(handler: c_int) -> bool {
    HANDLER.load(Ordering::Relaxed) == handler
}
