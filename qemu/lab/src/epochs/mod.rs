//! The production epoch engine (`midplane_device::rma::epochs`) in models of complete jobs.
//!
//! ```text
//!   cases/       the table: jobs of 3 processes and 2 windows, and their required results
//!   explore.rs   every interleaving of a job's calls and packets
//!   bond/        the same with the models whose theorems are proved
//!   random.rs    jobs drawn from a seed, and their results in sequential memory
//!   script.rs    the calls of a process, and the required memory contents
//!   memory.rs    the processes' memory
//! ```
#![forbid(unsafe_code)]

pub mod bond;
pub mod cases;
pub mod explore;
pub mod memory;
pub mod random;
pub mod script;
