//! Prefix reductions (section 5.11).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::op::with_operation;
use crate::collectives::reduce::DataAndResult;
use crate::error_dispatch::on_comm;
use midplane_objects::coll;

/// Runs a prefix reduction.
///
/// # Safety
/// See [`DataAndResult::new`].
unsafe fn scan(
    function: &'static str,
    inclusive: bool,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    (count, datatype, op, comm): (c_int, c_int, c_int, c_int),
) -> c_int {
    on_comm(function, comm, |comm| {
        args::count(count)?;
        with_operation(Some(comm), op, datatype, |elements, combine| {
            // SAFETY: guaranteed by the caller.
            let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, elements) }?;
            coll::scan(
                comm,
                function,
                both.areas(),
                elements.size(),
                combine,
                inclusive,
            )
        })
    })
}

pub unsafe fn MPI_Scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers (section 5.11).
    unsafe {
        scan(
            "MPI_Scan",
            true,
            (sendbuf, recvbuf),
            (count, datatype, op, comm),
        )
    }
}

pub unsafe fn MPI_Exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers (section 5.11).
    unsafe {
        scan(
            "MPI_Exscan",
            false,
            (sendbuf, recvbuf),
            (count, datatype, op, comm),
        )
    }
}
