//! Buffers of whatever datatype side by side, for collectives in which each message has its own.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::buffer::{Buffer, BufferMut, Settling};
use super::lent::{Loan, Side};
use super::user::Kind;
use crate::device::memory::area::Area;
use crate::mpi::coll::room;
use crate::mpi::error::Error;

/// A buffer that is read, of whatever datatype: one of a list in which each has its own. A datatype with holes takes a
/// copy of itself in the program's heap.
///
/// ```
/// # use mpi_adi::rust as mpi;
/// use mpi::datatype::AnyBuffer;
///
/// let (numbers, name) = ([1.0, 2.0], *b"west");
/// let each = [AnyBuffer::new(&numbers[..]), AnyBuffer::new(&name)];
/// ```
pub struct AnyBuffer<'b> {
    /// An error is that of the call which is given the buffer.
    loan: Result<Loan, Error>,
    borrowed: PhantomData<&'b ()>,
}

/// A buffer that is received into, of whatever datatype: as [`AnyBuffer`]. Nobody else looks at the buffer meanwhile:
///
/// ```compile_fail,E0506
/// # use mpi_adi::rust as mpi;
/// use mpi::datatype::AnyBufferMut;
///
/// let mut number = 0;
/// let taken = [AnyBufferMut::new(&mut number)];
/// number = 1;
/// drop(taken);
/// ```
pub struct AnyBufferMut<'b> {
    loan: Result<Loan, Error>,
    borrowed: PhantomData<&'b mut ()>,
}

impl<'b> AnyBuffer<'b> {
    /// The buffer. Does not block.
    pub fn new<B: Buffer + ?Sized>(buffer: &'b B) -> Self {
        AnyBuffer {
            // SAFETY: borrowed for `'b`; requests on it borrow this value, too ([`Given`]).
            loan: unsafe { Loan::reading(buffer) },
            borrowed: PhantomData,
        }
    }
}

impl<'b> AnyBufferMut<'b> {
    /// The buffer. Does not block.
    pub fn new<B: BufferMut + ?Sized>(buffer: &'b mut B) -> Self {
        AnyBufferMut {
            // SAFETY: borrowed for `'b`, exclusively; requests on it borrow this value, too, and settle it ([`Taken`]).
            loan: unsafe { Loan::writing(buffer) },
            borrowed: PhantomData,
        }
    }
}

impl fmt::Debug for AnyBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyBuffer").finish_non_exhaustive()
    }
}

impl fmt::Debug for AnyBufferMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyBufferMut").finish_non_exhaustive()
    }
}

/// The areas of so many loans.
fn areas<'l>(
    many: usize,
    loans: impl ExactSizeIterator<Item = &'l Result<Loan, Error>>,
) -> Result<Vec<Area>, Error> {
    if loans.len() != many {
        return Err(Error::Argument {
            what: "another number of buffers than there are processes to talk to",
        });
    }
    let mut areas = room(many)?;
    for loan in loans {
        areas.push(loan.as_ref().map_err(|error| *error)?.area());
    }
    Ok(areas)
}

/// A list of buffers that are read, one for each process.
pub(crate) struct Given<'a, 'b>(pub(crate) &'a [AnyBuffer<'b>]);

impl<'b> Side for Given<'_, 'b> {
    type Buffer = [AnyBuffer<'b>];
    type Parts = Vec<Area>;

    fn buffer(&self) -> *const Self::Buffer {
        self.0
    }

    fn kind(&self) -> Option<Kind<'_>> {
        None
    }

    fn lend<R>(
        self,
        ranks: usize,
        call: impl FnOnce(Vec<Area>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // SAFETY: the list is borrowed until `call` has returned, and needs no settling.
        call(unsafe { self.loan(ranks) }?.1)
    }

    unsafe fn loan(self, ranks: usize) -> Result<(Loan, Vec<Area>), Error> {
        let areas = areas(ranks, self.0.iter().map(|buffer| &buffer.loan))?;
        Ok((Loan::EMPTY, areas))
    }
}

/// As [`Given`], of buffers that are written. The loan is given back for all of them.
pub(crate) struct Taken<'a, 'b> {
    buffers: *mut [AnyBufferMut<'b>],
    borrowed: PhantomData<&'a mut [AnyBufferMut<'b>]>,
}

impl<'a, 'b> Taken<'a, 'b> {
    pub(crate) fn new(buffers: &'a mut [AnyBufferMut<'b>]) -> Self {
        Taken {
            buffers,
            borrowed: PhantomData,
        }
    }
}

impl<'b> Side for Taken<'_, 'b> {
    type Buffer = [AnyBufferMut<'b>];
    type Parts = Vec<Area>;

    fn buffer(&self) -> *const Self::Buffer {
        self.buffers
    }

    fn kind(&self) -> Option<Kind<'_>> {
        None
    }

    fn lend<R>(
        self,
        ranks: usize,
        call: impl FnOnce(Vec<Area>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // SAFETY: the list is borrowed until `call` has returned.
        let (loan, parts) = unsafe { self.loan(ranks) }?;
        let result = call(parts);
        // SAFETY: all messages to them have been finished, and they are borrowed still.
        unsafe { loan.give_back() };
        result
    }

    unsafe fn loan(self, ranks: usize) -> Result<(Loan, Vec<Area>), Error> {
        // SAFETY: borrowed, exclusively.
        let buffers = unsafe { &mut *self.buffers };
        let areas = areas(ranks, buffers.iter().map(|buffer| &buffer.loan))?;
        let settling = Settling {
            at: buffers.as_mut_ptr().cast(),
            count: buffers.len(),
            settle: |at, count| {
                // SAFETY: the list, borrowed exclusively still; lifetimes make no difference to where it is.
                let buffers =
                    unsafe { core::slice::from_raw_parts(at.cast::<AnyBufferMut<'_>>(), count) };
                for loan in buffers
                    .iter()
                    .filter_map(|buffer| buffer.loan.as_ref().ok())
                {
                    // SAFETY: no message is under way to any of them, and each is borrowed for as long as its value.
                    unsafe { loan.settle() }
                }
            },
        };
        Ok((Loan::settling(settling), areas))
    }
}
