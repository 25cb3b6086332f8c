//! Matching: the posted receive queue and the unexpected message queue.
//!
//! An engine is the seam behind which the two queues stand: everything the device asks of matching is a method
//! of [`Matching`]. Receives and records stay where they are, in the request pool and in the MPI memory; an
//! engine keeps links inside them, and whatever else it needs in memory of its own, which is given at start
//! and a term of the [budget](crate::Budget). So queueing can never fail.
//!
//! The order is that of posting and of arrival (MPI-3.1 section 3.5): a message gets the first posted receive
//! that matches it, a receive the first recorded message.
#![forbid(unsafe_code)]

pub mod array;
mod arrivals;
mod choice;
mod col;
mod engine;
pub mod fourd;
pub mod indexed;
mod lists;
mod pnp;
mod queues;
pub mod ranked;
#[cfg(test)]
mod rig;
mod split;
mod unified;

pub use array::PerRank;
pub use choice::{Choice, Engine, EngineKind, WithEngine};
pub use col::Col;
pub use engine::{BoxedCopy, Kind, Matching, MatchingEngine, Measures, NoRoom, OPERATIONS};
pub use fourd::FourD;
pub use indexed::Indexed;
pub use lists::Lists;
pub use pnp::Pnp;
pub use unified::Unified;
