//! The program's buffers, as the device sees them.
//!
//! The device keeps a [`Span`] for every request and never looks through it itself: bytes are copied by
//! the [`UserMemory`] that its carrier hands in. On a node and in the cluster that is [`RawMemory`], the
//! one place where the device's safe code meets the program's addresses; a model checker hands in memory
//! of its own.

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
    /// Until the request that the span is given to has completed, the bytes must stay valid for reading
    /// (a send) or for reading and writing (a receive), and nobody else may write them (or, for a
    /// receive, read them): the rules that MPI-3.1 section 3.7.2 sets for a buffer in use.
    pub unsafe fn new(address: *const u8, len: usize) -> Span {
        Span { address: address.expose_provenance(), len }
    }

    /// A span that only a model's memory understands; [`RawMemory`] must never see it.
    #[cfg(feature = "model")]
    pub const fn model(key: usize, len: usize) -> Span {
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

    /// No bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Copies bytes out of and into the program's buffers. `offset` and the length stay within the span: the
/// device has checked them.
pub trait UserMemory {
    /// Copies `out.len()` bytes at `offset` of `span` into `out`.
    fn read(&self, span: Span, offset: usize, out: &mut [u8]);
    /// Copies `bytes` to `offset` of `span`.
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]);
}

/// The machine's own memory.
#[derive(Debug)]
pub struct RawMemory(());

impl RawMemory {
    /// Access to the memory behind spans.
    ///
    /// # Safety
    /// Every span in the device that this is used with must come from [`Span::new`] in the same address
    /// space.
    pub const unsafe fn new() -> RawMemory {
        RawMemory(())
    }
}

impl UserMemory for RawMemory {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        assert!(offset <= span.len && out.len() <= span.len - offset);
        // SAFETY: within the span by the check above; the span is valid by the promise given to
        // `Span::new`, and it is of this address space by the promise given to `RawMemory::new`.
        unsafe { core::ptr::copy(core::ptr::with_exposed_provenance::<u8>(span.address + offset), out.as_mut_ptr(), out.len()) }
    }

    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        assert!(offset <= span.len && bytes.len() <= span.len - offset);
        // SAFETY: as in `read`; a receive's span may be written.
        unsafe { core::ptr::copy(bytes.as_ptr(), core::ptr::with_exposed_provenance_mut::<u8>(span.address + offset), bytes.len()) }
    }
}
