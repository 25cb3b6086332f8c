//! The device (ADI).
//!
//! ```text
//!   adi        the device of one process: its parts          config, stats   limits, memory handed in, counts
//!   progress   one bounded step: packets -> handlers -> send/, recv/ -> packets
//!   at_once    what most calls ask for, without a request
//!   protocol   the decisions, pure, with the table; read it first
//!   send/      the program's sends, offers, answers to them      recv/   receives, probes, offers that come
//!   parts      what comes with its first use: cancelled sends, and
//!   rma/       one-sided communication
//!   matching/  the two queues      request/   requests      memory/   MPI memory, and the program's buffers
//! ```

mod adi;
pub mod at_once;
pub mod bare;
pub mod barrier;
pub mod boxed;
pub mod config;
pub mod envelope;
mod few;
mod handlers;
pub mod kernel;
pub mod list;
pub mod matching;
#[allow(unsafe_code)]
pub mod memory;
pub mod names;
#[cfg(feature = "micro")]
mod no_peer_pages;
mod parts;
#[cfg(not(feature = "micro"))]
mod peer_pages;
#[cfg_attr(
    feature = "micro",
    allow(dead_code, reason = "who waits is looked for")
)]
mod peer_sets;
pub mod peers;
mod progress;
pub mod protocol;
pub mod recv;
pub mod request;
pub mod rma;
pub mod send;
pub mod stats;
#[cfg(test)]
mod tests;
pub mod wire;
mod work;

pub use adi::{Adi, Beside, GoOn, Meanwhile};
