//! Communicators, groups and topologies (MPI-3.1 chapters 6 and 7).
#![forbid(unsafe_code)]

mod cartesian;
mod communicator;
mod context;
mod graph;
mod group;
mod inter;
mod kinds;
mod process;
mod record;
mod simple;
mod state;

pub use cartesian::{CartesianCommunicator, CartesianLayout, dims_create};
pub use communicator::Communicator;
pub use context::{AsCommunicator, Color, CommunicatorRelation, Context, DuplicableContext, Key};
pub use graph::{DistributedGraphCommunicator, GraphCommunicator, Weight};
pub use group::{Group, GroupRelation, SystemGroup, UserGroup};
pub use inter::{InterCommunicator, MergeOrder};
pub use kinds::{IntoTopology, Topology};
pub use process::{AnyProcess, AnyRank, Process, ProcessRef};
pub(crate) use record::CommRecord;
pub use simple::{SimpleCommunicator, SystemCommunicator, UserCommunicator};
pub(crate) use state::CommState;

/// The traits of this module.
pub mod traits {
    pub use super::{AsCommunicator, Communicator, Context, Group};
}

/// Rank of a process in a communicator or a group.
pub type Rank = i32;
