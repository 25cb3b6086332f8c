//! Message matching: the posted receive queue (PRQ) and the unexpected message queue (UMQ).
//!
//! A matching engine implements both queues behind the trait [`Matching`]. Receives and records are stored in the
//! request pool and in the MPI memory. An engine stores its links inside them, and everything else in memory allocated
//! at initialization, a term of the [budget](crate::MemoryBudget). Therefore queue insertion cannot fail.
//!
//! The order is that of posting and of arrival (MPI-3.1 section 3.5): a message matches the first suitable posted
//! receive, a receive the first suitable recorded message.
//!
//! The device contains the standard engine of each build profile. The crate `midplane-engines` contains the others.
#![forbid(unsafe_code)]

mod engine;
pub mod indexed;
mod kind;
mod lists;

pub use engine::{BoxedCopy, Matching, MatchingEngine, MatchingStats, MessageClass, OPERATIONS, OutOfSpace};
pub use indexed::IndexedEngine;
pub use kind::{ENGINE_NAMES, EngineKind, SelectedEngine};
pub use lists::ListEngine;
