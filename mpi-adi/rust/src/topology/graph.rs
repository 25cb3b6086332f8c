//! Graph topologies: distributed ones, of which each process stores its own neighbours (MPI-3.1 section 7.5.4), and
//! global ones, which all processes store (section 7.5.3).

use alloc::rc::Rc;

use super::Rank;
use super::simple::SimpleCommunicator;
use super::state::TopologyHolder;
use crate::Count;
use crate::recording::{Fields, creating};
use midplane_objects::coll::try_with_capacity;
use midplane_objects::comm::CommRank;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::graph::{Graph, GraphArc, Neighbourhood};
use midplane_objects::split::ready;
use midplane_objects::topology::Topology;

/// Weight of an edge. The library does not use it; its meaning is defined by the program.
pub type Weight = i32;

const CREATE: &str = "MPI_Dist_graph_create";

/// Weight of an edge without a weight; never returned to the program.
const NO_WEIGHT: Weight = 1;

/// A communicator with a distributed graph topology: each process stores its own neighbours.
pub struct DistributedGraphCommunicator(pub(super) SimpleCommunicator);

/// Returns [`Error::Rank`], or [`Error::Argument`] for a weight below 0.
fn check(comm: &SimpleCommunicator, rank: Rank, weight: Weight) -> Result<(), Error> {
    comm.record.membership().group().rank(rank.into())?;
    match weight {
        0.. => Ok(()),
        _ => Err(Error::argument("an edge has a weight below 0")),
    }
}

#[cfg_attr(feature = "options", track_caller)]
pub(super) fn create_adjacent<T: Copy>(
    comm: &SimpleCommunicator,
    sources: &[T],
    destinations: &[T],
    of: fn(T) -> (Rank, Weight),
    is_weighted: bool,
) -> Result<DistributedGraphCommunicator, Error> {
    for edge in sources.iter().chain(destinations) {
        let (rank, weight) = of(*edge);
        check(comm, rank, weight)?;
    }
    let edges = |given: &[T]| {
        let mut edges = try_with_capacity(given.len())?;
        edges.extend(given.iter().map(|edge| <[i32; 2]>::from(of(*edge))));
        Ok(edges)
    };
    let own = edges(sources).and_then(|sources| {
        Ok(Neighbourhood {
            sources,
            destinations: edges(destinations)?,
            is_weighted,
        })
    });
    make(comm, "MPI_Dist_graph_create_adjacent", own)
}

pub(super) fn unweighted(rank: Rank) -> (Rank, Weight) {
    (rank, NO_WEIGHT)
}

#[cfg_attr(feature = "options", track_caller)]
pub(super) fn create<T: Copy>(
    comm: &SimpleCommunicator,
    edges: &[T],
    of: fn(T) -> (Rank, Rank, Weight),
    is_weighted: bool,
) -> Result<DistributedGraphCommunicator, Error> {
    for edge in edges {
        let (from, to, weight) = of(*edge);
        check(comm, from, NO_WEIGHT)?;
        check(comm, to, weight)?;
    }
    let arcs = try_with_capacity(edges.len()).map(|mut arcs| {
        arcs.extend(edges.iter().map(|edge| {
            let (from, to, weight) = of(*edge);
            let (from, to) = (CommRank(from as u32), CommRank(to as u32));
            GraphArc { from, to, weight }
        }));
        arcs
    });
    let given = arcs.as_deref().map_err(|error| *error);
    let core = comm.record.core()?;
    let own = core.neighbourhood(CREATE, given, is_weighted)?;
    make(comm, CREATE, Ok(own))
}

/// Returns an edge with both ends and without a weight.
pub(super) fn unweighted_between(ends: (Rank, Rank)) -> (Rank, Rank, Weight) {
    (ends.0, ends.1, NO_WEIGHT)
}

/// Creates the communicator. All processes receive the error of one whose heap has no space for its neighbours.
#[cfg_attr(feature = "options", track_caller)]
fn make(
    comm: &SimpleCommunicator,
    function: &'static str,
    own: Result<Neighbourhood, Error>,
) -> Result<DistributedGraphCommunicator, Error> {
    let core = comm.record.core()?;
    let arguments = |fields: &mut Fields| {
        // Without MPI_Dist_graph_create's list of degrees.
        fields
            .communicator(&comm.record)
            .unknown(if function == CREATE { 8 } else { 9 });
    };
    let create = || {
        let (made, topology) = core.make_distributed(function, &mut ready, own)?;
        let topology = topology.map(|topology| Rc::new(topology) as Rc<dyn TopologyHolder>);
        Ok(DistributedGraphCommunicator(comm.made(made, topology)))
    };
    creating(function, arguments, create, |new| Some(&new.0.record))
}

impl DistributedGraphCommunicator {
    fn own(&self) -> &Neighbourhood {
        match self.0.record.topology() {
            Some(Topology::Distributed(own)) => own,
            _ => unreachable!("made with neighbours"),
        }
    }

    /// Returns the source ranks, in order (MPI_Dist_graph_neighbors, MPI-3.1 section 7.5.5). Does not block.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = Rank> {
        self.own().sources()
    }

    /// Returns the destination ranks, in order (MPI_Dist_graph_neighbors). Does not block.
    pub fn destinations(&self) -> impl ExactSizeIterator<Item = Rank> {
        self.own().destinations()
    }

    /// Returns the weights of the edges from [`sources`](Self::sources), in the same order, or `None` for a graph
    /// without weights (MPI_Dist_graph_neighbors_count and MPI_Dist_graph_neighbors, MPI-3.1 section 7.5.5). Does not
    /// block.
    pub fn source_weights(&self) -> Option<impl ExactSizeIterator<Item = Weight>> {
        let own = self.own();
        own.is_weighted.then(|| weights(&own.sources))
    }

    /// Returns the weights of the edges to [`destinations`](Self::destinations), like
    /// [`source_weights`](Self::source_weights).
    pub fn destination_weights(&self) -> Option<impl ExactSizeIterator<Item = Weight>> {
        let own = self.own();
        own.is_weighted.then(|| weights(&own.destinations))
    }
}

fn weights(edges: &[[i32; 2]]) -> impl ExactSizeIterator<Item = Weight> {
    edges.iter().map(|[_, weight]| *weight)
}

/// A communicator with a graph topology that all processes store.
pub struct GraphCommunicator(pub(super) SimpleCommunicator);

#[cfg_attr(feature = "options", track_caller)]
pub(super) fn create_known(
    comm: &SimpleCommunicator,
    neighbors: &[&[Rank]],
) -> Result<Option<GraphCommunicator>, Error> {
    let nodes = nodes(comm, neighbors)?;
    let given = match known(neighbors) {
        Err(error) if error.class() != ErrorClass::NoMem => return Err(error),
        given => given,
    };
    let core = comm.record.core()?;
    let arguments = |fields: &mut Fields| {
        fields.communicator(&comm.record).value(nodes).unknown(4);
    };
    let create = || {
        let made = core.make_graph("MPI_Graph_create", &mut ready, nodes, given)?;
        Ok(made.map(|(made, topology)| {
            let topology = topology.map(|topology| Rc::new(topology) as Rc<dyn TopologyHolder>);
            GraphCommunicator(comm.made(made, topology))
        }))
    };
    creating("MPI_Graph_create", arguments, create, |new| {
        new.as_ref().map(|new| &new.0.record)
    })
}

/// Returns the number of nodes, or [`Error::Argument`] if it exceeds the number of processes.
pub(super) fn nodes(comm: &SimpleCommunicator, neighbors: &[&[Rank]]) -> Result<u32, Error> {
    let nodes = neighbors.len() as u32;
    if neighbors.len() <= comm.record.size() as usize {
        Ok(nodes)
    } else {
        Err(Error::argument("a graph of more nodes than the communicator has ranks"))
    }
}

/// Creates the graph whose nodes have these neighbours. Returns [`Error::Wrong`] for a neighbour that is not a node,
/// [`Error::Argument`] for too many edges, and [`Error::NoSpace`].
pub(super) fn known(neighbors: &[&[Rank]]) -> Result<Graph, Error> {
    let total: usize = neighbors.iter().map(|list| list.len()).sum();
    if i32::try_from(total).is_err() {
        return Err(Error::argument("a graph of more than 2147483647 edges"));
    }
    let (mut index, mut edges) = (try_with_capacity(neighbors.len())?, try_with_capacity(total)?);
    for list in neighbors {
        edges.extend_from_slice(list);
        index.push(edges.len() as i32);
    }
    Graph::new(&index, &edges)
}

impl GraphCommunicator {
    fn graph(&self) -> &Graph {
        match self.0.record.topology() {
            Some(Topology::Graph(graph)) => graph,
            _ => unreachable!("made with a graph"),
        }
    }

    /// Returns the number of nodes (MPI_Graphdims_get, MPI-3.1 section 7.5.5). Does not block.
    pub fn num_nodes(&self) -> Count {
        self.graph().index().len() as Count
    }

    /// Returns the total number of neighbours of all nodes (MPI_Graphdims_get). Does not block.
    pub fn num_edges(&self) -> Count {
        self.graph().edges().len() as Count
    }

    /// Returns the ranks of a node's neighbours, in the specified order (MPI_Graph_neighbors, MPI-3.1 section 7.5.5).
    /// Does not block.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub fn neighbors(&self, rank: Rank) -> &[Rank] {
        self.0.check(rank);
        self.graph().neighbours(CommRank(rank as u32))
    }
}
