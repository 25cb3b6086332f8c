//! Nonblocking collectives (section 5.12), persistent ones (MPI-4.0 section 6.13), and MPI_Alltoallw with the same
//! arguments.
//!
//! Buffers, arrays and datatypes are checked at the start. The program must not change its arrays until the collective
//! is complete.

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::arguments::{CollectiveArgs, RequestTarget};
use crate::collectives::blocks::{BlockRow, EqualBlocks, MixedTypeBlocks, OwnBlock, VectorBlocks};
use crate::collectives::in_flight::{start, start_across, start_among_all};
use crate::collectives::op::{combined, operation};
use crate::collectives::persistent::{entries, processes};
use crate::collectives::reduce::{DataAndResult, data_of};
use crate::comm_objects::inter_calls;
use crate::counts::IntArray;
use crate::datatypes::TypedElements;
use crate::error_dispatch::on_comm;
use crate::inter_calls::{BufferArgs, MixedTypeArgs, OpArgs, VectorArgs};
use crate::types::Handle;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::{self, CollectiveSchedule, ReduceAreas, nonblocking};
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;

/// # Safety
/// See [`MPI_Ibarrier`].
unsafe fn start_barrier(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    // SAFETY: the standard's requirements on the request.
    unsafe { start_among_all(function, args.comm, target, nonblocking::barrier) }
}

/// # Safety
/// See [`MPI_Ibcast`].
unsafe fn start_bcast(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        buffer,
        count,
        datatype,
        root,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
            (calls.bcast)(
                halves,
                BufferArgs {
                    buffer,
                    count,
                    datatype,
                },
                root,
            )
        };
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    let plan = |comm| {
        // SAFETY: the standard's requirements on `buffer` (section 5.12.2).
        let data = unsafe { args::buffer(buffer, count, datatype) }?;
        let root = args::root(&comm, root)?;
        nonblocking::bcast(comm, data.span().into(), root, data)
    };
    // SAFETY: the standard's requirements on the request.
    unsafe { start(function, comm, target, plan) }
}

/// Creates the plan of a gather: this process's data and, at the root, the locations of all data.
///
/// # Safety
/// See [`args::buffer`] and, at the root, `places`.
unsafe fn gather<P: Send + 'static>(
    comm: Communicator<'static>,
    BufferArgs {
        buffer: sendbuf,
        count: sendcount,
        datatype: sendtype,
    }: BufferArgs,
    root: c_int,
    places: impl FnOnce() -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<CollectiveSchedule, Error> {
    let root = args::root(&comm, root)?;
    if comm.own_rank() != root {
        // SAFETY: guaranteed by the caller.
        let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
        let area = data.span().into();
        return nonblocking::gather(comm, area, |_| BufferSlice::EMPTY, root, data);
    }
    let places = places()?;
    // SAFETY: guaranteed by the caller.
    let own = unsafe {
        OwnBlock::new(
            BufferArgs {
                buffer: sendbuf,
                count: sendcount,
                datatype: sendtype,
            },
            || of(&places, root),
        )
    }?;
    let area = own.area();
    nonblocking::gather(comm, area, move |rank| of(&places, rank), root, own)
}

/// # Safety
/// See [`MPI_Igather`].
unsafe fn start_gather(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.3).
    unsafe {
        start(function, comm, target, |comm| {
            let places = || EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?);
            gather(
                comm,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                root,
                places,
                EqualBlocks::area_of,
            )
        })
    }
}

/// # Safety
/// See [`MPI_Igatherv`].
unsafe fn start_gatherv(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcounts,
        displs,
        recvtype,
        root,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.3).
    unsafe {
        start(function, comm, target, |comm| {
            let elements = || TypedElements::from_handle(recvtype);
            let places = || VectorBlocks::new(&comm, recvbuf, recvcounts, displs, elements()?)?.kept();
            gather(
                comm,
                BufferArgs {
                    buffer: sendbuf,
                    count: sendcount,
                    datatype: sendtype,
                },
                root,
                places,
                VectorBlocks::area_of,
            )
        })
    }
}

/// Creates the plan of a scatter: at the root the data for all, and the location of this process's data.
///
/// # Safety
/// See [`args::buffer`] and, at the root, `parts`.
unsafe fn scatter<P: Send + 'static>(
    comm: Communicator<'static>,
    parts: impl FnOnce() -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
    BufferArgs {
        buffer: recvbuf,
        count: recvcount,
        datatype: recvtype,
    }: BufferArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    let root = args::root(&comm, root)?;
    if comm.own_rank() != root {
        // SAFETY: guaranteed by the caller.
        let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
        let area = result.span().into();
        return nonblocking::scatter(comm, |_| BufferSlice::EMPTY, area, root, result);
    }
    let parts = parts()?;
    // SAFETY: guaranteed by the caller.
    let own = unsafe {
        OwnBlock::new(
            BufferArgs {
                buffer: recvbuf,
                count: recvcount,
                datatype: recvtype,
            },
            || of(&parts, root),
        )
    }?;
    let area = own.area();
    nonblocking::scatter(comm, move |rank| of(&parts, rank), area, root, own)
}

/// # Safety
/// See [`MPI_Iscatter`].
unsafe fn start_scatter(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcount,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.4).
    unsafe {
        start(function, comm, target, |comm| {
            let parts = || EqualBlocks::new(&comm, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?);
            scatter(
                comm,
                parts,
                EqualBlocks::area_of,
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                root,
            )
        })
    }
}

/// # Safety
/// See [`MPI_Iscatterv`].
unsafe fn start_scatterv(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        sendcounts,
        displs,
        sendtype,
        recvbuf,
        recvcount,
        recvtype,
        root,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.4).
    unsafe {
        start(function, comm, target, |comm| {
            let elements = || TypedElements::from_handle(sendtype);
            let parts = || VectorBlocks::new(&comm, sendbuf, sendcounts, displs, elements()?)?.kept();
            scatter(
                comm,
                parts,
                VectorBlocks::area_of,
                BufferArgs {
                    buffer: recvbuf,
                    count: recvcount,
                    datatype: recvtype,
                },
                root,
            )
        })
    }
}

/// Creates the plan of an allgather.
///
/// # Safety
/// See [`OwnBlock::new`].
unsafe fn allgather<P: Send + 'static>(
    comm: Communicator<'static>,
    given: BufferArgs,
    places: P,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<CollectiveSchedule, Error> {
    // SAFETY: guaranteed by the caller.
    let own = unsafe { OwnBlock::new(given, || of(&places, comm.own_rank())) }?;
    let area = own.area();
    nonblocking::allgather(comm, area, move |rank| of(&places, rank), own)
}

/// # Safety
/// See [`MPI_Iallgather`].
unsafe fn start_allgather(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
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
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.5).
    unsafe {
        start(function, comm, target, |comm| {
            let places = EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?)?;
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
        })
    }
}

/// # Safety
/// See [`MPI_Iallgatherv`].
unsafe fn start_allgatherv(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
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
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.5).
    unsafe {
        start(function, comm, target, |comm| {
            let elements = TypedElements::from_handle(recvtype)?;
            let places = VectorBlocks::new(&comm, recvbuf, recvcounts, displs, elements)?.kept()?;
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
        })
    }
}

/// Creates the plan of an all-to-all; without `parts` it is in place.
fn alltoall<P: Send + 'static>(
    comm: Communicator<'static>,
    parts: Option<P>,
    places: P,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<CollectiveSchedule, Error> {
    let place = move |rank| of(&places, rank);
    match parts {
        None => nonblocking::alltoall_in_place(comm, place),
        Some(parts) => nonblocking::alltoall(comm, move |rank| of(&parts, rank), place),
    }
}

/// Calls `make`, unless the buffer is MPI_IN_PLACE.
fn unless_in_place<P>(buffer: *const c_void, make: impl FnOnce() -> Result<P, Error>) -> Result<Option<P>, Error> {
    if args::is_in_place(buffer) {
        Ok(None)
    } else {
        make().map(Some)
    }
}

/// # Safety
/// See [`MPI_Ialltoall`].
unsafe fn start_alltoall(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
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
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.6).
    unsafe {
        start(function, comm, target, |comm| {
            let places = EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?)?;
            let parts = unless_in_place(sendbuf, || {
                EqualBlocks::new(&comm, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?)
            })?;
            alltoall(comm, parts, places, EqualBlocks::area_of)
        })
    }
}

/// # Safety
/// See [`MPI_Ialltoallv`].
unsafe fn start_alltoallv(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
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
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
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
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.6).
    unsafe {
        start(function, comm, target, |comm| {
            let elements = TypedElements::from_handle(recvtype)?;
            let places = VectorBlocks::new(&comm, recvbuf, recvcounts, rdispls, elements)?.kept()?;
            let parts = unless_in_place(sendbuf, || {
                VectorBlocks::new(
                    &comm,
                    sendbuf,
                    sendcounts,
                    sdispls,
                    TypedElements::from_handle(sendtype)?,
                )?
                .kept()
            })?;
            alltoall(comm, parts, places, VectorBlocks::area_of)
        })
    }
}

/// # Safety
/// See [`MPI_Ialltoallw`].
unsafe fn start_alltoallw(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
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
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
            (calls.alltoallw)(
                halves,
                MixedTypeArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls,
                    types: sendtypes,
                },
                MixedTypeArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls,
                    types: recvtypes,
                },
            )
        };
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.6).
    unsafe {
        start(function, comm, target, |comm| {
            let size = comm.size() as usize;
            let places = MixedTypeBlocks::in_bytes(size, recvbuf, recvcounts, rdispls, recvtypes)?;
            let parts = unless_in_place(sendbuf, || {
                MixedTypeBlocks::in_bytes(size, sendbuf, sendcounts, sdispls, sendtypes)
            })?;
            alltoall(comm, parts, places, MixedTypeBlocks::area_of)
        })
    }
}

#[inline(always)]
pub unsafe fn MPI_Alltoallw(
    sendbuf: *const c_void,
    sendcounts: IntArray,
    sdispls: IntArray,
    sendtypes: *const Handle,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    rdispls: IntArray,
    recvtypes: *const Handle,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.alltoallw)(
                halves,
                MixedTypeArgs {
                    buffer: sendbuf,
                    counts: sendcounts,
                    displs: sdispls,
                    types: sendtypes,
                },
                MixedTypeArgs {
                    buffer: recvbuf,
                    counts: recvcounts,
                    displs: rdispls,
                    types: recvtypes,
                },
            )
        };
        return (calls.block)("MPI_Alltoallw", comm, &mut plan);
    }
    on_comm("MPI_Alltoallw", comm, |comm| {
        let size = comm.size() as usize;
        // SAFETY: the standard's requirements on `recvbuf` and its arrays (section 5.8).
        let places = unsafe { MixedTypeBlocks::in_bytes(size, recvbuf, recvcounts, rdispls, recvtypes) }?;
        if args::is_in_place(sendbuf) {
            return coll::alltoall_in_place(comm, "MPI_Alltoallw", &|rank| places.area_of(rank));
        }
        // SAFETY: the standard's requirements on `sendbuf` and its arrays (section 5.8).
        let parts = unsafe { MixedTypeBlocks::in_bytes(size, sendbuf, sendcounts, sdispls, sendtypes) }?;
        coll::alltoall(comm, "MPI_Alltoallw", &|rank| parts.area_of(rank), &|rank| {
            places.area_of(rank)
        })
    })
}

/// # Safety
/// See [`MPI_Ireduce`].
unsafe fn start_reduce(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        root,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe { (calls.reduce)(halves, [sendbuf, recvbuf], count, OpArgs { datatype, op }, root) };
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    let plan = |comm: Communicator<'static>| {
        args::count(count)?;
        let root = args::root(&comm, root)?;
        let (elements, mut combiner) = operation(op, datatype)?;
        let in_interrupts = combiner.is_predefined();
        let size = elements.size();
        let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
        // The standard's requirements on the buffers are those of section 5.12.7; `recvbuf` and MPI_IN_PLACE are
        // significant at the root only.
        if comm.own_rank() != root {
            // SAFETY: as above.
            let data = unsafe { elements.at(sendbuf, args::count(count)?) }?;
            let areas = ReduceAreas {
                data: BufferSlice::from(data.span()),
                result: BufferSlice::EMPTY,
            };
            let plan = nonblocking::reduce(comm, areas, size, combine, root, data)?;
            return Ok(plan.advances_in_interrupts(in_interrupts));
        }
        // SAFETY: as above.
        let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, &elements) }?;
        let plan = nonblocking::reduce(comm, both.areas(), size, combine, root, both)?;
        Ok(plan.advances_in_interrupts(in_interrupts))
    };
    // SAFETY: the standard's requirements on the request.
    unsafe { start(function, comm, target, plan) }
}

/// # Safety
/// See [`MPI_Iallreduce`].
unsafe fn start_allreduce(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe { (calls.allreduce)(halves, [sendbuf, recvbuf], count, OpArgs { datatype, op }) };
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    let plan = |comm| {
        args::count(count)?;
        let (elements, mut combiner) = operation(op, datatype)?;
        let in_interrupts = combiner.is_predefined();
        let combined = combined(op, &elements);
        let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
        // SAFETY: the standard's requirements on the buffers (section 5.12.8).
        let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, &elements) }?;
        let plan = nonblocking::allreduce(comm, both.areas(), combined, combine, both)?;
        Ok(plan.advances_in_interrupts(in_interrupts))
    };
    // SAFETY: the standard's requirements on the request.
    unsafe { start(function, comm, target, plan) }
}

/// Creates the plan of a reduce-scatter; in place, the data is in the receive buffer.
///
/// # Safety
/// The requirements of `parts` apply to the data. The result must satisfy [`args::buffer`].
unsafe fn reduce_scatter<P: Send + 'static>(
    comm: Communicator<'static>,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    datatype: c_int,
    op: c_int,
    parts: impl FnOnce(*const c_void, &TypedElements) -> Result<(P, usize), Error>,
    of: fn(&P, CommRank) -> BufferSlice,
) -> Result<CollectiveSchedule, Error> {
    let (elements, mut combiner) = operation(op, datatype)?;
    let in_interrupts = combiner.is_predefined();
    let size = elements.size();
    let (parts, count) = parts(data_of([sendbuf, recvbuf]), &elements)?;
    // SAFETY: guaranteed by the caller.
    let hold = unsafe { elements.at(recvbuf, count) }?;
    let result = BufferSlice::from(hold.span());
    let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
    let part = move |rank| of(&parts, rank);
    let plan = nonblocking::reduce_scatter(comm, part, result, size, combine, hold)?;
    Ok(plan.advances_in_interrupts(in_interrupts))
}

/// # Safety
/// See [`MPI_Ireduce_scatter`].
unsafe fn start_reduce_scatter(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        recvbuf,
        recvcounts,
        datatype,
        op,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan =
            |halves| unsafe { (calls.reduce_scatter)(halves, [sendbuf, recvbuf], recvcounts, OpArgs { datatype, op }) };
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and `recvcounts` (section 5.12.10).
    unsafe {
        start(function, comm, target, |comm| {
            let row = |data: *const c_void, elements: &TypedElements| {
                let row = BlockRow::new(&comm, data, recvcounts, elements)?.kept()?;
                let count = row.count(comm.own_rank());
                Ok((row, count))
            };
            reduce_scatter(comm, sendbuf, recvbuf, datatype, op, row, BlockRow::area_of)
        })
    }
}

/// # Safety
/// See [`MPI_Ireduce_scatter_block`].
unsafe fn start_reduce_scatter_block(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        recvbuf,
        recvcount,
        datatype,
        op,
        comm,
        ..
    } = *args;
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
            (calls.reduce_scatter_block)(halves, [sendbuf, recvbuf], recvcount, OpArgs { datatype, op })
        };
        // SAFETY: the standard's requirements on the request.
        return unsafe { start_across(function, comm, target, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.9).
    unsafe {
        start(function, comm, target, |comm| {
            let blocks = |data: *const c_void, elements: &TypedElements| {
                let blocks = EqualBlocks::new(&comm, data, recvcount, elements)?;
                Ok((blocks, args::count(recvcount)?))
            };
            reduce_scatter(comm, sendbuf, recvbuf, datatype, op, blocks, EqualBlocks::area_of)
        })
    }
}

/// Starts a prefix reduction.
///
/// # Safety
/// See [`DataAndResult::new`] and [`start`].
unsafe fn scan(function: &'static str, inclusive: bool, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    let CollectiveArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
        ..
    } = *args;
    let plan = |comm| {
        args::count(count)?;
        let (elements, mut combiner) = operation(op, datatype)?;
        let in_interrupts = combiner.is_predefined();
        let size = elements.size();
        let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
        // SAFETY: guaranteed by the caller.
        let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, &elements) }?;
        let plan = nonblocking::scan(comm, both.areas(), size, combine, inclusive, both)?;
        Ok(plan.advances_in_interrupts(in_interrupts))
    };
    // SAFETY: guaranteed by the caller.
    unsafe { start(function, comm, target, plan) }
}

/// # Safety
/// See [`MPI_Iscan`].
unsafe fn start_scan(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    // SAFETY: the standard's requirements on the buffers (section 5.12.11).
    unsafe { scan(function, true, args, target) }
}

/// # Safety
/// See [`MPI_Iexscan`].
unsafe fn start_exscan(function: &'static str, args: &CollectiveArgs, target: RequestTarget) -> c_int {
    // SAFETY: the standard's requirements on the buffers (section 5.12.12).
    unsafe { scan(function, false, args, target) }
}

entries! { processes;
    MPI_Ibarrier MPI_Barrier_init = start_barrier(comm: c_int);
    MPI_Ibcast MPI_Bcast_init = start_bcast(
        buffer: *mut c_void, count: isize, datatype: c_int, root: c_int, comm: c_int);
    MPI_Igather MPI_Gather_init = start_gather(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, root: c_int, comm: c_int);
    MPI_Igatherv MPI_Gatherv_init = start_gatherv(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcounts: IntArray, displs: IntArray, recvtype: c_int, root: c_int, comm: c_int);
    MPI_Iscatter MPI_Scatter_init = start_scatter(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, root: c_int, comm: c_int);
    MPI_Iscatterv MPI_Scatterv_init = start_scatterv(
        sendbuf: *const c_void, sendcounts: IntArray, displs: IntArray, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, root: c_int, comm: c_int);
    MPI_Iallgather MPI_Allgather_init = start_allgather(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, comm: c_int);
    MPI_Iallgatherv MPI_Allgatherv_init = start_allgatherv(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcounts: IntArray, displs: IntArray, recvtype: c_int, comm: c_int);
    MPI_Ialltoall MPI_Alltoall_init = start_alltoall(
        sendbuf: *const c_void, sendcount: isize, sendtype: c_int,
        recvbuf: *mut c_void, recvcount: isize, recvtype: c_int, comm: c_int);
    MPI_Ialltoallv MPI_Alltoallv_init = start_alltoallv(
        sendbuf: *const c_void, sendcounts: IntArray, sdispls: IntArray, sendtype: c_int,
        recvbuf: *mut c_void, recvcounts: IntArray, rdispls: IntArray, recvtype: c_int, comm: c_int);
    MPI_Ialltoallw MPI_Alltoallw_init = start_alltoallw(
        sendbuf: *const c_void, sendcounts: IntArray, sdispls: IntArray, sendtypes: *const Handle,
        recvbuf: *mut c_void, recvcounts: IntArray, rdispls: IntArray, recvtypes: *const Handle, comm: c_int);
    MPI_Ireduce MPI_Reduce_init = start_reduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: isize, datatype: c_int, op: c_int, root: c_int,
        comm: c_int);
    MPI_Iallreduce MPI_Allreduce_init = start_allreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: isize, datatype: c_int, op: c_int, comm: c_int);
    MPI_Ireduce_scatter MPI_Reduce_scatter_init = start_reduce_scatter(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: IntArray, datatype: c_int, op: c_int, comm: c_int);
    MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init = start_reduce_scatter_block(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: isize, datatype: c_int, op: c_int, comm: c_int);
    MPI_Iscan MPI_Scan_init = start_scan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: isize, datatype: c_int, op: c_int, comm: c_int);
    MPI_Iexscan MPI_Exscan_init = start_exscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: isize, datatype: c_int, op: c_int, comm: c_int);
}
