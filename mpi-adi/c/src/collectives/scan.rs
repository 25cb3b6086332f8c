//! Prefix reductions (section 5.11).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::op::with_operation;
use crate::collectives::reduce::{DataAndResult, ReduceArgs};
use crate::error_dispatch::on_comm;
use midplane_objects::coll;

/// Runs a prefix reduction.
///
/// # Safety
/// See [`DataAndResult::new`].
unsafe fn scan(function: &'static str, inclusive: bool, args: ReduceArgs) -> c_int {
    let ReduceArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
    } = args;
    on_comm(function, comm, |comm| {
        args::count(count)?;
        with_operation(Some(comm), op, datatype, |elements, combine| {
            // SAFETY: guaranteed by the caller.
            let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, elements) }?;
            coll::scan(comm, function, both.areas(), elements.size(), combine, inclusive)
        })
    })
}

#[inline(always)]
pub unsafe fn MPI_Scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: isize,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers (section 5.11).
    unsafe {
        scan(
            "MPI_Scan",
            true,
            ReduceArgs {
                sendbuf,
                recvbuf,
                count,
                datatype,
                op,
                comm,
            },
        )
    }
}

#[inline(always)]
pub unsafe fn MPI_Exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: isize,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers (section 5.11).
    unsafe {
        scan(
            "MPI_Exscan",
            false,
            ReduceArgs {
                sendbuf,
                recvbuf,
                count,
                datatype,
                op,
                comm,
            },
        )
    }
}
