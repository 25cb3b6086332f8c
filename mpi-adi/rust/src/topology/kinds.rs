//! Kinds of topologies of communicators (MPI-3.1 section 7.5.5).

use super::cartesian::CartesianCommunicator;
use super::graph::{DistributedGraphCommunicator, GraphCommunicator};
use super::simple::SimpleCommunicator;
use midplane_objects::topology;

/// Kind of a communicator's topology (MPI_Topo_test, MPI-3.1 section 7.5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// Cartesian grid.
    Cartesian,
    /// Graph that all processes store.
    Graph,
    /// Graph of which each process stores its own neighbours.
    DistributedGraph,
    /// No topology.
    Undefined,
}

/// A communicator, typed by its topology.
pub enum IntoTopology {
    /// With a Cartesian grid.
    Cartesian(CartesianCommunicator),
    /// With a graph that all processes store.
    Graph(GraphCommunicator),
    /// With a graph of which each process stores its own neighbours.
    DistributedGraph(DistributedGraphCommunicator),
    /// Without a topology.
    Undefined(SimpleCommunicator),
}

impl SimpleCommunicator {
    /// Returns the kind of its topology (MPI_Topo_test, MPI-3.1 section 7.5.5).
    pub fn topology(&self) -> Topology {
        match self.record.topology() {
            Some(topology::Topology::Cartesian(_)) => Topology::Cartesian,
            Some(topology::Topology::Distributed(_)) => Topology::DistributedGraph,
            Some(topology::Topology::Graph(_)) => Topology::Graph,
            None => Topology::Undefined,
        }
    }

    /// Converts it to the type of its topology.
    pub fn into_topology(self) -> IntoTopology {
        match self.topology() {
            Topology::Cartesian => IntoTopology::Cartesian(CartesianCommunicator(self)),
            Topology::Graph => IntoTopology::Graph(GraphCommunicator(self)),
            Topology::DistributedGraph => IntoTopology::DistributedGraph(DistributedGraphCommunicator(self)),
            Topology::Undefined => IntoTopology::Undefined(self),
        }
    }
}
