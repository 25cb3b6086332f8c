//! The MPI device (ADI): matching in fixed memory and the short-memory protocol: RTS (request to send), CTS (clear to
//! send), NCTS (not clear to send) and NCTSD (not clear to send data).
//!
//! The layers above (communicators, datatypes, collectives, windows, bindings) are in the crate `mpi-adi`.
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
//!   adi        the device of one process                   config, stats   limits, memory passed in, counters
//!   progress   progress engine: one bounded step: packets -> handlers -> send/, recv/ -> packets
//!   interface  the operations for the layers above, and the requirements on the host
//!   fast_path  operations without a request         self_recv_cache   cached receive of this process's next self-send
//!   protocol   the protocol's decisions as pure functions; read it first
//!   send/      sends, RTSs, handlers of replies            recv/   receives, probes, handlers of RTSs
//!   extensions linked on first use: cancelled sends, and
//!   rma/       one-sided communication
//!   queues     message queues of a blocked process, to explain a hang
//!   matching/  PRQ and UMQ         request/   requests     memory/   MPI memory, and the program's buffers
//! ```
//!
//! * [`protocol`]: the protocol's decisions as pure functions, with the state tables; read it first.
//! * [`send`] and [`recv`]: the two sides, each with the program's calls and the packet handlers.
//! * [`bcopy`], [`pending`], [`matching`], [`request`], [`region`], [`peers`], [`probe`]: the data structures.
//!
//! # Memory
//! | memory | grows with | location | bound |
//! |---|---|---|---|
//! | unexpected records and their buffers | incoming traffic | the region | `--mpi-memory`, fixed at start |
//! | replies | incoming traffic | the network's priority FIFO; the peer table for restarts | constant |
//! | peer table | the job | 2.5 bytes a process, at start | constant |
//! | requests, pending send queues | the program's own calls | the program's heap | the node's RAM; an error when exhausted |
//! | bcopies | nothing | the device itself | [`bcopy::BCOPIES`] of [`bcopy::BCOPY_BYTES`] bytes |
//! | armed probes | the program's own probes, at most [`probe::ARMED_PROBES`] | the program's heap | as above |
//!
//! The core ([`protocol`], [`pending`], [`matching`], [`region`], [`peers`], [`send`], [`recv`]) does no I/O and reads
//! no clock. It allocates nothing in a step that may run in an interrupt handler.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

mod adi;
pub mod bare;
pub mod barrier;
pub mod config;
pub mod envelope;
mod extensions;
pub mod fast_path;
mod handlers;
pub mod ids;
mod insertion_sort;
pub mod interface;
pub mod kernel;
pub mod list;
pub mod matching;
#[allow(unsafe_code)]
pub mod memory;
mod peer_group;
#[cfg(not(feature = "micro"))]
mod peer_pages;
#[cfg(feature = "micro")]
mod peer_pages_stub;
#[cfg_attr(feature = "micro", allow(dead_code, reason = "who waits is looked for"))]
mod peer_sets;
pub mod peers;
mod progress;
pub mod protocol;
pub mod queues;
pub mod recv;
pub mod request;
pub mod rma;
pub mod self_recv_cache;
pub mod send;
pub mod stats;
#[cfg(test)]
mod tests;
pub mod try_box;
pub mod wire;
pub mod wire_fields;
mod work;

pub use adi::{Adi, EventCount, HookResult, InterruptHook, ProgressHook};
pub use config::{
    DEFAULT_EAGER_LIMIT, DeviceConfig, DeviceMemory, EAGER_SOURCES, MAX_DELAYED_ACKS, MAX_EAGER_LIMIT, MAX_MPI_MEMORY,
    MAX_SHARED_ACKS, MIN_MPI_MEMORY, MemoryBudget, OutOfMemory, STEP_PACKETS,
};
pub use envelope::{Context, Tag};
pub use memory::region;
pub use recv::probe;
pub use request::RequestOutcome;
pub use send::{bcopy, pending};
pub use stats::{Count, DeviceStats};
pub use try_box::try_boxed_slice;
