//! Callbacks of the program run without the lock of the library.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
use midplane_objects::installed;

/// Runs `callback`, a call of a function of the program. With MPI_THREAD_MULTIPLE other threads can call MPI meanwhile, so
/// that the function may wait for one of them. No caller holds a lock of a table.
// Nodes have no threads, and their images contain no code for them.
#[inline(always)]
pub(super) fn without_lock<R>(callback: impl FnOnce() -> R) -> R {
    #[cfg(target_os = "linux")]
    if let Some(threads) = installed::thread_support() {
        let depth = (threads.suspend)();
        let result = callback();
        (threads.resume)(depth);
        return result;
    }
    callback()
}
