//! Exit from the emulator.
#![forbid(unsafe_code)]

use super::tool;

/// Exits the emulator with a status; without an emulator the node stops.
pub fn exit(status: u8) -> ! {
    tool::exit(status);
    stay()
}

/// Stops a failed node.
pub fn stay() -> ! {
    #[cfg(feature = "options")]
    super::attach::finish();
    crate::arch::park()
}
