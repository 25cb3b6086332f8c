//! The program's buffers, as the device sees them.
//!
//! The device keeps a [`Span`] for every request and never looks through it itself: bytes are copied by
//! the [`UserMemory`] that its carrier hands in. On a node and in the cluster that is [`RawMemory`], the
//! one place where the device's safe code meets the program's addresses; a model checker hands in memory
//! of its own.
//!
//! Bytes of a datatype with holes are not one behind the other. A span of such is *typed*: its address is that of a
//! [`Typed`] with the top bit set, and copies walk the datatype's [`Layout`]. The device knows nothing of it: it
//! reads and writes at offsets of the packed stream. No address of a program has that bit: on RISC-V and on hosts
//! of 64 bits user addresses end below 2^56, on the boards here below 2^32.

pub mod area;
pub mod blocks;
pub mod layout;
pub mod region;

use alloc::boxed::Box;

use crate::memory::blocks::Blocks;
use crate::memory::layout::Layout;
use crate::names::Packed;

/// Addresses below this are never a program's buffer, on any board or host: they are left to the spans of
/// models.
pub const MODEL_KEYS: usize = 0x1_0000;

/// Bytes that are copied at a time by way of the stack.
pub(crate) const COPY_CHUNK: usize = 256;

/// Set in the address of a typed span.
const TYPED: usize = 1 << (usize::BITS - 1);
/// No buffer of a program's lies at or above this address.
pub const END_OF_ADDRESSES: usize = TYPED;

/// Elements of a datatype with holes: what the address of a typed span leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Typed {
    /// The address of element 0.
    base: usize,
    /// Bytes from one element to the next.
    extent: isize,
    /// Where in the packed stream of the elements the span begins.
    start: isize,
    layout: *const Layout,
}

impl Typed {
    /// Elements `extent` bytes apart, element 0 at `base`. Only made here, not looked at: see [`Span::typed`].
    pub fn new(base: *const u8, extent: isize, layout: &Layout) -> Typed {
        Typed {
            base: base.expose_provenance(),
            extent,
            start: 0,
            layout,
        }
    }

    /// The same elements, beginning `offset` bytes of the packed stream further on.
    fn from(self, offset: isize) -> Typed {
        Typed {
            start: self.start + offset,
            ..self
        }
    }
}

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
    /// Unless `len` is 0, the address is not below [`MODEL_KEYS`], and none of the bytes lies at or above
    /// [`END_OF_ADDRESSES`]. Until the request that the span is given to has completed, the bytes must stay valid for
    /// reading (a send) or for reading and writing (a receive), and nothing else may write them (or, for a receive,
    /// read them): the rules that MPI-3.1 section 3.7.2 sets for a buffer in use.
    pub unsafe fn new(address: *const u8, len: usize) -> Span {
        Span {
            address: address.expose_provenance(),
            len,
        }
    }

    /// The first `len` bytes of the packed stream of these elements.
    ///
    /// # Safety
    /// As for [`Span::new`], for each byte of the stream that the span has; and `typed` and its layout stay where and
    /// what they are for as long.
    pub unsafe fn typed(typed: *const Typed, len: usize) -> Span {
        Span {
            address: typed.expose_provenance() | TYPED,
            len,
        }
    }

    /// Its bytes are elements of a datatype with holes.
    #[inline]
    pub fn is_typed(&self) -> bool {
        self.address & TYPED != 0
    }

    /// The elements of a typed span.
    #[inline]
    pub fn elements(&self) -> Option<*const Typed> {
        self.is_typed()
            .then(|| core::ptr::with_exposed_provenance(self.address & !TYPED))
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
    /// When they are not within the span, or it is typed: [`area::Area`] has parts of either kind.
    pub fn part(&self, offset: usize, len: usize) -> Span {
        assert!(offset <= self.len && len <= self.len - offset && !self.is_typed());
        Span {
            address: self.address + offset,
            len,
        }
    }

    /// The bytes of both, under the promises of both; `None` unless the other's follow in memory.
    pub(crate) fn joined(&self, next: Span) -> Option<Span> {
        let follows = self.address.checked_add(self.len) == Some(next.address);
        let are_plain = !self.is_typed() && !next.is_typed();
        (follows && are_plain && !next.is_empty()).then_some(Span {
            address: self.address,
            len: self.len + next.len,
        })
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
pub(crate) struct PackedSpan {
    address: Packed<usize>,
    len: u32,
}

impl PackedSpan {
    /// Packs it.
    #[inline]
    pub(crate) fn new(span: Span) -> PackedSpan {
        PackedSpan {
            address: Packed::new(span.address),
            len: u32::try_from(span.len).unwrap_or(u32::MAX),
        }
    }

    /// The span.
    #[inline]
    pub(crate) fn span(self) -> Span {
        Span {
            address: self.address.get(),
            len: self.len as usize,
        }
    }

    /// Its bytes.
    #[inline]
    pub(crate) fn len(self) -> u32 {
        self.len
    }

    /// No more than its first `len` bytes from now on.
    #[inline]
    pub(crate) fn cut(&mut self, len: u32) {
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
        copy_in_chunks(self, from, to, len);
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

    /// The same memory, for calls that are chosen while the program runs: what one-sided communication works on.
    /// `None`: there is none here.
    fn whole(&mut self) -> Option<&mut dyn UserMemory> {
        None
    }

    /// Takes a loan back.
    fn take_back(&mut self, loan: Blocks) {
        drop(loan);
    }
}

/// Copies by way of the stack.
// Out of the way of plain spans.
#[inline(never)]
fn copy_in_chunks<M: UserMemory + ?Sized>(memory: &mut M, from: Span, to: Span, len: usize) {
    let mut chunk = [0; COPY_CHUNK];
    for offset in (0..len).step_by(COPY_CHUNK) {
        let part = &mut chunk[..(len - offset).min(COPY_CHUNK)];
        memory.read(from, offset, part);
        memory.write(to, offset, part);
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
    #[inline(always)]
    fn address(span: Span, offset: usize, len: usize) -> usize {
        assert!(offset <= span.len && len <= span.len - offset);
        assert!(len == 0 || span.address >= MODEL_KEYS);
        span.address + offset
    }
}

/// Walks `len` bytes at `offset` of a typed span: `run` gets the address of some, how many of the `len` come before
/// them, and how many they are.
// Out of the way of plain spans, which are the most.
#[inline(never)]
fn walk(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    assert!(offset <= span.len && len <= span.len - offset);
    let Some(elements) = span.elements() else {
        return;
    };
    // SAFETY: the span is typed, so it comes from `Span::typed`, whose caller promised that both are there.
    let (typed, layout) = unsafe {
        let typed = *elements;
        (typed, &*typed.layout)
    };
    layout.walk(
        typed.extent,
        typed.start + offset as isize,
        len,
        |at, done, bytes| run(typed.base.wrapping_add_signed(at), done, bytes),
    );
}

/// A value in the program's heap; `None` when that has no room.
pub fn boxed<T>(value: T) -> Option<Box<T>> {
    boxed_with(|| value)
}

/// The value that `make` makes once there is room for it, so that one copy of it at most takes room on the stack.
// By hand: what a vector does when it grows, is dropped or has room left would be there for each type.
#[inline(always)]
pub fn boxed_with<T>(make: impl FnOnce() -> T) -> Option<Box<T>> {
    const { assert!(size_of::<T>() > 0, "it takes room") };
    // SAFETY: the layout's size is not zero.
    let room = unsafe { alloc::alloc::alloc(alloc::alloc::Layout::new::<T>()) }.cast::<T>();
    if room.is_null() {
        return None;
    }
    // SAFETY: there is room for a `T`, aligned for one, which is nobody else's.
    unsafe { room.write(make()) };
    // SAFETY: a box's memory has the layout of its value, and comes from this allocator.
    Some(unsafe { Box::from_raw(room) })
}

/// Walks `len` bytes at `offset` of a span, which need not be where it says: `run` gets the address of some, how many
/// of the `len` come before them, and how many they are.
pub fn runs(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    match span.is_typed() {
        true => walk(span, offset, len, run),
        false => run(span.address.wrapping_add(offset), 0, len),
    }
}

/// What is copied is one element more often than not: words are copied here, without a call.
const WORDS_HERE: usize = 16;

/// Copies a run; the two may overlap.
///
/// # Safety
/// The bytes may be read and written.
#[inline]
unsafe fn copy_run(from: *const u8, to: *mut u8, bytes: usize) {
    const WORD: usize = size_of::<u32>();
    const TWO: usize = size_of::<u64>();
    if cfg!(feature = "micro") {
        // SAFETY: the caller's promise.
        return unsafe { core::ptr::copy(from, to, bytes) };
    }
    if bytes == TWO && (from.addr() | to.addr()).is_multiple_of(TWO) {
        // SAFETY: the caller's promise; aligned.
        return unsafe { to.cast::<u64>().write(from.cast::<u64>().read()) };
    }
    if bytes > WORDS_HERE || !(from.addr() | to.addr() | bytes).is_multiple_of(WORD) {
        return if from.addr().abs_diff(to.addr()) >= bytes {
            // SAFETY: the caller's promise; they do not overlap.
            unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) }
        } else {
            // SAFETY: the caller's promise.
            unsafe { core::ptr::copy(from, to, bytes) }
        };
    }
    for at in (0..bytes).step_by(WORD) {
        // SAFETY: the caller's promise; whole words, and aligned.
        unsafe {
            to.add(at)
                .cast::<u32>()
                .write(from.add(at).cast::<u32>().read())
        }
    }
}

impl UserMemory for RawMemory {
    fn whole(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }

    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        if span.is_typed() {
            return walk(span, offset, out.len(), &mut |address, done, bytes| {
                let from = core::ptr::with_exposed_provenance::<u8>(address);
                // SAFETY: bytes of the span, so its maker promised that they may be read; as many are left of
                // `out` behind the `done`. They may overlap, as below.
                unsafe { copy_run(from, out.as_mut_ptr().add(done), bytes) }
            });
        }
        let from = core::ptr::with_exposed_provenance::<u8>(Self::address(span, offset, out.len()));
        // SAFETY: within the span and not a model's, as just checked, so it comes from `Span::new`, whose
        // caller promised that the bytes may be read. They may overlap, since a program may send from the buffer
        // that it (or another of its calls) receives into by mistake; that must not be undefined here.
        unsafe { copy_run(from, out.as_mut_ptr(), out.len()) }
    }

    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        if span.is_typed() {
            return walk(span, offset, bytes.len(), &mut |address, done, len| {
                let to = core::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: as in `read`; and a receive's bytes may be written.
                unsafe { copy_run(bytes.as_ptr().add(done), to, len) }
            });
        }
        let to =
            core::ptr::with_exposed_provenance_mut::<u8>(Self::address(span, offset, bytes.len()));
        // SAFETY: as in `read`; and a receive's bytes may be written.
        unsafe { copy_run(bytes.as_ptr(), to, bytes.len()) }
    }

    #[inline]
    fn copy(&mut self, from: Span, to: Span, len: usize) {
        if from.is_typed() || to.is_typed() {
            return copy_in_chunks(self, from, to, len);
        }
        let from = core::ptr::with_exposed_provenance::<u8>(Self::address(from, 0, len));
        let to = core::ptr::with_exposed_provenance_mut::<u8>(Self::address(to, 0, len));
        // SAFETY: as in `read` and in `write`.
        unsafe { copy_run(from, to, len) }
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

    /// Three columns of a matrix of bytes, from wherever a packet begins: by the span, and by its areas.
    #[test]
    fn a_typed_span_is_read_and_written_where_its_elements_lie() {
        const WIDTH: usize = 8;
        for (size, columns) in [(1, 3), (4, 1), (8, 1)] {
            let block = Layout::leaf(size, 1).expect("room");
            let row = block.repeated(columns, size as isize).expect("room");
            let layout = row.repeated(5, 3 * (WIDTH * size) as isize).expect("room");
            let mut matrix: Vec<u64> = (0..15 * WIDTH as u64)
                .map(|i| (i << 32) | (i * 3))
                .collect();
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut matrix);
            let wanted: Vec<u8> = (0..5 * columns * size)
                .map(|i| bytes[i / (columns * size) * 3 * WIDTH * size + i % (columns * size)])
                .collect();
            let typed = Typed::new(bytes.as_mut_ptr(), 1, &layout);
            // SAFETY: matrix, layout and `typed` live until the end of the copies.
            let span = unsafe { Span::typed(&typed, wanted.len()) };
            assert!(span.is_typed() && span.len() == wanted.len());
            for from in 0..wanted.len() {
                let mut out = vec![0; wanted.len() - from];
                RawMemory.read(span, from, &mut out);
                assert_eq!(out, wanted[from..]);
                let part = area::Area::from(span).part(from, wanted.len() - from);
                let mut again = vec![0; part.len()];
                part.read(&RawMemory, &mut again);
                assert_eq!(again, out);
                let turned: Vec<u8> = out.iter().map(|byte| !byte).collect();
                part.write(&mut RawMemory, &turned);
                RawMemory.read(span, from, &mut again);
                assert_eq!(again, turned);
                part.write(&mut RawMemory, &out);
            }
            let whole = size_of_val(&matrix[..15 * WIDTH * size / 8]);
            // SAFETY: as above.
            let plain = unsafe { Span::new(matrix.as_ptr().cast(), whole) };
            let (mut before, mut after) = (vec![0; whole], vec![0; whole]);
            RawMemory.read(plain, 0, &mut before);
            let turned: Vec<u8> = wanted.iter().map(|byte| !byte).collect();
            for (i, packet) in turned.chunks(7).enumerate() {
                RawMemory.write(span, 7 * i, packet);
            }
            let mut all = vec![0; wanted.len()];
            RawMemory.read(span, 0, &mut all);
            assert_eq!(all, turned);
            RawMemory.read(plain, 0, &mut after);
            let changed = before.iter().zip(&after).filter(|(a, b)| a != b);
            assert_eq!(changed.count(), wanted.len());
        }
    }

    #[test]
    fn no_address_of_a_program_is_taken_for_a_typed_spans() {
        let (local, boxed, constant) = (0u8, Box::new(0u8), &b"constant"[0]);
        let code = no_address_of_a_program_is_taken_for_a_typed_spans as fn();
        for address in [
            (&raw const local).addr(),
            (&raw const *boxed).addr(),
            (&raw const *constant).addr(),
            code as usize,
        ] {
            assert!(address < END_OF_ADDRESSES, "{address:#x}");
        }
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
