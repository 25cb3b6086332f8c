//! The processor: all architecture-dependent code.
//!
//! Each architecture defines the same names: `wait_for_interrupt`, `is_interrupt_pending`, `ticks`, `arm_interrupts`,
//! `enable_interrupts`, `registers`, `park`, `stack`, `constants`, `image_end`, `errno`, `set_errno`, and the
//! implementation of the critical section. Only its boards use the others. Upwards it only uses symbols that the board
//! defines: `midplane_interrupt`, `midplane_fault`, and on riscv64 `midplane_survey`, `midplane_map`, `midplane_boot`.

pub mod cortex_m;
pub mod riscv64;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub use cortex_m::*;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use riscv64::*;
