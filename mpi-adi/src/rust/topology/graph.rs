//! Distributed graphs: each process knows its own neighbours (MPI-3.1 section 7.5.4).
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::kinds::Arranged;
use super::{AsCommunicator, Communicator, Rank, SimpleCommunicator};
use crate::mpi::coll::room;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::mpi::graph::{Arc, Neighbourhood};
use crate::mpi::split::ready;
use crate::mpi::topology::Topology;

/// A weight that the program has not given: none is ever told.
const NO_WEIGHT: i32 = 1;

/// A communicator whose processes are the nodes of a graph.
///
/// Edges have no weights: what they mean is the program's affair, which has them already.
pub struct DistributedGraphCommunicator(pub(super) SimpleCommunicator);

#[track_caller]
pub(super) fn create_adjacent(
    comm: &SimpleCommunicator,
    sources: &[Rank],
    destinations: &[Rank],
) -> DistributedGraphCommunicator {
    for rank in sources.iter().chain(destinations) {
        comm.check(*rank);
    }
    let edges = |ranks: &[Rank]| {
        let mut edges = room(ranks.len())?;
        edges.extend(ranks.iter().map(|rank| [*rank, NO_WEIGHT]));
        Ok(edges)
    };
    let own = edges(sources).and_then(|sources| {
        Ok(Neighbourhood {
            sources,
            destinations: edges(destinations)?,
            is_weighted: false,
        })
    });
    make(comm, "MPI_Dist_graph_create_adjacent", own)
}

#[track_caller]
pub(super) fn create(
    comm: &SimpleCommunicator,
    edges: &[(Rank, Rank)],
) -> DistributedGraphCommunicator {
    let function = "MPI_Dist_graph_create";
    for (from, to) in edges {
        comm.check(*from);
        comm.check(*to);
    }
    let arcs = room(edges.len()).map(|mut arcs| {
        arcs.extend(edges.iter().map(|(from, to)| Arc {
            from: CommRank(*from as u32),
            to: CommRank(*to as u32),
            weight: NO_WEIGHT,
        }));
        arcs
    });
    let given = arcs.as_deref().map_err(|error| *error);
    let own = comm.run(function, |core| core.neighbourhood(function, given, false));
    make(comm, function, Ok(own))
}

/// That there is no room for the neighbours of one all processes learn.
#[track_caller]
fn make(
    comm: &SimpleCommunicator,
    function: &'static str,
    own: Result<Neighbourhood, Error>,
) -> DistributedGraphCommunicator {
    let (made, topology) = comm.run(function, |core| {
        core.make_distributed(function, &mut ready, own)
    });
    let topology = topology.map(|topology| Rc::new(topology) as Rc<dyn Arranged>);
    DistributedGraphCommunicator(comm.made(made, topology))
}

impl DistributedGraphCommunicator {
    fn own(&self) -> &Neighbourhood {
        match self.0.record.topology() {
            Some(Topology::Distributed(own)) => own,
            _ => unreachable!("made with neighbours"),
        }
    }

    /// The ranks of those whose blocks come here, in their order (MPI_Dist_graph_neighbors, MPI-3.1 section 7.5.5). Does
    /// not block.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = Rank> {
        self.own().sources()
    }

    /// The ranks of those to whom blocks go, in their order (MPI_Dist_graph_neighbors). Does not block.
    pub fn destinations(&self) -> impl ExactSizeIterator<Item = Rank> {
        self.own().destinations()
    }
}

impl Communicator for DistributedGraphCommunicator {
    fn as_simple(&self) -> &SimpleCommunicator {
        &self.0
    }
}

impl AsCommunicator for DistributedGraphCommunicator {
    type Out = DistributedGraphCommunicator;
    fn as_communicator(&self) -> &DistributedGraphCommunicator {
        self
    }
}

impl From<DistributedGraphCommunicator> for SimpleCommunicator {
    fn from(comm: DistributedGraphCommunicator) -> Self {
        comm.0
    }
}
