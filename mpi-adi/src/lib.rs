//! MPI above the device: communicators, groups, datatypes, collectives, windows, errors, and the bindings for C and
//! Rust.
//!
//! ```text
//!   c/      the functions of `mpi.h`          rust/   the API of rsmpi
//!      \                                     /
//!       mpi/   objects: communicators, datatypes, collectives, windows
//!         |  Device: operations on plain data
//!       device   crate `midplane-device`: sends, receives, matching, MPI memory, the protocol
//! ```
//! [`Device`] provides the operations of a process's device. A process accesses its device through [`Env`].
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

#[allow(unsafe_code)]
pub mod c;
pub mod mpi;
pub mod rust;

pub use midplane_device as device;

pub use device::bare;
pub use device::boxed::boxed;
pub use device::config::{
    Budget, Config, DEFAULT_EAGER_LIMIT, DEFERRED_SOURCES, EAGER_SOURCES, GREATEST_EAGER_LIMIT,
    GREATEST_MPI_MEMORY, LEAST_MPI_MEMORY, Memory, NoMemory, SHARED_ANSWER, STEP_PACKETS,
};
pub use device::envelope::{Context, Tag};
pub use device::interface::{Device, Enter, Work};
pub use device::memory::region;
pub use device::recv::probe;
pub use device::request::Outcome;
pub use device::send::{bcopy, pending};
pub use device::stats::{Count, Stats};
pub use device::{
    Adi, at_hand, barrier, envelope, fast_path, kernel, matching, memory, names, peers, protocol,
    recv, request, send, wire,
};
pub use mpi::comm::{Communicator, Status};
pub use mpi::datatype::Datatype;
pub use mpi::error::{Class, Error};
pub use mpi::op::Op;
pub use mpi::process::{Env, Process};
pub use mpi::split::OwnedCommunicator;
pub use mpi::told::InWords;
pub use mpi::{buffered, call, coll, comm, context, datatype, error, op, split};
