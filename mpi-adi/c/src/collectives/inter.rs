//! Collectives on intercommunicators (sections 5.2.2, 5.2.3 and 5.12). The MPI functions of the same names delegate to
//! these, both blocking and nonblocking.
//!
//! MPI_IN_PLACE is an error here for every significant buffer.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{BlockRow, EqualBlocks, MixedTypeBlocks, VectorBlocks};
use crate::collectives::op::operation;
use crate::counts::{IntArray, Ints, KeptInts};
use crate::datatypes::TypedElements;
use crate::error_dispatch::on_inter;
use crate::inter_calls::{BufferArgs, MixedTypeArgs, OpArgs, VectorArgs};
use crate::types::constants::{MPI_PROC_NULL, MPI_ROOT};
use midplane_device::memory::Span;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::inter::{self as coll, GroupCounts, Role, TOTALS_DIFFER};
use midplane_objects::coll::{CollectiveSchedule, ReduceAreas, try_with_capacity};
use midplane_objects::comm::CommRank;
use midplane_objects::error::Error;
use midplane_objects::inter_groups::GroupRanges;

/// Runs the plan that `plan` creates in a call of `function`.
pub(crate) fn block(
    function: &'static str,
    comm: c_int,
    plan: &mut dyn FnMut(GroupRanges) -> Result<CollectiveSchedule, Error>,
) -> c_int {
    on_inter(function, comm, |inter| {
        plan(inter.sides.halves())?.run(inter.everyone(), function)
    })
}

/// Converts the root argument to this process's role. Fails with [`Error::RemoteRoot`].
fn role(halves: GroupRanges, root: c_int) -> Result<Role, Error> {
    let size = halves.remote_size() as u32;
    match root {
        MPI_ROOT => Ok(Role::Root),
        MPI_PROC_NULL => Ok(Role::NonParticipant),
        _ => match u32::try_from(root).ok().filter(|rank| *rank < size) {
            Some(rank) => Ok(Role::Member(CommRank(rank))),
            None => Err(Error::RemoteRoot {
                root: root.into(),
                size,
            }),
        },
    }
}

/// Fails with [`Error::InPlace`] even if no element is accessed.
fn not_in_place(buffers: [*const c_void; 2]) -> Result<(), Error> {
    if buffers.into_iter().any(args::is_in_place) {
        Err(Error::InPlace)
    } else {
        Ok(())
    }
}

/// # Safety
/// The buffer must satisfy [`args::buffer`], unless the process is a non-participant.
pub(crate) unsafe fn bcast(
    halves: GroupRanges,
    BufferArgs {
        buffer,
        count,
        datatype,
    }: BufferArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    let role = role(halves, root)?;
    if role == Role::NonParticipant {
        return coll::nothing(halves);
    }
    // SAFETY: guaranteed by the caller.
    let data = unsafe { args::buffer(buffer, count, datatype) }?;
    coll::bcast(halves, data.span().into(), role, data)
}

/// Creates the plan of a gather whose root uses `places`.
///
/// # Safety
/// The send buffer must satisfy [`args::buffer`] if the process sends. At the root the requirements of `places` apply.
unsafe fn gather_to<P: Send + 'static>(
    halves: GroupRanges,
    BufferArgs {
        buffer: sendbuf,
        count: sendcount,
        datatype: sendtype,
    }: BufferArgs,
    places: impl FnOnce(usize) -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    let role = role(halves, root)?;
    match role {
        Role::NonParticipant => coll::nothing(halves),
        Role::Root => {
            let places = places(halves.remote_size())?;
            let place = move |rank| of(&places, rank);
            coll::gather(halves, BufferSlice::EMPTY, place, role, ())
        }
        Role::Member(_) => {
            // SAFETY: guaranteed by the caller.
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            let area = data.span().into();
            coll::gather(halves, area, |_| BufferSlice::EMPTY, role, data)
        }
    }
}

/// # Safety
/// See [`gather_to`] and, at the root, [`EqualBlocks::with_count`].
pub(crate) unsafe fn gather(
    halves: GroupRanges,
    given: BufferArgs,
    BufferArgs {
        buffer: recvbuf,
        count: recvcount,
        datatype: recvtype,
    }: BufferArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    // SAFETY: guaranteed by the caller.
    let places =
        |size| unsafe { EqualBlocks::with_count(size, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?) };
    // SAFETY: guaranteed by the caller.
    unsafe { gather_to(halves, given, places, EqualBlocks::area_of, root) }
}

/// # Safety
/// See [`gather_to`] and, at the root, [`VectorBlocks::with_count`].
pub(crate) unsafe fn gatherv(
    halves: GroupRanges,
    given: BufferArgs,
    taken: VectorArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    // SAFETY: guaranteed by the caller.
    let places = |size| unsafe { v_blocks(size, taken) };
    // SAFETY: guaranteed by the caller.
    unsafe { gather_to(halves, given, places, VectorBlocks::area_of, root) }
}

/// # Safety
/// See [`VectorBlocks::with_count`].
unsafe fn v_blocks(
    size: usize,
    VectorArgs {
        buffer,
        counts,
        displs,
        datatype,
    }: VectorArgs,
) -> Result<VectorBlocks<KeptInts>, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { VectorBlocks::with_count(size, buffer, counts, displs, TypedElements::from_handle(datatype)?) }?.kept()
}

/// # Safety
/// See [`MixedTypeBlocks::in_bytes`].
unsafe fn w_blocks(
    size: usize,
    MixedTypeArgs {
        buffer,
        counts,
        displs,
        types,
    }: MixedTypeArgs,
) -> Result<MixedTypeBlocks, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { MixedTypeBlocks::in_bytes(size, buffer, counts, displs, types) }
}

/// Creates the plan of a scatter whose root uses `parts`.
///
/// # Safety
/// The receive buffer must satisfy [`args::buffer`] if the process receives. At the root the requirements of `parts`
/// apply.
unsafe fn scatter_from<P: Send + 'static>(
    halves: GroupRanges,
    parts: impl FnOnce(usize) -> Result<P, Error>,
    of: fn(&P, CommRank) -> BufferSlice,
    BufferArgs {
        buffer: recvbuf,
        count: recvcount,
        datatype: recvtype,
    }: BufferArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    let role = role(halves, root)?;
    match role {
        Role::NonParticipant => coll::nothing(halves),
        Role::Root => {
            let parts = parts(halves.remote_size())?;
            let part = move |rank| of(&parts, rank);
            coll::scatter(halves, part, BufferSlice::EMPTY, role, ())
        }
        Role::Member(_) => {
            // SAFETY: guaranteed by the caller.
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            let area = result.span().into();
            coll::scatter(halves, |_| BufferSlice::EMPTY, area, role, result)
        }
    }
}

/// # Safety
/// See [`scatter_from`] and, at the root, [`EqualBlocks::with_count`].
pub(crate) unsafe fn scatter(
    halves: GroupRanges,
    BufferArgs {
        buffer: sendbuf,
        count: sendcount,
        datatype: sendtype,
    }: BufferArgs,
    taken: BufferArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    // SAFETY: guaranteed by the caller.
    let parts =
        |size| unsafe { EqualBlocks::with_count(size, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?) };
    // SAFETY: guaranteed by the caller.
    unsafe { scatter_from(halves, parts, EqualBlocks::area_of, taken, root) }
}

/// # Safety
/// See [`scatter_from`] and, at the root, [`VectorBlocks::with_count`].
pub(crate) unsafe fn scatterv(
    halves: GroupRanges,
    given: VectorArgs,
    taken: BufferArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    // SAFETY: guaranteed by the caller.
    let parts = |size| unsafe { v_blocks(size, given) };
    // SAFETY: guaranteed by the caller.
    unsafe { scatter_from(halves, parts, VectorBlocks::area_of, taken, root) }
}

/// # Safety
/// Both buffers must satisfy [`args::buffer`], the receive buffer for one block per process of the other group.
pub(crate) unsafe fn allgather(
    halves: GroupRanges,
    BufferArgs {
        buffer: sendbuf,
        count: sendcount,
        datatype: sendtype,
    }: BufferArgs,
    BufferArgs {
        buffer: recvbuf,
        count: recvcount,
        datatype: recvtype,
    }: BufferArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([sendbuf, recvbuf])?;
    // SAFETY: guaranteed by the caller.
    let (data, places) = unsafe {
        let elements = TypedElements::from_handle(recvtype)?;
        (
            args::buffer(sendbuf, sendcount, sendtype)?,
            EqualBlocks::with_count(halves.remote_size(), recvbuf, recvcount, &elements)?,
        )
    };
    let area = BufferSlice::from(data.span());
    coll::alltoall(halves, move |_| area, move |rank| places.area_of(rank), data)
}

/// # Safety
/// See [`args::buffer`] and [`VectorBlocks::with_count`], with one block per process of the other group.
pub(crate) unsafe fn allgatherv(
    halves: GroupRanges,
    BufferArgs {
        buffer: sendbuf,
        count: sendcount,
        datatype: sendtype,
    }: BufferArgs,
    taken: VectorArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([sendbuf, taken.buffer])?;
    // SAFETY: guaranteed by the caller.
    let (data, places) = unsafe {
        (
            args::buffer(sendbuf, sendcount, sendtype)?,
            v_blocks(halves.remote_size(), taken)?,
        )
    };
    let area = BufferSlice::from(data.span());
    coll::alltoall(halves, move |_| area, move |rank| places.area_of(rank), data)
}

/// # Safety
/// Both buffers must satisfy [`EqualBlocks::with_count`], with one block per process of the other group.
pub(crate) unsafe fn alltoall(
    halves: GroupRanges,
    BufferArgs {
        buffer: sendbuf,
        count: sendcount,
        datatype: sendtype,
    }: BufferArgs,
    BufferArgs {
        buffer: recvbuf,
        count: recvcount,
        datatype: recvtype,
    }: BufferArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([sendbuf, recvbuf])?;
    let size = halves.remote_size();
    // SAFETY: guaranteed by the caller.
    let (parts, places) = unsafe {
        (
            EqualBlocks::with_count(size, sendbuf, sendcount, &TypedElements::from_handle(sendtype)?)?,
            EqualBlocks::with_count(size, recvbuf, recvcount, &TypedElements::from_handle(recvtype)?)?,
        )
    };
    let (part, place) = (move |rank| parts.area_of(rank), move |rank| places.area_of(rank));
    coll::alltoall(halves, part, place, ())
}

/// # Safety
/// Both buffers must satisfy [`VectorBlocks::with_count`], with one block per process of the other group.
pub(crate) unsafe fn alltoallv(
    halves: GroupRanges,
    given: VectorArgs,
    taken: VectorArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([given.buffer, taken.buffer])?;
    let size = halves.remote_size();
    // SAFETY: guaranteed by the caller.
    let (parts, places) = unsafe { (v_blocks(size, given)?, v_blocks(size, taken)?) };
    let (part, place) = (move |rank| parts.area_of(rank), move |rank| places.area_of(rank));
    coll::alltoall(halves, part, place, ())
}

/// # Safety
/// Both buffers must satisfy [`MixedTypeBlocks::in_bytes`], with one block per process of the other group.
pub(crate) unsafe fn alltoallw(
    halves: GroupRanges,
    given: MixedTypeArgs,
    taken: MixedTypeArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([given.buffer, taken.buffer])?;
    let size = halves.remote_size();
    // SAFETY: guaranteed by the caller.
    let (parts, places) = unsafe { (w_blocks(size, given)?, w_blocks(size, taken)?) };
    let (part, place) = (move |rank| parts.area_of(rank), move |rank| places.area_of(rank));
    coll::alltoall(halves, part, place, ())
}

/// # Safety
/// The second buffer at the root, and the first one elsewhere, must satisfy [`args::buffer`], unless the process is a
/// non-participant.
pub(crate) unsafe fn reduce(
    halves: GroupRanges,
    [sendbuf, recvbuf]: [*const c_void; 2],
    count: isize,
    OpArgs { datatype, op }: OpArgs,
    root: c_int,
) -> Result<CollectiveSchedule, Error> {
    let role = role(halves, root)?;
    if role == Role::NonParticipant {
        return coll::nothing(halves);
    }
    let count = args::count(count)?;
    let (elements, mut combiner) = operation(op, datatype)?;
    let in_interrupts = combiner.is_predefined();
    let is_root = role == Role::Root;
    // SAFETY: guaranteed by the caller.
    let data = unsafe { elements.at(if is_root { recvbuf } else { sendbuf }, count) }?;
    let area = BufferSlice::from(data.span());
    let areas = if is_root {
        ReduceAreas {
            data: BufferSlice::EMPTY,
            result: area,
        }
    } else {
        ReduceAreas {
            data: area,
            result: BufferSlice::EMPTY,
        }
    };
    let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
    let plan = coll::reduce(halves, areas, elements.size(), combine, role, data)?;
    Ok(plan.advances_in_interrupts(in_interrupts))
}

/// # Safety
/// Both buffers must satisfy [`args::buffer`].
pub(crate) unsafe fn allreduce(
    halves: GroupRanges,
    [sendbuf, recvbuf]: [*const c_void; 2],
    count: isize,
    OpArgs { datatype, op }: OpArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([sendbuf, recvbuf])?;
    let count = args::count(count)?;
    let (elements, mut combiner) = operation(op, datatype)?;
    let in_interrupts = combiner.is_predefined();
    // SAFETY: guaranteed by the caller.
    let (data, result) = unsafe { (elements.at(sendbuf, count)?, elements.at(recvbuf, count)?) };
    let areas = ReduceAreas {
        data: data.span().into(),
        result: result.span().into(),
    };
    let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
    let plan = coll::allreduce(halves, areas, elements.size(), combine, (data, result))?;
    Ok(plan.advances_in_interrupts(in_interrupts))
}

/// Returns this group's counts, and allocates an array for those of the other group. Counts are the same at all
/// processes of a group.
fn counts_of_both(halves: GroupRanges, counts: &[i64]) -> Result<GroupCounts, Error> {
    let (size, bytes) = (halves.remote_size(), size_of::<i64>());
    let mut theirs = try_with_capacity(size)?;
    theirs.resize(size, 0);
    // SAFETY: both arrays remain in place until the collective is complete; the caller ensures this for `counts`.
    let (given, taken) = unsafe {
        (
            Span::new(counts.as_ptr().cast(), counts.len() * bytes),
            Span::new(theirs.as_mut_ptr().cast::<u8>().cast_const(), size * bytes),
        )
    };
    Ok(GroupCounts {
        total: coll::added(counts),
        given: given.into(),
        taken: taken.into(),
        theirs,
    })
}

/// # Safety
/// `recvcounts` must satisfy [`args::array`], with one item per rank of the local group. The send buffer must satisfy
/// [`args::buffer`] for the sum of the items, the receive buffer for this process's item.
pub(crate) unsafe fn reduce_scatter(
    halves: GroupRanges,
    [sendbuf, recvbuf]: [*const c_void; 2],
    recvcounts: IntArray,
    OpArgs { datatype, op }: OpArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([sendbuf, recvbuf])?;
    let local = halves.local_ranks();
    // SAFETY: guaranteed by the caller.
    let counts = unsafe { recvcounts.items(local.len(), "recvcounts") }?;
    counts.check()?;
    let mut ours = try_with_capacity(local.len())?;
    ours.extend(counts.iter().map(|count| count as i64));
    let total = coll::added(&ours);
    let (elements, mut combiner) = operation(op, datatype)?;
    let in_interrupts = combiner.is_predefined();
    let (own, size) = (
        counts.at((halves.rank.0 - local.start) as usize) as usize,
        elements.size(),
    );
    // SAFETY: guaranteed by the caller.
    let (data, result) = unsafe { (elements.at(sendbuf, total)?, elements.at(recvbuf, own)?) };
    let counts = counts_of_both(halves, &ours)?;
    let parts = move |theirs: Vec<i64>| {
        let row = BlockRow::over(data, KeptInts::Count(theirs), size);
        move |rank| row.area_of(rank)
    };
    let area = result.span().into();
    let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
    let hold = (ours, result);
    let plan = coll::reduce_scatter_by_counts(halves, counts, parts, area, size, combine, hold)?;
    Ok(plan.advances_in_interrupts(in_interrupts))
}

/// # Safety
/// The send buffer must satisfy [`args::buffer`] for `recvcount` elements per process of the local group, the receive
/// buffer for `recvcount` elements.
pub(crate) unsafe fn reduce_scatter_block(
    halves: GroupRanges,
    [sendbuf, recvbuf]: [*const c_void; 2],
    recvcount: isize,
    OpArgs { datatype, op }: OpArgs,
) -> Result<CollectiveSchedule, Error> {
    not_in_place([sendbuf, recvbuf])?;
    let own = args::count(recvcount)?;
    let total = own.saturating_mul(halves.local_ranks().len());
    let size = halves.remote_size();
    let each = total / size;
    if each * size != total {
        return Err(TOTALS_DIFFER);
    }
    let (elements, mut combiner) = operation(op, datatype)?;
    let in_interrupts = combiner.is_predefined();
    let count = isize::try_from(each).map_err(|_| Error::TooLong { bytes: each })?;
    // SAFETY: guaranteed by the caller.
    let (parts, result) = unsafe {
        (
            EqualBlocks::with_count(size, sendbuf, count, &elements)?,
            elements.at(recvbuf, own)?,
        )
    };
    let (part, area) = (move |rank| parts.area_of(rank), result.span().into());
    let combine = move |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
    let plan = coll::reduce_scatter(halves, part, area, elements.size(), combine, result)?;
    Ok(plan.advances_in_interrupts(in_interrupts))
}
