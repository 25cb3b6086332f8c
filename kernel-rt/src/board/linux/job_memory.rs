//! Creation and mapping of a job's [shared file](super::share).

use core::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::{io, ptr};

use super::share::ShareLayout;

/// Creates the shared file of a job. It has no name in a file system.
///
/// # Errors
/// Those of the operating system.
pub fn create_file(layout: ShareLayout) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor, if valid, has no other owner.
    let file = unsafe {
        let number = libc::memfd_create(c"midplane".as_ptr(), libc::MFD_CLOEXEC);
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(number)
    };
    file.set_len(layout.total())?;
    Ok(file)
}

/// Maps a part of the shared file, forever: the first `T` of `bytes` bytes.
///
/// # Errors
/// Those of the operating system.
pub fn map<T>(file: &File, offset: u64, bytes: usize) -> io::Result<&'static T> {
    let start = map_bytes(file, offset, bytes)?;
    // SAFETY: page-aligned memory of at least this size, never unmapped. The types there consist of atomics and of
    // cells that accept any bytes.
    Ok(unsafe { &*start.cast::<T>() })
}

/// Maps `bytes` bytes of a file that processes share, for reading and writing. Returns their address.
///
/// # Errors
/// Those of the operating system.
pub fn map_bytes(file: &File, offset: u64, bytes: usize) -> io::Result<*mut c_void> {
    // SAFETY: a new mapping without other users.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    if start == libc::MAP_FAILED {
        let why = io::Error::last_os_error();
        return Err(io::Error::other(format!(
            "cannot map {bytes} bytes of the job's memory: {why}"
        )));
    }
    Ok(start)
}
