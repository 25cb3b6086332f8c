//! Streams: `stdin`, `stdout`, `stderr`.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int};

use crate::console::{self, Stream};
use crate::host::blackboard::Call;
use crate::host::inbox::Taken;
use crate::host::records::{MIDPLANE_BLACKBOARD, MIDPLANE_INBOX, personality};
use crate::running::sleep;

define!(fflush,);

/// How often the inbox is looked at while the program waits for input, in nanoseconds.
const INPUT_EVERY_NS: u64 = 5_000_000;

/// The program's standard input, as the host has it. Blocks until there is at least 1 byte and takes at
/// most as many as `out` holds, which is at least 1; 0 at the end. Only rank 0 has input, and only where a
/// host tool looks after the node.
pub fn input(out: &mut [u8]) -> usize {
    let is_served = console::is_attached();
    if !is_served || personality().is_none_or(|p| p.rank != 0) {
        return 0;
    }
    let waiting = Call {
        function: "a read of standard input",
        peer: None,
        tag: None,
    };
    let mut has_said = false;
    let taken = loop {
        let taken = MIDPLANE_INBOX.take(out);
        // There is room for more, or it is asked for.
        console::ring();
        match taken {
            Taken::Nothing => {
                if !has_said {
                    MIDPLANE_BLACKBOARD.call(Some(waiting));
                    has_said = true;
                }
                // Shows the prompt, too.
                sleep(INPUT_EVERY_NS);
            }
            taken => break taken,
        }
    };
    if has_said {
        MIDPLANE_BLACKBOARD.call(None);
    }
    match taken {
        Taken::Bytes(count) => count,
        Taken::Nothing | Taken::End => 0,
    }
}

/// `struct __file` of picolibc's tinystdio (stdio.h), with the four-byte `unget` that its riscv build has.
#[repr(C)]
struct File {
    unget: u32,
    flags: u8,
    put: Option<unsafe extern "C" fn(c_char, *mut File) -> c_int>,
    get: Option<unsafe extern "C" fn(*mut File) -> c_int>,
    flush: Option<unsafe extern "C" fn(*mut File) -> c_int>,
}

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
const EOF: c_int = -2; // _FDEV_EOF

#[repr(transparent)]
struct FileCell(UnsafeCell<File>);
// SAFETY: only the one program's code, in C, touches the contents.
unsafe impl Sync for FileCell {}

#[repr(transparent)]
struct FileRef(&'static FileCell);

unsafe extern "C" fn put_out(c: c_char, _: *mut File) -> c_int {
    console::write(Stream::Out, &[c]);
    c as c_int
}

unsafe extern "C" fn put_err(c: c_char, _: *mut File) -> c_int {
    console::write(Stream::Err, &[c]);
    c as c_int
}

unsafe extern "C" fn get_in(_: *mut File) -> c_int {
    let mut byte = [0];
    match input(&mut byte) {
        0 => EOF,
        _ => c_int::from(byte[0]),
    }
}

unsafe extern "C" fn flush_stream(_: *mut File) -> c_int {
    console::flush();
    0
}

const fn file(
    flags: u8,
    put: Option<unsafe extern "C" fn(c_char, *mut File) -> c_int>,
    get: Option<unsafe extern "C" fn(*mut File) -> c_int>,
) -> FileCell {
    FileCell(UnsafeCell::new(File {
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
static stdin: FileRef = FileRef(&IN);
#[unsafe(no_mangle)]
static stdout: FileRef = FileRef(&OUT);
#[unsafe(no_mangle)]
static stderr: FileRef = FileRef(&ERR);

/// As C has it; picolibc's own does not know the null pointer, which means all streams.
unsafe extern "C" fn fflush(file: *mut File) -> c_int {
    // SAFETY: C's promise.
    match unsafe { file.as_ref() } {
        None => console::flush(),
        Some(File {
            flush: Some(flush), ..
        }) => {
            // SAFETY: the file's own function.
            return unsafe { flush(file) };
        }
        Some(_) => {}
    }
    0
}
