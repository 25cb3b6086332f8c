//! Targets of collectives: the processes of a communicator, or the two groups of an intercommunicator.
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::operation::{Combines, combining};
use crate::datatype::lent::{EqualParts, Parts, same_length};
use crate::request::under_way;
use crate::topology::{InterCommunicator, Record};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::inter::{self, Role};
use midplane_objects::coll::{self, Combine, Elements, Plan, plans};
use midplane_objects::comm::CommRank;
use midplane_objects::error::Error;
use midplane_objects::topology::Neighbours;

/// Mode of a collective: blocking, or a schedule.
pub(super) trait Mode: Sized {
    /// Result of the mode: `()` or a schedule.
    type Done;
    /// Combiner that lives as long as a schedule.
    type Lasting: Combines + Send + 'static;

    fn elements(&self) -> Elements;

    /// Runs `run` or `plan` on `with`, according to the mode.
    fn choose<W>(
        self,
        with: W,
        run: impl FnOnce(&'static str, W, &mut Combine<'_>) -> Result<(), Error>,
        plan: impl FnOnce(W, Self::Lasting) -> Result<Plan, Error>,
    ) -> Done<Self>;
}

/// A process's argument for its partners: the root or the neighbours.
pub(super) trait Partners {
    /// Returns the number of processes that receive a part from this one, and that send it one, among `all`.
    fn numbers(&self, all: usize) -> [usize; 2] {
        [all, all]
    }
}

impl Partners for () {}
impl Partners for CommRank {}
impl Partners for Role {}
impl Partners for Neighbours {
    fn numbers(&self, _: usize) -> [usize; 2] {
        [self.destinations.len(), self.sources.len()]
    }
}

pub(super) type Done<M> = Result<<M as Mode>::Done, Error>;

/// Target of collectives. Each function returns the collective's error.
pub(super) trait Group: Copy {
    type Root: Copy;

    /// Returns the number of processes that this one exchanges parts with.
    fn partners(self) -> usize;

    /// Returns the parts for a reduce_scatter whose result contains `bytes` bytes at each process.
    fn blocks(self, all: BufferSlice, bytes: usize, element: usize) -> Result<EqualParts, Error>;

    fn barrier<M: Mode>(self, mode: M) -> Done<M>;

    fn bcast<M: Mode>(self, mode: M, span: BufferSlice, root: Self::Root) -> Done<M>;

    fn gather<M: Mode>(self, mode: M, data: BufferSlice, place: impl Parts, root: Self::Root) -> Done<M>;

    fn scatter<M: Mode>(self, mode: M, part: impl Parts, result: BufferSlice, root: Self::Root)
    -> Done<M>;

    fn allgather<M: Mode>(self, mode: M, data: BufferSlice, place: impl Parts) -> Done<M>;

    fn alltoall<M: Mode>(self, mode: M, part: impl Parts, place: impl Parts) -> Done<M>;

    /// Reduces data into the result; the result is used at the root of a communicator only.
    fn reduce<M: Mode>(self, mode: M, areas: (BufferSlice, BufferSlice), root: Self::Root) -> Done<M>;

    fn allreduce<M: Mode>(self, mode: M, areas: (BufferSlice, BufferSlice)) -> Done<M>;

    fn reduce_scatter<M: Mode>(self, mode: M, result: BufferSlice, part: impl Parts) -> Done<M>;
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
        $vis fn $name<M: Mode>($self $(: $of)?, mode: M $(, $arg: $type)*) -> Done<M> {
            let ($core, $elements) = ($self.core()?, mode.elements());
            let parts = ($($part.by_rank(),)*);
            mode.choose(parts, |$function, ($($part,)*), $combine| $run, |($($part,)*), $combine| $plan)
        }
    )*};
}

impl Group for &Rc<Record> {
    type Root = CommRank;

    fn partners(self) -> usize {
        self.membership().size as usize
    }

    fn blocks(self, all: BufferSlice, bytes: usize, _: usize) -> Result<EqualParts, Error> {
        same_length(bytes * self.partners(), all.len())?;
        Ok(EqualParts(all, bytes))
    }

    routes! {
        [fn], |core, function, elements, combine|;

        barrier(self) []
            => coll::barrier(core, function), plans::barrier(core);
        bcast(self, span: BufferSlice, root: CommRank) []
            => coll::bcast(core, function, span, root), plans::bcast(core, span, root, ());
        gather(self, data: BufferSlice, place: impl Parts, root: CommRank) [place]
            => coll::gather(core, function, data, &place, root), plans::gather(core, data, place, root, ());
        scatter(self, part: impl Parts, result: BufferSlice, root: CommRank) [part]
            => coll::scatter(core, function, &part, result, root), plans::scatter(core, part, result, root, ());
        allgather(self, data: BufferSlice, place: impl Parts) [place]
            => coll::allgather(core, function, data, &place), plans::allgather(core, data, place, ());
        alltoall(self, part: impl Parts, place: impl Parts) [part, place]
            => coll::alltoall(core, function, &part, &place), plans::alltoall(core, part, place);
        reduce(self, areas: (BufferSlice, BufferSlice), root: CommRank) []
            => coll::reduce(core, function, areas, elements.size, combine, root),
            plans::reduce(core, areas, elements.size, combining(combine), root, ());
        allreduce(self, areas: (BufferSlice, BufferSlice)) []
            => coll::allreduce(core, function, areas, elements, combine),
            plans::allreduce(core, areas, elements, combining(combine), ());
        reduce_scatter(self, result: BufferSlice, part: impl Parts) [part]
            => coll::reduce_scatter(core, function, &part, result, elements.size, combine),
            plans::reduce_scatter(core, part, result, elements.size, combining(combine), ());
    }
}

routes! {
    [pub(super) fn], |core, function, elements, combine|;

    /// All-to-all in one buffer.
    alltoall_in_place(on: &Rc<Record>, place: impl Parts) [place]
        => coll::alltoall_in_place(core, function, &place), plans::alltoall_in_place(core, place);
    /// Scan, inclusive or exclusive of this process's own data.
    scan(on: &Rc<Record>, areas: (BufferSlice, BufferSlice), inclusive: bool) []
        => coll::scan(core, function, areas, elements.size, combine, inclusive),
        plans::scan(core, areas, elements.size, combining(combine), inclusive, ());
    /// Exchange with all neighbours: `part` for the destinations, `place` for data from the sources.
    exchange(on: &Rc<Record>, neighbours: Neighbours, part: impl Parts, place: impl Parts) [part, place]
        => {
            let (from, to) = neighbours.messages(part, place)?;
            let place = under_way::start(on, function, plans::neighbours(from, to, ())?)?;
            under_way::wait(&on.here, function, place)
        },
        {
            let (from, to) = neighbours.messages(part, place)?;
            plans::neighbours(from, to, ())
        };
}

routes! {
    [pub(super) fn], |core, function, elements, combine|;

    /// Root's part of a reduce over an intercommunicator.
    collect(on: &InterCommunicator, result: BufferSlice) []
        => core.collect(function, result, elements.size),
        inter::collect(core.sides.halves(), result, elements.size, ());
}

impl Group for &InterCommunicator {
    type Root = Role;

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
            => core.barrier(function), plans::barrier(core.everyone());
        bcast(self, span: BufferSlice, root: Role) []
            => core.bcast(function, span, root), inter::bcast(core.sides.halves(), span, root, ());
        gather(self, data: BufferSlice, place: impl Parts, root: Role) [place]
            => core.gather(function, data, &place, root),
            inter::gather(core.sides.halves(), data, place, root, ());
        scatter(self, part: impl Parts, result: BufferSlice, root: Role) [part]
            => core.scatter(function, &part, result, root),
            inter::scatter(core.sides.halves(), part, result, root, ());
        allgather(self, data: BufferSlice, place: impl Parts) [data, place]
            => core.alltoall(function, &data, &place), inter::alltoall(core.sides.halves(), data, place, ());
        alltoall(self, part: impl Parts, place: impl Parts) [part, place]
            => core.alltoall(function, &part, &place), inter::alltoall(core.sides.halves(), part, place, ());
        reduce(self, areas: (BufferSlice, BufferSlice), root: Role) []
            => core.reduce(function, areas.0, elements.size, combine, root),
            inter::reduce(core.sides.halves(), areas, elements.size, combining(combine), root, ());
        allreduce(self, areas: (BufferSlice, BufferSlice)) []
            => core.allreduce(function, areas, elements.size, combine),
            inter::allreduce(core.sides.halves(), areas, elements.size, combining(combine), ());
        reduce_scatter(self, result: BufferSlice, part: impl Parts) [part]
            => core.reduce_scatter(function, part, result, elements.size, combine),
            inter::reduce_scatter(core.sides.halves(), part, result, elements.size, combining(combine), ());
    }
}
