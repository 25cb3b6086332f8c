//! Loan limit of the process's heap: MPI may use the part of `--node-memory` that the program does not use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static SIZE: OnceLock<usize> = OnceLock::new();
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The MPI device waits for memory that the program may free.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Sets the limit of the program's memory and the loans together, in bytes.
pub fn set_size(bytes: usize) {
    // Called once.
    let _ = SIZE.set(bytes);
}

/// Returns the limit in bytes.
pub fn size() -> usize {
    SIZE.get().copied().unwrap_or(0)
}

/// Returns the bytes in use.
pub fn used() -> usize {
    // SAFETY: reads the allocator's statistics.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

/// Returns the maximum number of bytes in use that was sampled. The host's heap keeps no such statistic, and a sample
/// takes microseconds, so there is one at the program's end only.
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// Samples the number of bytes in use.
pub fn note_peak() {
    PEAK.fetch_max(used(), Ordering::Relaxed);
}

/// Returns the bytes not in use.
pub fn free() -> usize {
    size().saturating_sub(used())
}

/// Enables or disables the device's interest in freed memory.
pub fn report_frees(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Returns whether the device waits for freed memory: the host's `free` provides no notification.
pub fn is_free_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}
