//! Buffers with a part for each process, for collectives with counts that differ (MPI-3.1 section 5.1).

use core::borrow::Borrow;
use core::ffi::c_void;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, BufferMut, Pointer, PointerMut, Settling};

/// How a buffer is divided: for each rank a number of elements and where they begin.
pub trait Partitioned {
    /// Elements of each part.
    fn counts(&self) -> &[Count];
    /// Elements before each part, from the beginning of the buffer.
    fn displs(&self) -> &[Count];
}

/// A buffer in parts.
///
/// # Safety
/// As for [`Buffer`], for `whole` elements.
pub unsafe trait PartitionedBuffer: Partitioned + Pointer + AsDatatype {
    /// Elements of the whole buffer.
    #[doc(hidden)]
    fn whole(&self) -> Count;
}

/// A buffer in parts that can be received into.
///
/// # Safety
/// As for [`BufferMut`], for `whole` elements.
pub unsafe trait PartitionedBufferMut: Partitioned + PointerMut + AsDatatype {
    /// Elements of the whole buffer.
    #[doc(hidden)]
    fn whole(&self) -> Count;

    /// As that of [`BufferMut`].
    #[doc(hidden)]
    fn settling(&mut self) -> Settling;
}

/// A buffer that is divided into parts, one for each rank of a communicator.
pub struct Partition<'b, B: 'b + ?Sized, C, D> {
    buffer: &'b B,
    counts: C,
    displs: D,
}

/// As [`Partition`], of a buffer that can be received into.
pub struct PartitionMut<'b, B: 'b + ?Sized, C, D> {
    buffer: &'b mut B,
    counts: C,
    displs: D,
}

fn is_within(counts: &[Count], displs: &[Count], whole: Count) -> bool {
    let ends = |(count, displ): (&Count, &Count)| match (count, displ) {
        (0.., 0..) => count.checked_add(*displ),
        _ => None,
    };
    let mut each = counts.iter().zip(displs).map(ends);
    counts.len() == displs.len() && each.all(|end| end.is_some_and(|end| end <= whole))
}

const OUTSIDE: &str = "each part has a count and a displacement, and lies within the buffer";

impl<'b, B, C, D> Partition<'b, B, C, D>
where
    B: Buffer + ?Sized,
    C: Borrow<[Count]>,
    D: Borrow<[Count]>,
{
    /// Divides `buffer`: part `i` has `counts[i]` elements from element `displs[i]` on. Parts may overlap.
    ///
    /// # Panics
    /// When a part is not within the buffer, or there are more of one than of the other.
    pub fn new(buffer: &'b B, counts: C, displs: D) -> Self {
        let is_within = is_within(counts.borrow(), displs.borrow(), buffer.count());
        assert!(is_within, "{OUTSIDE}");
        Partition {
            buffer,
            counts,
            displs,
        }
    }
}

impl<'b, B, C, D> PartitionMut<'b, B, C, D>
where
    B: BufferMut + ?Sized,
    C: Borrow<[Count]>,
    D: Borrow<[Count]>,
{
    /// As [`Partition::new`].
    ///
    /// # Panics
    /// As there.
    pub fn new(buffer: &'b mut B, counts: C, displs: D) -> Self {
        let is_within = is_within(counts.borrow(), displs.borrow(), buffer.count());
        assert!(is_within, "{OUTSIDE}");
        PartitionMut {
            buffer,
            counts,
            displs,
        }
    }
}

macro_rules! partitioned {
    ($($name:ident),*) => {$(
        impl<B: ?Sized, C: Borrow<[Count]>, D: Borrow<[Count]>> Partitioned for $name<'_, B, C, D> {
            fn counts(&self) -> &[Count] {
                self.counts.borrow()
            }
            fn displs(&self) -> &[Count] {
                self.displs.borrow()
            }
        }

        // SAFETY: as the buffer's.
        unsafe impl<B: AsDatatype + ?Sized, C, D> AsDatatype for $name<'_, B, C, D> {
            type Out = B::Out;
            fn as_datatype(&self) -> B::Out {
                self.buffer.as_datatype()
            }
        }
    )*};
}

partitioned!(Partition, PartitionMut);

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
}

// SAFETY: as the buffer's.
unsafe impl<B, C, D> PartitionedBuffer for Partition<'_, B, C, D>
where
    B: Buffer + ?Sized,
    C: Borrow<[Count]>,
    D: Borrow<[Count]>,
{
    fn whole(&self) -> Count {
        self.buffer.count()
    }
}

// SAFETY: as the buffer's.
unsafe impl<B, C, D> PartitionedBufferMut for PartitionMut<'_, B, C, D>
where
    B: BufferMut + ?Sized,
    C: Borrow<[Count]>,
    D: Borrow<[Count]>,
{
    fn whole(&self) -> Count {
        self.buffer.count()
    }

    fn settling(&mut self) -> Settling {
        self.buffer.settling()
    }
}
