//! Functions of glibc for a library that was compiled for Linux: gfortran's. Only images of Fortran programs link this
//! crate.
//!
//! Most calls of that library are to functions that picolibc or the kernel provides with the same arguments. Here are
//! those that only glibc has, and those whose structures or constants differ. The tool renames the library's calls to
//! these names (`qemu/src/build/fortran.rs`), so that a program's own functions do not replace them. The structures are
//! those of glibc for riscv64 (asm-generic of Linux). `errno` is picolibc's: its numbers up to 34 are those of Linux,
//! and the library compares no others.
#![no_std]
#![cfg(all(target_os = "none", target_arch = "riscv64"))]

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::fmt::{self, Write as _};

use kernel_rt::libc::{descriptor_status, path_status, random_word};
use midplane_abi::files::FileStatus;

// errno.h of picolibc.
const EEXIST: c_int = 17;
const EINVAL: c_int = 22;
const ENOSYS: c_int = 88;

/// `struct timespec` of both C libraries.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn open(name: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    fn access(name: *const c_char, mode: c_int) -> c_int;
    fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
    fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int;
    fn abort() -> !;
}

// A second name of sscanf. It has variable arguments, so that a function in Rust cannot call it with its own.
core::arch::global_asm!(
    ".section .text.midplane_glibc_sscanf, \"ax\"",
    ".globl midplane_glibc_sscanf",
    ".type midplane_glibc_sscanf, @function",
    "midplane_glibc_sscanf:",
    "tail sscanf",
);

/// Returns the address of `errno`, a thread-local variable of the only thread.
#[unsafe(no_mangle)]
extern "C" fn midplane_glibc_errno_location() -> *mut c_int {
    let address;
    // SAFETY: computes the address from the thread pointer, as compiled C does.
    unsafe {
        core::arch::asm!(
            "lui {address}, %tprel_hi(errno)",
            "add {address}, {address}, tp, %tprel_add(errno)",
            "addi {address}, {address}, %tprel_lo(errno)",
            address = out(reg) address,
            options(nostack, pure, nomem)
        );
    }
    address
}

/// Sets `errno` and returns -1.
fn fail(error: c_int) -> c_int {
    // SAFETY: the address of the variable.
    unsafe { midplane_glibc_errno_location().write(error) };
    -1
}

/// Entries of a table of characters: -128 to 255.
const CHARACTERS: usize = 384;
/// Entry of the character 0.
const ORIGIN: usize = 128;

/// Classes of a character as bits of glibc's ctype.h for little-endian processors.
const fn classes(c: u8) -> u16 {
    let bits = [
        (c.is_ascii_uppercase(), 8),
        (c.is_ascii_lowercase(), 9),
        (c.is_ascii_alphabetic(), 10),
        (c.is_ascii_digit(), 11),
        (c.is_ascii_hexdigit(), 12),
        (matches!(c, b' ' | b'\t'..=b'\r'), 13),
        (matches!(c, b' '..=b'~'), 14),
        (c.is_ascii_graphic(), 15),
        (matches!(c, b' ' | b'\t'), 0),
        (c.is_ascii_control(), 1),
        (c.is_ascii_punctuation(), 2),
        (c.is_ascii_alphanumeric(), 3),
    ];
    let mut word = 0;
    let mut at = 0;
    while at < bits.len() {
        word |= (bits[at].0 as u16) << bits[at].1;
        at += 1;
    }
    word
}

const fn class_table() -> [u16; CHARACTERS] {
    let mut table = [0; CHARACTERS];
    let mut c = 0;
    while c < 128 {
        table[ORIGIN + c] = classes(c as u8);
        c += 1;
    }
    table
}

/// Returns the table of a conversion: characters that are not ASCII are unchanged.
const fn case_table(is_upper: bool) -> [i32; CHARACTERS] {
    let mut table = [0; CHARACTERS];
    let mut at = 0;
    while at < CHARACTERS {
        let c = at as i32 - ORIGIN as i32;
        table[at] = match (c, is_upper) {
            (0..128, true) => (c as u8).to_ascii_uppercase() as i32,
            (0..128, false) => (c as u8).to_ascii_lowercase() as i32,
            _ => c,
        };
        at += 1;
    }
    table
}

static CLASSES: [u16; CHARACTERS] = class_table();
static LOWER: [i32; CHARACTERS] = case_table(false);
static UPPER: [i32; CHARACTERS] = case_table(true);

macro_rules! character_table {
    ($function:ident, $table:ident, $element:ty) => {
        /// Returns the address of a pointer to the entry of the character 0.
        #[unsafe(no_mangle)]
        extern "C" fn $function() -> *const *const $element {
            // A pointer to the whole table, so that entries on both sides may be read through it.
            struct Origin(*const $element);
            // SAFETY: the table is never written.
            unsafe impl Sync for Origin {}
            // SAFETY: the entry is in the table.
            static ORIGIN_OF_TABLE: Origin = Origin(unsafe { (&raw const $table).cast::<$element>().add(ORIGIN) });
            &raw const ORIGIN_OF_TABLE.0
        }
    };
}

character_table!(midplane_glibc_ctype_b_loc, CLASSES, u16);
character_table!(midplane_glibc_ctype_tolower_loc, LOWER, i32);
character_table!(midplane_glibc_ctype_toupper_loc, UPPER, i32);

/// Standard error as a text stream.
struct StandardError;

impl fmt::Write for StandardError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: the bytes of the text. Output to this stream does not fail.
        unsafe { write(2, text.as_ptr().cast(), text.len()) };
        Ok(())
    }
}

/// Reports a failed assertion of the library and aborts the program.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_assert_fail(
    assertion: *const c_char,
    source: *const c_char,
    line: c_uint,
    _function: *const c_char,
) -> ! {
    // SAFETY: C's promise.
    let [assertion, source] = [assertion, source].map(|text| unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("?"));
    let _ = writeln!(
        StandardError,
        "{source}:{line}: assertion `{assertion}` of Fortran's library fails"
    );
    // SAFETY: a function without conditions.
    unsafe { abort() }
}

/// Reports no shared objects.
#[unsafe(no_mangle)]
extern "C" fn midplane_glibc_dl_iterate_phdr(_: *const c_void, _: *mut c_void) -> c_int {
    0
}

/// Ends the search for callers: there are no unwind tables in memory. The tool determines the program's lines.
#[unsafe(no_mangle)]
extern "C" fn midplane_glibc_unwind_backtrace(_: *const c_void, _: *mut c_void) -> c_int {
    const END_OF_STACK: c_int = 5; // unwind.h
    END_OF_STACK
}

/// Returns no address: the search has no callers.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_unwind_ip(_: *mut c_void, is_before: *mut c_int) -> usize {
    // SAFETY: C's promise.
    unsafe { is_before.write(0) };
    0
}

/// Fails with ENOSYS as its result: a node has one process.
#[unsafe(no_mangle)]
extern "C" fn midplane_glibc_posix_spawn() -> c_int {
    ENOSYS
}

/// Clears a set of signals in picolibc's format, which is the beginning of glibc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_sigemptyset(set: *mut u64) -> c_int {
    // SAFETY: C's promise.
    unsafe { set.write(0) };
    0
}

/// Creates a file with a new name in place of the last six letters of the template. Descriptors have no flags. If the
/// program's root has no directory `tmp`, the file is in the root.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_mkostemp(template: *mut c_char, _flags: c_int) -> c_int {
    const X: &[u8] = b"XXXXXX";
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    const TRIES: usize = 100;
    // SAFETY: C's promise that it is a writable string.
    let bytes = unsafe {
        let length = CStr::from_ptr(template).count_bytes();
        core::slice::from_raw_parts_mut(template.cast::<u8>(), length)
    };
    if !bytes.ends_with(X) {
        return fail(EINVAL);
    }
    // A path of the same length for the directory of temporary files that the library uses by default.
    const TEMPORARY: &[u8; 5] = b"/tmp/";
    const ROOT: &[u8; 5] = b"/././";
    if let Some(prefix) = bytes.first_chunk_mut().filter(|prefix| **prefix == *TEMPORARY) {
        // SAFETY: a string.
        if unsafe { access(c"/tmp".as_ptr(), 0) } != 0 {
            *prefix = *ROOT;
        }
    }
    let start = bytes.len() - X.len();
    for _ in 0..TRIES {
        let mut word = random_word();
        for letter in &mut bytes[start..] {
            *letter = LETTERS[(word % 32) as usize];
            word /= 32;
        }
        // SAFETY: the string.
        let descriptor = unsafe { midplane_glibc_open(template, O_RDWR | O_CREAT | O_EXCL, 0o600) };
        // SAFETY: the address of the variable.
        let error = unsafe { midplane_glibc_errno_location().read() };
        if descriptor >= 0 || error != EEXIST {
            return descriptor;
        }
    }
    fail(EEXIST)
}

// fcntl.h of Linux for riscv64. The access mode and O_TRUNC, O_APPEND, O_CREAT are picolibc's, too.
const O_RDWR: c_int = 2;
const O_CREAT: c_int = 0x40;
const O_EXCL: c_int = 0x80;
const O_SAME: c_int = 3 | O_CREAT | 0x200 | 0x400;
const O_DIRECTORY: c_int = 0x1_0000;
const O_NOFOLLOW: c_int = 0x2_0000;

/// Opens a file with flags of Linux. Flags without an effect on a node, such as O_CLOEXEC, are ignored.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_open(name: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let mut ours = flags & O_SAME;
    // sys/_default_fcntl.h of picolibc.
    for (theirs, flag) in [(O_EXCL, 0x800), (O_DIRECTORY, 0x20_0000), (O_NOFOLLOW, 0x10_0000)] {
        if flags & theirs != 0 {
            ours |= flag;
        }
    }
    // SAFETY: C's promise.
    unsafe { open(name, ours, mode) }
}

/// Reads a clock by its number on Linux.
#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_clock_gettime(clock: c_int, out: *mut Timespec) -> c_int {
    // time.h of picolibc: CLOCK_REALTIME, CLOCK_MONOTONIC, and the processor time of the process.
    let ours = match clock {
        0 | 5 => 1,
        1 | 4 | 6 | 7 => 4,
        2 | 3 => 2,
        _ => return fail(EINVAL),
    };
    // SAFETY: C's promise.
    unsafe { clock_gettime(ours, out) }
}

/// `struct stat` of Linux for riscv64 (asm-generic/stat.h).
#[repr(C)]
struct LinuxStatus {
    identity: [u64; 2],
    mode: u32,
    links: u32,
    owner: [u32; 2],
    special: u64,
    padding: u64,
    size: u64,
    block: u32,
    more_padding: u32,
    blocks: u64,
    times: [u64; 6],
    unused: [u32; 2],
}
const _: () = assert!(size_of::<LinuxStatus>() == 128);

/// Stores a status.
///
/// # Safety
/// `out` has space for it.
unsafe fn store_status(status: Result<FileStatus, c_int>, out: *mut LinuxStatus) -> c_int {
    let status = match status {
        Ok(status) => status,
        Err(error) => return fail(error),
    };
    let status = LinuxStatus {
        identity: status.identity,
        mode: status.mode as u32,
        links: status.links as u32,
        owner: status.owner.map(|id| id as u32),
        special: 0,
        padding: 0,
        size: status.size,
        block: status.blocks[0] as u32,
        more_padding: 0,
        blocks: status.blocks[1],
        times: status.times,
        unused: [0; 2],
    };
    // SAFETY: as the caller promises.
    unsafe { out.write(status) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_stat(name: *const c_char, out: *mut LinuxStatus) -> c_int {
    // SAFETY: C's promises.
    unsafe { store_status(path_status(name, true), out) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_lstat(name: *const c_char, out: *mut LinuxStatus) -> c_int {
    // SAFETY: C's promises.
    unsafe { store_status(path_status(name, false), out) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn midplane_glibc_fstat(descriptor: c_int, out: *mut LinuxStatus) -> c_int {
    // SAFETY: C's promise.
    unsafe { store_status(descriptor_status(descriptor), out) }
}
