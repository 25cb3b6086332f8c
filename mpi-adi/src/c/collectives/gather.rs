//! Gather, scatter and allgather (sections 5.5 to 5.7).

use core::ffi::{c_int, c_void};

use crate::c::args;
use crate::c::collectives::blocks::{Blocks, VBlocks};
use crate::c::report::on_comm;
use crate::device::memory::Span;
use crate::mpi::coll;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Gather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Gather", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `sendbuf` (section 5.5).
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            return coll::gather(comm, "MPI_Gather", data, &|_| Span::EMPTY, root);
        }
        // SAFETY: the standard's promise about both buffers at the root (section 5.5).
        let (blocks, data) = unsafe {
            let blocks = Blocks::new(&comm, recvbuf, recvcount, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            (
                blocks,
                if in_place {
                    blocks.of(root)
                } else {
                    args::buffer(sendbuf, sendcount, sendtype)?
                },
            )
        };
        coll::gather(comm, "MPI_Gather", data, &|rank| blocks.of(rank), root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Gatherv(
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
    on_comm("MPI_Gatherv", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `sendbuf` (section 5.5).
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            return coll::gather(comm, "MPI_Gatherv", data, &|_| Span::EMPTY, root);
        }
        // SAFETY: the standard's promise about the buffers and arrays at the root (section 5.5).
        let (places, data) = unsafe {
            let places = VBlocks::new(&comm, recvbuf, recvcounts, displs, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place {
                places.of(root)
            } else {
                args::buffer(sendbuf, sendcount, sendtype)?
            };
            (places, data)
        };
        coll::gather(comm, "MPI_Gatherv", data, &|rank| places.of(rank), root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scatter(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Scatter", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `recvbuf` (section 5.6).
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            return coll::scatter(comm, "MPI_Scatter", &|_| Span::EMPTY, result, root);
        }
        // SAFETY: the standard's promise about both buffers at the root (section 5.6).
        let (blocks, result) = unsafe {
            let blocks = Blocks::new(&comm, sendbuf, sendcount, sendtype)?;
            let in_place = args::is_in_place(recvbuf);
            (
                blocks,
                if in_place {
                    blocks.of(root)
                } else {
                    args::buffer(recvbuf, recvcount, recvtype)?
                },
            )
        };
        coll::scatter(comm, "MPI_Scatter", &|rank| blocks.of(rank), result, root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scatterv(
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
    on_comm("MPI_Scatterv", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `recvbuf` (section 5.6).
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            return coll::scatter(comm, "MPI_Scatterv", &|_| Span::EMPTY, result, root);
        }
        // SAFETY: the standard's promise about the buffers and arrays at the root (section 5.6).
        let (places, result) = unsafe {
            let places = VBlocks::new(&comm, sendbuf, sendcounts, displs, sendtype)?;
            let in_place = args::is_in_place(recvbuf);
            let result = if in_place {
                places.of(root)
            } else {
                args::buffer(recvbuf, recvcount, recvtype)?
            };
            (places, result)
        };
        coll::scatter(comm, "MPI_Scatterv", &|rank| places.of(rank), result, root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Allgather", comm, |comm| {
        // SAFETY: the standard's promise about both buffers (section 5.7).
        let (blocks, data) = unsafe {
            let blocks = Blocks::new(&comm, recvbuf, recvcount, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            (
                blocks,
                if in_place {
                    blocks.of(comm.own_rank())
                } else {
                    args::buffer(sendbuf, sendcount, sendtype)?
                },
            )
        };
        coll::allgather(comm, "MPI_Allgather", data, &|rank| blocks.of(rank))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allgatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Allgatherv", comm, |comm| {
        // SAFETY: the standard's promise about the buffers and arrays (section 5.7).
        let (places, data) = unsafe {
            let places = VBlocks::new(&comm, recvbuf, recvcounts, displs, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place {
                places.of(comm.own_rank())
            } else {
                args::buffer(sendbuf, sendcount, sendtype)?
            };
            (places, data)
        };
        coll::allgather(comm, "MPI_Allgatherv", data, &|rank| places.of(rank))
    })
}
