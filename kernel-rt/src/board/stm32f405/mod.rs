//! STM32F405 (Cortex-M4F, 1 MiB of flash, 128 KiB of RAM): a node on a chip, its links six serial lines. QEMU supports
//! it as machine `netduinoplus2`. Wiring, pins and baud rate: docs/stm32f405.md.
//!
//! ```text
//! attach      the node's status on a serial console, if the machine has one
//! boot        from reset to the program
//! coord_discovery  discovery of the node's coordinates, if requested
//! platform    the node's types: links, clock, sleep, heap
//! dma         the lines' DMA streams, if there is a controller
//! lines       the six USARTs
//! clocks      oscillator and buses
//! traps       interrupts and faults, called by the processor's code
//! heap        the start of the heap
//! memory      memory layout, and its sum (portable)
//! semihosting  the host tool, through semihosting
//! records     records in the host tool's memory
//! system      exit from the emulator
//! timer       the timer for the console
//! uart        the doorbell; output and log without a tool, for a debug probe
//! ```

pub mod memory;

#[cfg(all(target_arch = "arm", target_os = "none", feature = "options"))]
mod attach;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod boot;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod clocks;
#[cfg(all(target_arch = "arm", target_os = "none", feature = "options"))]
mod coord_discovery;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod dma;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod heap;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod lines;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod platform;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod records;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod semihosting;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod system;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod timer;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod traps;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub mod uart;

/// Starts the line in a direction, for a link.
#[cfg(all(target_arch = "arm", target_os = "none", feature = "options"))]
use attach::start as start_line;
#[cfg(all(target_arch = "arm", target_os = "none", not(feature = "options")))]
use lines::start as start_line;
