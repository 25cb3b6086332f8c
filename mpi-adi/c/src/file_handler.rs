//! Default error handler of files, for the calls of chapter 13 (section 13.7).

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use super::comm_objects::ErrorTarget;
use super::error_dispatch::note_errors;
use super::types::constants::{MPI_ERRORS_RETURN, MPI_FILE_NULL};

pub(super) static HANDLER: AtomicI32 = AtomicI32::new(MPI_ERRORS_RETURN);

/// Returns the handler and the file handle that it receives.
pub(super) fn error_target() -> ErrorTarget {
    // The default handler returns errors.
    note_errors();
    ErrorTarget::new(MPI_FILE_NULL, HANDLER.load(Ordering::Relaxed))
}

/// Checks whether files use this error handler.
pub(super) fn have(handler: c_int) -> bool {
    HANDLER.load(Ordering::Relaxed) == handler
}
