//! The C binding: `include/mpi.h` as a thin shell over what the Rust binding rests on.
//!
//! Each function turns C's arguments into checked Rust ones, calls, and gives the result or the error
//! back; an error goes to the communicator's error handler first (MPI-3.1 section 8.3). Handles are numbers,
//! a request's with a generation; no pointer of ours is ever given out as one.
//!
//! The carrier calls [`install`] once before the program's `main`, and asks [`phase`] when it has ended.
//!
//! ```text
//! environment  communicators  groups  topologies  point_to_point  buffered  completion  several  persistent
//!      generalized  collectives/  errors attributes infos          a file per chapter or section: the functions
//! requests       what a request's handle names, persistent ones among them
//! report         how a call ends: by an error handler, if need be
//! keyvals        keys of attributes, what setting, copying and deleting them calls      codes  the program's own
//! comm_objects   communicators of the program's own        kept   their names and grids
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
mod communicators;
mod completion;
mod datatypes;
mod environment;
mod errors;
mod generalized;
mod groups;
mod handles;
mod infos;
mod kept;
mod keyvals;
#[doc(hidden)]
pub mod measure;
mod persistent;
mod point_to_point;
mod report;
mod requests;
mod several;
pub mod signatures;
mod topologies;
mod types;

pub use attributes::*;
pub use binding::{Phase, USER_OPS, install, phase};
pub use buffered::*;
pub use collectives::*;
pub use communicators::*;
pub use completion::*;
pub use datatypes::*;
pub use environment::*;
pub use errors::*;
pub use generalized::*;
pub use groups::*;
pub use infos::*;
pub use persistent::*;
pub use point_to_point::*;
pub use several::*;
pub use topologies::*;
pub use types::{MPI_Status, constants};
