//! Buffers with a part for each process, for collectives with counts that differ (MPI-3.1 section 5.1).

use core::borrow::Borrow;
use core::ffi::c_void;
use core::ops::Deref;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, BufferMut, Collection, Pointer, PointerMut, Settling};

/// How a buffer is divided: for each rank a number of elements and where they begin.
pub trait Partitioned {
    /// Elements of each part.
    fn counts(&self) -> &[Count];
    /// Elements before each part, from the beginning of the buffer.
    fn displs(&self) -> &[Count];
    /// Elements of the whole buffer.
    #[doc(hidden)]
    fn whole(&self) -> Count;
}

/// A buffer in parts.
///
/// # Safety
/// As for [`Buffer`], for `whole` elements.
pub unsafe trait PartitionedBuffer: Partitioned + Pointer + AsDatatype {}

/// A buffer in parts that can be received into.
///
/// # Safety
/// As for [`BufferMut`], for `whole` elements.
pub unsafe trait PartitionedBufferMut: Partitioned + PointerMut + AsDatatype {}

/// A buffer to which `P` leads, in parts, one for each rank of a communicator: a [`Partition`] or a [`PartitionMut`].
pub struct PartitionOf<P, C, D> {
    buffer: P,
    counts: C,
    displs: D,
}

/// A buffer that is divided into parts, one for each rank of a communicator.
pub type Partition<'b, B, C, D> = PartitionOf<&'b B, C, D>;
/// As [`Partition`], of a buffer that can be received into.
pub type PartitionMut<'b, B, C, D> = PartitionOf<&'b mut B, C, D>;

impl<P: Deref<Target: Collection>, C: Borrow<[Count]>, D: Borrow<[Count]>> PartitionOf<P, C, D> {
    fn checked(buffer: P, counts: C, displs: D) -> Self {
        let parts = PartitionOf {
            buffer,
            counts,
            displs,
        };
        let (counts, displs) = (parts.counts(), parts.displs());
        let ends = |(count, displ): (&Count, &Count)| match (count, displ) {
            (0.., 0..) => count.checked_add(*displ),
            _ => None,
        };
        let whole = parts.whole();
        let mut each = counts.iter().zip(displs).map(ends);
        assert!(
            counts.len() == displs.len() && each.all(|end| end.is_some_and(|end| end <= whole)),
            "each part has a count and a displacement, and lies within the buffer"
        );
        parts
    }
}

impl<'b, B: Buffer + ?Sized, C: Borrow<[Count]>, D: Borrow<[Count]>> Partition<'b, B, C, D> {
    /// Divides `buffer`: part `i` has `counts[i]` elements from element `displs[i]` on. Parts may overlap.
    ///
    /// # Panics
    /// When a part is not within the buffer, or there are more of one than of the other.
    pub fn new(buffer: &'b B, counts: C, displs: D) -> Self {
        PartitionOf::checked(buffer, counts, displs)
    }
}

impl<'b, B: BufferMut + ?Sized, C: Borrow<[Count]>, D: Borrow<[Count]>> PartitionMut<'b, B, C, D> {
    /// As [`Partition::new`].
    ///
    /// # Panics
    /// As there.
    pub fn new(buffer: &'b mut B, counts: C, displs: D) -> Self {
        PartitionOf::checked(buffer, counts, displs)
    }
}

impl<P: Deref<Target: Collection>, C: Borrow<[Count]>, D: Borrow<[Count]>> Partitioned
    for PartitionOf<P, C, D>
{
    fn counts(&self) -> &[Count] {
        self.counts.borrow()
    }

    fn displs(&self) -> &[Count] {
        self.displs.borrow()
    }

    fn whole(&self) -> Count {
        self.buffer.count()
    }
}

// SAFETY: as the buffer's.
unsafe impl<P: Deref<Target: AsDatatype>, C, D> AsDatatype for PartitionOf<P, C, D> {
    type Out = <P::Target as AsDatatype>::Out;
    fn as_datatype(&self) -> Self::Out {
        self.buffer.as_datatype()
    }
}

// SAFETY: as the buffer's.
unsafe impl<B: Pointer + ?Sized, C, D> Pointer for Partition<'_, B, C, D> {
    fn pointer(&self) -> *const c_void {
        self.buffer.pointer()
    }
}

// SAFETY: as the buffer's.
unsafe impl<B: PointerMut + ?Sized, C, D> PointerMut for PartitionMut<'_, B, C, D> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.buffer.pointer_mut()
    }

    fn settling(&mut self) -> Option<Settling> {
        self.buffer.settling()
    }
}

// SAFETY: as the buffer's.
unsafe impl<B: Buffer + ?Sized, C, D> PartitionedBuffer for Partition<'_, B, C, D> where
    Self: Partitioned
{
}

// SAFETY: as the buffer's.
unsafe impl<B: BufferMut + ?Sized, C, D> PartitionedBufferMut for PartitionMut<'_, B, C, D> where
    Self: Partitioned
{
}
