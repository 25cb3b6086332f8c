//! Buffers: elements in memory that calls send from and receive into.

use alloc::vec::Vec;
use core::ffi::c_void;

use super::super::{Address, Count};
use super::equivalence::Equivalence;
use super::user::Datatype;

/// Something with a datatype.
///
/// # Safety
/// As for [`Buffer`].
pub unsafe trait AsDatatype {
    /// The datatype's type.
    type Out: Datatype;
    /// The datatype of its elements.
    fn as_datatype(&self) -> Self::Out;
}

/// A number of things.
///
/// # Safety
/// As for [`Buffer`].
pub unsafe trait Collection {
    /// How many elements there are.
    ///
    /// # Panics
    /// When they are more than a [`Count`] can say.
    fn count(&self) -> Count;
}

/// Something at an address.
///
/// # Safety
/// As for [`Buffer`].
pub unsafe trait Pointer {
    /// The address of the first element.
    fn pointer(&self) -> *const c_void;
}

/// Something at an address where one may write.
///
/// # Safety
/// As for [`BufferMut`].
pub unsafe trait PointerMut {
    /// The address of the first element.
    fn pointer_mut(&mut self) -> *mut c_void;

    /// The work that is left with the elements behind a message, if any.
    #[doc(hidden)]
    fn settling(&mut self) -> Option<Settling> {
        None
    }
}

/// Elements that can be sent: a value, an array, a slice or a `Vec` of an [`Equivalence`], or a
/// [`View`](super::View).
///
/// # Safety
/// `count` elements of the datatype lie at the address, and each of their bytes may be read, for as long as the buffer
/// is borrowed. What the four functions say does not change meanwhile.
pub unsafe trait Buffer: Pointer + Collection + AsDatatype {}

/// Elements that can be received into.
///
/// # Safety
/// As for [`Buffer`], and each of the bytes may be written.
pub unsafe trait BufferMut: PointerMut + Collection + AsDatatype {}

/// What makes values of what messages have left in a buffer.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Settling {
    pub(super) at: *mut c_void,
    pub(super) count: usize,
    pub(super) settle: unsafe fn(*mut c_void, usize),
}

impl Settling {
    /// Of `count` values.
    fn of<T: Equivalence>(at: *mut T, count: usize) -> Settling {
        Settling {
            at: at.cast(),
            count,
            // SAFETY: the caller's promise.
            settle: |at, count| unsafe { T::settle(at.cast(), count) },
        }
    }

    /// Does it.
    ///
    /// # Safety
    /// The buffer is borrowed for this, and no message is under way to it.
    pub(crate) unsafe fn settle(self) {
        // SAFETY: the caller's promise; the values are there, as the maker of the buffer promised.
        unsafe { (self.settle)(self.at, self.count) }
    }
}

// A value is a buffer of one.
// SAFETY: `Equivalence` says what a value is.
unsafe impl<T: Equivalence> AsDatatype for T {
    type Out = T::Out;
    fn as_datatype(&self) -> T::Out {
        T::equivalent_datatype()
    }
}
// SAFETY: as above.
unsafe impl<T: Equivalence> Collection for T {
    fn count(&self) -> Count {
        1
    }
}
// SAFETY: as above.
unsafe impl<T: Equivalence> Pointer for T {
    fn pointer(&self) -> *const c_void {
        (&raw const *self).cast()
    }
}
// SAFETY: as above.
unsafe impl<T: Equivalence> PointerMut for T {
    fn pointer_mut(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }

    fn settling(&mut self) -> Option<Settling> {
        Some(Settling::of(self, 1))
    }
}
// SAFETY: as above.
unsafe impl<T: Equivalence> Buffer for T {}
// SAFETY: as above.
unsafe impl<T: Equivalence> BufferMut for T {}

macro_rules! slices {
    ($(($($generic:tt)*) $of:ty),*) => {$(
        // SAFETY: values one after the other; `Equivalence` says what they are.
        unsafe impl<$($generic)*> AsDatatype for $of {
            type Out = T::Out;
            fn as_datatype(&self) -> T::Out {
                T::equivalent_datatype()
            }
        }
        // SAFETY: as above.
        unsafe impl<$($generic)*> Collection for $of {
            fn count(&self) -> Count {
                Count::try_from(self.len()).expect("a buffer has at most 2147483647 elements")
            }
        }
        // SAFETY: as above.
        unsafe impl<$($generic)*> Pointer for $of {
            fn pointer(&self) -> *const c_void {
                self.as_ptr().cast()
            }
        }
        // SAFETY: as above.
        unsafe impl<$($generic)*> PointerMut for $of {
            fn pointer_mut(&mut self) -> *mut c_void {
                self.as_mut_ptr().cast()
            }

            fn settling(&mut self) -> Option<Settling> {
                Some(Settling::of(self.as_mut_ptr(), self.len()))
            }
        }
        // SAFETY: as above.
        unsafe impl<$($generic)*> Buffer for $of {}
        // SAFETY: as above.
        unsafe impl<$($generic)*> BufferMut for $of {}
    )*};
}

slices! {
    (T: Equivalence) [T],
    (T: Equivalence) Vec<T>,
    (T: Equivalence, const N: usize) [T; N]
}

/// The address of `x`, for displacements between parts of one thing (MPI_Get_address, MPI-3.1 section 4.1.5).
pub fn address_of<T>(x: &T) -> Address {
    (&raw const *x).addr() as Address
}
