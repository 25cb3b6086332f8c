//! Streams: `stdin`, `stdout`, `stderr`.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use midplane_abi::blackboard::CallRecord;
use midplane_abi::files::MAX_OPEN;
use midplane_abi::inbox::ReadResult;

use super::errno::{EINVAL, ENOMEM, ENOSYS, fail};
use super::process;
use crate::arch::set_errno;
use crate::board::records::MIDPLANE_INBOX;
use crate::console::{self, OutputStream};
use crate::records::{MIDPLANE_BLACKBOARD, personality};
use crate::running::sleep;

define!(fflush, getdelim, getline, popen, pclose);

/// Poll interval of the inbox while the program waits for input, in nanoseconds.
const INPUT_EVERY_NS: u64 = 5_000_000;

/// Reads the program's standard input, provided by the host. Blocks until there is at least 1 byte and returns at most
/// the number of bytes that `out` holds, which must be at least 1; 0 at the end. Only rank 0 has input, and only if a
/// host tool is attached.
pub fn input(out: &mut [u8]) -> usize {
    let is_served = console::is_attached();
    if !is_served || personality().is_none_or(|p| p.rank != 0) {
        return 0;
    }
    let waiting = CallRecord {
        function: "a read of standard input",
        peer: None,
        tag: None,
    };
    let mut has_said = false;
    let taken = loop {
        let taken = MIDPLANE_INBOX.read_input(out);
        // There is space for more, or the node requests it.
        console::ring();
        match taken {
            ReadResult::Empty => {
                if !has_said {
                    MIDPLANE_BLACKBOARD.call(Some(waiting));
                    has_said = true;
                }
                // Also publishes the prompt.
                sleep(INPUT_EVERY_NS);
            }
            taken => break taken,
        }
    };
    if has_said {
        MIDPLANE_BLACKBOARD.call(None);
    }
    match taken {
        ReadResult::Bytes(count) => count,
        ReadResult::Empty | ReadResult::End => 0,
    }
}

/// `unget` of picolibc's streams: four bytes in its riscv build, two in others.
#[cfg(target_arch = "riscv64")]
type UngetBuffer = u32;
#[cfg(not(target_arch = "riscv64"))]
type UngetBuffer = u16;

/// `struct __file` of picolibc's tinystdio (stdio.h).
#[repr(C)]
pub struct StdioFile {
    unget: UngetBuffer,
    flags: u8,
    put: Option<unsafe extern "C" fn(c_char, *mut StdioFile) -> c_int>,
    get: Option<unsafe extern "C" fn(*mut StdioFile) -> c_int>,
    flush: Option<unsafe extern "C" fn(*mut StdioFile) -> c_int>,
}

impl StdioFile {
    /// Creates an output stream with this function.
    pub fn to_write(flags: u8, put: unsafe extern "C" fn(c_char, *mut StdioFile) -> c_int) -> Self {
        StdioFile {
            unget: 0,
            flags,
            put: Some(put),
            get: None,
            flush: None,
        }
    }
}

impl StdioFile {
    /// Writes a byte to an output stream, and returns whether that succeeded. Marks a stream that fails.
    ///
    /// # Safety
    /// A stream that is open.
    pub unsafe fn put(file: *mut StdioFile, byte: u8) -> bool {
        // SAFETY: the caller's promise, and the stream's own function.
        unsafe {
            let is_put = match (*file).put {
                Some(put) => put(byte as c_char, file) >= 0,
                None => false,
            };
            if !is_put {
                (*file).flags |= FAILED;
            }
            is_put
        }
    }

    /// Returns whether a stream supports this access ([`READABLE`], [`WRITABLE`]); marks it as failed otherwise.
    ///
    /// # Safety
    /// A stream that is open.
    pub unsafe fn allows(file: *mut StdioFile, way: u8) -> bool {
        // SAFETY: the caller's promise.
        let flags = unsafe { &mut (*file).flags };
        let allows = *flags & way != 0;
        if !allows {
            *flags |= FAILED;
        }
        allows
    }
}

/// `__SRD`.
pub const READABLE: u8 = 1;
/// `__SWR`.
pub const WRITABLE: u8 = 2;
/// `__SERR`.
const FAILED: u8 = 4;
const EOF: c_int = -2; // _FDEV_EOF

#[repr(transparent)]
pub struct FileCell(UnsafeCell<StdioFile>);
// SAFETY: only the one program's code, in C, accesses the contents.
unsafe impl Sync for FileCell {}

#[repr(transparent)]
pub struct FileRef(&'static FileCell);

impl FileRef {
    /// Returns the stream.
    pub fn file(&self) -> *mut StdioFile {
        self.0.0.get()
    }
}

unsafe extern "C" fn put_out(c: c_char, _: *mut StdioFile) -> c_int {
    console::write(OutputStream::Out, &[c]);
    c as c_int
}

unsafe extern "C" fn put_err(c: c_char, _: *mut StdioFile) -> c_int {
    console::write(OutputStream::Err, &[c]);
    c as c_int
}

unsafe extern "C" fn get_in(_: *mut StdioFile) -> c_int {
    let mut byte = [0];
    match input(&mut byte) {
        0 => EOF,
        _ => c_int::from(byte[0]),
    }
}

unsafe extern "C" fn flush_stream(_: *mut StdioFile) -> c_int {
    console::flush();
    0
}

const fn file(
    flags: u8,
    put: Option<unsafe extern "C" fn(c_char, *mut StdioFile) -> c_int>,
    get: Option<unsafe extern "C" fn(*mut StdioFile) -> c_int>,
) -> FileCell {
    FileCell(UnsafeCell::new(StdioFile {
        unget: 0,
        flags,
        put,
        get,
        flush: Some(flush_stream),
    }))
}

static IN: FileCell = file(READABLE, None, Some(get_in));
static OUT: FileCell = file(WRITABLE, Some(put_out), None);
static ERR: FileCell = file(WRITABLE, Some(put_err), None);

#[unsafe(no_mangle)]
pub static stdin: FileRef = FileRef(&IN);
#[unsafe(no_mangle)]
pub static stdout: FileRef = FileRef(&OUT);
#[unsafe(no_mangle)]
static stderr: FileRef = FileRef(&ERR);

/// Open streams of files. picolibc does not track them, and C requires that they are flushed at the program's end.
static OPEN: [AtomicPtr<StdioFile>; MAX_OPEN] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_OPEN];
/// Buffer size of such a stream in bytes. picolibc's buffers have 512 bytes, and each flush is a call to the tool.
const BUFFER_BYTES: usize = 4096;

// Linked by `--wrap`: a call of `fdopen`, also by `fopen`, enters here, and `__real_fdopen` is picolibc's.
unsafe extern "C" {
    fn __real_fdopen(descriptor: c_int, mode: *const c_char) -> *mut StdioFile;
    fn __real_fclose(file: *mut StdioFile) -> c_int;
    fn setvbuf(file: *mut StdioFile, buffer: *mut c_char, mode: c_int, bytes: usize) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_fdopen(descriptor: c_int, mode: *const c_char) -> *mut StdioFile {
    const FULL: c_int = 0; // _IOFBF
    // SAFETY: C's promises.
    let file = unsafe { __real_fdopen(descriptor, mode) };
    if file.is_null() {
        return file;
    }
    // SAFETY: a stream that was just opened. If there is no memory for it, its own buffer stays.
    unsafe { setvbuf(file, ptr::null_mut(), FULL, BUFFER_BYTES) };
    // Each descriptor has a slot.
    if let Some(free) = OPEN.iter().find(|place| is(place, ptr::null_mut())) {
        free.store(file, Ordering::Relaxed);
    }
    process::write_out_with(write_out);
    file
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_fclose(file: *mut StdioFile) -> c_int {
    if let Some(place) = OPEN.iter().find(|place| is(place, file)) {
        place.store(ptr::null_mut(), Ordering::Relaxed);
    }
    // SAFETY: C's promise.
    unsafe { __real_fclose(file) }
}

fn is(place: &AtomicPtr<StdioFile>, file: *mut StdioFile) -> bool {
    place.load(Ordering::Relaxed) == file
}

/// Flushes the streams of files.
fn write_out() {
    for place in &OPEN {
        let file = place.load(Ordering::Relaxed);
        // SAFETY: a stream is in its slot from its opening until it is closed.
        let flush = unsafe { file.as_ref() }.and_then(|file| file.flush);
        if let Some(flush) = flush {
            // SAFETY: the file's own function. A failure here cannot be reported any more.
            unsafe { flush(file) };
        }
    }
}

/// Implements C's function; picolibc's version does not support the null pointer, which selects all streams.
unsafe extern "C" fn fflush(file: *mut StdioFile) -> c_int {
    // SAFETY: C's promise.
    match unsafe { file.as_ref() } {
        None => {
            console::flush();
            process::write_out();
        }
        Some(StdioFile { flush: Some(flush), .. }) => {
            // SAFETY: the file's own function.
            return unsafe { flush(file) };
        }
        Some(_) => {}
    }
    0
}

unsafe extern "C" {
    pub fn getc(file: *mut StdioFile) -> c_int;
    pub fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
}

/// Reads up to and including `end` (POSIX). The buffer grows by doubling.
unsafe extern "C" fn getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: *mut StdioFile) -> isize {
    const MIN_BYTES: usize = 64;
    if line.is_null() || room.is_null() || file.is_null() {
        return fail(EINVAL) as isize;
    }
    let mut length = 0;
    // SAFETY: C's promises about the pointers; the block has `room` bytes, and space for a zero is allocated before
    // each byte is written.
    unsafe {
        if (*line).is_null() {
            *room = 0;
        }
        loop {
            let byte = getc(file);
            if byte < 0 {
                break;
            }
            if length + 2 > *room {
                let more = (*room).saturating_mul(2).max(MIN_BYTES);
                let block = realloc((*line).cast(), more);
                if block.is_null() {
                    return fail(ENOMEM) as isize;
                }
                *line = block.cast();
                *room = more;
            }
            (*line).add(length).write(byte as c_char);
            length += 1;
            if byte == end {
                break;
            }
        }
        if length == 0 {
            return -1;
        }
        (*line).add(length).write(0);
    }
    length as isize
}

unsafe extern "C" fn getline(line: *mut *mut c_char, room: *mut usize, file: *mut StdioFile) -> isize {
    // SAFETY: C's promise.
    unsafe { getdelim(line, room, c_int::from(b'\n'), file) }
}

/// Not supported: a node has no other processes.
extern "C" fn popen(_: *const c_char, _: *const c_char) -> *mut StdioFile {
    set_errno(ENOSYS);
    ptr::null_mut()
}

extern "C" fn pclose(_: *mut StdioFile) -> c_int {
    fail(EINVAL)
}
