//! The C binding: `include/mpi.h` as a thin shell over what the Rust binding rests on.
//!
//! Each function turns C's arguments into checked Rust ones, calls, and gives the result or the error
//! back; an error goes to the communicator's error handler first (MPI-3.1 section 8.3). Handles are numbers,
//! a request's with a generation; no pointer of ours is ever given out as one.
//!
//! The carrier calls [`install`] once before the program's `main`, and asks [`phase`] when it has ended.
//!
//! ```text
//! environment  communicators  groups  topologies  graphs  point_to_point  matched  buffered  completion  several
//!      persistent  idup  intercommunicators  generalized  collectives/  errors attributes infos conversions files
//!      unsupported  tools                              a file per chapter or section: the functions
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
//! signatures     every function, for the compiler, the header's test and documentation
//! ```
//! An import points downwards in this list.
//!
//! # Safety
//! The functions trust what MPI trusts: that a non-null pointer points to as much memory as the other
//! arguments say, valid for as long as the standard says. Everything else is checked.

mod args;
mod attributes;
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
mod environment;
mod errors;
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
mod short;
pub mod signatures;
mod tools;
mod topologies;
mod types;
mod unsupported;
mod user_ops;
mod windows;

pub use attributes::*;
pub use binding::{Phase, install, phase};
pub(crate) use binding::{installed, set_phase};
pub use buffered::*;
pub use collectives::*;
pub use communicators::*;
pub use completion::*;
pub use conversions::*;
pub use datatypes::*;
pub use environment::*;
pub use errors::*;
pub use files::*;
pub use generalized::*;
pub use graphs::*;
pub use groups::*;
pub use idup::*;
pub use infos::*;
pub use intercommunicators::*;
pub use matched::*;
pub use persistent::*;
pub use point_to_point::*;
pub use several::*;
pub use tools::*;
pub use topologies::*;
pub use types::{MPI_Status, constants};
pub use unsupported::*;
pub use windows::*;
