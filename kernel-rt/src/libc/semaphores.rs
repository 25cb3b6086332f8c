//! Semaphores for one thread: a wait that could never end fails with EDEADLK, like a wait for a mutex.

use core::ffi::{c_char, c_int, c_uint};
use core::ptr;

use super::errno::{EAGAIN, EDEADLK, EINVAL, ENOSYS, EOVERFLOW, ETIMEDOUT, fail};
use super::time::{Timespec, sleep_until};
use crate::arch::set_errno;

define!(
    sem_init,
    sem_destroy,
    sem_wait,
    sem_trywait,
    sem_timedwait,
    sem_post,
    sem_getvalue,
    sem_open,
    sem_close,
    sem_unlink,
);

/// SEM_VALUE_MAX of the project's semaphore.h.
const MAX_VALUE: c_uint = 0x7fff_ffff;

unsafe extern "C" fn sem_init(out: *mut c_uint, _: c_int, value: c_uint) -> c_int {
    if value > MAX_VALUE {
        return fail(EINVAL);
    }
    // SAFETY: C's promise.
    unsafe { out.write(value) };
    0
}

extern "C" fn sem_destroy(_: *mut c_uint) -> c_int {
    0
}

/// Decrements a semaphore; returns false if it is 0.
///
/// # Safety
/// There is a semaphore.
unsafe fn try_decrement(semaphore: *mut c_uint) -> bool {
    // SAFETY: the caller's promise.
    let value = unsafe { &mut *semaphore };
    let less = value.checked_sub(1);
    *value = less.unwrap_or(0);
    less.is_some()
}

unsafe extern "C" fn sem_wait(semaphore: *mut c_uint) -> c_int {
    // SAFETY: C's promise.
    match unsafe { try_decrement(semaphore) } {
        true => 0,
        false => fail(EDEADLK),
    }
}

unsafe extern "C" fn sem_trywait(semaphore: *mut c_uint) -> c_int {
    // SAFETY: C's promise.
    match unsafe { try_decrement(semaphore) } {
        true => 0,
        false => fail(EAGAIN),
    }
}

unsafe extern "C" fn sem_timedwait(semaphore: *mut c_uint, until: *const Timespec) -> c_int {
    // SAFETY: C's promises.
    unsafe {
        if try_decrement(semaphore) {
            0
        } else {
            fail(sleep_until(until).err().unwrap_or(ETIMEDOUT))
        }
    }
}

unsafe extern "C" fn sem_post(semaphore: *mut c_uint) -> c_int {
    // SAFETY: C's promise.
    let value = unsafe { &mut *semaphore };
    if *value >= MAX_VALUE {
        return fail(EOVERFLOW);
    }
    *value += 1;
    0
}

unsafe extern "C" fn sem_getvalue(semaphore: *const c_uint, out: *mut c_int) -> c_int {
    // SAFETY: C's promises; no value exceeds an int.
    unsafe { out.write(*semaphore as c_int) };
    0
}

/// Not supported: named semaphores are for several processes.
extern "C" fn sem_open(_: *const c_char, _: c_int) -> *mut c_uint {
    set_errno(ENOSYS);
    ptr::null_mut()
}

extern "C" fn sem_close(_: *mut c_uint) -> c_int {
    fail(EINVAL)
}

extern "C" fn sem_unlink(_: *const c_char) -> c_int {
    fail(ENOSYS)
}
