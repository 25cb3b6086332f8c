//! What collectives are of: the processes of a communicator, or the two groups of an intercommunicator.
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::operation::{Combines, combining};
use crate::device::memory::area::Area;
use crate::mpi::coll::inter::{self, Role};
use crate::mpi::coll::{self, Combine, Elements, Plan, plans};
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::mpi::sides::Halves;
use crate::rust::datatype::lent::{EqualParts, Parts, same_length};
use crate::rust::topology::{Context, InterCommunicator, Record};

/// Whether a collective blocks or is planned.
pub(super) trait Mode: Sized {
    /// Nothing, or its plan.
    type Done;
    /// What combines elements for as long as a plan lasts.
    type Lasting: Combines + Send + 'static;

    /// The elements of a reduction.
    fn elements(&self) -> Elements;

    /// Does the one or the other, `with` what both need.
    fn choose<W>(
        self,
        with: W,
        run: impl FnOnce(&'static str, W, &mut Combine<'_>) -> Result<(), Error>,
        plan: impl FnOnce(W, Self::Lasting) -> Result<Plan, Error>,
    ) -> Done<Self>;
}

/// What a collective comes to.
pub(super) type Done<M> = Result<<M as Mode>::Done, Error>;

/// Whose collectives are called. Each function fails as the collective does.
pub(super) trait Group<'c>: Copy {
    /// What a process says of the root.
    type Root: Copy;

    /// What the collectives run in.
    fn record(self) -> &'c Rc<Record>;

    /// How many processes this one gives a part of its own, and gets one from.
    fn partners(self) -> usize;

    /// Parts for a reduce_scatter whose result has so many bytes at each process.
    fn blocks(self, all: Area, bytes: usize, element: usize) -> Result<EqualParts, Error>;

    fn barrier<M: Mode>(self, mode: M) -> Done<M>;

    fn bcast<M: Mode>(self, mode: M, span: Area, root: Self::Root) -> Done<M>;

    fn gather<M: Mode>(self, mode: M, data: Area, place: impl Parts, root: Self::Root) -> Done<M>;

    fn scatter<M: Mode>(self, mode: M, part: impl Parts, result: Area, root: Self::Root)
    -> Done<M>;

    fn allgather<M: Mode>(self, mode: M, data: Area, place: impl Parts) -> Done<M>;

    fn alltoall<M: Mode>(self, mode: M, part: impl Parts, place: impl Parts) -> Done<M>;

    /// Of data and, at the root of a communicator, the result.
    fn reduce<M: Mode>(self, mode: M, areas: (Area, Area), root: Self::Root) -> Done<M>;

    fn allreduce<M: Mode>(self, mode: M, areas: (Area, Area)) -> Done<M>;

    fn reduce_scatter<M: Mode>(self, mode: M, result: Area, part: impl Parts) -> Done<M>;
}

impl<'c> Group<'c> for &'c Rc<Record> {
    type Root = CommRank;

    fn record(self) -> &'c Rc<Record> {
        self
    }

    fn partners(self) -> usize {
        self.membership().size as usize
    }

    fn blocks(self, all: Area, bytes: usize, _: usize) -> Result<EqualParts, Error> {
        same_length(bytes * self.partners(), all.len())?;
        Ok(EqualParts(all, bytes))
    }

    fn barrier<M: Mode>(self, mode: M) -> Done<M> {
        mode.choose(
            self.core()?,
            |function, core, _| coll::barrier(core, function),
            |core, _| plans::barrier(core),
        )
    }

    fn bcast<M: Mode>(self, mode: M, span: Area, root: CommRank) -> Done<M> {
        mode.choose(
            self.core()?,
            |function, core, _| coll::bcast(core, function, span, root),
            |core, _| plans::bcast(core, span, root, ()),
        )
    }

    fn gather<M: Mode>(self, mode: M, data: Area, place: impl Parts, root: CommRank) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            place.by_rank(),
            |function, place, _| coll::gather(core, function, data, &place, root),
            |place, _| plans::gather(core, data, place, root, ()),
        )
    }

    fn scatter<M: Mode>(self, mode: M, part: impl Parts, result: Area, root: CommRank) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            part.by_rank(),
            |function, part, _| coll::scatter(core, function, &part, result, root),
            |part, _| plans::scatter(core, part, result, root, ()),
        )
    }

    fn allgather<M: Mode>(self, mode: M, data: Area, place: impl Parts) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            place.by_rank(),
            |function, place, _| coll::allgather(core, function, data, &place),
            |place, _| plans::allgather(core, data, place, ()),
        )
    }

    fn alltoall<M: Mode>(self, mode: M, part: impl Parts, place: impl Parts) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            (part.by_rank(), place.by_rank()),
            |function, (part, place), _| coll::alltoall(core, function, &part, &place),
            |(part, place), _| plans::alltoall(core, part, place),
        )
    }

    fn reduce<M: Mode>(self, mode: M, areas: (Area, Area), root: CommRank) -> Done<M> {
        let (core, size) = (self.core()?, mode.elements().size);
        mode.choose(
            (),
            |function, (), combine| coll::reduce(core, function, areas, size, combine, root),
            |(), combine| plans::reduce(core, areas, size, combining(combine), root, ()),
        )
    }

    fn allreduce<M: Mode>(self, mode: M, areas: (Area, Area)) -> Done<M> {
        let (core, elements) = (self.core()?, mode.elements());
        mode.choose(
            (),
            |function, (), combine| coll::allreduce(core, function, areas, elements, combine),
            |(), combine| plans::allreduce(core, areas, elements, combining(combine), ()),
        )
    }

    fn reduce_scatter<M: Mode>(self, mode: M, result: Area, part: impl Parts) -> Done<M> {
        let (core, size) = (self.core()?, mode.elements().size);
        mode.choose(
            part.by_rank(),
            |function, part, combine| {
                coll::reduce_scatter(core, function, &part, result, size, combine)
            },
            |part, combine| plans::reduce_scatter(core, part, result, size, combining(combine), ()),
        )
    }
}

/// An alltoall in one buffer.
pub(super) fn alltoall_in_place<M: Mode>(on: &Rc<Record>, mode: M, place: impl Parts) -> Done<M> {
    let core = on.core()?;
    mode.choose(
        place.by_rank(),
        |function, place, _| coll::alltoall_in_place(core, function, &place),
        |place, _| plans::alltoall_in_place(core, place),
    )
}

/// A scan, with this process's own data or without.
pub(super) fn scan<M: Mode>(
    on: &Rc<Record>,
    mode: M,
    areas: (Area, Area),
    inclusive: bool,
) -> Done<M> {
    let (core, size) = (on.core()?, mode.elements().size);
    mode.choose(
        (),
        |function, (), combine| coll::scan(core, function, areas, size, combine, inclusive),
        |(), combine| plans::scan(core, areas, size, combining(combine), inclusive, ()),
    )
}

/// The root's part of a reduce over an intercommunicator.
pub(super) fn collect<M: Mode>(on: &InterCommunicator, mode: M, result: Area) -> Done<M> {
    let (core, size) = (on.core()?, mode.elements().size);
    mode.choose(
        (),
        |function, (), _| core.collect(function, result, size),
        |(), _| inter::collect(core.sides.halves(), result, size, ()),
    )
}

impl InterCommunicator {
    fn halves(&self) -> Result<Halves, Error> {
        Ok(self.core()?.sides.halves())
    }
}

impl<'c> Group<'c> for &'c InterCommunicator {
    type Root = Role;

    fn record(self) -> &'c Rc<Record> {
        Context::record(self)
    }

    fn partners(self) -> usize {
        self.remote_size() as usize
    }

    fn blocks(self, all: Area, bytes: usize, element: usize) -> Result<EqualParts, Error> {
        let halves = self.halves()?;
        same_length(bytes * halves.local_ranks().len(), all.len())?;
        EqualParts::new(all, element, halves.remote_size())
    }

    fn barrier<M: Mode>(self, mode: M) -> Done<M> {
        let both = Context::record(self).core()?;
        mode.choose(
            self.core()?,
            |function, core, _| core.barrier(function),
            |_, _| plans::barrier(both),
        )
    }

    fn bcast<M: Mode>(self, mode: M, span: Area, root: Role) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            (),
            |function, (), _| core.bcast(function, span, root),
            |(), _| inter::bcast(core.sides.halves(), span, root, ()),
        )
    }

    fn gather<M: Mode>(self, mode: M, data: Area, place: impl Parts, root: Role) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            place.by_rank(),
            |function, place, _| core.gather(function, data, &place, root),
            |place, _| inter::gather(core.sides.halves(), data, place, root, ()),
        )
    }

    fn scatter<M: Mode>(self, mode: M, part: impl Parts, result: Area, root: Role) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            part.by_rank(),
            |function, part, _| core.scatter(function, &part, result, root),
            |part, _| inter::scatter(core.sides.halves(), part, result, root, ()),
        )
    }

    fn allgather<M: Mode>(self, mode: M, data: Area, place: impl Parts) -> Done<M> {
        self.alltoall(mode, data, place)
    }

    fn alltoall<M: Mode>(self, mode: M, part: impl Parts, place: impl Parts) -> Done<M> {
        let core = self.core()?;
        mode.choose(
            (part.by_rank(), place.by_rank()),
            |function, (part, place), _| core.alltoall(function, &part, &place),
            |(part, place), _| inter::alltoall(core.sides.halves(), part, place, ()),
        )
    }

    fn reduce<M: Mode>(self, mode: M, areas: (Area, Area), root: Role) -> Done<M> {
        let (core, size) = (self.core()?, mode.elements().size);
        mode.choose(
            (),
            |function, (), combine| core.reduce(function, areas.0, size, combine, root),
            |(), combine| {
                inter::reduce(
                    core.sides.halves(),
                    areas,
                    size,
                    combining(combine),
                    root,
                    (),
                )
            },
        )
    }

    fn allreduce<M: Mode>(self, mode: M, areas: (Area, Area)) -> Done<M> {
        let (core, size) = (self.core()?, mode.elements().size);
        mode.choose(
            (),
            |function, (), combine| core.allreduce(function, areas, size, combine),
            |(), combine| {
                inter::allreduce(core.sides.halves(), areas, size, combining(combine), ())
            },
        )
    }

    fn reduce_scatter<M: Mode>(self, mode: M, result: Area, part: impl Parts) -> Done<M> {
        let (core, size) = (self.core()?, mode.elements().size);
        mode.choose(
            part.by_rank(),
            |function, part, combine| core.reduce_scatter(function, part, result, size, combine),
            |part, combine| {
                inter::reduce_scatter(
                    core.sides.halves(),
                    part,
                    result,
                    size,
                    combining(combine),
                    (),
                )
            },
        )
    }
}
