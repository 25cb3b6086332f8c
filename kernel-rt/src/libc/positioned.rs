//! Reads and writes at an offset, and of several buffers (POSIX pread, readv). The tool reads and writes at a
//! descriptor's position; with one thread, seeking there and back is equivalent.

use core::ffi::{c_int, c_void};

use super::FileOffset;
use super::errno::{EBADF, EINVAL, ESPIPE, fail};
use super::files::{FIRST_FILE, lseek, read, write};
use crate::arch::{errno, set_errno};

define!(pread, pwrite, readv, writev, preadv, pwritev);

/// `struct iovec` of the project's sys/uio.h.
#[repr(C)]
struct IoVector {
    start: *mut c_void,
    bytes: usize,
}

/// IOV_MAX.
const MAX_PIECES: c_int = 1024;

const SEEK_SET: c_int = 0;
const SEEK_CUR: c_int = 1;

/// Runs `f` at an offset of a file, and restores the descriptor's position.
fn at(descriptor: c_int, offset: FileOffset, f: impl FnOnce() -> isize) -> isize {
    if (0..FIRST_FILE).contains(&descriptor) {
        return fail(ESPIPE) as isize;
    }
    if offset < 0 {
        return fail(EINVAL) as isize;
    }
    let before = lseek(descriptor, 0, SEEK_CUR);
    if before < 0 || lseek(descriptor, offset, SEEK_SET) < 0 {
        return -1;
    }
    let result = f();
    let error = errno();
    lseek(descriptor, before, SEEK_SET);
    set_errno(error);
    result
}

unsafe extern "C" fn pread(descriptor: c_int, out: *mut c_void, count: usize, offset: FileOffset) -> isize {
    // SAFETY: C's promise.
    at(descriptor, offset, || unsafe { read(descriptor, out, count) })
}

unsafe extern "C" fn pwrite(descriptor: c_int, bytes: *const c_void, count: usize, offset: FileOffset) -> isize {
    // SAFETY: C's promise.
    at(descriptor, offset, || unsafe { write(descriptor, bytes, count) })
}

/// Transfers the buffers in order until a transfer is short.
///
/// # Safety
/// `pieces` points to `count` of them.
unsafe fn each(descriptor: c_int, pieces: *const IoVector, count: c_int, f: impl Fn(&IoVector) -> isize) -> isize {
    if descriptor < 0 {
        return fail(EBADF) as isize;
    }
    if !(1..=MAX_PIECES).contains(&count) {
        return fail(EINVAL) as isize;
    }
    // SAFETY: the caller's promise.
    let pieces = unsafe { core::slice::from_raw_parts(pieces, count as usize) };
    let mut all: isize = 0;
    for piece in pieces {
        match f(piece) {
            // Returns the bytes transferred so far; the next call returns the error.
            ..0 if all > 0 => break,
            failed @ ..0 => return failed,
            done => {
                all = all.saturating_add(done);
                if done.unsigned_abs() < piece.bytes {
                    break;
                }
            }
        }
    }
    all
}

unsafe extern "C" fn readv(descriptor: c_int, pieces: *const IoVector, count: c_int) -> isize {
    let piece = |piece: &IoVector| {
        // SAFETY: C's promise.
        unsafe { read(descriptor, piece.start, piece.bytes) }
    };
    // SAFETY: C's promise.
    unsafe { each(descriptor, pieces, count, piece) }
}

unsafe extern "C" fn writev(descriptor: c_int, pieces: *const IoVector, count: c_int) -> isize {
    let piece = |piece: &IoVector| {
        // SAFETY: C's promise.
        unsafe { write(descriptor, piece.start, piece.bytes) }
    };
    // SAFETY: C's promise.
    unsafe { each(descriptor, pieces, count, piece) }
}

unsafe extern "C" fn preadv(descriptor: c_int, pieces: *const IoVector, count: c_int, offset: FileOffset) -> isize {
    // SAFETY: C's promise.
    at(descriptor, offset, || unsafe { readv(descriptor, pieces, count) })
}

unsafe extern "C" fn pwritev(descriptor: c_int, pieces: *const IoVector, count: c_int, offset: FileOffset) -> isize {
    // SAFETY: C's promise.
    at(descriptor, offset, || unsafe { writev(descriptor, pieces, count) })
}
