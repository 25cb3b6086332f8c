//! Which topology a communicator has (MPI-3.1 section 7.5.5).

use super::{
    CartesianCommunicator, DistributedGraphCommunicator, GraphCommunicator, SimpleCommunicator,
};
use midplane_objects::topology;

/// A topology, by a table of its functions: what drops one is only in the images of programs that make one.
pub(super) trait Arranged {
    fn topology(&self) -> &topology::Topology;
}

impl Arranged for topology::Topology {
    fn topology(&self) -> &topology::Topology {
        self
    }
}

/// Which topology a communicator has (MPI_Topo_test, MPI-3.1 section 7.5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// A grid.
    Cartesian,
    /// A graph that all processes know.
    Graph,
    /// A graph of which each process knows its own neighbours.
    DistributedGraph,
    /// None.
    Undefined,
}

/// A communicator by its topology.
pub enum IntoTopology {
    /// With a grid.
    Cartesian(CartesianCommunicator),
    /// With a graph that all processes know.
    Graph(GraphCommunicator),
    /// With a graph of which each process knows its own neighbours.
    DistributedGraph(DistributedGraphCommunicator),
    /// Without.
    Undefined(SimpleCommunicator),
}

impl SimpleCommunicator {
    /// Its topology (MPI_Topo_test, MPI-3.1 section 7.5.5).
    pub fn topology(&self) -> Topology {
        match self.record.topology() {
            Some(topology::Topology::Cartesian(_)) => Topology::Cartesian,
            Some(topology::Topology::Distributed(_)) => Topology::DistributedGraph,
            Some(topology::Topology::Graph(_)) => Topology::Graph,
            None => Topology::Undefined,
        }
    }

    /// It with its topology.
    pub fn into_topology(self) -> IntoTopology {
        match self.topology() {
            Topology::Cartesian => IntoTopology::Cartesian(CartesianCommunicator(self)),
            Topology::Graph => IntoTopology::Graph(GraphCommunicator(self)),
            Topology::DistributedGraph => {
                IntoTopology::DistributedGraph(DistributedGraphCommunicator(self))
            }
            Topology::Undefined => IntoTopology::Undefined(self),
        }
    }
}
