//! Collectives in one buffer: what a process gives is where its result comes (MPI_IN_PLACE, MPI-3.1 section 5.2.1).
#![forbid(unsafe_code)]

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::communicator::core_of;
use super::operation::{Operation, combiner};
use super::planner::{Planner, combining};
use super::root::{Root, assert_root, attempt, is_root, record, root};
use super::started::{self, Lend, LendMut};
use super::{divided, listed};
use crate::device::memory::area::Area;
use crate::mpi::coll;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::rust::datatype::lent::{element, lend, lend_mut, lend_parts, lend_parts_mut};
use crate::rust::datatype::{
    AsDatatype, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::rust::request::{Request, Scope};
use crate::rust::topology::{Communicator, Context, Record, or_fatal};

/// The parts of a buffer, one for each process.
fn each<R: BufferMut + ?Sized, T>(
    buffer: &mut R,
    ranks: usize,
    call: impl FnOnce(&dyn Fn(CommRank) -> Area) -> Result<T, Error>,
) -> Result<T, Error> {
    let size = element(buffer);
    lend_mut(buffer, |all| call(&divided(all.into(), size, ranks)?))
}

/// Runs a reduction of one buffer.
fn reduce<R, O>(
    buffer: &mut R,
    op: &O,
    run: impl FnOnce(Area, usize, &mut coll::Combine<'_>) -> Result<(), Error>,
) -> Result<(), Error>
where
    R: BufferMut + ?Sized,
    O: Operation,
{
    let mut combine = combiner(op, buffer)?;
    let size = element(buffer);
    lend_mut(buffer, |data| {
        run(data.into(), size, &mut |left, right| {
            combine.combine(left, right)
        })
    })
}

fn scan<C, R, O>(
    of: &C,
    function: &'static str,
    buffer: &mut R,
    op: &O,
    inclusive: bool,
) -> Result<(), Error>
where
    C: Communicator + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation,
{
    let core = core_of(of)?;
    reduce(buffer, op, |data, size, combine| {
        coll::scan(core, function, (data, data), size, combine, inclusive)
    })
}

/// As [`scan`], without blocking.
fn immediate_scan<'a, R, O, Sc>(
    of: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    buffer: &'a mut R,
    op: &O,
    inclusive: bool,
) -> Result<Request<'a, R, Sc>, Error>
where
    R: BufferMut + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let taken = (buffer, started::whole_mut::<R> as LendMut<R>);
    started::reduction_in_place(
        of,
        function,
        scope,
        taken,
        op,
        |(data, _), elements, combiner| {
            let (core, combine) = (of.core()?, combining(combiner));
            coll::plans::scan(core, (data, data), elements.size, combine, inclusive, ())
        },
    )
}

/// Of a buffer in parts, of which this process's own takes the result.
fn immediate_reduce_scatter<'a, R, O, Sc>(
    of: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    taken: (&'a mut R, LendMut<R>),
    op: &O,
) -> Result<Request<'a, R, Sc>, Error>
where
    R: AsDatatype + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    started::reduction_in_place(
        of,
        function,
        scope,
        taken,
        op,
        |(_, parts), elements, combiner| {
            let own = parts[own(of).0 as usize];
            of.reduce_scatter_parts(started::of(parts), own, elements, combiner)
        },
    )
}

/// The plan of a scatter whose root keeps its own part where it is.
fn scatter(of: &Rc<Record>, parts: Vec<Area>, root: CommRank) -> Result<coll::Plan, Error> {
    let own = parts[root.0 as usize];
    of.scatter(started::of(parts), own, root)
}

fn own(record: &Rc<Record>) -> CommRank {
    record.membership().rank
}

/// Collectives of all processes of a communicator alike, each in one buffer, so that no second one is needed: forms of
/// [`CommunicatorCollectives`](super::CommunicatorCollectives), which say when they block and what they fail with. All
/// processes call the same form.
///
/// ```
/// # use mpi_adi::rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::traits::*;
///
/// /// Adds up all processes' fields, in the memory of each of them.
/// fn add_up(world: &impl Communicator, field: &mut [f64]) {
///     world.all_reduce_in_place(field, SystemOperation::sum());
/// }
/// ```
pub trait CollectivesInPlace: Communicator {
    /// Collects all processes' parts, in the order of the ranks, in every `buffer`, where each process has its own part at its
    /// place (MPI_Allgather, MPI-3.1 section 5.7).
    #[track_caller]
    fn all_gather_in_place<R>(&self, buffer: &mut R)
    where
        R: BufferMut + ?Sized,
    {
        let result = self.try_all_gather_in_place(buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::all_gather_in_place (MPI_Allgather)",
            result,
        );
    }

    /// As [`all_gather_in_place`](Self::all_gather_in_place), with the error as its result.
    fn try_all_gather_in_place<R>(&self, buffer: &mut R) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
    {
        let core = core_of(self)?;
        each(buffer, core.size() as usize, |place| {
            coll::allgather(core, "MPI_Allgather", place(core.own_rank()), place)
        })
    }

    /// As [`all_gather_in_place`](Self::all_gather_in_place), without blocking (MPI_Iallgather, MPI-3.1 section 5.12.5).
    #[track_caller]
    fn immediate_all_gather_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_gather_in_place(scope, buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_all_gather_in_place (MPI_Iallgather)",
            request,
        )
    }

    /// As [`immediate_all_gather_in_place`](Self::immediate_all_gather_in_place), with the error as its result.
    fn try_immediate_all_gather_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let record = self.record();
        let taken = (buffer, started::equal_places::<R> as LendMut<R>);
        started::takes(record, "MPI_Iallgather", scope, taken, |_, places| {
            record.allgather(places[own(record).0 as usize], started::of(places))
        })
    }

    /// As [`all_gather_in_place`](Self::all_gather_in_place), of parts that differ (MPI_Allgatherv). Takes their list in the
    /// program's heap.
    #[track_caller]
    fn all_gather_varcount_in_place<R>(&self, buffer: &mut R)
    where
        R: PartitionedBufferMut + ?Sized,
    {
        let result = self.try_all_gather_varcount_in_place(buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::all_gather_varcount_in_place (MPI_Allgatherv)",
            result,
        );
    }

    /// As [`all_gather_varcount_in_place`](Self::all_gather_varcount_in_place), with the error as its result.
    fn try_all_gather_varcount_in_place<R>(&self, buffer: &mut R) -> Result<(), Error>
    where
        R: PartitionedBufferMut + ?Sized,
    {
        let core = core_of(self)?;
        lend_parts_mut(buffer, core.size() as usize, |places| {
            let place = listed(places);
            coll::allgather(core, "MPI_Allgatherv", place(core.own_rank()), &place)
        })
    }

    /// As [`all_gather_varcount_in_place`](Self::all_gather_varcount_in_place), without blocking (MPI_Iallgatherv, MPI-3.1 section 5.12.5).
    #[track_caller]
    fn immediate_all_gather_varcount_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_gather_varcount_in_place(scope, buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_all_gather_varcount_in_place (MPI_Iallgatherv)",
            request,
        )
    }

    /// As [`immediate_all_gather_varcount_in_place`](Self::immediate_all_gather_varcount_in_place), with the error as its result.
    fn try_immediate_all_gather_varcount_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let record = self.record();
        let taken = (buffer, started::listed_places::<R> as LendMut<R>);
        started::takes(record, "MPI_Iallgatherv", scope, taken, |_, places| {
            record.allgather(places[own(record).0 as usize], started::of(places))
        })
    }

    /// Gives each process its part of every `buffer`, and has in its place what that process gives (MPI_Alltoall, MPI-3.1
    /// section 5.8).
    #[track_caller]
    fn all_to_all_in_place<R>(&self, buffer: &mut R)
    where
        R: BufferMut + ?Sized,
    {
        let result = self.try_all_to_all_in_place(buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::all_to_all_in_place (MPI_Alltoall)",
            result,
        );
    }

    /// As [`all_to_all_in_place`](Self::all_to_all_in_place), with the error as its result.
    fn try_all_to_all_in_place<R>(&self, buffer: &mut R) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
    {
        let core = core_of(self)?;
        each(buffer, core.size() as usize, |place| {
            coll::alltoall_in_place(core, "MPI_Alltoall", place)
        })
    }

    /// As [`all_to_all_in_place`](Self::all_to_all_in_place), without blocking (MPI_Ialltoall, MPI-3.1 section 5.12.6).
    #[track_caller]
    fn immediate_all_to_all_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_to_all_in_place(scope, buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_all_to_all_in_place (MPI_Ialltoall)",
            request,
        )
    }

    /// As [`immediate_all_to_all_in_place`](Self::immediate_all_to_all_in_place), with the error as its result.
    fn try_immediate_all_to_all_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let record = self.record();
        let taken = (buffer, started::equal_places::<R> as LendMut<R>);
        started::takes(record, "MPI_Ialltoall", scope, taken, |_, places| {
            coll::plans::alltoall_in_place(record.core()?, started::of(places))
        })
    }

    /// As [`all_to_all_in_place`](Self::all_to_all_in_place), of parts that differ, of which two processes have as long ones for
    /// each other (MPI_Alltoallv). Takes their list in the program's heap.
    #[track_caller]
    fn all_to_all_varcount_in_place<R>(&self, buffer: &mut R)
    where
        R: PartitionedBufferMut + ?Sized,
    {
        let result = self.try_all_to_all_varcount_in_place(buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::all_to_all_varcount_in_place (MPI_Alltoallv)",
            result,
        );
    }

    /// As [`all_to_all_varcount_in_place`](Self::all_to_all_varcount_in_place), with the error as its result.
    fn try_all_to_all_varcount_in_place<R>(&self, buffer: &mut R) -> Result<(), Error>
    where
        R: PartitionedBufferMut + ?Sized,
    {
        let core = core_of(self)?;
        lend_parts_mut(buffer, core.size() as usize, |places| {
            coll::alltoall_in_place(core, "MPI_Alltoallv", &listed(places))
        })
    }

    /// As [`all_to_all_varcount_in_place`](Self::all_to_all_varcount_in_place), without blocking (MPI_Ialltoallv, MPI-3.1 section 5.12.6).
    #[track_caller]
    fn immediate_all_to_all_varcount_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_to_all_varcount_in_place(scope, buffer);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_all_to_all_varcount_in_place (MPI_Ialltoallv)",
            request,
        )
    }

    /// As [`immediate_all_to_all_varcount_in_place`](Self::immediate_all_to_all_varcount_in_place), with the error as its result.
    fn try_immediate_all_to_all_varcount_in_place<'a, Sc, R>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let record = self.record();
        let taken = (buffer, started::listed_places::<R> as LendMut<R>);
        started::takes(record, "MPI_Ialltoallv", scope, taken, |_, places| {
            coll::plans::alltoall_in_place(record.core()?, started::of(places))
        })
    }

    /// Combines all processes' `buffer`, place by place, into every one (MPI_Allreduce, MPI-3.1 section 5.9.6).
    #[track_caller]
    fn all_reduce_in_place<R, O>(&self, buffer: &mut R, op: O)
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_all_reduce_in_place(buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::all_reduce_in_place (MPI_Allreduce)",
            result,
        );
    }

    /// As [`all_reduce_in_place`](Self::all_reduce_in_place), with the error as its result.
    fn try_all_reduce_in_place<R, O>(&self, buffer: &mut R, op: O) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let core = core_of(self)?;
        reduce(buffer, &op, |data, size, combine| {
            let elements = coll::Elements {
                size,
                commute: op.is_commutative(),
                predefined: op.given().is_system(),
            };
            coll::allreduce(core, "MPI_Allreduce", (data, data), elements, combine)
        })
    }

    /// As [`all_reduce_in_place`](Self::all_reduce_in_place), without blocking (MPI_Iallreduce, MPI-3.1 section 5.12.8).
    #[track_caller]
    fn immediate_all_reduce_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_reduce_in_place(scope, buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_all_reduce_in_place (MPI_Iallreduce)",
            request,
        )
    }

    /// As [`immediate_all_reduce_in_place`](Self::immediate_all_reduce_in_place), with the error as its result.
    fn try_immediate_all_reduce_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let of = self.record();
        let taken = (buffer, started::whole_mut::<R> as LendMut<R>);
        started::reduction_in_place(
            of,
            "MPI_Iallreduce",
            scope,
            taken,
            &op,
            |(data, _), elements, combiner| of.allreduce((data, data), elements, combiner),
        )
    }

    /// Combines as [`all_reduce_in_place`](Self::all_reduce_in_place), and gives each process its part of the result, in that
    /// place of its `buffer`, whose other parts stay as they are (MPI_Reduce_scatter_block, MPI-3.1 section 5.10.1). (C has the
    /// result at the beginning.)
    #[track_caller]
    fn reduce_scatter_block_in_place<R, O>(&self, buffer: &mut R, op: O)
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_reduce_scatter_block_in_place(buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::reduce_scatter_block_in_place (MPI_Reduce_scatter_block)",
            result,
        );
    }

    /// As [`reduce_scatter_block_in_place`](Self::reduce_scatter_block_in_place), with the error as its result.
    fn try_reduce_scatter_block_in_place<R, O>(&self, buffer: &mut R, op: O) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let (core, function) = (core_of(self)?, "MPI_Reduce_scatter_block");
        let ranks = core.size() as usize;
        reduce(buffer, &op, |data, size, combine| {
            let part = divided(data, size, ranks)?;
            let own = part(core.own_rank());
            coll::reduce_scatter(core, function, &part, own, size, combine)
        })
    }

    /// As [`reduce_scatter_block_in_place`](Self::reduce_scatter_block_in_place), without blocking (MPI_Ireduce_scatter_block, MPI-3.1 section 5.12.9).
    #[track_caller]
    fn immediate_reduce_scatter_block_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_reduce_scatter_block_in_place(scope, buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_reduce_scatter_block_in_place (MPI_Ireduce_scatter_block)",
            request,
        )
    }

    /// As [`immediate_reduce_scatter_block_in_place`](Self::immediate_reduce_scatter_block_in_place), with the error as its result.
    fn try_immediate_reduce_scatter_block_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let taken = (buffer, started::equal_places::<R> as LendMut<R>);
        immediate_reduce_scatter(
            self.record(),
            "MPI_Ireduce_scatter_block",
            scope,
            taken,
            &op,
        )
    }

    /// As [`reduce_scatter_block_in_place`](Self::reduce_scatter_block_in_place), of parts that differ, and do not overlap
    /// (MPI_Reduce_scatter, MPI-3.1 section 5.10.2). Takes their list in the program's heap.
    #[track_caller]
    fn reduce_scatter_varcount_in_place<R, O>(&self, buffer: &mut R, op: O)
    where
        R: PartitionedBufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_reduce_scatter_varcount_in_place(buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::reduce_scatter_varcount_in_place (MPI_Reduce_scatter)",
            result,
        );
    }

    /// As [`reduce_scatter_varcount_in_place`](Self::reduce_scatter_varcount_in_place), with the error as its result.
    fn try_reduce_scatter_varcount_in_place<R, O>(&self, buffer: &mut R, op: O) -> Result<(), Error>
    where
        R: PartitionedBufferMut + ?Sized,
        O: Operation,
    {
        let (core, function) = (core_of(self)?, "MPI_Reduce_scatter");
        let mut combine = combiner(&op, buffer)?;
        let size = element(buffer);
        lend_parts_mut(buffer, core.size() as usize, |parts| {
            let part = listed(parts);
            let own = part(core.own_rank());
            coll::reduce_scatter(core, function, &part, own, size, &mut |left, right| {
                combine.combine(left, right)
            })
        })
    }

    /// As [`reduce_scatter_varcount_in_place`](Self::reduce_scatter_varcount_in_place), without blocking (MPI_Ireduce_scatter, MPI-3.1 section 5.12.10).
    #[track_caller]
    fn immediate_reduce_scatter_varcount_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_reduce_scatter_varcount_in_place(scope, buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_reduce_scatter_varcount_in_place (MPI_Ireduce_scatter)",
            request,
        )
    }

    /// As [`immediate_reduce_scatter_varcount_in_place`](Self::immediate_reduce_scatter_varcount_in_place), with the error as its result.
    fn try_immediate_reduce_scatter_varcount_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let taken = (buffer, started::listed_places::<R> as LendMut<R>);
        immediate_reduce_scatter(self.record(), "MPI_Ireduce_scatter", scope, taken, &op)
    }

    /// Combines `buffer` of the ranks up to this one into this one's (MPI_Scan, MPI-3.1 section 5.11.1).
    #[track_caller]
    fn scan_in_place<R, O>(&self, buffer: &mut R, op: O)
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_scan_in_place(buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::scan_in_place (MPI_Scan)",
            result,
        );
    }

    /// As [`scan_in_place`](Self::scan_in_place), with the error as its result.
    fn try_scan_in_place<R, O>(&self, buffer: &mut R, op: O) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        scan(self, "MPI_Scan", buffer, &op, true)
    }

    /// As [`scan_in_place`](Self::scan_in_place), without blocking (MPI_Iscan, MPI-3.1 section 5.12.11).
    #[track_caller]
    fn immediate_scan_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_scan_in_place(scope, buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_scan_in_place (MPI_Iscan)",
            request,
        )
    }

    /// As [`immediate_scan_in_place`](Self::immediate_scan_in_place), with the error as its result.
    fn try_immediate_scan_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        immediate_scan(self.record(), "MPI_Iscan", scope, buffer, &op, true)
    }

    /// Combines `buffer` of the ranks before this one into this one's; rank 0 leaves it as it is (MPI_Exscan, MPI-3.1 section
    /// 5.11.2).
    #[track_caller]
    fn exclusive_scan_in_place<R, O>(&self, buffer: &mut R, op: O)
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_exclusive_scan_in_place(buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::exclusive_scan_in_place (MPI_Exscan)",
            result,
        );
    }

    /// As [`exclusive_scan_in_place`](Self::exclusive_scan_in_place), with the error as its result.
    fn try_exclusive_scan_in_place<R, O>(&self, buffer: &mut R, op: O) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
        O: Operation,
    {
        scan(self, "MPI_Exscan", buffer, &op, false)
    }

    /// As [`exclusive_scan_in_place`](Self::exclusive_scan_in_place), without blocking (MPI_Iexscan, MPI-3.1 section 5.12.12).
    #[track_caller]
    fn immediate_exclusive_scan_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_exclusive_scan_in_place(scope, buffer, op);
        or_fatal(
            self,
            "mpi::collective::CollectivesInPlace::immediate_exclusive_scan_in_place (MPI_Iexscan)",
            request,
        )
    }

    /// As [`immediate_exclusive_scan_in_place`](Self::immediate_exclusive_scan_in_place), with the error as its result.
    fn try_immediate_exclusive_scan_in_place<'a, Sc, R, O>(
        &self,
        scope: Sc,
        buffer: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        immediate_scan(self.record(), "MPI_Iexscan", scope, buffer, &op, false)
    }
}

impl<C: Communicator + ?Sized> CollectivesInPlace for C {}

/// Collectives at their root, in one buffer: forms of those of [`Root`] with `_root` at their ends, which say when they
/// block and what they fail with. The other processes call the forms of [`Root`] without.
pub trait RootInPlace: Root {
    /// Collects all processes' parts, in the order of the ranks, in `buffer`, where the root has its own part at its place
    /// (MPI_Gather, MPI-3.1 section 5.5).
    #[track_caller]
    fn gather_in_place_root<B>(&self, buffer: &mut B)
    where
        B: BufferMut + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_gather_in_place_root(buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::gather_in_place_root (MPI_Gather)",
            result,
        );
    }

    /// As [`gather_in_place_root`](Self::gather_in_place_root), with the error as its result.
    fn try_gather_in_place_root<B>(&self, buffer: &mut B) -> Result<(), Error>
    where
        B: BufferMut + ?Sized,
    {
        is_root(self, true)?;
        attempt(self, |core, root| {
            each(buffer, core.size() as usize, |place| {
                coll::gather(core, "MPI_Gather", place(root), &place, root)
            })
        })
    }

    /// As [`gather_in_place_root`](Self::gather_in_place_root), without blocking (MPI_Igather, MPI-3.1 section 5.12.3).
    #[track_caller]
    fn immediate_gather_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_gather_in_place_root(scope, buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::immediate_gather_in_place_root (MPI_Igather)",
            request,
        )
    }

    /// As [`immediate_gather_in_place_root`](Self::immediate_gather_in_place_root), with the error as its result.
    fn try_immediate_gather_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        let (of, root) = (record(self), root(self));
        let taken = (buffer, started::equal_places::<B> as LendMut<B>);
        started::takes(of, "MPI_Igather", scope, taken, |_, places| {
            of.gather(places[root.0 as usize], started::of(places), root)
        })
    }

    /// As [`gather_in_place_root`](Self::gather_in_place_root), of parts that differ (MPI_Gatherv). Takes their list in the
    /// program's heap.
    #[track_caller]
    fn gather_varcount_in_place_root<B>(&self, buffer: &mut B)
    where
        B: PartitionedBufferMut + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_gather_varcount_in_place_root(buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::gather_varcount_in_place_root (MPI_Gatherv)",
            result,
        );
    }

    /// As [`gather_varcount_in_place_root`](Self::gather_varcount_in_place_root), with the error as its result.
    fn try_gather_varcount_in_place_root<B>(&self, buffer: &mut B) -> Result<(), Error>
    where
        B: PartitionedBufferMut + ?Sized,
    {
        is_root(self, true)?;
        attempt(self, |core, root| {
            lend_parts_mut(buffer, core.size() as usize, |places| {
                let place = listed(places);
                coll::gather(core, "MPI_Gatherv", place(root), &place, root)
            })
        })
    }

    /// As [`gather_varcount_in_place_root`](Self::gather_varcount_in_place_root), without blocking (MPI_Igatherv, MPI-3.1 section 5.12.3).
    #[track_caller]
    fn immediate_gather_varcount_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_gather_varcount_in_place_root(scope, buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::immediate_gather_varcount_in_place_root (MPI_Igatherv)",
            request,
        )
    }

    /// As [`immediate_gather_varcount_in_place_root`](Self::immediate_gather_varcount_in_place_root), with the error as its result.
    fn try_immediate_gather_varcount_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        let (of, root) = (record(self), root(self));
        let taken = (buffer, started::listed_places::<B> as LendMut<B>);
        started::takes(of, "MPI_Igatherv", scope, taken, |_, places| {
            of.gather(places[root.0 as usize], started::of(places), root)
        })
    }

    /// Gives each process its part of `buffer`, in which the root has its own (MPI_Scatter, MPI-3.1 section 5.6).
    #[track_caller]
    fn scatter_in_place_root<B>(&self, buffer: &B)
    where
        B: Buffer + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_scatter_in_place_root(buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::scatter_in_place_root (MPI_Scatter)",
            result,
        );
    }

    /// As [`scatter_in_place_root`](Self::scatter_in_place_root), with the error as its result.
    fn try_scatter_in_place_root<B>(&self, buffer: &B) -> Result<(), Error>
    where
        B: Buffer + ?Sized,
    {
        is_root(self, true)?;
        let size = element(buffer);
        attempt(self, |core, root| {
            lend(buffer, |all| {
                let of = divided(all.into(), size, core.size() as usize)?;
                coll::scatter(core, "MPI_Scatter", &of, of(root), root)
            })
        })
    }

    /// As [`scatter_in_place_root`](Self::scatter_in_place_root), without blocking (MPI_Iscatter, MPI-3.1 section 5.12.4).
    #[track_caller]
    fn immediate_scatter_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a B,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_scatter_in_place_root(scope, buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::immediate_scatter_in_place_root (MPI_Iscatter)",
            request,
        )
    }

    /// As [`immediate_scatter_in_place_root`](Self::immediate_scatter_in_place_root), with the error as its result.
    fn try_immediate_scatter_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a B,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        let (of, root) = (record(self), root(self));
        let given = (buffer, started::equal_parts::<B> as Lend<B>);
        started::gives(of, "MPI_Iscatter", scope, given, |_, parts| {
            scatter(of, parts, root)
        })
    }

    /// As [`scatter_in_place_root`](Self::scatter_in_place_root), of parts that differ (MPI_Scatterv). Takes their list in the
    /// program's heap.
    #[track_caller]
    fn scatter_varcount_in_place_root<B>(&self, buffer: &B)
    where
        B: PartitionedBuffer + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_scatter_varcount_in_place_root(buffer);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::scatter_varcount_in_place_root (MPI_Scatterv)",
            result,
        );
    }

    /// As [`scatter_varcount_in_place_root`](Self::scatter_varcount_in_place_root), with the error as its result.
    fn try_scatter_varcount_in_place_root<B>(&self, buffer: &B) -> Result<(), Error>
    where
        B: PartitionedBuffer + ?Sized,
    {
        is_root(self, true)?;
        attempt(self, |core, root| {
            lend_parts(buffer, core.size() as usize, |parts| {
                let of = listed(parts);
                coll::scatter(core, "MPI_Scatterv", &of, of(root), root)
            })
        })
    }

    /// As [`scatter_varcount_in_place_root`](Self::scatter_varcount_in_place_root), without blocking (MPI_Iscatterv, MPI-3.1 section 5.12.4).
    #[track_caller]
    fn immediate_scatter_varcount_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a B,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + PartitionedBuffer + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_scatter_varcount_in_place_root(scope, buffer);
        record(self).here.or_fatal("mpi::collective::RootInPlace::immediate_scatter_varcount_in_place_root (MPI_Iscatterv)", request)
    }

    /// As [`immediate_scatter_varcount_in_place_root`](Self::immediate_scatter_varcount_in_place_root), with the error as its result.
    fn try_immediate_scatter_varcount_in_place_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a B,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + PartitionedBuffer + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        let (of, root) = (record(self), root(self));
        let given = (buffer, started::listed_parts::<B> as Lend<B>);
        started::gives(of, "MPI_Iscatterv", scope, given, |_, parts| {
            scatter(of, parts, root)
        })
    }

    /// Combines all processes' buffers, place by place, into `buffer` of the root (MPI_Reduce, MPI-3.1 section 5.9.1).
    #[track_caller]
    fn reduce_in_place_root<B, O>(&self, buffer: &mut B, op: O)
    where
        B: BufferMut + ?Sized,
        O: Operation,
    {
        assert_root(self, true);
        let result = self.try_reduce_in_place_root(buffer, op);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::reduce_in_place_root (MPI_Reduce)",
            result,
        );
    }

    /// As [`reduce_in_place_root`](Self::reduce_in_place_root), with the error as its result.
    fn try_reduce_in_place_root<B, O>(&self, buffer: &mut B, op: O) -> Result<(), Error>
    where
        B: BufferMut + ?Sized,
        O: Operation,
    {
        is_root(self, true)?;
        attempt(self, |core, root| {
            reduce(buffer, &op, |data, size, combine| {
                coll::reduce(core, "MPI_Reduce", (data, data), size, combine, root)
            })
        })
    }

    /// As [`reduce_in_place_root`](Self::reduce_in_place_root), without blocking (MPI_Ireduce, MPI-3.1 section 5.12.7).
    #[track_caller]
    fn immediate_reduce_in_place_root<'a, Sc, B, O>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
        op: O,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_reduce_in_place_root(scope, buffer, op);
        record(self).here.or_fatal(
            "mpi::collective::RootInPlace::immediate_reduce_in_place_root (MPI_Ireduce)",
            request,
        )
    }

    /// As [`immediate_reduce_in_place_root`](Self::immediate_reduce_in_place_root), with the error as its result.
    fn try_immediate_reduce_in_place_root<'a, Sc, B, O>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
        op: O,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        let (of, root) = (record(self), root(self));
        let taken = (buffer, started::whole_mut::<B> as LendMut<B>);
        started::reduction_in_place(
            of,
            "MPI_Ireduce",
            scope,
            taken,
            &op,
            |(data, _), elements, combiner| of.reduce((data, data), elements, combiner, root),
        )
    }
}

impl<R: Root + ?Sized> RootInPlace for R {}
