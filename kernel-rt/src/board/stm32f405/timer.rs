//! The timer for console and program.
#![forbid(unsafe_code)]

pub use crate::arch::wake_by;

/// Acknowledges the timer's interrupt. It only requests the node's interrupt, cleared here.
pub fn acknowledge() {
    crate::arch::acknowledge_call();
}
