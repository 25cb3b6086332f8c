//! Collectives that do not block (MPI-3.1 section 5.12): buffers are lent for as long as a request borrows them.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::operation::{Combiner, Operation};
use super::planner::Planner;
use super::{each, part};
use crate::device::memory::area::Area;
use crate::mpi::coll::{Elements, Plan, plans};
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::rust::datatype::lent::{Loan, element};
use crate::rust::datatype::user::kind_of;
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, AsDatatype, Buffer, BufferMut, PartitionedBuffer,
    PartitionedBufferMut, any,
};
use crate::rust::request::{Request, Scope, StaticScope, Ticket, What, under_way};
use crate::rust::topology::Record;

/// What a collective has: what this process gives, and where its result goes.
pub(super) struct Loans(Loan, Loan);

/// Starts a collective that `plan` makes, with what is lent to it, and whose request has the buffer `data`.
///
/// # Safety
/// The loans are of buffers that are borrowed for `'a`, and so is what the plan borrows.
unsafe fn start<'a, D: ?Sized, Sc: Scope<'a>>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    data: *const D,
    plan: impl FnOnce() -> Result<(Plan, Loans), Error>,
) -> Result<Request<'a, D, Sc>, Error> {
    let start = || {
        let (plan, Loans(given, taken)) = plan()?;
        let place = under_way::start(record, function, plan)?;
        Ok(Ticket {
            what: What::Collective(record.clone(), place),
            loans: [given, taken],
        })
    };
    // SAFETY: the caller's promise.
    unsafe { Request::start(scope, data, start) }
}

/// Of all processes that the record has.
pub(super) fn barrier(record: &Rc<Record>) -> Result<Request<'static, ()>, Error> {
    let function = "MPI_Ibarrier";
    let plan = || {
        let plan = plans::barrier(record.core()?)?;
        Ok((plan, Loans(Loan::EMPTY, Loan::EMPTY)))
    };
    let none: &'static () = &();
    // SAFETY: nothing is lent.
    unsafe { start(record, function, StaticScope, none, plan) }
}

/// Of a process that only gives; `plan` makes the plan of the buffer's area and parts.
pub(super) fn gives<'a, P: Planner, S: ?Sized, Sc: Scope<'a>>(
    of: P,
    function: &'static str,
    scope: Sc,
    (sendbuf, lend): (&'a S, Lend<S>),
    plan: impl FnOnce(Area, Vec<Area>) -> Result<Plan, Error>,
) -> Result<Request<'a, S, Sc>, Error> {
    let record = of.record();
    // SAFETY: borrowed for `'a`.
    unsafe {
        start(record, function, scope, sendbuf, || {
            let (given, parts) = lend(of.partners(), sendbuf)?;
            Ok((plan(given.area(), parts)?, Loans(given, Loan::EMPTY)))
        })
    }
}

/// As [`gives`], of a process that only takes.
pub(super) fn takes<'a, P: Planner, R: ?Sized, Sc: Scope<'a>>(
    of: P,
    function: &'static str,
    scope: Sc,
    (recvbuf, lend_mut): (&'a mut R, LendMut<R>),
    plan: impl FnOnce(Area, Vec<Area>) -> Result<Plan, Error>,
) -> Result<Request<'a, R, Sc>, Error> {
    let (record, data) = (of.record(), core::ptr::from_mut(recvbuf));
    // SAFETY: borrowed for `'a`, exclusively.
    unsafe {
        start(record, function, scope, data, || {
            let (taken, places) = lend_mut(of.partners(), &mut *data)?;
            Ok((plan(taken.area(), places)?, Loans(Loan::EMPTY, taken)))
        })
    }
}

/// Of a process that takes what the root has.
pub(super) fn broadcast<'a, P, B, Sc>(
    of: P,
    root: P::Root,
    scope: Sc,
    buffer: &'a mut B,
) -> Result<Request<'a, B, Sc>, Error>
where
    P: Planner,
    B: BufferMut + ?Sized,
    Sc: Scope<'a>,
{
    let taken = (buffer, whole_mut::<B> as LendMut<B>);
    takes(of, "MPI_Ibcast", scope, taken, |span, _| {
        of.bcast(span, root)
    })
}

/// Of a process that gives the root what it has.
pub(super) fn giving<'a, P, S, Sc>(
    of: P,
    function: &'static str,
    root: P::Root,
    scope: Sc,
    buffer: &'a S,
) -> Result<Request<'a, S, Sc>, Error>
where
    P: Planner,
    S: Buffer + ?Sized,
    Sc: Scope<'a>,
{
    let given = (buffer, whole::<S> as Lend<S>);
    gives(of, function, scope, given, |data, _| {
        of.gather(data, |_| Area::EMPTY, root)
    })
}

/// Of a process that takes its part of what the root has.
pub(super) fn taking<'a, P, R, Sc>(
    of: P,
    function: &'static str,
    root: P::Root,
    scope: Sc,
    buffer: &'a mut R,
) -> Result<Request<'a, R, Sc>, Error>
where
    P: Planner,
    R: BufferMut + ?Sized,
    Sc: Scope<'a>,
{
    let taken = (buffer, whole_mut::<R> as LendMut<R>);
    takes(of, function, scope, taken, |result, _| {
        of.scatter(|_| Area::EMPTY, result, root)
    })
}

/// A buffer that is lent, and the parts of it.
pub(super) type Places = (Loan, Vec<Area>);

pub(super) fn of(areas: Vec<Area>) -> impl Fn(CommRank) -> Area + Send + 'static {
    move |rank| areas[rank.0 as usize]
}

/// So many equal parts of a buffer that is written.
///
/// # Safety
/// As for [`Loan::writing`].
pub(super) unsafe fn equal_places<R: BufferMut + ?Sized>(
    many: usize,
    buffer: &mut R,
) -> Result<Places, Error> {
    let size = element(buffer);
    // SAFETY: the caller's promise.
    let loan = unsafe { Loan::writing(buffer) }?;
    let areas = equal(many, loan.area(), size)?;
    Ok((loan, areas))
}

fn equal(many: usize, whole: Area, element: usize) -> Result<Vec<Area>, Error> {
    let bytes = each(whole.len(), element, many)?;
    let mut areas = crate::mpi::coll::room(many)?;
    areas.extend((0..many as u32).map(|number| part(whole, number, bytes)));
    Ok(areas)
}

/// What lends a buffer that is read, and one that is written, in so many parts.
pub(super) type Lend<S> = unsafe fn(usize, &S) -> Result<Places, Error>;
pub(super) type LendMut<R> = unsafe fn(usize, &mut R) -> Result<Places, Error>;

/// Both a buffer that is given and one that is taken into, in so many parts; `plan` makes the plan of their areas and
/// parts.
pub(super) fn exchange<'a, S: ?Sized, R: ?Sized, Sc: Scope<'a>>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    (sendbuf, lend, gives): (&'a S, Lend<S>, usize),
    (recvbuf, lend_mut, takes): (&'a mut R, LendMut<R>, usize),
    plan: impl FnOnce((Area, Vec<Area>), (Area, Vec<Area>)) -> Result<Plan, Error>,
) -> Result<Request<'a, R, Sc>, Error> {
    let data = core::ptr::from_mut(recvbuf);
    // SAFETY: both are borrowed for `'a`, the second exclusively.
    unsafe {
        start(record, function, scope, data, || {
            let (given, parts) = lend(gives, sendbuf)?;
            let (taken, places) = lend_mut(takes, &mut *data)?;
            let plan = plan((given.area(), parts), (taken.area(), places))?;
            Ok((plan, Loans(given, taken)))
        })
    }
}

/// Without parts.
///
/// # Safety
/// As for [`Loan::reading`].
pub(super) unsafe fn whole<S: Buffer + ?Sized>(_: usize, buffer: &S) -> Result<Places, Error> {
    // SAFETY: the caller's promise.
    Ok((unsafe { Loan::reading(buffer) }?, Vec::new()))
}

/// As [`whole`], of a buffer that is written.
///
/// # Safety
/// As for [`Loan::writing`].
pub(super) unsafe fn whole_mut<R: BufferMut + ?Sized>(
    _: usize,
    buffer: &mut R,
) -> Result<Places, Error> {
    // SAFETY: the caller's promise.
    Ok((unsafe { Loan::writing(buffer) }?, Vec::new()))
}

/// As [`equal_places`], of a buffer that is read.
///
/// # Safety
/// As for [`Loan::reading`].
pub(super) unsafe fn equal_parts<S: Buffer + ?Sized>(
    many: usize,
    buffer: &S,
) -> Result<Places, Error> {
    // SAFETY: the caller's promise.
    let loan = unsafe { Loan::reading(buffer) }?;
    let areas = equal(many, loan.area(), element(buffer))?;
    Ok((loan, areas))
}

/// # Safety
/// As for [`Loan::reading`].
pub(super) unsafe fn listed_parts<S: PartitionedBuffer + ?Sized>(
    many: usize,
    buffer: &S,
) -> Result<Places, Error> {
    // SAFETY: the caller's promise.
    unsafe { Loan::reading_parts(buffer, many) }
}

/// # Safety
/// As for [`Loan::writing`].
pub(super) unsafe fn listed_places<R: PartitionedBufferMut + ?Sized>(
    many: usize,
    buffer: &mut R,
) -> Result<Places, Error> {
    // SAFETY: the caller's promise.
    unsafe { Loan::writing_parts(buffer, many) }
}

macro_rules! exchanges {
    ($(
        $name:ident: $function:literal, $s:ident by $lend:ident, $r:ident by $lend_mut:ident,
        |$of:ident $(, $root:ident)?| $given:pat_param, $taken:pat_param => $plan:expr;
    )*) => {$(
        pub(super) fn $name<'a, P, S, R, Sc>(
            $of: P,
            $($root: P::Root,)?
            scope: Sc,
            sendbuf: &'a S,
            recvbuf: &'a mut R,
        ) -> Result<Request<'a, R, Sc>, Error>
        where
            P: Planner,
            S: $s + ?Sized,
            R: $r + ?Sized,
            Sc: Scope<'a>,
        {
            let (record, partners) = ($of.record(), $of.partners());
            exchange(
                record,
                $function,
                scope,
                (sendbuf, $lend::<S>, partners),
                (recvbuf, $lend_mut::<R>, partners),
                |$given, $taken| $plan,
            )
        }
    )*};
}

exchanges! {
    gather_root: "MPI_Igather", Buffer by whole, BufferMut by equal_places,
        |comm, root| (data, _), (_, places) => comm.gather(data, of(places), root);
    gather_varcount_root: "MPI_Igatherv", Buffer by whole, PartitionedBufferMut by listed_places,
        |comm, root| (data, _), (_, places) => comm.gather(data, of(places), root);
    scatter_root: "MPI_Iscatter", Buffer by equal_parts, BufferMut by whole_mut,
        |comm, root| (_, parts), (result, _) => comm.scatter(of(parts), result, root);
    scatter_varcount_root: "MPI_Iscatterv", PartitionedBuffer by listed_parts, BufferMut by whole_mut,
        |comm, root| (_, parts), (result, _) => comm.scatter(of(parts), result, root);
    all_gather: "MPI_Iallgather", Buffer by whole, BufferMut by equal_places,
        |comm| (data, _), (_, places) => comm.allgather(data, of(places));
    all_gather_varcount: "MPI_Iallgatherv", Buffer by whole, PartitionedBufferMut by listed_places,
        |comm| (data, _), (_, places) => comm.allgather(data, of(places));
    all_to_all: "MPI_Ialltoall", Buffer by equal_parts, BufferMut by equal_places,
        |comm| (_, parts), (_, places) => comm.alltoall(of(parts), of(places));
    all_to_all_varcount: "MPI_Ialltoallv", PartitionedBuffer by listed_parts, PartitionedBufferMut by listed_places,
        |comm| (_, parts), (_, places) => comm.alltoall(of(parts), of(places));
}

/// A buffer for each process and one from each, of whatever datatypes.
pub(super) fn all_to_all_vartype<'a, 's, 'r, P: Planner, Sc: Scope<'a>>(
    comm: P,
    function: &'static str,
    scope: Sc,
    sendbufs: &'a [AnyBuffer<'s>],
    recvbufs: &'a mut [AnyBufferMut<'r>],
) -> Result<Request<'a, [AnyBufferMut<'r>], Sc>, Error> {
    let given = (sendbufs, any::lend_all as Lend<_>, comm.partners());
    let taken = (recvbufs, any::lend_all_mut as LendMut<_>, comm.partners());
    let record = comm.record();
    exchange(
        record,
        function,
        scope,
        given,
        taken,
        |(_, parts), (_, places)| comm.alltoall(of(parts), of(places)),
    )
}

/// The elements of a buffer, and what combines them for as long as a request is under way.
///
/// # Safety
/// What the operation borrows is borrowed for as long.
unsafe fn combined<S, O>(sendbuf: &S, op: &O) -> Result<(Elements, Combiner<'static>), Error>
where
    S: AsDatatype + ?Sized,
    O: Operation,
{
    // SAFETY: the caller's promise.
    let operation = unsafe { op.given().for_ever() };
    let elements = Elements {
        size: element(sendbuf),
        commute: op.is_commutative(),
        predefined: operation.is_system(),
    };
    let combiner = Combiner::new(operation, kind_of(&sendbuf.as_datatype()))?;
    Ok((elements, combiner))
}

/// `plan` makes the plan of the areas of both buffers.
pub(super) fn reduction<'a, P, S, R, O, Sc>(
    of: P,
    function: &'static str,
    scope: Sc,
    (sendbuf, recvbuf): (&'a S, &'a mut R),
    op: &O,
    plan: impl FnOnce(P, (Area, Area), Elements, Combiner<'static>) -> Result<Plan, Error>,
) -> Result<Request<'a, R, Sc>, Error>
where
    P: Planner,
    S: Buffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let given = (sendbuf, whole::<S> as Lend<S>, 0);
    reduction_of(
        of,
        function,
        scope,
        given,
        recvbuf,
        op,
        |(data, _), result, elements, combiner| plan(of, (data, result), elements, combiner),
    )
}

/// Of parts, one for each process that gets a result.
pub(super) fn reduce_scatter_varcount<'a, P, S, R, O, Sc>(
    of: P,
    scope: Sc,
    (sendbuf, recvbuf): (&'a S, &'a mut R),
    op: &O,
) -> Result<Request<'a, R, Sc>, Error>
where
    P: Planner,
    S: PartitionedBuffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let given = (sendbuf, listed_parts::<S> as Lend<S>, of.partners());
    let function = "MPI_Ireduce_scatter";
    reduction_of(
        of,
        function,
        scope,
        given,
        recvbuf,
        op,
        |(_, parts), result, elements, combiner| {
            of.reduce_scatter_parts(self::of(parts), result, elements, combiner)
        },
    )
}

/// `plan` makes the plan of the area and the parts of the first buffer, and of the area of the second one.
fn reduction_of<'a, P, S, R, O, Sc>(
    of: P,
    function: &'static str,
    scope: Sc,
    (sendbuf, lend, gives): (&'a S, Lend<S>, usize),
    recvbuf: &'a mut R,
    op: &O,
    plan: impl FnOnce((Area, Vec<Area>), Area, Elements, Combiner<'static>) -> Result<Plan, Error>,
) -> Result<Request<'a, R, Sc>, Error>
where
    P: Planner,
    S: AsDatatype + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let (record, data) = (of.record(), core::ptr::from_mut(recvbuf));
    // SAFETY: the buffers, and what the operation borrows, are borrowed for `'a`, the second buffer exclusively.
    unsafe {
        start(record, function, scope, data, || {
            let (elements, combiner) = combined(sendbuf, op)?;
            let (given, parts) = lend(gives, sendbuf)?;
            let taken = Loan::writing(&mut *data)?;
            let plan = plan((given.area(), parts), taken.area(), elements, combiner)?;
            let plan = plan.goes_on_meanwhile(elements.predefined);
            Ok((plan, Loans(given, taken)))
        })
    }
}

/// As [`reduction_of`], of a buffer that has both the data and the result.
pub(super) fn reduction_in_place<'a, P, R, O, Sc>(
    of: P,
    function: &'static str,
    scope: Sc,
    (buffer, lend_mut): (&'a mut R, LendMut<R>),
    op: &O,
    plan: impl FnOnce((Area, Vec<Area>), Elements, Combiner<'static>) -> Result<Plan, Error>,
) -> Result<Request<'a, R, Sc>, Error>
where
    P: Planner,
    R: AsDatatype + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let (record, data) = (of.record(), core::ptr::from_mut(buffer));
    // SAFETY: the buffer, and what the operation borrows, are borrowed for `'a`, the buffer exclusively.
    unsafe {
        start(record, function, scope, data, || {
            let (elements, combiner) = combined(&*data, op)?;
            let (taken, parts) = lend_mut(of.partners(), &mut *data)?;
            let plan = plan((taken.area(), parts), elements, combiner)?;
            let plan = plan.goes_on_meanwhile(elements.predefined);
            Ok((plan, Loans(Loan::EMPTY, taken)))
        })
    }
}

/// Of a process that is not the root.
pub(super) fn reduce_to<'a, P, S, O, Sc>(
    of: P,
    root: P::Root,
    scope: Sc,
    sendbuf: &'a S,
    op: &O,
) -> Result<Request<'a, S, Sc>, Error>
where
    P: Planner,
    S: Buffer + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let (record, function) = (of.record(), "MPI_Ireduce");
    // SAFETY: the buffer, and what the operation borrows, is borrowed for `'a`.
    unsafe {
        start(record, function, scope, sendbuf, || {
            let (elements, combiner) = combined(sendbuf, op)?;
            let given = Loan::reading(sendbuf)?;
            let areas = (given.area(), Area::EMPTY);
            let plan = of.reduce(areas, elements, combiner, root)?;
            let plan = plan.goes_on_meanwhile(elements.predefined);
            Ok((plan, Loans(given, Loan::EMPTY)))
        })
    }
}
