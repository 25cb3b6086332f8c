//! Clocks of the system.

/// Returns the monotonic clock in nanoseconds.
pub fn now_ns() -> u64 {
    ns_of(libc::CLOCK_MONOTONIC)
}

/// Returns a duration in nanoseconds as system calls take it.
pub fn timespec_of(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// Returns one of the standard clocks in nanoseconds.
pub fn ns_of(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time to `now`.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
