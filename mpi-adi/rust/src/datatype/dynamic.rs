//! Buffers whose datatype is known when the program runs: what an operation of the program's own is given.

use core::ffi::c_void;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, Collection, Pointer};
use super::equivalence::Equivalence;
use super::user::{DatatypeRef, Kind, kind_of};

/// Elements at an address, of a datatype that is known when the program runs: a [`DynBuffer`] or a [`DynBufferMut`].
#[derive(Debug)]
pub struct DynElements<'a, P> {
    at: P,
    count: usize,
    datatype: DatatypeRef<'a>,
}

/// Elements that can be read, of a datatype that is known when the program runs.
pub type DynBuffer<'a> = DynElements<'a, *const c_void>;
/// Elements that can be written, of a datatype that is known when the program runs.
pub type DynBufferMut<'a> = DynElements<'a, *mut c_void>;

impl Clone for DynBuffer<'_> {
    fn clone(&self) -> Self {
        *self
    }
}
impl Copy for DynBuffer<'_> {}

impl<'a, P> DynElements<'a, P> {
    /// # Safety
    /// `count` values of a type with this datatype lie at `at`, aligned for whatever that is, and stay for `'a`; where they
    /// can be written, no other reference to them exists.
    pub(crate) unsafe fn new(at: P, count: usize, kind: Kind<'a>) -> Self {
        DynElements {
            at,
            count,
            datatype: DatatypeRef::new(kind),
        }
    }

    /// Whether its elements are `T`s.
    pub fn is<T: Equivalence>(&self) -> bool {
        let datatype = T::equivalent_datatype();
        self.datatype.0 == kind_of(&datatype)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'a> DynBuffer<'a> {
    /// Its elements, if they are `T`s.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a [T]> {
        // SAFETY: the maker's promise. `T` has the same datatype: the same bytes, at the same distances, are values.
        self.is::<T>()
            .then(|| unsafe { core::slice::from_raw_parts(self.at.cast(), self.count) })
    }
}

impl<'a> DynBufferMut<'a> {
    /// Its elements, if they are `T`s.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a mut [T]> {
        // SAFETY: as for `DynBuffer::downcast`; no other reference exists.
        self.is::<T>()
            .then(|| unsafe { core::slice::from_raw_parts_mut(self.at.cast(), self.count) })
    }

    /// The same, to be read.
    pub fn downgrade(self) -> DynBuffer<'a> {
        DynElements {
            at: self.at,
            count: self.count,
            datatype: self.datatype,
        }
    }
}

// SAFETY: the maker's promise.
unsafe impl<'a> AsDatatype for DynBuffer<'a> {
    type Out = DatatypeRef<'a>;
    fn as_datatype(&self) -> DatatypeRef<'a> {
        self.datatype
    }
}
// SAFETY: the maker's promise.
unsafe impl Collection for DynBuffer<'_> {
    fn count(&self) -> Count {
        self.count as Count
    }
}
// SAFETY: the maker's promise.
unsafe impl Pointer for DynBuffer<'_> {
    fn pointer(&self) -> *const c_void {
        self.at
    }
}
// SAFETY: the maker's promise.
unsafe impl Buffer for DynBuffer<'_> {}
