//! Default error handler of files: that of MPI_FILE_NULL, which each new file has (section 13.7).

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use crate::comm_objects::ErrorTarget;
use crate::error_dispatch::note_errors;
use crate::types::constants::{MPI_ERRORS_RETURN, MPI_FILE_NULL};

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_file_handler")]
pub(super) static HANDLER: AtomicI32 = AtomicI32::new(MPI_ERRORS_RETURN);

/// Returns the handler and the file handle that it receives.
pub(super) fn error_target() -> ErrorTarget {
    // The default handler returns errors.
    note_errors();
    ErrorTarget::new(MPI_FILE_NULL, HANDLER.load(Ordering::Relaxed))
}

/// Checks whether new files get this error handler.
pub(crate) fn have_handler(handler: c_int) -> bool {
    HANDLER.load(Ordering::Relaxed) == handler
}
