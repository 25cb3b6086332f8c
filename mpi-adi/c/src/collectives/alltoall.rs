//! All-to-all (section 5.8).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{EqualBlocks, VectorBlocks};
use crate::comm_objects::inter_calls;
use crate::counts::IntArray;
use crate::datatypes::TypedElements;
use crate::error_dispatch::on_comm;
use crate::inter_calls::{BufferArgs, VectorArgs};
use midplane_objects::coll;

#[inline(always)]
pub unsafe fn MPI_Alltoall(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.alltoall)(
                halves,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
            )
        };
        return (calls.block)("MPI_Alltoall", comm, &mut plan);
    }
    on_comm("MPI_Alltoall", comm, |comm| {
        // SAFETY: the standard's requirements on `recvbuf` (section 5.8).
        let places = unsafe { EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?) }?;
        if args::is_in_place(sendbuf) {
            return coll::alltoall_in_place(comm, "MPI_Alltoall", &|rank| places.area_of(rank));
        }
        // SAFETY: the standard's requirements on `sendbuf` (section 5.8).
        let parts = unsafe { EqualBlocks::new(&comm, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?) }?;
        coll::alltoall(comm, "MPI_Alltoall", &|rank| parts.area_of(rank), &|rank| {
            places.area_of(rank)
        })
    })
}

#[inline(always)]
pub unsafe fn MPI_Alltoallv(
    sendbuf: *const c_void,
    sendcounts: IntArray,
    sdispls: IntArray,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    rdispls: IntArray,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.alltoallv)(
                halves,
                VectorArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls,
                    datatype: sendtype,
                },
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls,
                    datatype: recvtype,
                },
            )
        };
        return (calls.block)("MPI_Alltoallv", comm, &mut plan);
    }
    on_comm("MPI_Alltoallv", comm, |comm| {
        // SAFETY: the standard's requirements on `recvbuf` and its arrays (section 5.8).
        let places = unsafe {
            VectorBlocks::new(
                &comm,
                recvbuf,
                recvcounts,
                rdispls,
                TypedElements::from_handle(recvtype)?,
            )
        }?;
        if args::is_in_place(sendbuf) {
            return coll::alltoall_in_place(comm, "MPI_Alltoallv", &|rank| places.area_of(rank));
        }
        // SAFETY: the standard's requirements on `sendbuf` and its arrays (section 5.8).
        let parts = unsafe {
            VectorBlocks::new(
                &comm,
                sendbuf,
                sendcounts,
                sdispls,
                TypedElements::from_handle(sendtype)?,
            )
        }?;
        coll::alltoall(comm, "MPI_Alltoallv", &|rank| parts.area_of(rank), &|rank| {
            places.area_of(rank)
        })
    })
}
