//! The in-process cluster: the stack of N nodes, from the MPI device down to the links, in one process, in
//! virtual time, under one seed.
//!
//! ```
//! use midplane_tests::Cluster;
//!
//! let job = Cluster::new([2, 2, 1]).seed(7).run(|env| {
//!     assert_eq!(env.size(), 4);
//!     0
//! });
//! assert_eq!(job, Ok(vec![0, 0, 0, 0]));
//! ```
#![deny(unsafe_code)]

pub mod alone;
mod cluster;
pub mod epochs;
pub mod explore;
pub mod matching;
pub mod measure;
mod panic;
mod programs;
pub mod random;
pub mod rust;
pub mod sim;

pub use cluster::{
    Block, Carrier, Cluster, Division, Ended, Failed, Failure, Node, NodeReport, Statuses, Watched,
    Words,
};
pub use measure::epochs as epochs_timed;
pub use measure::{collectives, exchange, flood, oneself, overlap, scale, timed};
