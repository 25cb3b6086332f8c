//! Collectives and reduction operations (chapter 5), and neighbourhood collectives (chapter 7). One file per family as
//! in [`midplane_objects::coll`]; `nonblocking` starts nonblocking ones, `in_flight` advances and completes them.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod alltoall;
mod barrier;
mod bcast;
mod blocks;
mod gather;
mod in_flight;
pub(super) mod inter;
mod neighbours;
mod nonblocking;
mod op;
mod reduce;
mod scan;

pub use alltoall::*;
pub use barrier::MPI_Barrier;
pub use bcast::*;
pub use gather::*;
pub(super) use in_flight::start_among_all;
pub use neighbours::*;
pub use nonblocking::*;
pub use op::*;
pub use reduce::*;
pub use scan::*;
