//! Start and end of a Rust program linked by cargo, and of a program that loads the shared library of `midplane lib`. For
//! other programs `ld/linux.c` implements them.
//!
//! The constructor table contains [`start`], and the destructor table [`ended`]
//! ([`starts_by_itself!`](crate::starts_by_itself)). A process that the tool has started is a rank from the beginning,
//! even if its program never uses MPI, because others' messages pass it. A standalone process becomes a rank at its
//! first use of MPI: a program, or a test, without MPI creates no node. The same holds for a program with the shared
//! library, whose constructor and destructor (`ld/library.c`) call [`midplane_load`] and `midplane_exit`.

use core::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use midplane_objects::installed::{NodeStarter, installed, start_by};

use super::abort::PanicMeaning;
use super::boot::{boot, midplane_exit};
use super::{VARIABLE, launcher, threads};

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

/// The process is this program's alone.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Runs as the program's first constructor, possibly several times. A rank of the simulator has its process already.
pub extern "C" fn start() {
    if installed().is_some() || IS_STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the function exists as long as the program.
    unsafe { on_exit(note_status, ptr::null_mut()) };
    start_with(NodeStarter {
        boot: || boot(PanicMeaning::EndTheRank),
        is_unwinding: std::thread::panicking,
        thread: number_of_thread,
    });
}

/// Creates the node of a process of the tool or a launcher now, and of another process at its first use of MPI.
fn start_with(starter: NodeStarter) {
    start_by(starter);
    if std::env::var_os(VARIABLE).is_some() || launcher::is_launched() {
        (starter.boot)();
    }
}

/// Runs when the program loads the shared library with the functions of MPI, which take the lock of [`threads`].
#[unsafe(no_mangle)]
extern "C" fn midplane_load() {
    threads::note_entries();
    start_with(NodeStarter {
        boot: || boot(PanicMeaning::EndTheJob),
        is_unwinding: || false,
        thread: number_of_thread,
    });
}

/// Runs as the program's last destructor, possibly several times.
pub extern "C" fn ended() {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    if IS_STARTED.load(Ordering::Relaxed) && !HAS_ENDED.swap(true, Ordering::Relaxed) {
        midplane_exit(STATUS.load(Ordering::Relaxed), ptr::null_mut());
    }
}

fn number_of_thread() -> usize {
    // SAFETY: only returns the thread ID, a positive number.
    unsafe { libc::gettid() as usize }
}
