//! What makes the plans of collectives that do not block: a communicator, or an intercommunicator.
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::operation::Combiner;
use super::{divided, part, same_length};
use crate::device::memory::area::Area;
use crate::mpi::coll::inter::{self, Role};
use crate::mpi::coll::plans::{Combining, Part};
use crate::mpi::coll::{Elements, Plan, plans};
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::mpi::sides::Halves;
use crate::rust::topology::{InterCommunicator, Record};

/// Whose collectives are started. Each function of a plan fails as the plan's.
pub(super) trait Planner: Copy {
    /// What a process says of the root.
    type Root: Copy;

    /// What the collectives run in.
    fn record(&self) -> &Rc<Record>;

    /// How many processes this one gives a part of its own, and gets one from.
    fn partners(self) -> usize;

    fn bcast(self, span: Area, root: Self::Root) -> Result<Plan, Error>;
    fn gather(self, data: Area, place: impl Part, root: Self::Root) -> Result<Plan, Error>;
    fn scatter(self, part: impl Part, result: Area, root: Self::Root) -> Result<Plan, Error>;
    fn allgather(self, data: Area, place: impl Part) -> Result<Plan, Error>;
    fn alltoall(self, part: impl Part, place: impl Part) -> Result<Plan, Error>;

    fn reduce(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
        root: Self::Root,
    ) -> Result<Plan, Error>;

    fn allreduce(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error>;

    /// In parts as long as the result.
    fn reduce_scatter(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error>;

    /// In parts that differ: `part` says what is for which rank.
    fn reduce_scatter_parts(
        self,
        part: impl Part,
        result: Area,
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error>;
}

pub(super) fn combining(mut combiner: Combiner<'static>) -> impl Combining {
    move |left: &[u8], right: &mut [u8]| combiner.combine(left, right)
}

impl Planner for &Rc<Record> {
    type Root = CommRank;

    fn record(&self) -> &Rc<Record> {
        self
    }

    fn partners(self) -> usize {
        self.membership().size as usize
    }

    fn bcast(self, span: Area, root: CommRank) -> Result<Plan, Error> {
        plans::bcast(self.core()?, span, root, ())
    }

    fn gather(self, data: Area, place: impl Part, root: CommRank) -> Result<Plan, Error> {
        plans::gather(self.core()?, data, place, root, ())
    }

    fn scatter(self, part: impl Part, result: Area, root: CommRank) -> Result<Plan, Error> {
        plans::scatter(self.core()?, part, result, root, ())
    }

    fn allgather(self, data: Area, place: impl Part) -> Result<Plan, Error> {
        plans::allgather(self.core()?, data, place, ())
    }

    fn alltoall(self, part: impl Part, place: impl Part) -> Result<Plan, Error> {
        plans::alltoall(self.core()?, part, place)
    }

    fn reduce(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
        root: CommRank,
    ) -> Result<Plan, Error> {
        let combine = combining(combiner);
        plans::reduce(self.core()?, areas, elements.size, combine, root, ())
    }

    fn allreduce(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error> {
        plans::allreduce(self.core()?, areas, elements, combining(combiner), ())
    }

    fn reduce_scatter(
        self,
        (whole, result): (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error> {
        let bytes = result.len();
        same_length(bytes * self.partners(), whole.len())?;
        let part = move |rank: CommRank| part(whole, rank.0, bytes);
        self.reduce_scatter_parts(part, result, elements, combiner)
    }

    fn reduce_scatter_parts(
        self,
        part: impl Part,
        result: Area,
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error> {
        let (core, combine) = (self.core()?, combining(combiner));
        plans::reduce_scatter(core, part, result, elements.size, combine, ())
    }
}

/// Which bytes of `whole` are for which process of the remote group, where the result of this one has so many. Fails with
/// [`Error::Lengths`] where these are not as many for each process of the local group, or cannot be divided.
pub(super) fn parts_across(
    halves: Halves,
    whole: Area,
    result: usize,
    element: usize,
) -> Result<impl Fn(CommRank) -> Area, Error> {
    same_length(result * halves.local_ranks().len(), whole.len())?;
    divided(whole, element, halves.remote_size())
}

impl InterCommunicator {
    fn halves(&self) -> Result<Halves, Error> {
        Ok(self.core()?.sides.halves())
    }
}

impl Planner for &InterCommunicator {
    type Root = Role;

    fn record(&self) -> &Rc<Record> {
        crate::rust::topology::Context::record(*self)
    }

    fn partners(self) -> usize {
        self.remote_size() as usize
    }

    fn bcast(self, span: Area, root: Role) -> Result<Plan, Error> {
        inter::bcast(self.halves()?, span, root, ())
    }

    fn gather(self, data: Area, place: impl Part, root: Role) -> Result<Plan, Error> {
        inter::gather(self.halves()?, data, place, root, ())
    }

    fn scatter(self, part: impl Part, result: Area, root: Role) -> Result<Plan, Error> {
        inter::scatter(self.halves()?, part, result, root, ())
    }

    fn allgather(self, data: Area, place: impl Part) -> Result<Plan, Error> {
        inter::alltoall(self.halves()?, move |_| data, place, ())
    }

    fn alltoall(self, part: impl Part, place: impl Part) -> Result<Plan, Error> {
        inter::alltoall(self.halves()?, part, place, ())
    }

    fn reduce(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
        root: Role,
    ) -> Result<Plan, Error> {
        let combine = combining(combiner);
        inter::reduce(self.halves()?, areas, elements.size, combine, root, ())
    }

    fn allreduce(
        self,
        areas: (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error> {
        let combine = combining(combiner);
        inter::allreduce(self.halves()?, areas, elements.size, combine, ())
    }

    fn reduce_scatter(
        self,
        (whole, result): (Area, Area),
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error> {
        let part = parts_across(self.halves()?, whole, result.len(), elements.size)?;
        self.reduce_scatter_parts(part, result, elements, combiner)
    }

    fn reduce_scatter_parts(
        self,
        part: impl Part,
        result: Area,
        elements: Elements,
        combiner: Combiner<'static>,
    ) -> Result<Plan, Error> {
        let (halves, combine) = (self.halves()?, combining(combiner));
        inter::reduce_scatter(halves, part, result, elements.size, combine, ())
    }
}
