//! The start and the end of a program in Rust that cargo has linked. Of others they are in `ld/linux.c`.
//!
//! The table of constructors leads to [`start`], and the table of destructors to [`ended`]
//! ([`starts_by_itself!`](crate::starts_by_itself)). The tool's process is a rank from the start on, whether or not its
//! program asks for MPI, because others' messages pass it. Alone it becomes one when MPI is first asked for something:
//! a program, or a test, that needs no MPI has no node.

use core::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use midplane_objects::installed::{Starter, start_by};

use super::VARIABLE;
use super::boot::{boot, midplane_exit};
use super::end::Panics;

// SAFETY: as the manual of the C library has it.
unsafe extern "C" {
    /// on_exit(3), which the C library's header for other languages lacks.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The program's status, once it has called `exit` or has returned from `main`.
static STATUS: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_status(status: c_int, _: *mut c_void) {
    STATUS.store(status, Ordering::Relaxed);
}

/// Called as the program's first constructor, possibly several times.
pub extern "C" fn start() {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    if IS_STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the function is there as long as the program.
    unsafe { on_exit(note_status, ptr::null_mut()) };
    start_by(Starter {
        boot: || boot(Panics::EndTheRank),
        is_unwinding: std::thread::panicking,
        thread: number_of_thread,
    });
    if std::env::var_os(VARIABLE).is_some() {
        boot(Panics::EndTheRank);
    }
}

/// Called as the program's last destructor, possibly several times.
pub extern "C" fn ended() {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    if !HAS_ENDED.swap(true, Ordering::Relaxed) {
        midplane_exit(STATUS.load(Ordering::Relaxed), ptr::null_mut());
    }
}

fn number_of_thread() -> usize {
    // SAFETY: asks for a number, which is positive.
    unsafe { libc::gettid() as usize }
}
