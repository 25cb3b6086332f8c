//! Exhaustive exploration of the memory protocol: the real device, every interleaving of its steps.
//!
//! ```text
//!   cases/      the table: names, cases, what must be found and in how many states
//!   case.rs     one case: the nodes' programs, their memory, what is broken
//!   background.rs   rows of the table in a thread beside something else
//!   search.rs   depth-first search over the states of a system
//!   fair.rs     search for runs without end in which everybody makes progress, of cases that poll
//!   state.rs    states and steps, and what must hold
//!   system.rs   a case as a transition system       steps.rs   its steps, and those that are enough
//!   memo.rs     what the steps of each node lead to, found out once
//!   node.rs     one node: a device and its program
//! ```
#![forbid(unsafe_code)]

pub mod background;
pub mod case;
pub mod cases;
mod fair;
mod memo;
mod node;
pub mod rules;
pub mod search;
pub mod state;
mod steps;
pub mod system;

pub use background::{Background, Finding, Progress};
pub use case::{Case, PER_SENDER, SENDERS};
pub use cases::{Expected, Row, Surprise};
pub use fair::explore_fairly;
pub use search::{Counterexample, Explored, MOST_STATES, Unfinished, Watch, explore, unwatched};
pub use state::{END, ENOUGH, EXPECTED, Global, MEMORY, ORDER, Step};
pub use system::System;

/// The device that is explored.
pub type Device = midplane_device::Adi<rules::Rules>;
