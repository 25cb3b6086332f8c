//! Test and benchmark library of the stack: full-system simulation in virtual time, random jobs, every interleaving of
//! small cases, matching engines against an oracle. [`midplane_cluster`] contains the simulated machines.
#![deny(unsafe_code)]

pub mod epochs;
pub mod explore;
pub mod matching;
pub mod measure;
pub mod rust_programs;
pub mod sim;
pub mod single_process;

pub use measure::epochs as epochs_timed;
pub use measure::{collectives, exchange, flood, overlap, scale, self_send, timed};
pub use midplane_cluster::{
    Cluster, ExitStatuses, JobFailure, JobProgress, MAX_MISSED_POLLS, NodeReport, SimProcess, match_orders, random,
};
pub use rust_programs::{as_fast_program, as_program};
