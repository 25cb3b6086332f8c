//! The boards: addresses, the few devices without a separate driver, and each board's composition root, where types
//! become concrete. Each board defines the same modules.

pub mod device;
pub mod device_tree;
#[cfg(target_os = "linux")]
pub mod linux;
#[allow(unsafe_code)]
pub mod matching;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod virt;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use virt::{platform, records, system, timer, uart};

#[cfg(target_os = "none")]
pub mod hot_path;
#[cfg(target_os = "none")]
mod start;
pub mod stm32f405;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub use stm32f405::{platform, records, system, timer, uart};
