//! Operations of reductions (MPI-3.1 section 5.9).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

use crate::datatype::lent::{lend, lend_mut, same_length};
use crate::datatype::user::{Kind, kind_of};
use crate::datatype::{Buffer, BufferMut, DynBuffer, DynBufferMut};
use crate::process;
use midplane_objects::coll::plans::Combining;
use midplane_objects::coll::{Elements, combine_local, room};
use midplane_objects::comm::Communicator;
use midplane_objects::datatype::Basic;
use midplane_objects::datatype::derived::Type;
use midplane_objects::error::{Error, Misplaced};
use midplane_objects::op::Op;

/// A function of the program's own: `y[i] = x[i] op y[i]`.
type Function<'a> = dyn Fn(DynBuffer<'_>, DynBufferMut<'_>) + Send + Sync + 'a;

/// What combines elements, as an operation gives it.
#[doc(hidden)]
#[derive(Clone)]
pub enum Given<'a> {
    /// By a predefined operation.
    System(Op),
    /// By a function.
    User(Arc<Function<'a>>),
}

mod sealed {
    pub trait Sealed {}
}

/// An operation of a reduction: a [`SystemOperation`] or a [`UserOperation`]. Sealed.
pub trait Operation: sealed::Sealed {
    /// Whether it commutes (MPI_Op_commutative, MPI-3.1 section 5.9.7). Long allreduces and those of few
    /// bytes of all processes alone make use of it: all others keep the order of the ranks.
    fn is_commutative(&self) -> bool;

    /// What combines elements.
    #[doc(hidden)]
    fn given<'o>(&self) -> Given<'o>
    where
        Self: 'o;
}

impl<O: Operation + ?Sized> sealed::Sealed for &O {}
impl<O: Operation + ?Sized> Operation for &O {
    fn is_commutative(&self) -> bool {
        (**self).is_commutative()
    }

    fn given<'o>(&self) -> Given<'o>
    where
        Self: 'o,
    {
        (**self).given()
    }
}

/// An operation that every program has (MPI-3.1 section 5.9.2). Whole numbers wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemOperation(pub(crate) Op);

macro_rules! system {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl SystemOperation {
            $(
                $(#[$doc])*
                pub fn $name() -> SystemOperation {
                    SystemOperation(Op::$op)
                }
            )*
        }
    };
}

system! {
    /// The greater (MPI_MAX).
    max => Max,
    /// The lesser (MPI_MIN).
    min => Min,
    /// Sum (MPI_SUM).
    sum => Sum,
    /// Product (MPI_PROD).
    product => Prod,
    /// Logical and (MPI_LAND): of whole numbers and `bool`.
    logical_and => Land,
    /// Bitwise and (MPI_BAND): of whole numbers.
    bitwise_and => Band,
    /// Logical or (MPI_LOR): of whole numbers and `bool`.
    logical_or => Lor,
    /// Bitwise or (MPI_BOR): of whole numbers.
    bitwise_or => Bor,
    /// Logical exclusive or (MPI_LXOR): of whole numbers and `bool`.
    logical_xor => Lxor,
    /// Bitwise exclusive or (MPI_BXOR): of whole numbers.
    bitwise_xor => Bxor,
}

impl sealed::Sealed for SystemOperation {}
impl Operation for SystemOperation {
    fn is_commutative(&self) -> bool {
        true
    }

    fn given<'o>(&self) -> Given<'o>
    where
        Self: 'o,
    {
        Given::System(self.0)
    }
}

/// An operation of the program's own (MPI_Op_create, MPI-3.1 section 5.9.5): a function that replaces each element of its
/// second argument by the combination of that of the first, from lower ranks, and it.
pub struct UserOperation<'a> {
    function: Arc<Function<'a>>,
    commutes: bool,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> UserOperation<'a> {
    /// One for which `x op y` is `y op x`.
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

    /// One for which it need not be.
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

    fn given<'o>(&self) -> Given<'o>
    where
        Self: 'o,
    {
        let function: Arc<Function<'o>> = self.function.clone();
        Given::User(function)
    }
}

/// What combines packed elements of one datatype.
pub(super) enum Combiner<'a> {
    System(Op, Basic),
    User(User<'a>),
}

/// A function of the program's own, and what it needs for elements of one datatype.
pub(super) struct User<'a> {
    function: Arc<Function<'a>>,
    datatype: Owned,
    /// An element of each side, where one in memory is not as it is packed.
    unpacked: Option<[Vec<u128>; 2]>,
}

enum Owned {
    Basic(Basic),
    Made(Type),
}

impl<'a> Combiner<'a> {
    /// Of elements of a datatype. Fails with [`Error::Undefined`] or [`Error::NoRoom`].
    pub(super) fn new(given: Given<'a>, kind: Kind<'_>) -> Result<Self, Error> {
        let function = match (given, kind) {
            (Given::System(op), Kind::Basic(basic)) if op.is_defined(basic) => {
                return Ok(Combiner::System(op, basic));
            }
            (Given::System(_), _) => return Err(Error::Undefined),
            (Given::User(function), _) => function,
        };
        let (datatype, unpacked) = match kind {
            Kind::Basic(basic) => (Owned::Basic(basic), None),
            Kind::Made(made) => {
                let unpacked = match kind.row() {
                    Some(0) => None,
                    _ => Some([memory_of(made)?, memory_of(made)?]),
                };
                (Owned::Made(made.try_clone()?), unpacked)
            }
        };
        Ok(Combiner::User(User {
            function,
            datatype,
            unpacked,
        }))
    }
}

impl Combines for Combiner<'_> {
    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        match self {
            Combiner::System(op, basic) => op
                .combine(*basic, left, right)
                .expect("defined, as has been checked"),
            Combiner::User(user) => user.combine(left, right),
        }
    }
}

/// Memory for one element, aligned for whatever it is. Fails with [`Error::Argument`] for a datatype with bytes in front of
/// its origin, and with [`Error::NoRoom`].
fn memory_of(made: &Type) -> Result<Vec<u128>, Error> {
    let (first, bytes) = made.true_extent();
    if first < 0 {
        return Err(Error::argument(
            "an operation of the program's own on a datatype with data before its origin",
        ));
    }
    let bytes = (first + bytes).max(made.extent()) as usize;
    let count = bytes.div_ceil(size_of::<u128>());
    let mut words = room(count)?;
    words.resize(count, 0);
    Ok(words)
}

/// The runs of bytes of an element: where each is in memory, and where packed.
fn runs(made: &Type, mut run: impl FnMut(Range<usize>, Range<usize>)) {
    let layout = made.layout();
    layout.walk(made.extent(), 0, made.size(), |at, done, bytes| {
        let at = at as usize;
        run(at..at + bytes, done..done + bytes);
    });
}

impl User<'_> {
    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        let kind = match &self.datatype {
            Owned::Basic(basic) => Kind::Basic(*basic),
            Owned::Made(made) => Kind::Made(made),
        };
        let size = kind.size().max(1);
        let function = &*self.function;
        // SAFETY: it is called with so many elements in both, aligned for any: packed ones that are as in memory, or one.
        let call = |x, y, count| unsafe {
            function(
                DynBuffer::new(x, count, kind),
                DynBufferMut::new(y, count, kind),
            );
        };
        let (Some([x, y]), Kind::Made(made)) = (&mut self.unpacked, kind) else {
            let count = right.len() / size;
            let (x, y) = (left.as_ptr().cast(), right.as_mut_ptr().cast());
            // As many packed elements, which are as in memory, are in both; segments are aligned for any.
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

/// What combines packed elements: `right[i] = left[i] op right[i]`.
pub(super) trait Combines {
    fn combine(&mut self, left: &[u8], right: &mut [u8]);
}

/// Nothing is combined.
impl Combines for () {
    fn combine(&mut self, _: &[u8], _: &mut [u8]) {}
}

/// It, as a plan has it.
pub(super) fn combining(mut by: impl Combines + Send + 'static) -> impl Combining {
    move |left: &[u8], right: &mut [u8]| by.combine(left, right)
}

/// What a collective combines elements with, if it does.
pub(super) trait Reducing {
    /// What combines them in a call.
    type Combiner: Combines;
    /// What combines them for as long as a request is under way.
    type Lasting: Combines + Send + 'static;

    /// The elements, of so many bytes.
    fn elements(&self, size: usize) -> Elements;

    /// What combines elements of this kind. Fails with [`Error::Undefined`] or [`Error::NoRoom`].
    fn combiner(&self, kind: Option<Kind<'_>>) -> Result<Self::Combiner, Error>;

    /// The same, for longer.
    ///
    /// # Safety
    /// It is used for no longer than what the operation borrows.
    unsafe fn lasting(combiner: Self::Combiner) -> Self::Lasting;
}

/// Nothing is combined.
pub(super) struct NoOperation;

impl Reducing for NoOperation {
    type Combiner = ();
    type Lasting = ();

    fn elements(&self, size: usize) -> Elements {
        Elements {
            size,
            commute: true,
            predefined: true,
        }
    }

    fn combiner(&self, _: Option<Kind<'_>>) -> Result<(), Error> {
        Ok(())
    }

    unsafe fn lasting((): ()) {}
}

/// An operation that is borrowed for `'a`.
pub(super) struct By<'a, O>(O, PhantomData<&'a ()>);

pub(super) fn by<'a, O: Operation + 'a>(op: O) -> By<'a, O> {
    By(op, PhantomData)
}

impl<'a, O: Operation + 'a> Reducing for By<'a, O> {
    type Combiner = Combiner<'a>;
    type Lasting = Combiner<'static>;

    fn elements(&self, size: usize) -> Elements {
        Elements {
            size,
            commute: self.0.is_commutative(),
            predefined: matches!(self.0.given(), Given::System(_)),
        }
    }

    fn combiner(&self, kind: Option<Kind<'_>>) -> Result<Combiner<'a>, Error> {
        Combiner::new(self.0.given(), kind.ok_or(Error::Undefined)?)
    }

    unsafe fn lasting(combiner: Combiner<'a>) -> Combiner<'static> {
        // SAFETY: only the lifetime changes; the caller's promise.
        unsafe { core::mem::transmute::<Combiner<'a>, Combiner<'static>>(combiner) }
    }
}

ends_the_job! {
    "mpi::collective", [pub fn], crate::NoObject;

    /// Combines the elements of two buffers, here alone: `inoutbuf[i] = inbuf[i] op inoutbuf[i]` (MPI_Reduce_local, MPI-3.1
    /// section 5.9.7). Does not block. Ends the job when the buffers differ in length, and for an operation that the
    /// datatype does not have.
    reduce_local_into[S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation](inbuf: &S, inoutbuf: &mut R, op: O),
        "MPI_Reduce_local" = {
        let datatype = inbuf.as_datatype();
        let kind = kind_of(&datatype);
        Combiner::new(op.given(), kind).and_then(|mut combiner| {
            lend(inbuf, |left| lend_mut(inoutbuf, |right| {
                same_length(left.len(), right.len())?;
                let here = process::current().ok_or(Error::order(Misplaced::BeforeRuntime))?;
                let own = Communicator::own(here.env()?);
                let combine = &mut |left: &[u8], right: &mut [u8]| combiner.combine(left, right);
                combine_local(own, (left.into(), right.into()), kind.size(), combine)
            }))
        })
    };
}
