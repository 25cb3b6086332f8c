//! Cortex-M4F: a node runs in thread mode on the process stack, the kernel's interrupts on the main stack.
//!
//! ```text
//! cpu       interrupts, sleep, clock, the critical section
//! timer     SysTick: the clock, and its interrupt
//! mpu       the guards of the stacks, what may be written and executed
//! fault     what the fault registers say; a fault does not come back
//! callers   the registers from which the calls that led here can be found
//! layout    where the image's parts stand
//! errno     C's `errno`
//! memory    `memcpy`, `memmove`, `memset`
//! stack     from the boot's stack to the program's
//! ```
//! Priorities, the most urgent first: faults; what moves bytes and time (the links' USARTs, SysTick), which takes
//! microseconds and is never held off; PendSV, which is the node's interrupt: the others ask for it when there is
//! something to do. The critical section holds off PendSV only (BASEPRI), so that no byte is lost while the program is
//! in a call. What the urgent ones share with the rest is atomic.

#[cfg(all(target_arch = "arm", target_os = "none"))]
mod callers;
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

/// What `uname` calls the machine.
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub const NAME: &str = "armv7e-m";

#[cfg(all(target_arch = "arm", target_os = "none"))]
pub use self::{callers::*, cpu::*, errno::*, layout::*, mpu::*, stack::*, timer::*};
