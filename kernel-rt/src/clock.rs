//! The clock: ticks of the processor's counter as nanoseconds, and the time of day.

use midplane_abi::word::Word;

use crate::arch;

const NS_PER_SECOND: u64 = 1_000_000_000;

// Set once, at boot, before interrupts.
static CLOCK_HZ: Word = Word::new(1);
/// Nanoseconds per tick, with 32 binary places.
static NS_PER_TICK: Word = Word::new(0);
/// Time since 1970 in nanoseconds when the clock stood at 0.
static WALL_CLOCK_AT_0: Word = Word::new(0);

/// Time since the machine started in nanoseconds.
#[inline]
pub fn now_ns() -> u64 {
    ns(arch::ticks())
}

/// Time since 1970 in nanoseconds, as the board's calendar had it at boot; it may be wrong.
pub fn wall_clock_ns() -> u64 {
    WALL_CLOCK_AT_0.load() + now_ns()
}

/// Sets the clock: its frequency, and the time since 1970 in nanoseconds when it stood at `ticks`.
pub fn set(hz: u64, calendar_ns: u64, ticks: u64) {
    CLOCK_HZ.store(hz);
    NS_PER_TICK.store((NS_PER_SECOND << 32) / hz);
    WALL_CLOCK_AT_0.store(calendar_ns.saturating_sub(ns(ticks)));
}

/// Nanoseconds that `ticks` of the clock take. Without a division, because every step asks. A frequency that
/// does not divide a thousand million is off by less than one part in a thousand million.
#[inline]
pub fn ns(ticks: u64) -> u64 {
    if let Some(tick) = arch::TICK_NS {
        return ticks * tick;
    }
    ((ticks as u128 * NS_PER_TICK.load() as u128) >> 32) as u64
}

/// Ticks of the clock in `ns` nanoseconds.
#[inline]
pub fn ticks_of(ns: u64) -> u64 {
    if let Some(tick) = arch::TICK_NS {
        return ns / tick;
    }
    let hz = CLOCK_HZ.load();
    let rest = (ns % NS_PER_SECOND).saturating_mul(hz) / NS_PER_SECOND;
    (ns / NS_PER_SECOND).saturating_mul(hz).saturating_add(rest)
}
