//! Views: a buffer with an explicit count and datatype.

use core::ffi::c_void;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, BufferMut, Collection, Pointer, PointerMut, ValueNormalizer};
use super::user::{Datatype, kind_of};

/// Elements of a datatype in a buffer behind a pointer `P`: a [`View`] or a [`MutView`].
pub struct ViewOf<'d, D, P> {
    datatype: &'d D,
    count: Count,
    buffer: P,
}

/// Elements of a datatype in a send buffer.
pub type View<'d, 'b, D, B> = ViewOf<'d, D, &'b B>;
/// Elements of a datatype in a receive buffer.
pub type MutView<'d, 'b, D, B> = ViewOf<'d, D, &'b mut B>;

impl<'d, D: Datatype, P> ViewOf<'d, D, P> {
    /// Panics unless the elements are within the buffer's own elements, whose datatype must have no padding.
    fn new(buffer: P, own: (impl Datatype, Count), count: Count, datatype: &'d D) -> Self {
        let (kind, elements) = (kind_of(&own.0), own.1);
        assert!(
            kind.row() == Some(0),
            "a view is of a buffer without padding; derive Equivalence for the struct, and send it as it is"
        );
        let room = kind.size() as i128 * i128::from(elements);
        assert!(count >= 0, "a count of {count} elements");
        let (low, high) = kind_of(datatype).range(count as usize);
        assert!(
            low >= 0 && high <= room,
            "{count} elements of the datatype reach from byte {low} to byte {high} of a buffer of {room} bytes"
        );
        ViewOf {
            datatype,
            count,
            buffer,
        }
    }
}

impl<'d, 'b, D: Datatype, B: Buffer + ?Sized> View<'d, 'b, D, B> {
    /// Creates a view of `count` elements of `datatype` at the start of `buffer`. Does not block.
    ///
    /// # Panics
    /// When one of their bytes is outside the buffer, or the buffer's own elements have padding: for this reason a view
    /// requires no unsafe code.
    pub fn with_count_and_datatype(buffer: &'b B, count: Count, datatype: &'d D) -> Self {
        let own = (buffer.as_datatype(), buffer.count());
        ViewOf::new(buffer, own, count, datatype)
    }
}

impl<'d, 'b, D: Datatype, B: BufferMut + ?Sized> MutView<'d, 'b, D, B> {
    /// Creates a view; see [`View::with_count_and_datatype`].
    ///
    /// # Panics
    /// When one of their bytes is outside the buffer, or the buffer's own elements have padding.
    pub fn with_count_and_datatype(buffer: &'b mut B, count: Count, datatype: &'d D) -> Self {
        let own = (buffer.as_datatype(), buffer.count());
        ViewOf::new(buffer, own, count, datatype)
    }
}

// SAFETY: the elements are within the buffer, as was checked; a datatype is sealed.
unsafe impl<'d, D: Datatype, P> AsDatatype for ViewOf<'d, D, P> {
    type Out = &'d D;
    fn as_datatype(&self) -> &'d D {
        self.datatype
    }
}
// SAFETY: as above.
unsafe impl<D, P> Collection for ViewOf<'_, D, P> {
    fn count(&self) -> Count {
        self.count
    }
}
// SAFETY: as above.
unsafe impl<D, B: Pointer + ?Sized> Pointer for View<'_, '_, D, B> {
    fn pointer(&self) -> *const c_void {
        self.buffer.pointer()
    }
}
// SAFETY: as above.
unsafe impl<D, B: PointerMut + ?Sized> PointerMut for MutView<'_, '_, D, B> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.buffer.pointer_mut()
    }

    fn normalizer(&mut self) -> Option<ValueNormalizer> {
        self.buffer.normalizer()
    }
}
// SAFETY: as above.
unsafe impl<D: Datatype, B: Buffer + ?Sized> Buffer for View<'_, '_, D, B> {}
// SAFETY: as above.
unsafe impl<D: Datatype, B: BufferMut + ?Sized> BufferMut for MutView<'_, '_, D, B> {}
