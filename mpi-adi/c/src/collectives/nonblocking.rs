//! Nonblocking collectives (section 5.12), and MPI_Alltoallw with the same arguments.
//!
//! Buffers, arrays and datatypes are checked at the start. The program must not change its arrays until the collective
//! is complete.

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{BlockRow, EqualBlocks, MixedTypeBlocks, OwnBlock, VectorBlocks};
use crate::collectives::in_flight::{start, start_across, start_among_all};
use crate::collectives::op::{combined, operation};
use crate::collectives::reduce::{DataAndResult, ReduceArgs, data_of};
use crate::comm_objects::inter_calls;
use crate::datatypes::TypedElements;
use crate::error_dispatch::on_comm;
use crate::inter_calls::{BufferArgs, MixedTypeArgs, OpArgs, VectorArgs};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::{self, CollectiveSchedule, ReduceAreas, nonblocking};
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;

pub unsafe fn MPI_Ibarrier(comm: c_int, request: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `request`.
    unsafe { start_among_all("MPI_Ibarrier", comm, request, nonblocking::barrier) }
}

pub unsafe fn MPI_Ibcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: c_int,
    root: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ibcast", comm, request, plan) };
    }
    let plan = |comm| {
        // SAFETY: the standard's requirements on `buffer` (section 5.12.2).
        let data = unsafe { args::buffer(buffer, count, datatype) }?;
        let root = args::root(&comm, root)?;
        nonblocking::bcast(comm, data.span().into(), root, data)
    };
    // SAFETY: the standard's requirements on `request`.
    unsafe { start("MPI_Ibcast", comm, request, plan) }
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

pub unsafe fn MPI_Igather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Igather", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.3) and `request`.
    unsafe {
        start("MPI_Igather", comm, request, |comm| {
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

pub unsafe fn MPI_Igatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Igatherv", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.3) and `request`.
    unsafe {
        start("MPI_Igatherv", comm, request, |comm| {
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

pub unsafe fn MPI_Iscatter(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Iscatter", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.4) and `request`.
    unsafe {
        start("MPI_Iscatter", comm, request, |comm| {
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

pub unsafe fn MPI_Iscatterv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    displs: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Iscatterv", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.4) and `request`.
    unsafe {
        start("MPI_Iscatterv", comm, request, |comm| {
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

pub unsafe fn MPI_Iallgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Iallgather", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.5) and `request`.
    unsafe {
        start("MPI_Iallgather", comm, request, |comm| {
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

pub unsafe fn MPI_Iallgatherv(
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Iallgatherv", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.5) and `request`.
    unsafe {
        start("MPI_Iallgatherv", comm, request, |comm| {
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

pub unsafe fn MPI_Ialltoall(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ialltoall", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.6) and `request`.
    unsafe {
        start("MPI_Ialltoall", comm, request, |comm| {
            let places = EqualBlocks::new(&comm, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?)?;
            let parts = unless_in_place(sendbuf, || {
                EqualBlocks::new(&comm, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?)
            })?;
            alltoall(comm, parts, places, EqualBlocks::area_of)
        })
    }
}

pub unsafe fn MPI_Ialltoallv(
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ialltoallv", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.6) and `request`.
    unsafe {
        start("MPI_Ialltoallv", comm, request, |comm| {
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

pub unsafe fn MPI_Ialltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtypes: *const c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtypes: *const c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
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
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ialltoallw", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and arrays (section 5.12.6) and `request`.
    unsafe {
        start("MPI_Ialltoallw", comm, request, |comm| {
            let size = comm.size() as usize;
            let places = MixedTypeBlocks::in_bytes(size, recvbuf, recvcounts, rdispls, recvtypes)?;
            let parts = unless_in_place(sendbuf, || {
                MixedTypeBlocks::in_bytes(size, sendbuf, sendcounts, sdispls, sendtypes)
            })?;
            alltoall(comm, parts, places, MixedTypeBlocks::area_of)
        })
    }
}

pub unsafe fn MPI_Alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtypes: *const c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtypes: *const c_int,
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

pub unsafe fn MPI_Ireduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    root: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe { (calls.reduce)(halves, [sendbuf, recvbuf], count, OpArgs { datatype, op }, root) };
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ireduce", comm, request, plan) };
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
    // SAFETY: the standard's requirements on `request`.
    unsafe { start("MPI_Ireduce", comm, request, plan) }
}

pub unsafe fn MPI_Iallreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe { (calls.allreduce)(halves, [sendbuf, recvbuf], count, OpArgs { datatype, op }) };
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Iallreduce", comm, request, plan) };
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
    // SAFETY: the standard's requirements on `request`.
    unsafe { start("MPI_Iallreduce", comm, request, plan) }
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

pub unsafe fn MPI_Ireduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan =
            |halves| unsafe { (calls.reduce_scatter)(halves, [sendbuf, recvbuf], recvcounts, OpArgs { datatype, op }) };
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ireduce_scatter", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers and `recvcounts` (section 5.12.10) and `request`.
    unsafe {
        start("MPI_Ireduce_scatter", comm, request, |comm| {
            let row = |data: *const c_void, elements: &TypedElements| {
                let row = BlockRow::new(&comm, data, recvcounts, elements)?.kept()?;
                let count = row.count(comm.own_rank());
                Ok((row, count))
            };
            reduce_scatter(comm, sendbuf, recvbuf, datatype, op, row, BlockRow::area_of)
        })
    }
}

pub unsafe fn MPI_Ireduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let plan = |halves| unsafe {
            (calls.reduce_scatter_block)(halves, [sendbuf, recvbuf], recvcount, OpArgs { datatype, op })
        };
        // SAFETY: the standard's requirements on `request`.
        return unsafe { start_across("MPI_Ireduce_scatter_block", comm, request, plan) };
    }
    // SAFETY: the standard's requirements on the buffers (section 5.12.9) and `request`.
    unsafe {
        start("MPI_Ireduce_scatter_block", comm, request, |comm| {
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
unsafe fn scan(function: &'static str, inclusive: bool, args: ReduceArgs, request: *mut c_int) -> c_int {
    let ReduceArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
    } = args;
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
    unsafe { start(function, comm, request, plan) }
}

pub unsafe fn MPI_Iscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    let args = ReduceArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
    };
    // SAFETY: the standard's requirements on the buffers (section 5.12.11) and `request`.
    unsafe { scan("MPI_Iscan", true, args, request) }
}

pub unsafe fn MPI_Iexscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
    request: *mut c_int,
) -> c_int {
    let args = ReduceArgs {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
    };
    // SAFETY: the standard's requirements on the buffers (section 5.12.12) and `request`.
    unsafe { scan("MPI_Iexscan", false, args, request) }
}
