//! The entries of folders. A `DIR` is a block of the program's heap.

use core::ffi::{c_char, c_int};
use core::ptr;

use super::errno::{EBADF, EINVAL, ENOMEM, fail};
use super::files::{ask, file, path};
use crate::arch::set_errno;
use crate::heap;
use crate::host::files::{Call, OPEN_FOLDER, OPEN_READ};
use crate::host::records::MIDPLANE_FILES;

define!(opendir, fdopendir, readdir, closedir, rewinddir, dirfd);

/// `struct dirent` of kernel-rt/include/sys/dirent.h.
#[repr(C)]
struct Entry {
    inode: u16,
    kind: u8,
    name: [u8; Entry::NAME],
}

impl Entry {
    /// Room for a name and its zero.
    const NAME: usize = 256;
}

/// `DIR`.
#[repr(C)]
struct Folder {
    descriptor: c_int,
    entry: Entry,
}

fn failed(error: c_int) -> *mut Folder {
    set_errno(error);
    ptr::null_mut()
}

fn folder(descriptor: c_int) -> *mut Folder {
    let block = heap::c_alloc_zeroed(size_of::<Folder>(), heap::C_ALIGN).cast::<Folder>();
    if block.is_null() {
        return failed(ENOMEM);
    }
    // SAFETY: a block of this size, which is zero, and so all of it is valid.
    unsafe { (*block).descriptor = descriptor };
    block
}

fn close(descriptor: c_int) -> Result<(), c_int> {
    ask(Call::Close, [file(descriptor)?, 0, 0], &[]).map(|_| ())
}

unsafe extern "C" fn opendir(name: *const c_char) -> *mut Folder {
    // SAFETY: C's promise.
    let name = unsafe { path(name) };
    let opened = name.and_then(|name| ask(Call::Open, [OPEN_READ | OPEN_FOLDER, 0, 0], &[name]));
    match opened {
        Ok(answer) => {
            let descriptor = answer.numbers[0] as c_int;
            let made = folder(descriptor);
            if made.is_null() {
                // There is no memory: nothing that this could add to that.
                let _ = close(descriptor);
            }
            made
        }
        Err(error) => failed(error),
    }
}

/// What is open is the folder's from now on.
extern "C" fn fdopendir(descriptor: c_int) -> *mut Folder {
    let rewound = file(descriptor).and_then(|file| ask(Call::Rewind, [file, 0, 0], &[]));
    match rewound {
        Ok(_) => folder(descriptor),
        Err(error) => failed(error),
    }
}

/// The next entry; null at the end, with `errno` as it was, and with another one where that failed.
unsafe extern "C" fn readdir(folder: *mut Folder) -> *mut Entry {
    // SAFETY: C's promise.
    let Some(folder) = (unsafe { folder.as_mut() }) else {
        set_errno(EBADF);
        return ptr::null_mut();
    };
    match ask(Call::Next, [folder.descriptor as u64, 0, 0], &[]) {
        Ok(answer) if answer.length == 0 => ptr::null_mut(),
        Ok(answer) => {
            let entry = &mut folder.entry;
            let [inode, kind] = answer.numbers;
            entry.inode = inode as u16;
            entry.kind = kind as u8;
            let length = answer.length.min(Entry::NAME - 1);
            MIDPLANE_FILES.take(&mut entry.name[..length]);
            entry.name[length] = 0;
            entry
        }
        Err(error) => {
            set_errno(error);
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn closedir(folder: *mut Folder) -> c_int {
    // SAFETY: C's promise.
    let Some(descriptor) = (unsafe { folder.as_ref() }).map(|folder| folder.descriptor) else {
        return fail(EBADF);
    };
    // SAFETY: C's promise that it came from `opendir`.
    let freed = unsafe { heap::c_free(folder.cast()) };
    match (close(descriptor), freed) {
        (Ok(()), Ok(())) => 0,
        (Err(error), _) => fail(error),
        (_, Err(heap::NotABlock)) => fail(EINVAL),
    }
}

unsafe extern "C" fn rewinddir(folder: *mut Folder) {
    // SAFETY: C's promise.
    if let Some(folder) = unsafe { folder.as_ref() } {
        // POSIX has no way to say that it failed.
        let _ = ask(Call::Rewind, [folder.descriptor as u64, 0, 0], &[]);
    }
}

unsafe extern "C" fn dirfd(folder: *mut Folder) -> c_int {
    // SAFETY: C's promise.
    match unsafe { folder.as_ref() } {
        Some(folder) => folder.descriptor,
        None => fail(EINVAL),
    }
}
