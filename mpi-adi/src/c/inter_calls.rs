//! The calls that differ on intercommunicators.
//!
//! A function that works on both kinds of communicators hands a call on an intercommunicator over to these. It finds
//! them with the intercommunicator, and the first of those comes from MPI_Intercomm_create: in a program that does
//! not call that, none of this is linked.

use core::ffi::{c_int, c_void};

use crate::mpi::error::Error;

/// `MPI_Gather` and its like.
type Blocks = unsafe extern "C" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// The calls, with the types of the functions that they stand in for; a function of the library's own has its name
/// in errors first, and ends with the new handle.
pub(super) struct Calls {
    pub duplicate: fn(&'static str, c_int) -> Result<c_int, Error>,
    /// By color and key; MPI_COMM_NULL for a process that is in no part.
    pub split: fn(&'static str, c_int, Option<u32>, i32) -> Result<c_int, Error>,
    pub bcast: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int) -> c_int,
    pub gather: Blocks,
    pub gatherv: unsafe extern "C" fn(
        *const c_void,
        c_int,
        c_int,
        *mut c_void,
        *const c_int,
        *const c_int,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub scatter: Blocks,
    pub scatterv: unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const c_int,
        c_int,
        *mut c_void,
        c_int,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub allgather: unsafe extern "C" fn(
        *const c_void,
        c_int,
        c_int,
        *mut c_void,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub allgatherv: unsafe extern "C" fn(
        *const c_void,
        c_int,
        c_int,
        *mut c_void,
        *const c_int,
        *const c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub alltoall: unsafe extern "C" fn(
        *const c_void,
        c_int,
        c_int,
        *mut c_void,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub alltoallv: unsafe extern "C" fn(
        *const c_void,
        *const c_int,
        *const c_int,
        c_int,
        *mut c_void,
        *const c_int,
        *const c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub reduce: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub allreduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, c_int, c_int, c_int, c_int) -> c_int,
    pub reduce_scatter: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        *const c_int,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    pub reduce_scatter_block:
        unsafe extern "C" fn(*const c_void, *mut c_void, c_int, c_int, c_int, c_int) -> c_int,
}
