//! The timer, as console and program ask for it.
#![forbid(unsafe_code)]

pub use crate::arch::wake_by;

/// The timer's interrupt has been taken: it asks for the node's, and nothing is left of it.
pub fn acknowledge() {
    crate::arch::acknowledge_call();
}
