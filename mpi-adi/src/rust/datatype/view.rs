//! Views: a buffer with a count and a datatype of the program's choice.

use core::ffi::c_void;

use super::super::Count;
use super::buffer::{AsDatatype, Buffer, BufferMut, Collection, Pointer, PointerMut, Settling};
use super::user::{Datatype, Kind, kind_of};

/// Elements of a datatype in a buffer that is read.
pub struct View<'d, 'b, D, B: ?Sized> {
    datatype: &'d D,
    count: Count,
    buffer: &'b B,
}

/// Elements of a datatype in a buffer that is written.
pub struct MutView<'d, 'b, D, B: ?Sized> {
    datatype: &'d D,
    count: Count,
    buffer: &'b mut B,
}

/// Panics unless `count` elements of `kind` lie within so many elements of the buffer's own datatype, which has no
/// padding.
fn check(count: Count, kind: Kind<'_>, own: Kind<'_>, elements: Count) {
    let dense = match own {
        Kind::Basic(_) => true,
        Kind::Made(made) => made.is_row() && made.layout().first() == 0,
    };
    assert!(
        dense,
        "a view is of a buffer without padding; derive Equivalence for the struct, and send it as it is"
    );
    let room = own.size() as i128 * i128::from(elements);
    assert!(count >= 0, "a count of {count} elements");
    let (extent, first, bytes) = match kind {
        Kind::Basic(basic) => (basic.size() as isize, 0, basic.size() as isize),
        Kind::Made(made) => {
            let (first, bytes) = made.true_extent();
            (made.extent(), first, bytes)
        }
    };
    if count == 0 || kind.size() == 0 {
        return;
    }
    let last = i128::from(count - 1) * extent as i128;
    let low = last.min(0) + first as i128;
    let high = last.max(0) + (first + bytes) as i128;
    assert!(
        low >= 0 && high <= room,
        "{count} elements of the datatype reach from byte {low} to byte {high} of a buffer of {room} bytes"
    );
}

impl<'d, 'b, D, B> View<'d, 'b, D, B>
where
    D: Datatype,
    B: Buffer + ?Sized,
{
    /// The `count` elements of `datatype` that begin where `buffer` begins. Does not block.
    ///
    /// # Panics
    /// When one of their bytes is outside of the buffer, or the buffer's own elements have padding: so a view needs no
    /// unsafe code.
    pub fn with_count_and_datatype(buffer: &'b B, count: Count, datatype: &'d D) -> Self {
        let own = buffer.as_datatype();
        check(count, kind_of(datatype), kind_of(&own), buffer.count());
        View {
            datatype,
            count,
            buffer,
        }
    }
}

impl<'d, 'b, D, B> MutView<'d, 'b, D, B>
where
    D: Datatype,
    B: BufferMut + ?Sized,
{
    /// As [`View::with_count_and_datatype`].
    ///
    /// # Panics
    /// As there.
    pub fn with_count_and_datatype(buffer: &'b mut B, count: Count, datatype: &'d D) -> Self {
        let own = buffer.as_datatype();
        check(count, kind_of(datatype), kind_of(&own), buffer.count());
        MutView {
            datatype,
            count,
            buffer,
        }
    }
}

macro_rules! views {
    ($($name:ident),*) => {$(
        // SAFETY: the elements are within the buffer, as has been checked; a datatype is sealed.
        unsafe impl<'d, D: Datatype, B: ?Sized> AsDatatype for $name<'d, '_, D, B> {
            type Out = &'d D;
            fn as_datatype(&self) -> &'d D {
                self.datatype
            }
        }
        // SAFETY: as above.
        unsafe impl<D, B: ?Sized> Collection for $name<'_, '_, D, B> {
            fn count(&self) -> Count {
                self.count
            }
        }
    )*};
}

views!(View, MutView);

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
}
// SAFETY: as above.
unsafe impl<D: Datatype, B: Buffer + ?Sized> Buffer for View<'_, '_, D, B> {}
// SAFETY: as above.
unsafe impl<D: Datatype, B: BufferMut + ?Sized> BufferMut for MutView<'_, '_, D, B> {
    fn settling(&mut self) -> Settling {
        self.buffer.settling()
    }
}
