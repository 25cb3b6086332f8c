//! Descriptors: 1 and 2 are the streams, 0 is the input, there are no others. Calls on files fail as POSIX
//! has it where there are none.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use super::errno::{EBADF, EINVAL, EMFILE, ENOENT, ENOSYS, ERANGE, EROFS, fail};
use super::stdio::input;
use super::time::{Timeval, sleep_for};
use crate::arch::set_errno;
use crate::console::{self, Stream};

define!(
    write, read, open, close, lseek, fsync, unlink, rename, mkdir, rmdir, chdir, getcwd, access,
    stat, lstat, fstat, isatty, dup, dup2, pipe, ftruncate, truncate, chmod, readlink, symlink,
    link, fcntl, opendir, fdopendir, readdir, closedir, rewinddir, select,
);

fn stream(descriptor: c_int) -> Option<Stream> {
    match descriptor {
        1 => Some(Stream::Out),
        2 => Some(Stream::Err),
        _ => None,
    }
}

unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    let Some(stream) = stream(descriptor) else {
        return fail(EBADF) as isize;
    };
    if count != 0 {
        // SAFETY: C's promise.
        console::write(stream, unsafe {
            core::slice::from_raw_parts(bytes.cast(), count)
        });
        console::flush();
    }
    count as isize
}

unsafe extern "C" fn read(descriptor: c_int, out: *mut c_void, count: usize) -> isize {
    if descriptor != 0 {
        return fail(EBADF) as isize;
    }
    if count == 0 {
        return 0;
    }
    // SAFETY: C's promise that there are `count` bytes.
    input(unsafe { core::slice::from_raw_parts_mut(out.cast(), count) }) as isize
}

/// There are no files and no place for new ones.
extern "C" fn open(_: *const c_char, flags: c_int) -> c_int {
    const O_CREAT: c_int = 0x40; // fcntl.h of picolibc
    fail(if flags & O_CREAT == 0 { ENOENT } else { EROFS })
}

extern "C" fn close(_: c_int) -> c_int {
    fail(EBADF)
}

extern "C" fn lseek(_: c_int, _: i64, _: c_int) -> i64 {
    fail(EBADF) as i64
}

/// What was written leaves as it comes.
extern "C" fn fsync(descriptor: c_int) -> c_int {
    match stream(descriptor) {
        Some(_) => {
            console::flush();
            0
        }
        None => fail(EBADF),
    }
}

extern "C" fn unlink(_: *const c_char) -> c_int {
    fail(ENOENT)
}

extern "C" fn rename(_: *const c_char, _: *const c_char) -> c_int {
    fail(ENOENT)
}

extern "C" fn mkdir(_: *const c_char, _: u32) -> c_int {
    fail(EROFS)
}

extern "C" fn rmdir(_: *const c_char) -> c_int {
    fail(ENOENT)
}

extern "C" fn chdir(_: *const c_char) -> c_int {
    fail(ENOENT)
}

/// The root of the files that there are not.
unsafe extern "C" fn getcwd(out: *mut c_char, room: usize) -> *mut c_char {
    let place = c"/".to_bytes_with_nul();
    if out.is_null() || room < place.len() {
        set_errno(if room == 0 { EINVAL } else { ERANGE });
        return ptr::null_mut();
    }
    // SAFETY: C's promise that there are `room` bytes.
    unsafe { out.copy_from_nonoverlapping(place.as_ptr().cast(), place.len()) };
    out
}

extern "C" fn access(_: *const c_char, _: c_int) -> c_int {
    fail(ENOENT)
}

extern "C" fn stat(_: *const c_char, _: *mut c_void) -> c_int {
    fail(ENOENT)
}

extern "C" fn lstat(_: *const c_char, _: *mut c_void) -> c_int {
    fail(ENOENT)
}

extern "C" fn fstat(_: c_int, _: *mut c_void) -> c_int {
    fail(ENOSYS)
}

extern "C" fn isatty(_: c_int) -> c_int {
    0
}

extern "C" fn dup(descriptor: c_int) -> c_int {
    match descriptor {
        0..=2 => fail(EMFILE),
        _ => fail(EBADF),
    }
}

extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    match (from, to) {
        (0..=2, _) if from == to => to,
        (0..=2, _) => fail(EMFILE),
        _ => fail(EBADF),
    }
}

extern "C" fn pipe(_: *mut c_int) -> c_int {
    fail(EMFILE)
}

extern "C" fn ftruncate(descriptor: c_int, _: i64) -> c_int {
    match descriptor {
        0..=2 => fail(EINVAL),
        _ => fail(EBADF),
    }
}

extern "C" fn truncate(_: *const c_char, _: i64) -> c_int {
    fail(ENOENT)
}

extern "C" fn chmod(_: *const c_char, _: u32) -> c_int {
    fail(ENOENT)
}

extern "C" fn readlink(_: *const c_char, _: *mut c_char, _: usize) -> isize {
    fail(ENOENT) as isize
}

extern "C" fn symlink(_: *const c_char, _: *const c_char) -> c_int {
    fail(EROFS)
}

extern "C" fn link(_: *const c_char, _: *const c_char) -> c_int {
    fail(ENOENT)
}

/// The three descriptors take no settings; F_GETFD and F_GETFL tell of them.
extern "C" fn fcntl(descriptor: c_int, command: c_int) -> c_int {
    // fcntl.h of picolibc.
    const F_GETFD: c_int = 1;
    const F_GETFL: c_int = 3;
    const O_WRONLY: c_int = 1;
    match (descriptor, command) {
        (0..=2, F_GETFD) => 0,
        (0..=2, F_GETFL) => O_WRONLY.min(descriptor),
        (0..=2, _) => fail(EINVAL),
        _ => fail(EBADF),
    }
}

extern "C" fn opendir(_: *const c_char) -> *mut c_void {
    set_errno(ENOENT);
    ptr::null_mut()
}

extern "C" fn fdopendir(_: c_int) -> *mut c_void {
    set_errno(EBADF);
    ptr::null_mut()
}

extern "C" fn readdir(_: *mut c_void) -> *mut c_void {
    set_errno(EBADF);
    ptr::null_mut()
}

extern "C" fn closedir(_: *mut c_void) -> c_int {
    fail(EBADF)
}

extern "C" fn rewinddir(_: *mut c_void) {}

/// Sleeps where it waits for time only, as old programs do; descriptors cannot be waited for.
unsafe extern "C" fn select(
    count: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    time: *const Timeval,
) -> c_int {
    // SAFETY: C's promise.
    match unsafe { time.as_ref() } {
        Some(time) if count == 0 => match sleep_for(time) {
            Ok(()) => 0,
            Err(error) => fail(error),
        },
        _ => fail(ENOSYS),
    }
}
