//! The compute-node kernel: the layer between a bare machine and an MPI program.
//!
//! ```text
//! board/     composition root of each board: boot, traps, the few devices without a driver
//!   libc/      functions for picolibc: streams, malloc, time, files, printf      program   interface of a Rust program
//!   running    the one node of this image, for calls and interrupts               abort     abort path
//!   node       the node: step, settle, interrupt (portable)                       heap_loan  the heap lends to MPI
//!   dev/       virtio devices; implementations of `Link`
//!   clock  heap  console  log  memory_plan
//!   counters  queues  variables  mpi_failure  records      data of this node for the host tool
//! arch/      the processor: all architecture-dependent code
//! midplane-abi  definitions shared with the host tool: a crate below, in `abi/`
//! ```
//! Dependencies point downwards or sideways in this list. The board registers callbacks for calls from below: a freed
//! block, the last statistics of a failing node, an interrupt, whether the node is in use. A board's devices without a
//! driver (`uart`, `timer`, `system`, `records`) are below the console, under the same names on each board.
//!
//! Code that does not require a machine is portable and tested on the host: [`mod@node`], [`board::device_tree`],
//! [`board::stm32f405::memory`], [`arch::riscv64::cause`], [`arch::cortex_m::cause`], [`dev::serial`], [`memory_plan`],
//! [`libc::decimal`], [`libc::format`], [`libc::float_text`], [`libc::scan`]. The rest runs on boards only. The head of
//! `ld/virt.ld` describes how an image is compiled and linked.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(any(target_os = "none", target_os = "linux"))]
extern crate alloc;

pub mod arch;
pub mod board;
pub mod dev;
pub mod libc;
pub mod memory_plan;
pub mod mpi_failure;
pub mod node;
#[cfg(target_os = "none")]
pub mod records;

mod counters;
// Microcontrollers have no memory for the record.
#[cfg(not(target_arch = "arm"))]
mod queues;
mod variables;

#[cfg(target_os = "none")]
mod abort;
#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod console;
#[cfg(target_os = "none")]
mod heap;
#[cfg(any(target_os = "none", target_os = "linux"))]
mod heap_loan;
#[cfg(target_os = "none")]
mod log;
#[cfg(any(target_os = "none", target_os = "linux"))]
mod program;
#[cfg(target_os = "none")]
#[doc(hidden)]
pub mod running;

#[cfg(target_os = "linux")]
use board::linux::heap;

pub use midplane_abi::boot_parameters::BootRecord;
#[doc(hidden)]
pub use midplane_abi::boot_parameters::RECORD_BYTES as __RECORD_BYTES;
#[cfg(any(target_os = "none", target_os = "linux"))]
pub use program::{ProgramArgs, ProgramOutcome, args};
#[cfg(any(target_os = "none", target_os = "linux"))]
#[doc(hidden)]
pub use program::{eprint as __eprint, print as __print, run as __run};
