//! Targets of collectives: the processes of a communicator, or the two groups of an intercommunicator.
#![forbid(unsafe_code)]

use super::operation::{CombineElements, combining};
use crate::datatype::operands::{EqualParts, RankParts, same_length};
use crate::request::in_flight;
use crate::topology::{CommRecord, InterCommunicator};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::inter::{self, Role};
use midplane_objects::coll::{self, CollectiveSchedule, CombineFn, ReduceAreas, ReduceElements, nonblocking};
use midplane_objects::comm::CommRank;
use midplane_objects::error::Error;
use midplane_objects::topology::NeighbourLists;

/// Mode of a collective: blocking, or a schedule.
pub(super) trait CollectiveMode: Sized {
    /// Result of the mode: `()` or a schedule.
    type ModeOutput;
    /// Combiner that lives as long as a schedule.
    type OwnedCombiner: CombineElements + Send + 'static;

    fn elements(&self) -> ReduceElements;

    /// Runs `run` or `plan` on `with`, according to the mode.
    fn choose<W>(
        self,
        with: W,
        run: impl FnOnce(&'static str, W, &mut CombineFn<'_>) -> Result<(), Error>,
        plan: impl FnOnce(W, Self::OwnedCombiner) -> Result<CollectiveSchedule, Error>,
    ) -> ModeResult<Self>;
}

/// A process's argument for its partners: the root or the neighbours.
pub(super) trait PartnerCounts {
    /// Returns the number of processes that receive a part from this one, and that send it one, among `all`.
    fn numbers(&self, all: usize) -> [usize; 2] {
        [all, all]
    }

    /// Returns the root as an argument of MPI; 0 without one.
    fn root_argument(&self) -> i64 {
        0
    }
}

impl PartnerCounts for () {}
impl PartnerCounts for CommRank {
    fn root_argument(&self) -> i64 {
        self.0.into()
    }
}
impl PartnerCounts for Role {
    fn root_argument(&self) -> i64 {
        /// MPI_ROOT, as in `mpi.h`.
        const ROOT: i64 = -4;
        match self {
            Role::Root => ROOT,
            Role::Member(rank) => rank.0.into(),
            // MPI_PROC_NULL.
            Role::NonParticipant => -3,
        }
    }
}
impl PartnerCounts for NeighbourLists {
    fn numbers(&self, _: usize) -> [usize; 2] {
        [self.destinations.len(), self.sources.len()]
    }
}

pub(super) type ModeResult<M> = Result<<M as CollectiveMode>::ModeOutput, Error>;

/// Target of collectives. Each function returns the collective's error.
pub(super) trait CollectiveTarget: Copy {
    type RootArg: Copy;

    /// Returns the number of processes that this one exchanges parts with.
    fn partners(self) -> usize;

    /// Returns the parts for a reduce_scatter whose result contains `bytes` bytes at each process.
    fn blocks(self, all: BufferSlice, bytes: usize, element: usize) -> Result<EqualParts, Error>;

    fn barrier<M: CollectiveMode>(self, mode: M) -> ModeResult<M>;

    fn bcast<M: CollectiveMode>(self, mode: M, span: BufferSlice, root: Self::RootArg) -> ModeResult<M>;

    fn gather<M: CollectiveMode>(
        self,
        mode: M,
        data: BufferSlice,
        place: impl RankParts,
        root: Self::RootArg,
    ) -> ModeResult<M>;

    fn scatter<M: CollectiveMode>(
        self,
        mode: M,
        part: impl RankParts,
        result: BufferSlice,
        root: Self::RootArg,
    ) -> ModeResult<M>;

    fn allgather<M: CollectiveMode>(self, mode: M, data: BufferSlice, place: impl RankParts) -> ModeResult<M>;

    fn alltoall<M: CollectiveMode>(self, mode: M, part: impl RankParts, place: impl RankParts) -> ModeResult<M>;

    /// Reduces data into the result; the result is used at the root of a communicator only.
    fn reduce<M: CollectiveMode>(self, mode: M, areas: ReduceAreas, root: Self::RootArg) -> ModeResult<M>;

    fn allreduce<M: CollectiveMode>(self, mode: M, areas: ReduceAreas) -> ModeResult<M>;

    fn reduce_scatter<M: CollectiveMode>(self, mode: M, result: BufferSlice, part: impl RankParts) -> ModeResult<M>;
}

/// Defines the collectives, one per row: arguments, parts among them, blocking implementation, schedule.
macro_rules! routes {
    (
        [$vis:vis fn], |$core:ident, $function:ident, $elements:ident, $combine:ident|;
        $(
            $(#[$doc:meta])*
            $name:ident($self:ident $(: $of:ty)? $(, $arg:ident: $type:ty)*) [$($part:ident),*]
                => $run:expr, $plan:expr;
        )*
    ) => {$(
        $(#[$doc])*
        #[allow(unused_variables, reason = "a row names what it needs")]
        $vis fn $name<M: CollectiveMode>($self $(: $of)?, mode: M $(, $arg: $type)*) -> ModeResult<M> {
            let ($core, $elements) = ($self.core()?, mode.elements());
            let parts = ($($part.by_rank(),)*);
            mode.choose(parts, |$function, ($($part,)*), $combine| $run, |($($part,)*), $combine| $plan)
        }
    )*};
}

impl CollectiveTarget for &CommRecord {
    type RootArg = CommRank;

    fn partners(self) -> usize {
        self.membership().size as usize
    }

    fn blocks(self, all: BufferSlice, bytes: usize, _: usize) -> Result<EqualParts, Error> {
        same_length(bytes * CollectiveTarget::partners(self), all.len())?;
        Ok(EqualParts(all, bytes))
    }

    routes! {
        [fn], |core, function, elements, combine|;

        barrier(self) []
            => coll::barrier(core, function), nonblocking::barrier(core);
        bcast(self, span: BufferSlice, root: CommRank) []
            => coll::bcast(core, function, span, root), nonblocking::bcast(core, span, root, ());
        gather(self, data: BufferSlice, place: impl RankParts, root: CommRank) [place]
            => coll::gather(core, function, data, &place, root), nonblocking::gather(core, data, place, root, ());
        scatter(self, part: impl RankParts, result: BufferSlice, root: CommRank) [part]
            => coll::scatter(core, function, &part, result, root), nonblocking::scatter(core, part, result, root, ());
        allgather(self, data: BufferSlice, place: impl RankParts) [place]
            => coll::allgather(core, function, data, &place), nonblocking::allgather(core, data, place, ());
        alltoall(self, part: impl RankParts, place: impl RankParts) [part, place]
            => coll::alltoall(core, function, &part, &place), nonblocking::alltoall(core, part, place);
        reduce(self, areas: ReduceAreas, root: CommRank) []
            => coll::reduce(core, function, areas, elements.size, combine, root),
            nonblocking::reduce(core, areas, elements.size, combining(combine), root, ());
        allreduce(self, areas: ReduceAreas) []
            => coll::allreduce(core, function, areas, elements, combine),
            nonblocking::allreduce(core, areas, elements, combining(combine), ());
        reduce_scatter(self, result: BufferSlice, part: impl RankParts) [part]
            => coll::reduce_scatter(core, function, &part, result, elements.size, combine),
            nonblocking::reduce_scatter(core, part, result, elements.size, combining(combine), ());
    }
}

routes! {
    [pub(super) fn], |core, function, elements, combine|;

    /// All-to-all in one buffer.
    alltoall_in_place(on: &CommRecord, place: impl RankParts) [place]
        => coll::alltoall_in_place(core, function, &place), nonblocking::alltoall_in_place(core, place);
    /// Scan, inclusive or exclusive of this process's own data.
    scan(on: &CommRecord, areas: ReduceAreas, inclusive: bool) []
        => coll::scan(core, function, areas, elements.size, combine, inclusive),
        nonblocking::scan(core, areas, elements.size, combining(combine), inclusive, ());
    /// Exchange with all neighbours: `part` for the destinations, `place` for data from the sources.
    exchange(on: &CommRecord, neighbours: NeighbourLists, part: impl RankParts, place: impl RankParts) [part, place]
        => {
            let (from, to) = neighbours.messages(part, place)?;
            let place = in_flight::start(on, function, nonblocking::neighbours(from, to, ())?)?;
            in_flight::wait(&on.here, function, place)
        },
        {
            let (from, to) = neighbours.messages(part, place)?;
            nonblocking::neighbours(from, to, ())
        };
}

routes! {
    [pub(super) fn], |core, function, elements, combine|;

    /// Root's part of a reduce over an intercommunicator.
    collect(on: &InterCommunicator, result: BufferSlice) []
        => core.collect(function, result, elements.size),
        inter::collect(core.sides.halves(), result, elements.size, ());
}

impl CollectiveTarget for &InterCommunicator {
    type RootArg = Role;

    fn partners(self) -> usize {
        self.remote_size() as usize
    }

    fn blocks(self, all: BufferSlice, bytes: usize, element: usize) -> Result<EqualParts, Error> {
        let halves = self.core()?.sides.halves();
        same_length(bytes * halves.local_ranks().len(), all.len())?;
        EqualParts::new(all, element, halves.remote_size())
    }

    routes! {
        [fn], |core, function, elements, combine|;

        barrier(self) []
            => core.barrier(function), nonblocking::barrier(core.everyone());
        bcast(self, span: BufferSlice, root: Role) []
            => core.bcast(function, span, root), inter::bcast(core.sides.halves(), span, root, ());
        gather(self, data: BufferSlice, place: impl RankParts, root: Role) [place]
            => core.gather(function, data, &place, root),
            inter::gather(core.sides.halves(), data, place, root, ());
        scatter(self, part: impl RankParts, result: BufferSlice, root: Role) [part]
            => core.scatter(function, &part, result, root),
            inter::scatter(core.sides.halves(), part, result, root, ());
        allgather(self, data: BufferSlice, place: impl RankParts) [data, place]
            => core.alltoall(function, &data, &place), inter::alltoall(core.sides.halves(), data, place, ());
        alltoall(self, part: impl RankParts, place: impl RankParts) [part, place]
            => core.alltoall(function, &part, &place), inter::alltoall(core.sides.halves(), part, place, ());
        reduce(self, areas: ReduceAreas, root: Role) []
            => core.reduce(function, areas.data, elements.size, combine, root),
            inter::reduce(core.sides.halves(), areas, elements.size, combining(combine), root, ());
        allreduce(self, areas: ReduceAreas) []
            => core.allreduce(function, areas, elements.size, combine),
            inter::allreduce(core.sides.halves(), areas, elements.size, combining(combine), ());
        reduce_scatter(self, result: BufferSlice, part: impl RankParts) [part]
            => core.reduce_scatter(function, part, result, elements.size, combine),
            inter::reduce_scatter(core.sides.halves(), part, result, elements.size, combining(combine), ());
    }
}
