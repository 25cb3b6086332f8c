//! The end of the emulator.
#![forbid(unsafe_code)]

use super::tool;

/// Leaves the emulator with an exit status; without one the node stays where it is.
pub fn exit(status: u8) -> ! {
    tool::exit(status);
    stay()
}

/// The node has failed, and stays where it is.
pub fn stay() -> ! {
    #[cfg(feature = "options")]
    super::attach::finish();
    crate::arch::park()
}
