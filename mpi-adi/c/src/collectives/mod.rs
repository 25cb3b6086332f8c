//! Collectives and reduction operations (chapter 5), and neighbourhood collectives (chapter 7). One file per family as
//! in [`midplane_objects::coll`]; `nonblocking` starts nonblocking ones, `in_flight` advances and completes them, and
//! `persistent` keeps their `arguments`. The bindings of Fortran and of other
//! ABIs use `at_completion` and `array_lengths`.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod alltoall;
pub(super) mod arguments;
mod array_lengths;
mod at_completion;
mod barrier;
mod bcast;
mod blocks;
mod gather;
mod in_flight;
pub(super) mod inter;
mod neighbours;
mod nonblocking;
mod op;
pub(super) mod persistent;
mod reduce;
mod scan;

pub use alltoall::*;
pub(super) use arguments::RequestTarget;
pub use array_lengths::{CountArray, array_length};
pub use at_completion::{AtCompletion, start_with_action, store_at_completion};
pub use barrier::MPI_Barrier;
pub use bcast::*;
pub use gather::*;
pub(super) use in_flight::{HookWork, add_hook_work, start_among_all};
pub use neighbours::*;
pub use nonblocking::*;
pub use op::*;
pub use reduce::*;
pub use scan::*;
