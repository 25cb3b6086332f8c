//! Collectives of intercommunicators (MPI-3.1 section 5.2.2 and 5.2.3): what one group gives, the other one gets.
//!
//! | collective | algorithm | messages of one rank, groups of n and m processes |
//! |---|---|---|
//! | barrier | that of all processes of both groups: dissemination | log2 (n + m), empty |
//! | bcast | binomial tree of the root and the other group | at most log2 m |
//! | gather, scatter | one by one at the root | 1, and m at the root |
//! | reduce | binomial tree to the group's rank 0, and from there to the root, by segments | log2 m a segment |
//! | allreduce | trees to both ranks 0, which exchange by segments; then a bcast in each group | log2 n a segment |
//! | allgather, alltoall | pairs at growing distance | m |
//! | reduce_scatter | a reduce of one group to each rank of the other in turn, then the reverse | m log2 n a segment |
//!
//! All of these are schedules, as those of one group are ([`super`]), and mostly the same ones. A schedule runs among
//! the processes of both groups (`Intercommunicator::everyone`), in whose ranks its steps are: a local and a remote
//! rank never meet. What is a tree or a star of one group and one process of the other is the schedule of an
//! ordinary communicator whose last rank is that process, in a party with its members (`party`).
//!
//! Each function makes a plan, for calls that block and those that do not (`coll::running`). `hold` is
//! what has to stay until the collective is over, beside what its closures hold. A call that blocks can do without a
//! plan, and so without the program's heap (`blocking`). An error names a process by its rank
//! in its group, not by that among all.
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
use midplane_device::memory::area::Area;

use across::{Allreduce, Pairs, ReduceScatter, Swap};
use party::{Collect, InParty, Party};

/// What a process is in a collective with a root (section 5.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The root: it gave MPI_ROOT.
    Root,
    /// In the root's group, and not the root: it gave MPI_PROC_NULL, and does nothing.
    Bystander,
    /// In the other group: it gave the root's rank there, which exists.
    Member(CommRank),
}

/// Where the processes of a collective with a root sit, and this one among them; `None`: it is a bystander.
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

/// Work among all processes.
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

/// The plan of a schedule that does not combine anything.
fn plan(
    halves: Halves,
    schedule: impl Schedule + Send + 'static,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let work = Kept::new(schedule, |_: &[u8], _: &mut [u8]| (), hold);
    Ok(Plan::by_steps(Across { work, halves }, None)?.advances_in_interrupts(true))
}

/// The plan of a schedule that combines elements, as [`plans::reduction`](crate::coll::plans) makes it: interrupts
/// make its steps only if it is said that they may.
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

/// Nothing is to be done by this process.
pub fn nothing(halves: Halves) -> Result<Plan, Error> {
    plan(halves, None::<Swap>, ())
}

/// The root's span to those of all processes of the other group.
pub fn bcast(
    halves: Halves,
    span: Area,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, bcasting(halves, span, role), hold)
}

fn bcasting(halves: Halves, span: Area, role: Role) -> Option<InParty<Bcast>> {
    party(halves, role).map(|party| {
        let bcast = Bcast::new(party.all(), span, party.guest_rank());
        InParty::new(bcast, party)
    })
}

/// The `data` of every process of one group to the root in the other, where `place` says where each rank's goes.
pub fn gather(
    halves: Halves,
    data: Area,
    place: impl Part,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, gathering(halves, data, place, role), hold)
}

fn gathering<P: Fn(CommRank) -> Area>(
    halves: Halves,
    data: Area,
    place: P,
    role: Role,
) -> Option<InParty<Gather<impl Fn(CommRank) -> Area + use<P>>>> {
    party(halves, role).map(|party| {
        // The root has nothing for itself.
        let root = party.guest_rank();
        let place = move |rank| match rank == root {
            true => Area::EMPTY,
            false => place(rank),
        };
        InParty::new(Gather::new(party.all(), data, place, root), party)
    })
}

/// The root's parts, where `part` says what each rank of the other group gets, to their `result`.
pub fn scatter(
    halves: Halves,
    part: impl Part,
    result: Area,
    role: Role,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, scattering(halves, part, result, role), hold)
}

fn scattering<P: Fn(CommRank) -> Area>(
    halves: Halves,
    part: P,
    result: Area,
    role: Role,
) -> Option<InParty<Scatter<impl Fn(CommRank) -> Area + use<P>>>> {
    party(halves, role).map(|party| {
        let root = party.guest_rank();
        let part = move |rank| match rank == root {
            true => Area::EMPTY,
            false => part(rank),
        };
        InParty::new(Scatter::new(party.all(), part, result, root), party)
    })
}

/// Combines the `data` of all processes of one group into the `result` of the root in the other.
pub fn reduce(
    halves: Halves,
    (data, result): (Area, Area),
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

/// The root's part in a reduce: the result comes from the other group.
pub fn collect(
    halves: Halves,
    result: Area,
    element: usize,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, collecting(halves, result, element), hold)
}

/// The schedule of [`collect`].
fn collecting(halves: Halves, result: Area, element: usize) -> Option<InParty<Collect>> {
    party(halves, Role::Root).map(|party| InParty::new(Collect::new(result, element), party))
}

/// The part of the group that gives in a reduce.
fn reducing(halves: Halves, data: Area, element: usize, role: Role) -> Option<InParty<Reduce>> {
    party(halves, role).map(|party| {
        let areas = (data, Area::EMPTY);
        let reduce = Reduce::new(party.members(), areas, element, party.guest_rank());
        InParty::new(reduce, party)
    })
}

/// Combines the `data` of each group into the `result`, which is as long, of all processes of the other.
pub fn allreduce(
    halves: Halves,
    areas: (Area, Area),
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    same_length(areas.0.len(), areas.1.len())?;
    let schedule = Allreduce::new(halves, areas, element);
    reduction(halves, schedule, element, combine, hold)
}

/// Every process's part for each of the other group: `part` says what goes to a rank there, `place` where what
/// comes from it goes. An allgather is one with the same part for all.
pub fn alltoall(
    halves: Halves,
    part: impl Part,
    place: impl Part,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    plan(halves, Pairs::new(halves, part, place), hold)
}

/// Combines the data of each group; each rank of the other one gets the result of its own part, into `result`.
/// `part` says which part of this process's data is for which rank there.
pub fn reduce_scatter(
    halves: Halves,
    part: impl Part,
    result: Area,
    element: usize,
    combine: impl Combining,
    hold: impl Send + 'static,
) -> Result<Plan, Error> {
    let schedule = ReduceScatter::new(halves, part, result, element);
    reduction(halves, schedule, element, combine, hold)
}

/// Counts that all processes of a group have alike, for those of the other one.
pub struct Counts {
    /// What this group's add up to, and the other's have to.
    pub total: usize,
    /// Where this group's are.
    pub given: Area,
    /// Where the other's go: the memory of `theirs`.
    pub taken: Area,
    /// Processes of the remote group.
    pub theirs: Vec<c_int>,
}

/// What fails a reduction that is divided among two groups.
pub const TOTALS_DIFFER: Error = Error::Wrong {
    class: Class::Count,
    what: "the two groups do not divide the same number of elements (MPI-3.1 section 5.10)",
};

/// As [`reduce_scatter`], when each group has first told the other by which counts it divides: `parts` makes parts of
/// these. It takes nothing of the heap, and gives nothing back.
pub fn reduce_scatter_by_counts<P: Part>(
    halves: Halves,
    counts: Counts,
    parts: impl FnOnce(Vec<c_int>) -> P + Send + 'static,
    result: Area,
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

/// What counts, none of which is negative, add up to.
pub fn added(counts: &[c_int]) -> usize {
    let counts = counts.iter().map(|count| *count as usize);
    counts.fold(0, usize::saturating_add)
}

/// A swap of counts, and the reductions that are made of what has come.
struct ByCounts<F, P, C, H> {
    halves: Halves,
    swap: Swap,
    total: usize,
    /// Until the reductions begin: what makes the parts, of which counts. For ever, if these are wrong: no interrupt drops
    /// it.
    made: Option<(F, Vec<c_int>)>,
    reduce: Option<ReduceScatter<P>>,
    result: Area,
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
