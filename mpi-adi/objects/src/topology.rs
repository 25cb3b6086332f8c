//! Topology of a communicator's processes (MPI-3.1 chapter 7): at most one per communicator.
//!
//! A grid is the same at all processes and determines their ranks. To create its communicator, they only agree on a
//! context.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::cart::CartGrid;
use crate::coll::try_with_capacity;
use crate::comm::{CommRank, Communicator, shape};
use crate::error::{Error, ErrorClass};
use crate::graph::{Graph, Neighbourhood};
use crate::placement::GridPlacement;
use crate::split::{CreatedComm, PrepareComm};
use midplane_device::envelope::Rank;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Virtual topology of a communicator (MPI-3.1 chapter 7).
#[derive(PartialEq, Eq, Debug)]
pub enum Topology {
    /// MPI_CART.
    Cartesian(CartGrid),
    /// MPI_GRAPH.
    Graph(Graph),
    /// MPI_DIST_GRAPH.
    Distributed(Neighbourhood),
}

impl Topology {
    /// Returns a copy, for a duplicate of the communicator. Fails with [`Error::NoSpace`].
    pub fn copied(&self) -> Result<Topology, Error> {
        Ok(match self {
            Topology::Cartesian(grid) => Topology::Cartesian(grid.clone()),
            Topology::Graph(graph) => Topology::Graph(graph.copied()?),
            Topology::Distributed(own) => Topology::Distributed(own.copied()?),
        })
    }
}

/// Neighbours of a process in a topology, in the order of their blocks (section 7.6).
pub struct NeighbourLists {
    /// Ranks whose blocks are received; for `None`, none is received and the block is unchanged.
    pub sources: Vec<Option<CommRank>>,
    /// Ranks to which blocks are sent.
    pub destinations: Vec<Option<CommRank>>,
    /// Blocks sent down a dimension are received from above, even if one process is on both sides: of each pair of
    /// received blocks, the second is matched before the first.
    in_pairs: bool,
}

/// Rank of the other process, and location of the bytes.
type NeighbourMessage = (CommRank, BufferSlice);

impl NeighbourLists {
    /// Returns the neighbours of a rank in the topology of its communicator. Fails with [`Error::Wrong`] if there is no
    /// topology, and with [`Error::NoSpace`].
    pub fn from_topology(rank: CommRank, topology: Option<&Topology>) -> Result<NeighbourLists, Error> {
        match topology {
            Some(Topology::Cartesian(grid)) => NeighbourLists::on_grid(grid, rank),
            Some(Topology::Graph(graph)) => {
                let list = graph.neighbours(rank).iter().copied();
                NeighbourLists::listed(list.clone(), list)
            }
            Some(Topology::Distributed(own)) => NeighbourLists::listed(own.sources(), own.destinations()),
            None => Err(Error::Wrong {
                class: ErrorClass::Topology,
                what: "the communicator has no topology; MPI_Cart_create and MPI_Dist_graph_create make some that have",
            }),
        }
    }

    fn on_grid(grid: &CartGrid, rank: CommRank) -> Result<NeighbourLists, Error> {
        let dimensions = grid.dimensions().len();
        let (mut sources, mut destinations) = (try_with_capacity(2 * dimensions)?, try_with_capacity(2 * dimensions)?);
        for dimension in 0..dimensions {
            for steps in [-1, 1] {
                let rank = grid.neighbour(rank.0, dimension, steps);
                sources.push(rank.map(CommRank));
                destinations.push(rank.map(CommRank));
            }
        }
        Ok(NeighbourLists {
            sources,
            destinations,
            in_pairs: true,
        })
    }

    /// Returns the neighbours with these valid ranks.
    fn listed(
        sources: impl ExactSizeIterator<Item = i32>,
        destinations: impl ExactSizeIterator<Item = i32>,
    ) -> Result<NeighbourLists, Error> {
        let some = |rank| Some(CommRank(rank as u32));
        let mut from = try_with_capacity(sources.len())?;
        from.extend(sources.map(some));
        let mut to = try_with_capacity(destinations.len())?;
        to.extend(destinations.map(some));
        Ok(NeighbourLists {
            sources: from,
            destinations: to,
            in_pairs: false,
        })
    }

    /// Returns the messages to receive and to send. `part` returns the block for a destination, `place` the block for a
    /// source, both by index in their lists. Fails with [`Error::NoSpace`].
    pub fn messages(
        &self,
        part: impl Fn(CommRank) -> BufferSlice,
        place: impl Fn(CommRank) -> BufferSlice,
    ) -> Result<(Vec<NeighbourMessage>, Vec<NeighbourMessage>), Error> {
        let mut from = try_with_capacity(self.sources.len())?;
        for at in 0..self.sources.len() {
            let at = if self.in_pairs { at ^ 1 } else { at };
            if let Some(source) = self.sources[at] {
                from.push((source, place(CommRank(at as u32))));
            }
        }
        let mut to = try_with_capacity(self.destinations.len())?;
        for (at, destination) in (0..).zip(&self.destinations) {
            if let Some(destination) = *destination {
                to.push((destination, part(CommRank(at))));
            }
        }
        Ok((from, to))
    }
}

/// Returns the placement of a grid of all processes on the torus, if `reorder` is set and it fits; all processes
/// compute the same. Otherwise the ranks remain unchanged.
fn placed<'g>(comm: Communicator<'_>, grid: &'g CartGrid, reorder: bool) -> Option<GridPlacement<'g>> {
    if !reorder || grid.places() != comm.size() {
        return None;
    }
    let shape = shape(comm.env());
    let is_whole = grid.places() == shape.nodes();
    is_whole.then(|| GridPlacement::find(grid, shape)).flatten()
}

/// Returns this process's rank in a grid of the communicator's processes; `None` if it is not in the grid.
pub fn rank_in(comm: Communicator<'_>, grid: &CartGrid, reorder: bool) -> Option<u32> {
    let rank = match placed(comm, grid, reorder) {
        None => comm.rank(),
        Some(placement) => {
            let here = comm.membership().to_world(comm.own_rank());
            placement.rank(shape(comm.env()).coord(here.index())?)?
        }
    };
    (rank < grid.places()).then_some(rank)
}

impl Communicator<'_> {
    /// Creates the communicator of the processes of a grid, with the ranks of [`rank_in`]; `None` if this process is
    /// not in the grid. All processes specify the same grid, so each computes the ranks of the others. Blocks until all
    /// have called it. Fails like [`Communicator::duplicate`].
    pub fn make_grid(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        grid: &CartGrid,
        reorder: bool,
    ) -> Result<Option<CreatedComm>, Error> {
        let Some(placement) = placed(self, grid, reorder) else {
            return self.make_first(function, ready, grid.places());
        };
        let shape = shape(self.env());
        let at = |rank| shape.rank(placement.node(rank)).map(Rank::new);
        let members = collected(grid.places(), at);
        self.make_of(function, ready, members)
    }

    /// Creates the communicator of the first `count` processes, at most all; `None` if this process is not among them.
    /// Blocks and fails like [`Communicator::make_grid`].
    pub fn make_first(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        count: u32,
    ) -> Result<Option<CreatedComm>, Error> {
        if count == self.size() {
            return self.make_duplicate(function, ready).map(Some);
        }
        let membership = self.membership();
        let at = |rank| Some(membership.to_world(CommRank(rank)));
        self.make_of(function, ready, collected(count, at))
    }

    /// Creates the communicator of the same processes with this process's neighbours as its topology. Blocks until all
    /// processes have called it. Fails like [`Communicator::duplicate`]. An error in `given` is returned here; the
    /// other processes fail, too.
    pub fn make_distributed(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        given: Result<Neighbourhood, Error>,
    ) -> Result<(CreatedComm, Option<Topology>), Error> {
        let mut given = Some(given);
        let mut own = None;
        let made = self.make_duplicate(function, &mut |context| {
            own = given.take().transpose()?.or(own.take());
            ready(context)
        })?;
        Ok((made, own.map(Topology::Distributed)))
    }

    /// Creates the communicator of the first processes as the nodes of a graph, with that topology; `None` if this
    /// process is not among them. All processes specify the same graph, with at most one node per process. Blocks and
    /// fails like [`Communicator::make_distributed`].
    pub fn make_graph(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        nodes: u32,
        given: Result<Graph, Error>,
    ) -> Result<Option<(CreatedComm, Option<Topology>)>, Error> {
        let mut given = Some(given);
        let mut graph = None;
        let mut ready = |context| {
            graph = given.take().transpose()?.or(graph.take());
            ready(context)
        };
        let made = self.make_first(function, &mut ready, nodes)?;
        Ok(made.map(|made| (made, graph.map(Topology::Graph))))
    }

    /// Creates the communicator of this process's subgrid: the dimensions for which `keep` is true. Blocks until all
    /// processes have called it. Fails like [`Communicator::duplicate`].
    pub fn make_part(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        grid: &CartGrid,
        keep: &[bool],
    ) -> Result<Option<CreatedComm>, Error> {
        let membership = self.membership();
        let at = |number| {
            let rank = grid.in_part(self.rank(), keep, number)?;
            Some(membership.to_world(CommRank(rank)))
        };
        self.make_of(function, ready, collected(grid.part(keep).places(), at))
    }
}

/// Returns the processes at the indices below `count`. Fails with [`Error::NoSpace`].
fn collected(count: u32, at: impl Fn(u32) -> Option<Rank>) -> Result<Vec<Rank>, Error> {
    let mut members = try_with_capacity(count as usize)?;
    members.extend((0..count).filter_map(at));
    Ok(members)
}
