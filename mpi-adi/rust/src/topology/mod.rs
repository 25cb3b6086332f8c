//! Communicators, groups and topologies (MPI-3.1 chapters 6 and 7).
#![forbid(unsafe_code)]

/// Implements the communicator traits for a communicator with a topology.
macro_rules! has_topology {
    ($name:ident) => {
        impl Communicator for $name {
            fn as_simple(&self) -> &SimpleCommunicator {
                &self.0
            }
        }

        impl super::AsCommunicator for $name {
            type Out = $name;
            fn as_communicator(&self) -> &$name {
                self
            }
        }

        impl From<$name> for SimpleCommunicator {
            fn from(comm: $name) -> Self {
                comm.0
            }
        }
    };
}

mod cartesian;
mod communicator;
mod graph;
mod group;
mod inter;
mod kinds;
mod process;
mod record;

pub use cartesian::{CartesianCommunicator, CartesianLayout, dims_create};
pub use communicator::{
    AsCommunicator, Color, Communicator, CommunicatorRelation, Context, DuplicableContext, Key, SimpleCommunicator,
    SystemCommunicator, UserCommunicator,
};
pub use graph::{DistributedGraphCommunicator, GraphCommunicator, Weight};
pub use group::{Group, GroupRelation, SystemGroup, UserGroup};
pub use inter::{InterCommunicator, MergeOrder};
pub use kinds::{IntoTopology, Topology};
pub use process::{AnyProcess, AnyRank, Process, ProcessRef};
pub(crate) use record::CommRecord;

/// The traits of this module.
pub mod traits {
    pub use super::{AsCommunicator, Communicator, Context, Group};
}

/// Rank of a process in a communicator or a group.
pub type Rank = i32;
