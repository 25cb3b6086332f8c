//! Users and groups: the only one has ID 0 and the usual name.

use core::ffi::{CStr, c_char, c_int, c_uint};
use core::ptr;

use super::errno::{ENOENT, EPERM, fail};
use crate::arch::set_errno;

define!(
    getpwuid, getpwnam, getpwuid_r, getpwnam_r, getgrgid, getgrnam, getgrgid_r, getgrnam_r, getlogin, getlogin_r,
    getgroups, setuid, setgid, seteuid, setegid,
);

/// A pointer to a constant string.
type ConstString = *const c_char;

/// `struct passwd` of picolibc.
#[repr(C)]
#[derive(Clone, Copy)]
struct UserEntry {
    name: ConstString,
    password: ConstString,
    user: u16,
    group: u16,
    texts: [ConstString; 2],
    dir: ConstString,
    shell: ConstString,
}

/// `struct group` of picolibc.
#[repr(C)]
#[derive(Clone, Copy)]
struct GroupEntry {
    name: ConstString,
    password: ConstString,
    group: u16,
    members: *const ConstString,
}

struct SyncConstant<T>(T);
// SAFETY: nothing writes them, nor their targets.
unsafe impl<T> Sync for SyncConstant<T> {}

const NAME: &CStr = c"root";

static USER: SyncConstant<UserEntry> = SyncConstant(UserEntry {
    name: NAME.as_ptr(),
    password: c"x".as_ptr(),
    user: 0,
    group: 0,
    texts: [NAME.as_ptr(); 2],
    dir: c"/".as_ptr(),
    shell: c"".as_ptr(),
});

static MEMBERS: SyncConstant<[ConstString; 1]> = SyncConstant([ptr::null()]);

static GROUP: SyncConstant<GroupEntry> = SyncConstant(GroupEntry {
    name: NAME.as_ptr(),
    password: c"x".as_ptr(),
    group: 0,
    members: MEMBERS.0.as_ptr(),
});

/// Checks whether a name is that of the one user.
///
/// # Safety
/// There is a string.
unsafe fn is_ours(name: ConstString) -> bool {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(name) == NAME }
}

/// Returns the record, or null with `errno` unchanged: a missing record is no error (POSIX).
fn found<T>(is: bool, record: &'static SyncConstant<T>) -> *const T {
    if is { &raw const record.0 } else { ptr::null() }
}

/// Copies the record, for the calls with `_r`; the copy refers to the same strings.
///
/// # Safety
/// There is space for both.
unsafe fn copied<T: Copy>(is: bool, record: &'static SyncConstant<T>, out: *mut T, result: *mut *mut T) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        out.write(record.0);
        result.write(if is { out } else { ptr::null_mut() });
    }
    0
}

extern "C" fn getpwuid(user: c_uint) -> *const UserEntry {
    found(user == 0, &USER)
}

unsafe extern "C" fn getpwnam(name: ConstString) -> *const UserEntry {
    // SAFETY: C's promise.
    found(unsafe { is_ours(name) }, &USER)
}

unsafe extern "C" fn getpwuid_r(
    user: c_uint,
    out: *mut UserEntry,
    _: *mut c_char,
    _: usize,
    result: *mut *mut UserEntry,
) -> c_int {
    // SAFETY: C's promises.
    unsafe { copied(user == 0, &USER, out, result) }
}

unsafe extern "C" fn getpwnam_r(
    name: ConstString,
    out: *mut UserEntry,
    _: *mut c_char,
    _: usize,
    result: *mut *mut UserEntry,
) -> c_int {
    // SAFETY: C's promises.
    unsafe { copied(is_ours(name), &USER, out, result) }
}

extern "C" fn getgrgid(group: c_uint) -> *const GroupEntry {
    found(group == 0, &GROUP)
}

unsafe extern "C" fn getgrnam(name: ConstString) -> *const GroupEntry {
    // SAFETY: C's promise.
    found(unsafe { is_ours(name) }, &GROUP)
}

unsafe extern "C" fn getgrgid_r(
    group: c_uint,
    out: *mut GroupEntry,
    _: *mut c_char,
    _: usize,
    result: *mut *mut GroupEntry,
) -> c_int {
    // SAFETY: C's promises.
    unsafe { copied(group == 0, &GROUP, out, result) }
}

unsafe extern "C" fn getgrnam_r(
    name: ConstString,
    out: *mut GroupEntry,
    _: *mut c_char,
    _: usize,
    result: *mut *mut GroupEntry,
) -> c_int {
    // SAFETY: C's promises.
    unsafe { copied(is_ours(name), &GROUP, out, result) }
}

/// Fails: no user has logged in.
extern "C" fn getlogin() -> *mut c_char {
    set_errno(ENOENT);
    ptr::null_mut()
}

extern "C" fn getlogin_r(_: *mut c_char, _: usize) -> c_int {
    ENOENT
}

/// Returns no supplementary groups.
extern "C" fn getgroups(_: c_int, _: *mut u16) -> c_int {
    0
}

fn set(id: c_uint) -> c_int {
    if id == 0 { 0 } else { fail(EPERM) }
}

extern "C" fn setuid(user: c_uint) -> c_int {
    set(user)
}

extern "C" fn setgid(group: c_uint) -> c_int {
    set(group)
}

extern "C" fn seteuid(user: c_uint) -> c_int {
    set(user)
}

extern "C" fn setegid(group: c_uint) -> c_int {
    set(group)
}
