//! riscv64: a node runs in supervisor mode under Sv39; machine mode only prepares it.
//!
//! ```text
//! entry     machine mode: examines the machine, maps each hart and makes it a node
//! paging    page tables (pure)
//! trap      registers saved and restored around an interrupt; a fault does not return
//! backtrace  registers for a backtrace
//! cause     decodes `scause` (pure)
//! cpu       interrupts, sleep, clock, the critical section
//! layout    addresses of the image's parts
//! memory    `memcpy`, `memset`
//! errno     C's `errno`
//! ```
//! Boot order: `_start` (entry page) calls the board's `midplane_survey` on hart 0. On each hart that becomes a node it
//! then calls `midplane_map`, sets stack, thread pointer and trap vector, and enters the board's `midplane_boot` in
//! supervisor mode.

#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod backtrace;
pub mod cause;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod cpu;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod entry;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod errno;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod layout;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod memory;
pub mod paging;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod trap;

/// Machine name returned by `uname`.
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub const NAME: &str = "riscv64";
/// Nanoseconds per tick, if known at build time: the device tree specifies it.
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub const TICK_NS: Option<u64> = None;

#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use self::{backtrace::*, cpu::*, entry::*, errno::*, layout::*};
