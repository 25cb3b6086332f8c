//! Operations on a target (MPI-3.1 section 11.3).

use alloc::rc::Rc;
use core::marker::PhantomData;

use super::record::{WatchedEvent, WindowCall, WindowRecord};
use crate::collective::SystemOperation;
use crate::datatype::operands::{NoBuffer, RemoteElements, TargetOperand, borrow_whole, borrow_whole_mut};
use crate::datatype::user::{self, kind_of};
use crate::datatype::{Buffer, BufferMut, Datatype, Equivalence};
use crate::point_to_point::Status;
use crate::recording::{Call, Fields, RequestNumber};
use crate::request::{Request, Scope, Ticket, TicketKind, zeroed};
use crate::{Address, Count};
use midplane_device::envelope;
use midplane_device::memory::Span;
use midplane_device::rma::wire::{PacketKind, RequestHead};
use midplane_objects::datatype::BasicType;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::one_sided::{self, element_bytes, is_comparable};
use midplane_objects::windows::{
    AccessPath, OriginSpans, TargetBase, TargetElements, TargetRegion, fits, made_of, same, wrong,
};

/// Operation on elements in a window (MPI-3.1 section 11.3.4): a [`SystemOperation`], or one that only windows support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowOperation(one_sided::RmaOperation);

impl WindowOperation {
    /// Replaces the target's element by the origin's (MPI_REPLACE).
    pub fn replace() -> WindowOperation {
        WindowOperation(REPLACE)
    }

    /// Keeps the target's element (MPI_NO_OP), for operations that fetch.
    pub fn no_op() -> WindowOperation {
        WindowOperation(NO_OP)
    }
}

impl From<SystemOperation> for WindowOperation {
    fn from(operation: SystemOperation) -> WindowOperation {
        WindowOperation(one_sided::RmaOperation::Combine(operation.0))
    }
}

/// The elements of a target's part that an operation accesses. A `usize` is the index of the first element, in elements
/// of the target. Count and datatype are those of the origin, and the elements are consecutive.
#[derive(Clone, Copy)]
pub struct TargetLocation<'d> {
    displacement: isize,
    elements: Option<(Count, user::DatatypeKind<'d>)>,
}

impl From<usize> for TargetLocation<'static> {
    fn from(displacement: usize) -> Self {
        // A larger index is beyond every part, too.
        TargetLocation::address(isize::try_from(displacement).unwrap_or(isize::MAX))
    }
}

impl TargetLocation<'static> {
    /// Specifies elements of a [`DynamicWindow`](super::DynamicWindow) by the address of the first in the target's
    /// memory; the target obtains it from [`AttachedMemory::address`](super::AttachedMemory::address).
    pub fn address(address: Address) -> Self {
        TargetLocation {
            displacement: address,
            elements: None,
        }
    }
}

impl<'d> TargetLocation<'d> {
    /// Specifies `count` elements of a separate datatype at this index or address.
    ///
    /// # Panics
    /// When `count` is negative.
    pub fn elements<D: Datatype>(self, count: Count, datatype: &'d D) -> TargetLocation<'d> {
        assert!(count >= 0, "a count of {count} elements");
        TargetLocation {
            elements: Some((count, kind_of(datatype))),
            ..self
        }
    }
}

/// A process of a window, in an epoch `K` that gives access to it: the target of operations.
///
/// A blocking operation returns when its buffers are reusable. A nonblocking one returns a request, and borrows its
/// buffers for a scope; the operations are executed in the order of their calls where the standard requires it, and
/// before the epoch is closed.
///
/// # Errors
/// Class RmaRange for elements beyond the target's part; class RmaSync where the epoch does not include the process;
/// class Type and Op for operations that the datatype does not support; [`Error::Lengths`] where the lengths do not
/// match; [`Error::NoSpace`]. They abort the job; the `try_` forms return them.
pub struct WindowTarget<'e, K> {
    pub(super) record: &'e Rc<WindowRecord>,
    pub(super) rank: envelope::Rank,
    epoch: PhantomData<K>,
}

impl<K> Clone for WindowTarget<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for WindowTarget<'_, K> {}

/// Returns the predefined datatype of the elements, which supports the operation, or `None` for elements without bytes.
fn basic_of(operation: one_sided::RmaOperation, elements: RemoteElements<'_>) -> Result<Option<BasicType>, Error> {
    let basic = match elements.0 {
        user::DatatypeKind::Basic(basic) => Some(basic),
        user::DatatypeKind::Made(made) => made_of(operation, made.layout().tags(), &elements, made.size())?,
    };
    basic.map_or(Ok(()), |basic| operation.check(basic))?;
    Ok(basic)
}

/// Returns class Type unless an element there can be compared and swapped with one here, which must have no gaps.
fn check_swap(there: user::DatatypeKind<'_>, here: user::DatatypeKind<'_>) -> Result<(), Error> {
    let is_whole = |size| here.size() == size && here.row() == Some(0);
    let what = match there {
        user::DatatypeKind::Basic(basic) if is_comparable(basic) && is_whole(basic.size()) => {
            return Ok(());
        }
        user::DatatypeKind::Basic(_) => "only integers, truth values and bytes are compared and swapped",
        user::DatatypeKind::Made(_) => "not a predefined datatype",
    };
    Err(wrong(ErrorClass::Type, what))
}

/// An operation to record or execute: the elements at the target, and the combination.
struct TargetPlan<'d> {
    elements: RemoteElements<'d>,
    bytes: usize,
    /// Size of an indivisible element in bytes.
    unit: usize,
    head: RequestHead,
}

/// Kind of an operation, as a type: a program links only the kinds that it uses.
struct OperationKind<const KIND: u8>;

const PUT: u8 = PacketKind::Put as u8;
const GET: u8 = PacketKind::Get as u8;
const ACCUMULATE: u8 = PacketKind::Accumulate as u8;
const FETCH: u8 = PacketKind::Fetch as u8;
const COMPARE: u8 = PacketKind::Compare as u8;

const REPLACE: one_sided::RmaOperation = one_sided::RmaOperation::Replace;
const NO_OP: one_sided::RmaOperation = one_sided::RmaOperation::NoOp;

/// Returns the handle of an operation in the records of the calls.
fn recorded_operation(operation: one_sided::RmaOperation) -> i64 {
    match operation {
        one_sided::RmaOperation::Combine(operation) => operation.handle().into(),
        one_sided::RmaOperation::Replace => 0x3c,
        one_sided::RmaOperation::NoOp => 0x3d,
    }
}

/// Count and datatype of the elements in an operation's buffer.
type BufferShape<'d> = Option<(usize, user::DatatypeKind<'d>)>;

impl<'e, K> WindowTarget<'e, K> {
    pub(super) fn new(record: &'e Rc<WindowRecord>, rank: envelope::Rank) -> Self {
        WindowTarget {
            record,
            rank,
            epoch: PhantomData,
        }
    }

    /// Returns the plan of an operation and its base at the target. The count at the target is the local one unless
    /// `at` specifies it.
    #[inline(always)]
    fn plan<'d, const KIND: u8>(
        &self,
        call: &WindowCall<'_>,
        at: TargetLocation<'d>,
        entry: AccessPath,
        operation: one_sided::RmaOperation,
        [given, taken]: [BufferShape<'d>; 2],
        spans: OriginSpans,
    ) -> Result<(TargetPlan<'d>, TargetBase), Error> {
        let (count, here) = taken.or(given).expect("one of the buffers is there");
        let (count, there) = match at.elements {
            Some((count, there)) => (count as usize, there),
            None => (count, here),
        };
        let elements = RemoteElements(there);
        let (bytes, room) = match KIND {
            PUT | ACCUMULATE => (spans.from.len(), elements.length(count)?),
            COMPARE => (spans.into.len(), spans.into.len()),
            _ => (elements.length(count)?, spans.into.len()),
        };
        let (unit, head) = match KIND {
            PUT => (1, RequestHead::new(PacketKind::Put, call.context())),
            GET => (1, RequestHead::new(PacketKind::Get, call.context())),
            COMPARE => {
                check_swap(there, here)?;
                (bytes, RequestHead::new(PacketKind::Compare, call.context()))
            }
            _ => {
                if KIND == ACCUMULATE && operation == NO_OP {
                    return Err(wrong(ErrorClass::Op, "no_op is for operations that fetch"));
                }
                let target = basic_of(operation, elements)?;
                let alike = |side: BufferShape<'_>| {
                    let own = side.map_or(Ok(None), |(_, kind)| basic_of(operation, RemoteElements(kind)))?;
                    same(own, target, bytes)
                };
                let basic = alike(taken.or(given))?;
                // MPI_NO_OP does not read its operand.
                if KIND == FETCH && operation != NO_OP {
                    alike(given)?;
                    fits(bytes, spans.from.len())?;
                }
                let kind = [PacketKind::Accumulate, PacketKind::Fetch][usize::from(KIND == FETCH)];
                (element_bytes(basic), call.combining(kind, operation, basic))
            }
        };
        fits(bytes, room)?;
        let place = call.find(self.rank, at.displacement, &elements, count, entry)?;
        let plan = TargetPlan {
            elements,
            bytes,
            unit,
            head,
        };
        Ok((plan, place))
    }

    /// Adds the arguments of an operation to the record of its call, without the request of a nonblocking one.
    fn add_arguments<'a>(
        &self,
        function: &'static str,
        (at, operation): (TargetLocation<'_>, one_sided::RmaOperation),
        given: &impl TargetOperand<'a>,
        taken: &impl TargetOperand<'a>,
        fields: &mut Fields,
    ) {
        let add = |fields: &mut Fields, shape: BufferShape<'_>| {
            match shape {
                Some((count, kind)) => fields.elements(0, count as Count, kind),
                None => fields.unknown(3),
            };
        };
        let shape = given.shape().or(taken.shape());
        let there = at.elements.map_or(shape, |(count, kind)| Some((count as usize, kind)));
        let rank = self.record.recorded_rank(self.rank);
        if function == "MPI_Compare_and_swap" {
            fields.unknown(3).datatype(shape.map(|(_, kind)| kind));
            fields.value(rank).value(at.displacement as i64);
            fields.value(self.record.recorded_handle());
            return;
        }
        add(fields, shape);
        if function.ends_with("et_accumulate") {
            add(fields, taken.shape());
        }
        fields.value(rank).value(at.displacement as i64);
        fields
            .value(there.map_or(0, |(count, _)| count as i64))
            .datatype(there.map(|(_, kind)| kind));
        if function.ends_with("ccumulate") {
            fields.value(recorded_operation(operation));
        }
        fields.value(self.record.recorded_handle());
    }

    /// Executes an operation on send, compare and receive buffers. Blocks until the buffers are reusable.
    #[cfg_attr(feature = "options", track_caller)]
    fn run<'a, const KIND: u8>(
        &self,
        _: OperationKind<KIND>,
        function: &'static str,
        (at, operation): (TargetLocation<'_>, one_sided::RmaOperation),
        given: impl TargetOperand<'a>,
        compared: impl TargetOperand<'a>,
        taken: impl TargetOperand<'a>,
    ) -> Result<(), Error> {
        let recorded = Call::enter(function, |fields| {
            self.add_arguments(function, (at, operation), &given, &taken, fields);
        });
        let looks = operation != NO_OP;
        let run = |spans: OriginSpans| {
            let call = self.record.call(function)?;
            let (shapes, entry) = ([given.shape(), taken.shape()], AccessPath::Straight);
            let (plan, place) = self.plan::<KIND>(&call, at, entry, operation, shapes, spans)?;
            let TargetPlan {
                elements,
                bytes,
                unit,
                head,
            } = plan;
            match KIND {
                PUT | ACCUMULATE => {
                    call.send(&place, head, spans.from, unit, &elements);
                    return Ok(());
                }
                GET => call.fetch_bytes(spans.into, &place, &elements, bytes),
                COMPARE => call.swap(&place, spans.from, spans.compare, spans.into, bytes),
                _ => {
                    let from = looks.then_some(spans.from);
                    let region = TargetRegion {
                        elements: &elements,
                        bytes,
                        unit,
                    };
                    call.fetch(&place, head, from, spans.into, region);
                }
            }
            call.drain(Some(self.rank));
            Ok(())
        };
        let result = given.with_span(|from| {
            compared.with_span(|compare| taken.with_span(|into| run(OriginSpans { from, compare, into })))
        });
        recorded.end_with(result, |_, _| {})
    }

    /// Records an operation; its request returns the buffer that `data` selects.
    #[cfg_attr(feature = "options", track_caller)]
    fn start<
        'a,
        S: Scope<'a>,
        G: TargetOperand<'a>,
        C: TargetOperand<'a>,
        T: TargetOperand<'a>,
        B: TargetOperand<'a>,
        const KIND: u8,
    >(
        &self,
        scope: S,
        _: OperationKind<KIND>,
        function: &'static str,
        (at, operation): (TargetLocation<'_>, one_sided::RmaOperation),
        operands: (G, C, T),
        data: fn(&(G, C, T)) -> &B,
    ) -> Result<Request<'a, B::Buffer, S>, Error> {
        let buffer = data(&operands).buffer();
        let (given, compared, taken) = &operands;
        // Compare_and_swap has no function with a request.
        let has_request = function != "MPI_Compare_and_swap";
        let recorded = Call::enter(function, |fields| {
            self.add_arguments(function, (at, operation), given, taken, fields);
            fields.unknown(usize::from(has_request));
        });
        let start = || {
            let call = self.record.call(function)?;
            // SAFETY: borrowed for `'a`, exclusively if written, until the request is complete. The compare operand has
            // no gaps, and so requires no loan.
            let (compare, loans) = unsafe {
                let loans = [given.loan_span()?, taken.loan_span()?];
                (compared.loan_span()?.span(), loans)
            };
            let [from, into] = [loans[0].span(), loans[1].span()];
            let mut spans = OriginSpans { from, compare, into };
            let (shapes, entry) = ([given.shape(), taken.shape()], AccessPath::Recorded);
            let (plan, place) = self.plan::<KIND>(&call, at, entry, operation, shapes, spans)?;
            if operation == NO_OP {
                spans.from = Span::EMPTY;
            }
            if plan.bytes == 0 {
                let what = TicketKind::Done(Status::EMPTY);
                let number = RequestNumber::next();
                return Ok(Ticket { what, loans, number });
            }
            let region = TargetRegion {
                elements: &plan.elements,
                bytes: plan.bytes,
                unit: plan.unit,
            };
            let holds = [None, None, None];
            let operation = call.defer(&place, plan.head, spans, region, holds, None)?;
            let what = TicketKind::OneSided(self.record.clone(), WatchedEvent::Done(operation));
            let number = RequestNumber::next();
            Ok(Ticket { what, loans, number })
        };
        // SAFETY: see above.
        let started = unsafe { Request::start(scope, buffer, start) };
        recorded.end_with(started, |fields, request| {
            if has_request {
                Request::add_number(fields, request);
            }
        })
    }

    /// [`compare_and_swap`](WindowTarget::compare_and_swap) that returns its error; `result` receives the previous value.
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_compare_and_swap_into<'d, T: Equivalence>(
        &self,
        at: impl Into<TargetLocation<'d>>,
        compare: &T,
        new: &T,
        result: &mut T,
    ) -> Result<(), Error> {
        let (new, compare, result) = (borrow_whole(new), borrow_whole(compare), borrow_whole_mut(result));
        let (does, at) = (OperationKind::<COMPARE>, (at.into(), REPLACE));
        self.run(does, "MPI_Compare_and_swap", at, new, compare, result)
    }

    ends_the_job! {
        "mpi::window::WindowTarget", [pub fn(&self)], self.record.here();

        /// Writes the buffer's elements to the target's part (MPI_Put, MPI-3.1 section 11.3.1). Blocks until the buffer
        /// is transmitted, which requires the target's exposure, but no calls of the target.
        put['d, B: Buffer + ?Sized](at: impl Into<TargetLocation<'d>>, from: &B), "MPI_Put";
        /// [`put`](WindowTarget::put) that returns its error.
        or try_put = self.run(OperationKind::<PUT>, "MPI_Put", (at.into(), REPLACE), borrow_whole(from), NoBuffer, NoBuffer);

        /// Reads an element of the target's part (MPI_Get, MPI-3.1 section 11.3.2). Blocks until it is received.
        get['d, T: Equivalence](at: impl Into<TargetLocation<'d>>) -> T, "MPI_Get" = {
            let mut value = zeroed::<T>();
            self.try_get_into(at, &mut value).map(|()| value)
        };

        /// Reads elements of the target's part into a buffer (MPI_Get). Blocks until they are received.
        get_into['d, B: BufferMut + ?Sized](at: impl Into<TargetLocation<'d>>, into: &mut B), "MPI_Get";
        /// [`get_into`](WindowTarget::get_into) that returns its error.
        or try_get_into = self.run(OperationKind::<GET>, "MPI_Get", (at.into(), NO_OP), NoBuffer, NoBuffer, borrow_whole_mut(into));

        /// Combines the buffer's elements with those of the target's part, and stores the results there, each element
        /// atomically (MPI_Accumulate, MPI-3.1 section 11.3.4). Blocks like [`put`](WindowTarget::put).
        accumulate['d, B: Buffer + ?Sized]
            (at: impl Into<TargetLocation<'d>>, from: &B, op: impl Into<WindowOperation>), "MPI_Accumulate";
        /// [`accumulate`](WindowTarget::accumulate) that returns its error.
        or try_accumulate = {
            let from = borrow_whole(from);
            self.run(OperationKind::<ACCUMULATE>, "MPI_Accumulate", (at.into(), op.into().0), from, NoBuffer, NoBuffer)
        };

        /// [`accumulate`](WindowTarget::accumulate) whose `result` receives the previous values of the target's elements
        /// (MPI_Get_accumulate, MPI-3.1 section 11.3.4). Blocks until they are received.
        get_accumulate_into['d, B: Buffer + ?Sized, R: BufferMut + ?Sized]
            (at: impl Into<TargetLocation<'d>>, from: &B, result: &mut R, op: impl Into<WindowOperation>), "MPI_Get_accumulate";
        /// [`get_accumulate_into`](WindowTarget::get_accumulate_into) that returns its error.
        or try_get_accumulate_into = {
            let (from, result) = (borrow_whole(from), borrow_whole_mut(result));
            self.run(OperationKind::<FETCH>, "MPI_Get_accumulate", (at.into(), op.into().0), from, NoBuffer, result)
        };

        /// Combines an element with one of the target's part, and returns the previous value (MPI_Fetch_and_op, MPI-3.1
        /// section 11.3.4). Blocks for a round trip.
        fetch_and_op['d, T: Equivalence](at: impl Into<TargetLocation<'d>>, value: &T, op: impl Into<WindowOperation>) -> T,
            "MPI_Fetch_and_op" = {
            let mut result = zeroed::<T>();
            self.try_get_accumulate_into(at, value, &mut result, op).map(|()| result)
        };

        /// Sets an element of the target's part to `new` if it equals `compare`, and returns the previous value
        /// (MPI_Compare_and_swap, MPI-3.1 section 11.3.4). Supports integers, bytes and `bool`. Blocks for a round
        /// trip.
        compare_and_swap['d, T: Equivalence](at: impl Into<TargetLocation<'d>>, compare: &T, new: &T) -> T, "MPI_Compare_and_swap" = {
            let mut result = zeroed::<T>();
            self.try_compare_and_swap_into(at, compare, new, &mut result).map(|()| result)
        };

        /// Nonblocking [`put`](WindowTarget::put) (MPI_Rput, MPI-3.1 section 11.3.5; here in every epoch). The request
        /// completes when the buffer is reusable.
        immediate_put['a, 'd, B: 'a + Buffer + ?Sized, S: Scope<'a>](scope: S, at: impl Into<TargetLocation<'d>>, from: &'a B)
            -> Request<'a, B, S>, "MPI_Rput" = {
            let operands = (borrow_whole(from), NoBuffer, NoBuffer);
            self.start(scope, OperationKind::<PUT>, "MPI_Rput", (at.into(), REPLACE), operands, |side| &side.0)
        };

        /// Nonblocking [`get_into`](WindowTarget::get_into) (MPI_Rget; here in every epoch).
        immediate_get_into['a, 'd, B: 'a + BufferMut + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<TargetLocation<'d>>, into: &'a mut B) -> Request<'a, B, S>, "MPI_Rget" = {
            let operands = (NoBuffer, NoBuffer, borrow_whole_mut(into));
            self.start(scope, OperationKind::<GET>, "MPI_Rget", (at.into(), NO_OP), operands, |side| &side.2)
        };

        /// Nonblocking [`accumulate`](WindowTarget::accumulate) (MPI_Raccumulate; here in every epoch).
        immediate_accumulate['a, 'd, B: 'a + Buffer + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<TargetLocation<'d>>, from: &'a B, op: impl Into<WindowOperation>)
            -> Request<'a, B, S>, "MPI_Raccumulate" = {
            let operands = (borrow_whole(from), NoBuffer, NoBuffer);
            self.start(scope, OperationKind::<ACCUMULATE>, "MPI_Raccumulate", (at.into(), op.into().0), operands, |side| &side.0)
        };

        /// Nonblocking [`get_accumulate_into`](WindowTarget::get_accumulate_into) (MPI_Rget_accumulate; here in every epoch).
        /// With one element it is MPI_Fetch_and_op.
        immediate_get_accumulate_into['a, 'd, B: 'a + Buffer + ?Sized, R: 'a + BufferMut + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<TargetLocation<'d>>, buffers: (&'a B, &'a mut R), op: impl Into<WindowOperation>)
            -> Request<'a, R, S>, "MPI_Rget_accumulate" = {
            let operands = (borrow_whole(buffers.0), NoBuffer, borrow_whole_mut(buffers.1));
            self.start(scope, OperationKind::<FETCH>, "MPI_Rget_accumulate", (at.into(), op.into().0), operands, |side| &side.2)
        };

        /// Nonblocking [`compare_and_swap`](WindowTarget::compare_and_swap). `values` contains the compare value and the new
        /// one; `result` receives the previous value.
        immediate_compare_and_swap_into['a, 'd, T: 'a + Equivalence, S: Scope<'a>]
            (scope: S, at: impl Into<TargetLocation<'d>>, values: (&'a T, &'a T), result: &'a mut T)
            -> Request<'a, T, S>, "MPI_Compare_and_swap" = {
            let operands = (borrow_whole(values.1), borrow_whole(values.0), borrow_whole_mut(result));
            self.start(scope, OperationKind::<COMPARE>, "MPI_Compare_and_swap", (at.into(), REPLACE), operands, |side| &side.2)
        };
    }
}
