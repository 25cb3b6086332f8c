//! Exit from the emulator.
#![forbid(unsafe_code)]

use super::semihosting;

/// Exits the emulator with a status; without an emulator the node stops.
pub fn exit(status: u8) -> ! {
    semihosting::exit(status);
    stay()
}

/// Stops a failed node.
pub fn stay() -> ! {
    #[cfg(feature = "options")]
    super::attach::finish();
    crate::arch::park()
}
