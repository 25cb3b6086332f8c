//! Directory entries. A `DIR` is a block of the program's heap.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr;

use midplane_abi::files::{FileOperation, OPEN_DIRECTORY, OPEN_READ};

use super::errno::{EBADF, EINVAL, ENOMEM, fail, fail_long};
use super::files::{ask, file, path};
use super::lists::{CompareFunction, qsort, strcoll};
use super::stdio::realloc;
use crate::arch::{errno, set_errno};
use crate::board::records::MIDPLANE_FILES;
use crate::heap;

define!(
    opendir, fdopendir, readdir, closedir, rewinddir, telldir, seekdir, dirfd, scandir, alphasort,
);

/// `struct dirent` of kernel-rt/include/sys/dirent.h.
#[repr(C)]
pub struct DirectoryEntry {
    inode: u16,
    kind: u8,
    name: [u8; DirectoryEntry::NAME],
}

impl DirectoryEntry {
    /// Size of a name with its terminating zero.
    const NAME: usize = 256;

    /// Returns its name, as a C string.
    pub fn name_of(entry: *const DirectoryEntry) -> *const c_char {
        entry
            .wrapping_byte_add(core::mem::offset_of!(DirectoryEntry, name))
            .cast()
    }
}

/// `DIR`.
#[repr(C)]
pub struct DirectoryStream {
    descriptor: c_int,
    read: c_long,
    entry: DirectoryEntry,
}

fn failed(error: c_int) -> *mut DirectoryStream {
    set_errno(error);
    ptr::null_mut()
}

fn new_stream(descriptor: c_int) -> *mut DirectoryStream {
    let block = heap::c_alloc_zeroed(size_of::<DirectoryStream>(), heap::C_ALIGN).cast::<DirectoryStream>();
    if block.is_null() {
        return failed(ENOMEM);
    }
    // SAFETY: a block of this size, which is zero, and so all of it is valid.
    unsafe { (*block).descriptor = descriptor };
    block
}

fn close(descriptor: c_int) -> Result<(), c_int> {
    ask(FileOperation::Close, [file(descriptor)?, 0, 0], &[]).map(|_| ())
}

pub unsafe extern "C" fn opendir(name: *const c_char) -> *mut DirectoryStream {
    // SAFETY: C's promise.
    let name = unsafe { path(name) };
    let opened = name.and_then(|name| ask(FileOperation::Open, [OPEN_READ | OPEN_DIRECTORY, 0, 0], &[name]));
    match opened {
        Ok(answer) => {
            let descriptor = answer.numbers[0] as c_int;
            let made = new_stream(descriptor);
            if made.is_null() {
                // Out of memory: a second error adds nothing.
                let _ = close(descriptor);
            }
            made
        }
        Err(error) => failed(error),
    }
}

/// The directory owns the descriptor from now on.
extern "C" fn fdopendir(descriptor: c_int) -> *mut DirectoryStream {
    let rewound = file(descriptor).and_then(|file| ask(FileOperation::Rewind, [file, 0, 0], &[]));
    match rewound {
        Ok(_) => new_stream(descriptor),
        Err(error) => failed(error),
    }
}

/// Returns the next entry; null at the end, with `errno` unchanged, or on failure, with `errno` set.
pub unsafe extern "C" fn readdir(dir: *mut DirectoryStream) -> *mut DirectoryEntry {
    // SAFETY: C's promise.
    let Some(dir) = (unsafe { dir.as_mut() }) else {
        set_errno(EBADF);
        return ptr::null_mut();
    };
    match ask(FileOperation::Next, [dir.descriptor as u64, 0, 0], &[]) {
        Ok(answer) if answer.length == 0 => ptr::null_mut(),
        Ok(answer) => {
            dir.read += 1;
            let entry = &mut dir.entry;
            let [inode, kind] = answer.numbers;
            entry.inode = inode as u16;
            entry.kind = kind as u8;
            let length = answer.length.min(DirectoryEntry::NAME - 1);
            MIDPLANE_FILES.copy_bytes(&mut entry.name[..length]);
            entry.name[length] = 0;
            entry
        }
        Err(error) => {
            set_errno(error);
            ptr::null_mut()
        }
    }
}

pub unsafe extern "C" fn closedir(dir: *mut DirectoryStream) -> c_int {
    // SAFETY: C's promise.
    let Some(descriptor) = (unsafe { dir.as_ref() }).map(|dir| dir.descriptor) else {
        return fail(EBADF);
    };
    // SAFETY: C's promise that it came from `opendir`.
    let freed = unsafe { heap::c_free(dir.cast()) };
    match (close(descriptor), freed) {
        (Ok(()), Ok(())) => 0,
        (Err(error), _) => fail(error),
        (_, Err(heap::InvalidBlock)) => fail(EINVAL),
    }
}

unsafe extern "C" fn rewinddir(dir: *mut DirectoryStream) {
    // SAFETY: C's promise.
    if let Some(dir) = unsafe { dir.as_mut() } {
        dir.read = 0;
        // POSIX defines no way to report a failure.
        let _ = ask(FileOperation::Rewind, [dir.descriptor as u64, 0, 0], &[]);
    }
}

unsafe extern "C" fn dirfd(dir: *mut DirectoryStream) -> c_int {
    // SAFETY: C's promise.
    match unsafe { dir.as_ref() } {
        Some(dir) => dir.descriptor,
        None => fail(EINVAL),
    }
}

unsafe extern "C" fn telldir(dir: *const DirectoryStream) -> c_long {
    // SAFETY: C's promise.
    match unsafe { dir.as_ref() } {
        Some(dir) => dir.read,
        None => fail_long(EBADF),
    }
}

/// Reads that many entries again.
unsafe extern "C" fn seekdir(dir: *mut DirectoryStream, place: c_long) {
    // SAFETY: C's promise.
    unsafe {
        rewinddir(dir);
        for _ in 0..place {
            if readdir(dir).is_null() {
                break;
            }
        }
    }
}

type EntryFilter = unsafe extern "C" fn(*const DirectoryEntry) -> c_int;

/// Returns the entries of a directory, each in a block of the program's heap, and their list in another.
unsafe extern "C" fn scandir(
    name: *const c_char,
    out: *mut *mut *mut DirectoryEntry,
    select: Option<EntryFilter>,
    compare: Option<CompareFunction>,
) -> c_int {
    // SAFETY: C's promises; the directory opened here is closed here, and the list has space for its entries.
    unsafe {
        let dir = opendir(name);
        if dir.is_null() {
            return -1;
        }
        let before = errno();
        set_errno(0);
        let mut list = EntryList::new();
        loop {
            let entry = readdir(dir);
            if entry.is_null() {
                break;
            }
            if select.is_none_or(|select| select(entry) != 0) && !list.add(&*entry) {
                set_errno(ENOMEM);
                break;
            }
        }
        let error = errno();
        closedir(dir);
        if error != 0 {
            list.free();
            return fail(error);
        }
        set_errno(before);
        if let Some(compare) = compare {
            qsort(list.start.cast(), list.count, size_of::<*mut DirectoryEntry>(), compare);
        }
        out.write(list.start);
        list.count as c_int
    }
}

/// A list of entries, in blocks of the program's heap.
struct EntryList {
    start: *mut *mut DirectoryEntry,
    count: usize,
}

impl EntryList {
    fn new() -> EntryList {
        EntryList {
            start: ptr::null_mut(),
            count: 0,
        }
    }

    /// Appends a copy; returns false if there is no memory for it.
    fn add(&mut self, entry: &DirectoryEntry) -> bool {
        const AT_ONCE: usize = 32;
        let copy = heap::c_alloc(size_of::<DirectoryEntry>(), heap::C_ALIGN).cast::<DirectoryEntry>();
        if copy.is_null() {
            return false;
        }
        // SAFETY: a block of this size; the list's block has space for a multiple of `AT_ONCE`.
        unsafe {
            copy.copy_from_nonoverlapping(entry, 1);
            if self.count.is_multiple_of(AT_ONCE) {
                let bytes = (self.count + AT_ONCE) * size_of::<*mut DirectoryEntry>();
                let more = realloc(self.start.cast(), bytes);
                if more.is_null() {
                    let _ = heap::c_free(copy.cast());
                    return false;
                }
                self.start = more.cast();
            }
            self.start.add(self.count).write(copy);
        }
        self.count += 1;
        true
    }

    fn free(self) {
        for at in 0..self.count {
            // SAFETY: `add` has allocated them.
            let _ = unsafe { heap::c_free((*self.start.add(at)).cast()) };
        }
        if !self.start.is_null() {
            // SAFETY: as above.
            let _ = unsafe { heap::c_free(self.start.cast()) };
        }
    }
}

unsafe extern "C" fn alphasort(a: *const c_void, b: *const c_void) -> c_int {
    let name = |place: *const c_void| {
        // SAFETY: C's promise that there are pointers to entries.
        DirectoryEntry::name_of(unsafe { place.cast::<*const DirectoryEntry>().read() })
    };
    // SAFETY: C strings.
    unsafe { strcoll(name(a), name(b)) }
}
