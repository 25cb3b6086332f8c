//! The MPI layer above the device: communicators, groups, collectives, datatypes, operations, errors.
//!
//! ```text
//! windows/   one-sided communication
//! inter   intercommunicators                topology  a communicator's topology -> graph
//! split   creation of communicators         coll/   collectives      buffered   the attached buffer
//! lend    slices for blocking calls         sides   the two groups of an intercommunicator        outside   external32
//! comm    communicators, point to point     group, placement -> cart, info, attributes    op -> datatype
//! call    blocking loops, array slices
//! process state of a process, Env           context  context IDs     grid  boxes of the torus
//! told    error records -> error            variables  MPI_T variables
//! ```
//! Imports point downwards in this list.

pub(crate) mod attributes;
pub mod buffered;
pub mod call;
pub(crate) mod cart;
pub mod coll;
pub mod comm;
pub mod context;
pub mod datatype;
pub(crate) mod environment;
pub mod error;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod graph;
pub(crate) mod grid;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod inter;
#[allow(unsafe_code)]
pub(crate) mod lend;
pub(crate) mod one_sided;
pub mod op;
pub(crate) mod outside;
pub(crate) mod placement;
pub mod process;
pub(crate) mod sides;
pub mod split;
pub(crate) mod told;
pub(crate) mod topology;
pub(crate) mod variables;
pub(crate) mod windows;
