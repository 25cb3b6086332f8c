//! Buffers: elements in memory that calls send from and receive into.

use alloc::vec::Vec;
use core::ffi::c_void;

use super::super::{Address, Count};
use super::equivalence::Equivalence;
use super::user::Datatype;

/// A value with a datatype.
///
/// # Safety
/// See [`Buffer`].
pub unsafe trait AsDatatype {
    /// Type of the datatype.
    type Out: Datatype;
    /// Returns the datatype of its elements.
    fn as_datatype(&self) -> Self::Out;
}

/// A collection of elements.
///
/// # Safety
/// See [`Buffer`].
pub unsafe trait Collection {
    /// Returns the number of elements.
    ///
    /// # Panics
    /// When it exceeds a [`Count`].
    fn count(&self) -> Count;
}

/// A value with a readable address.
///
/// # Safety
/// See [`Buffer`].
pub unsafe trait Pointer {
    /// Returns the address of the first element.
    fn pointer(&self) -> *const c_void;
}

/// A value with a writable address.
///
/// # Safety
/// See [`BufferMut`].
pub unsafe trait PointerMut {
    /// Returns the address of the first element.
    fn pointer_mut(&mut self) -> *mut c_void;

    /// Returns the conversion that the elements require after a receive, if any.
    #[doc(hidden)]
    fn normalizer(&mut self) -> Option<ValueNormalizer> {
        None
    }
}

/// Elements that can be sent: a value, an array, a slice or a `Vec` of an [`Equivalence`], or a [`View`](super::View).
///
/// # Safety
/// The address points to `count` elements of the datatype, each of whose bytes is readable while the buffer is
/// borrowed. The results of the four functions do not change meanwhile.
pub unsafe trait Buffer: Pointer + Collection + AsDatatype {}

/// Elements that can be received into.
///
/// # Safety
/// See [`Buffer`]; in addition each of the bytes is writable.
pub unsafe trait BufferMut: PointerMut + Collection + AsDatatype {}

/// Converts received bytes in a buffer to valid values.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct ValueNormalizer {
    pub(super) at: *mut c_void,
    pub(super) count: usize,
    pub(super) normalize: unsafe fn(*mut c_void, usize),
}

impl ValueNormalizer {
    fn new<T: Equivalence>(at: *mut T, count: usize) -> ValueNormalizer {
        ValueNormalizer {
            at: at.cast(),
            count,
            // SAFETY: the caller guarantees it.
            normalize: |at, count| unsafe { T::normalize(at.cast(), count) },
        }
    }

    /// Runs the conversion.
    ///
    /// # Safety
    /// The buffer is borrowed for this, and no message to it is in progress.
    pub(crate) unsafe fn normalize(self) {
        // SAFETY: the caller guarantees it; the values exist, as the creator of the buffer guaranteed.
        unsafe { (self.normalize)(self.at, self.count) }
    }
}

// A value is a buffer of one. SAFETY: `Equivalence` defines the bytes of a value.
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

    fn normalizer(&mut self) -> Option<ValueNormalizer> {
        Some(ValueNormalizer::new(self, 1))
    }
}
// SAFETY: as above.
unsafe impl<T: Equivalence> Buffer for T {}
// SAFETY: as above.
unsafe impl<T: Equivalence> BufferMut for T {}

macro_rules! slices {
    ($(($($generic:tt)*) $of:ty),*) => {$(
        // SAFETY: consecutive values; `Equivalence` defines their bytes.
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

            fn normalizer(&mut self) -> Option<ValueNormalizer> {
                Some(ValueNormalizer::new(self.as_mut_ptr(), self.len()))
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

/// Returns the address of `x`, for displacements between parts of one value (MPI_Get_address, MPI-3.1 section 4.1.5).
pub fn address_of<T>(x: &T) -> Address {
    (&raw const *x).addr() as Address
}
