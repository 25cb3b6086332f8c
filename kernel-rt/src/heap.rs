//! The node's heap: one allocator for Rust and C, over embedded-alloc.
//!
//! Every allocation and release runs with interrupts masked. On `virt` their time does not depend on the number of
//! blocks (two-level segregated fit). On a microcontroller with its small heap, the free blocks form one list, and the
//! first sufficient block is used (first fit). Among interrupt handlers, only the loan of memory to the MPI device
//! ([`crate::heap_loan`]) uses the heap.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use critical_section::Mutex;
#[cfg(target_arch = "arm")]
use embedded_alloc::LlffHeap as Blocks;
#[cfg(not(target_arch = "arm"))]
use embedded_alloc::TlsfHeap as Blocks;
use midplane_abi::address::AddressRange;

struct NodeHeap {
    heap: Blocks,
    /// Start of the memory that was never allocated: RAM that is still zero and that uses no host memory while
    /// untouched.
    fresh: AtomicUsize,
    size: AtomicUsize,
    used: AtomicUsize,
    peak: AtomicUsize,
    /// Every free is reported.
    wanted: AtomicBool,
}

#[global_allocator]
static HEAP: NodeHeap = NodeHeap {
    heap: Blocks::empty(),
    fresh: AtomicUsize::new(0),
    size: AtomicUsize::new(0),
    used: AtomicUsize::new(0),
    peak: AtomicUsize::new(0),
    wanted: AtomicBool::new(false),
};

/// Callback of a reported free.
static FREED: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// Initializes the heap with its memory.
///
/// # Safety
/// `bytes` is RAM without another user, now or later, and zero. Called once, before anything is allocated.
pub unsafe fn init(bytes: AddressRange) {
    HEAP.fresh.store(bytes.start as usize + AROUND, Ordering::Relaxed);
    // SAFETY: as the caller promises.
    unsafe { HEAP.heap.init(bytes.start as usize, bytes.len() as usize) };
    HEAP.size.store(bytes.len() as usize, Ordering::Relaxed);
}

/// Returns the size and use of the heap.
pub fn fill() -> midplane_device::kernel::HeapUsage {
    midplane_device::kernel::HeapUsage {
        bytes: size(),
        used: HEAP.used.load(Ordering::Relaxed),
    }
}

/// Returns the size in bytes.
pub fn size() -> usize {
    HEAP.size.load(Ordering::Relaxed)
}

/// Returns the number of bytes not in use, including the allocator's overhead between blocks.
pub fn free() -> usize {
    size() - HEAP.used.load(Ordering::Relaxed).min(size())
}

/// Registers `freed`, called after each reported free, with the memory back in the heap.
pub fn call_when_freed(freed: fn()) {
    critical_section::with(|cs| FREED.borrow(cs).set(freed));
}

/// Enables or disables the report of every free. The MPI device enables it while messages are rejected (NCTS, not clear
/// to send) that the heap could lend memory for.
#[inline]
pub fn report_frees(wanted: bool) {
    HEAP.wanted.store(wanted, Ordering::Relaxed);
}

/// Returns the maximum number of requested bytes ever in use.
pub fn peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

/// Maximum number of bytes that the allocator may write after a block, and between the heap's start and its first
/// block: up to the next multiple of 32, and the header there, which is 32 bytes long (rlsf's `GRANULARITY` and
/// `FreeBlockHdr`). A list node, two machine words (linked_list_allocator's `Hole`), needs less.
const AROUND: usize = 64;

// SAFETY: everything is passed on to the heap, which is an allocator; the rest only counts, and zeroes non-zero bytes.
unsafe impl GlobalAlloc for NodeHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the heap's.
        let block = unsafe { self.heap.alloc(layout) };
        if !block.is_null() {
            let used = self.used.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
            self.peak.fetch_max(used, Ordering::Relaxed);
            let end = block.addr() + layout.size() + AROUND;
            self.fresh.fetch_max(end, Ordering::Relaxed);
        }
        block
    }

    /// Zeroes only the part of the block that was used before.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (block, fresh) = critical_section::with(|_| {
            let fresh = self.fresh.load(Ordering::Relaxed);
            // SAFETY: the caller's promises are the heap's.
            (unsafe { self.alloc(layout) }, fresh)
        });
        if !block.is_null() {
            let used_before = fresh.saturating_sub(block.addr()).min(layout.size());
            // SAFETY: within the block.
            unsafe { block.write_bytes(0, used_before) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the heap's.
        unsafe { self.heap.dealloc(block, layout) };
        self.used.fetch_sub(layout.size(), Ordering::Relaxed);
        if self.wanted.load(Ordering::Relaxed) {
            critical_section::with(|cs| FREED.borrow(cs).get())();
        }
    }
}

/// Minimum alignment of C's memory in bytes (`max_align_t`): two machine words on every supported processor.
pub const C_ALIGN: usize = 2 * size_of::<usize>();

/// Header in front of a block allocated for C.
#[repr(C)]
struct BlockHeader {
    /// Requested size in bytes.
    size: usize,
    /// The block's alignment, combined with its address and a pattern, to detect pointers that are no block or were
    /// freed already.
    mark: usize,
}

const C_HEADER: usize = size_of::<BlockHeader>();
const _: () = assert!(C_HEADER == C_ALIGN);
const MARK: usize = 0x6d69_6470_6c61_6e65u64 as usize;

/// Error: the pointer does not identify a block of this heap. It was never allocated, was freed, or was overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidBlock;

/// Returns the bytes in front of a block of alignment `align`; the header is at their end.
fn front(align: usize) -> usize {
    align.max(C_HEADER)
}

fn c_layout(size: usize, align: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(front(align))?, align).ok()
}

/// Allocates for C: `size` bytes aligned to `align` (a power of two; at least [`C_ALIGN`] is used). Returns null when
/// the heap is exhausted.
pub fn c_alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the layout's size is not zero, it has the header.
    c_alloc_with(size, align, |layout| unsafe { HEAP.alloc(layout) })
}

/// Allocates as [`c_alloc`] does and zeroes the block.
pub fn c_alloc_zeroed(size: usize, align: usize) -> *mut u8 {
    // SAFETY: as in `c_alloc`.
    c_alloc_with(size, align, |layout| unsafe { HEAP.alloc_zeroed(layout) })
}

fn c_alloc_with(size: usize, align: usize, alloc: impl Fn(Layout) -> *mut u8) -> *mut u8 {
    let align = align.max(C_ALIGN);
    let Some(layout) = c_layout(size, align) else {
        return core::ptr::null_mut();
    };
    let base = alloc(layout);
    if base.is_null() {
        return base;
    }
    // SAFETY: the block has `front(align)` bytes before the `size` that C gets, and the header fits
    // there, aligned because the front is a multiple of its size.
    unsafe {
        let block = base.add(front(align));
        let mark = MARK ^ block.addr() ^ align.trailing_zeros() as usize;
        block
            .sub(C_HEADER)
            .cast::<BlockHeader>()
            .write(BlockHeader { size, mark });
        block
    }
}

/// Returns size and alignment of a block from [`c_alloc`].
///
/// # Safety
/// The memory in front of `block` is readable.
unsafe fn c_header(block: *mut u8) -> Result<(usize, usize), InvalidBlock> {
    if !block.addr().is_multiple_of(C_ALIGN) {
        return Err(InvalidBlock);
    }
    // SAFETY: as the caller promises.
    let header = unsafe { block.sub(C_HEADER).cast::<BlockHeader>().read() };
    let shift = header.mark ^ MARK ^ block.addr();
    let align = 1usize.checked_shl(shift as u32).filter(|_| shift < 48);
    let align = align.ok_or(InvalidBlock)?;
    c_layout(header.size, align).ok_or(InvalidBlock)?;
    Ok((header.size, align))
}

/// Returns the requested size of a block in bytes.
///
/// # Safety
/// `block` came from [`c_alloc`]; most pointers that did not are detected.
pub unsafe fn c_size(block: *mut u8) -> Result<usize, InvalidBlock> {
    // SAFETY: as the caller promises.
    Ok(unsafe { c_header(block) }?.0)
}

/// Frees a block.
///
/// # Safety
/// `block` came from [`c_alloc`] and is not used any more; most violations are detected.
pub unsafe fn c_free(block: *mut u8) -> Result<(), InvalidBlock> {
    // SAFETY: as the caller promises.
    let (size, align) = unsafe { c_header(block) }?;
    let layout = c_layout(size, align).ok_or(InvalidBlock)?;
    // SAFETY: the header describes how `c_alloc` allocated the block; without a mark it is no longer a block.
    unsafe {
        (*block.sub(C_HEADER).cast::<BlockHeader>()).mark = 0;
        HEAP.dealloc(block.sub(front(align)), layout);
    }
    Ok(())
}
