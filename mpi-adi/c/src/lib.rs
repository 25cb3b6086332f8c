//! The C binding: the functions of `mpi.h` as a thin shell over what the Rust binding rests on.
//!
//! Each function turns C's arguments into checked Rust ones, calls, and gives the result or the error
//! back; an error goes to the communicator's error handler first (MPI-3.1 section 8.3). Handles are numbers,
//! a request's with a generation; no pointer of ours is ever given out as one.
//!
//! ```text
//! entries        the entry points, which call the bodies: made of the table of functions (`midplane-api`)
//! environment  communicators  groups  topologies  graphs  point_to_point  matched  buffered  completion  several
//!      persistent  idup  intercommunicators  generalized  collectives/  errors attributes infos conversions files
//!      tools                                           a file per chapter or section: the bodies of functions
//! windows/       chapter 11, with what belongs to windows elsewhere
//! requests       what a request's handle names, persistent ones among them
//! report         how a call ends: by an error handler, if need be
//! keyvals        keys of attributes, what setting, copying and deleting them calls      codes  the program's own
//! comm_objects   communicators of the program's own        kept   their names and topologies
//! inter_calls    what calls on intercommunicators are handed over to
//! measure        calls of the binding that benchmarks count
//! args                                                     arguments
//! datatypes/                                               chapter 4: what elements are, and buffers of them
//! handles  binding  types                                  tables of objects, the one process
//! ```
//! An import points downwards in this list.
//!
//! # Safety
//! The functions trust what MPI trusts: that a non-null pointer points to as much memory as the other
//! arguments say, valid for as long as the standard says. Everything else is checked.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod addresses;
mod args;
mod attributes;
mod barrier_by_messages;
mod binding;
mod buffered;
mod codes;
mod collectives;
mod comm_objects;
mod comm_table;
mod communicators;
mod completion;
mod conversions;
mod datatypes;
mod entries;
mod environment;
mod errors;
mod fast_path;
mod file_handler;
mod files;
mod generalized;
mod graphs;
mod groups;
mod handles;
mod hook;
mod idup;
mod infos;
mod inter_calls;
mod intercommunicators;
mod kept;
mod keyvals;
mod matched;
#[doc(hidden)]
pub mod measure;
mod persistent;
mod point_to_point;
mod report;
mod requests;
mod several;
mod tools;
mod topologies;
mod types;
mod user_ops;
mod windows;

/// The bodies of the functions, which the entry points call.
mod bodies {
    pub use super::attributes::*;
    pub use super::buffered::*;
    pub use super::collectives::*;
    pub use super::communicators::*;
    pub use super::completion::*;
    pub use super::conversions::*;
    pub use super::datatypes::*;
    pub use super::environment::*;
    pub use super::errors::*;
    pub use super::files::*;
    pub use super::generalized::*;
    pub use super::graphs::*;
    pub use super::groups::*;
    pub use super::idup::*;
    pub use super::infos::*;
    pub use super::intercommunicators::*;
    pub use super::matched::*;
    pub use super::persistent::*;
    pub use super::point_to_point::*;
    pub use super::several::*;
    pub use super::tools::*;
    pub use super::topologies::*;
    pub use super::windows::*;
}

pub use entries::*;
pub use types::{MPI_Status, constants};
