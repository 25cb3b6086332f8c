//! Buffers with a part for each process, for collectives with different counts (MPI-3.1 section 5.1).

use core::borrow::Borrow;
use core::ffi::c_void;
use core::ops::Deref;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, BufferMut, Collection, Pointer, PointerMut, ValueNormalizer};

/// Division of a buffer: count and displacement of each rank's elements.
pub trait Partitioned {
    /// Returns the number of elements of each part.
    fn counts(&self) -> &[Count];
    /// Returns the displacement of each part from the start of the buffer, in elements.
    fn displs(&self) -> &[Count];
    /// Returns the number of elements of the buffer.
    #[doc(hidden)]
    fn total_count(&self) -> Count;
}

/// A buffer in parts.
///
/// # Safety
/// See [`Buffer`], for `total_count` elements.
pub unsafe trait PartitionedBuffer: Partitioned + Pointer + AsDatatype {}

/// A buffer in parts that can be received into.
///
/// # Safety
/// See [`BufferMut`], for `total_count` elements.
pub unsafe trait PartitionedBufferMut: Partitioned + PointerMut + AsDatatype {}

/// A buffer behind a pointer `P`, in parts, one for each rank of a communicator: a [`Partition`] or a [`PartitionMut`].
pub struct PartitionOf<P, C, D> {
    buffer: P,
    counts: C,
    displs: D,
}

/// A send buffer in parts, one for each rank of a communicator.
pub type Partition<'b, B, C, D> = PartitionOf<&'b B, C, D>;
/// A receive buffer in parts, one for each rank of a communicator.
pub type PartitionMut<'b, B, C, D> = PartitionOf<&'b mut B, C, D>;

impl<P: Deref<Target: Collection>, C: Borrow<[Count]>, D: Borrow<[Count]>> PartitionOf<P, C, D> {
    fn checked(buffer: P, counts: C, displs: D) -> Self {
        let parts = PartitionOf { buffer, counts, displs };
        let (counts, displs) = (parts.counts(), parts.displs());
        let ends = |(count, displ): (&Count, &Count)| match (count, displ) {
            (0.., 0..) => count.checked_add(*displ),
            _ => None,
        };
        let whole = parts.total_count();
        let mut each = counts.iter().zip(displs).map(ends);
        assert!(
            counts.len() == displs.len() && each.all(|end| end.is_some_and(|end| end <= whole)),
            "each part has a count and a displacement, and lies within the buffer"
        );
        parts
    }
}

impl<'b, B: Buffer + ?Sized, C: Borrow<[Count]>, D: Borrow<[Count]>> Partition<'b, B, C, D> {
    /// Divides `buffer`: part `i` contains `counts[i]` elements from element `displs[i]` on. Parts may overlap.
    ///
    /// # Panics
    /// When a part is not within the buffer, or the lengths of the lists differ.
    pub fn new(buffer: &'b B, counts: C, displs: D) -> Self {
        PartitionOf::checked(buffer, counts, displs)
    }
}

impl<'b, B: BufferMut + ?Sized, C: Borrow<[Count]>, D: Borrow<[Count]>> PartitionMut<'b, B, C, D> {
    /// Divides `buffer`; see [`Partition::new`].
    ///
    /// # Panics
    /// When a part is not within the buffer, or the lengths of the lists differ.
    pub fn new(buffer: &'b mut B, counts: C, displs: D) -> Self {
        PartitionOf::checked(buffer, counts, displs)
    }
}

impl<P: Deref<Target: Collection>, C: Borrow<[Count]>, D: Borrow<[Count]>> Partitioned for PartitionOf<P, C, D> {
    fn counts(&self) -> &[Count] {
        self.counts.borrow()
    }

    fn displs(&self) -> &[Count] {
        self.displs.borrow()
    }

    fn total_count(&self) -> Count {
        self.buffer.count()
    }
}

// SAFETY: see the buffer's implementation.
unsafe impl<P: Deref<Target: AsDatatype>, C, D> AsDatatype for PartitionOf<P, C, D> {
    type Out = <P::Target as AsDatatype>::Out;
    fn as_datatype(&self) -> Self::Out {
        self.buffer.as_datatype()
    }
}

// SAFETY: see the buffer's implementation.
unsafe impl<B: Pointer + ?Sized, C, D> Pointer for Partition<'_, B, C, D> {
    fn pointer(&self) -> *const c_void {
        self.buffer.pointer()
    }
}

// SAFETY: see the buffer's implementation.
unsafe impl<B: PointerMut + ?Sized, C, D> PointerMut for PartitionMut<'_, B, C, D> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.buffer.pointer_mut()
    }

    fn normalizer(&mut self) -> Option<ValueNormalizer> {
        self.buffer.normalizer()
    }
}

// SAFETY: see the buffer's implementation.
unsafe impl<B: Buffer + ?Sized, C, D> PartitionedBuffer for Partition<'_, B, C, D> where Self: Partitioned {}

// SAFETY: see the buffer's implementation.
unsafe impl<B: BufferMut + ?Sized, C, D> PartitionedBufferMut for PartitionMut<'_, B, C, D> where Self: Partitioned {}
