//! Buffers of the program, as the device sees them.
//!
//! The device stores a [`Span`] for each request and never dereferences it. The host environment provides a
//! [`UserMemory`], which copies the bytes. Nodes and the simulated cluster use [`RawMemory`]: the only code in which
//! the device's safe code accesses the program's addresses. A model checker provides its own memory.
//!
//! A *typed* span describes elements of a noncontiguous datatype. Its address is that of a [`TypedMemory`] with the top bit
//! set, and copies walk the datatype's [`Layout`]. The device itself reads and writes at offsets of the packed stream
//! and does not distinguish the two kinds. No address of a program has the top bit set: user addresses end below 2^56
//! on RISC-V and on 64-bit hosts, and below 2^32 on the supported boards.

pub mod blocks;
pub mod buffer_slice;
pub mod layout;
pub mod region;

use alloc::boxed::Box;

use crate::ids::PackedId;
use crate::memory::blocks::BlockArray;
use crate::memory::layout::Layout;

/// Lower bound of a program's buffer addresses, on every board and host. Addresses below it identify spans of models.
pub const MODEL_KEYS: usize = 0x1_0000;

/// Bytes per chunk of a copy through the stack.
pub(crate) const COPY_CHUNK: usize = 256;

/// Bit that marks the address of a typed span.
const TYPED: usize = 1 << (usize::BITS - 1);
/// Upper bound, exclusive, of a program's buffer addresses.
pub const END_OF_ADDRESSES: usize = TYPED;

/// Elements of a noncontiguous datatype: the target of a typed span's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct TypedMemory {
    /// Address of element 0.
    base: usize,
    /// Distance in bytes between consecutive elements.
    extent: isize,
    /// Offset of the span's first byte in the packed stream.
    start: isize,
    layout: *const Layout,
}

impl TypedMemory {
    /// Creates a descriptor of elements `extent` bytes apart, with element 0 at `base`. It accesses no memory; see
    /// [`Span::typed`].
    pub fn new(base: *const u8, extent: isize, layout: &Layout) -> TypedMemory {
        TypedMemory {
            base: base.expose_provenance(),
            extent,
            start: 0,
            layout,
        }
    }

    /// Returns the same elements, starting `offset` bytes later in the packed stream.
    #[must_use]
    pub fn from(self, offset: isize) -> TypedMemory {
        TypedMemory {
            start: self.start + offset,
            ..self
        }
    }
}

/// Buffer descriptor without a lifetime: start address and length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    address: usize,
    len: usize,
}

impl Span {
    /// Empty span.
    pub const EMPTY: Span = Span { address: 0, len: 0 };

    /// Creates a span of the `len` bytes at `address`.
    ///
    /// # Safety
    /// Unless `len` is 0, the address is not below [`MODEL_KEYS`], and all bytes lie below [`END_OF_ADDRESSES`]. Until
    /// the request that uses the span has completed, the bytes must stay valid for reading (a send) or for reading and
    /// writing (a receive), and nothing else may write them (or, for a receive, read them): the rules of MPI-3.1
    /// section 3.7.2 for a buffer in use.
    pub unsafe fn new(address: *const u8, len: usize) -> Span {
        Span {
            address: address.expose_provenance(),
            len,
        }
    }

    /// Creates a span of the first `len` bytes of the packed stream of these elements.
    ///
    /// # Safety
    /// The contract of [`Span::new`] applies to each byte of the stream in the span. `typed` and its layout must
    /// neither move nor change for as long.
    pub unsafe fn typed(typed: *const TypedMemory, len: usize) -> Span {
        Span {
            address: typed.expose_provenance() | TYPED,
            len,
        }
    }

    /// Checks whether the bytes are elements of a noncontiguous datatype.
    #[inline]
    pub fn is_typed(&self) -> bool {
        self.address & TYPED != 0
    }

    /// Returns the elements of a typed span.
    #[inline]
    pub fn elements(&self) -> Option<*const TypedMemory> {
        self.is_typed()
            .then(|| core::ptr::with_exposed_provenance(self.address & !TYPED))
    }

    /// Creates a span that only a model's memory interprets, identified by `key` below [`MODEL_KEYS`].
    ///
    /// # Panics
    /// If `key` is not below [`MODEL_KEYS`].
    pub const fn model(key: usize, len: usize) -> Span {
        assert!(key < MODEL_KEYS);
        Span { address: key, len }
    }

    /// Returns the start address.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the subspan of `len` bytes at `offset`, under the same safety contract.
    ///
    /// # Panics
    /// If the range exceeds the span, or if the span is typed. [`buffer_slice::BufferSlice`] supports subranges of both kinds.
    pub fn part(&self, offset: usize, len: usize) -> Span {
        assert!(offset <= self.len && len <= self.len - offset && !self.is_typed());
        Span {
            address: self.address + offset,
            len,
        }
    }

    /// Joins two plain spans, under the contracts of both. Returns `None` unless `next` starts where this span ends in
    /// memory.
    pub(crate) fn joined(&self, next: Span) -> Option<Span> {
        let follows = self.address.checked_add(self.len) == Some(next.address);
        let are_plain = !self.is_typed() && !next.is_typed();
        (follows && are_plain && !next.is_empty()).then_some(Span {
            address: self.address,
            len: self.len + next.len,
        })
    }

    /// Checks whether the span is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Packed span of 12 bytes, for storage in a request.
///
/// The length saturates at `u32::MAX`. No message is longer, so truncation and its detection are unaffected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedSpan {
    address: PackedId<usize>,
    len: u32,
}

impl PackedSpan {
    #[inline]
    pub(crate) fn new(span: Span) -> PackedSpan {
        PackedSpan {
            address: PackedId::new(span.address),
            len: u32::try_from(span.len).unwrap_or(u32::MAX),
        }
    }

    #[inline]
    pub(crate) fn span(self) -> Span {
        Span {
            address: self.address.get(),
            len: self.len as usize,
        }
    }

    /// Returns the length in bytes.
    #[inline]
    pub(crate) fn len(self) -> u32 {
        self.len
    }

    /// Truncates the span to its first `len` bytes.
    #[inline]
    pub(crate) fn truncate(&mut self, len: u32) {
        self.len = self.len.min(len);
    }
}

/// Memory of the program: its buffers, and the memory that its heap can loan.
///
/// Copies bytes from and to the program's buffers. The device has checked that `offset` and the length are within the
/// span. A host environment may also loan memory for incoming messages beyond the device's own reserve (paper 004,
/// section 4: one heap for the program and for MPI). The program has priority: memory that it needs, or may soon need,
/// is not available.
pub trait UserMemory {
    /// Copies `out.len()` bytes at `offset` of `span` into `out`.
    fn read(&self, span: Span, offset: usize, out: &mut [u8]);
    /// Copies `bytes` to `offset` of `span`.
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]);

    /// Copies the first `len` bytes of `from` to the start of `to`.
    fn copy(&mut self, from: Span, to: Span, len: usize) {
        copy_in_chunks(self, from, to, len);
    }

    /// Returns the number of blocks of [`BLOCK_BYTES`](blocks::BLOCK_BYTES) available for a loan; 0 if loans are not
    /// supported. When it grows other than by [`UserMemory::return_loan`], the host environment calls
    /// [`Adi::heap_freed`](crate::Adi::heap_freed).
    fn spare_blocks(&self) -> u32 {
        0
    }

    /// Allocates a loan of `count` blocks, at least 1. Returns `None` if fewer are available.
    fn lend(&mut self, count: u32) -> Option<BlockArray> {
        let _ = count;
        None
    }

    /// Returns this memory as a trait object, which one-sided communication requires. Returns `None` if it is not
    /// supported.
    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        None
    }

    /// Takes back a loan.
    fn return_loan(&mut self, loan: BlockArray) {
        drop(loan);
    }
}

/// Copies through a buffer on the stack.
// Outlined to keep it off the path of plain spans.
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
    /// Returns the address of the `len` bytes at `offset` of `span`.
    ///
    /// # Panics
    /// If the range exceeds the span, or if the span is a model's.
    #[inline(always)]
    fn address(span: Span, offset: usize, len: usize) -> usize {
        assert!(offset <= span.len && len <= span.len - offset);
        assert!(len == 0 || span.address >= MODEL_KEYS);
        span.address + offset
    }
}

/// Walks `len` bytes at `offset` of a typed span. `run` receives the address of each run, the bytes before it, and its
/// length.
// Outlined to keep it off the path of plain spans, the common case.
#[inline(never)]
fn walk(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    assert!(offset <= span.len && len <= span.len - offset);
    let Some(elements) = span.elements() else {
        return;
    };
    // SAFETY: the span is typed, so it was created by `Span::typed`, whose caller promised that both are valid.
    let (typed, layout) = unsafe {
        let typed = *elements;
        (typed, &*typed.layout)
    };
    layout.walk(typed.extent, typed.start + offset as isize, len, |at, done, bytes| {
        run(typed.base.wrapping_add_signed(at), done, bytes)
    });
}

/// Allocates a value in the program's heap. Returns `None` if the heap is full.
pub fn try_boxed<T>(value: T) -> Option<Box<T>> {
    try_boxed_with(|| value)
}

/// Allocates a box, then initializes it by `make`. The stack contains at most one copy of the value.
// Hand-written: a vector's code for growth, drop and spare capacity would be instantiated for each type.
#[inline(always)]
pub fn try_boxed_with<T>(make: impl FnOnce() -> T) -> Option<Box<T>> {
    const { assert!(size_of::<T>() > 0, "it takes room") };
    // SAFETY: the layout's size is not zero.
    let room = unsafe { alloc::alloc::alloc(alloc::alloc::Layout::new::<T>()) }.cast::<T>();
    if room.is_null() {
        return None;
    }
    // SAFETY: the allocation is large enough for a `T`, aligned for one, and not shared.
    unsafe { room.write(make()) };
    // SAFETY: the memory has the layout of the box's value and was allocated by this allocator.
    Some(unsafe { Box::from_raw(room) })
}

/// Walks `len` bytes at `offset` of a plain or typed span. `run` receives the address of each run, the bytes before it,
/// and its length. The memory itself is not accessed.
pub fn runs(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    if span.is_typed() {
        walk(span, offset, len, run)
    } else {
        run(span.address.wrapping_add(offset), 0, len)
    }
}

/// Maximum bytes that are copied inline, word by word. Most copies are a single element, which is not worth a call.
const WORDS_HERE: usize = 16;

/// Copies a run. The ranges may overlap.
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
        // SAFETY: the caller's promise; the length is a multiple of a word, and both are aligned.
        unsafe { to.add(at).cast::<u32>().write(from.add(at).cast::<u32>().read()) }
    }
}

impl UserMemory for RawMemory {
    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }

    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        if span.is_typed() {
            return walk(span, offset, out.len(), &mut |address, done, bytes| {
                let from = core::ptr::with_exposed_provenance::<u8>(address);
                // SAFETY: these are bytes of the span, so its creator promised that they may be read; `out` has at
                // least `bytes` bytes after the first `done`. They may overlap, as below.
                unsafe { copy_run(from, out.as_mut_ptr().add(done), bytes) }
            });
        }
        let from = core::ptr::with_exposed_provenance::<u8>(Self::address(span, offset, out.len()));
        // SAFETY: within the span and not a model's, as just checked, so the span was created by `Span::new`, whose
        // caller promised that the bytes may be read. They may overlap, since a program may by mistake send from a
        // buffer that it (or another of its calls) receives into; that must not be undefined behavior here.
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
        let to = core::ptr::with_exposed_provenance_mut::<u8>(Self::address(span, offset, bytes.len()));
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

    /// Copies three columns of a matrix of bytes, from every possible packet start: by the span, and by its areas.
    #[test]
    fn a_typed_span_is_read_and_written_where_its_elements_lie() {
        const WIDTH: usize = 8;
        for (size, columns) in [(1, 3), (4, 1), (8, 1)] {
            let block = Layout::leaf(size, 1).expect("room");
            let row = block.repeated(columns, size as isize).expect("room");
            let layout = row.repeated(5, 3 * (WIDTH * size) as isize).expect("room");
            let mut matrix: Vec<u64> = (0..15 * WIDTH as u64).map(|i| (i << 32) | (i * 3)).collect();
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut matrix);
            let wanted: Vec<u8> = (0..5 * columns * size)
                .map(|i| bytes[i / (columns * size) * 3 * WIDTH * size + i % (columns * size)])
                .collect();
            let typed = TypedMemory::new(bytes.as_mut_ptr(), 1, &layout);
            // SAFETY: matrix, layout and `typed` live until the end of the copies.
            let span = unsafe { Span::typed(&typed, wanted.len()) };
            assert!(span.is_typed() && span.len() == wanted.len());
            for from in 0..wanted.len() {
                let mut out = vec![0; wanted.len() - from];
                RawMemory.read(span, from, &mut out);
                assert_eq!(out, wanted[from..]);
                let part = buffer_slice::BufferSlice::from(span).part(from, wanted.len() - from);
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
