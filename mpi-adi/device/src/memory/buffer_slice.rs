//! Buffer slices: subranges of the program's plain or typed buffers, for code that processes a buffer piecewise.

use crate::memory::{Span, TypedMemory, UserMemory};

/// A range of bytes of a program's buffer. A span alone cannot express an offset in a typed buffer, so the slice stores
/// it separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferSlice {
    span: Span,
    /// Offset in the packed stream; 0 unless the span is typed.
    start: isize,
}

impl From<Span> for BufferSlice {
    fn from(span: Span) -> BufferSlice {
        BufferSlice { span, start: 0 }
    }
}

/// Storage for an area's element descriptor while a request uses it.
#[derive(Clone, Copy, Default, Debug)]
pub struct TypedSlot(Option<TypedMemory>);

impl BufferSlice {
    /// Empty area.
    pub const EMPTY: BufferSlice = BufferSlice {
        span: Span::EMPTY,
        start: 0,
    };

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Returns the start address of a plain area.
    pub fn address(&self) -> usize {
        self.span.address
    }

    /// Checks whether the area is empty.
    pub fn is_empty(&self) -> bool {
        self.span.is_empty()
    }

    /// Returns the subarea of `len` bytes at `offset`.
    ///
    /// # Panics
    /// If the range exceeds the area.
    pub fn part(&self, offset: usize, len: usize) -> BufferSlice {
        if !self.span.is_typed() {
            return self.span.part(offset, len).into();
        }
        assert!(offset <= self.len() && len <= self.len() - offset);
        self.moved(offset as isize, len)
    }

    /// Returns an area of `len` bytes at `offset`, which may lie before or after this area.
    pub fn moved(&self, offset: isize, len: usize) -> BufferSlice {
        let address = if self.span.is_typed() {
            self.span.address
        } else {
            self.span.address.wrapping_add_signed(offset)
        };
        BufferSlice {
            span: Span { address, len },
            start: if self.span.is_typed() { self.start + offset } else { 0 },
        }
    }

    /// Returns the span of these bytes. If necessary, the descriptor of its elements is stored in `place`.
    ///
    /// # Safety
    /// `place` must neither move nor be written until the request that uses the span has completed.
    pub unsafe fn span(&self, place: &mut TypedSlot) -> Span {
        let Some(elements) = self.span.elements().filter(|_| self.start != 0) else {
            return self.span;
        };
        // SAFETY: the address is that of a typed span, so the elements' descriptor is valid, as the span's creator has
        // promised.
        let typed = unsafe { *elements }.from(self.start);
        let typed = place.0.insert(typed);
        // SAFETY: the creator of the original span has promised it for these bytes, and the caller for `place`.
        unsafe { Span::typed(typed, self.span.len) }
    }

    /// Copies the first bytes of the area into `out`, which must not be longer than the area.
    pub fn read(&self, memory: &dyn UserMemory, out: &mut [u8]) {
        let mut place = TypedSlot::EMPTY;
        // SAFETY: `place` remains valid until the copy has completed.
        memory.read(unsafe { self.span(&mut place) }, 0, out);
    }

    /// Copies `bytes` to the start of the area. They must not be longer than the area.
    pub fn write(&self, memory: &mut dyn UserMemory, bytes: &[u8]) {
        let mut place = TypedSlot::EMPTY;
        // SAFETY: as in `read`.
        memory.write(unsafe { self.span(&mut place) }, 0, bytes);
    }
}

// SAFETY: it contains a pointer to a layout, which is only read, and which the span's creator keeps alive.
unsafe impl Send for TypedSlot {}

impl TypedSlot {
    /// Empty storage.
    pub const EMPTY: TypedSlot = TypedSlot(None);
}
