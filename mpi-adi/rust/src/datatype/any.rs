//! Buffers of different datatypes in one list, for collectives with a datatype for each message.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::buffer::{Buffer, BufferMut, ValueNormalizer};
use super::operands::{BufferLoan, CollectiveBuffer, TargetOperand, borrow_whole, borrow_whole_mut};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::error::Error;

/// A buffer of any datatype, borrowed as `P`: an [`AnyBuffer`] or an [`AnyBufferMut`].
pub struct AnyOf<P> {
    /// An error is returned by the call that uses the buffer.
    loan: Result<BufferLoan, Error>,
    borrowed: PhantomData<P>,
}

/// A send buffer of any datatype, in a list of different ones. A datatype with gaps is copied to the program's heap.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::datatype::AnyBuffer;
///
/// let (numbers, name) = ([1.0, 2.0], *b"west");
/// let each = [AnyBuffer::new(&numbers[..]), AnyBuffer::new(&name)];
/// ```
pub type AnyBuffer<'b> = AnyOf<&'b ()>;

/// A receive buffer of any datatype; see [`AnyBuffer`]. The buffer is borrowed exclusively:
///
/// ```compile_fail,E0506
/// # use midplane_rust as mpi;
/// use mpi::datatype::AnyBufferMut;
///
/// let mut number = 0;
/// let taken = [AnyBufferMut::new(&mut number)];
/// number = 1;
/// drop(taken);
/// ```
pub type AnyBufferMut<'b> = AnyOf<&'b mut ()>;

impl<'b> AnyBuffer<'b> {
    /// Creates it from a buffer. Does not block.
    pub fn new<B: Buffer + ?Sized>(buffer: &'b B) -> Self {
        AnyOf {
            // SAFETY: borrowed for `'b`; requests on it borrow this value, too ([`BufferList`]).
            loan: unsafe { borrow_whole(buffer).loan_span() },
            borrowed: PhantomData,
        }
    }
}

impl<'b> AnyBufferMut<'b> {
    /// Creates it from a buffer. Does not block.
    pub fn new<B: BufferMut + ?Sized>(buffer: &'b mut B) -> Self {
        AnyOf {
            // SAFETY: borrowed for `'b`, exclusively; requests on it borrow this value, too, and normalize it ([`BufferList`]).
            loan: unsafe { borrow_whole_mut(buffer).loan_span() },
            borrowed: PhantomData,
        }
    }
}

opaque!("AnyOf", [P] AnyOf<P>);

/// A list of buffers, one for each process, borrowed exclusively if they are written. Returning the loan returns those
/// of all buffers.
pub(crate) struct BufferList<'a, P>(pub(crate) &'a [AnyOf<P>]);

impl<P> CollectiveBuffer for BufferList<'_, P> {
    type Buffer = [AnyOf<P>];
    type PartMap = Vec<BufferSlice>;

    fn buffer(&self) -> *const Self::Buffer {
        self.0
    }

    unsafe fn loan(self, ranks: usize) -> Result<(BufferLoan, Vec<BufferSlice>), Error> {
        if self.0.len() != ranks {
            return Err(Error::argument(
                "another number of buffers than there are processes to talk to",
            ));
        }
        let mut areas = try_with_capacity(ranks)?;
        for buffer in self.0 {
            areas.push(buffer.loan.as_ref().map_err(|error| *error)?.span().into());
        }
        let normalizer = ValueNormalizer {
            at: self.0.as_ptr().cast_mut().cast(),
            count: ranks,
            normalize: |at, count| {
                // SAFETY: the list is still borrowed.
                let buffers = unsafe { core::slice::from_raw_parts(at.cast::<AnyOf<P>>(), count) };
                for loan in buffers.iter().filter_map(|buffer| buffer.loan.as_ref().ok()) {
                    // SAFETY: no message to any of them is in progress, and each is borrowed for as long as its value.
                    unsafe { loan.give_back() }
                }
            },
        };
        Ok((BufferLoan::normalizer(normalizer), areas))
    }
}
