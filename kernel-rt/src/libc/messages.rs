//! Messages to standard error: err.h, error.h, syslog.h, and warnings about unsupported features. A node has no system
//! log, so `syslog` also writes to standard error.

use core::ffi::{CStr, c_char, c_int};
use core::fmt::Write as _;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

use super::VaList;
use super::process::{exit, program_name};
use super::streams::OwnedText;
use crate::arch;
use crate::console::{self, OutputStream};
use crate::records::personality;

define_variadic!(
    err: 2,
    errx: 2,
    warn: 1,
    warnx: 1,
    error: 3,
    error_at_line: 5,
    syslog: 2,
);
define!(verr, verrx, vwarn, vwarnx, vsyslog, openlog, closelog, setlogmask);

unsafe extern "C" {
    fn strerror(error: c_int) -> *const c_char;
}

fn put(bytes: &[u8]) {
    console::write(OutputStream::Err, bytes);
}

/// Prints a warning about unsupported features of nodes once, tracked by `has_said`. Only rank 0 prints it: all ranks
/// run the same program.
pub fn warn_unsupported(has_said: &AtomicBool, words: &str) {
    if personality().is_some_and(|p| p.rank == 0) && !has_said.swap(true, Ordering::Relaxed) {
        put(words.as_bytes());
    }
}

/// Writes `program: text: error`, or a part of it.
///
/// # Safety
/// As for C's `vprintf`, unless the format is null.
unsafe fn print_message(format: *const c_char, arguments: VaList, error: Option<c_int>) {
    // Earlier output is printed first.
    console::flush();
    put(program_name().to_bytes());
    put(b": ");
    // SAFETY: the caller's promise.
    unsafe { print_message_rest(format, arguments, error) };
}

/// Writes the part of [`print_message`] after the program's name.
///
/// # Safety
/// That of [`print_message`].
unsafe fn print_message_rest(format: *const c_char, arguments: VaList, error: Option<c_int>) {
    if !format.is_null() {
        // SAFETY: the caller's promise.
        if let Some(text) = unsafe { OwnedText::format(format, arguments) } {
            put(text.bytes());
        }
        if error.is_some() {
            put(b": ");
        }
    }
    if let Some(error) = error {
        // SAFETY: C's own function, which returns a string for every number.
        put(unsafe { CStr::from_ptr(strerror(error)) }.to_bytes());
    }
    put(b"\n");
    console::flush();
}

unsafe extern "C" fn err(status: c_int, format: *const c_char, arguments: VaList) -> ! {
    // SAFETY: C's promise.
    unsafe { verr(status, format, arguments) }
}

unsafe extern "C" fn errx(status: c_int, format: *const c_char, arguments: VaList) -> ! {
    // SAFETY: C's promise.
    unsafe { verrx(status, format, arguments) }
}

unsafe extern "C" fn warn(format: *const c_char, arguments: VaList) {
    // SAFETY: C's promise.
    unsafe { vwarn(format, arguments) };
}

unsafe extern "C" fn warnx(format: *const c_char, arguments: VaList) {
    // SAFETY: C's promise.
    unsafe { vwarnx(format, arguments) };
}

unsafe extern "C" fn verr(status: c_int, format: *const c_char, arguments: VaList) -> ! {
    // SAFETY: C's promise, and C's own function.
    unsafe {
        print_message(format, arguments, Some(arch::errno()));
        exit(status)
    }
}

unsafe extern "C" fn verrx(status: c_int, format: *const c_char, arguments: VaList) -> ! {
    // SAFETY: C's promise, and C's own function.
    unsafe {
        print_message(format, arguments, None);
        exit(status)
    }
}

unsafe extern "C" fn vwarn(format: *const c_char, arguments: VaList) {
    // SAFETY: C's promise.
    unsafe { print_message(format, arguments, Some(arch::errno())) };
}

unsafe extern "C" fn vwarnx(format: *const c_char, arguments: VaList) {
    // SAFETY: C's promise.
    unsafe { print_message(format, arguments, None) };
}

/// Number of calls of `error`; the program may read and change it.
#[unsafe(no_mangle)]
static error_message_count: AtomicU32 = AtomicU32::new(0);

fn counted(status: c_int) {
    error_message_count.fetch_add(1, Ordering::Relaxed);
    if status != 0 {
        // SAFETY: C's own function.
        unsafe { exit(status) }
    }
}

unsafe extern "C" fn error(status: c_int, number: c_int, format: *const c_char, arguments: VaList) {
    // SAFETY: C's promise.
    unsafe { print_message(format, arguments, (number != 0).then_some(number)) };
    counted(status);
}

unsafe extern "C" fn error_at_line(
    status: c_int,
    number: c_int,
    file: *const c_char,
    line: u32,
    format: *const c_char,
    arguments: VaList,
) {
    console::flush();
    put(program_name().to_bytes());
    if !file.is_null() {
        let mut place = heapless::String::<16>::new();
        // A number of at most ten digits fits.
        let _ = write!(place, ":{line}");
        put(b":");
        // SAFETY: C's promise.
        put(unsafe { CStr::from_ptr(file) }.to_bytes());
        put(place.as_bytes());
    }
    put(b": ");
    // SAFETY: C's promise.
    unsafe { print_message_rest(format, arguments, (number != 0).then_some(number)) };
    counted(status);
}

/// Prefix of messages set by `openlog`.
static IDENTITY: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
/// Bit mask of the enabled priorities.
static LOG_MASK: AtomicI32 = AtomicI32::new(0xff);

extern "C" fn openlog(identity: *mut c_char, _: c_int, _: c_int) {
    IDENTITY.store(identity, Ordering::Relaxed);
}

extern "C" fn closelog() {
    IDENTITY.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Sets the mask; 0 changes nothing (POSIX).
extern "C" fn setlogmask(mask: c_int) -> c_int {
    match mask {
        0 => LOG_MASK.load(Ordering::Relaxed),
        mask => LOG_MASK.swap(mask, Ordering::Relaxed),
    }
}

unsafe extern "C" fn syslog(priority: c_int, format: *const c_char, arguments: VaList) {
    // SAFETY: C's promise.
    unsafe { vsyslog(priority, format, arguments) };
}

unsafe extern "C" fn vsyslog(priority: c_int, format: *const c_char, arguments: VaList) {
    const PRIORITIES: c_int = 7;
    if LOG_MASK.load(Ordering::Relaxed) >> (priority & PRIORITIES) & 1 == 0 {
        return;
    }
    let identity = IDENTITY.load(Ordering::Relaxed);
    // SAFETY: C's promise that it stays; and about the format.
    unsafe {
        let identity = if identity.is_null() {
            program_name()
        } else {
            CStr::from_ptr(identity)
        };
        console::flush();
        put(identity.to_bytes());
        put(b": ");
        print_message_rest(format, arguments, None);
    }
}
