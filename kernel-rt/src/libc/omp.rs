//! OpenMP's functions for a program compiled without directives (OpenMP 4.5, appendix A.1, stubs for runtime library
//! routines): thread 0 of 1, no device but the node. A lock that is set cannot be set again: the wait would last
//! forever, and ends the program.

use core::ffi::{c_int, c_void};
use core::ptr;

use super::errno::EINVAL;
use crate::abort::program_abort;
use crate::{clock, heap};

/// Defines functions that return a constant.
macro_rules! constant {
    ($($function:ident: $value:expr,)*) => {
        define!($($function),*);
        $(extern "C" fn $function() -> c_int {
            $value
        })*
    };
}

/// Defines setters without effect.
macro_rules! without_effect {
    ($($function:ident,)*) => {
        define!($($function),*);
        $(extern "C" fn $function(_: c_int) {})*
    };
}

/// The node's device ID, `omp_get_initial_device()`.
const HOST: c_int = -10;

constant! {
    omp_get_num_threads: 1,
    omp_get_max_threads: 1,
    omp_get_thread_num: 0,
    omp_get_num_procs: 1,
    omp_in_parallel: 0,
    omp_get_dynamic: 0,
    omp_get_cancellation: 0,
    omp_get_nested: 0,
    omp_get_thread_limit: 1,
    omp_get_max_active_levels: 0,
    omp_get_level: 0,
    omp_get_active_level: 0,
    omp_in_final: 1,
    omp_get_proc_bind: 0,
    omp_get_num_places: 0,
    omp_get_place_num: -1,
    omp_get_partition_num_places: 0,
    omp_get_default_device: 0,
    omp_get_num_devices: 0,
    omp_get_num_teams: 1,
    omp_get_team_num: 0,
    omp_is_initial_device: 1,
    omp_get_initial_device: HOST,
    omp_get_max_task_priority: 0,
    omp_get_supported_active_levels: 0,
}

without_effect! {
    omp_set_num_threads,
    omp_set_dynamic,
    omp_set_nested,
    omp_set_max_active_levels,
    omp_set_default_device,
}

define!(
    omp_set_schedule,
    omp_get_schedule,
    omp_get_ancestor_thread_num,
    omp_get_team_size,
    omp_get_place_num_procs,
    omp_get_place_proc_ids,
    omp_get_partition_place_nums,
    omp_get_wtime,
    omp_get_wtick,
    omp_init_lock,
    omp_init_lock_with_hint,
    omp_destroy_lock,
    omp_set_lock,
    omp_unset_lock,
    omp_test_lock,
    omp_init_nest_lock,
    omp_init_nest_lock_with_hint,
    omp_destroy_nest_lock,
    omp_set_nest_lock,
    omp_unset_nest_lock,
    omp_test_nest_lock,
    omp_target_alloc,
    omp_target_free,
    omp_target_is_present,
    omp_target_memcpy,
    omp_target_memcpy_rect,
    omp_target_associate_ptr,
    omp_target_disassociate_ptr,
);

extern "C" fn omp_set_schedule(_: c_int, _: c_int) {}

unsafe extern "C" fn omp_get_schedule(kind: *mut c_int, modifier: *mut c_int) {
    const STATIC: c_int = 1;
    // SAFETY: C's promises.
    unsafe {
        kind.write(STATIC);
        modifier.write(0);
    }
}

extern "C" fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
    if level == 0 { 0 } else { -1 }
}

extern "C" fn omp_get_team_size(level: c_int) -> c_int {
    if level == 0 { 1 } else { -1 }
}

extern "C" fn omp_get_place_num_procs(_: c_int) -> c_int {
    0
}

extern "C" fn omp_get_place_proc_ids(_: c_int, _: *mut c_int) {}

extern "C" fn omp_get_partition_place_nums(_: *mut c_int) {}

extern "C" fn omp_get_wtime() -> f64 {
    clock::now_ns() as f64 / 1e9
}

extern "C" fn omp_get_wtick() -> f64 {
    clock::ns(1).max(1) as f64 / 1e9
}

/// `omp_lock_t` and `omp_nest_lock_t` of the project's omp.h: the nesting count, or -1 if it was not initialized.
type OmpLock = c_int;
const NOT_MADE: OmpLock = -1;

/// Returns the lock if it was initialized; otherwise ends the program.
///
/// # Safety
/// The pointer is valid.
unsafe fn made<'l>(lock: *mut OmpLock) -> &'l mut OmpLock {
    // SAFETY: the caller's promise.
    match unsafe { &mut *lock } {
        lock if *lock >= 0 => lock,
        _ => program_abort("OpenMP: a lock is used that was not made by omp_init_lock()"),
    }
}

unsafe extern "C" fn omp_init_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    unsafe { lock.write(0) };
}

unsafe extern "C" fn omp_init_lock_with_hint(lock: *mut OmpLock, _: c_int) {
    // SAFETY: C's promise.
    unsafe { omp_init_lock(lock) };
}

unsafe extern "C" fn omp_destroy_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    unsafe { lock.write(NOT_MADE) };
}

unsafe extern "C" fn omp_set_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    if unsafe { omp_test_lock(lock) } == 0 {
        program_abort("omp_set_lock(): the one thread has the lock, nothing could ever end this wait");
    }
}

unsafe extern "C" fn omp_unset_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    match unsafe { made(lock) } {
        0 => program_abort("omp_unset_lock(): the lock is not set"),
        lock => *lock = 0,
    }
}

unsafe extern "C" fn omp_test_lock(lock: *mut OmpLock) -> c_int {
    // SAFETY: C's promise.
    let lock = unsafe { made(lock) };
    let is_free = *lock == 0;
    *lock = 1;
    is_free.into()
}

unsafe extern "C" fn omp_init_nest_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    unsafe { omp_init_lock(lock) };
}

unsafe extern "C" fn omp_init_nest_lock_with_hint(lock: *mut OmpLock, _: c_int) {
    // SAFETY: C's promise.
    unsafe { omp_init_lock(lock) };
}

unsafe extern "C" fn omp_destroy_nest_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    unsafe { omp_destroy_lock(lock) };
}

unsafe extern "C" fn omp_set_nest_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    unsafe { omp_test_nest_lock(lock) };
}

unsafe extern "C" fn omp_unset_nest_lock(lock: *mut OmpLock) {
    // SAFETY: C's promise.
    match unsafe { made(lock) } {
        0 => program_abort("omp_unset_nest_lock(): the lock is not set"),
        lock => *lock -= 1,
    }
}

/// Increments the nesting count and returns it.
unsafe extern "C" fn omp_test_nest_lock(lock: *mut OmpLock) -> c_int {
    // SAFETY: C's promise.
    let lock = unsafe { made(lock) };
    *lock = lock.saturating_add(1);
    *lock
}

extern "C" fn omp_target_alloc(bytes: usize, device: c_int) -> *mut c_void {
    match device {
        HOST => heap::c_alloc(bytes, heap::C_ALIGN).cast(),
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn omp_target_free(block: *mut c_void, _: c_int) {
    if !block.is_null() {
        // SAFETY: C's promise. OpenMP defines no way to report an invalid block.
        let _ = unsafe { heap::c_free(block.cast()) };
    }
}

/// Returns true: all memory belongs to the node.
extern "C" fn omp_target_is_present(_: *const c_void, _: c_int) -> c_int {
    1
}

unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if (to_device, from_device) != (HOST, HOST) || to.is_null() || from.is_null() {
        return EINVAL;
    }
    // SAFETY: C's promises.
    unsafe {
        let to = to.cast::<u8>().add(to_offset);
        to.copy_from(from.cast::<u8>().add(from_offset), bytes);
    }
    0
}

/// Fails as the standard's stub does.
extern "C" fn omp_target_memcpy_rect(_: *mut c_void, _: *const c_void, _: usize) -> c_int {
    EINVAL
}

extern "C" fn omp_target_associate_ptr(_: *const c_void, _: *const c_void) -> c_int {
    EINVAL
}

extern "C" fn omp_target_disassociate_ptr(_: *const c_void, _: c_int) -> c_int {
    EINVAL
}
