//! What a communicator's processes are arranged in (MPI-3.1 chapter 7): at most one topology each.
#![forbid(unsafe_code)]

use crate::mpi::cart::Grid;
use crate::mpi::error::Error;
use crate::mpi::graph::{Graph, Neighbourhood};

/// A topology.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Topology {
    Cartesian(Grid),
    Graph(Graph),
    Distributed(Neighbourhood),
}

impl Topology {
    /// A copy, for a duplicate of the communicator. Fails with [`Error::NoRoom`].
    pub fn copied(&self) -> Result<Topology, Error> {
        Ok(match self {
            Topology::Cartesian(grid) => Topology::Cartesian(grid.clone()),
            Topology::Graph(graph) => Topology::Graph(graph.copied()?),
            Topology::Distributed(own) => Topology::Distributed(own.copied()?),
        })
    }
}
