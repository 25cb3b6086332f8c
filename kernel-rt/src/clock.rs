//! The clock: conversion of counter ticks to nanoseconds, and the time of day.

use midplane_abi::word::SharedWord;

use crate::arch;
use crate::records::MIDPLANE_NS_PER_TICK;

const NS_PER_SECOND: u64 = 1_000_000_000;

// Set once, at boot, before interrupts.
static CLOCK_HZ: SharedWord = SharedWord::new(1);
/// Time since 1970 in nanoseconds at tick 0.
static WALL_CLOCK_AT_0: SharedWord = SharedWord::new(0);

/// Returns the time since the machine started in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    ns(arch::ticks())
}

/// Returns the time since 1970 in nanoseconds, based on the board's calendar at boot; it may be wrong.
pub fn wall_clock_ns() -> u64 {
    WALL_CLOCK_AT_0.load() + now_ns()
}

/// Sets the clock: its frequency, and the time since 1970 in nanoseconds at `ticks`.
pub fn set(hz: u64, calendar_ns: u64, ticks: u64) {
    CLOCK_HZ.store(hz);
    MIDPLANE_NS_PER_TICK.store((NS_PER_SECOND << 32) / hz);
    WALL_CLOCK_AT_0.store(calendar_ns.saturating_sub(ns(ticks)));
}

/// Converts `ticks` of the clock to nanoseconds. Uses no division, because every step calls it. For a frequency that
/// does not divide 10^9 the error is below one part in 10^9.
#[inline]
pub fn ns(ticks: u64) -> u64 {
    if let Some(tick) = arch::TICK_NS {
        return ticks * tick;
    }
    ((ticks as u128 * MIDPLANE_NS_PER_TICK.load() as u128) >> 32) as u64
}

/// Converts `ns` nanoseconds to ticks of the clock.
#[inline]
pub fn ticks_of(ns: u64) -> u64 {
    if let Some(tick) = arch::TICK_NS {
        return ns / tick;
    }
    let hz = CLOCK_HZ.load();
    let rest = (ns % NS_PER_SECOND).saturating_mul(hz) / NS_PER_SECOND;
    (ns / NS_PER_SECOND).saturating_mul(hz).saturating_add(rest)
}
