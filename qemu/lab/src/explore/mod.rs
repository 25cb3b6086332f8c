//! Exhaustive exploration of the memory protocol: the production device, in every interleaving of its steps.
//!
//! ```text
//!   cases/      the table: names, cases, required results and numbers of states
//!   case.rs     one case: the nodes' programs, their memory, the broken rules
//!   background.rs   rows of the table in a background thread
//!   search.rs   depth-first search over the states of a system
//!   fair.rs     livelock search under fairness, for cases that poll
//!   state.rs    states and steps, and the properties
//!   system.rs   a case as a transition system       steps.rs   its steps, and persistent sets of them
//!   memo.rs     memoized steps of each node
//!   bond.rs     each step of the device is one of the model that is proved
//!   node.rs     one node: a device and its program
//! ```
#![forbid(unsafe_code)]

pub mod background;
pub mod bond;
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

pub use background::{Background, RowProgress, RowResult};
pub use case::{PER_SENDER, ProtocolCase, SENDERS};
pub use cases::{CaseRow, ExpectedResult, UnexpectedResult};
pub use fair::explore_fairly;
pub use search::{Counterexample, IncompleteReason, MAX_STATES, SearchExtent, SearchWatcher, explore, never_stop};
pub use state::{END, ENOUGH, EXPECTED, GlobalState, GlobalStep, MEMORY, ORDER};
pub use system::CaseSystem;

/// The device under exploration.
pub type ExploredDevice = midplane_device::Adi<rules::ExploredRules>;
