//! Counts and displacements in the two forms of a function: `int`, and MPI_Count or MPI_Aint in the large-count form
//! (MPI-4.0 section 2.5.8). A function has one body for both.

use alloc::vec::Vec;
use core::ffi::{c_int, c_longlong};

use midplane_objects::error::Error;
use midplane_objects::group::exact;

use super::args;
use super::types::constants::MPI_UNDEFINED;

/// An integer type of C: `int`, MPI_Aint or MPI_Count.
pub trait Integer: Copy {
    /// MPI_UNDEFINED.
    const UNDEFINED: Self;

    /// Returns the value; the nearest one that an address has, if it is beyond.
    fn get(self) -> isize;

    /// Converts a number that is not negative; `None` if it is too large.
    fn from_unsigned(value: usize) -> Option<Self>;

    /// Converts a number; `None` if it is beyond the type.
    fn from_signed(value: isize) -> Option<Self>;

    /// Returns an array of the program.
    fn slice(items: &[Self]) -> IntSlice<'_>;
}

macro_rules! integer {
    ($type:ty, $variant:ident) => {
        impl Integer for $type {
            const UNDEFINED: Self = MPI_UNDEFINED as $type;

            #[inline(always)]
            fn get(self) -> isize {
                let beyond = if self < 0 { isize::MIN } else { isize::MAX };
                isize::try_from(self).unwrap_or(beyond)
            }

            #[inline(always)]
            fn from_unsigned(value: usize) -> Option<Self> {
                Self::try_from(value).ok()
            }

            fn from_signed(value: isize) -> Option<Self> {
                Self::try_from(value).ok()
            }

            fn slice(items: &[Self]) -> IntSlice<'_> {
                IntSlice::$variant(items)
            }
        }

        impl From<*const $type> for IntArray {
            #[inline(always)]
            fn from(array: *const $type) -> IntArray {
                IntArray::$variant(array)
            }
        }
    };
}

integer!(c_int, Int);
integer!(isize, Aint);
integer!(c_longlong, Count);

/// Stores a number in a result. Fails if its type is too small.
pub fn put<C: Integer>(result: &mut C, value: isize) -> Result<(), Error> {
    *result = C::from_signed(value).ok_or(Error::Argument {
        what: "a result beyond the type of its argument; call the large-count form",
    })?;
    Ok(())
}

/// Stores a count; MPI_UNDEFINED if there is none, or if it is beyond the type of the result (section 3.2.5).
#[inline(always)]
pub fn put_count<C: Integer>(result: &mut C, count: Option<usize>) {
    *result = count.and_then(C::from_unsigned).unwrap_or(C::UNDEFINED);
}

/// An array of the program, as it was passed.
#[derive(Clone, Copy)]
pub enum IntArray {
    /// Of type `int`.
    Int(*const c_int),
    /// Of type MPI_Aint.
    Aint(*const isize),
    /// Of type MPI_Count.
    Count(*const c_longlong),
}

impl IntArray {
    /// Checks whether there is no array.
    pub fn is_null(self) -> bool {
        match self {
            IntArray::Int(array) => array.is_null(),
            IntArray::Aint(array) => array.is_null(),
            IntArray::Count(array) => array.is_null(),
        }
    }

    /// Returns the items; see [`args::array`].
    ///
    /// # Safety
    /// See [`args::array`].
    pub unsafe fn items<'a>(self, len: usize, name: &'static str) -> Result<IntSlice<'a>, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Ok(match self {
                IntArray::Int(array) => IntSlice::Int(args::array(array, len, name)?),
                IntArray::Aint(array) => IntSlice::Aint(args::array(array, len, name)?),
                IntArray::Count(array) => IntSlice::Count(args::array(array, len, name)?),
            })
        }
    }
}

/// Items of an array of the program.
#[derive(Clone, Copy, Debug)]
pub enum IntSlice<'a> {
    /// Of type `int`.
    Int(&'a [c_int]),
    /// Of type MPI_Aint.
    Aint(&'a [isize]),
    /// Of type MPI_Count: of a large-count form.
    Count(&'a [c_longlong]),
}

impl<'a> IntSlice<'a> {
    /// Returns the values in order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = isize> + Clone + 'a {
        (0..self.len()).map(move |at| self.at(at))
    }

    /// Copies the items, for an operation that continues after its call.
    pub fn kept(self) -> Result<KeptInts, Error> {
        Ok(match self {
            IntSlice::Int(items) => KeptInts::Int(exact(items)?),
            IntSlice::Aint(items) => KeptInts::Aint(exact(items)?),
            IntSlice::Count(items) => KeptInts::Count(exact(items)?),
        })
    }

    /// Checks that no item is negative.
    pub fn check(self) -> Result<(), Error> {
        self.iter().try_for_each(|count| args::count(count).map(|_| ()))
    }
}

/// Copied items of an array of the program.
pub enum KeptInts {
    /// Of type `int`.
    Int(Vec<c_int>),
    /// Of type MPI_Aint.
    Aint(Vec<isize>),
    /// Of type MPI_Count.
    Count(Vec<c_longlong>),
}

/// A list of integers.
pub trait Ints {
    /// Returns its length.
    fn len(&self) -> usize;

    /// Returns an item.
    fn at(&self, at: usize) -> isize;
}

impl Ints for IntSlice<'_> {
    fn len(&self) -> usize {
        match self {
            IntSlice::Int(items) => items.len(),
            IntSlice::Aint(items) => items.len(),
            IntSlice::Count(items) => items.len(),
        }
    }

    fn at(&self, at: usize) -> isize {
        match self {
            IntSlice::Int(items) => items[at].get(),
            IntSlice::Aint(items) => items[at],
            IntSlice::Count(items) => items[at].get(),
        }
    }
}

impl Ints for KeptInts {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn at(&self, at: usize) -> isize {
        self.as_slice().at(at)
    }
}

impl KeptInts {
    /// Returns these items as an array of the program, as long as they exist.
    pub fn as_array(&self) -> IntArray {
        match self {
            KeptInts::Int(items) => IntArray::Int(items.as_ptr()),
            KeptInts::Aint(items) => IntArray::Aint(items.as_ptr()),
            KeptInts::Count(items) => IntArray::Count(items.as_ptr()),
        }
    }

    fn as_slice(&self) -> IntSlice<'_> {
        match self {
            KeptInts::Int(items) => IntSlice::Int(items),
            KeptInts::Aint(items) => IntSlice::Aint(items),
            KeptInts::Count(items) => IntSlice::Count(items),
        }
    }
}
