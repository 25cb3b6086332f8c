//! Operations on a target (MPI-3.1 section 11.3).

use alloc::rc::Rc;
use core::marker::PhantomData;

use super::record::{Call, Record, Watched};
use crate::collective::SystemOperation;
use crate::datatype::lent::{Far, Nothing, Operand, whole, whole_mut};
use crate::datatype::user::{self, kind_of};
use crate::datatype::{Buffer, BufferMut, Datatype, Equivalence};
use crate::point_to_point::Status;
use crate::request::{Request, Scope, Ticket, What, zeroed};
use crate::{Address, Count};
use midplane_device::envelope;
use midplane_device::memory::Span;
use midplane_device::rma::wire::{RequestHead, PacketKind};
use midplane_objects::datatype::Basic;
use midplane_objects::error::{Class, Error};
use midplane_objects::one_sided::{self, element_bytes, is_comparable};
use midplane_objects::windows::{
    Elements, Entry, Operands, TargetBase, fits, made_of, same, wrong,
};

/// Operation on elements in a window (MPI-3.1 section 11.3.4): a [`SystemOperation`], or one that only windows support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowOperation(one_sided::Operation);

impl WindowOperation {
    /// Replaces the target's element by the origin's (MPI_REPLACE).
    pub fn replace() -> WindowOperation {
        WindowOperation(REPLACE)
    }

    /// Keeps the target's element (MPI_NO_OP), for operations that fetch.
    pub fn no_op() -> WindowOperation {
        WindowOperation(NOTHING)
    }
}

impl From<SystemOperation> for WindowOperation {
    fn from(operation: SystemOperation) -> WindowOperation {
        WindowOperation(one_sided::Operation::Combine(operation.0))
    }
}

/// The elements of a target's part that an operation accesses. A `usize` is the index of the first element, in elements
/// of the target. Count and datatype are those of the origin, and the elements are consecutive.
#[derive(Clone, Copy)]
pub struct At<'d> {
    displacement: isize,
    elements: Option<(Count, user::Kind<'d>)>,
}

impl From<usize> for At<'static> {
    fn from(displacement: usize) -> Self {
        // A larger index is beyond every part, too.
        At::address(isize::try_from(displacement).unwrap_or(isize::MAX))
    }
}

impl At<'static> {
    /// Specifies elements of a [`DynamicWindow`](super::DynamicWindow) by the address of the first in the target's
    /// memory; the target obtains it from [`Attached::address`](super::Attached::address).
    pub fn address(address: Address) -> Self {
        At {
            displacement: address,
            elements: None,
        }
    }
}

impl<'d> At<'d> {
    /// Specifies `count` elements of a separate datatype at this index or address.
    ///
    /// # Panics
    /// When `count` is negative.
    pub fn elements<D: Datatype>(self, count: Count, datatype: &'d D) -> At<'d> {
        assert!(count >= 0, "a count of {count} elements");
        At {
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
/// match; [`Error::NoRoom`]. They abort the job; the `try_` forms return them.
pub struct Target<'e, K> {
    pub(super) record: &'e Rc<Record>,
    pub(super) rank: envelope::Rank,
    epoch: PhantomData<K>,
}

impl<K> Clone for Target<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Target<'_, K> {}

/// Returns the predefined datatype of the elements, which supports the operation, or `None` for elements without bytes.
fn basic_of(operation: one_sided::Operation, elements: Far<'_>) -> Result<Option<Basic>, Error> {
    let basic = match elements.0 {
        user::Kind::Basic(basic) => Some(basic),
        user::Kind::Made(made) => {
            made_of(operation, made.layout().tags(), (&elements, made.size()))?
        }
    };
    basic.map_or(Ok(()), |basic| operation.check(basic))?;
    Ok(basic)
}

/// Returns class Type unless an element there can be compared and swapped with one here, which must have no gaps.
fn check_swap(there: user::Kind<'_>, here: user::Kind<'_>) -> Result<(), Error> {
    let is_whole = |size| here.size() == size && here.row() == Some(0);
    let what = match there {
        user::Kind::Basic(basic) if is_comparable(basic) && is_whole(basic.size()) => return Ok(()),
        user::Kind::Basic(_) => "only integers, truth values and bytes are compared and swapped",
        user::Kind::Made(_) => "not a predefined datatype",
    };
    Err(wrong(Class::Type, what))
}

/// An operation to record or execute: the elements at the target, and the combination.
struct Plan<'d> {
    elements: Far<'d>,
    bytes: usize,
    /// Size of an indivisible element in bytes.
    unit: usize,
    head: RequestHead,
}

/// Kind of an operation, as a type: a program links only the kinds that it uses.
struct Does<const KIND: u8>;

const PUT: u8 = PacketKind::Put as u8;
const GET: u8 = PacketKind::Get as u8;
const ACCUMULATE: u8 = PacketKind::Accumulate as u8;
const FETCH: u8 = PacketKind::Fetch as u8;
const COMPARE: u8 = PacketKind::Compare as u8;

const REPLACE: one_sided::Operation = one_sided::Operation::Replace;
const NOTHING: one_sided::Operation = one_sided::Operation::Nothing;

/// Count and datatype of the elements in an operation's buffer.
type Shape<'d> = Option<(usize, user::Kind<'d>)>;

impl<'e, K> Target<'e, K> {
    pub(super) fn new(record: &'e Rc<Record>, rank: envelope::Rank) -> Self {
        Target {
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
        call: &Call<'_>,
        (at, entry): (At<'d>, Entry),
        operation: one_sided::Operation,
        (given, taken): (Shape<'d>, Shape<'d>),
        spans: Operands,
    ) -> Result<(Plan<'d>, TargetBase), Error> {
        let (count, here) = taken.or(given).expect("one of the buffers is there");
        let (count, there) = match at.elements {
            Some((count, there)) => (count as usize, there),
            None => (count, here),
        };
        let elements = Far(there);
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
                if KIND == ACCUMULATE && operation == NOTHING {
                    return Err(wrong(Class::Op, "no_op is for operations that fetch"));
                }
                let target = basic_of(operation, elements)?;
                let alike = |side: Shape<'_>| {
                    let own = side.map_or(Ok(None), |(_, kind)| basic_of(operation, Far(kind)))?;
                    same(own, target, bytes)
                };
                let basic = alike(taken.or(given))?;
                // MPI_NO_OP does not read its operand.
                if KIND == FETCH && operation != NOTHING {
                    alike(given)?;
                    fits(bytes, spans.from.len())?;
                }
                let kind = [PacketKind::Accumulate, PacketKind::Fetch][usize::from(KIND == FETCH)];
                (element_bytes(basic), call.combining(kind, operation, basic))
            }
        };
        fits(bytes, room)?;
        let place = call.find((self.rank, at.displacement), (&elements, count), entry)?;
        let plan = Plan {
            elements,
            bytes,
            unit,
            head,
        };
        Ok((plan, place))
    }

    /// Executes an operation on send, compare and receive buffers. Blocks until the buffers are reusable.
    fn run<'a, const KIND: u8>(
        &self,
        _: Does<KIND>,
        function: &'static str,
        (at, operation): (At<'_>, one_sided::Operation),
        (given, compared, taken): (impl Operand<'a>, impl Operand<'a>, impl Operand<'a>),
    ) -> Result<(), Error> {
        let call = self.record.call(function)?;
        let looks = operation != NOTHING;
        let run = |spans: Operands| {
            let (shapes, at) = ((given.shape(), taken.shape()), (at, Entry::Straight));
            let (plan, place) = self.plan::<KIND>(&call, at, operation, shapes, spans)?;
            let Plan {
                elements,
                bytes,
                unit,
                head,
            } = plan;
            match KIND {
                PUT | ACCUMULATE => {
                    call.send(&place, head, (spans.from, unit), &elements);
                    return Ok(());
                }
                GET => call.fetch_bytes(spans.into, &place, (&elements, bytes)),
                COMPARE => call.swap(&place, (spans.from, spans.compare, spans.into), bytes),
                _ => {
                    let from = looks.then_some(spans.from);
                    call.fetch(&place, head, (from, spans.into), (&elements, bytes, unit));
                }
            }
            call.drain(Some(self.rank));
            Ok(())
        };
        given.lend_span(|from| {
            compared.lend_span(|compare| {
                taken.lend_span(|into| {
                    run(Operands {
                        from,
                        compare,
                        into,
                    })
                })
            })
        })
    }

    /// Records an operation; its request returns the buffer that `data` selects.
    fn start<
        'a,
        S: Scope<'a>,
        G: Operand<'a>,
        C: Operand<'a>,
        T: Operand<'a>,
        B: Operand<'a>,
        const KIND: u8,
    >(
        &self,
        scope: S,
        _: Does<KIND>,
        function: &'static str,
        (at, operation): (At<'_>, one_sided::Operation),
        operands: (G, C, T),
        data: fn(&(G, C, T)) -> &B,
    ) -> Result<Request<'a, B::Buffer, S>, Error> {
        let buffer = data(&operands).buffer();
        let (given, compared, taken) = &operands;
        let start = || {
            let call = self.record.call(function)?;
            // SAFETY: borrowed for `'a`, exclusively if written, until the request is complete. The compare operand has
            // no gaps, and so requires no loan.
            let (compare, loans) = unsafe {
                let loans = [given.loan_span()?, taken.loan_span()?];
                (compared.loan_span()?.span(), loans)
            };
            let [from, into] = [loans[0].span(), loans[1].span()];
            let mut spans = Operands {
                from,
                compare,
                into,
            };
            let (shapes, at) = ((given.shape(), taken.shape()), (at, Entry::Recorded));
            let (plan, place) = self.plan::<KIND>(&call, at, operation, shapes, spans)?;
            if operation == NOTHING {
                spans.from = Span::EMPTY;
            }
            if plan.bytes == 0 {
                let what = What::Over(Status::EMPTY);
                return Ok(Ticket { what, loans });
            }
            let elements = (&plan.elements, plan.bytes, plan.unit);
            let holds = [None, None, None];
            let operation = call.defer(&place, (plan.head, spans), elements, holds, None)?;
            let what = What::OneSided(self.record.clone(), Watched::Done(operation));
            Ok(Ticket { what, loans })
        };
        // SAFETY: see above.
        unsafe { Request::start(scope, buffer, start) }
    }

    /// [`compare_and_swap`](Target::compare_and_swap) that returns its error; `result` receives the previous value.
    pub fn try_compare_and_swap_into<'d, T: Equivalence>(
        &self,
        at: impl Into<At<'d>>,
        (compare, new): (&T, &T),
        result: &mut T,
    ) -> Result<(), Error> {
        let operands = (whole(new), whole(compare), whole_mut(result));
        let (does, at) = (Does::<COMPARE>, (at.into(), REPLACE));
        self.run(does, "MPI_Compare_and_swap", at, operands)
    }

    ends_the_job! {
        "mpi::window::Target", [pub fn(&self)], self.record.here();

        /// Writes the buffer's elements to the target's part (MPI_Put, MPI-3.1 section 11.3.1). Blocks until the buffer
        /// is transmitted, which requires the target's exposure, but no calls of the target.
        put['d, B: Buffer + ?Sized](at: impl Into<At<'d>>, from: &B), "MPI_Put";
        /// [`put`](Target::put) that returns its error.
        or try_put = self.run(Does::<PUT>, "MPI_Put", (at.into(), REPLACE), (whole(from), Nothing, Nothing));

        /// Reads an element of the target's part (MPI_Get, MPI-3.1 section 11.3.2). Blocks until it is received.
        get['d, T: Equivalence](at: impl Into<At<'d>>) -> T, "MPI_Get" = {
            let mut value = zeroed::<T>();
            self.try_get_into(at, &mut value).map(|()| value)
        };

        /// Reads elements of the target's part into a buffer (MPI_Get). Blocks until they are received.
        get_into['d, B: BufferMut + ?Sized](at: impl Into<At<'d>>, into: &mut B), "MPI_Get";
        /// [`get_into`](Target::get_into) that returns its error.
        or try_get_into = self.run(Does::<GET>, "MPI_Get", (at.into(), NOTHING), (Nothing, Nothing, whole_mut(into)));

        /// Combines the buffer's elements with those of the target's part, and stores the results there, each element
        /// atomically (MPI_Accumulate, MPI-3.1 section 11.3.4). Blocks like [`put`](Target::put).
        accumulate['d, B: Buffer + ?Sized]
            (at: impl Into<At<'d>>, from: &B, op: impl Into<WindowOperation>), "MPI_Accumulate";
        /// [`accumulate`](Target::accumulate) that returns its error.
        or try_accumulate = {
            let operands = (whole(from), Nothing, Nothing);
            self.run(Does::<ACCUMULATE>, "MPI_Accumulate", (at.into(), op.into().0), operands)
        };

        /// [`accumulate`](Target::accumulate) whose `result` receives the previous values of the target's elements
        /// (MPI_Get_accumulate, MPI-3.1 section 11.3.4). Blocks until they are received.
        get_accumulate_into['d, B: Buffer + ?Sized, R: BufferMut + ?Sized]
            (at: impl Into<At<'d>>, from: &B, result: &mut R, op: impl Into<WindowOperation>), "MPI_Get_accumulate";
        /// [`get_accumulate_into`](Target::get_accumulate_into) that returns its error.
        or try_get_accumulate_into = {
            let operands = (whole(from), Nothing, whole_mut(result));
            self.run(Does::<FETCH>, "MPI_Get_accumulate", (at.into(), op.into().0), operands)
        };

        /// Combines an element with one of the target's part, and returns the previous value (MPI_Fetch_and_op, MPI-3.1
        /// section 11.3.4). Blocks for a round trip.
        fetch_and_op['d, T: Equivalence](at: impl Into<At<'d>>, value: &T, op: impl Into<WindowOperation>) -> T,
            "MPI_Fetch_and_op" = {
            let mut result = zeroed::<T>();
            self.try_get_accumulate_into(at, value, &mut result, op).map(|()| result)
        };

        /// Sets an element of the target's part to `new` if it equals `compare`, and returns the previous value
        /// (MPI_Compare_and_swap, MPI-3.1 section 11.3.4). Supports integers, bytes and `bool`. Blocks for a round
        /// trip.
        compare_and_swap['d, T: Equivalence](at: impl Into<At<'d>>, compare: &T, new: &T) -> T, "MPI_Compare_and_swap" = {
            let mut result = zeroed::<T>();
            self.try_compare_and_swap_into(at, (compare, new), &mut result).map(|()| result)
        };

        /// Nonblocking [`put`](Target::put) (MPI_Rput, MPI-3.1 section 11.3.5; here in every epoch). The request
        /// completes when the buffer is reusable.
        immediate_put['a, 'd, B: 'a + Buffer + ?Sized, S: Scope<'a>](scope: S, at: impl Into<At<'d>>, from: &'a B)
            -> Request<'a, B, S>, "MPI_Rput" = {
            let operands = (whole(from), Nothing, Nothing);
            self.start(scope, Does::<PUT>, "MPI_Rput", (at.into(), REPLACE), operands, |side| &side.0)
        };

        /// Nonblocking [`get_into`](Target::get_into) (MPI_Rget; here in every epoch).
        immediate_get_into['a, 'd, B: 'a + BufferMut + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<At<'d>>, into: &'a mut B) -> Request<'a, B, S>, "MPI_Rget" = {
            let operands = (Nothing, Nothing, whole_mut(into));
            self.start(scope, Does::<GET>, "MPI_Rget", (at.into(), NOTHING), operands, |side| &side.2)
        };

        /// Nonblocking [`accumulate`](Target::accumulate) (MPI_Raccumulate; here in every epoch).
        immediate_accumulate['a, 'd, B: 'a + Buffer + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<At<'d>>, from: &'a B, op: impl Into<WindowOperation>)
            -> Request<'a, B, S>, "MPI_Raccumulate" = {
            let operands = (whole(from), Nothing, Nothing);
            self.start(scope, Does::<ACCUMULATE>, "MPI_Raccumulate", (at.into(), op.into().0), operands, |side| &side.0)
        };

        /// Nonblocking [`get_accumulate_into`](Target::get_accumulate_into) (MPI_Rget_accumulate; here in every epoch).
        /// With one element it is MPI_Fetch_and_op.
        immediate_get_accumulate_into['a, 'd, B: 'a + Buffer + ?Sized, R: 'a + BufferMut + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<At<'d>>, buffers: (&'a B, &'a mut R), op: impl Into<WindowOperation>)
            -> Request<'a, R, S>, "MPI_Rget_accumulate" = {
            let operands = (whole(buffers.0), Nothing, whole_mut(buffers.1));
            self.start(scope, Does::<FETCH>, "MPI_Rget_accumulate", (at.into(), op.into().0), operands, |side| &side.2)
        };

        /// Nonblocking [`compare_and_swap`](Target::compare_and_swap). `values` contains the compare value and the new
        /// one; `result` receives the previous value.
        immediate_compare_and_swap_into['a, 'd, T: 'a + Equivalence, S: Scope<'a>]
            (scope: S, at: impl Into<At<'d>>, values: (&'a T, &'a T), result: &'a mut T)
            -> Request<'a, T, S>, "MPI_Compare_and_swap" = {
            let operands = (whole(values.1), whole(values.0), whole_mut(result));
            self.start(scope, Does::<COMPARE>, "MPI_Compare_and_swap", (at.into(), REPLACE), operands, |side| &side.2)
        };
    }
}
