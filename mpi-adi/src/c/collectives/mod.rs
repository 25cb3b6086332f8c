//! Chapter 5: collectives and operations, a file per family as in [`crate::mpi::coll`].
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
mod op;
mod reduce;
mod scan;

pub use alltoall::*;
pub use barrier::*;
pub use bcast::*;
pub use gather::*;
pub use op::*;
pub use reduce::*;
pub use scan::*;
