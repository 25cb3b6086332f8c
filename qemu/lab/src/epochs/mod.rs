//! The engine of epochs (`midplane_device::rma::epochs`), the real one, in models of whole jobs.
//!
//! ```text
//!   cases/       the table: jobs of 3 processes and 2 windows, and what must be found
//!   explore.rs   every interleaving of a job's calls and packets
//!   random.rs    jobs drawn from a seed, and what sequential memory makes of them
//!   script.rs    what a process calls, one by one, and what it must find
//!   memory.rs    the processes' memory
//! ```
#![forbid(unsafe_code)]

pub mod cases;
pub mod explore;
pub mod memory;
pub mod random;
pub mod script;
