//! The MPI layer above the device: communicators, groups, collectives, datatypes, operations, errors.
//!
//! ```text
//! windows/   one-sided communication
//! inter   intercommunicators                topology  a communicator's topology -> graph
//! split   creation of communicators         coll/   collectives      buffered   the attached buffer
//! slice_spans   slices for blocking calls   inter_groups   the two groups of an intercommunicator   external32
//! comm    communicators, point to point     group, placement -> cart, info, attributes    op -> datatype
//! call    blocking loops, array slices
//! process state of a process, Env           context  context IDs     grid  boxes of the torus
//! error_encoding  error records -> error    variables  MPI_T variables
//! ```
//! Imports point downwards in this list.

#![cfg_attr(not(any(test, feature = "sim")), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod attributes;
pub mod buffered;
pub mod call;
pub mod cart;
pub mod coll;
pub mod comm;
pub mod context;
pub mod datatype;
pub mod environment;
pub mod error;
pub mod error_encoding;
pub mod external32;
#[cfg(any(test, feature = "sim"))]
pub mod fake;
pub mod graph;
pub mod grid;
pub mod group;
pub mod info;
pub mod installed;
pub mod inter;
pub mod inter_groups;
pub mod one_sided;
pub mod op;
pub mod placement;
pub mod process;
#[allow(unsafe_code)]
pub mod slice_spans;
pub mod split;
pub mod topology;
pub mod universe;
pub mod variables;
pub mod windows;

pub use error::{Error, ErrorClass};
pub use error_encoding::ErrorText;
pub use process::{Env, Process};
