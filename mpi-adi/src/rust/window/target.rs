//! Operations on a target (MPI-3.1 section 11.3).

use alloc::rc::Rc;
use core::marker::PhantomData;

use super::record::{Call, Record, Watched};
use crate::device::envelope;
use crate::device::memory::Span;
use crate::device::rma::wire::{Head, Kind};
use crate::mpi::datatype::Basic;
use crate::mpi::error::{Class, Error};
use crate::mpi::one_sided::{self, element_bytes, is_comparable};
use crate::mpi::windows::{Elements, Entry, Operands, fits, made_of, same, wrong};
use crate::rust::collective::SystemOperation;
use crate::rust::datatype::lent::{Far, Loan, lend, lend_mut, whole, whole_mut};
use crate::rust::datatype::user::{self, kind_of};
use crate::rust::datatype::{Buffer, BufferMut, Datatype, Equivalence};
use crate::rust::point_to_point::Status;
use crate::rust::request::{Request, Scope, Ticket, What, zeroed};
use crate::rust::{Address, Count};

/// What an operation does to elements in a window (MPI-3.1 section 11.3.4): any of
/// [`SystemOperation`]'s, or one that only windows have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowOperation(one_sided::Operation);

impl WindowOperation {
    /// The origin's element takes the place of the target's (MPI_REPLACE).
    pub fn replace() -> WindowOperation {
        WindowOperation(one_sided::Operation::Replace)
    }

    /// The target's element stays as it is (MPI_NO_OP): for operations that fetch.
    pub fn no_op() -> WindowOperation {
        WindowOperation(one_sided::Operation::Nothing)
    }
}

impl From<SystemOperation> for WindowOperation {
    fn from(operation: SystemOperation) -> WindowOperation {
        WindowOperation(one_sided::Operation::Combine(operation.op()))
    }
}

/// Which elements of a target's part an operation is on.
///
/// A `usize` is the number of the first of as many elements as the origin has, of the origin's datatype and one behind
/// the other; it counts in the target's elements.
#[derive(Clone, Copy)]
pub struct At<'d> {
    displacement: isize,
    elements: Option<(Count, user::Kind<'d>)>,
}

impl From<usize> for At<'static> {
    fn from(displacement: usize) -> Self {
        At {
            // What is beyond is beyond every part.
            displacement: isize::try_from(displacement).unwrap_or(isize::MAX),
            elements: None,
        }
    }
}

impl At<'static> {
    /// Elements of a [`DynamicWindow`](super::DynamicWindow), by the address of the first in the target's memory, as
    /// [`Attached::address`](super::Attached::address) has it there.
    pub fn address(address: Address) -> Self {
        At {
            displacement: address,
            elements: None,
        }
    }
}

impl<'d> At<'d> {
    /// The same place, with `count` elements of a datatype of their own: it says which bytes there are meant.
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

    /// What the elements are, and how many, where the origin's has so many.
    fn far(self, (count, kind): (Count, user::Kind<'d>)) -> (Far<'d>, usize) {
        let (count, kind) = self.elements.unwrap_or((count, kind));
        (Far(kind), count as usize)
    }
}

/// A process of a window, within an epoch `K` that gives access to it: what operations are on.
///
/// Those that block return when their buffers are the program's own again. Those that do not have a request, and a
/// scope for as long as which their buffers are borrowed; they are done in the order of their calls where the standard
/// has them so, and some time before the epoch is closed. Errors end the job: class RmaRange for elements beyond the
/// target's part, class RmaSync where the epoch does not give access to the process, class Type and Op for operations
/// that the datatype does not have, [`Error::Lengths`] where what is sent does not fit, [`Error::NoRoom`]. Calls with
/// `try_` have them as their result.
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

/// The count and the datatype of a buffer, for a target that has the same.
macro_rules! shape_of {
    ($buffer:expr, $datatype:ident) => {
        ($buffer.count(), kind_of(&$datatype))
    };
}

/// The predefined datatype that the elements are made of, which have the operation; `None`: they have no bytes.
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

const NO_SPANS: Operands = Operands {
    from: Span::EMPTY,
    compare: Span::EMPTY,
    into: Span::EMPTY,
};

/// An operation as it is recorded or done: what is at the target, and how it is combined.
struct Plan<'d> {
    elements: Far<'d>,
    count: usize,
    bytes: usize,
    /// Bytes that stay together.
    unit: usize,
    head: Head,
}

impl<'e, K> Target<'e, K> {
    pub(super) fn new(record: &'e Rc<Record>, rank: envelope::Rank) -> Self {
        Target {
            record,
            rank,
            epoch: PhantomData,
        }
    }

    #[track_caller]
    fn or_fatal<R>(&self, function: &'static str, result: Result<R, Error>) -> R {
        self.record.here().or_fatal(function, result)
    }

    /// Of `bytes` of the origin's that go there as they are.
    fn put_plan<'d>(
        call: &Call<'_>,
        (elements, count): (Far<'d>, usize),
        bytes: usize,
    ) -> Result<Plan<'d>, Error> {
        fits(bytes, elements.length(count)?)?;
        Ok(Plan {
            elements,
            count,
            bytes,
            unit: 1,
            head: Head::new(Kind::Put, call.context()),
        })
    }

    /// Of elements that come to `room` bytes of the origin's as they are.
    fn get_plan<'d>(
        call: &Call<'_>,
        (elements, count): (Far<'d>, usize),
        room: usize,
    ) -> Result<Plan<'d>, Error> {
        let bytes = elements.length(count)?;
        fits(bytes, room)?;
        Ok(Plan {
            elements,
            count,
            bytes,
            unit: 1,
            head: Head::new(Kind::Get, call.context()),
        })
    }

    /// Of elements that are combined with those of the origin.
    fn accumulate_plan<'d>(
        call: &Call<'_>,
        (elements, count): (Far<'d>, usize),
        (origin, bytes): (Far<'_>, usize),
        operation: one_sided::Operation,
    ) -> Result<Plan<'d>, Error> {
        if operation == one_sided::Operation::Nothing {
            return Err(wrong(Class::Op, "no_op is for operations that fetch"));
        }
        let target = basic_of(operation, elements)?;
        let basic = same(basic_of(operation, origin)?, target, bytes)?;
        fits(bytes, elements.length(count)?)?;
        Ok(Plan {
            elements,
            count,
            bytes,
            unit: element_bytes(basic),
            head: call.combining(Kind::Accumulate, operation, basic),
        })
    }

    /// The same, of those that come back. With no operation there is no operand to look at.
    fn fetch_plan<'d>(
        call: &Call<'_>,
        (elements, count): (Far<'d>, usize),
        (origin, given): (Far<'_>, usize),
        (result, room): (Far<'_>, usize),
        operation: one_sided::Operation,
    ) -> Result<Plan<'d>, Error> {
        let target = basic_of(operation, elements)?;
        let bytes = elements.length(count)?;
        let basic = same(basic_of(operation, result)?, target, bytes)?;
        fits(bytes, room)?;
        if operation != one_sided::Operation::Nothing {
            same(basic_of(operation, origin)?, target, bytes)?;
            fits(bytes, given)?;
        }
        Ok(Plan {
            elements,
            count,
            bytes,
            unit: element_bytes(basic),
            head: call.combining(Kind::Fetch, operation, basic),
        })
    }

    /// Of one element that is compared and swapped.
    fn swap_plan<T: Equivalence>(elements: Far<'_>) -> Result<(), Error> {
        let user::Kind::Basic(basic) = elements.0 else {
            return Err(wrong(Class::Type, "not a predefined datatype"));
        };
        match is_comparable(basic) && basic.size() == size_of::<T>() {
            true => Ok(()),
            false => Err(wrong(
                Class::Type,
                "only integers, truth values and bytes are compared and swapped",
            )),
        }
    }

    /// Records an operation; what is waited for. `None`: it has no bytes.
    fn record(
        &self,
        call: &Call<'_>,
        at: At<'_>,
        plan: &Plan<'_>,
        operands: Operands,
    ) -> Result<What, Error> {
        let elements = (&plan.elements, plan.count);
        let place = call.find((self.rank, at.displacement), elements, Entry::Recorded)?;
        if plan.bytes == 0 {
            return Ok(What::Over(Status::EMPTY));
        }
        let elements = (&plan.elements, plan.bytes, plan.unit);
        let holds = [None, None, None];
        let operation = call.defer(&place, (plan.head, operands), elements, holds, None)?;
        Ok(What::OneSided(
            self.record.clone(),
            Watched::Done(operation),
        ))
    }

    fn send(&self, call: &Call<'_>, at: At<'_>, plan: &Plan<'_>, from: Span) -> Result<(), Error> {
        let elements = (&plan.elements, plan.count);
        let place = call.find((self.rank, at.displacement), elements, Entry::Straight)?;
        call.send(&place, plan.head, (from, plan.unit), &plan.elements);
        Ok(())
    }

    /// As [`get_into`](Target::get_into).
    pub fn try_get_into<'d, B>(&self, at: impl Into<At<'d>>, into: &mut B) -> Result<(), Error>
    where
        B: BufferMut + ?Sized,
    {
        let (call, at) = (self.record.call("MPI_Get")?, at.into());
        let datatype = into.as_datatype();
        let shape = shape_of!(into, datatype);
        lend_mut(into, |span| {
            let plan = Self::get_plan(&call, at.far(shape), span.len())?;
            let elements = (&plan.elements, plan.count);
            let place = call.find((self.rank, at.displacement), elements, Entry::Straight)?;
            call.fetch_bytes(span, &place, (&plan.elements, plan.bytes));
            call.drain(Some(self.rank));
            Ok(())
        })
    }

    /// As [`get_accumulate_into`](Target::get_accumulate_into).
    pub fn try_get_accumulate_into<'d, B, R>(
        &self,
        at: impl Into<At<'d>>,
        from: &B,
        result: &mut R,
        op: impl Into<WindowOperation>,
    ) -> Result<(), Error>
    where
        B: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let call = self.record.call("MPI_Get_accumulate")?;
        let (at, op) = (at.into(), op.into().0);
        let (given, taken) = (from.as_datatype(), result.as_datatype());
        let (origin, shape) = (kind_of(&given), shape_of!(result, taken));
        lend(from, |from| {
            lend_mut(result, |into| {
                let sides = ((Far(origin), from.len()), (Far(shape.1), into.len()));
                let plan = Self::fetch_plan(&call, at.far(shape), sides.0, sides.1, op)?;
                let elements = (&plan.elements, plan.count);
                let place = call.find((self.rank, at.displacement), elements, Entry::Straight)?;
                let from = (op != one_sided::Operation::Nothing).then_some(from);
                let elements = (&plan.elements, plan.bytes, plan.unit);
                call.fetch(&place, plan.head, (from, into), elements);
                call.drain(Some(self.rank));
                Ok(())
            })
        })
    }

    /// As [`compare_and_swap`](Target::compare_and_swap), with what it was in `result`.
    pub fn try_compare_and_swap_into<'d, T: Equivalence>(
        &self,
        at: impl Into<At<'d>>,
        (compare, new): (&T, &T),
        result: &mut T,
    ) -> Result<(), Error> {
        let (call, at) = (self.record.call("MPI_Compare_and_swap")?, at.into());
        let datatype = T::equivalent_datatype();
        let far = at.far((1, kind_of(&datatype)));
        Self::swap_plan::<T>(far.0)?;
        let place = call.find(
            (self.rank, at.displacement),
            (&far.0, far.1),
            Entry::Straight,
        )?;
        lend(compare, |compare| {
            lend(new, |new| {
                lend_mut(result, |into| {
                    call.swap(&place, (new, compare, into), into.len());
                    call.drain(Some(self.rank));
                    Ok(())
                })
            })
        })
    }

    /// As [`get_accumulate_into`](Target::get_accumulate_into), without blocking (MPI_Rget_accumulate; here in every
    /// epoch). Of one element it is MPI_Fetch_and_op.
    #[track_caller]
    pub fn immediate_get_accumulate_into<'a, 'd, B, R, S>(
        &self,
        scope: S,
        at: impl Into<At<'d>>,
        (from, result): (&'a B, &'a mut R),
        op: impl Into<WindowOperation>,
    ) -> Request<'a, R, S>
    where
        B: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        S: Scope<'a>,
    {
        let (at, op, data) = (at.into(), op.into().0, core::ptr::from_mut(result));
        let start = || {
            let call = self.record.call("MPI_Rget_accumulate")?;
            let (given, taken) = (from.as_datatype(), result.as_datatype());
            let (origin, shape) = (kind_of(&given), shape_of!(result, taken));
            // SAFETY: borrowed for `'a`, the second exclusively, until the request is complete.
            let loans = unsafe { [Loan::reading(from)?, Loan::writing(&mut *data)?] };
            let [from, into] = [loans[0].span(), loans[1].span()];
            let sides = ((Far(origin), from.len()), (Far(shape.1), into.len()));
            let plan = Self::fetch_plan(&call, at.far(shape), sides.0, sides.1, op)?;
            let from = match op {
                one_sided::Operation::Nothing => Span::EMPTY,
                _ => from,
            };
            let operands = Operands {
                from,
                into,
                ..NO_SPANS
            };
            let what = self.record(&call, at, &plan, operands)?;
            Ok(Ticket { what, loans })
        };
        // SAFETY: as above.
        let request = unsafe { Request::start(scope, data.cast_const(), start) };
        self.or_fatal(
            "mpi::window::Target::immediate_get_accumulate_into (MPI_Rget_accumulate)",
            request,
        )
    }

    /// As [`compare_and_swap`](Target::compare_and_swap), without blocking; what the element was comes into `result`.
    #[track_caller]
    pub fn immediate_compare_and_swap_into<'a, 'd, T, S>(
        &self,
        scope: S,
        at: impl Into<At<'d>>,
        (compare, new): (&'a T, &'a T),
        result: &'a mut T,
    ) -> Request<'a, T, S>
    where
        T: 'a + Equivalence,
        S: Scope<'a>,
    {
        let (at, data) = (at.into(), core::ptr::from_mut(result));
        let start = || {
            let call = self.record.call("MPI_Compare_and_swap")?;
            let datatype = T::equivalent_datatype();
            let (elements, count) = at.far((1, kind_of(&datatype)));
            Self::swap_plan::<T>(elements)?;
            // SAFETY: borrowed for `'a`, the last exclusively, until the request is complete. The first has no holes,
            // and so nothing to hold.
            let (compare, loans) = unsafe {
                let loans = [Loan::reading(new)?, Loan::writing(&mut *data)?];
                (Loan::reading(compare)?.span(), loans)
            };
            let operands = Operands {
                from: loans[0].span(),
                compare,
                into: loans[1].span(),
            };
            let plan = Plan {
                elements,
                count,
                bytes: operands.into.len(),
                unit: operands.into.len(),
                head: Head::new(Kind::Compare, call.context()),
            };
            let what = self.record(&call, at, &plan, operands)?;
            Ok(Ticket { what, loans })
        };
        // SAFETY: as above.
        let request = unsafe { Request::start(scope, data.cast_const(), start) };
        self.or_fatal(
            "mpi::window::Target::immediate_compare_and_swap_into (MPI_Compare_and_swap)",
            request,
        )
    }

    ends_the_job! {
        "mpi::window::Target", [pub fn(&self)], self.record.here();

        /// Gets an element of the target's part (MPI_Get, MPI-3.1 section 11.3.2). Blocks until it is there.
        get['d, T: Equivalence](at: impl Into<At<'d>>) -> T, "MPI_Get" = {
            let mut value = zeroed::<T>();
            self.try_get_into(at, &mut value).map(|()| value)
        };

        /// Combines an element with one of the target's part; what that was (MPI_Fetch_and_op, MPI-3.1 section 11.3.4).
        /// Blocks for a round trip.
        fetch_and_op['d, T: Equivalence](at: impl Into<At<'d>>, value: &T, op: impl Into<WindowOperation>) -> T,
            "MPI_Fetch_and_op" = {
            let mut result = zeroed::<T>();
            let done = self.try_get_accumulate_into(at, value, &mut result, op);
            done.map(|()| result)
        };

        /// Sets an element of the target's part to `new` if it is as `compare`; what it was (MPI_Compare_and_swap, MPI-3.1
        /// section 11.3.4). For whole numbers, bytes and `bool`. Blocks for a round trip.
        compare_and_swap['d, T: Equivalence](at: impl Into<At<'d>>, compare: &T, new: &T) -> T, "MPI_Compare_and_swap" = {
            let mut result = zeroed::<T>();
            let done = self.try_compare_and_swap_into(at, (compare, new), &mut result);
            done.map(|()| result)
        };

        /// As [`put`](Target::put), without blocking (MPI_Rput, MPI-3.1 section 11.3.5; here in every epoch). The request
        /// is complete when the buffer is the program's again.
        immediate_put['a, 'd, B: 'a + Buffer + ?Sized, S: Scope<'a>](scope: S, at: impl Into<At<'d>>, from: &'a B)
            -> Request<'a, B, S>, "MPI_Rput" = {
            let (at, datatype, count) = (at.into(), from.as_datatype(), from.count());
            Request::lending(scope, whole(from), |from| {
                let call = self.record.call("MPI_Rput")?;
                let plan = Self::put_plan(&call, at.far((count, kind_of(&datatype))), from.len())?;
                self.record(&call, at, &plan, Operands { from, ..NO_SPANS })
            })
        };

        /// As [`get_into`](Target::get_into), without blocking (MPI_Rget; here in every epoch).
        immediate_get_into['a, 'd, B: 'a + BufferMut + ?Sized, S: Scope<'a>](scope: S, at: impl Into<At<'d>>, into: &'a mut B)
            -> Request<'a, B, S>, "MPI_Rget" = {
            let (at, datatype, count) = (at.into(), into.as_datatype(), into.count());
            Request::lending(scope, whole_mut(into), |into| {
                let call = self.record.call("MPI_Rget")?;
                let plan = Self::get_plan(&call, at.far((count, kind_of(&datatype))), into.len())?;
                self.record(&call, at, &plan, Operands { into, ..NO_SPANS })
            })
        };

        /// As [`accumulate`](Target::accumulate), without blocking (MPI_Raccumulate; here in every epoch).
        immediate_accumulate['a, 'd, B: 'a + Buffer + ?Sized, S: Scope<'a>]
            (scope: S, at: impl Into<At<'d>>, from: &'a B, op: impl Into<WindowOperation>) -> Request<'a, B, S>, "MPI_Raccumulate" = {
            let (at, op, datatype, count) = (at.into(), op.into().0, from.as_datatype(), from.count());
            Request::lending(scope, whole(from), |from| {
                let call = self.record.call("MPI_Raccumulate")?;
                let kind = kind_of(&datatype);
                let origin = (Far(kind), from.len());
                let plan = Self::accumulate_plan(&call, at.far((count, kind)), origin, op)?;
                self.record(&call, at, &plan, Operands { from, ..NO_SPANS })
            })
        };

        /// Puts the buffer's elements into the target's part (MPI_Put, MPI-3.1 section 11.3.1). Blocks until they have left
        /// the buffer, which needs the target's exposure, and not its calls.
        put['d, B: Buffer + ?Sized](at: impl Into<At<'d>>, from: &B), "MPI_Put";
        /// As [`put`](Target::put).
        or try_put = {
            let (call, at) = (self.record.call("MPI_Put")?, at.into());
            let datatype = from.as_datatype();
            let shape = shape_of!(from, datatype);
            lend(from, |span| {
                let plan = Self::put_plan(&call, at.far(shape), span.len())?;
                self.send(&call, at, &plan, span)
            })
        };

        /// Gets as many elements of the target's part as the buffer has (MPI_Get). Blocks until they are there.
        get_into['d, B: BufferMut + ?Sized](at: impl Into<At<'d>>, into: &mut B), "MPI_Get"
            = self.try_get_into(at, into);

        /// Combines the buffer's elements with those of the target's part, where the result stays (MPI_Accumulate, MPI-3.1
        /// section 11.3.4): each element at one go. Blocks as [`put`](Target::put).
        accumulate['d, B: Buffer + ?Sized]
            (at: impl Into<At<'d>>, from: &B, op: impl Into<WindowOperation>), "MPI_Accumulate";
        /// As [`accumulate`](Target::accumulate).
        or try_accumulate = {
            let (call, at, op) = (self.record.call("MPI_Accumulate")?, at.into(), op.into().0);
            let datatype = from.as_datatype();
            let shape = shape_of!(from, datatype);
            lend(from, |span| {
                let origin = (Far(shape.1), span.len());
                let plan = Self::accumulate_plan(&call, at.far(shape), origin, op)?;
                self.send(&call, at, &plan, span)
            })
        };

        /// As [`accumulate`](Target::accumulate), and what the target's elements were comes into `result`
        /// (MPI_Get_accumulate, MPI-3.1 section 11.3.4). Blocks until it is there.
        get_accumulate_into['d, B: Buffer + ?Sized, R: BufferMut + ?Sized]
            (at: impl Into<At<'d>>, from: &B, result: &mut R, op: impl Into<WindowOperation>), "MPI_Get_accumulate"
            = self.try_get_accumulate_into(at, from, result, op);
    }
}
