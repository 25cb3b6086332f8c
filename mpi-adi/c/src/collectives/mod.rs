//! Chapter 5, and neighbourhoods of chapter 7: collectives and operations, a file per family as in
//! [`midplane_objects::coll`]; those that do not block are in `nonblocking`, and `under_way` when they have been started.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

mod alltoall;
mod barrier;
mod bcast;
mod blocks;
mod gather;
pub(super) mod inter;
mod neighbours;
mod nonblocking;
mod op;
mod reduce;
mod scan;
mod under_way;

pub use alltoall::*;
pub use barrier::MPI_Barrier;
pub use bcast::*;
pub use gather::*;
pub use neighbours::*;
pub use nonblocking::*;
pub use op::*;
pub use reduce::*;
pub use scan::*;
pub(super) use under_way::start_among_all;
