//! Paths: absolute paths, unique directories, and limits of paths.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr;

use midplane_abi::files::MAX_PATH;

use super::errno::{EEXIST, EINVAL, ENAMETOOLONG, ENOENT, ENOMEM, ENOSYS, fail, fail_long};
use super::files::{access, mkdir};
use super::random::random_word;
use crate::arch::{errno, set_errno};
use crate::heap;

define!(realpath, mkdtemp, pathconf, fpathconf, statvfs, fstatvfs);

/// A path with its terminating zero, in a heap block that it owns.
pub struct PathBuffer {
    start: *mut u8,
    length: usize,
}

impl PathBuffer {
    const ROOM: usize = MAX_PATH + 1;

    /// Creates an empty path.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn new() -> Result<PathBuffer, c_int> {
        let start = heap::c_alloc_zeroed(PathBuffer::ROOM, heap::C_ALIGN);
        if start.is_null() {
            Err(ENOMEM)
        } else {
            Ok(PathBuffer { start, length: 0 })
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the block has this size, and all bytes are initialized.
        unsafe { core::slice::from_raw_parts_mut(self.start, PathBuffer::ROOM) }
    }

    /// Appends `part`.
    ///
    /// # Errors
    /// ENAMETOOLONG.
    pub fn add(&mut self, part: &[u8]) -> Result<(), c_int> {
        let (at, end) = (self.length, self.length + part.len());
        if end > MAX_PATH {
            return Err(ENAMETOOLONG);
        }
        self.bytes()[at..end].copy_from_slice(part);
        self.cut(end);
        Ok(())
    }

    /// Truncates to `length` bytes, which must exist.
    pub fn cut(&mut self, length: usize) {
        self.length = length;
        self.bytes()[length] = 0;
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    pub fn ends_with_slash(&mut self) -> bool {
        let length = self.length;
        self.bytes()[..length].ends_with(b"/")
    }

    /// Returns a C string that stays valid until the path changes.
    pub fn as_c(&self) -> *const c_char {
        self.start.cast()
    }
}

impl Drop for PathBuffer {
    fn drop(&mut self) {
        // SAFETY: a block of this heap without another owner.
        let _ = unsafe { heap::c_free(self.start) };
    }
}

/// Returns the absolute path, without `.` and `..`. The working directory is always the root. Symbolic links are not
/// followed: only the tool knows their targets.
fn absolute(path: &[u8]) -> Result<PathBuffer, c_int> {
    let mut whole = PathBuffer::new()?;
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let length = whole.length;
                let slash = whole.bytes()[..length].iter().rposition(|byte| *byte == b'/');
                whole.cut(slash.unwrap_or(0));
            }
            part => {
                whole.add(b"/")?;
                whole.add(part)?;
            }
        }
    }
    if whole.length == 0 {
        whole.add(b"/")?;
    }
    Ok(whole)
}

unsafe extern "C" fn realpath(path: *const c_char, out: *mut c_char) -> *mut c_char {
    let failed = |error| {
        set_errno(error);
        ptr::null_mut()
    };
    if path.is_null() {
        return failed(EINVAL);
    }
    // SAFETY: C's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.is_empty() {
        return failed(ENOENT);
    }
    let whole = match absolute(path) {
        Ok(whole) => whole,
        Err(error) => return failed(error),
    };
    const F_OK: c_int = 0;
    // SAFETY: a C string; C's promise that `out` has space for PATH_MAX bytes.
    unsafe {
        if whole.length > 1 && access(whole.as_c(), F_OK) != 0 {
            return ptr::null_mut();
        }
        if out.is_null() {
            // The program owns the block from now on.
            return core::mem::ManuallyDrop::new(whole).start.cast();
        }
        out.copy_from_nonoverlapping(whole.as_c(), whole.length + 1);
    }
    out
}

/// Creates a directory whose name ends in six unique letters.
unsafe extern "C" fn mkdtemp(template: *mut c_char) -> *mut c_char {
    const X: &[u8] = b"XXXXXX";
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    const TRIES: usize = 100;
    let failed = |error| {
        set_errno(error);
        ptr::null_mut()
    };
    // SAFETY: C's promise that it is a writable string.
    let bytes = unsafe {
        let length = CStr::from_ptr(template).count_bytes();
        core::slice::from_raw_parts_mut(template.cast::<u8>(), length)
    };
    if !bytes.ends_with(X) {
        return failed(EINVAL);
    }
    let at = bytes.len() - X.len();
    for _ in 0..TRIES {
        let mut word = random_word();
        for letter in &mut bytes[at..] {
            *letter = LETTERS[(word % 32) as usize];
            word /= 32;
        }
        // SAFETY: the string.
        if unsafe { mkdir(template, 0o700) } == 0 {
            return template;
        }
        if errno() != EEXIST {
            return ptr::null_mut();
        }
    }
    failed(EEXIST)
}

extern "C" fn pathconf(_: *const c_char, name: c_int) -> c_long {
    // sys/unistd.h of picolibc.
    match name {
        0 => 1,                      // links: none can be created
        3 => 255,                    // bytes of a name
        4 => MAX_PATH as c_long + 1, // bytes of a path, with its zero
        5 => 4096,                   // bytes that a pipe accepts atomically
        7 => 1,                      // longer names are rejected
        12 => 64,                    // bits of a file's size
        _ => fail_long(EINVAL),
    }
}

extern "C" fn fpathconf(_: c_int, name: c_int) -> c_long {
    pathconf(ptr::null(), name)
}

/// Fails: the host's disk usage is not available.
extern "C" fn statvfs(_: *const c_char, _: *mut c_void) -> c_int {
    fail(ENOSYS)
}

extern "C" fn fstatvfs(_: c_int, _: *mut c_void) -> c_int {
    fail(ENOSYS)
}
