//! Waits for file descriptors (POSIX poll, select). The streams and files are always ready, although a read of standard
//! input may block. A wait for no descriptor is a sleep; without a timeout it would last forever, and ends the program.

use core::ffi::{c_int, c_short, c_uint, c_ulong, c_void};

use super::errno::{EBADF, EINVAL, fail};
use super::files::is_open;
use super::time::{Timespec, Timeval, sleep_for, sleep_for_spec};
use crate::abort::program_abort;

define!(poll, ppoll, select, pselect);

/// `struct pollfd` of the project's poll.h.
#[repr(C)]
struct PollEntry {
    descriptor: c_int,
    wanted: c_short,
    ready: c_short,
}

/// POLLIN, POLLRDNORM; POLLOUT, POLLWRNORM: the events that files are ready for.
const READY: c_short = 0x1 | 0x40 | 0x4 | 0x100;
const POLLNVAL: c_short = 0x20;

/// Marks ready descriptors and returns their number.
///
/// # Safety
/// `polled` points to `count`.
unsafe fn mark(polled: *mut PollEntry, count: c_ulong) -> c_int {
    let mut ready = 0;
    for at in 0..count as usize {
        // SAFETY: the caller's promise.
        let one = unsafe { &mut *polled.add(at) };
        one.ready = match one.descriptor {
            ..0 => 0,
            descriptor if is_open(descriptor) => one.wanted & READY,
            _ => POLLNVAL,
        };
        ready += c_int::from(one.ready != 0);
    }
    ready
}

/// Returns the result of a wait that no descriptor was ready for.
fn slept(result: Result<(), c_int>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => fail(error),
    }
}

unsafe extern "C" fn poll(polled: *mut PollEntry, count: c_ulong, milliseconds: c_int) -> c_int {
    // SAFETY: C's promise.
    let ready = unsafe { mark(polled, count) };
    match c_uint::try_from(milliseconds) {
        _ if ready > 0 => ready,
        Ok(milliseconds) => slept(sleep_for(&Timeval::milliseconds(milliseconds))),
        Err(_) => for_ever("poll()"),
    }
}

unsafe extern "C" fn ppoll(polled: *mut PollEntry, count: c_ulong, time: *const Timespec, _: *const c_void) -> c_int {
    // SAFETY: C's promises.
    match unsafe { (mark(polled, count), time.as_ref()) } {
        (ready @ 1.., _) => ready,
        (_, Some(time)) => slept(sleep_for_spec(time)),
        (_, None) => for_ever("ppoll()"),
    }
}

/// Ends the program: no descriptor is ready or ever will be.
fn for_ever(call: &str) -> ! {
    let mut words = heapless::String::<96>::new();
    for word in [
        call,
        ": for no descriptor that is open, nothing could ever end this wait",
    ] {
        // Both fit.
        let _ = words.push_str(word);
    }
    program_abort(&words)
}

/// `FD_SETSIZE` of picolibc.
const SET_BITS: usize = 64;
const WORD_BITS: usize = c_ulong::BITS as usize;

/// `fd_set`.
type FdSet = [c_ulong; SET_BITS / WORD_BITS];

/// Returns the number of ready descriptors in the sets: all except those in the last set.
///
/// # Safety
/// The sets are null or sets.
unsafe fn ready(count: c_int, sets: [*mut FdSet; 3]) -> Result<c_int, c_int> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count <= SET_BITS)
        .ok_or(EINVAL)?;
    let mut ready = 0;
    for (at, set) in sets.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        let Some(set) = (unsafe { set.as_mut() }) else {
            continue;
        };
        for descriptor in 0..count {
            if set[descriptor / WORD_BITS] >> (descriptor % WORD_BITS) & 1 == 0 {
                continue;
            }
            if !is_open(descriptor as c_int) {
                return Err(EBADF);
            }
            ready += c_int::from(at < 2);
        }
        if at == 2 {
            // No exceptional conditions occur.
            *set = [0; SET_BITS / WORD_BITS];
        }
    }
    Ok(ready)
}

/// Returns the result of a call on sets: the number of ready descriptors, or the result of the sleep, if it is finite.
fn selected(call: &str, ready: Result<c_int, c_int>, sleep: Option<impl FnOnce() -> Result<(), c_int>>) -> c_int {
    match (ready, sleep) {
        (Err(error), _) => fail(error),
        (Ok(ready @ 1..), _) => ready,
        (Ok(_), Some(sleep)) => slept(sleep()),
        (Ok(_), None) => for_ever(call),
    }
}

unsafe extern "C" fn select(
    count: c_int,
    to_read: *mut FdSet,
    to_write: *mut FdSet,
    exceptional: *mut FdSet,
    time: *const Timeval,
) -> c_int {
    // SAFETY: C's promises.
    unsafe {
        let ready = ready(count, [to_read, to_write, exceptional]);
        selected("select()", ready, time.as_ref().map(|time| || sleep_for(time)))
    }
}

unsafe extern "C" fn pselect(
    count: c_int,
    to_read: *mut FdSet,
    to_write: *mut FdSet,
    exceptional: *mut FdSet,
    time: *const Timespec,
    _: *const c_void,
) -> c_int {
    // SAFETY: C's promises.
    unsafe {
        let ready = ready(count, [to_read, to_write, exceptional]);
        selected("pselect()", ready, time.as_ref().map(|time| || sleep_for_spec(time)))
    }
}
