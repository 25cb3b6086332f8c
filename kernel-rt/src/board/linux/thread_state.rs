//! State of the lock of the MPI library ([`threads`](super::threads)) that the node and the progress thread read.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The program has requested MPI_THREAD_MULTIPLE: calls take the lock. Also read by the entries of C.
#[unsafe(export_name = "midplane_threads_are_enabled")]
pub static IS_ENABLED: AtomicBool = AtomicBool::new(false);
/// Thread that holds the lock; 0: none.
pub static OWNER: AtomicUsize = AtomicUsize::new(0);

/// The holder's wait is to sleep.
pub static IS_TO_SLEEP: AtomicBool = AtomicBool::new(false);
/// Maximum duration of that sleep in nanoseconds.
pub static SLEEP_LIMIT_NS: AtomicU64 = AtomicU64::new(0);
/// The holder's call has polled without result, and is to yield the processor.
pub static IS_TO_YIELD: AtomicBool = AtomicBool::new(false);
/// State of the thread that sleeps on the node's word.
pub static WAITER: AtomicU32 = AtomicU32::new(NO_WAITER);
/// No thread sleeps on it.
pub const NO_WAITER: u32 = 0;
/// It sleeps, or is about to, and the links are armed.
pub const ASLEEP: u32 = 1;
/// It has been woken, and has not taken the lock yet.
pub const WOKEN: u32 = 2;

/// Checks whether a thread is in a call or sleeps in one, so that the program does not compute from the links' point of
/// view. The progress thread must not receive a message between the last attempt of a wait and its sleep.
pub fn is_in_call() -> bool {
    OWNER.load(Ordering::Relaxed) != 0 || WAITER.load(Ordering::Relaxed) != NO_WAITER
}

/// Notes that the calling thread is to sleep for up to `limit_ns` after it has left the device. Returns false if one thread
/// at a time calls MPI, and may sleep in the device.
#[inline]
pub fn postpone_sleep(limit_ns: u64) -> bool {
    let is_enabled = IS_ENABLED.load(Ordering::Relaxed);
    if is_enabled {
        SLEEP_LIMIT_NS.store(limit_ns, Ordering::Relaxed);
        IS_TO_SLEEP.store(true, Ordering::Relaxed);
    }
    is_enabled
}

/// Notes that the calling thread is to yield the processor after it has released the lock: the other threads would wait
/// until the system runs it again. Returns false if one thread at a time calls MPI.
#[inline]
pub fn postpone_yield() -> bool {
    let is_enabled = IS_ENABLED.load(Ordering::Relaxed);
    if is_enabled {
        IS_TO_YIELD.store(true, Ordering::Relaxed);
    }
    is_enabled
}
