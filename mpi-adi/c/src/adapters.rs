//! Adapters of callbacks, and functions of the library for programs with another ABI (`midplane lib` builds it). Only it
//! links them.
//!
//! Such a program's handles and error codes differ from those of `mpi.h`. An adapter is a function of its library. The
//! binding calls it instead of the callback, which is its first argument; it converts the other arguments, and calls the
//! callback. The library creates an object with the callback of the program, and then installs the adapter of the object.

use core::ffi::c_int;

use super::collectives::{CountArray, array_length, store_at_completion};
use super::entries::{MPI_Comm_idup, MPI_Comm_idup_with_info};
use super::error_dispatch::{self, ErrorAdapter};
use super::keyvals::{self, CopyAdapter, DeleteAdapter};
use super::types::Handle;
use super::user_ops::{self, OpAdapter};

/// Installs the adapter of an operation that the program has just created.
///
/// # Safety
/// It must be callable with each function of the program.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_adapt_operation(op: Handle, adapter: OpAdapter) {
    user_ops::adapt(op.value(), adapter);
}

/// Installs the adapter of an error handler that the program has just created.
///
/// # Safety
/// As for [`midplane_adapt_operation`].
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_adapt_errhandler(errhandler: Handle, adapter: ErrorAdapter) {
    error_dispatch::adapt(errhandler.value(), adapter);
}

/// Installs the adapters of a key that the program has just created.
///
/// # Safety
/// As for [`midplane_adapt_operation`].
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_adapt_keyval(keyval: c_int, copy: CopyAdapter, delete: DeleteAdapter) {
    keyvals::adapt(keyval, (copy, delete));
}

/// Returns the length of an array with an item for each process that the caller sends to (`is_sent`) or receives from, in a
/// call on `comm`: of its group, or of its neighbourhood.
#[unsafe(no_mangle)]
extern "C" fn midplane_partners(comm: Handle, is_neighbourhood: c_int, is_sent: c_int) -> usize {
    let array = match (is_neighbourhood, is_sent) {
        (0, _) => CountArray::Partners,
        (_, 0) => CountArray::Sources,
        _ => CountArray::Destinations,
    };
    array_length(comm.value(), array)
}

/// Implements MPI_Comm_idup, or MPI_Comm_idup_with_info if `info` is not null. `store` writes the handle at its completion.
///
/// # Safety
/// `newcomm` must satisfy `store` until the request completes; the standard's requirements on the other arguments.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_comm_idup(
    comm: Handle,
    info: *const Handle,
    newcomm: *mut c_int,
    request: *mut Handle,
    store: unsafe extern "C" fn(*mut c_int, Handle),
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match info.as_ref() {
            None => store_at_completion("MPI_Comm_idup", newcomm, store, |newcomm| {
                (MPI_Comm_idup(comm, newcomm, request), (*request).value())
            }),
            Some(info) => store_at_completion("MPI_Comm_idup_with_info", newcomm, store, |newcomm| {
                let code = MPI_Comm_idup_with_info(comm, *info, newcomm, request);
                (code, (*request).value())
            }),
        }
    }
}
