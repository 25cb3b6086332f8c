//! Buffers whose datatype is known when the program runs: what an operation of the program's own is given.

use core::ffi::c_void;
use core::marker::PhantomData;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, Collection, Pointer};
use super::equivalence::Equivalence;
use super::user::{DatatypeRef, Kind, kind_of};

/// Elements that can be read, of a datatype that is known when the program runs.
#[derive(Clone, Copy, Debug)]
pub struct DynBuffer<'a> {
    at: *const c_void,
    count: usize,
    datatype: DatatypeRef<'a>,
}

/// Elements that can be written, of a datatype that is known when the program runs.
#[derive(Debug)]
pub struct DynBufferMut<'a> {
    at: *mut c_void,
    count: usize,
    datatype: DatatypeRef<'a>,
    exclusive: PhantomData<&'a mut ()>,
}

fn is<T: Equivalence>(kind: Kind<'_>) -> bool {
    let datatype = T::equivalent_datatype();
    kind == kind_of(&datatype)
}

impl<'a> DynBuffer<'a> {
    /// # Safety
    /// `count` values of a type with this datatype lie at `at`, aligned for whatever that is, and stay for `'a`.
    pub(crate) unsafe fn new(at: *const c_void, count: usize, kind: Kind<'a>) -> Self {
        DynBuffer {
            at,
            count,
            datatype: DatatypeRef(kind),
        }
    }

    /// Whether its elements are `T`s.
    pub fn is<T: Equivalence>(&self) -> bool {
        is::<T>(self.datatype.0)
    }

    /// Its elements, if they are `T`s.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a [T]> {
        // SAFETY: the maker's promise. `T` has the same datatype: the same bytes, at the same distances, are values.
        self.is::<T>()
            .then(|| unsafe { core::slice::from_raw_parts(self.at.cast(), self.count) })
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

impl<'a> DynBufferMut<'a> {
    /// # Safety
    /// As for [`DynBuffer::new`], and no other reference to them exists.
    pub(crate) unsafe fn new(at: *mut c_void, count: usize, kind: Kind<'a>) -> Self {
        DynBufferMut {
            at,
            count,
            datatype: DatatypeRef(kind),
            exclusive: PhantomData,
        }
    }

    /// Whether its elements are `T`s.
    pub fn is<T: Equivalence>(&self) -> bool {
        is::<T>(self.datatype.0)
    }

    /// Its elements, if they are `T`s.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a mut [T]> {
        // SAFETY: as for `DynBuffer::downcast`; no other reference exists.
        self.is::<T>()
            .then(|| unsafe { core::slice::from_raw_parts_mut(self.at.cast(), self.count) })
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The same, to be read.
    pub fn downgrade(self) -> DynBuffer<'a> {
        DynBuffer {
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
