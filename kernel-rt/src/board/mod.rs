//! The boards: what stands at which address, and the few devices that have no driver of their own.

#[cfg(target_arch = "riscv64")]
mod virt;
#[cfg(target_arch = "riscv64")]
pub use virt::*;
