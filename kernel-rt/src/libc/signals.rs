//! Signals: within the program only, by `raise`, which calls the handlers set by `signal`.

use core::ffi::{c_int, c_uint, c_ulong, c_void};
use core::fmt::Write as _;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::errno::{EINVAL, ENOSYS, ESRCH, fail};
use super::messages::warn_unsupported;
use crate::abort::program_abort;
use crate::arch::set_errno;

define!(
    signal,
    raise,
    sigaction,
    sigprocmask,
    sigpending,
    sigsuspend,
    pthread_sigmask,
    pthread_kill,
    kill,
    alarm,
    ualarm,
    pause,
    getitimer,
    setitimer,
    timer_create,
    timer_delete,
    timer_settime,
    timer_gettime,
    timer_getoverrun,
);

type SignalHandler = *const c_void;

/// Special handlers of `signal` in picolibc's signal.h.
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const SIG_ERR: usize = usize::MAX;
/// From picolibc's sys/signal.h; NSIG is the number of signals.
const SIGKILL: c_int = 9;
const SIGURG: c_int = 16;
const SIGSTOP: c_int = 17;
const SIGCONT: c_int = 19;
const SIGCHLD: c_int = 20;
const SIGWINCH: c_int = 28;
const NSIG: c_int = 32;

/// The handlers' addresses, by signal.
static HANDLERS: [AtomicUsize; NSIG as usize] = [const { AtomicUsize::new(SIG_DFL) }; NSIG as usize];

/// Returns the handler's slot, if there is such a signal.
fn slot(signal: c_int) -> Option<&'static AtomicUsize> {
    let number = usize::try_from(signal).ok().filter(|number| *number > 0)?;
    HANDLERS.get(number)
}

/// Warns once about the limits of handlers.
fn warn_once() {
    static HAS_SAID: AtomicBool = AtomicBool::new(false);
    warn_unsupported(
        &HAS_SAID,
        "midplane: no signal comes to a node from outside, nor by time: handlers run by raise() only\n",
    );
}

/// Sets a handler. It remains set after it has run, as on Linux; picolibc's version resets it.
extern "C" fn signal(signal: c_int, handler: SignalHandler) -> SignalHandler {
    let slot = slot(signal).filter(|_| !matches!(signal, SIGKILL | SIGSTOP));
    let Some(slot) = slot else {
        set_errno(EINVAL);
        return ptr::without_provenance(SIG_ERR);
    };
    if !matches!(handler.addr(), SIG_DFL | SIG_IGN) {
        warn_once();
    }
    let before = slot.swap(handler.expose_provenance(), Ordering::Relaxed);
    ptr::with_exposed_provenance(before)
}

/// Runs the handler. Without one it ends the program, except for signals that are ignored by default.
extern "C" fn raise(signal: c_int) -> c_int {
    let Some(slot) = slot(signal) else {
        return fail(EINVAL);
    };
    match slot.load(Ordering::Relaxed) {
        SIG_IGN => {}
        SIG_DFL if matches!(signal, SIGURG | SIGCONT | SIGCHLD | SIGWINCH) => {}
        SIG_DFL => program_ended_by(signal),
        address => {
            let address = ptr::with_exposed_provenance::<()>(address);
            // SAFETY: C's promise that the argument of `signal` is a handler.
            unsafe { core::mem::transmute::<*const (), extern "C" fn(c_int)>(address)(signal) };
        }
    }
    0
}

fn program_ended_by(signal: c_int) -> ! {
    let mut what = heapless::String::<64>::new();
    // A number of at most two digits fits.
    let _ = write!(what, "the program raised signal {signal}, which it does not handle");
    program_abort(&what)
}

/// `struct sigaction` of picolibc.
#[repr(C)]
struct SignalAction {
    handler: SignalHandler,
    mask: c_ulong,
    flags: c_int,
}

unsafe extern "C" fn sigaction(number: c_int, new: *const SignalAction, old: *mut SignalAction) -> c_int {
    let Some(slot) = slot(number) else {
        return fail(EINVAL);
    };
    let before = ptr::with_exposed_provenance(slot.load(Ordering::Relaxed));
    // SAFETY: C's promise.
    if let Some(new) = unsafe { new.as_ref() }
        && signal(number, new.handler).addr() == SIG_ERR
    {
        return -1;
    }
    if !old.is_null() {
        let action = SignalAction {
            handler: before,
            mask: 0,
            flags: 0,
        };
        // SAFETY: C's promise.
        unsafe { old.write(action) };
    }
    0
}

/// Does nothing: no signal arrives that could be blocked.
unsafe extern "C" fn sigprocmask(_: c_int, _: *const c_ulong, old: *mut c_ulong) -> c_int {
    if !old.is_null() {
        // SAFETY: C's promise.
        unsafe { old.write(0) };
    }
    0
}

/// Reports that no signal is pending.
unsafe extern "C" fn sigpending(out: *mut c_ulong) -> c_int {
    // SAFETY: C's promise.
    unsafe { sigprocmask(0, ptr::null(), out) }
}

extern "C" fn sigsuspend(_: *const c_ulong) -> c_int {
    program_abort("sigsuspend(): no signal comes to a node, nothing could ever end this wait")
}

unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const c_ulong, old: *mut c_ulong) -> c_int {
    // SAFETY: C's promise.
    unsafe { sigprocmask(how, new, old) }
}

extern "C" fn pthread_kill(thread: c_ulong, signal: c_int) -> c_int {
    match (thread, signal) {
        (1, 0) => 0,
        (1, signal) => raise(signal),
        _ => ESRCH,
    }
}

/// Raises a signal for this process, which has ID 1, or for its group: there are no others.
extern "C" fn kill(process: c_int, signal: c_int) -> c_int {
    match (process, signal) {
        (-1..=1, 0) => 0,
        (-1..=1, signal) => raise(signal),
        _ => fail(ESRCH),
    }
}

/// Warns that the alarm never occurs.
extern "C" fn alarm(_: c_uint) -> c_uint {
    warn_once();
    0
}

extern "C" fn pause() -> c_int {
    program_abort("pause(): no signal comes to a node, nothing could ever end this wait")
}

extern "C" fn setitimer(_: c_int, _: *const c_void, _: *mut c_void) -> c_int {
    warn_once();
    fail(ENOSYS)
}

extern "C" fn ualarm(_: c_uint, _: c_uint) -> c_uint {
    warn_once();
    0
}

/// `struct itimerval`: two times of sixteen bytes each. No timer runs.
unsafe extern "C" fn getitimer(which: c_int, out: *mut [u64; 4]) -> c_int {
    const ITIMER_PROF: c_int = 2;
    if !(0..=ITIMER_PROF).contains(&which) || out.is_null() {
        return fail(EINVAL);
    }
    // SAFETY: C's promise.
    unsafe { out.write([0; 4]) };
    0
}

extern "C" fn timer_create(_: c_ulong, _: *const c_void, _: *mut c_void) -> c_int {
    warn_once();
    fail(ENOSYS)
}

/// Fails, like the next three functions: there are no timers.
extern "C" fn timer_delete(_: c_ulong) -> c_int {
    fail(EINVAL)
}

extern "C" fn timer_settime(_: c_ulong, _: c_int, _: *const c_void, _: *mut c_void) -> c_int {
    fail(EINVAL)
}

extern "C" fn timer_gettime(_: c_ulong, _: *mut c_void) -> c_int {
    fail(EINVAL)
}

extern "C" fn timer_getoverrun(_: c_ulong) -> c_int {
    fail(EINVAL)
}
