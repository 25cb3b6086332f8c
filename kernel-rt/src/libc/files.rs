//! File descriptors: 0 is standard input, 1 and 2 are the output streams, the others files, which the host tool manages
//! ([`midplane_abi::files`]). The directory of `run --files` is the program's `/` and its permanent working directory.
//! Without that option no file can be opened.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use midplane_abi::blackboard;
use midplane_abi::files::{
    self, BYTES, FileOperation, FileReply, MAX_PATH, OPEN_APPEND, OPEN_CREATE, OPEN_DIRECTORY, OPEN_EXCLUSIVE,
    OPEN_NO_LINK, OPEN_READ, OPEN_TRUNCATE, OPEN_WRITE,
};

use super::errno::{
    EBADF, EINVAL, EMFILE, ENAMETOOLONG, ENOENT, ENOLCK, ENOSYS, EOVERFLOW, EPERM, ERANGE, EROFS, fail, fail_long,
    from_linux,
};
use super::stdio::input;
use super::time::Timespec;
use super::{FileOffset, wide};
use crate::arch::set_errno;
use crate::board::records::MIDPLANE_FILES;
use crate::console::{self, OutputStream};
use crate::records::MIDPLANE_BLACKBOARD;
use crate::running::sleep;

define!(
    write, read, open, creat, close, lseek, fsync, unlink, rename, mkdir, rmdir, chdir, getcwd, access, stat, lstat,
    fstat, isatty, dup, dup2, pipe, ftruncate, truncate, chmod, fchmod, readlink, symlink, link, mknod, mkfifo, utime,
    utimes, fcntl, flock, lockf, sync, umask,
);
define_same!(fdatasync = fsync);

/// First wait for the tool's reply, in nanoseconds; each wait is twice as long as the previous one.
const FIRST_WAIT_NS: u64 = 50_000;
/// Maximum wait.
const LONGEST_WAIT_NS: u64 = 1_000_000;
/// First descriptor of a file; the streams' descriptors are below.
pub const FIRST_FILE: c_int = 3;

/// Sends a call to the tool and waits for its reply. Blocks; interrupts are handled meanwhile. Returns picolibc's error
/// number.
pub fn ask(call: FileOperation, numbers: [u64; 3], parts: &[&[u8]]) -> Result<FileReply, c_int> {
    if !console::is_attached() {
        return Err(EROFS);
    }
    MIDPLANE_FILES.ask(call, numbers, parts);
    console::ring();
    let mut wait = FIRST_WAIT_NS;
    let answer = loop {
        if let Some(answer) = MIDPLANE_FILES.answer() {
            break answer;
        }
        if wait == LONGEST_WAIT_NS {
            MIDPLANE_BLACKBOARD.call(Some(blackboard::CallRecord {
                function: "a call on a file",
                peer: None,
                tag: None,
            }));
        }
        sleep(wait);
        wait = (2 * wait).min(LONGEST_WAIT_NS);
    };
    if wait == LONGEST_WAIT_NS {
        MIDPLANE_BLACKBOARD.call(None);
    }
    answer.map_err(from_linux)
}

/// Returns a path's bytes.
///
/// # Safety
/// `path` is a C string that stays valid while the result is used.
pub unsafe fn path<'p>(path: *const c_char) -> Result<&'p [u8], c_int> {
    // SAFETY: as the caller promises.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    match bytes.len() {
        0 => Err(ENOENT),
        length if length > MAX_PATH => Err(ENAMETOOLONG),
        _ => Ok(bytes),
    }
}

/// Returns the result of a call without further results.
fn done(result: Result<FileReply, c_int>) -> c_int {
    match result {
        Ok(_) => 0,
        Err(error) => fail(error),
    }
}

/// Returns the tool's ID of a file's descriptor.
pub fn file(descriptor: c_int) -> Result<u64, c_int> {
    if descriptor >= FIRST_FILE {
        Ok(descriptor as u64)
    } else {
        Err(EBADF)
    }
}

/// Returns whether a descriptor is open: the streams always are.
pub fn is_open(descriptor: c_int) -> bool {
    (0..FIRST_FILE).contains(&descriptor)
        || file(descriptor)
            .and_then(|file| ask(FileOperation::Fstat, [file, 0, 0], &[]))
            .is_ok()
}

/// Makes a call with one path.
///
/// # Safety
/// As for [`path`].
unsafe fn with_path(call: FileOperation, numbers: [u64; 3], name: *const c_char) -> Result<FileReply, c_int> {
    // SAFETY: as the caller promises.
    ask(call, numbers, &[unsafe { path(name) }?])
}

fn stream(descriptor: c_int) -> Option<OutputStream> {
    match descriptor {
        1 => Some(OutputStream::Out),
        2 => Some(OutputStream::Err),
        _ => None,
    }
}

pub unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    let bytes = match count {
        // For zero bytes the pointer may be invalid.
        0 => &[],
        // SAFETY: C's promise.
        count => unsafe { core::slice::from_raw_parts(bytes.cast::<u8>(), count) },
    };
    if let Some(stream) = stream(descriptor) {
        if count != 0 {
            console::write(stream, bytes);
            console::flush();
        }
        return count as isize;
    }
    let result = file(descriptor).and_then(|file| {
        let mut written = 0;
        loop {
            let piece = &bytes[written..bytes.len().min(written + BYTES)];
            match ask(FileOperation::Write, [file, 0, 0], &[piece]) {
                Ok(answer) => {
                    let now = (answer.numbers[0] as usize).min(piece.len());
                    written += now;
                    if written == bytes.len() || now == 0 {
                        return Ok(written);
                    }
                }
                // Returns the bytes written so far; the next call returns the error.
                Err(_) if written > 0 => return Ok(written),
                Err(error) => return Err(error),
            }
        }
    });
    result.map_or_else(|error| fail(error) as isize, |written| written as isize)
}

pub unsafe extern "C" fn read(descriptor: c_int, out: *mut c_void, count: usize) -> isize {
    let out = match count {
        // For zero bytes the pointer may be invalid.
        0 => &mut [],
        // SAFETY: C's promise that there are `count` bytes.
        count => unsafe { core::slice::from_raw_parts_mut(out.cast::<u8>(), count) },
    };
    if descriptor == 0 {
        return match count {
            0 => 0,
            _ => input(out) as isize,
        };
    }
    let result = file(descriptor).and_then(|file| {
        let mut got = 0;
        loop {
            let piece = (count - got).min(BYTES);
            match ask(FileOperation::Read, [file, piece as u64, 0], &[]) {
                Ok(answer) => {
                    let now = answer.length.min(piece);
                    MIDPLANE_FILES.copy_bytes(&mut out[got..got + now]);
                    got += now;
                    if got == count || now < piece {
                        return Ok(got);
                    }
                }
                Err(_) if got > 0 => return Ok(got),
                Err(error) => return Err(error),
            }
        }
    });
    result.map_or_else(|error| fail(error) as isize, |got| got as isize)
}

/// `mode` is the first variable argument, passed in the next register.
unsafe extern "C" fn open(name: *const c_char, flags: c_int, mode: u32) -> c_int {
    // sys/_default_fcntl.h of picolibc.
    let mut wanted = match flags & 3 {
        0 => OPEN_READ,
        1 => OPEN_WRITE,
        2 => OPEN_READ | OPEN_WRITE,
        _ => return fail(EINVAL),
    };
    for (flag, asked) in [
        (0x400, OPEN_APPEND),
        (0x40, OPEN_CREATE),
        (0x800, OPEN_EXCLUSIVE),
        (0x200, OPEN_TRUNCATE),
        (0x20_0000, OPEN_DIRECTORY),
        (0x10_0000, OPEN_NO_LINK),
    ] {
        if flags & flag != 0 {
            wanted |= asked;
        }
    }
    // SAFETY: C's promise.
    match unsafe { with_path(FileOperation::Open, [wanted, mode.into(), 0], name) } {
        Ok(answer) => answer.numbers[0] as c_int,
        Err(error) => fail(error),
    }
}

unsafe extern "C" fn creat(name: *const c_char, mode: u32) -> c_int {
    // SAFETY: C's promise.
    unsafe { open(name, 0x40 | 0x200 | 1, mode) }
}

/// The streams stay open: later output is still printed.
extern "C" fn close(descriptor: c_int) -> c_int {
    done(file(descriptor).and_then(|file| ask(FileOperation::Close, [file, 0, 0], &[])))
}

pub extern "C" fn lseek(descriptor: c_int, offset: FileOffset, whence: c_int) -> FileOffset {
    let numbers = |file| [file, wide(offset).cast_unsigned(), whence as u64];
    match file(descriptor).and_then(|file| ask(FileOperation::Seek, numbers(file), &[])) {
        Ok(answer) => FileOffset::try_from(answer.numbers[0]).unwrap_or_else(|_| fail_long(EOVERFLOW)),
        Err(error) => fail_long(error),
    }
}

/// Output to the streams is transmitted immediately.
extern "C" fn fsync(descriptor: c_int) -> c_int {
    match stream(descriptor) {
        Some(_) => {
            console::flush();
            0
        }
        None => done(file(descriptor).and_then(|file| ask(FileOperation::Sync, [file, 0, 0], &[]))),
    }
}

unsafe extern "C" fn unlink(name: *const c_char) -> c_int {
    // SAFETY: C's promise.
    done(unsafe { with_path(FileOperation::Unlink, [0; 3], name) })
}

unsafe extern "C" fn rename(old: *const c_char, new: *const c_char) -> c_int {
    // SAFETY: C's promise.
    let both = unsafe { path(old).and_then(|old| Ok((old, path(new)?))) };
    done(both.and_then(|(old, new)| ask(FileOperation::Rename, [old.len() as u64, 0, 0], &[old, new])))
}

pub unsafe extern "C" fn mkdir(name: *const c_char, mode: u32) -> c_int {
    // SAFETY: C's promise.
    done(unsafe { with_path(FileOperation::MakeDirectory, [mode.into(), 0, 0], name) })
}

unsafe extern "C" fn rmdir(name: *const c_char) -> c_int {
    // SAFETY: C's promise.
    done(unsafe { with_path(FileOperation::RemoveDirectory, [0; 3], name) })
}

/// The working directory is always the root.
unsafe extern "C" fn chdir(name: *const c_char) -> c_int {
    // SAFETY: C's promise.
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"/" | b"." => 0,
        b"" => fail(ENOENT),
        _ => fail(ENOSYS),
    }
}

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

pub unsafe extern "C" fn access(name: *const c_char, mode: c_int) -> c_int {
    // SAFETY: C's promise.
    done(unsafe { with_path(FileOperation::Access, [mode as u64, 0, 0], name) })
}

/// `struct stat` of picolibc (sys/stat.h).
#[repr(C)]
struct Stat {
    device: i16,
    inode: u16,
    mode: u32,
    links: u16,
    user: u16,
    group: u16,
    special: i16,
    size: i64,
    times: [Timespec; 3],
    piece: i64,
    blocks: i64,
    spare: [i64; 2],
}
const _: () = assert!(size_of::<Stat>() == 104);

impl Stat {
    /// Values that exceed picolibc's types are truncated.
    fn from_status(status: &files::FileStatus) -> Stat {
        let time = |at: usize| Timespec {
            seconds: status.times[at].cast_signed(),
            nanoseconds: status.times[at + 1].cast_signed() as _,
        };
        let [device, inode] = status.identity;
        let [user, group] = status.owner;
        let [piece, blocks] = status.blocks;
        Stat {
            device: device as i16,
            inode: inode as u16,
            mode: status.mode as u32,
            links: status.links as u16,
            user: user as u16,
            group: group as u16,
            special: 0,
            size: status.size.cast_signed(),
            times: [time(0), time(2), time(4)],
            piece: piece.cast_signed(),
            blocks: blocks.cast_signed(),
            spare: [0; 2],
        }
    }
}

/// Returns the status of a file with its complete identity, which picolibc's `struct stat` truncates, for libraries with
/// another structure. `follows`: of the file that a symbolic link leads to. Blocks for the tool's reply.
///
/// # Errors
/// Returns picolibc's error number.
///
/// # Safety
/// `name` is a C string.
pub unsafe fn path_status(name: *const c_char, follows: bool) -> Result<files::FileStatus, c_int> {
    let call = if follows {
        FileOperation::Stat
    } else {
        FileOperation::Lstat
    };
    // SAFETY: as the caller promises.
    unsafe { with_path(call, [0; 3], name) }.map(|_| status_in_reply())
}

/// Returns the status of a descriptor, as [`path_status`]. The streams are pipes with different identities.
///
/// # Errors
/// Returns picolibc's error number.
pub fn descriptor_status(descriptor: c_int) -> Result<files::FileStatus, c_int> {
    if (0..FIRST_FILE).contains(&descriptor) {
        return Ok(files::FileStatus {
            identity: [0, 1 + u64::from(descriptor.unsigned_abs())],
            mode: PIPE,
            links: 1,
            ..files::FileStatus::default()
        });
    }
    let reply = file(descriptor).and_then(|file| ask(FileOperation::Fstat, [file, 0, 0], &[]));
    reply.map(|_| status_in_reply())
}

fn status_in_reply() -> files::FileStatus {
    let mut bytes = [0; files::FileStatus::BYTES];
    MIDPLANE_FILES.copy_bytes(&mut bytes);
    files::FileStatus::parse(&bytes)
}

/// Mode of the streams.
const PIPE: u64 = 0o01_0600;

/// Stores the status of a file from the tool in `out`.
///
/// # Safety
/// `out` has space for it.
unsafe fn store_status(result: Result<FileReply, c_int>, out: *mut Stat) -> c_int {
    if let Err(error) = result {
        return fail(error);
    }
    let mut bytes = [0; files::FileStatus::BYTES];
    MIDPLANE_FILES.copy_bytes(&mut bytes);
    // SAFETY: as the caller promises.
    unsafe { out.write(Stat::from_status(&files::FileStatus::parse(&bytes))) };
    0
}

unsafe extern "C" fn stat(name: *const c_char, out: *mut Stat) -> c_int {
    // SAFETY: C's promises.
    unsafe { store_status(with_path(FileOperation::Stat, [0; 3], name), out) }
}

unsafe extern "C" fn lstat(name: *const c_char, out: *mut Stat) -> c_int {
    // SAFETY: C's promises.
    unsafe { store_status(with_path(FileOperation::Lstat, [0; 3], name), out) }
}

/// The streams are pipes.
unsafe extern "C" fn fstat(descriptor: c_int, out: *mut Stat) -> c_int {
    if (0..FIRST_FILE).contains(&descriptor) {
        let status = files::FileStatus {
            mode: PIPE,
            links: 1,
            ..files::FileStatus::default()
        };
        // SAFETY: C's promise.
        unsafe { out.write(Stat::from_status(&status)) };
        return 0;
    }
    let result = file(descriptor).and_then(|file| ask(FileOperation::Fstat, [file, 0, 0], &[]));
    // SAFETY: C's promise.
    unsafe { store_status(result, out) }
}

extern "C" fn isatty(_: c_int) -> c_int {
    0
}

/// Fails: a descriptor cannot be duplicated.
extern "C" fn dup(descriptor: c_int) -> c_int {
    fail(if descriptor < 0 { EBADF } else { EMFILE })
}

extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    match (from, to) {
        (0.., _) if from == to => to,
        (0.., _) => fail(EMFILE),
        _ => fail(EBADF),
    }
}

extern "C" fn pipe(_: *mut c_int) -> c_int {
    fail(EMFILE)
}

fn resize(descriptor: c_int, size: FileOffset) -> c_int {
    let Ok(size) = u64::try_from(wide(size)) else {
        return fail(EINVAL);
    };
    match descriptor {
        0..FIRST_FILE => fail(EINVAL),
        _ => done(file(descriptor).and_then(|file| ask(FileOperation::Resize, [file, size, 0], &[]))),
    }
}

extern "C" fn ftruncate(descriptor: c_int, size: FileOffset) -> c_int {
    resize(descriptor, size)
}

unsafe extern "C" fn truncate(name: *const c_char, size: FileOffset) -> c_int {
    // SAFETY: C's promise.
    let descriptor = unsafe { open(name, 1, 0) };
    if descriptor < 0 {
        return -1;
    }
    let result = resize(descriptor, size);
    // The first error is returned.
    let _ = ask(FileOperation::Close, [descriptor as u64, 0, 0], &[]);
    result
}

extern "C" fn chmod(_: *const c_char, _: u32) -> c_int {
    fail(EPERM)
}

extern "C" fn fchmod(_: c_int, _: u32) -> c_int {
    fail(EPERM)
}

/// Devices and named pipes are not supported.
extern "C" fn mknod(_: *const c_char, _: u32, _: i16) -> c_int {
    fail(EPERM)
}

extern "C" fn mkfifo(_: *const c_char, _: u32) -> c_int {
    fail(EPERM)
}

/// The host maintains file times.
extern "C" fn utime(_: *const c_char, _: *const c_void) -> c_int {
    fail(EPERM)
}

extern "C" fn utimes(_: *const c_char, _: *const c_void) -> c_int {
    fail(EPERM)
}

/// The tool supports no locks: other ranks would not see them.
extern "C" fn flock(_: c_int, _: c_int) -> c_int {
    fail(ENOLCK)
}

extern "C" fn lockf(_: c_int, _: c_int, _: FileOffset) -> c_int {
    fail(ENOLCK)
}

/// Writes to files reach the host immediately.
extern "C" fn sync() {
    console::flush();
}

/// Files are created with the tool's mask, and a program can neither read nor change it. 022 is the usual value.
extern "C" fn umask(_: u32) -> u32 {
    0o022
}

extern "C" fn readlink(_: *const c_char, _: *mut c_char, _: usize) -> isize {
    fail(EINVAL) as isize
}

extern "C" fn symlink(_: *const c_char, _: *const c_char) -> c_int {
    fail(EPERM)
}

extern "C" fn link(_: *const c_char, _: *const c_char) -> c_int {
    fail(EPERM)
}

/// Descriptors have no settings; F_GETFD reports that they are open, and F_GETFL the access mode of the streams.
extern "C" fn fcntl(descriptor: c_int, command: c_int) -> c_int {
    // fcntl.h of picolibc.
    const F_GETFD: c_int = 1;
    const F_SETFD: c_int = 2;
    const F_GETFL: c_int = 3;
    const F_GETLK: c_int = 7;
    const F_SETLKW: c_int = 9;
    const O_WRONLY: c_int = 1;
    match (descriptor, command) {
        (0..FIRST_FILE, F_GETFD) => 0,
        (0..FIRST_FILE, F_GETFL) => O_WRONLY.min(descriptor),
        (0..FIRST_FILE, _) => fail(EINVAL),
        (_, F_GETFD | F_SETFD) => done(file(descriptor).and_then(|file| ask(FileOperation::Fstat, [file, 0, 0], &[]))),
        (_, _) if descriptor < 0 => fail(EBADF),
        (_, F_GETLK..=F_SETLKW) => fail(ENOLCK),
        _ => fail(EINVAL),
    }
}
