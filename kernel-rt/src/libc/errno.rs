//! Error numbers, and how a call fails.

use core::ffi::{c_int, c_long};

use crate::arch::{errno, set_errno};

// errno.h of picolibc.
pub const EPERM: c_int = 1;
pub const ENOENT: c_int = 2;
pub const EIO: c_int = 5;
pub const ESRCH: c_int = 3;
pub const EBADF: c_int = 9;
pub const ECHILD: c_int = 10;
pub const EAGAIN: c_int = 11;
pub const ENOMEM: c_int = 12;
pub const EFAULT: c_int = 14;
pub const EBUSY: c_int = 16;
pub const EEXIST: c_int = 17;
pub const ENODEV: c_int = 19;
pub const EINVAL: c_int = 22;
pub const EMFILE: c_int = 24;
pub const ENOTTY: c_int = 25;
pub const ENOSPC: c_int = 28;
pub const ESPIPE: c_int = 29;
pub const EROFS: c_int = 30;
pub const ERANGE: c_int = 34;
pub const EDEADLK: c_int = 45;
pub const ENOLCK: c_int = 46;
pub const ENOSYS: c_int = 88;
pub const ENAMETOOLONG: c_int = 91;
pub const EAFNOSUPPORT: c_int = 106;
pub const ENOTSOCK: c_int = 108;
pub const ETIMEDOUT: c_int = 116;
pub const ENOTSUP: c_int = 134;
pub const EILSEQ: c_int = 138;
pub const EOVERFLOW: c_int = 139;

/// Converts Linux's error `number` to picolibc's; returns EIO for an error that picolibc lacks.
pub fn from_linux(number: u32) -> c_int {
    match number {
        // asm-generic/errno-base.h, and the same in picolibc.
        1..=34 => number as c_int,
        // asm-generic/errno.h: EDEADLK, ENAMETOOLONG, ENOSYS, ENOTEMPTY, ELOOP, EOVERFLOW, EOPNOTSUPP, ETIMEDOUT,
        // ESTALE, EDQUOT.
        35 => EDEADLK,
        36 => ENAMETOOLONG,
        38 => ENOSYS,
        39 => 90,
        40 => 92,
        75 => 139,
        95 => 95,
        110 => ETIMEDOUT,
        116 => 133,
        122 => 132,
        _ => EIO,
    }
}

define!(midplane_errno);

/// Returns `errno`, for the MPI library.
extern "C" fn midplane_errno() -> c_int {
    errno()
}

/// Sets `errno` and returns -1, the result of failing calls.
pub fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -1
}

/// Sets `errno` and returns -1, for calls that return a long.
pub fn fail_long(errno: c_int) -> c_long {
    set_errno(errno);
    -1
}
