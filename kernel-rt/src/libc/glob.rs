//! Paths that match a pattern (POSIX glob).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use super::directories::{DirectoryEntry, DirectoryStream, closedir, opendir, readdir};
use super::errno::ENOMEM;
use super::files::access;
use super::lists::{qsort, strcoll};
use super::paths::PathBuffer;
use super::stdio::realloc;
use crate::arch::errno;
use crate::heap;

define!(glob, globfree);

unsafe extern "C" {
    fn fnmatch(pattern: *const c_char, text: *const c_char, flags: c_int) -> c_int;
    fn strdup(text: *const c_char) -> *mut c_char;
}

type ErrorCallback = unsafe extern "C" fn(*const c_char, c_int) -> c_int;

// The project's glob.h.
const GLOB_ERR: c_int = 0x1;
const GLOB_MARK: c_int = 0x2;
const GLOB_NOSORT: c_int = 0x4;
const GLOB_DOOFFS: c_int = 0x8;
const GLOB_NOCHECK: c_int = 0x10;
const GLOB_APPEND: c_int = 0x20;
const GLOB_NOESCAPE: c_int = 0x40;
const GLOB_NOSPACE: c_int = 1;
const GLOB_ABORTED: c_int = 2;
const GLOB_NOMATCH: c_int = 3;

/// `glob_t`.
#[repr(C)]
struct GlobResult {
    count: usize,
    paths: *mut *mut c_char,
    offset: usize,
}

impl GlobResult {
    /// Appends a copy of a path; the list is terminated by a null pointer.
    ///
    /// # Safety
    /// The list was created here.
    unsafe fn add(&mut self, path: *const c_char) -> Result<(), c_int> {
        let at = self.offset + self.count;
        let bytes = (at + 2) * size_of::<*mut c_char>();
        // SAFETY: the caller's promise; there is space for two more pointers, and for the first ones, which are null.
        unsafe {
            let list = realloc(self.paths.cast(), bytes).cast::<*mut c_char>();
            if list.is_null() {
                return Err(GLOB_NOSPACE);
            }
            if self.paths.is_null() {
                list.write_bytes(0, self.offset);
            }
            self.paths = list;
            let copy = strdup(path);
            list.add(at).write(copy);
            list.add(at + 1).write(ptr::null_mut());
            if copy.is_null() {
                return Err(GLOB_NOSPACE);
            }
        }
        self.count += 1;
        Ok(())
    }
}

/// A search: the program's arguments, and the path so far.
struct GlobSearch<'f> {
    flags: c_int,
    failed: Option<ErrorCallback>,
    found: &'f mut GlobResult,
    path: PathBuffer,
}

impl GlobSearch<'_> {
    /// Returns whether a part of the pattern contains wildcards.
    fn has_magic(part: &[u8]) -> bool {
        part.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
    }

    /// Returns the literal name of a part without wildcards.
    fn plain<'p>(&self, part: &'p [u8]) -> impl Iterator<Item = u8> + use<'p> {
        let escapes = self.flags & GLOB_NOESCAPE == 0;
        let mut is_escaped = false;
        part.iter().copied().filter(move |byte| {
            is_escaped = escapes && !is_escaped && *byte == b'\\';
            !is_escaped
        })
    }

    fn add(&mut self, bytes: impl Iterator<Item = u8>) -> Result<(), c_int> {
        for byte in bytes {
            // A path that is too long is that of no file.
            self.path.add(&[byte]).map_err(|_| GLOB_NOMATCH)?;
        }
        Ok(())
    }

    /// Finds the paths that continue the current path by the pattern.
    fn follow(&mut self, pattern: &[u8]) -> Result<(), c_int> {
        let slashes = pattern.iter().take_while(|byte| **byte == b'/').count();
        self.add(pattern[..slashes].iter().copied())?;
        let pattern = &pattern[slashes..];
        if pattern.is_empty() {
            return self.end();
        }
        let length = pattern.iter().position(|byte| *byte == b'/');
        let (part, rest) = pattern.split_at(length.unwrap_or(pattern.len()));
        if Self::has_magic(part) {
            return self.each(part, rest);
        }
        let plain = self.plain(part);
        self.add(plain)?;
        match rest {
            [] => self.end(),
            rest => self.follow(rest),
        }
    }

    /// Continues the search with each name that matches a part.
    fn each(&mut self, part: &[u8], rest: &[u8]) -> Result<(), c_int> {
        const FNM_NOESCAPE: c_int = 0x1;
        const FNM_PERIOD: c_int = 0x4;
        let escape = match self.flags & GLOB_NOESCAPE {
            0 => 0,
            _ => FNM_NOESCAPE,
        };
        let mut pattern = PathBuffer::new().map_err(|_| GLOB_NOSPACE)?;
        pattern.add(part).map_err(|_| GLOB_NOMATCH)?;
        let Some(dir) = self.open()? else {
            return Ok(());
        };
        let length = self.path.length();
        let result = loop {
            // SAFETY: an open directory; the entry stays until the next call.
            let name = unsafe {
                match readdir(dir).as_ref() {
                    Some(entry) => DirectoryEntry::name_of(entry),
                    None => break Ok(()),
                }
            };
            // SAFETY: C strings, and C's own function.
            let name = unsafe {
                if fnmatch(pattern.as_c(), name, FNM_PERIOD | escape) != 0 {
                    continue;
                }
                CStr::from_ptr(name).to_bytes()
            };
            let followed = self.add(name.iter().copied()).and_then(|()| match rest {
                [] => self.end(),
                rest => self.follow(rest),
            });
            self.path.cut(length);
            match followed {
                Ok(()) | Err(GLOB_NOMATCH) => {}
                Err(error) => break Err(error),
            }
        };
        // SAFETY: it is open.
        unsafe { closedir(dir) };
        result
    }

    fn open(&self) -> Result<Option<*mut DirectoryStream>, c_int> {
        let path = match self.path.length() {
            0 => c".".as_ptr(),
            _ => self.path.as_c(),
        };
        // SAFETY: a C string; the program's function.
        unsafe {
            let dir = opendir(path);
            if !dir.is_null() {
                return Ok(Some(dir));
            }
            let error = errno();
            let stops = self.failed.is_some_and(|failed| failed(path, error) != 0);
            if stops || self.flags & GLOB_ERR != 0 {
                Err(GLOB_ABORTED)
            } else {
                Ok(None)
            }
        }
    }

    fn end(&mut self) -> Result<(), c_int> {
        const F_OK: c_int = 0;
        // SAFETY: a C string.
        if unsafe { access(self.path.as_c(), F_OK) } != 0 {
            return Ok(());
        }
        let length = self.path.length();
        if self.flags & GLOB_MARK != 0 && !self.path.ends_with_slash() && self.is_dir() {
            self.add([b'/'].into_iter())?;
        }
        // SAFETY: the list is this search's.
        let added = unsafe { self.found.add(self.path.as_c()) };
        self.path.cut(length);
        added
    }

    fn is_dir(&self) -> bool {
        // SAFETY: a C string, and a directory that is open.
        unsafe {
            let dir = opendir(self.path.as_c());
            !dir.is_null() && closedir(dir) == 0
        }
    }
}

unsafe extern "C" fn glob(
    pattern: *const c_char,
    flags: c_int,
    failed: Option<ErrorCallback>,
    out: *mut GlobResult,
) -> c_int {
    // SAFETY: C's promises.
    let (pattern, found) = unsafe { (CStr::from_ptr(pattern).to_bytes(), &mut *out) };
    if flags & GLOB_APPEND == 0 {
        found.count = 0;
        found.paths = ptr::null_mut();
        if flags & GLOB_DOOFFS == 0 {
            found.offset = 0;
        }
    }
    let before = found.count;
    let Ok(path) = PathBuffer::new() else {
        return GLOB_NOSPACE;
    };
    let mut search = GlobSearch {
        flags,
        failed,
        found,
        path,
    };
    match search.follow(pattern) {
        Ok(()) | Err(GLOB_NOMATCH) => {}
        Err(error) => return error,
    }
    let found = search.found;
    if found.count == before {
        if flags & GLOB_NOCHECK == 0 {
            return GLOB_NOMATCH;
        }
        let mut whole = search.path;
        whole.cut(0);
        return match whole.add(pattern) {
            // SAFETY: the list is this search's.
            Ok(()) => unsafe { found.add(whole.as_c()) }.err().unwrap_or(0),
            Err(ENOMEM) => GLOB_NOSPACE,
            Err(_) => GLOB_NOMATCH,
        };
    }
    if flags & GLOB_NOSORT == 0 {
        // SAFETY: that many pointers to strings.
        unsafe {
            let start = found.paths.add(found.offset + before);
            let bytes = size_of::<*mut c_char>();
            qsort(start.cast(), found.count - before, bytes, by_name);
        }
    }
    0
}

unsafe extern "C" fn by_name(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: qsort's promise that there are pointers to strings.
    unsafe {
        let text = |place: *const c_void| place.cast::<*const c_char>().read();
        strcoll(text(a), text(b))
    }
}

unsafe extern "C" fn globfree(found: *mut GlobResult) {
    // SAFETY: C's promise that `glob` has filled it in.
    unsafe {
        let found = &mut *found;
        if found.paths.is_null() {
            return;
        }
        for at in 0..found.count {
            let _ = heap::c_free((*found.paths.add(found.offset + at)).cast());
        }
        let _ = heap::c_free(found.paths.cast());
        found.paths = ptr::null_mut();
        found.count = 0;
    }
}
