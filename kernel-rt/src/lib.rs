//! The compute-node kernel: what stands between a bare machine and an MPI program.
//!
//! What can be thought through without a machine is portable and tested on the host: [`host`],
//! [`board::device_tree`], [`fault`], [`mem`], [`libc::printf`]. The rest exists on boards only; [`node`] is the
//! composition root, where types become concrete and from which one reads how a node boots, runs and ends.
//! How an image is compiled and linked is written at the top of `ld/virt.ld`.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(target_os = "none")]
extern crate alloc;

pub mod board;
pub mod fault;
pub mod host;
pub mod libc;
pub mod mem;

pub use host::{blackboard, inbox, personality};

#[cfg(target_os = "none")]
mod arch;
#[cfg(target_os = "none")]
mod console;
#[cfg(target_os = "none")]
mod dev;
#[cfg(target_os = "none")]
mod heap;
#[cfg(target_os = "none")]
mod lend;
#[cfg(target_os = "none")]
mod log;
#[cfg(target_os = "none")]
pub mod node;
#[cfg(target_os = "none")]
mod program;

#[cfg(target_os = "none")]
pub use program::{Args, Outcome};
#[cfg(target_os = "none")]
#[doc(hidden)]
pub use program::{eprint as __eprint, print as __print, run as __run};
