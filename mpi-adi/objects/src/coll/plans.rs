//! Nonblocking collectives (MPI-3.1 section 5.12): plans that store the schedules of the blocking ones.
//!
//! Each function makes the same checks as the blocking one of its name. `hold` keeps data alive until the collective is
//! complete, in addition to the captures of its closures.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::coll::alltoall::{InPlace, Pairs};
use crate::coll::barrier::Dissemination;
use crate::coll::bcast::Bcast;
use crate::coll::gather::{Gather, Ring, Scatter};
use crate::coll::neighbours::Neighbours;
use crate::coll::reduce::{Allreduce, Reduce, ReduceScatter};
use crate::coll::run::Elements;
use crate::coll::running::{Plan, Work};
use crate::coll::scan::Scan;
use crate::coll::schedule::{Lanes, Ranks, Schedule, Step};
use crate::coll::segments::same_length;
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Function from a rank to its bytes.
pub trait Part: Fn(CommRank) -> BufferSlice + Send + 'static {}
impl<P: Fn(CommRank) -> BufferSlice + Send + 'static> Part for P {}

/// Function that combines elements: `right[i] = left[i] op right[i]`.
pub trait Combining: FnMut(&[u8], &mut [u8]) + Send + 'static {}
impl<C: FnMut(&[u8], &mut [u8]) + Send + 'static> Combining for C {}

/// A schedule with the data that it needs until it is complete.
pub(super) struct Kept<S, C, H> {
    schedule: S,
    combine: C,
    _hold: H,
}

impl<S: Schedule + Send, C: Combining, H: Send> Kept<S, C, H> {
    pub(super) fn new(schedule: S, combine: C, hold: H) -> Self {
        Kept {
            schedule,
            combine,
            _hold: hold,
        }
    }
}

impl<S: Schedule + Send, C: Combining, H: Send> Work for Kept<S, C, H> {
    fn next(&mut self) -> Result<Option<Step>, Error> {
        Ok(self.schedule.next())
    }

    fn lanes(&mut self) -> Lanes {
        self.schedule.lanes()
    }

    fn next_in(&mut self, lane: usize) -> Result<Option<Step>, Error> {
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
) -> Result<Plan, Error> {
    let plan = reduction(schedule, |_: &[u8], _: &mut [u8]| (), hold, element)?;
    Ok(plan.advances_in_interrupts(true))
}

/// Creates the plan of a schedule that combines elements. Interrupt handlers run its steps only if enabled
/// ([`Plan::advances_in_interrupts`]), because `combine` may be a function of the program.
fn reduction<S: Schedule + Send + 'static, H: Send + 'static>(
    schedule: S,
    combine: impl Combining,
    hold: H,
    element: Option<usize>,
) -> Result<Plan, Error> {
    Plan::by_steps(Kept::new(schedule, combine, hold), element)
}

/// Creates the schedule of MPI_Ibarrier.
pub fn barrier(comm: Communicator<'_>) -> Result<Plan, Error> {
    plan(Dissemination::new(Ranks::of(comm)), (), None)
}

/// Creates the schedule of MPI_Ibcast.
pub fn bcast(
    comm: Communicator<'_>,
    span: BufferSlice,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    comm.check_root(root)?;
    plan(Bcast::new(Ranks::placed(comm), span, root), hold, None)
}

/// Creates the schedule of MPI_Igather and MPI_Igatherv.
pub fn gather(
    comm: Communicator<'_>,
    data: BufferSlice,
    place: impl Part,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    comm.check_root(root)?;
    plan(Gather::new(Ranks::of(comm), data, place, root), hold, None)
}

/// Creates the schedule of MPI_Iscatter and MPI_Iscatterv.
pub fn scatter(
    comm: Communicator<'_>,
    part: impl Part,
    result: BufferSlice,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    comm.check_root(root)?;
    plan(
        Scatter::new(Ranks::of(comm), part, result, root),
        hold,
        None,
    )
}

/// Creates the schedule of MPI_Iallgather and MPI_Iallgatherv.
pub fn allgather(
    comm: Communicator<'_>,
    data: BufferSlice,
    place: impl Part,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(Ring::new(Ranks::of(comm), data, place), hold, None)
}

/// Creates the schedule of MPI_Ialltoall and its variants.
pub fn alltoall(comm: Communicator<'_>, part: impl Part, place: impl Part) -> Result<Plan, Error> {
    plan(Pairs::new(Ranks::placed(comm), part, place), (), None)
}

/// Creates the schedule of MPI_Ialltoall and its variants with MPI_IN_PLACE.
pub fn alltoall_in_place(comm: Communicator<'_>, place: impl Part) -> Result<Plan, Error> {
    plan(InPlace::new(Ranks::of(comm), place), (), Some(1))
}

/// Creates the schedule of MPI_Ireduce.
pub fn reduce(
    comm: Communicator<'_>,
    (data, result): (BufferSlice, BufferSlice),
    element: usize,
    combine: impl Combining,
    root: CommRank,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    comm.check_root(root)?;
    if comm.own_rank() == root {
        same_length(data.len(), result.len())?;
    }
    let schedule = Reduce::new(Ranks::of(comm), (data, result), element, root);
    reduction(schedule, combine, hold, Some(element))
}

/// Creates the schedule of MPI_Iallreduce.
pub fn allreduce(
    comm: Communicator<'_>,
    (data, result): (BufferSlice, BufferSlice),
    elements: Elements,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    same_length(data.len(), result.len())?;
    let schedule = Allreduce::new(Ranks::placed(comm), (data, result), elements);
    reduction(schedule, combine, hold, Some(elements.size))
}

/// Creates the schedule of MPI_Ireduce_scatter and MPI_Ireduce_scatter_block.
pub fn reduce_scatter(
    comm: Communicator<'_>,
    part: impl Part,
    result: BufferSlice,
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    same_length(part(comm.own_rank()).len(), result.len())?;
    let schedule = ReduceScatter::new(Ranks::of(comm), part, result, element);
    reduction(schedule, combine, hold, Some(element))
}

/// Creates the schedule of MPI_Iscan and MPI_Iexscan.
pub fn scan(
    comm: Communicator<'_>,
    (data, result): (BufferSlice, BufferSlice),
    element: usize,
    combine: impl Combining,
    inclusive: bool,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    same_length(data.len(), result.len())?;
    let schedule = Scan::new(Ranks::of(comm), (data, result), element, inclusive);
    reduction(schedule, combine, hold, Some(element))
}

/// Sends a message to each rank of `to`, and receives one from each rank of `from`. Messages between the same two ranks
/// match in list order.
pub fn neighbours(
    from: Vec<(CommRank, BufferSlice)>,
    to: Vec<(CommRank, BufferSlice)>,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let messages = from.len() + to.len();
    let schedule = Neighbours::new(from, to);
    let kept = Kept::new(schedule, |_: &[u8], _: &mut [u8]| (), hold);
    Ok(Plan::at_once(kept, messages)?.advances_in_interrupts(true))
}
