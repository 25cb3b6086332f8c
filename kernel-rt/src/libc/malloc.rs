//! Memory (C17 section 7.22.3). A pointer that is no block of this heap ends the program at once: going on
//! would corrupt memory that other ranks' messages land in.

use core::ffi::{c_int, c_void};
use core::ptr;

use super::errno::{EINVAL, ENOMEM};
use crate::arch::set_errno;
use crate::end::program_abort;
use crate::heap;

define!(
    malloc,
    calloc,
    free,
    realloc,
    aligned_alloc,
    memalign,
    posix_memalign,
    malloc_usable_size,
);

fn alloc(size: usize, align: usize) -> *mut c_void {
    let block = heap::c_alloc(size, align);
    if block.is_null() {
        set_errno(ENOMEM);
    }
    block.cast()
}

extern "C" fn malloc(size: usize) -> *mut c_void {
    alloc(size, heap::C_ALIGN)
}

extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        set_errno(ENOMEM);
        return ptr::null_mut();
    };
    let block = alloc(bytes, heap::C_ALIGN);
    if !block.is_null() {
        // SAFETY: the block has `bytes` bytes.
        unsafe { block.write_bytes(0, bytes) };
    }
    block
}

unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: C's promise.
    if !block.is_null() && unsafe { heap::c_free(block.cast()) }.is_err() {
        program_abort("free() of a pointer that malloc did not give, or that was freed already");
    }
}

unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    // SAFETY: C's promise.
    let Ok(old) = (unsafe { heap::c_size(block.cast()) }) else {
        program_abort("realloc() of a pointer that malloc did not give, or that was freed already");
    };
    let new = malloc(size);
    if !new.is_null() {
        // SAFETY: two blocks, of which each has at least this many bytes; the old one is C's to give.
        unsafe {
            ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
            free(block);
        }
    }
    new
}

extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(EINVAL);
        return ptr::null_mut();
    }
    alloc(size, align)
}

extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    aligned_alloc(align, size)
}

unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    let block = heap::c_alloc(size, align);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: C's promise.
    unsafe { out.write(block.cast()) };
    0
}

unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: C's promise.
    unsafe { heap::c_size(block.cast()) }.unwrap_or(0)
}
