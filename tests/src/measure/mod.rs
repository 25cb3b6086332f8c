//! What the device costs: instructions, steps, and time in a machine with a stated cost model.
#![forbid(unsafe_code)]

pub mod exchange;
pub mod flood;
pub mod matching;
pub mod oneself;
pub mod timed;
