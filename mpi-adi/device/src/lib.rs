//! The MPI device (ADI): matching in fixed memory and the short-memory protocol.
//!
//! What MPI has above it (communicators, datatypes, collectives, windows, bindings) is in the crate `mpi-adi`.
//!
//! ```text
//!              isend                                              irecv, iprobe
//!                |                                                      |
//!   requests  pending send queue --- RTS --->  on_rts  <---  posted receive queue
//!   (heap)       |  ^   |                        |           unexpected message queue
//!                |  |   +-- CTS, NCTSD, NCTS <---+                      |
//!                |  +------ restart <---------- peers (ages, bits)    |
//!                v                                                      v
//!             transfers --- DATA ------------> on_data ---> user's buffer or MPI memory (region)
//! ```
//!
//! ```text
//!   adi        the device of one process: its parts          config, stats   limits, memory handed in, counts
//!   progress   one bounded step: packets -> handlers -> send/, recv/ -> packets
//!   interface  the operations of the layers above, and what a host provides
//!   fast_path  what they do without a request                 at_hand   the receive of this process's own next message
//!   protocol   the decisions, pure, with the table; read it first
//!   send/      the program's sends, offers, answers to them      recv/   receives, probes, offers that come
//!   parts      what comes with its first use: cancelled sends, and
//!   rma/       one-sided communication
//!   matching/  the two queues      request/   requests      memory/   MPI memory, and the program's buffers
//! ```
//!
//! * [`protocol`]: the decisions, pure, with the table; read it first.
//! * [`send`] and [`recv`]: the two sides, each with the program's calls and the packets' handlers.
//! * [`bcopy`], [`pending`], [`matching`], [`request`], [`region`], [`peers`], [`probe`]: what they work on.
//!
//! # Memory
//! | what | grows with | where | bound |
//! |---|---|---|---|
//! | unexpected records and their buffers | incoming traffic | the region | `--mpi-memory`, fixed at start |
//! | answers | incoming traffic | the network's priority FIFO; the peer table for restart | constant |
//! | peer table | the job | 2.5 bytes a process, at start | constant |
//! | requests, pending send queues | the program's own calls | the program's heap | the node's RAM; an error when used up |
//! | bcopies | nothing | the device itself | [`bcopy::BCOPIES`] of [`bcopy::BCOPY_BYTES`] bytes |
//! | armed probes | the program's own probes, at most [`probe::ARMED_PROBES`] | the program's heap | as above |
//!
//! The core ([`protocol`], [`pending`], [`matching`], [`region`], [`peers`], [`send`], [`recv`]) does no I/O, reads no
//! clock, and allocates nothing in a step that may run from an interrupt.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

mod adi;
pub mod at_hand;
pub mod bare;
pub mod barrier;
pub mod boxed;
pub mod config;
pub mod envelope;
pub mod fast_path;
mod few;
mod handlers;
pub mod interface;
pub mod kernel;
pub mod list;
pub mod matching;
#[allow(unsafe_code)]
pub mod memory;
pub mod names;
#[cfg(feature = "micro")]
mod no_peer_pages;
mod parts;
mod peer_group;
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

pub use adi::{Adi, HookResult, InterruptHook, ProgressHook};
pub use boxed::boxed;
pub use config::{
    Budget, Config, DEFAULT_EAGER_LIMIT, DEFERRED_SOURCES, EAGER_SOURCES, GREATEST_EAGER_LIMIT,
    GREATEST_MPI_MEMORY, LEAST_MPI_MEMORY, Memory, NoMemory, SHARED_ANSWER, STEP_PACKETS,
};
pub use envelope::{Context, Tag};
pub use memory::region;
pub use recv::probe;
pub use request::Outcome;
pub use send::{bcopy, pending};
pub use stats::{Count, Stats};
