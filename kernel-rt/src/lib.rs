//! The compute-node kernel: what stands between a bare machine and an MPI program.
//!
//! ```text
//! board/     composition root of each board: boot, traps, the few devices without a driver
//!   libc/      what picolibc asks for: streams, malloc, time, files, printf       program   a Rust program's face
//!   running    the one node of this image, as calls and interrupts meet it        end       a node that fails
//!   node       the node: step, settle, interrupt (portable)                       lend      the heap lends to MPI
//!   dev/       virtio devices; what implements `Link`
//!   clock  heap  console  log  mem
//!   counters  variables  mpi_failure  records      what this node has for the tool
//! arch/      the processor: nothing of an architecture stands elsewhere
//! midplane-abi  what the tool shares: a crate below, in `abi/`
//! ```
//! An arrow between files points downwards or sideways in this list: what is called from below (a freed block, the last
//! figures of a failing node, an interrupt) is registered by the board. Console, log, end and the node's lock call their
//! board's devices by name all the same; `tests/tests/architecture` lists them.
//!
//! What can be thought through without a machine is portable and tested on the host: [`mod@node`],
//! [`board::device_tree`], [`board::stm32f405::memory`], [`arch::riscv64::cause`], [`arch::cortex_m::cause`], [`dev::serial`], [`mem`], [`libc::decimal`], [`libc::format`], [`libc::float_text`], [`libc::scan`]. The rest exists on
//! boards only. How an image is compiled and linked is written at the top of `ld/virt.ld`.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(any(target_os = "none", target_os = "linux"))]
extern crate alloc;

pub mod arch;
pub mod board;
pub mod dev;
pub mod libc;
pub mod mem;
pub mod mpi_failure;
pub mod node;
#[cfg(target_os = "none")]
pub mod records;

mod counters;
mod variables;

#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod console;
#[cfg(target_os = "none")]
mod end;
#[cfg(target_os = "none")]
mod heap;
#[cfg(any(target_os = "none", target_os = "linux"))]
mod lend;
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
pub use program::{Args, Outcome, args};
#[cfg(any(target_os = "none", target_os = "linux"))]
#[doc(hidden)]
pub use program::{eprint as __eprint, print as __print, run as __run};
