//! Unsupported functions, each with the standard's error result: shared memory of processes, shared libraries,
//! backtraces as texts. Programs that check first can continue.

use core::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use super::errno::{ENOSYS, fail, fail_long};
use crate::heap;

define!(
    shm_open,
    shm_unlink,
    shmget,
    shmat,
    shmdt,
    shmctl,
    semget,
    semop,
    semctl,
    ftok,
    dlopen,
    dlsym,
    dlclose,
    dlerror,
    dladdr,
    backtrace,
    backtrace_symbols,
    backtrace_symbols_fd,
    malloc_trim,
);

extern "C" fn shm_open(_: *const c_char, _: c_int, _: u32) -> c_int {
    fail(ENOSYS)
}

extern "C" fn shm_unlink(_: *const c_char) -> c_int {
    fail(ENOSYS)
}

extern "C" fn shmget(_: c_long, _: usize, _: c_int) -> c_int {
    fail(ENOSYS)
}

extern "C" fn shmat(_: c_int, _: *const c_void, _: c_int) -> *mut c_void {
    fail(ENOSYS);
    ptr::without_provenance_mut(usize::MAX)
}

extern "C" fn shmdt(_: *const c_void) -> c_int {
    fail(ENOSYS)
}

extern "C" fn shmctl(_: c_int, _: c_int, _: *mut c_void) -> c_int {
    fail(ENOSYS)
}

extern "C" fn semget(_: c_long, _: c_int, _: c_int) -> c_int {
    fail(ENOSYS)
}

extern "C" fn semop(_: c_int, _: *mut c_void, _: usize) -> c_int {
    fail(ENOSYS)
}

extern "C" fn semctl(_: c_int, _: c_int, _: c_int) -> c_int {
    fail(ENOSYS)
}

extern "C" fn ftok(_: *const c_char, _: c_int) -> c_long {
    fail_long(ENOSYS)
}

/// Whether `dlerror` has an error to report.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

extern "C" fn dlopen(_: *const c_char, _: c_int) -> *mut c_void {
    HAS_FAILED.store(true, Ordering::Relaxed);
    ptr::null_mut()
}

extern "C" fn dlsym(_: *mut c_void, _: *const c_char) -> *mut c_void {
    HAS_FAILED.store(true, Ordering::Relaxed);
    ptr::null_mut()
}

extern "C" fn dlclose(_: *mut c_void) -> c_int {
    HAS_FAILED.store(true, Ordering::Relaxed);
    -1
}

extern "C" fn dlerror() -> *const c_char {
    const WORDS: &CStr = c"a node has no shared libraries: link them in";
    if HAS_FAILED.swap(false, Ordering::Relaxed) {
        WORDS.as_ptr()
    } else {
        ptr::null()
    }
}

extern "C" fn dladdr(_: *const c_void, _: *mut c_void) -> c_int {
    0
}

/// Returns no callers; when a program fails, the tool reports its lines.
extern "C" fn backtrace(_: *mut *mut c_void, _: c_int) -> c_int {
    0
}

/// Returns an empty list, which the program frees.
extern "C" fn backtrace_symbols(_: *const *mut c_void, _: c_int) -> *mut *mut c_char {
    heap::c_alloc_zeroed(size_of::<c_ulong>(), heap::C_ALIGN).cast()
}

extern "C" fn backtrace_symbols_fd(_: *const *mut c_void, _: c_int, _: c_int) {}

/// Reports that no memory could be released.
extern "C" fn malloc_trim(_: usize) -> c_int {
    0
}
