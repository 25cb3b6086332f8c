//! The processor: nothing of an architecture stands elsewhere.
//!
//! Each architecture defines the same names: `wait_for_interrupt`, `ticks`, `arm_interrupts`,
//! `registers`, `enable_interrupts`, `set_timer`, `is_external_pending`, `is_interrupt_pending`, `acknowledge_software`, `memory_before_devices`, `park`, the places of the
//! image's parts, `set_errno`, `VaList`, and the implementation of the critical section. Upwards it knows five symbols
//! only, which the board defines: `midplane_survey`, `midplane_map`, `midplane_boot`, `midplane_interrupt`,
//! `midplane_fault`.

pub mod riscv64;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use riscv64::*;
