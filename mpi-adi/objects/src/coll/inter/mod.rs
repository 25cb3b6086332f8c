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
//! communicator whose last rank is that process, in a party with its members (`party`).
//!
//! Each function creates a plan for blocking and nonblocking calls (`coll::running`). `hold` keeps data
//! alive until the collective is complete, in addition to the captures of its closures. A blocking call can also run
//! without a plan, and so without heap memory (`blocking`). An error contains a process's rank in its group, not that
//! among all.
//!
//! There is no scan across groups (section 5.11), and MPI_IN_PLACE has no meaning here (section 5.2.3).
#![forbid(unsafe_code)]

pub(super) mod across;
mod blocking;
pub(super) mod party;

use alloc::vec::Vec;
use core::ffi::c_int;

use crate::coll::bcast::Bcast;
use crate::coll::gather::{Gather, Scatter};
use crate::coll::plans::{Combining, Kept, Part};
use crate::coll::reduce::Reduce;
use crate::coll::running::{Plan, Work};
use crate::coll::schedule::{Schedule, Step};
use crate::coll::segments::same_length;
use crate::comm::CommRank;
use crate::error::{Class, Error};
use crate::sides::Halves;
use midplane_device::memory::buffer_slice::BufferSlice;

use across::{Allreduce, Pairs, ReduceScatter, Swap};
use party::{Collect, InParty, Party};

/// Role of a process in a collective with a root (section 5.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The root: it specified MPI_ROOT.
    Root,
    /// A member of the root's group other than the root: it specified MPI_PROC_NULL, and does nothing.
    Bystander,
    /// A member of the other group: it specified the root's valid rank.
    Member(CommRank),
}

/// Returns the party of a collective with a root; `None` for a bystander.
fn party(halves: Halves, role: Role) -> Option<Party> {
    match role {
        Role::Bystander => None,
        Role::Root => Some(Party::guest(halves.remote_ranks(), halves.rank)),
        Role::Member(root) => {
            let guest = CommRank(halves.remote_ranks().start + root.0);
            Some(Party::member(halves.local_ranks(), guest, halves.rank))
        }
    }
}

/// Work whose steps use ranks among all processes.
struct Across<W> {
    work: W,
    halves: Halves,
}

impl<W: Work> Work for Across<W> {
    fn next(&mut self) -> Result<Option<Step>, Error> {
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
    halves: Halves,
    schedule: impl Schedule + Send + 'static,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let work = Kept::new(schedule, |_: &[u8], _: &mut [u8]| (), hold);
    Ok(Plan::by_steps(Across { work, halves }, None)?.advances_in_interrupts(true))
}

/// Creates the plan of a schedule that combines elements, like [`plans::reduction`](crate::coll::plans): interrupt
/// handlers run its steps only if enabled.
fn reduction(
    halves: Halves,
    schedule: impl Schedule + Send + 'static,
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let work = Kept::new(schedule, combine, hold);
    Plan::by_steps(Across { work, halves }, Some(element))
}

/// Creates an empty plan.
pub fn nothing(halves: Halves) -> Result<Plan, Error> {
    plan(halves, None::<Swap>, ())
}

/// Broadcasts the root's span to all processes of the other group.
pub fn bcast(
    halves: Halves,
    span: BufferSlice,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, bcasting(halves, span, role), hold)
}

fn bcasting(halves: Halves, span: BufferSlice, role: Role) -> Option<InParty<Bcast>> {
    party(halves, role).map(|party| {
        let bcast = Bcast::new(party.all(), span, party.guest_rank());
        InParty::new(bcast, party)
    })
}

/// Gathers the `data` of one group at the root in the other; `place` returns the buffer for a rank.
pub fn gather(
    halves: Halves,
    data: BufferSlice,
    place: impl Part,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, gathering(halves, data, place, role), hold)
}

fn gathering<P: Fn(CommRank) -> BufferSlice>(
    halves: Halves,
    data: BufferSlice,
    place: P,
    role: Role,
) -> Option<InParty<Gather<impl Fn(CommRank) -> BufferSlice + use<P>>>> {
    party(halves, role).map(|party| {
        // The root receives nothing from itself.
        let root = party.guest_rank();
        let place = move |rank| {
            if rank == root {
                BufferSlice::EMPTY
            } else {
                place(rank)
            }
        };
        InParty::new(Gather::new(party.all(), data, place, root), party)
    })
}

/// Scatters the root's parts to the `result` of the other group; `part` returns the data for a rank there.
pub fn scatter(
    halves: Halves,
    part: impl Part,
    result: BufferSlice,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, scattering(halves, part, result, role), hold)
}

fn scattering<P: Fn(CommRank) -> BufferSlice>(
    halves: Halves,
    part: P,
    result: BufferSlice,
    role: Role,
) -> Option<InParty<Scatter<impl Fn(CommRank) -> BufferSlice + use<P>>>> {
    party(halves, role).map(|party| {
        let root = party.guest_rank();
        let part = move |rank| {
            if rank == root {
                BufferSlice::EMPTY
            } else {
                part(rank)
            }
        };
        InParty::new(Scatter::new(party.all(), part, result, root), party)
    })
}

/// Combines the `data` of all processes of one group into the `result` of the root in the other.
pub fn reduce(
    halves: Halves,
    (data, result): (BufferSlice, BufferSlice),
    element: usize,
    combine: impl Combining,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    if role == Role::Root {
        return collect(halves, result, element, hold);
    }
    let schedule = reducing(halves, data, element, role);
    reduction(halves, schedule, element, combine, hold)
}

/// Receives the result of a reduce at the root; it is combined in the other group.
pub fn collect(
    halves: Halves,
    result: BufferSlice,
    element: usize,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, collecting(halves, result, element), hold)
}

/// Returns the schedule of [`collect`].
fn collecting(halves: Halves, result: BufferSlice, element: usize) -> Option<InParty<Collect>> {
    party(halves, Role::Root).map(|party| InParty::new(Collect::new(result, element), party))
}

/// Returns the schedule of the sending group in a reduce.
fn reducing(halves: Halves, data: BufferSlice, element: usize, role: Role) -> Option<InParty<Reduce>> {
    party(halves, role).map(|party| {
        let areas = (data, BufferSlice::EMPTY);
        let reduce = Reduce::new(party.members(), areas, element, party.guest_rank());
        InParty::new(reduce, party)
    })
}

/// Combines the `data` of each group into the `result` of all processes of the other; both are equally long.
pub fn allreduce(
    halves: Halves,
    areas: (BufferSlice, BufferSlice),
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    same_length(areas.0.len(), areas.1.len())?;
    let schedule = Allreduce::new(halves, areas, element);
    reduction(halves, schedule, element, combine, hold)
}

/// Exchanges every process's parts with the other group: `part` returns the data for a rank there, `place` the buffer
/// for the data from it. An allgather uses the same part for all.
pub fn alltoall(
    halves: Halves,
    part: impl Part,
    place: impl Part,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, Pairs::new(halves, part, place), hold)
}

/// Combines the data of each group. Each rank of the other one receives the result of its part in `result`; `part`
/// returns this process's data for a rank there.
pub fn reduce_scatter(
    halves: Halves,
    part: impl Part,
    result: BufferSlice,
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let schedule = ReduceScatter::new(halves, part, result, element);
    reduction(halves, schedule, element, combine, hold)
}

/// Counts that are the same at all processes of a group, for the other group.
pub struct Counts {
    /// Sum of this group's counts; it must equal that of the other's.
    pub total: usize,
    /// Location of this group's counts.
    pub given: BufferSlice,
    /// Location for the other group's counts: the memory of `theirs`.
    pub taken: BufferSlice,
    /// Processes of the remote group.
    pub theirs: Vec<c_int>,
}

/// Error of a reduce-scatter if the totals of the two groups differ.
pub const TOTALS_DIFFER: Error = Error::Wrong {
    class: Class::Count,
    what: "the two groups do not divide the same number of elements (MPI-3.1 section 5.10)",
};

/// Runs like [`reduce_scatter`] after the groups exchange their counts; `parts` converts the received counts to parts.
/// It must not allocate or free heap memory.
pub fn reduce_scatter_by_counts<P: Part>(
    halves: Halves,
    counts: Counts,
    parts: impl FnOnce(Vec<c_int>) -> P + Send + 'static,
    result: BufferSlice,
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let work = ByCounts {
        halves,
        swap: Swap::new(halves, counts.given, counts.taken),
        total: counts.total,
        made: Some((parts, counts.theirs)),
        reduce: None,
        result,
        element,
        combine,
        _hold: hold,
    };
    Plan::by_steps(Across { work, halves }, Some(element))
}

/// Returns the sum of non-negative counts.
pub fn added(counts: &[c_int]) -> usize {
    let counts = counts.iter().map(|count| *count as usize);
    counts.fold(0, usize::saturating_add)
}

/// An exchange of counts, then the reductions that they define.
struct ByCounts<F, P, C, H> {
    halves: Halves,
    swap: Swap,
    total: usize,
    /// Before the reductions: the function that creates the parts, and the counts. If the counts are wrong, it remains
    /// here, because an interrupt handler must not drop it.
    made: Option<(F, Vec<c_int>)>,
    reduce: Option<ReduceScatter<P>>,
    result: BufferSlice,
    element: usize,
    combine: C,
    _hold: H,
}

impl<F, P, C, H> Work for ByCounts<F, P, C, H>
where
    F: FnOnce(Vec<c_int>) -> P + Send,
    P: Part,
    C: Combining,
    H: Send,
{
    fn next(&mut self) -> Result<Option<Step>, Error> {
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
