//! Nonblocking collectives (MPI-3.1 section 5.12): plans that store the schedules of the blocking ones.
//!
//! Each function makes the same checks as the blocking one of its name. `hold` keeps data alive until the collective is
//! complete, in addition to the captures of its closures.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::coll::alltoall::{InPlace, PairwiseExchange};
use crate::coll::barrier::DisseminationBarrier;
use crate::coll::bcast::BcastSchedule;
use crate::coll::gather::{RingAllgather, StarGather, StarScatter};
use crate::coll::neighbours::NeighbourExchange;
use crate::coll::reduce::{AllreduceSchedule, ReduceScatter, TreeReduce};
use crate::coll::run::{ReduceAreas, ReduceElements};
use crate::coll::running::{CollectiveSchedule, ScheduleWork};
use crate::coll::scan::ChainScan;
use crate::coll::schedule::{LaneConfig, RankInfo, Schedule, ScheduleStep};
use crate::coll::segments::same_length;
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Function from a rank to its bytes.
pub trait RankToArea: Fn(CommRank) -> BufferSlice + Send + 'static {}
impl<P: Fn(CommRank) -> BufferSlice + Send + 'static> RankToArea for P {}

/// Function that combines elements: `right[i] = left[i] op right[i]`.
pub trait OwnedCombine: FnMut(&[u8], &mut [u8]) + Send + 'static {}
impl<C: FnMut(&[u8], &mut [u8]) + Send + 'static> OwnedCombine for C {}

/// A schedule with the data that it needs until it is complete.
pub(super) struct ScheduleWithData<S, C, H> {
    schedule: S,
    combine: C,
    _hold: H,
}

impl<S: Schedule + Send, C: OwnedCombine, H: Send> ScheduleWithData<S, C, H> {
    pub(super) fn new(schedule: S, combine: C, hold: H) -> Self {
        ScheduleWithData {
            schedule,
            combine,
            _hold: hold,
        }
    }
}

impl<S: Schedule + Send, C: OwnedCombine, H: Send> ScheduleWork for ScheduleWithData<S, C, H> {
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error> {
        Ok(self.schedule.next())
    }

    fn lanes(&mut self) -> LaneConfig {
        self.schedule.lanes()
    }

    fn next_in(&mut self, lane: usize) -> Result<Option<ScheduleStep>, Error> {
        Ok(self.schedule.next_in(lane))
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        (self.combine)(left, right);
    }
}

/// Creates the plan of a schedule without reductions.
fn plan<S: Schedule + Send + 'static, H: Send + 'static>(
    schedule: S,
    hold: H,
    element: Option<usize>,
) -> Result<CollectiveSchedule, Error> {
    let plan = reduction(schedule, |_: &[u8], _: &mut [u8]| (), hold, element)?;
    Ok(plan.advances_in_interrupts(true))
}

/// Creates the plan of a schedule that combines elements. Interrupt handlers run its steps only if enabled
/// ([`CollectiveSchedule::advances_in_interrupts`]), because `combine` may be a function of the program.
fn reduction<S: Schedule + Send + 'static, H: Send + 'static>(
    schedule: S,
    combine: impl OwnedCombine,
    hold: H,
    element: Option<usize>,
) -> Result<CollectiveSchedule, Error> {
    CollectiveSchedule::from_steps(ScheduleWithData::new(schedule, combine, hold), element)
}

/// Creates the schedule of MPI_Ibarrier.
pub fn barrier(comm: Communicator<'_>) -> Result<CollectiveSchedule, Error> {
    plan(DisseminationBarrier::new(RankInfo::from_comm(comm)), (), None)
}

/// Creates the schedule of MPI_Ibcast.
pub fn bcast(
    comm: Communicator<'_>,
    span: BufferSlice,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    comm.check_root(root)?;
    plan(BcastSchedule::new(RankInfo::placed(comm), span, root), hold, None)
}

/// Creates the schedule of MPI_Igather and MPI_Igatherv.
pub fn gather(
    comm: Communicator<'_>,
    data: BufferSlice,
    place: impl RankToArea,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    comm.check_root(root)?;
    plan(
        StarGather::new(RankInfo::from_comm(comm), data, place, root),
        hold,
        None,
    )
}

/// Creates the schedule of MPI_Iscatter and MPI_Iscatterv.
pub fn scatter(
    comm: Communicator<'_>,
    part: impl RankToArea,
    result: BufferSlice,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    comm.check_root(root)?;
    plan(
        StarScatter::new(RankInfo::from_comm(comm), part, result, root),
        hold,
        None,
    )
}

/// Creates the schedule of MPI_Iallgather and MPI_Iallgatherv.
pub fn allgather(
    comm: Communicator<'_>,
    data: BufferSlice,
    place: impl RankToArea,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    plan(RingAllgather::new(RankInfo::from_comm(comm), data, place), hold, None)
}

/// Creates the schedule of MPI_Ialltoall and its variants.
pub fn alltoall(
    comm: Communicator<'_>,
    part: impl RankToArea,
    place: impl RankToArea,
) -> Result<CollectiveSchedule, Error> {
    plan(PairwiseExchange::new(RankInfo::placed(comm), part, place), (), None)
}

/// Creates the schedule of MPI_Ialltoall and its variants with MPI_IN_PLACE.
pub fn alltoall_in_place(comm: Communicator<'_>, place: impl RankToArea) -> Result<CollectiveSchedule, Error> {
    plan(InPlace::new(RankInfo::from_comm(comm), place), (), Some(1))
}

/// Creates the schedule of MPI_Ireduce.
pub fn reduce(
    comm: Communicator<'_>,
    ReduceAreas { data, result }: ReduceAreas,
    element: usize,
    combine: impl OwnedCombine,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    comm.check_root(root)?;
    if comm.own_rank() == root {
        same_length(data.len(), result.len())?;
    }
    let schedule = TreeReduce::new(RankInfo::from_comm(comm), ReduceAreas { data, result }, element, root);
    reduction(schedule, combine, hold, Some(element))
}

/// Creates the schedule of MPI_Iallreduce.
pub fn allreduce(
    comm: Communicator<'_>,
    ReduceAreas { data, result }: ReduceAreas,
    elements: ReduceElements,
    combine: impl OwnedCombine,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    same_length(data.len(), result.len())?;
    let schedule = AllreduceSchedule::new(RankInfo::placed(comm), ReduceAreas { data, result }, elements);
    reduction(schedule, combine, hold, Some(elements.size))
}

/// Creates the schedule of MPI_Ireduce_scatter and MPI_Ireduce_scatter_block.
pub fn reduce_scatter(
    comm: Communicator<'_>,
    part: impl RankToArea,
    result: BufferSlice,
    element: usize,
    combine: impl OwnedCombine,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    same_length(part(comm.own_rank()).len(), result.len())?;
    let schedule = ReduceScatter::new(RankInfo::from_comm(comm), part, result, element);
    reduction(schedule, combine, hold, Some(element))
}

/// Creates the schedule of MPI_Iscan and MPI_Iexscan.
pub fn scan(
    comm: Communicator<'_>,
    ReduceAreas { data, result }: ReduceAreas,
    element: usize,
    combine: impl OwnedCombine,
    inclusive: bool,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    same_length(data.len(), result.len())?;
    let schedule = ChainScan::new(
        RankInfo::from_comm(comm),
        ReduceAreas { data, result },
        element,
        inclusive,
    );
    reduction(schedule, combine, hold, Some(element))
}

/// Sends a message to each rank of `to`, and receives one from each rank of `from`. Messages between the same two ranks
/// match in list order.
pub fn neighbours(
    from: Vec<(CommRank, BufferSlice)>,
    to: Vec<(CommRank, BufferSlice)>,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    let messages = from.len() + to.len();
    let schedule = NeighbourExchange::new(from, to);
    let kept = ScheduleWithData::new(schedule, |_: &[u8], _: &mut [u8]| (), hold);
    Ok(CollectiveSchedule::from_concurrent_steps(kept, messages)?.advances_in_interrupts(true))
}
