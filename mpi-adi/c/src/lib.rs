//! C binding: the functions of `mpi.h`, a thin layer over the code that it shares with the Rust binding.
//!
//! Each function converts C's arguments to checked Rust ones, calls the shared code, and returns the result or the
//! error. An error first invokes the communicator's error handler (MPI-3.1 section 8.3). Handles are integers, which a C
//! program sees as pointers ([`Handle`]); those of requests contain a generation. No handle is an address.
//!
//! ```text
//! adapters       functions of the library for programs with another ABI
//! entries        entry points, generated from the function table (`midplane-api`); they call the bodies
//! environment  communicators  groups  topologies  graphs  point_to_point  matched  buffered  completion
//!      wait_test_many  persistent  partitioned  compound  idup  intercommunicators  generalized  collectives/
//!      sessions errors attributes infos hardware conversions
//!      tools                                           bodies of functions, one file per chapter or section
//! files/         chapter 13
//! windows/       chapter 11, with related functions of other chapters
//! requests       request handles, including persistent requests
//! error_dispatch end of a call, error handlers
//! keyvals        attribute keys and callbacks      codes  user-defined error codes
//! comm_objects   communicators of the program        comm_state   their names and topologies
//! session_objects  sessions of the program
//! inter_calls    implementations of calls on intercommunicators
//! measure        calls for benchmarks
//! unlocked       callbacks of the program, without the lock of MPI_THREAD_MULTIPLE
//! args                                                     arguments
//! datatypes/                                               chapter 4: elements and their buffers
//! handles  binding  types                                  handle tables, state of the process
//! ```
//! Imports point downwards in this list.
//!
//! # Safety
//! The functions rely on the guarantees of MPI: a non-null pointer refers to as much memory as the other arguments
//! specify, valid as long as the standard requires. Everything else is checked.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

#[cfg(target_os = "linux")]
mod adapters;
pub mod addresses;
mod args;
mod attributes;
mod barrier_by_messages;
mod binding;
mod buffered;
mod codes;
mod collectives;
mod comm_objects;
mod comm_state;
mod comm_table;
mod communicators;
mod completion;
mod compound;
mod conversions;
mod counts;
mod datatypes;
mod dynamic;
mod entries;
mod environment;
mod error_dispatch;
mod errors;
mod fast_path;
mod files;
mod generalized;
mod graphs;
mod groups;
mod handles;
mod hardware;
mod idup;
mod infos;
mod inter_calls;
mod intercommunicators;
mod keyvals;
mod lazy_callback;
mod matched;
#[doc(hidden)]
pub mod measure;
mod partitioned;
mod persistent;
mod point_to_point;
mod requests;
mod session_objects;
mod sessions;
mod tool_events;
mod tools;
mod topologies;
mod types;
mod unlocked;
mod user_ops;
mod wait_test_many;
mod windows;

/// Bodies of the functions, called by the entry points.
mod bodies {
    pub use super::attributes::*;
    pub use super::buffered::*;
    pub use super::collectives::*;
    pub use super::communicators::*;
    pub use super::completion::*;
    pub use super::compound::*;
    pub use super::conversions::*;
    pub use super::datatypes::*;
    pub use super::dynamic::*;
    pub use super::environment::*;
    pub use super::errors::*;
    pub use super::files::*;
    pub use super::generalized::*;
    pub use super::graphs::*;
    pub use super::groups::*;
    pub use super::hardware::*;
    pub use super::idup::*;
    pub use super::infos::*;
    pub use super::intercommunicators::*;
    pub use super::matched::*;
    pub use super::partitioned::*;
    pub use super::persistent::*;
    pub use super::point_to_point::*;
    pub use super::sessions::*;
    pub use super::tool_events::*;
    pub use super::tools::*;
    pub use super::topologies::*;
    pub use super::wait_test_many::*;
    pub use super::windows::*;
}

pub use collectives::{AtCompletion, CountArray, array_length, start_with_action, store_at_completion};
pub use entries::*;
pub use types::{Handle, MPI_Status, constants};

/// Reports an error of a function to the error handler of MPI_COMM_WORLD, for other bindings; returns the error code.
pub fn fail(function: &'static str, error: midplane_objects::error::Error) -> core::ffi::c_int {
    error_dispatch::early(function, Err(error))
}
