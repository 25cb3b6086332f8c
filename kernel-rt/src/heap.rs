//! The node's heap: one for Rust and C, over embedded-alloc.
//!
//! Every allocation and release runs with interrupts held off. On `virt` that takes a time that does not depend on the
//! number of blocks (two-level segregated fit); on a microcontroller, whose heap is small, the free blocks stand in one
//! list, of which the first that suffices is taken (first fit). Of what runs in interrupts, only the lending of memory to
//! the MPI device ([`crate::lend`]) uses the heap.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use critical_section::Mutex;
#[cfg(target_arch = "arm")]
use embedded_alloc::LlffHeap as Blocks;
#[cfg(not(target_arch = "arm"))]
use embedded_alloc::TlsfHeap as Blocks;
use midplane_abi::address::Bytes;

struct NodeHeap {
    heap: Blocks,
    /// Address from which on nothing was handed out yet: RAM that is zero, as it was at the start, and that costs
    /// the host nothing while it stays so.
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

/// What a reported free calls.
static FREED: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// Hands the heap its memory.
///
/// # Safety
/// `bytes` is RAM without another user, now or later, and zero. Called once, before anything is allocated.
pub unsafe fn init(bytes: Bytes) {
    HEAP.fresh
        .store(bytes.start as usize + AROUND, Ordering::Relaxed);
    // SAFETY: as the caller promises.
    unsafe { HEAP.heap.init(bytes.start as usize, bytes.len() as usize) };
    HEAP.size.store(bytes.len() as usize, Ordering::Relaxed);
}

/// How full the heap is.
pub fn fill() -> midplane_device::kernel::Heap {
    midplane_device::kernel::Heap {
        bytes: size(),
        used: HEAP.used.load(Ordering::Relaxed),
    }
}

/// Size in bytes.
pub fn size() -> usize {
    HEAP.size.load(Ordering::Relaxed)
}

/// Bytes not in use; what the allocator itself needs between blocks is among them.
pub fn free() -> usize {
    size() - HEAP.used.load(Ordering::Relaxed).min(size())
}

/// A free that is reported calls `freed`, with the memory back in the heap.
pub fn call_when_freed(freed: fn()) {
    critical_section::with(|cs| FREED.borrow(cs).set(freed));
}

/// From now on every free is reported, or not any more. The node's device wants it while messages stand
/// refused that the heap could lend memory for.
#[inline]
pub fn report_frees(wanted: bool) {
    HEAP.wanted.store(wanted, Ordering::Relaxed);
}

/// Greatest number of bytes ever in use, as they were asked for.
pub fn peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

/// What the allocator may write behind a block, and between the heap's start and its first block, at most, in bytes:
/// up to the next multiple of 32, and the header there, which is 32 long (rlsf's `GRANULARITY` and `FreeBlockHdr`). A list's
/// node, which is two words (linked_list_allocator's `Hole`), needs less.
const AROUND: usize = 64;

// SAFETY: everything is passed on to the heap, which is an allocator; the rest only counts, and zeroes what is not zero.
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

    /// Writes only what is not zero already.
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

/// Least alignment of C's memory in bytes (`max_align_t`): two words on every machine that a node is made of.
pub const C_ALIGN: usize = 2 * size_of::<usize>();

/// What stands in front of a block that C was given.
#[repr(C)]
struct CHeader {
    /// Size in bytes that was asked for.
    size: usize,
    /// The block's alignment, with the block's address and a pattern mixed in, so that what is no block,
    /// or was freed already, is recognised.
    mark: usize,
}

const C_HEADER: usize = size_of::<CHeader>();
const _: () = assert!(C_HEADER == C_ALIGN);
const MARK: usize = 0x6d69_6470_6c61_6e65u64 as usize;

/// The pointer does not name a block of this heap: never allocated, freed already, or overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotABlock;

/// Room in front of a block of alignment `align`, of which the header is the end.
fn front(align: usize) -> usize {
    align.max(C_HEADER)
}

fn c_layout(size: usize, align: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(front(align))?, align).ok()
}

/// Allocates for C: `size` bytes aligned to `align` (a power of two; at least [`C_ALIGN`] is given).
/// Null when the heap is used up.
pub fn c_alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the layout's size is not zero, it has the header.
    c_alloc_with(size, align, |layout| unsafe { HEAP.alloc(layout) })
}

/// As [`c_alloc`], all zero.
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
            .cast::<CHeader>()
            .write(CHeader { size, mark });
        block
    }
}

/// Size and alignment of a block that [`c_alloc`] gave.
///
/// # Safety
/// The memory in front of `block` is readable.
unsafe fn c_header(block: *mut u8) -> Result<(usize, usize), NotABlock> {
    if !block.addr().is_multiple_of(C_ALIGN) {
        return Err(NotABlock);
    }
    // SAFETY: as the caller promises.
    let header = unsafe { block.sub(C_HEADER).cast::<CHeader>().read() };
    let shift = header.mark ^ MARK ^ block.addr();
    let align = 1usize.checked_shl(shift as u32).filter(|_| shift < 48);
    let align = align.ok_or(NotABlock)?;
    c_layout(header.size, align).ok_or(NotABlock)?;
    Ok((header.size, align))
}

/// Size of a block in bytes as it was asked for.
///
/// # Safety
/// `block` came from [`c_alloc`]; most pointers that did not are recognised.
pub unsafe fn c_size(block: *mut u8) -> Result<usize, NotABlock> {
    // SAFETY: as the caller promises.
    Ok(unsafe { c_header(block) }?.0)
}

/// Frees a block.
///
/// # Safety
/// `block` came from [`c_alloc`] and is not used any more; most violations are recognised.
pub unsafe fn c_free(block: *mut u8) -> Result<(), NotABlock> {
    // SAFETY: as the caller promises.
    let (size, align) = unsafe { c_header(block) }?;
    let layout = c_layout(size, align).ok_or(NotABlock)?;
    // SAFETY: the header says how `c_alloc` got the block; without a mark it is none any more.
    unsafe {
        (*block.sub(C_HEADER).cast::<CHeader>()).mark = 0;
        HEAP.dealloc(block.sub(front(align)), layout);
    }
    Ok(())
}
