//! Terminals: a node has none, so calls fail with POSIX's ENOTTY.

use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use core::ptr;

use super::errno::{EBADF, ENOTTY, fail};
use super::files::is_open;
use crate::arch::set_errno;

define!(
    ioctl,
    tcgetattr,
    tcsetattr,
    tcdrain,
    tcflow,
    tcflush,
    tcsendbreak,
    tcgetpgrp,
    tcsetpgrp,
    cfgetispeed,
    cfgetospeed,
    cfsetispeed,
    cfsetospeed,
    cfsetspeed,
    cfmakeraw,
    ttyname,
    ttyname_r,
);

fn error(descriptor: c_int) -> c_int {
    if is_open(descriptor) { ENOTTY } else { EBADF }
}

/// Ignores its variable third argument.
extern "C" fn ioctl(descriptor: c_int, _: c_ulong) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcgetattr(descriptor: c_int, _: *mut c_void) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcsetattr(descriptor: c_int, _: c_int, _: *const c_void) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcdrain(descriptor: c_int) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcflow(descriptor: c_int, _: c_int) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcflush(descriptor: c_int, _: c_int) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcsendbreak(descriptor: c_int, _: c_int) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcgetpgrp(descriptor: c_int) -> c_int {
    fail(error(descriptor))
}

extern "C" fn tcsetpgrp(descriptor: c_int, _: c_int) -> c_int {
    fail(error(descriptor))
}

/// `struct termios` of the project's sys/termios.h, up to its speeds.
#[repr(C)]
struct TerminalSettings {
    modes: [c_uint; 4],
    characters: [u8; 32],
    speeds: [c_uint; 2],
}

unsafe extern "C" fn cfgetispeed(settings: *const TerminalSettings) -> c_uint {
    // SAFETY: C's promise.
    unsafe { (*settings).speeds[0] }
}

unsafe extern "C" fn cfgetospeed(settings: *const TerminalSettings) -> c_uint {
    // SAFETY: C's promise.
    unsafe { (*settings).speeds[1] }
}

unsafe extern "C" fn cfsetispeed(settings: *mut TerminalSettings, speed: c_uint) -> c_int {
    // SAFETY: C's promise.
    unsafe { (*settings).speeds[0] = speed };
    0
}

unsafe extern "C" fn cfsetospeed(settings: *mut TerminalSettings, speed: c_uint) -> c_int {
    // SAFETY: C's promise.
    unsafe { (*settings).speeds[1] = speed };
    0
}

unsafe extern "C" fn cfsetspeed(settings: *mut TerminalSettings, speed: c_uint) -> c_int {
    // SAFETY: C's promise.
    unsafe { (*settings).speeds = [speed; 2] };
    0
}

/// Disables all processing of input.
unsafe extern "C" fn cfmakeraw(settings: *mut TerminalSettings) {
    // SAFETY: C's promise.
    unsafe { (*settings).modes = [0; 4] };
}

extern "C" fn ttyname(descriptor: c_int) -> *mut c_char {
    set_errno(error(descriptor));
    ptr::null_mut()
}

extern "C" fn ttyname_r(descriptor: c_int, _: *mut c_char, _: usize) -> c_int {
    error(descriptor)
}
