//! Buffers with a datatype known at run time: the arguments of user-defined operations.

use core::ffi::c_void;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, Collection, Pointer};
use super::equivalence::Equivalence;
use super::user::{DatatypeKind, DatatypeRef, kind_of};

/// Elements of a datatype known at run time: a [`DynBuffer`] or a [`DynBufferMut`].
#[derive(Debug)]
pub struct DynElements<'a, P> {
    at: P,
    count: usize,
    datatype: DatatypeRef<'a>,
}

/// Readable elements of a datatype known at run time.
pub type DynBuffer<'a> = DynElements<'a, *const c_void>;
/// Writable elements of a datatype known at run time.
pub type DynBufferMut<'a> = DynElements<'a, *mut c_void>;

impl Clone for DynBuffer<'_> {
    fn clone(&self) -> Self {
        *self
    }
}
impl Copy for DynBuffer<'_> {}

impl<'a, P> DynElements<'a, P> {
    /// # Safety
    /// `at` points to `count` aligned values of a type with this datatype, which exist for `'a`; if they are writable,
    /// there is no other reference to them.
    pub(crate) unsafe fn new(at: P, count: usize, kind: DatatypeKind<'a>) -> Self {
        DynElements {
            at,
            count,
            datatype: DatatypeRef::new(kind),
        }
    }

    /// Checks whether its elements are of type `T`.
    pub fn is<T: Equivalence>(&self) -> bool {
        let datatype = T::equivalent_datatype();
        self.datatype.0 == kind_of(&datatype)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Checks whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a> DynBuffer<'a> {
    /// Returns its elements, if they are of type `T`.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a [T]> {
        // SAFETY: the creator guarantees it. `T` has the same datatype: the same bytes at the same distances are
        // values.
        self.is::<T>()
            .then(|| unsafe { core::slice::from_raw_parts(self.at.cast(), self.count) })
    }
}

impl<'a> DynBufferMut<'a> {
    /// Returns its elements, if they are of type `T`.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a mut [T]> {
        // SAFETY: see `DynBuffer::downcast`; there is no other reference.
        self.is::<T>()
            .then(|| unsafe { core::slice::from_raw_parts_mut(self.at.cast(), self.count) })
    }

    /// Converts it to a readable buffer.
    pub fn downgrade(self) -> DynBuffer<'a> {
        DynElements {
            at: self.at,
            count: self.count,
            datatype: self.datatype,
        }
    }
}

// SAFETY: the creator guarantees it.
unsafe impl<'a> AsDatatype for DynBuffer<'a> {
    type Out = DatatypeRef<'a>;
    fn as_datatype(&self) -> DatatypeRef<'a> {
        self.datatype
    }
}
// SAFETY: the creator guarantees it.
unsafe impl Collection for DynBuffer<'_> {
    fn count(&self) -> Count {
        self.count as Count
    }
}
// SAFETY: the creator guarantees it.
unsafe impl Pointer for DynBuffer<'_> {
    fn pointer(&self) -> *const c_void {
        self.at
    }
}
// SAFETY: the creator guarantees it.
unsafe impl Buffer for DynBuffer<'_> {}
