//! Reduction operations (MPI-3.1 section 5.9).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

use crate::datatype::operands::{same_length, with_span, with_span_mut};
use crate::datatype::user::{DatatypeKind, kind_of};
use crate::datatype::{Buffer, BufferMut, DynBuffer, DynBufferMut};
use crate::process;
use midplane_objects::coll::nonblocking::OwnedCombine;
use midplane_objects::coll::{ReduceElements, combine_local, try_with_capacity};
use midplane_objects::comm::Communicator;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::DerivedType;
use midplane_objects::error::{CallOrder, Error};
use midplane_objects::op::PredefinedOp;

/// User-defined function: `y[i] = x[i] op y[i]`.
type UserFn<'a> = dyn Fn(DynBuffer<'_>, DynBufferMut<'_>) + Send + Sync + 'a;

/// Implementation of an operation.
#[doc(hidden)]
#[derive(Clone)]
pub enum OperationImpl<'a> {
    /// Predefined operation.
    System(PredefinedOp),
    /// User-defined function.
    User(Arc<UserFn<'a>>),
}

mod sealed {
    pub trait Sealed {}
}

/// Reduction operation: a [`SystemOperation`] or a [`UserOperation`]. Sealed.
pub trait Operation: sealed::Sealed {
    /// Checks whether the operation is commutative (MPI_Op_commutative, MPI-3.1 section 5.9.7). Only long allreduces,
    /// and short ones over all processes of the job, use commutativity; all other reductions keep the rank order.
    fn is_commutative(&self) -> bool;

    /// Returns the operation's implementation.
    #[doc(hidden)]
    fn implementation<'o>(&self) -> OperationImpl<'o>
    where
        Self: 'o;
}

impl<O: Operation + ?Sized> sealed::Sealed for &O {}
impl<O: Operation + ?Sized> Operation for &O {
    fn is_commutative(&self) -> bool {
        (**self).is_commutative()
    }

    fn implementation<'o>(&self) -> OperationImpl<'o>
    where
        Self: 'o,
    {
        (**self).implementation()
    }
}

/// Predefined operation (MPI-3.1 section 5.9.2). Integers wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemOperation(pub(crate) PredefinedOp);

macro_rules! system {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl SystemOperation {
            $(
                $(#[$doc])*
                pub fn $name() -> SystemOperation {
                    SystemOperation(PredefinedOp::$op)
                }
            )*
        }
    };
}

system! {
    /// Maximum (MPI_MAX).
    max => Max,
    /// Minimum (MPI_MIN).
    min => Min,
    /// Sum (MPI_SUM).
    sum => Sum,
    /// Product (MPI_PROD).
    product => Prod,
    /// Logical and (MPI_LAND) of integers and `bool`.
    logical_and => Land,
    /// Bitwise and (MPI_BAND) of integers.
    bitwise_and => Band,
    /// Logical or (MPI_LOR) of integers and `bool`.
    logical_or => Lor,
    /// Bitwise or (MPI_BOR) of integers.
    bitwise_or => Bor,
    /// Logical exclusive or (MPI_LXOR) of integers and `bool`.
    logical_xor => Lxor,
    /// Bitwise exclusive or (MPI_BXOR) of integers.
    bitwise_xor => Bxor,
}

impl sealed::Sealed for SystemOperation {}
impl Operation for SystemOperation {
    fn is_commutative(&self) -> bool {
        true
    }

    fn implementation<'o>(&self) -> OperationImpl<'o>
    where
        Self: 'o,
    {
        OperationImpl::System(self.0)
    }
}

/// User-defined operation (MPI_Op_create, MPI-3.1 section 5.9.5). Its function replaces each element of the second
/// argument by the combination of the element of the first, from lower ranks, with it.
pub struct UserOperation<'a> {
    function: Arc<UserFn<'a>>,
    commutes: bool,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> UserOperation<'a> {
    /// Creates a commutative operation: `x op y` equals `y op x`.
    pub fn commutative<F>(function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Send + Sync + 'a,
    {
        UserOperation {
            function: Arc::new(function),
            commutes: true,
            borrowed: PhantomData,
        }
    }

    /// Creates an operation that need not be commutative.
    pub fn associative<F>(function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Send + Sync + 'a,
    {
        UserOperation {
            commutes: false,
            ..UserOperation::commutative(function)
        }
    }
}

impl sealed::Sealed for UserOperation<'_> {}
impl Operation for UserOperation<'_> {
    fn is_commutative(&self) -> bool {
        self.commutes
    }

    fn implementation<'o>(&self) -> OperationImpl<'o>
    where
        Self: 'o,
    {
        let function: Arc<UserFn<'o>> = self.function.clone();
        OperationImpl::User(function)
    }
}

/// Combiner of packed elements of one datatype.
pub(super) enum OpCombiner<'a> {
    System(PredefinedOp, BasicType),
    User(UserCombiner<'a>),
}

/// User-defined function with its state for elements of one datatype.
pub(super) struct UserCombiner<'a> {
    function: Arc<UserFn<'a>>,
    datatype: OwnedFunction,
    /// An unpacked element of each side, if the memory layout differs from the packed one.
    unpacked: Option<[Vec<u128>; 2]>,
}

enum OwnedFunction {
    Basic(BasicType),
    Made(DerivedType),
}

impl<'a> OpCombiner<'a> {
    /// Creates a combiner for a datatype. Returns [`Error::Undefined`] or [`Error::NoSpace`].
    pub(super) fn new(given: OperationImpl<'a>, kind: DatatypeKind<'_>) -> Result<Self, Error> {
        let function = match (given, kind) {
            (OperationImpl::System(op), DatatypeKind::Basic(basic)) if op.is_defined(basic) => {
                return Ok(OpCombiner::System(op, basic));
            }
            (OperationImpl::System(_), _) => return Err(Error::Undefined),
            (OperationImpl::User(function), _) => function,
        };
        let (datatype, unpacked) = match kind {
            DatatypeKind::Basic(basic) => (OwnedFunction::Basic(basic), None),
            DatatypeKind::Made(made) => {
                let unpacked = match kind.row() {
                    Some(0) => None,
                    _ => Some([memory_of(made)?, memory_of(made)?]),
                };
                (OwnedFunction::Made(made.try_clone()?), unpacked)
            }
        };
        Ok(OpCombiner::User(UserCombiner {
            function,
            datatype,
            unpacked,
        }))
    }
}

impl CombineElements for OpCombiner<'_> {
    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        match self {
            OpCombiner::System(op, basic) => op.combine(*basic, left, right).expect("defined, as has been checked"),
            OpCombiner::User(user) => user.combine(left, right),
        }
    }
}

/// Allocates memory for one element. Returns [`Error::NoSpace`], or [`Error::Argument`] for bytes before the origin.
fn memory_of(made: &DerivedType) -> Result<Vec<u128>, Error> {
    let (first, bytes) = made.true_extent();
    if first < 0 {
        return Err(Error::argument(
            "an operation of the program's own on a datatype with data before its origin",
        ));
    }
    let bytes = (first + bytes).max(made.extent()) as usize;
    let count = bytes.div_ceil(size_of::<u128>());
    let mut words = try_with_capacity(count)?;
    words.resize(count, 0);
    Ok(words)
}

/// Calls `run` for each contiguous run of an element, with its byte range in memory and its packed one.
fn runs(made: &DerivedType, mut run: impl FnMut(Range<usize>, Range<usize>)) {
    let layout = made.layout();
    layout.walk(made.extent(), 0, made.size(), |at, done, bytes| {
        let at = at as usize;
        run(at..at + bytes, done..done + bytes);
    });
}

impl UserCombiner<'_> {
    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        let kind = match &self.datatype {
            OwnedFunction::Basic(basic) => DatatypeKind::Basic(*basic),
            OwnedFunction::Made(made) => DatatypeKind::Made(made),
        };
        let size = kind.size().max(1);
        let function = &*self.function;
        // SAFETY: both sides contain `count` aligned elements: packed elements in their memory layout, or one.
        let call = |x, y, count| unsafe {
            function(DynBuffer::new(x, count, kind), DynBufferMut::new(y, count, kind));
        };
        let (Some([x, y]), DatatypeKind::Made(made)) = (&mut self.unpacked, kind) else {
            let count = right.len() / size;
            let (x, y) = (left.as_ptr().cast(), right.as_mut_ptr().cast());
            // Both sides contain `count` packed elements in their memory layout; segments are aligned for any datatype.
            return call(x, y, count);
        };
        for (left, right) in left.chunks_exact(size).zip(right.chunks_exact_mut(size)) {
            let into = |words: &mut Vec<u128>, packed: &[u8]| {
                let memory: &mut [u8] = bytemuck::cast_slice_mut(words);
                runs(made, |at, from| memory[at].copy_from_slice(&packed[from]));
            };
            into(x, left);
            into(y, right);
            call(x.as_ptr().cast(), y.as_mut_ptr().cast(), 1);
            let memory: &[u8] = bytemuck::cast_slice(y);
            runs(made, |at, to| right[to].copy_from_slice(&memory[at]));
        }
    }
}

/// Combines packed elements: `right[i] = left[i] op right[i]`.
pub(super) trait CombineElements {
    fn combine(&mut self, left: &[u8], right: &mut [u8]);
}

impl CombineElements for () {
    fn combine(&mut self, _: &[u8], _: &mut [u8]) {}
}

/// Returns the combiner in the form that a schedule requires.
pub(super) fn combining(mut by: impl CombineElements + Send + 'static) -> impl OwnedCombine {
    move |left: &[u8], right: &mut [u8]| by.combine(left, right)
}

/// A collective's reduction, if it has one.
pub(super) trait CollectiveReduction {
    /// Combiner during a call.
    type CallCombiner: CombineElements;
    /// Combiner for the lifetime of a request.
    type OwnedCombiner: CombineElements + Send + 'static;

    fn elements(&self, size: usize) -> ReduceElements;

    /// Returns the handle of the operation in the records of the calls; 0 without one.
    fn recorded_handle(&self) -> i64 {
        0
    }

    /// Creates the combiner for elements of this kind. Returns [`Error::Undefined`] or [`Error::NoSpace`].
    fn combiner(&self, kind: Option<DatatypeKind<'_>>) -> Result<Self::CallCombiner, Error>;

    /// Extends the combiner's lifetime.
    ///
    /// # Safety
    /// The result is used for no longer than the operation's borrows.
    unsafe fn lasting(combiner: Self::CallCombiner) -> Self::OwnedCombiner;
}

pub(super) struct NoOperation;

impl CollectiveReduction for NoOperation {
    type CallCombiner = ();
    type OwnedCombiner = ();

    fn elements(&self, size: usize) -> ReduceElements {
        ReduceElements {
            size,
            commute: true,
            predefined: true,
        }
    }

    fn combiner(&self, _: Option<DatatypeKind<'_>>) -> Result<(), Error> {
        Ok(())
    }

    unsafe fn lasting((): ()) {}
}

pub(super) struct ByOperation<'a, O>(O, PhantomData<&'a ()>);

pub(super) fn by<'a, O: Operation + 'a>(op: O) -> ByOperation<'a, O> {
    ByOperation(op, PhantomData)
}

impl<'a, O: Operation + 'a> CollectiveReduction for ByOperation<'a, O> {
    type CallCombiner = OpCombiner<'a>;
    type OwnedCombiner = OpCombiner<'static>;

    fn elements(&self, size: usize) -> ReduceElements {
        ReduceElements {
            size,
            commute: self.0.is_commutative(),
            predefined: matches!(self.0.implementation(), OperationImpl::System(_)),
        }
    }

    fn recorded_handle(&self) -> i64 {
        const CREATED: i64 = 0x9800_0000;
        match self.0.implementation() {
            OperationImpl::System(operation) => operation.handle().into(),
            OperationImpl::User(_) => CREATED,
        }
    }

    fn combiner(&self, kind: Option<DatatypeKind<'_>>) -> Result<OpCombiner<'a>, Error> {
        OpCombiner::new(self.0.implementation(), kind.ok_or(Error::Undefined)?)
    }

    unsafe fn lasting(combiner: OpCombiner<'a>) -> OpCombiner<'static> {
        // SAFETY: only the lifetime changes; the caller guarantees it.
        unsafe { core::mem::transmute::<OpCombiner<'a>, OpCombiner<'static>>(combiner) }
    }
}

ends_the_job! {
    "mpi::collective", [pub fn], crate::NoObject;

    /// Combines the elements of two local buffers: `inoutbuf[i] = inbuf[i] op inoutbuf[i]` (MPI_Reduce_local, MPI-3.1
    /// section 5.9.7).
    ///
    /// Does not block. Aborts the job when the lengths differ, and when the datatype does not support the operation.
    reduce_local_into[S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation](inbuf: &S, inoutbuf: &mut R, op: O),
        "MPI_Reduce_local" = {
        let datatype = inbuf.as_datatype();
        let kind = kind_of(&datatype);
        OpCombiner::new(op.implementation(), kind).and_then(|mut combiner| {
            with_span(inbuf, |left| with_span_mut(inoutbuf, |right| {
                same_length(left.len(), right.len())?;
                let here = process::current().ok_or(Error::order(CallOrder::BeforeRuntime))?;
                let own = Communicator::own(here.env()?);
                let combine = &mut |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
                combine_local(own, left.into(), right.into(), kind.size(), combine)
            }))
        })
    };
}
