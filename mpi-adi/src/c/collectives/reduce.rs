//! Reductions to one rank, to all, here alone, and scattered (sections 5.9 and 5.10).

use core::ffi::{c_int, c_void};

use crate::c::args;
use crate::c::collectives::blocks::{Blocks, Row};
use crate::c::collectives::op::with_operation;
use crate::c::report::{on_comm, on_process};
use crate::device::memory::Span;
use crate::mpi::coll;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

/// A reduction's data and result: MPI_IN_PLACE as `sendbuf` says that the data is in `recvbuf`.
///
/// # Safety
/// As for [`args::buffer`], both.
pub(super) unsafe fn data_and_result(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
) -> Result<(Span, Span), Error> {
    // SAFETY: the caller's promise.
    let result = unsafe { args::buffer(recvbuf, count, datatype) }?;
    if args::is_in_place(sendbuf) {
        return Ok((result, result));
    }
    // SAFETY: the caller's promise.
    Ok((unsafe { args::buffer(sendbuf, count, datatype) }?, result))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Reduce", comm, |comm| {
        args::length(count, datatype)?;
        let root = args::root(&comm, root)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.1); `recvbuf` and
            // MPI_IN_PLACE have a meaning at the root alone.
            let (data, result) = unsafe {
                if comm.own_rank() == root {
                    data_and_result(sendbuf, recvbuf, count, datatype)?
                } else {
                    (args::buffer(sendbuf, count, datatype)?, Span::EMPTY)
                }
            };
            coll::reduce(comm, "MPI_Reduce", data, result, element, combine, root)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Allreduce", comm, |comm| {
        args::length(count, datatype)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.6).
            let (data, result) = unsafe { data_and_result(sendbuf, recvbuf, count, datatype) }?;
            coll::allreduce(comm, "MPI_Allreduce", data, result, element, combine)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
) -> c_int {
    on_process("MPI_Reduce_local", |env| {
        args::length(count, datatype)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.7).
            let (left, right) = unsafe {
                (
                    args::buffer(inbuf, count, datatype)?,
                    args::buffer(inoutbuf, count, datatype)?,
                )
            };
            coll::combine_local(Communicator::own(env), left, right, element, combine);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Reduce_scatter", comm, |comm| {
        with_operation(op, datatype, |element, combine| {
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place { recvbuf } else { sendbuf };
            // SAFETY: the standard's promise about the buffers and `recvcounts` (section 5.10).
            let (row, result) = unsafe {
                let row = Row::new(&comm, data, recvcounts, datatype)?;
                let result = args::bytes(recvbuf, row.of(comm.own_rank()).len())?;
                (row, result)
            };
            let place = if in_place {
                row.of(comm.own_rank())
            } else {
                result
            };
            coll::reduce_scatter(
                comm,
                "MPI_Reduce_scatter",
                &|rank| row.of(rank),
                (place, result),
                element,
                combine,
            )
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Reduce_scatter_block", comm, |comm| {
        with_operation(op, datatype, |element, combine| {
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place { recvbuf } else { sendbuf };
            // SAFETY: the standard's promise about the buffers (section 5.10).
            let (blocks, result) = unsafe {
                (
                    Blocks::new(&comm, data, recvcount, datatype)?,
                    args::buffer(recvbuf, recvcount, datatype)?,
                )
            };
            let own = blocks.of(comm.own_rank());
            let place = if in_place { own } else { result };
            coll::reduce_scatter(
                comm,
                "MPI_Reduce_scatter_block",
                &|rank| blocks.of(rank),
                (place, result),
                element,
                combine,
            )
        })
    })
}
