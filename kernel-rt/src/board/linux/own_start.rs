//! Start and end of a Rust program linked by cargo. For other programs `ld/linux.c` implements them.
//!
//! The constructor table contains [`start`], and the destructor table [`ended`]
//! ([`starts_by_itself!`](crate::starts_by_itself)). A process that the tool has started is a rank from the beginning,
//! even if its program never uses MPI, because others' messages pass it. A standalone process becomes a rank at its
//! first use of MPI: a program, or a test, without MPI creates no node.

use core::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use midplane_objects::installed::{NodeStarter, start_by};

use super::VARIABLE;
use super::abort::PanicMeaning;
use super::boot::{boot, midplane_exit};

// SAFETY: as the manual of the C library specifies.
unsafe extern "C" {
    /// on_exit(3), missing in the C library's bindings.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The program's status after it has called `exit` or has returned from `main`.
static STATUS: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_status(status: c_int, _: *mut c_void) {
    STATUS.store(status, Ordering::Relaxed);
}

/// Runs as the program's first constructor, possibly several times.
pub extern "C" fn start() {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    if IS_STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the function exists as long as the program.
    unsafe { on_exit(note_status, ptr::null_mut()) };
    start_by(NodeStarter {
        boot: || boot(PanicMeaning::EndTheRank),
        is_unwinding: std::thread::panicking,
        thread: number_of_thread,
    });
    if std::env::var_os(VARIABLE).is_some() {
        boot(PanicMeaning::EndTheRank);
    }
}

/// Runs as the program's last destructor, possibly several times.
pub extern "C" fn ended() {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    if !HAS_ENDED.swap(true, Ordering::Relaxed) {
        midplane_exit(STATUS.load(Ordering::Relaxed), ptr::null_mut());
    }
}

fn number_of_thread() -> usize {
    // SAFETY: only returns the thread ID, a positive number.
    unsafe { libc::gettid() as usize }
}
