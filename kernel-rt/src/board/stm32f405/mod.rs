//! STM32F405 (Cortex-M4F, 1 MiB of flash, 128 KiB of RAM): a node on a chip, its links six serial lines. QEMU has it as
//! machine `netduinoplus2`. Wiring, pins and baud rate: docs/stm32f405.md.
//!
//! ```text
//! attach      what the tool is told by a serial console, if the machine has one
//! boot        from reset to the program
//! place       where it finds out how it is wired, if it is told to
//! platform    the node's types: links, clock, sleep, heap
//! dma         the streams that carry their bytes, where there is a controller
//! lines       the six USARTs
//! clocks      oscillator and buses
//! traps       interrupts and faults, as the processor's code hands them over
//! heap        the start of the heap
//! memory      what stands where, and the sum of it (portable)
//! tool        the tool, through semihosting
//! records     what of it the tool's memory has
//! system      the end of the emulator
//! timer       the timer, as the console asks for it
//! uart        the bell; output and log without a tool, for a debug probe
//! ```

pub mod memory;

#[cfg(all(target_arch = "arm", target_os = "none", feature = "options"))]
mod attach;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod boot;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod clocks;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod dma;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod heap;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod lines;
#[cfg(all(target_arch = "arm", target_os = "none", feature = "options"))]
mod place;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod platform;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod records;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod system;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod timer;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod tool;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod traps;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod uart;

/// Starts the line in a direction, for a link.
#[cfg(all(target_arch = "arm", target_os = "none", feature = "options"))]
use attach::start as start_line;
#[cfg(all(target_arch = "arm", target_os = "none", not(feature = "options")))]
use lines::start as start_line;
