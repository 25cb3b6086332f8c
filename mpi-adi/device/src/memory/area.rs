//! Areas: parts of the program's buffers, plain or typed, for what works through a buffer piece by piece.

use crate::memory::{Span, Typed, UserMemory};

/// Some bytes of a program's buffer. What it begins at in a typed one is told beside the span, since a span alone
/// cannot say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Area {
    span: Span,
    /// Bytes of the packed stream before it; 0 unless the span is typed.
    start: isize,
}

impl From<Span> for Area {
    fn from(span: Span) -> Area {
        Area { span, start: 0 }
    }
}

/// Where the elements of an area are told about while a request is under way for it.
#[derive(Clone, Copy, Default, Debug)]
pub struct TypedSlot(Option<Typed>);

impl Area {
    /// No bytes at all.
    pub const EMPTY: Area = Area {
        span: Span::EMPTY,
        start: 0,
    };

    /// Bytes.
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Where a plain one begins.
    pub fn address(&self) -> usize {
        self.span.address
    }

    /// No bytes.
    pub fn is_empty(&self) -> bool {
        self.span.is_empty()
    }

    /// The `len` bytes from `offset` on.
    ///
    /// # Panics
    /// When they are not within the area.
    pub fn part(&self, offset: usize, len: usize) -> Area {
        if !self.span.is_typed() {
            return self.span.part(offset, len).into();
        }
        assert!(offset <= self.len() && len <= self.len() - offset);
        self.moved(offset as isize, len)
    }

    /// `len` bytes from `offset` on, which may be before or behind it.
    pub fn moved(&self, offset: isize, len: usize) -> Area {
        let address = match self.span.is_typed() {
            true => self.span.address,
            false => self.span.address.wrapping_add_signed(offset),
        };
        Area {
            span: Span { address, len },
            start: match self.span.is_typed() {
                true => self.start + offset,
                false => 0,
            },
        }
    }

    /// The span of these bytes, whose elements are told about at `place` if need be.
    ///
    /// # Safety
    /// `place` stays where it is, and is not written, until the request that the span is given to has completed.
    pub unsafe fn span(&self, place: &mut TypedSlot) -> Span {
        let Some(elements) = self.span.elements().filter(|_| self.start != 0) else {
            return self.span;
        };
        // SAFETY: of a typed span, so what they are is there, as the maker of the span has promised.
        let typed = unsafe { *elements }.from(self.start);
        let typed = place.0.insert(typed);
        // SAFETY: the maker of the whole span has promised it for these bytes, and the caller for `place`.
        unsafe { Span::typed(typed, self.span.len) }
    }

    /// Copies its beginning into `out`, which is no longer.
    pub fn read(&self, memory: &dyn UserMemory, out: &mut [u8]) {
        let mut place = TypedSlot::EMPTY;
        // SAFETY: the place stays until the copy has been made.
        memory.read(unsafe { self.span(&mut place) }, 0, out);
    }

    /// Copies `bytes`, which are no more than it has, to its beginning.
    pub fn write(&self, memory: &mut dyn UserMemory, bytes: &[u8]) {
        let mut place = TypedSlot::EMPTY;
        // SAFETY: as in `read`.
        memory.write(unsafe { self.span(&mut place) }, 0, bytes);
    }
}

// SAFETY: it leads to a layout, which is only read, and which the maker of the span holds.
unsafe impl Send for TypedSlot {}

impl TypedSlot {
    /// Nothing told yet.
    pub const EMPTY: TypedSlot = TypedSlot(None);
}
