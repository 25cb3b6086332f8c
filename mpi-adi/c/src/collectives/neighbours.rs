//! Neighbourhood collectives (sections 7.6 and 7.7), blocking, nonblocking and persistent (MPI-4.0 section 8.8).
//!
//! All use the same exchange, and differ in the locations of the parts. A blocking one starts the exchange and waits.

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::arguments::{CollectiveArgs, RequestTarget};
use crate::collectives::blocks::{EqualBlocks, MixedTypeBlocks, VectorBlocks};
use crate::collectives::in_flight::{block, start};
use crate::collectives::persistent::entries;
use crate::comm_objects::CommViews;
use crate::comm_state;
use crate::counts::{IntArray, KeptInts};
use crate::datatypes::TypedElements;
use crate::inter_calls::{BufferArgs, VectorArgs};
use crate::types::Handle;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::{CollectiveSchedule, nonblocking};
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;
use midplane_objects::process::Env;
use midplane_objects::topology::NeighbourLists;

/// Returns the neighbours of this process in the topology of its communicator. Fails with [`Error::Wrong`] or
/// [`Error::NoSpace`].
fn neighbours(comm: &Communicator<'_>) -> Result<NeighbourLists, Error> {
    comm_state::with_topology(comm.membership().context, |topology| {
        NeighbourLists::from_topology(comm.own_rank(), topology)
    })
}

/// Returns the numbers of destinations and sources.
fn degrees(env: &'static dyn Env, views: &CommViews) -> Result<(usize, usize), Error> {
    let neighbours = neighbours(&Communicator::at(env, views.local))?;
    Ok((neighbours.destinations.len(), neighbours.sources.len()))
}

/// Blocks with individual datatypes: address, counts, displacements in bytes and datatypes.
#[derive(Clone, Copy)]
struct NeighbourArgs {
    buffer: *const c_void,
    counts: IntArray,
    displs: IntArray,
    types: *const Handle,
}

/// # Safety
/// See [`EqualBlocks::with_count`].
unsafe fn blocks(
    BufferArgs {
        buffer,
        count,
        datatype,
    }: BufferArgs,
    many: usize,
) -> Result<EqualBlocks, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { EqualBlocks::with_count(many, buffer, count, &TypedElements::from_handle(datatype)?) }
}

/// # Safety
/// See [`VectorBlocks::with_count`].
unsafe fn v_blocks(
    VectorArgs {
        buffer,
        counts,
        displs,
        datatype,
    }: VectorArgs,
    many: usize,
) -> Result<VectorBlocks<KeptInts>, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { VectorBlocks::with_count(many, buffer, counts, displs, TypedElements::from_handle(datatype)?) }?.kept()
}

/// # Safety
/// See [`MixedTypeBlocks::new`]; `displs` must satisfy [`args::array`].
unsafe fn w_blocks(
    NeighbourArgs {
        buffer,
        counts,
        displs,
        types,
    }: NeighbourArgs,
    many: usize,
) -> Result<MixedTypeBlocks, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let displs = displs.items(many, "displs")?;
        MixedTypeBlocks::new(buffer, counts, displs.iter(), types)
    }
}

/// Creates the plan of an exchange with the same data for all destinations.
///
/// # Safety
/// The buffer must satisfy [`args::buffer`]. The requirements of `places`, called with the number of blocks, apply.
unsafe fn allgather<P: Send + 'static>(
    comm: Communicator<'_>,
    BufferArgs {
        buffer,
        count,
        datatype,
    }: BufferArgs,
    places: impl FnOnce(usize) -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<CollectiveSchedule, Error> {
    let neighbours = neighbours(&comm)?;
    // SAFETY: guaranteed by the caller.
    let data = unsafe { args::buffer(buffer, count, datatype) }?;
    let places = places(neighbours.sources.len())?;
    let area = BufferSlice::from(data.span());
    let (from, to) = neighbours.messages(|_| area, |at| of(&places, at))?;
    nonblocking::neighbours(from, to, (data, places))
}

/// Creates the plan of an exchange with individual data for each destination. Both functions are called with the number
/// of blocks.
fn alltoall<P: Send + 'static>(
    comm: Communicator<'_>,
    parts: impl FnOnce(usize) -> Result<P, Error>,
    places: impl FnOnce(usize) -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<CollectiveSchedule, Error> {
    let neighbours = neighbours(&comm)?;
    let parts = parts(neighbours.destinations.len())?;
    let places = places(neighbours.sources.len())?;
    let (from, to) = neighbours.messages(|at| of(&parts, at), |at| of(&places, at))?;
    nonblocking::neighbours(from, to, (parts, places))
}

#[inline(always)]
pub unsafe fn MPI_Neighbor_allgather(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.1).
    unsafe {
        let places = |many| {
            blocks(
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                many,
            )
        };
        let plan = |comm| {
            allgather(
                comm,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                places,
                EqualBlocks::area_of,
            )
        };
        block("MPI_Neighbor_allgather", comm, plan)
    }
}

/// # Safety
/// See [`MPI_Ineighbor_allgather`].
unsafe fn start_neighbor_allgather(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        comm,
        ..
    } = *args;
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.1).
    unsafe {
        let places = |many| {
            blocks(
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                many,
            )
        };
        let plan = |comm| {
            allgather(
                comm,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                places,
                EqualBlocks::area_of,
            )
        };
        start(function, comm, target, plan)
    }
}

#[inline(always)]
pub unsafe fn MPI_Neighbor_allgatherv(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    displs: IntArray,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.1).
    unsafe {
        let places = |many| {
            v_blocks(
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs,
                    datatype: recvtype,
                },
                many,
            )
        };
        let plan = |comm| {
            allgather(
                comm,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                places,
                VectorBlocks::area_of,
            )
        };
        block("MPI_Neighbor_allgatherv", comm, plan)
    }
}

/// # Safety
/// See [`MPI_Ineighbor_allgatherv`].
unsafe fn start_neighbor_allgatherv(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        comm,
        ..
    } = *args;
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.1).
    unsafe {
        let places = |many| {
            v_blocks(
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs,
                    datatype: recvtype,
                },
                many,
            )
        };
        let plan = |comm| {
            allgather(
                comm,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                places,
                VectorBlocks::area_of,
            )
        };
        start(function, comm, target, plan)
    }
}

#[inline(always)]
pub unsafe fn MPI_Neighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.2).
    unsafe {
        let places = |many| {
            blocks(
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                many,
            )
        };
        let parts = |many| {
            blocks(
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                many,
            )
        };
        let plan = |comm| alltoall(comm, parts, places, EqualBlocks::area_of);
        block("MPI_Neighbor_alltoall", comm, plan)
    }
}

/// # Safety
/// See [`MPI_Ineighbor_alltoall`].
unsafe fn start_neighbor_alltoall(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        comm,
        ..
    } = *args;
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.2).
    unsafe {
        let places = |many| {
            blocks(
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                many,
            )
        };
        let parts = |many| {
            blocks(
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                many,
            )
        };
        let plan = |comm| alltoall(comm, parts, places, EqualBlocks::area_of);
        start(function, comm, target, plan)
    }
}

#[inline(always)]
pub unsafe fn MPI_Neighbor_alltoallv(
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
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.2).
    unsafe {
        let places = |many| {
            v_blocks(
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls,
                    datatype: recvtype,
                },
                many,
            )
        };
        let parts = |many| {
            v_blocks(
                VectorArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls,
                    datatype: sendtype,
                },
                many,
            )
        };
        let plan = |comm| alltoall(comm, parts, places, VectorBlocks::area_of);
        block("MPI_Neighbor_alltoallv", comm, plan)
    }
}

/// # Safety
/// See [`MPI_Ineighbor_alltoallv`].
unsafe fn start_neighbor_alltoallv(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcounts,
        sdispls,
        sendtype,
        recvbuf,
        recvcounts,
        rdispls,
        recvtype,
        comm,
        ..
    } = *args;
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.2).
    unsafe {
        let places = |many| {
            v_blocks(
                VectorArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls,
                    datatype: recvtype,
                },
                many,
            )
        };
        let parts = |many| {
            v_blocks(
                VectorArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls,
                    datatype: sendtype,
                },
                many,
            )
        };
        let plan = |comm| alltoall(comm, parts, places, VectorBlocks::area_of);
        start(function, comm, target, plan)
    }
}

#[inline(always)]
pub unsafe fn MPI_Neighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: IntArray,
    sdispls: *const isize,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    rdispls: *const isize,
    recvtypes: *const Handle,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.6.2).
    unsafe {
        let places = |many| {
            w_blocks(
                NeighbourArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls.into(),
                    types: recvtypes,
                },
                many,
            )
        };
        let parts = |many| {
            w_blocks(
                NeighbourArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls.into(),
                    types: sendtypes,
                },
                many,
            )
        };
        let plan = |comm| alltoall(comm, parts, places, MixedTypeBlocks::area_of);
        block("MPI_Neighbor_alltoallw", comm, plan)
    }
}

/// # Safety
/// See [`MPI_Ineighbor_alltoallw`].
unsafe fn start_neighbor_alltoallw(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcounts,
        sdispls,
        sendtypes,
        recvbuf,
        recvcounts,
        rdispls,
        recvtypes,
        comm,
        ..
    } = *args;
    // SAFETY: the standard's requirements on the buffers and arrays (section 7.7.2).
    unsafe {
        let places = |many| {
            w_blocks(
                NeighbourArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls,
                    types: recvtypes,
                },
                many,
            )
        };
        let parts = |many| {
            w_blocks(
                NeighbourArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls,
                    types: sendtypes,
                },
                many,
            )
        };
        let plan = |comm| alltoall(comm, parts, places, MixedTypeBlocks::area_of);
        start(function, comm, target, plan)
    }
}

entries! { degrees;
    MPI_Ineighbor_allgather MPI_Neighbor_allgather_init = start_neighbor_allgather(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, comm: c_int);
    MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init = start_neighbor_allgatherv(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcounts: IntArray, displs: IntArray, recvtype: c_int, comm: c_int);
    MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init = start_neighbor_alltoall(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, comm: c_int);
    MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init = start_neighbor_alltoallv(
        sendbuf: *const c_void, sendcounts: IntArray, sdispls: IntArray, sendtype: c_int,
        recvbuf: *mut c_void, recvcounts: IntArray, rdispls: IntArray, recvtype: c_int, comm: c_int);
    MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init = start_neighbor_alltoallw(
        sendbuf: *const c_void, sendcounts: IntArray, sdispls: *const isize, sendtypes: *const Handle,
        recvbuf: *mut c_void, recvcounts: IntArray, rdispls: *const isize, recvtypes: *const Handle, comm: c_int);
}
