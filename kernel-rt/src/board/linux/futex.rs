//! Waits on a word of memory: futex(2).

use std::ptr;
use std::sync::atomic::AtomicU32;

use super::clock::timespec_of;

/// Calls futex(2), with an optional timeout in nanoseconds. Its result is redundant: the word contains the state.
fn futex(word: &AtomicU32, operation: i32, value: u32, limit_ns: Option<u64>) {
    let limit = limit_ns.map(timespec_of);
    // SAFETY: the word outlives the call, and neither operation accesses anything else.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            value,
            limit.as_ref().map_or(ptr::null(), ptr::from_ref),
        );
    }
}

/// Wakes all waiters of the word.
pub fn futex_wake(word: &AtomicU32) {
    futex(word, libc::FUTEX_WAKE, i32::MAX as u32, None);
}

/// Waits while the word has this value, with an optional timeout in nanoseconds; it may return earlier.
pub fn futex_wait(word: &AtomicU32, value: u32, limit_ns: Option<u64>) {
    futex(word, libc::FUTEX_WAIT, value, limit_ns);
}
