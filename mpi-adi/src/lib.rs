//! The MPI device (ADI): matching in fixed memory and the short-memory protocol.
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
//! * [`protocol`]: the decisions, pure, with the table; read it first.
//! * [`send`] and [`recv`]: the two sides, each with the program's calls and the packets' handlers.
//! * [`bcopy`], [`pending`], [`matching`], [`request`], [`region`], [`peers`], [`probe`]: what they work on.
//! * [`call`]: blocking calls over all this, for the bindings.
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
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[allow(unsafe_code)]
pub mod c;
pub mod device;
pub mod mpi;
pub mod rust;

pub use device::bare;
pub use device::boxed::boxed;
pub use device::config::{
    Budget, Config, DEFAULT_EAGER_LIMIT, DEFERRED_SOURCES, EAGER_SOURCES, GREATEST_EAGER_LIMIT,
    GREATEST_MPI_MEMORY, LEAST_MPI_MEMORY, Memory, NoMemory, SHARED_ANSWER, STEP_PACKETS,
};
pub use device::envelope::{Context, Tag};
pub use device::memory::region;
pub use device::recv::probe;
pub use device::request::Outcome;
pub use device::send::{bcopy, pending};
pub use device::stats::{Count, Stats};
pub use device::{
    Adi, at_once, barrier, envelope, kernel, matching, memory, names, peers, protocol, recv,
    request, send, wire,
};
pub use mpi::comm::{Communicator, Status};
pub use mpi::datatype::Datatype;
pub use mpi::error::{Class, Error};
pub use mpi::op::Op;
pub use mpi::process::{Env, Process, Work};
pub use mpi::split::OwnedCommunicator;
pub use mpi::{buffered, call, coll, comm, context, datatype, error, op, split};
