//! riscv64: a node runs in supervisor mode under Sv39; machine mode only prepares it.
//!
//! ```text
//! entry     machine mode: the machine is looked at, each hart is mapped and becomes a node
//! paging    page tables (pure)
//! trap      registers kept and restored around an interrupt; a fault does not come back
//! callers   the registers from which the calls that led here can be found
//! cause     what `scause` says (pure)
//! cpu       interrupts, sleep, clock, the critical section
//! layout    where the image's parts stand
//! memory    `memcpy`, `memset`
//! errno     C's `errno`
//! ```
//! Boot order: `_start` (entry page) calls the board's `midplane_survey` on hart 0, then on each hart that is to be
//! a node its `midplane_map`, sets stack, thread pointer and trap vector, and enters the board's `midplane_boot`
//! in supervisor mode.

#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod callers;
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

/// What `uname` calls the machine.
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub const NAME: &str = "riscv64";
/// Nanoseconds that a tick of the clock takes, where the build knows them: the device tree says it.
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub const TICK_NS: Option<u64> = None;

#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use self::{callers::*, cpu::*, entry::*, errno::*, layout::*};
