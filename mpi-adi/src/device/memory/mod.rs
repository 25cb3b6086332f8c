//! The program's buffers, as the device sees them.
//!
//! The device keeps a [`Span`] for every request and never looks through it itself: bytes are copied by
//! the [`UserMemory`] that its carrier hands in. On a node and in the cluster that is [`RawMemory`], the
//! one place where the device's safe code meets the program's addresses; a model checker hands in memory
//! of its own.

pub mod blocks;
pub mod region;

use crate::device::memory::blocks::Blocks;
use crate::device::names::Packed;

/// Addresses below this are never a program's buffer, on any board or host: they are left to the spans of
/// models.
pub const MODEL_KEYS: usize = 4096;

/// Bytes that are copied at a time by way of the stack.
pub(in crate::device) const COPY_CHUNK: usize = 256;

/// A program's buffer: where it begins and how many bytes it has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    address: usize,
    len: usize,
}

impl Span {
    /// No bytes at all.
    pub const EMPTY: Span = Span { address: 0, len: 0 };

    /// The `len` bytes at `address`.
    ///
    /// # Safety
    /// Unless `len` is 0, the address is not below [`MODEL_KEYS`]. Until the request that the span is given to
    /// has completed, the bytes must stay valid for reading (a send) or for reading and writing (a receive), and nothing else may write them (or, for a
    /// receive, read them): the rules that MPI-3.1 section 3.7.2 sets for a buffer in use.
    pub unsafe fn new(address: *const u8, len: usize) -> Span {
        Span {
            address: address.expose_provenance(),
            len,
        }
    }

    /// A span that only a model's memory understands, named by `key` below [`MODEL_KEYS`].
    ///
    /// # Panics
    /// When `key` is not below [`MODEL_KEYS`].
    pub const fn model(key: usize, len: usize) -> Span {
        assert!(key < MODEL_KEYS);
        Span { address: key, len }
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The `len` bytes from `offset` on, under the same promise.
    ///
    /// # Panics
    /// When they are not within the span.
    pub fn part(&self, offset: usize, len: usize) -> Span {
        assert!(offset <= self.len && len <= self.len - offset);
        Span {
            address: self.address + offset,
            len,
        }
    }

    /// No bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A span as a request keeps it: in twelve bytes.
///
/// A longer one is cut off at the greatest `u32`. No message is longer, so what of it fits, and whether all of it
/// does, is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::device) struct PackedSpan {
    address: Packed<usize>,
    len: u32,
}

impl PackedSpan {
    /// Packs it.
    #[inline]
    pub(in crate::device) fn new(span: Span) -> PackedSpan {
        PackedSpan {
            address: Packed::new(span.address),
            len: u32::try_from(span.len).unwrap_or(u32::MAX),
        }
    }

    /// The span.
    #[inline]
    pub(in crate::device) fn span(self) -> Span {
        Span {
            address: self.address.get(),
            len: self.len as usize,
        }
    }

    /// Its bytes.
    #[inline]
    pub(in crate::device) fn len(self) -> u32 {
        self.len
    }

    /// No more than its first `len` bytes from now on.
    #[inline]
    pub(in crate::device) fn cut(&mut self, len: u32) {
        self.len = self.len.min(len);
    }
}

/// The program's memory: its buffers, and what its heap can spare.
///
/// Copies bytes out of and into the program's buffers; `offset` and the length stay within the span, the
/// device has checked them. Lends memory for incoming messages beyond the device's own reserve (paper 004,
/// section 4: one heap for the program and for MPI), if the carrier wants to: the program comes first, so
/// what it needs or may soon need is not to spare.
pub trait UserMemory {
    /// Copies `out.len()` bytes at `offset` of `span` into `out`.
    fn read(&self, span: Span, offset: usize, out: &mut [u8]);
    /// Copies `bytes` to `offset` of `span`.
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]);

    /// Copies the first `len` bytes of `from` to those of `to`.
    fn copy(&mut self, from: Span, to: Span, len: usize) {
        let mut chunk = [0; COPY_CHUNK];
        for offset in (0..len).step_by(COPY_CHUNK) {
            let part = &mut chunk[..(len - offset).min(COPY_CHUNK)];
            self.read(from, offset, part);
            self.write(to, offset, part);
        }
    }

    /// Blocks of [`BLOCK_BYTES`](blocks::BLOCK_BYTES) that could be lent now; 0 when nothing is ever lent. When it grows other than by [`UserMemory::take_back`], the carrier calls
    /// [`Adi::heap_freed`](crate::Adi::heap_freed).
    fn spare_blocks(&self) -> u32 {
        0
    }

    /// Lends `count` blocks, at least 1; `None` when there are not as many to spare.
    fn lend(&mut self, count: u32) -> Option<Blocks> {
        let _ = count;
        None
    }

    /// Takes a loan back.
    fn take_back(&mut self, loan: Blocks) {
        drop(loan);
    }
}

/// The machine's own memory.
#[derive(Clone, Copy, Default, Debug)]
pub struct RawMemory;

impl RawMemory {
    /// The address of the `len` bytes at `offset` of `span`.
    ///
    /// # Panics
    /// When they are not within the span, or the span is a model's.
    fn address(span: Span, offset: usize, len: usize) -> usize {
        assert!(offset <= span.len && len <= span.len - offset);
        assert!(len == 0 || span.address >= MODEL_KEYS);
        span.address + offset
    }
}

impl UserMemory for RawMemory {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        let from = core::ptr::with_exposed_provenance::<u8>(Self::address(span, offset, out.len()));
        // SAFETY: within the span and not a model's, as just checked, so it comes from `Span::new`, whose
        // caller promised that the bytes may be read. `copy`, since a program may send from the buffer
        // that it (or another of its calls) receives into by mistake; that must not be undefined here.
        unsafe { core::ptr::copy(from, out.as_mut_ptr(), out.len()) }
    }

    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        let to =
            core::ptr::with_exposed_provenance_mut::<u8>(Self::address(span, offset, bytes.len()));
        // SAFETY: as in `read`; and a receive's bytes may be written.
        unsafe { core::ptr::copy(bytes.as_ptr(), to, bytes.len()) }
    }

    fn copy(&mut self, from: Span, to: Span, len: usize) {
        let from = core::ptr::with_exposed_provenance::<u8>(Self::address(from, 0, len));
        let to = core::ptr::with_exposed_provenance_mut::<u8>(Self::address(to, 0, len));
        // SAFETY: as in `read` and in `write`.
        unsafe { core::ptr::copy(from, to, len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_memory_copies_out_of_and_into_the_programs_buffers_and_lends_nothing() {
        let mut buffer = [1, 2, 3, 4, 5, 6];
        // SAFETY: the buffer lives, and is used only through the span, until the end of the test's copies.
        let span = unsafe { Span::new(buffer.as_mut_ptr(), buffer.len()) };
        let part = span.part(2, 3);
        assert_eq!((part.len(), part.is_empty()), (3, false));
        assert!(span.part(6, 0).is_empty() && Span::EMPTY.is_empty());
        let mut out = [0; 2];
        RawMemory.read(part, 1, &mut out);
        assert_eq!(out, [4, 5]);
        RawMemory.write(part, 2, &[9]);
        RawMemory.read(span, 4, &mut out);
        assert_eq!(out, [9, 6]);
        assert_eq!(RawMemory.spare_blocks(), 0);
        assert!(RawMemory.lend(1).is_none());
        assert_eq!(buffer, [1, 2, 3, 4, 9, 6]);
    }

    #[test]
    fn what_is_not_within_a_span_is_not_copied() {
        for (offset, len) in [(0, 5), (5, 0), (4, 1), (usize::MAX, 2)] {
            let span = Span::model(7, 4);
            assert!(std::panic::catch_unwind(|| span.part(offset, len)).is_err());
            let read = || RawMemory.read(span, offset, &mut vec![0; len]);
            assert!(std::panic::catch_unwind(read).is_err());
        }
        let of_a_model = || RawMemory.read(Span::model(7, 4), 0, &mut [0]);
        assert!(std::panic::catch_unwind(of_a_model).is_err());
    }
}
