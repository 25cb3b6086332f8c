//! Benchmarks of the device: instructions, steps, and time in a machine with an explicit cost model.
#![forbid(unsafe_code)]

pub mod collectives;
pub mod epochs;
pub mod exchange;
pub mod flood;
mod machine;
pub mod matching;
pub mod overlap;
pub mod scale;
pub mod self_send;
pub mod timed;
