//! Collectives that do not block (MPI-3.1 section 5.12): buffers are lent for as long as a request borrows them.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::operation::{Combiner, Given, Operation};
use super::{each, part, same_length};
use crate::device::memory::area::Area;
use crate::mpi::coll::{Elements, Plan, plans};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;
use crate::rust::datatype::lent::{Loan, element};
use crate::rust::datatype::user::{Kind, kind_of};
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut, any,
};
use crate::rust::request::{Request, Scope, Ticket, What, under_way};
use crate::rust::topology::Record;

/// What a collective has: what this process gives, and where its result goes.
pub(super) struct Loans(Loan, Loan);

/// As [`try_start`]; an error ends the job.
///
/// # Safety
/// As there.
unsafe fn start<'a, D: ?Sized, Sc: Scope<'a>>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    data: *const D,
    plan: impl FnOnce(Communicator<'_>) -> Result<(Plan, Loans), Error>,
) -> Request<'a, D, Sc> {
    // SAFETY: the caller's promise.
    let request = unsafe { try_start(record, function, scope, data, plan) };
    record.here.or_fatal(function, request)
}

/// Starts a collective that `plan` makes, with what is lent to it, and whose request has the buffer `data`.
///
/// # Safety
/// The loans are of buffers that are borrowed for `'a`, and so is what the plan borrows.
unsafe fn try_start<'a, D: ?Sized, Sc: Scope<'a>>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    data: *const D,
    plan: impl FnOnce(Communicator<'_>) -> Result<(Plan, Loans), Error>,
) -> Result<Request<'a, D, Sc>, Error> {
    let start = || {
        let (plan, Loans(given, taken)) = plan(record.core()?)?;
        let place = under_way::start(record, function, plan)?;
        Ok(Ticket {
            what: What::Collective(record.clone(), place),
            loans: [given, taken],
        })
    };
    // SAFETY: the caller's promise.
    unsafe { Request::start(scope, data, start) }
}

pub(super) fn barrier(record: &Rc<Record>) -> Request<'static, ()> {
    let plan =
        |core: Communicator<'_>| Ok((plans::barrier(core)?, Loans(Loan::EMPTY, Loan::EMPTY)));
    let none: &'static () = &();
    // SAFETY: nothing is lent.
    unsafe {
        start(
            record,
            "MPI_Ibarrier",
            crate::rust::request::StaticScope,
            none,
            plan,
        )
    }
}

pub(super) fn broadcast<'a, B, Sc>(
    record: &Rc<Record>,
    root: CommRank,
    scope: Sc,
    buffer: &'a mut B,
) -> Request<'a, B, Sc>
where
    B: BufferMut + ?Sized,
    Sc: Scope<'a>,
{
    let data = core::ptr::from_mut(buffer);
    // SAFETY: borrowed for `'a`, exclusively.
    unsafe {
        start(record, "MPI_Ibcast", scope, data, |core| {
            let loan = Loan::writing(&mut *data)?;
            let plan = plans::bcast(core, loan.area(), root, ())?;
            Ok((plan, Loans(Loan::EMPTY, loan)))
        })
    }
}

/// Of a process that only gives.
pub(super) fn giving<'a, S, Sc>(
    record: &Rc<Record>,
    function: &'static str,
    root: CommRank,
    scope: Sc,
    buffer: &'a S,
) -> Request<'a, S, Sc>
where
    S: Buffer + ?Sized,
    Sc: Scope<'a>,
{
    // SAFETY: borrowed for `'a`.
    unsafe {
        start(record, function, scope, buffer, |core| {
            let loan = Loan::reading(buffer)?;
            let plan = plans::gather(core, loan.area(), |_| Area::EMPTY, root, ())?;
            Ok((plan, Loans(loan, Loan::EMPTY)))
        })
    }
}

/// Of a process that only takes.
pub(super) fn taking<'a, R, Sc>(
    record: &Rc<Record>,
    function: &'static str,
    root: CommRank,
    scope: Sc,
    buffer: &'a mut R,
) -> Request<'a, R, Sc>
where
    R: BufferMut + ?Sized,
    Sc: Scope<'a>,
{
    let data = core::ptr::from_mut(buffer);
    // SAFETY: borrowed for `'a`, exclusively.
    unsafe {
        start(record, function, scope, data, |core| {
            let loan = Loan::writing(&mut *data)?;
            let plan = plans::scatter(core, |_| Area::EMPTY, loan.area(), root, ())?;
            Ok((plan, Loans(Loan::EMPTY, loan)))
        })
    }
}

/// A buffer that is lent, and the parts of it.
pub(super) type Places = (Loan, Vec<Area>);

fn of(areas: Vec<Area>) -> impl Fn(CommRank) -> Area + Send + 'static {
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
    let size = kind_of(&buffer.as_datatype()).size();
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
    plan: impl FnOnce(Communicator<'_>, (Area, Vec<Area>), (Area, Vec<Area>)) -> Result<Plan, Error>,
) -> Result<Request<'a, R, Sc>, Error> {
    let data = core::ptr::from_mut(recvbuf);
    // SAFETY: both are borrowed for `'a`, the second exclusively.
    unsafe {
        try_start(record, function, scope, data, |core| {
            let (given, parts) = lend(gives, sendbuf)?;
            let (taken, places) = lend_mut(takes, &mut *data)?;
            let plan = plan(core, (given.area(), parts), (taken.area(), places))?;
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
unsafe fn whole_mut<R: BufferMut + ?Sized>(_: usize, buffer: &mut R) -> Result<Places, Error> {
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
        $($root:ident)? |$core:ident, $given:pat_param, $taken:pat_param| $plan:expr;
    )*) => {$(
        pub(super) fn $name<'a, S, R, Sc>(
            record: &Rc<Record>,
            $($root: CommRank,)?
            scope: Sc,
            sendbuf: &'a S,
            recvbuf: &'a mut R,
        ) -> Request<'a, R, Sc>
        where
            S: $s + ?Sized,
            R: $r + ?Sized,
            Sc: Scope<'a>,
        {
            let plan = |$core: Communicator<'_>,
                        $given: (Area, Vec<Area>),
                        $taken: (Area, Vec<Area>)| $plan;
            let ranks = record.membership().size as usize;
            let request = exchange(
                record,
                $function,
                scope,
                (sendbuf, $lend::<S>, ranks),
                (recvbuf, $lend_mut::<R>, ranks),
                plan,
            );
            record.here.or_fatal($function, request)
        }
    )*};
}

exchanges! {
    gather_root: "MPI_Igather", Buffer by whole, BufferMut by equal_places,
        root |core, (data, _), (_, places)| plans::gather(core, data, of(places), root, ());
    gather_varcount_root: "MPI_Igatherv", Buffer by whole, PartitionedBufferMut by listed_places,
        root |core, (data, _), (_, places)| plans::gather(core, data, of(places), root, ());
    scatter_root: "MPI_Iscatter", Buffer by equal_parts, BufferMut by whole_mut,
        root |core, (_, parts), (result, _)| plans::scatter(core, of(parts), result, root, ());
    scatter_varcount_root: "MPI_Iscatterv", PartitionedBuffer by listed_parts, BufferMut by whole_mut,
        root |core, (_, parts), (result, _)| plans::scatter(core, of(parts), result, root, ());
    all_gather: "MPI_Iallgather", Buffer by whole, BufferMut by equal_places,
        |core, (data, _), (_, places)| plans::allgather(core, data, of(places), ());
    all_gather_varcount: "MPI_Iallgatherv", Buffer by whole, PartitionedBufferMut by listed_places,
        |core, (data, _), (_, places)| plans::allgather(core, data, of(places), ());
    all_to_all: "MPI_Ialltoall", Buffer by equal_parts, BufferMut by equal_places,
        |core, (_, parts), (_, places)| plans::alltoall(core, of(parts), of(places));
    all_to_all_varcount: "MPI_Ialltoallv", PartitionedBuffer by listed_parts, PartitionedBufferMut by listed_places,
        |core, (_, parts), (_, places)| plans::alltoall(core, of(parts), of(places));
}

/// A buffer for each process and one from each, of whatever datatypes.
pub(super) fn all_to_all_vartype<'a, 's, 'r, Sc: Scope<'a>>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    sendbufs: &'a [AnyBuffer<'s>],
    recvbufs: &'a mut [AnyBufferMut<'r>],
) -> Result<Request<'a, [AnyBufferMut<'r>], Sc>, Error> {
    let plan =
        |core: Communicator<'_>, (_, parts): (Area, Vec<Area>), (_, places): (Area, Vec<Area>)| {
            plans::alltoall(core, of(parts), of(places))
        };
    let ranks = record.membership().size as usize;
    let given = (sendbufs, any::lend_all as Lend<_>, ranks);
    let taken = (recvbufs, any::lend_all_mut as LendMut<_>, ranks);
    exchange(record, function, scope, given, taken, plan)
}

/// Which reduction.
#[derive(Clone, Copy)]
pub(super) enum Reduction {
    ToAll,
    Scan { inclusive: bool },
    Scatter,
    To(CommRank),
}

/// What combines elements of a datatype, for as long as a request is under way.
fn combining(
    given: Given<'static>,
    kind: Kind<'_>,
) -> Result<impl FnMut(&[u8], &mut [u8]) + Send + use<>, Error> {
    let mut combiner = Combiner::new(given, kind)?;
    Ok(move |left: &[u8], right: &mut [u8]| combiner.combine(left, right))
}

pub(super) fn reduction<'a, S, R, O, Sc>(
    record: &Rc<Record>,
    (function, reduction): (&'static str, Reduction),
    scope: Sc,
    (sendbuf, recvbuf): (&'a S, &'a mut R),
    op: &O,
) -> Request<'a, R, Sc>
where
    S: Buffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let data = core::ptr::from_mut(recvbuf);
    let size = element(sendbuf);
    // SAFETY: the buffers, and what the operation borrows, are borrowed for `'a`, the second buffer exclusively.
    unsafe {
        start(record, function, scope, data, |core| {
            let operation = op.given().for_ever();
            let meanwhile = operation.is_system();
            let combine = combining(operation, kind_of(&sendbuf.as_datatype()))?;
            let (given, taken) = (Loan::reading(sendbuf)?, Loan::writing(&mut *data)?);
            let areas = (given.area(), taken.area());
            let plan = match reduction {
                Reduction::ToAll => {
                    let elements = Elements {
                        size,
                        commute: op.is_commutative(),
                        predefined: meanwhile,
                    };
                    plans::allreduce(core, areas, elements, combine, ())
                }
                Reduction::Scan { inclusive } => {
                    plans::scan(core, areas, size, combine, inclusive, ())
                }
                Reduction::To(root) => plans::reduce(core, areas, size, combine, root, ()),
                Reduction::Scatter => {
                    let (whole, result) = areas;
                    same_length(result.len() * core.size() as usize, whole.len())?;
                    let bytes = result.len();
                    let part = move |rank: CommRank| part(whole, rank.0, bytes);
                    plans::reduce_scatter(core, part, result, size, combine, ())
                }
            };
            Ok((plan?.goes_on_meanwhile(meanwhile), Loans(given, taken)))
        })
    }
}

/// Of a process that is not the root.
pub(super) fn reduce_to<'a, S, O, Sc>(
    record: &Rc<Record>,
    root: CommRank,
    scope: Sc,
    sendbuf: &'a S,
    op: &O,
) -> Request<'a, S, Sc>
where
    S: Buffer + ?Sized,
    O: Operation + 'a,
    Sc: Scope<'a>,
{
    let size = element(sendbuf);
    // SAFETY: the buffer, and what the operation borrows, is borrowed for `'a`.
    unsafe {
        start(record, "MPI_Ireduce", scope, sendbuf, |core| {
            let operation = op.given().for_ever();
            let meanwhile = operation.is_system();
            let combine = combining(operation, kind_of(&sendbuf.as_datatype()))?;
            let given = Loan::reading(sendbuf)?;
            let areas = (given.area(), Area::EMPTY);
            let plan = plans::reduce(core, areas, size, combine, root, ())?;
            let plan = plan.goes_on_meanwhile(meanwhile);
            Ok((plan, Loans(given, Loan::EMPTY)))
        })
    }
}
