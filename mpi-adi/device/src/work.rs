//! Step counter of unit tests: entries checked, moved and indexed, memory allocated or cleared. Costs nothing
//! otherwise.
#![forbid(unsafe_code)]

#[cfg(test)]
std::thread_local! {
    static DONE: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Adds `steps` steps.
#[cfg(test)]
pub(crate) fn count_steps(steps: usize) {
    DONE.set(DONE.get() + steps as u64);
}

/// Does nothing outside of unit tests.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn count_steps(_: usize) {}

/// Returns the steps of this thread so far.
#[cfg(test)]
pub(crate) fn steps_done() -> u64 {
    DONE.get()
}
