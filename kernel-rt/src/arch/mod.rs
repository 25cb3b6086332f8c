//! The processor. Each architecture defines the same names: `wait_for_interrupt`, `ticks`,
//! `enable_interrupts`, `park`, and the implementation of the critical section.

#[cfg(target_arch = "riscv64")]
mod riscv64;
#[cfg(target_arch = "riscv64")]
pub use riscv64::*;
