//! Memory (C17 section 7.22.3). A pointer that is no block of this heap ends the program immediately: otherwise it
//! could corrupt memory that receives other ranks' messages.

use core::ffi::{c_int, c_void};
use core::ptr;

use midplane_abi::failed_malloc::MallocFailure;

use super::errno::{EINVAL, ENOMEM};
use crate::abort::program_abort;
use crate::arch::set_errno;
use crate::heap;
use crate::records::MIDPLANE_FAILED_MALLOC;

define!(free, malloc_usable_size, sbrk, brk);

#[cfg(target_arch = "riscv64")]
macro_rules! return_address_as {
    ($argument:literal) => {
        concat!("mv a", $argument, ", ra")
    };
}

#[cfg(target_arch = "arm")]
macro_rules! return_address_as {
    ($argument:literal) => {
        concat!("mov r", $argument, ", lr")
    };
}

/// Defines C's names, as `define` does, for functions with an additional argument: the return address. The index of
/// that argument, from 0, is specified.
macro_rules! define_with_caller {
    ($($function:ident: $argument:literal),* $(,)?) => {
        $(core::arch::global_asm!(
            concat!(".section .text.libc.", stringify!($function), ", \"ax\""),
            concat!(".weak ", stringify!($function)),
            concat!(".type ", stringify!($function), ", ", function_type!()),
            concat!(stringify!($function), ":"),
            return_address_as!($argument),
            jump!(),
            function = sym $function,
        );)*
    };
}

define_with_caller!(
    malloc: 1,
    calloc: 2,
    realloc: 2,
    aligned_alloc: 2,
    memalign: 2,
    posix_memalign: 3,
);

/// Records a failed allocation of this size; the call returns to `from`.
fn failed(bytes: usize, from: usize) -> *mut c_void {
    MIDPLANE_FAILED_MALLOC.note(MallocFailure {
        bytes: bytes as u64,
        from: from as u64,
    });
    set_errno(ENOMEM);
    ptr::null_mut()
}

fn alloc(size: usize, align: usize, from: usize) -> *mut c_void {
    let block = heap::c_alloc(size, align);
    if block.is_null() {
        return failed(size, from);
    }
    block.cast()
}

extern "C" fn malloc(size: usize, from: usize) -> *mut c_void {
    alloc(size, heap::C_ALIGN, from)
}

extern "C" fn calloc(count: usize, size: usize, from: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        return failed(usize::MAX, from);
    };
    let block = heap::c_alloc_zeroed(bytes, heap::C_ALIGN);
    if block.is_null() {
        return failed(bytes, from);
    }
    block.cast()
}

unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: C's promise.
    if !block.is_null() && unsafe { heap::c_free(block.cast()) }.is_err() {
        program_abort("free() of a pointer that malloc did not give, or that was freed already");
    }
}

unsafe extern "C" fn realloc(block: *mut c_void, size: usize, from: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size, from);
    }
    // SAFETY: C's promise.
    let Ok(old) = (unsafe { heap::c_size(block.cast()) }) else {
        program_abort("realloc() of a pointer that malloc did not give, or that was freed already");
    };
    let new = malloc(size, from);
    if !new.is_null() {
        // SAFETY: two blocks, of which each has at least this many bytes; the old one is C's to give.
        unsafe {
            ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
            free(block);
        }
    }
    new
}

extern "C" fn aligned_alloc(align: usize, size: usize, from: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(EINVAL);
        return ptr::null_mut();
    }
    alloc(size, align, from)
}

extern "C" fn memalign(align: usize, size: usize, from: usize) -> *mut c_void {
    aligned_alloc(align, size, from)
}

unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize, from: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    let block = alloc(size, align, from);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: C's promise.
    unsafe { out.write(block) };
    0
}

unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: C's promise.
    unsafe { heap::c_size(block.cast()) }.unwrap_or(0)
}

/// Fails: the allocator owns the complete heap.
extern "C" fn sbrk(_: isize) -> *mut c_void {
    set_errno(ENOMEM);
    ptr::without_provenance_mut(usize::MAX)
}

extern "C" fn brk(_: *mut c_void) -> c_int {
    set_errno(ENOMEM);
    -1
}
