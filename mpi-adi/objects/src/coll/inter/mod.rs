//! Collectives of intercommunicators (MPI-3.1 sections 5.2.2 and 5.2.3): one group sends, the other receives.
//!
//! | collective | algorithm | messages of one rank, groups of n and m processes |
//! |---|---|---|
//! | barrier | dissemination among all processes of both groups | log2 (n + m), empty |
//! | bcast | binomial tree of the root and the other group | at most log2 m |
//! | gather, scatter | linear at the root | 1, and m at the root |
//! | reduce | binomial tree to the group's rank 0, and from there to the root, by segments | log2 m a segment |
//! | allreduce | trees to both ranks 0, which exchange by segments; then a bcast in each group | log2 n a segment |
//! | allgather, alltoall | pairs at increasing distance | m |
//! | reduce_scatter | a reduce of one group to each rank of the other in turn, then the reverse | m log2 n a segment |
//!
//! All of these are schedules like those of one group ([`super`]), and mostly the same ones. A schedule runs among the
//! processes of both groups (`Intercommunicator::everyone`), and its steps use ranks among all: local and remote
//! ranks are never mixed. A tree or a star of one group and one process of the other is the schedule of an ordinary
//! communicator whose last rank is that process, in a rooted group with its members (`remote_root`).
//!
//! Each function creates a plan for blocking and nonblocking calls (`coll::running`). `hold` keeps data
//! alive until the collective is complete, in addition to the captures of its closures. A blocking call can also run
//! without a plan, and so without heap memory (`blocking`). An error contains a process's rank in its group, not that
//! among all.
//!
//! There is no scan across groups (section 5.11), and MPI_IN_PLACE has no meaning here (section 5.2.3).
#![forbid(unsafe_code)]

mod blocking;
pub(super) mod group_exchange;
pub(super) mod remote_root;

use alloc::vec::Vec;

use crate::coll::bcast::BcastSchedule;
use crate::coll::gather::{StarGather, StarScatter};
use crate::coll::nonblocking::{OwnedCombine, RankToArea, ScheduleWithData};
use crate::coll::reduce::TreeReduce;
use crate::coll::run::ReduceAreas;
use crate::coll::running::{CollectiveSchedule, ScheduleWork};
use crate::coll::schedule::{Schedule, ScheduleStep};
use crate::coll::segments::same_length;
use crate::comm::CommRank;
use crate::error::{Error, ErrorClass};
use crate::inter_groups::GroupRanges;
use midplane_device::memory::buffer_slice::BufferSlice;

use group_exchange::{InterAllreduce, InterPairs, LeaderSwap, ReduceScatter};
use remote_root::{InRootedGroup, RemoteCollect, RootedGroup};

/// Role of a process in a collective with a root (section 5.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The root: it specified MPI_ROOT.
    Root,
    /// A member of the root's group other than the root: it specified MPI_PROC_NULL, and does nothing.
    NonParticipant,
    /// A member of the other group: it specified the root's valid rank.
    Member(CommRank),
}

/// Returns the rooted group of a collective with a root; `None` for a non-participant.
fn rooted_group(halves: GroupRanges, role: Role) -> Option<RootedGroup> {
    match role {
        Role::NonParticipant => None,
        Role::Root => Some(RootedGroup::for_remote_root(halves.remote_ranks(), halves.rank)),
        Role::Member(root) => {
            let remote_root = CommRank(halves.remote_ranks().start + root.0);
            Some(RootedGroup::for_member(halves.local_ranks(), remote_root, halves.rank))
        }
    }
}

/// Work whose steps use ranks among all processes.
struct GlobalRankWork<W> {
    work: W,
    halves: GroupRanges,
}

impl<W: ScheduleWork> ScheduleWork for GlobalRankWork<W> {
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error> {
        self.work.next()
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        self.work.combine(left, right);
    }

    fn explained(&self, error: Error) -> Error {
        self.halves.explained(error)
    }
}

/// Creates the plan of a schedule without reductions.
fn plan(
    halves: GroupRanges,
    schedule: impl Schedule + Send + 'static,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    let work = ScheduleWithData::new(schedule, |_: &[u8], _: &mut [u8]| (), hold);
    Ok(CollectiveSchedule::from_steps(GlobalRankWork { work, halves }, None)?.advances_in_interrupts(true))
}

/// Creates the plan of a schedule that combines elements, like [`nonblocking::reduction`](crate::coll::nonblocking): interrupt
/// handlers run its steps only if enabled.
fn reduction(
    halves: GroupRanges,
    schedule: impl Schedule + Send + 'static,
    element: usize,
    combine: impl OwnedCombine,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    let work = ScheduleWithData::new(schedule, combine, hold);
    CollectiveSchedule::from_steps(GlobalRankWork { work, halves }, Some(element))
}

/// Creates an empty plan.
pub fn nothing(halves: GroupRanges) -> Result<CollectiveSchedule, Error> {
    plan(halves, None::<LeaderSwap>, ())
}

/// Broadcasts the root's span to all processes of the other group.
pub fn bcast(
    halves: GroupRanges,
    span: BufferSlice,
    role: Role,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    plan(halves, bcasting(halves, span, role), hold)
}

fn bcasting(halves: GroupRanges, span: BufferSlice, role: Role) -> Option<InRootedGroup<BcastSchedule>> {
    rooted_group(halves, role).map(|rooted_group| {
        let bcast = BcastSchedule::new(rooted_group.all(), span, rooted_group.remote_root_rank());
        InRootedGroup::new(bcast, rooted_group)
    })
}

/// Gathers the `data` of one group at the root in the other; `place` returns the buffer for a rank.
pub fn gather(
    halves: GroupRanges,
    data: BufferSlice,
    place: impl RankToArea,
    role: Role,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    plan(halves, gathering(halves, data, place, role), hold)
}

fn gathering<P: Fn(CommRank) -> BufferSlice>(
    halves: GroupRanges,
    data: BufferSlice,
    place: P,
    role: Role,
) -> Option<InRootedGroup<StarGather<impl Fn(CommRank) -> BufferSlice + use<P>>>> {
    rooted_group(halves, role).map(|rooted_group| {
        // The root receives nothing from itself.
        let root = rooted_group.remote_root_rank();
        let place = move |rank| {
            if rank == root { BufferSlice::EMPTY } else { place(rank) }
        };
        InRootedGroup::new(StarGather::new(rooted_group.all(), data, place, root), rooted_group)
    })
}

/// Scatters the root's parts to the `result` of the other group; `part` returns the data for a rank there.
pub fn scatter(
    halves: GroupRanges,
    part: impl RankToArea,
    result: BufferSlice,
    role: Role,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    plan(halves, scattering(halves, part, result, role), hold)
}

fn scattering<P: Fn(CommRank) -> BufferSlice>(
    halves: GroupRanges,
    part: P,
    result: BufferSlice,
    role: Role,
) -> Option<InRootedGroup<StarScatter<impl Fn(CommRank) -> BufferSlice + use<P>>>> {
    rooted_group(halves, role).map(|rooted_group| {
        let root = rooted_group.remote_root_rank();
        let part = move |rank| {
            if rank == root { BufferSlice::EMPTY } else { part(rank) }
        };
        InRootedGroup::new(StarScatter::new(rooted_group.all(), part, result, root), rooted_group)
    })
}

/// Combines the `data` of all processes of one group into the `result` of the root in the other.
pub fn reduce(
    halves: GroupRanges,
    ReduceAreas { data, result }: ReduceAreas,
    element: usize,
    combine: impl OwnedCombine,
    role: Role,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    if role == Role::Root {
        return collect(halves, result, element, hold);
    }
    let schedule = reducing(halves, data, element, role);
    reduction(halves, schedule, element, combine, hold)
}

/// Receives the result of a reduce at the root; it is combined in the other group.
pub fn collect(
    halves: GroupRanges,
    result: BufferSlice,
    element: usize,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    plan(halves, collecting(halves, result, element), hold)
}

/// Returns the schedule of [`collect`].
fn collecting(halves: GroupRanges, result: BufferSlice, element: usize) -> Option<InRootedGroup<RemoteCollect>> {
    rooted_group(halves, Role::Root)
        .map(|rooted_group| InRootedGroup::new(RemoteCollect::new(result, element), rooted_group))
}

/// Returns the schedule of the sending group in a reduce.
fn reducing(halves: GroupRanges, data: BufferSlice, element: usize, role: Role) -> Option<InRootedGroup<TreeReduce>> {
    rooted_group(halves, role).map(|rooted_group| {
        let areas = ReduceAreas {
            data,
            result: BufferSlice::EMPTY,
        };
        let reduce = TreeReduce::new(rooted_group.members(), areas, element, rooted_group.remote_root_rank());
        InRootedGroup::new(reduce, rooted_group)
    })
}

/// Combines the `data` of each group into the `result` of all processes of the other; both are equally long.
pub fn allreduce(
    halves: GroupRanges,
    areas: ReduceAreas,
    element: usize,
    combine: impl OwnedCombine,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    same_length(areas.data.len(), areas.result.len())?;
    let schedule = InterAllreduce::new(halves, areas, element);
    reduction(halves, schedule, element, combine, hold)
}

/// Exchanges every process's parts with the other group: `part` returns the data for a rank there, `place` the buffer
/// for the data from it. An allgather uses the same part for all.
pub fn alltoall(
    halves: GroupRanges,
    part: impl RankToArea,
    place: impl RankToArea,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    plan(halves, InterPairs::new(halves, part, place), hold)
}

/// Combines the data of each group. Each rank of the other one receives the result of its part in `result`; `part`
/// returns this process's data for a rank there.
pub fn reduce_scatter(
    halves: GroupRanges,
    part: impl RankToArea,
    result: BufferSlice,
    element: usize,
    combine: impl OwnedCombine,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    let schedule = ReduceScatter::new(halves, part, result, element);
    reduction(halves, schedule, element, combine, hold)
}

/// Counts that are the same at all processes of a group, for the other group.
pub struct GroupCounts {
    /// Sum of this group's counts; it must equal that of the other's.
    pub total: usize,
    /// Location of this group's counts.
    pub given: BufferSlice,
    /// Location for the other group's counts: the memory of `theirs`.
    pub taken: BufferSlice,
    /// Processes of the remote group.
    pub theirs: Vec<i64>,
}

/// Error of a reduce-scatter if the totals of the two groups differ.
pub const TOTALS_DIFFER: Error = Error::Wrong {
    class: ErrorClass::Count,
    what: "the two groups do not divide the same number of elements (MPI-3.1 section 5.10)",
};

/// Runs like [`reduce_scatter`] after the groups exchange their counts; `parts` converts the received counts to parts.
/// It must not allocate or free heap memory.
pub fn reduce_scatter_by_counts<P: RankToArea>(
    halves: GroupRanges,
    counts: GroupCounts,
    parts: impl FnOnce(Vec<i64>) -> P + Send + 'static,
    result: BufferSlice,
    element: usize,
    combine: impl OwnedCombine,
    hold: impl Send + 'static,
) -> Result<CollectiveSchedule, Error> {
    let work = ByCounts {
        halves,
        swap: LeaderSwap::new(halves, counts.given, counts.taken),
        total: counts.total,
        made: Some((parts, counts.theirs)),
        reduce: None,
        result,
        element,
        combine,
        _hold: hold,
    };
    CollectiveSchedule::from_steps(GlobalRankWork { work, halves }, Some(element))
}

/// Returns the sum of non-negative counts.
pub fn added(counts: &[i64]) -> usize {
    let counts = counts.iter().map(|count| *count as usize);
    counts.fold(0, usize::saturating_add)
}

/// An exchange of counts, then the reductions that they define.
struct ByCounts<F, P, C, H> {
    halves: GroupRanges,
    swap: LeaderSwap,
    total: usize,
    /// Before the reductions: the function that creates the parts, and the counts. If the counts are wrong, it remains
    /// here, because an interrupt handler must not drop it.
    made: Option<(F, Vec<i64>)>,
    reduce: Option<ReduceScatter<P>>,
    result: BufferSlice,
    element: usize,
    combine: C,
    _hold: H,
}

impl<F, P, C, H> ScheduleWork for ByCounts<F, P, C, H>
where
    F: FnOnce(Vec<i64>) -> P + Send,
    P: RankToArea,
    C: OwnedCombine,
    H: Send,
{
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error> {
        if let Some(step) = self.swap.next() {
            return Ok(Some(step));
        }
        if let Some((_, theirs)) = &self.made
            && added(theirs) != self.total
        {
            return Err(TOTALS_DIFFER);
        }
        if let Some((parts, theirs)) = self.made.take() {
            let part = parts(theirs);
            let reduce = ReduceScatter::new(self.halves, part, self.result, self.element);
            self.reduce = Some(reduce);
        }
        Ok(self.reduce.next())
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        (self.combine)(left, right);
    }
}
