//! Neighbourhood collectives (sections 7.6 and 7.7), blocking and nonblocking.
//!
//! All use the same exchange, and differ in the locations of the parts. A blocking one starts the exchange and waits.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{Blocks, VBlocks, WBlocks};
use crate::collectives::under_way::{block, start};
use crate::datatypes::Elements;
use crate::inter_calls::{Given, GivenV};
use crate::kept;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::{Plan, plans};
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;
use midplane_objects::topology::Neighbours;

/// Returns the neighbours of this process in the topology of its communicator. Fails with [`Error::Wrong`] or
/// [`Error::NoRoom`].
fn neighbours(comm: &Communicator<'_>) -> Result<Neighbours, Error> {
    kept::with_topology(comm.membership().context, |topology| {
        Neighbours::of(comm.own_rank(), topology)
    })
}

/// Blocks with individual datatypes: address, counts, displacements in bytes and datatypes.
type GivenW = (*const c_void, *const c_int, *const isize, *const c_int);

/// # Safety
/// See [`Blocks::many`].
unsafe fn blocks((buffer, count, datatype): Given, many: usize) -> Result<Blocks, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { Blocks::many(many, buffer, count, &Elements::of(datatype)?) }
}

/// # Safety
/// See [`VBlocks::many`].
unsafe fn v_blocks(
    (buffer, counts, displs, datatype): GivenV,
    many: usize,
) -> Result<VBlocks<Vec<c_int>>, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { VBlocks::many(many, buffer, counts, displs, Elements::of(datatype)?) }?.kept()
}

/// # Safety
/// See [`WBlocks::new`]; `displs` must satisfy [`args::array`].
unsafe fn w_blocks((buffer, counts, displs, types): GivenW, many: usize) -> Result<WBlocks, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let displs = args::array(displs, many, "displs")?;
        WBlocks::new(buffer, counts, displs.iter().copied(), types)
    }
}

/// Creates the plan of an exchange with the same data for all destinations.
///
/// # Safety
/// The buffer must satisfy [`args::buffer`]. The requirements of `places`, called with the number of blocks, apply.
unsafe fn allgather<P: Send + 'static>(
    comm: Communicator<'_>,
    (buffer, count, datatype): Given,
    places: impl FnOnce(usize) -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<Plan, Error> {
    let neighbours = neighbours(&comm)?;
    // SAFETY: guaranteed by the caller.
    let data = unsafe { args::buffer(buffer, count, datatype) }?;
    let places = places(neighbours.sources.len())?;
    let area = BufferSlice::from(data.span());
    let (from, to) = neighbours.messages(|_| area, |at| of(&places, at))?;
    plans::neighbours(from, to, (data, places))
}

/// Creates the plan of an exchange with individual data for each destination. Both functions are called with the number
/// of blocks.
fn alltoall<P: Send + 'static>(
    comm: Communicator<'_>,
    parts: impl FnOnce(usize) -> Result<P, Error>,
    places: impl FnOnce(usize) -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<Plan, Error> {
    let neighbours = neighbours(&comm)?;
    let parts = parts(neighbours.destinations.len())?;
    let places = places(neighbours.sources.len())?;
    let (from, to) = neighbours.messages(|at| of(&parts, at), |at| of(&places, at))?;
    plans::neighbours(from, to, (parts, places))
}

pub unsafe fn MPI_Neighbor_allgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.1).
    unsafe {
        let places = |many| blocks((recvbuf, recvcount, recvtype), many);
        let plan = |comm| allgather(comm, (sendbuf, sendcount, sendtype), places, Blocks::of);
        block("MPI_Neighbor_allgather", comm, plan)
    }
}

pub unsafe fn MPI_Ineighbor_allgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.1) and `request`.
    unsafe {
        let places = |many| blocks((recvbuf, recvcount, recvtype), many);
        let plan = |comm| allgather(comm, (sendbuf, sendcount, sendtype), places, Blocks::of);
        start("MPI_Ineighbor_allgather", comm, request, plan)
    }
}

pub unsafe fn MPI_Neighbor_allgatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.1).
    unsafe {
        let places = |many| v_blocks((recvbuf, recvcounts, displs, recvtype), many);
        let plan = |comm| allgather(comm, (sendbuf, sendcount, sendtype), places, VBlocks::of);
        block("MPI_Neighbor_allgatherv", comm, plan)
    }
}

pub unsafe fn MPI_Ineighbor_allgatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.1) and `request`.
    unsafe {
        let places = |many| v_blocks((recvbuf, recvcounts, displs, recvtype), many);
        let plan = |comm| allgather(comm, (sendbuf, sendcount, sendtype), places, VBlocks::of);
        start("MPI_Ineighbor_allgatherv", comm, request, plan)
    }
}

pub unsafe fn MPI_Neighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.2).
    unsafe {
        let places = |many| blocks((recvbuf, recvcount, recvtype), many);
        let parts = |many| blocks((sendbuf, sendcount, sendtype), many);
        let plan = |comm| alltoall(comm, parts, places, Blocks::of);
        block("MPI_Neighbor_alltoall", comm, plan)
    }
}

pub unsafe fn MPI_Ineighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.2) and `request`.
    unsafe {
        let places = |many| blocks((recvbuf, recvcount, recvtype), many);
        let parts = |many| blocks((sendbuf, sendcount, sendtype), many);
        let plan = |comm| alltoall(comm, parts, places, Blocks::of);
        start("MPI_Ineighbor_alltoall", comm, request, plan)
    }
}

pub unsafe fn MPI_Neighbor_alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.2).
    unsafe {
        let places = |many| v_blocks((recvbuf, recvcounts, rdispls, recvtype), many);
        let parts = |many| v_blocks((sendbuf, sendcounts, sdispls, sendtype), many);
        let plan = |comm| alltoall(comm, parts, places, VBlocks::of);
        block("MPI_Neighbor_alltoallv", comm, plan)
    }
}

pub unsafe fn MPI_Ineighbor_alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.2) and `request`.
    unsafe {
        let places = |many| v_blocks((recvbuf, recvcounts, rdispls, recvtype), many);
        let parts = |many| v_blocks((sendbuf, sendcounts, sdispls, sendtype), many);
        let plan = |comm| alltoall(comm, parts, places, VBlocks::of);
        start("MPI_Ineighbor_alltoallv", comm, request, plan)
    }
}

pub unsafe fn MPI_Neighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const isize,
    sendtypes: *const c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const isize,
    recvtypes: *const c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.2).
    unsafe {
        let places = |many| w_blocks((recvbuf, recvcounts, rdispls, recvtypes), many);
        let parts = |many| w_blocks((sendbuf, sendcounts, sdispls, sendtypes), many);
        let plan = |comm| alltoall(comm, parts, places, WBlocks::of);
        block("MPI_Neighbor_alltoallw", comm, plan)
    }
}

pub unsafe fn MPI_Ineighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const isize,
    sendtypes: *const c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const isize,
    recvtypes: *const c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.2) and `request`.
    unsafe {
        let places = |many| w_blocks((recvbuf, recvcounts, rdispls, recvtypes), many);
        let parts = |many| w_blocks((sendbuf, sendcounts, sdispls, sendtypes), many);
        let plan = |comm| alltoall(comm, parts, places, WBlocks::of);
        start("MPI_Ineighbor_alltoallw", comm, request, plan)
    }
}
