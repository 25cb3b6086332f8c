//! File system of the host, by the POSIX functions of the C library, and the error classes of its errors.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};

use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::windows::wrong;

unsafe extern "C" {
    fn open(name: *const c_char, flags: c_int, ...) -> c_int;
    fn close(descriptor: c_int) -> c_int;
    fn pread(descriptor: c_int, out: *mut c_void, count: usize, offset: c_long) -> isize;
    fn pwrite(descriptor: c_int, bytes: *const c_void, count: usize, offset: c_long) -> isize;
    fn lseek(descriptor: c_int, offset: c_long, whence: c_int) -> c_long;
    fn ftruncate(descriptor: c_int, size: c_long) -> c_int;
    fn fsync(descriptor: c_int) -> c_int;
    fn unlink(name: *const c_char) -> c_int;
    #[cfg(target_os = "none")]
    safe fn midplane_errno() -> c_int;
    #[cfg(not(target_os = "none"))]
    safe fn __errno_location() -> *mut c_int;
}

// fcntl.h, stdio.h
pub(super) const READ_ONLY: c_int = 0;
pub(super) const WRITE_ONLY: c_int = 1;
pub(super) const READ_WRITE: c_int = 2;
pub(super) const CREATE: c_int = 0x40;
pub(super) const EXCLUSIVE: c_int = if cfg!(target_os = "none") { 0x800 } else { 0x80 };
/// Descriptors do not survive an `exec`.
const CLOSE_ON_EXEC: c_int = if cfg!(target_os = "none") { 0x4_0000 } else { 0x8_0000 };
const FROM_END: c_int = 2;
/// Permissions of a new file, before the process's mask.
const PERMISSIONS: c_uint = 0o666;

// errno.h: numbers up to 34 are the same in both C libraries.
const EPERM: c_int = 1;
const ENOENT: c_int = 2;
const EINTR: c_int = 4;
const EACCES: c_int = 13;
const EEXIST: c_int = 17;
const ENOTDIR: c_int = 20;
const EISDIR: c_int = 21;
const ENFILE: c_int = 23;
const EMFILE: c_int = 24;
const EFBIG: c_int = 27;
const ENOSPC: c_int = 28;
const EROFS: c_int = 30;
const ENAMETOOLONG: c_int = if cfg!(target_os = "none") { 91 } else { 36 };
const EDQUOT: c_int = if cfg!(target_os = "none") { 132 } else { 122 };

fn last_error() -> c_int {
    #[cfg(target_os = "none")]
    return midplane_errno();
    #[cfg(not(target_os = "none"))]
    // SAFETY: the C library returns the address of this thread's variable.
    return unsafe { *__errno_location() };
}

/// Returns the error of a number that the host has returned (section 13.7).
fn described(number: c_int) -> Error {
    match number {
        ENOENT => wrong(ErrorClass::NoSuchFile, "the host has no file with this name"),
        EEXIST => wrong(ErrorClass::FileExists, "the host has a file with this name already"),
        EACCES | EPERM => wrong(ErrorClass::Access, "the host does not permit the access to this file"),
        EROFS => wrong(ErrorClass::ReadOnly, "the file system of the host is read-only"),
        ENOSPC => wrong(ErrorClass::NoSpace, "the file system of the host is full"),
        EDQUOT => wrong(ErrorClass::Quota, "the user's quota of the host is used up"),
        ENOTDIR | EISDIR | ENAMETOOLONG => wrong(
            ErrorClass::BadFile,
            "the name is too long, is that of a directory, or has no directory before a slash",
        ),
        ENFILE | EMFILE => wrong(ErrorClass::Io, "the host has no descriptor left; close other files"),
        EFBIG => wrong(ErrorClass::Io, "the file would exceed the size limit of the host"),
        _ => wrong(ErrorClass::Io, "the host has failed to access the file"),
    }
}

/// Repeats a call that a signal has interrupted.
fn repeated<T: PartialOrd + Default>(mut call: impl FnMut() -> T) -> Result<T, Error> {
    loop {
        let result = call();
        if result >= T::default() {
            return Ok(result);
        }
        match last_error() {
            EINTR => {}
            number => return Err(described(number)),
        }
    }
}

fn offset(at: u64) -> Result<c_long, Error> {
    c_long::try_from(at).map_err(|_| described(EFBIG))
}

/// Opens a file and returns its descriptor. `flags` are those above. Blocks, like all functions below.
pub(super) fn open_file(name: &CStr, flags: c_int) -> Result<c_int, Error> {
    // SAFETY: a terminated name; the mode is the argument that the function reads if it creates the file.
    repeated(|| unsafe { open(name.as_ptr(), flags | CLOSE_ON_EXEC, PERMISSIONS) })
}

/// Closes a descriptor. It is closed even after an error.
pub(super) fn close_file(descriptor: c_int) -> Result<(), Error> {
    // SAFETY: the file's own descriptor.
    match unsafe { close(descriptor) } {
        0 => Ok(()),
        _ => Err(described(last_error())),
    }
}

/// Deletes a name.
pub(super) fn delete_file(name: &CStr) -> Result<(), Error> {
    // SAFETY: a terminated name.
    repeated(|| unsafe { unlink(name.as_ptr()) }).map(|_| ())
}

/// Reads at an offset; returns fewer bytes only at the end of the file.
pub(super) fn read_at(descriptor: c_int, out: &mut [u8], at: u64) -> Result<usize, Error> {
    let mut got = 0;
    while got < out.len() {
        let (rest, from) = (&mut out[got..], offset(at + got as u64)?);
        // SAFETY: `rest` is writable for its length.
        match repeated(|| unsafe { pread(descriptor, rest.as_mut_ptr().cast(), rest.len(), from) })? {
            0 => break,
            more => got += more as usize,
        }
    }
    Ok(got)
}

/// Writes at an offset: all bytes, or fails. Some of them may have been written then.
pub(super) fn write_at(descriptor: c_int, bytes: &[u8], at: u64) -> Result<(), Error> {
    let mut put = 0;
    while put < bytes.len() {
        let (rest, to) = (&bytes[put..], offset(at + put as u64)?);
        // SAFETY: `rest` is readable for its length.
        match repeated(|| unsafe { pwrite(descriptor, rest.as_ptr().cast(), rest.len(), to) })? {
            0 => return Err(described(ENOSPC)),
            more => put += more as usize,
        }
    }
    Ok(())
}

/// Returns the size of a file in bytes.
pub(super) fn size_of_file(descriptor: c_int) -> Result<u64, Error> {
    // SAFETY: the file's own descriptor; its position is not used otherwise.
    repeated(|| unsafe { lseek(descriptor, 0, FROM_END) }).map(|size| size as u64)
}

/// Sets the size of a file in bytes.
pub(super) fn resize_file(descriptor: c_int, size: u64) -> Result<(), Error> {
    let size = offset(size)?;
    // SAFETY: the file's own descriptor.
    repeated(|| unsafe { ftruncate(descriptor, size) }).map(|_| ())
}

/// Transfers the written data to the storage device.
pub(super) fn flush_file(descriptor: c_int) -> Result<(), Error> {
    // SAFETY: the file's own descriptor.
    repeated(|| unsafe { fsync(descriptor) }).map(|_| ())
}
