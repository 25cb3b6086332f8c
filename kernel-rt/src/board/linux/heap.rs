//! What the process's own heap could lend to MPI: as much as `--node-memory` leaves beside what is in use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static SIZE: OnceLock<usize> = OnceLock::new();
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The MPI device waits for memory that the program may free.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Says how much the program and what is lent may take, in bytes.
pub fn set_size(bytes: usize) {
    // Said once.
    let _ = SIZE.set(bytes);
}

/// Size in bytes.
pub fn size() -> usize {
    SIZE.get().copied().unwrap_or(0)
}

/// Bytes in use.
pub fn used() -> usize {
    // SAFETY: reads the allocator's own sums.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

/// Greatest number of bytes in use that was seen: the host's heap keeps no account of it, and to ask it takes
/// microseconds, so that is done at the program's end only.
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// Looks how many bytes are in use.
pub fn note_peak() {
    PEAK.fetch_max(used(), Ordering::Relaxed);
}

/// Bytes not in use.
pub fn free() -> usize {
    size().saturating_sub(used())
}

/// From now on the device wants to know of freed memory, or not any more.
pub fn report_frees(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Whether memory may have been freed that the device waits for: the host's `free` does not tell.
pub fn is_free_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}
