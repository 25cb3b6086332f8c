//! Error numbers, and how a call fails.

use core::ffi::c_int;

use crate::arch::set_errno;

// errno.h of picolibc.
pub const ENOENT: c_int = 2;
pub const EBADF: c_int = 9;
pub const ENOMEM: c_int = 12;
pub const EINVAL: c_int = 22;
pub const EROFS: c_int = 30;
pub const ERANGE: c_int = 34;
pub const ENOSYS: c_int = 88;

/// Sets `errno` and returns what failing calls return.
pub fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -1
}
