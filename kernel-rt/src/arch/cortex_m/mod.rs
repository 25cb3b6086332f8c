//! Cortex-M4F: a node runs in thread mode on the process stack, the kernel's interrupts on the main stack.
//!
//! ```text
//! cpu       interrupts, sleep, clock, the critical section
//! timer     SysTick: the clock, and its interrupt
//! mpu       the stack guards, write and execute permissions
//! fault     decodes the fault registers; a fault does not return
//! backtrace  registers for a backtrace
//! layout    addresses of the image's parts
//! errno     C's `errno`
//! memory    `memcpy`, `memmove`, `memset`
//! stack     from the boot's stack to the program's
//! ```
//! Priorities, the most urgent first: faults; the handlers that move bytes and time (the links' USARTs, SysTick), which
//! run for microseconds and are never masked; PendSV, the node's interrupt, requested by the others when there is work.
//! The critical section masks PendSV only (BASEPRI), so that no byte is lost while the program is in a call. Data
//! shared by the urgent handlers and the rest is atomic.

#[cfg(all(target_arch = "arm", target_os = "none"))]
mod backtrace;
pub mod cause;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod cpu;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod errno;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod fault;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod layout;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod memory;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod mpu;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod stack;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod timer;

/// Machine name returned by `uname`.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub const NAME: &str = "armv7e-m";

#[cfg(all(target_arch = "arm", target_os = "none"))]
pub use self::{backtrace::*, cpu::*, errno::*, layout::*, mpu::*, stack::*, timer::*};
