//! Anonymous memory by `mmap`: pages of the heap. Nothing is swapped or protected.

use core::ffi::{c_int, c_void};

use super::errno::{EINVAL, ENODEV, ENOMEM, ENOTSUP, fail};
use crate::arch::set_errno;
use crate::heap;

define!(
    mmap, munmap, mprotect, msync, madvise, mlock, munlock, mlockall, munlockall
);

const PAGE: usize = 4096;

unsafe extern "C" fn mmap(_: *mut c_void, bytes: usize, _: c_int, flags: c_int, _: c_int, _: i64) -> *mut c_void {
    // The project's sys/mman.h.
    const MAP_FIXED: c_int = 0x10;
    const MAP_ANONYMOUS: c_int = 0x20;
    let failed = |errno| {
        set_errno(errno);
        core::ptr::without_provenance_mut(usize::MAX)
    };
    if bytes == 0 {
        return failed(EINVAL);
    }
    if flags & MAP_ANONYMOUS == 0 {
        return failed(ENODEV);
    }
    let whole = bytes.checked_next_multiple_of(PAGE);
    let (Some(whole), 0) = (whole, flags & MAP_FIXED) else {
        return failed(ENOMEM);
    };
    let block = heap::c_alloc_zeroed(whole, PAGE);
    if block.is_null() {
        return failed(ENOMEM);
    }
    block.cast()
}

/// Unmaps a complete mapping.
unsafe extern "C" fn munmap(start: *mut c_void, bytes: usize) -> c_int {
    if start.is_null() || !start.addr().is_multiple_of(PAGE) {
        return fail(EINVAL);
    }
    // SAFETY: C's promise that it came from `mmap`.
    let freed = unsafe {
        match heap::c_size(start.cast()) {
            Ok(size) if Some(size) == bytes.checked_next_multiple_of(PAGE) => heap::c_free(start.cast()),
            _ => Err(heap::InvalidBlock),
        }
    };
    match freed {
        Ok(()) => 0,
        Err(heap::InvalidBlock) => fail(EINVAL),
    }
}

/// All memory is readable and writable; restrictions are not supported.
extern "C" fn mprotect(_: *mut c_void, _: usize, protection: c_int) -> c_int {
    const READ_AND_WRITE: c_int = 3;
    if protection & READ_AND_WRITE == READ_AND_WRITE {
        return 0;
    }
    fail(ENOTSUP)
}

extern "C" fn msync(_: *mut c_void, _: usize, _: c_int) -> c_int {
    0
}

extern "C" fn madvise(_: *mut c_void, _: usize, _: c_int) -> c_int {
    0
}

extern "C" fn mlock(_: *const c_void, _: usize) -> c_int {
    0
}

extern "C" fn munlock(_: *const c_void, _: usize) -> c_int {
    0
}

extern "C" fn mlockall(_: c_int) -> c_int {
    0
}

extern "C" fn munlockall() -> c_int {
    0
}
