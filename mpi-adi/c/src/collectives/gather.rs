//! Gather, scatter and allgather (sections 5.5 to 5.7).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{EqualBlocks, OwnBlock, VectorBlocks};
use crate::comm_objects::inter_calls;
use crate::counts::IntArray;
use crate::datatypes::TypedElements;
use crate::error_dispatch::on_comm;
use crate::inter_calls::{BufferArgs, VectorArgs};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll;

#[inline(always)]
pub unsafe fn MPI_Gather(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.gather)(
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
                root,
            )
        };
        return (calls.block)("MPI_Gather", comm, &mut plan);
    }
    on_comm("MPI_Gather", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's requirements on `sendbuf` (section 5.5).
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            return coll::gather(comm, "MPI_Gather", data.span().into(), &|_| BufferSlice::EMPTY, root);
        }
        // SAFETY: the standard's requirements on both buffers at the root (section 5.5).
        let (blocks, own) = unsafe {
            let blocks = EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?)?;
            let own = OwnBlock::new(
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                || blocks.area_of(root),
            )?;
            (blocks, own)
        };
        coll::gather(comm, "MPI_Gather", own.area(), &|rank| blocks.area_of(rank), root)
    })
}

#[inline(always)]
pub unsafe fn MPI_Gatherv(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.gatherv)(
                halves,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs,
                    datatype: recvtype,
                },
                root,
            )
        };
        return (calls.block)("MPI_Gatherv", comm, &mut plan);
    }
    on_comm("MPI_Gatherv", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's requirements on `sendbuf` (section 5.5).
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            return coll::gather(comm, "MPI_Gatherv", data.span().into(), &|_| BufferSlice::EMPTY, root);
        }
        // SAFETY: the standard's requirements on the buffers and arrays at the root (section 5.5).
        let (places, own) = unsafe {
            let places = VectorBlocks::new(
                &comm,
                recvbuf,
                recvcounts,
                displs,
                TypedElements::from_handle(recvtype)?,
            )?;
            let own = OwnBlock::new(
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                || places.area_of(root),
            )?;
            (places, own)
        };
        coll::gather(comm, "MPI_Gatherv", own.area(), &|rank| places.area_of(rank), root)
    })
}

#[inline(always)]
pub unsafe fn MPI_Scatter(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.scatter)(
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
                root,
            )
        };
        return (calls.block)("MPI_Scatter", comm, &mut plan);
    }
    on_comm("MPI_Scatter", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's requirements on `recvbuf` (section 5.6).
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            return coll::scatter(comm, "MPI_Scatter", &|_| BufferSlice::EMPTY, result.span().into(), root);
        }
        // SAFETY: the standard's requirements on both buffers at the root (section 5.6).
        let (blocks, own) = unsafe {
            let blocks = EqualBlocks::new(&comm, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?)?;
            let own = OwnBlock::new(
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                || blocks.area_of(root),
            )?;
            (blocks, own)
        };
        coll::scatter(comm, "MPI_Scatter", &|rank| blocks.area_of(rank), own.area(), root)
    })
}

#[inline(always)]
pub unsafe fn MPI_Scatterv(
    sendbuf: *const c_void,
    sendcounts: IntArray,
    displs: IntArray,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.scatterv)(
                halves,
                VectorArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs,
                    datatype: sendtype,
                },
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                root,
            )
        };
        return (calls.block)("MPI_Scatterv", comm, &mut plan);
    }
    on_comm("MPI_Scatterv", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's requirements on `recvbuf` (section 5.6).
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            return coll::scatter(
                comm,
                "MPI_Scatterv",
                &|_| BufferSlice::EMPTY,
                result.span().into(),
                root,
            );
        }
        // SAFETY: the standard's requirements on the buffers and arrays at the root (section 5.6).
        let (places, own) = unsafe {
            let places = VectorBlocks::new(
                &comm,
                sendbuf,
                sendcounts,
                displs,
                TypedElements::from_handle(sendtype)?,
            )?;
            let own = OwnBlock::new(
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                || places.area_of(root),
            )?;
            (places, own)
        };
        coll::scatter(comm, "MPI_Scatterv", &|rank| places.area_of(rank), own.area(), root)
    })
}

#[inline(always)]
pub unsafe fn MPI_Allgather(
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
            (calls.allgather)(
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
        return (calls.block)("MPI_Allgather", comm, &mut plan);
    }
    on_comm("MPI_Allgather", comm, |comm| {
        // SAFETY: the standard's requirements on both buffers (section 5.7).
        let (blocks, own) = unsafe {
            let blocks = EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?)?;
            let own = OwnBlock::new(
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                || blocks.area_of(comm.own_rank()),
            )?;
            (blocks, own)
        };
        coll::allgather(comm, "MPI_Allgather", own.area(), &|rank| blocks.area_of(rank))
    })
}

#[inline(always)]
pub unsafe fn MPI_Allgatherv(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.allgatherv)(
                halves,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs,
                    datatype: recvtype,
                },
            )
        };
        return (calls.block)("MPI_Allgatherv", comm, &mut plan);
    }
    on_comm("MPI_Allgatherv", comm, |comm| {
        // SAFETY: the standard's requirements on the buffers and arrays (section 5.7).
        let (places, own) = unsafe {
            let places = VectorBlocks::new(
                &comm,
                recvbuf,
                recvcounts,
                displs,
                TypedElements::from_handle(recvtype)?,
            )?;
            let own = OwnBlock::new(
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                || places.area_of(comm.own_rank()),
            )?;
            (places, own)
        };
        coll::allgather(comm, "MPI_Allgatherv", own.area(), &|rank| places.area_of(rank))
    })
}
