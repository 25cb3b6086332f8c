//! The boards: what stands at which address, and the few devices that have no driver of their own.

pub mod device_tree;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod virt;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use virt::*;
