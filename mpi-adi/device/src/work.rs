//! Counts steps of work in unit tests: entries looked at, moved and indexed, and memory that is taken or cleared. Costs
//! nothing in any other build.
#![forbid(unsafe_code)]

#[cfg(test)]
std::thread_local! {
    static DONE: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Counts so many steps.
#[cfg(test)]
pub(crate) fn did(steps: usize) {
    DONE.set(DONE.get() + steps as u64);
}

/// Counts so many steps.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn did(_: usize) {}

/// Steps of this thread so far.
#[cfg(test)]
pub(crate) fn done() -> u64 {
    DONE.get()
}
