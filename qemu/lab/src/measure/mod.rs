//! What the device costs: instructions, steps, and time in a machine with a stated cost model.
#![forbid(unsafe_code)]

pub mod collectives;
pub mod epochs;
pub mod exchange;
pub mod flood;
mod machine;
pub mod matching;
pub mod oneself;
pub mod overlap;
pub mod scale;
pub mod timed;
