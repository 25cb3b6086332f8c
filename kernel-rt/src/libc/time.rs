//! Clocks and sleep.

use core::ffi::{c_int, c_long, c_void};

use super::errno::{EINVAL, fail};
use crate::{clock as kernel_clock, heap, running};

define!(
    gettimeofday,
    clock_gettime,
    clock_getres,
    clock,
    times,
    getrusage,
    nanosleep,
    clock_nanosleep,
    timespec_get,
    usleep,
    sleep,
);

/// `struct timeval`.
#[repr(C)]
pub struct Timeval {
    seconds: i64,
    microseconds: c_long,
}

impl Timeval {
    /// Returns `count` milliseconds.
    pub fn milliseconds(count: u32) -> Timeval {
        timeval(u64::from(count) * 1_000_000)
    }
}

/// `struct timespec`.
#[repr(C)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: c_long,
}

unsafe extern "C" fn gettimeofday(out: *mut Timeval, _: *mut c_void) -> c_int {
    let now = kernel_clock::wall_clock_ns();
    if !out.is_null() {
        // SAFETY: C's promise.
        unsafe { out.write(timeval(now)) };
    }
    0
}

fn timeval(ns: u64) -> Timeval {
    Timeval {
        seconds: (ns / 1_000_000_000) as i64,
        microseconds: (ns % 1_000_000_000 / 1000) as c_long,
    }
}

unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int {
    if out.is_null() {
        return fail(EINVAL);
    }
    // SAFETY: C's promise.
    unsafe { out.write(timespec(now(clock))) };
    0
}

fn now(clock: c_int) -> u64 {
    const CLOCK_REALTIME: c_int = 1; // time.h of picolibc
    match clock {
        CLOCK_REALTIME => kernel_clock::wall_clock_ns(),
        // Monotonic, or the processor time of the one process: it always runs.
        _ => kernel_clock::now_ns(),
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        seconds: (ns / 1_000_000_000) as i64,
        nanoseconds: (ns % 1_000_000_000) as c_long,
    }
}

/// Returns the resolution: one tick, for every clock.
unsafe extern "C" fn clock_getres(_: c_int, out: *mut Timespec) -> c_int {
    if !out.is_null() {
        let tick = Timespec {
            seconds: 0,
            nanoseconds: kernel_clock::ns(1).max(1) as c_long,
        };
        // SAFETY: C's promise.
        unsafe { out.write(tick) };
    }
    0
}

/// Units of `clock` and `times` in a second: CLOCKS_PER_SEC of picolibc's time.h.
pub const CLOCKS_PER_SECOND: c_long = 1_000_000;

/// Returns the processor time: the program has the processor to itself.
extern "C" fn clock() -> c_long {
    (kernel_clock::now_ns() / (1_000_000_000 / CLOCKS_PER_SECOND as u64)) as c_long
}

/// `struct tms`: user and system time, the program's and its children's.
unsafe extern "C" fn times(out: *mut [c_long; 4]) -> c_long {
    let now = clock();
    if !out.is_null() {
        // SAFETY: C's promise.
        unsafe { out.write([now, 0, 0, 0]) };
    }
    now
}

/// `struct rusage` of the project's sys/resource.h.
#[repr(C)]
struct ResourceUsage {
    user: Timeval,
    system: Timeval,
    /// In KiB.
    most_memory: c_long,
    others: [c_long; 13],
}

/// All time is the program's own.
unsafe extern "C" fn getrusage(who: c_int, out: *mut ResourceUsage) -> c_int {
    const RUSAGE_CHILDREN: c_int = -1;
    const RUSAGE_THREAD: c_int = 1;
    const NONE: Timeval = Timeval {
        seconds: 0,
        microseconds: 0,
    };
    if out.is_null() || !(RUSAGE_CHILDREN..=RUSAGE_THREAD).contains(&who) {
        return fail(EINVAL);
    }
    let (user, most_memory) = match who {
        RUSAGE_CHILDREN => (NONE, 0),
        _ => (timeval(kernel_clock::now_ns()), heap::peak() / 1024),
    };
    let usage = ResourceUsage {
        user,
        system: NONE,
        most_memory: most_memory as c_long,
        others: [0; 13],
    };
    // SAFETY: C's promise.
    unsafe { out.write(usage) };
    0
}

/// Sleeps for this duration.
///
/// # Errors
/// EINVAL: invalid time.
pub fn sleep_for(time: &Timeval) -> Result<(), c_int> {
    let (Ok(seconds), Ok(microseconds @ 0..1_000_000)) =
        (u64::try_from(time.seconds), u64::try_from(time.microseconds))
    else {
        return Err(EINVAL);
    };
    running::sleep(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(1000 * microseconds),
    );
    Ok(())
}

/// Sleeps for the duration in a `struct timespec`.
///
/// # Errors
/// EINVAL: invalid time.
pub fn sleep_for_spec(time: &Timespec) -> Result<(), c_int> {
    running::sleep(nanoseconds(time)?);
    Ok(())
}

fn nanoseconds(time: &Timespec) -> Result<u64, c_int> {
    let (Ok(seconds), Ok(nanoseconds @ 0..1_000_000_000)) =
        (u64::try_from(time.seconds), u64::try_from(time.nanoseconds))
    else {
        return Err(EINVAL);
    };
    Ok(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
}

/// Sleeps until this wall clock time.
///
/// # Errors
/// EINVAL: invalid time.
///
/// # Safety
/// `until` is null or a `struct timespec`.
pub unsafe fn sleep_until(until: *const Timespec) -> Result<(), c_int> {
    // SAFETY: the caller's promise.
    let until = unsafe { until.as_ref() }.ok_or(EINVAL)?;
    if !(0..1_000_000_000).contains(&until.nanoseconds) {
        return Err(EINVAL);
    }
    let seconds = u64::try_from(until.seconds).unwrap_or(0);
    let until = seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(until.nanoseconds as u64);
    running::sleep(until.saturating_sub(kernel_clock::wall_clock_ns()));
    Ok(())
}

unsafe extern "C" fn nanosleep(duration: *const Timespec, left: *mut Timespec) -> c_int {
    // SAFETY: C's promise.
    let Some(duration) = (unsafe { duration.as_ref() }) else {
        return fail(EINVAL);
    };
    if let Err(error) = sleep_for_spec(duration) {
        return fail(error);
    }
    if !left.is_null() {
        // SAFETY: C's promise.
        unsafe { left.write(timespec(0)) };
    }
    0
}

/// Sleeps until the time with TIMER_ABSTIME, otherwise for that duration; returns the error number (POSIX).
unsafe extern "C" fn clock_nanosleep(clock: c_int, flags: c_int, time: *const Timespec, left: *mut Timespec) -> c_int {
    const TIMER_ABSTIME: c_int = 4; // time.h of picolibc
    // SAFETY: C's promise.
    let asked = unsafe { time.as_ref() };
    let Some(Ok(asked)) = asked.map(nanoseconds) else {
        return EINVAL;
    };
    if flags & TIMER_ABSTIME != 0 {
        running::sleep(asked.saturating_sub(now(clock)));
        return 0;
    }
    running::sleep(asked);
    if !left.is_null() {
        // SAFETY: C's promise.
        unsafe { left.write(timespec(0)) };
    }
    0
}

/// Returns the time of day in base TIME_UTC, the only supported one (C17 section 7.27.2.5).
unsafe extern "C" fn timespec_get(out: *mut Timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    if base != TIME_UTC || out.is_null() {
        return 0;
    }
    // SAFETY: C's promise.
    unsafe { out.write(timespec(kernel_clock::wall_clock_ns())) };
    base
}

extern "C" fn usleep(microseconds: u32) -> c_int {
    running::sleep(u64::from(microseconds) * 1000);
    0
}

extern "C" fn sleep(seconds: u32) -> u32 {
    running::sleep(u64::from(seconds) * 1_000_000_000);
    0
}
