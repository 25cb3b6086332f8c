//! Message matching: the posted receive queue (PRQ) and the unexpected message queue (UMQ).
//!
//! A matching engine implements both queues behind the trait [`Matching`]. Receives and records are stored in the
//! request pool and in the MPI memory. An engine stores its links inside them, and everything else in memory allocated
//! at initialization, a term of the [budget](crate::MemoryBudget). Therefore queue insertion cannot fail.
//!
//! The order is that of posting and of arrival (MPI-3.1 section 3.5): a message matches the first suitable posted
//! receive, a receive the first suitable recorded message.
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
pub use choice::{EngineChoice, SelectedEngine, EngineKind, WithEngine};
pub use col::ColEngine;
pub use engine::{BoxedCopy, MessageClass, Matching, MatchingEngine, MatchingStats, OutOfSpace, OPERATIONS};
pub use fourd::FourD;
pub use indexed::IndexedEngine;
pub use lists::ListEngine;
pub use pnp::PnpEngine;
pub use unified::UnifiedEngine;
