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
//! the processes of both groups ([`Intercommunicator::everyone`]), in whose ranks its steps are: a local and a remote
//! rank never meet. What is a tree or a star of one group and one process of the other is the schedule of an
//! ordinary communicator whose last rank is that process, seated where its members are ([`seats`]).
//!
//! There is no scan across groups (section 5.11), and MPI_IN_PLACE has no meaning here (section 5.2.3).
#![forbid(unsafe_code)]

mod across;
mod seats;

use crate::device::matching::Matching;
use crate::device::memory::area::Area;
use crate::mpi::coll::bcast::Bcast;
use crate::mpi::coll::gather::{Gather, Scatter};
use crate::mpi::coll::reduce::Reduce;
use crate::mpi::coll::run::{Combine, run, run_in_segments};
use crate::mpi::coll::schedule::Schedule;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::mpi::sides::Intercommunicator;

use across::{Allreduce, Pairs, ReduceScatter, Swap};
use seats::{Collect, Seated, Seats};

/// What a process is in a collective with a root (section 5.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The root: it gave MPI_ROOT.
    Root,
    /// In the root's group, and not the root: it gave MPI_PROC_NULL, and does nothing.
    Bystander,
    /// In the other group: it gave the root's rank there, which exists.
    Member(CommRank),
}

impl<E: Matching> Intercommunicator<'_, E> {
    /// Runs a schedule among all processes.
    fn run(self, function: &'static str, schedule: &mut dyn Schedule) -> Result<(), Error> {
        run(self.everyone(), function, schedule).map_err(|error| self.explained(error))
    }

    fn run_in_segments(
        self,
        function: &'static str,
        schedule: &mut dyn Schedule,
        element: usize,
        combine: &mut Combine<'_>,
    ) -> Result<(), Error> {
        run_in_segments(self.everyone(), function, schedule, element, combine)
            .map_err(|error| self.explained(error))
    }

    /// The error with a process's rank in its group in place of that among all, which the program does not know.
    fn explained(self, error: Error) -> Error {
        let Error::CountsDiffer {
            rank,
            expected,
            given,
        } = error
        else {
            return error;
        };
        let (local, remote) = (self.sides.local_ranks(), self.sides.remote_ranks());
        let is_remote = remote.contains(&rank);
        let ranks = if is_remote { remote } else { local };
        Error::GroupsDiffer {
            rank: rank - ranks.start,
            is_remote,
            expected,
            given,
        }
    }

    /// Where the processes of a collective with a root sit, and this one among them; `None`: it is a bystander.
    fn seats(self, role: Role) -> Option<Seats> {
        let sides = self.sides;
        match role {
            Role::Bystander => None,
            Role::Root => Some(Seats::guest(sides.remote_ranks(), sides.rank)),
            Role::Member(root) => {
                let guest = CommRank(sides.remote_ranks().start + root.0);
                Some(Seats::member(sides.local_ranks(), guest, sides.rank))
            }
        }
    }
}

/// The root's span to those of all processes of the other group.
pub(crate) fn bcast<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    span: Area,
    role: Role,
) -> Result<(), Error> {
    let Some(seats) = inter.seats(role) else {
        return Ok(());
    };
    let bcast = Bcast::new(seats.all(), span, seats.guest_rank());
    inter.run(function, &mut Seated::new(bcast, seats))
}

/// The `data` of every process of one group to the root in the other, where `place` says where each rank's goes.
pub(crate) fn gather<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    data: Area,
    place: &dyn Fn(CommRank) -> Area,
    role: Role,
) -> Result<(), Error> {
    let Some(seats) = inter.seats(role) else {
        return Ok(());
    };
    // The root has nothing for itself.
    let root = seats.guest_rank();
    let place = |rank| match rank == root {
        true => Area::EMPTY,
        false => place(rank),
    };
    let gather = Gather::new(seats.all(), data, place, root);
    inter.run(function, &mut Seated::new(gather, seats))
}

/// The root's parts, where `part` says what each rank of the other group gets, to their `result`.
pub(crate) fn scatter<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Area,
    result: Area,
    role: Role,
) -> Result<(), Error> {
    let Some(seats) = inter.seats(role) else {
        return Ok(());
    };
    let root = seats.guest_rank();
    let part = |rank| match rank == root {
        true => Area::EMPTY,
        false => part(rank),
    };
    let scatter = Scatter::new(seats.all(), part, result, root);
    inter.run(function, &mut Seated::new(scatter, seats))
}

/// Combines the `data` of all processes of one group into the `result` of the root in the other.
pub(crate) fn reduce<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    (data, result): (Area, Area),
    element: usize,
    combine: &mut Combine<'_>,
    role: Role,
) -> Result<(), Error> {
    let Some(seats) = inter.seats(role) else {
        return Ok(());
    };
    if role == Role::Root {
        let collect = Collect::new(result, element);
        return inter.run(function, &mut Seated::new(collect, seats));
    }
    let areas = (data, Area::EMPTY);
    let reduce = Reduce::new(seats.members(), areas, element, seats.guest_rank());
    let mut schedule = Seated::new(reduce, seats);
    inter.run_in_segments(function, &mut schedule, element, combine)
}

/// Combines the `data` of each group into the `result`, which is as long, of all processes of the other.
pub(crate) fn allreduce<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    (data, result): (Area, Area),
    element: usize,
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    let mut schedule = Allreduce::new(inter.sides, (data, result), element);
    inter.run_in_segments(function, &mut schedule, element, combine)
}

/// Every process's part for each of the other group: `part` says what goes to a rank there, `place` where what
/// comes from it goes. An allgather is one with the same part for all.
pub(crate) fn alltoall<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Area,
    place: &dyn Fn(CommRank) -> Area,
) -> Result<(), Error> {
    inter.run(function, &mut Pairs::new(inter.sides, part, place))
}

/// Combines the data of each group; each rank of the other one gets the result of its own part, into `result`.
/// `part` says which part of this process's data is for which rank there.
pub(crate) fn reduce_scatter<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Area,
    result: Area,
    element: usize,
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    let mut schedule = ReduceScatter::new(inter.sides, part, result, element);
    inter.run_in_segments(function, &mut schedule, element, combine)
}

/// Gives every process what all processes of the other group have alike: `given` for `taken`.
pub(crate) fn swap<E: Matching>(
    inter: Intercommunicator<'_, E>,
    function: &'static str,
    given: Area,
    taken: Area,
) -> Result<(), Error> {
    inter.run(function, &mut Swap::new(inter.sides, given, taken))
}
