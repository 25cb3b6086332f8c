//! Gather, scatter and allgather (sections 5.5 to 5.7).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{Blocks, Own, VBlocks};
use crate::comm_objects::inter_calls;
use crate::datatypes::Elements;
use crate::report::on_comm;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll;

pub unsafe fn MPI_Gather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.gather)(
                halves,
                (sendbuf, sendcount, sendtype),
                (recvbuf, recvcount, recvtype),
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
            return coll::gather(
                comm,
                "MPI_Gather",
                data.span().into(),
                &|_| BufferSlice::EMPTY,
                root,
            );
        }
        // SAFETY: the standard's requirements on both buffers at the root (section 5.5).
        let (blocks, own) = unsafe {
            let blocks = Blocks::new(&comm, recvbuf, recvcount, &Elements::of(recvtype)?)?;
            let own = Own::new((sendbuf, sendcount, sendtype), || blocks.of(root))?;
            (blocks, own)
        };
        coll::gather(
            comm,
            "MPI_Gather",
            own.area(),
            &|rank| blocks.of(rank),
            root,
        )
    })
}

pub unsafe fn MPI_Gatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.gatherv)(
                halves,
                (sendbuf, sendcount, sendtype),
                (recvbuf, recvcounts, displs, recvtype),
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
            return coll::gather(
                comm,
                "MPI_Gatherv",
                data.span().into(),
                &|_| BufferSlice::EMPTY,
                root,
            );
        }
        // SAFETY: the standard's requirements on the buffers and arrays at the root (section 5.5).
        let (places, own) = unsafe {
            let places = VBlocks::new(&comm, recvbuf, recvcounts, displs, Elements::of(recvtype)?)?;
            let own = Own::new((sendbuf, sendcount, sendtype), || places.of(root))?;
            (places, own)
        };
        coll::gather(
            comm,
            "MPI_Gatherv",
            own.area(),
            &|rank| places.of(rank),
            root,
        )
    })
}

pub unsafe fn MPI_Scatter(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.scatter)(
                halves,
                (sendbuf, sendcount, sendtype),
                (recvbuf, recvcount, recvtype),
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
            return coll::scatter(
                comm,
                "MPI_Scatter",
                &|_| BufferSlice::EMPTY,
                result.span().into(),
                root,
            );
        }
        // SAFETY: the standard's requirements on both buffers at the root (section 5.6).
        let (blocks, own) = unsafe {
            let blocks = Blocks::new(&comm, sendbuf, sendcount, &Elements::of(sendtype)?)?;
            let own = Own::new((recvbuf, recvcount, recvtype), || blocks.of(root))?;
            (blocks, own)
        };
        coll::scatter(
            comm,
            "MPI_Scatter",
            &|rank| blocks.of(rank),
            own.area(),
            root,
        )
    })
}

pub unsafe fn MPI_Scatterv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    displs: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.scatterv)(
                halves,
                (sendbuf, sendcounts, displs, sendtype),
                (recvbuf, recvcount, recvtype),
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
            let places = VBlocks::new(&comm, sendbuf, sendcounts, displs, Elements::of(sendtype)?)?;
            let own = Own::new((recvbuf, recvcount, recvtype), || places.of(root))?;
            (places, own)
        };
        coll::scatter(
            comm,
            "MPI_Scatterv",
            &|rank| places.of(rank),
            own.area(),
            root,
        )
    })
}

pub unsafe fn MPI_Allgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.allgather)(
                halves,
                (sendbuf, sendcount, sendtype),
                (recvbuf, recvcount, recvtype),
            )
        };
        return (calls.block)("MPI_Allgather", comm, &mut plan);
    }
    on_comm("MPI_Allgather", comm, |comm| {
        // SAFETY: the standard's requirements on both buffers (section 5.7).
        let (blocks, own) = unsafe {
            let blocks = Blocks::new(&comm, recvbuf, recvcount, &Elements::of(recvtype)?)?;
            let own = Own::new((sendbuf, sendcount, sendtype), || {
                blocks.of(comm.own_rank())
            })?;
            (blocks, own)
        };
        coll::allgather(comm, "MPI_Allgather", own.area(), &|rank| blocks.of(rank))
    })
}

pub unsafe fn MPI_Allgatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.allgatherv)(
                halves,
                (sendbuf, sendcount, sendtype),
                (recvbuf, recvcounts, displs, recvtype),
            )
        };
        return (calls.block)("MPI_Allgatherv", comm, &mut plan);
    }
    on_comm("MPI_Allgatherv", comm, |comm| {
        // SAFETY: the standard's requirements on the buffers and arrays (section 5.7).
        let (places, own) = unsafe {
            let places = VBlocks::new(&comm, recvbuf, recvcounts, displs, Elements::of(recvtype)?)?;
            let own = Own::new((sendbuf, sendcount, sendtype), || {
                places.of(comm.own_rank())
            })?;
            (places, own)
        };
        coll::allgather(comm, "MPI_Allgatherv", own.area(), &|rank| places.of(rank))
    })
}
