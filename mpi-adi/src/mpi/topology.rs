//! What a communicator's processes are arranged in (MPI-3.1 chapter 7): at most one topology each.
#![forbid(unsafe_code)]

use crate::device::matching::Matching;
use crate::mpi::cart::Grid;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;
use crate::mpi::graph::{Graph, Neighbourhood};
use crate::mpi::placement::rank_at;

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

/// This process's rank in a grid of the communicator's processes, in which it need not be. With `reorder`, the grid of
/// all processes is laid on the torus, if it fits; else ranks stay as they are.
pub(crate) fn rank_in<E: Matching>(
    comm: Communicator<'_, E>,
    grid: &Grid,
    reorder: bool,
) -> Option<u32> {
    let (rank, places) = (comm.rank(), grid.places());
    if reorder && places == comm.size() {
        let mut placed = None;
        comm.env().with(&mut |adi, _| {
            if places == adi.size() {
                placed = rank_at(grid, adi.shape(), adi.here());
            }
        });
        if placed.is_some() {
            // All processes see the same.
            return placed;
        }
    }
    (rank < places).then_some(rank)
}
