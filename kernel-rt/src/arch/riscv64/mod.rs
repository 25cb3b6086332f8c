//! riscv64 in machine mode.
//!
//! ```text
//! entry     the first instructions: device tree, zeroed memory, stack, trap vector
//! trap      registers kept and restored around an interrupt; a fault does not come back
//! callers   the registers from which the calls that led here can be found
//! cause     what `mcause` says (pure)
//! cpu       interrupts, sleep, clock, the critical section
//! protect   what no program may touch is closed
//! layout    where the image's parts stand
//! errno     C's `errno`
//! va_list   C's variadic arguments, `long double`
//! ```
//! Boot order: `_start` (entry page) moves the device tree out of the way, clears what must be zero,
//! sets stack, thread pointer and trap vector, and calls the board's `midplane_boot`.

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
mod protect;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod trap;
#[cfg(all(target_arch = "riscv64", target_os = "none"))]
mod va_list;

#[cfg(all(target_arch = "riscv64", target_os = "none"))]
pub use self::{callers::*, cpu::*, errno::*, layout::*, protect::*, va_list::*};
