//! What a communicator's processes are arranged in (MPI-3.1 chapter 7): at most one topology each.
//!
//! A grid is the same at all processes, and says who has which rank in it: to make its communicator they have nothing to
//! tell each other but which context is free.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::cart::Grid;
use crate::coll::room;
use crate::comm::{CommRank, Communicator, shape};
use crate::error::{Class, Error};
use crate::graph::{Graph, Neighbourhood};
use crate::placement::Placement;
use crate::split::{Made, Ready};
use midplane_device::envelope::Rank;
use midplane_device::memory::area::Area;

/// A topology.
#[derive(PartialEq, Eq, Debug)]
pub enum Topology {
    /// MPI_CART.
    Cartesian(Grid),
    /// MPI_GRAPH.
    Graph(Graph),
    /// MPI_DIST_GRAPH.
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

/// The neighbours of a process in a topology, in the order of their blocks (section 7.6).
pub struct Neighbours {
    /// Whose blocks come here; `None`: none, and the place is left alone.
    pub sources: Vec<Option<CommRank>>,
    /// To whom blocks go.
    pub destinations: Vec<Option<CommRank>>,
    /// What goes down a dimension comes from above, also where one process is on both sides: of each pair of blocks
    /// that come, the second one is matched before the first.
    in_pairs: bool,
}

/// With whom, and where its bytes are.
type Message = (CommRank, Area);

impl Neighbours {
    /// Those of the process with this rank in the topology of its communicator. Fails with [`Error::Wrong`] where that
    /// has none, and with [`Error::NoRoom`].
    pub fn of(rank: CommRank, topology: Option<&Topology>) -> Result<Neighbours, Error> {
        match topology {
            Some(Topology::Cartesian(grid)) => Neighbours::on_grid(grid, rank),
            Some(Topology::Graph(graph)) => {
                let list = graph.neighbours(rank).iter().copied();
                Neighbours::listed(list.clone(), list)
            }
            Some(Topology::Distributed(own)) => {
                Neighbours::listed(own.sources(), own.destinations())
            }
            None => Err(Error::Wrong {
                class: Class::Topology,
                what: "the communicator has no topology; MPI_Cart_create and MPI_Dist_graph_create make some that have",
            }),
        }
    }

    fn on_grid(grid: &Grid, rank: CommRank) -> Result<Neighbours, Error> {
        let dimensions = grid.dimensions().len();
        let (mut sources, mut destinations) = (room(2 * dimensions)?, room(2 * dimensions)?);
        for dimension in 0..dimensions {
            for steps in [-1, 1] {
                let rank = grid.neighbour(rank.0, dimension, steps);
                sources.push(rank.map(CommRank));
                destinations.push(rank.map(CommRank));
            }
        }
        Ok(Neighbours {
            sources,
            destinations,
            in_pairs: true,
        })
    }

    /// Those with these ranks, which there are.
    fn listed(
        sources: impl ExactSizeIterator<Item = i32>,
        destinations: impl ExactSizeIterator<Item = i32>,
    ) -> Result<Neighbours, Error> {
        let some = |rank| Some(CommRank(rank as u32));
        let mut from = room(sources.len())?;
        from.extend(sources.map(some));
        let mut to = room(destinations.len())?;
        to.extend(destinations.map(some));
        Ok(Neighbours {
            sources: from,
            destinations: to,
            in_pairs: false,
        })
    }

    /// What comes and what goes: `part` says what goes to each destination, `place` where what comes from each source
    /// goes, both by their numbers in their lists. Fails with [`Error::NoRoom`].
    pub fn messages(
        &self,
        part: impl Fn(CommRank) -> Area,
        place: impl Fn(CommRank) -> Area,
    ) -> Result<(Vec<Message>, Vec<Message>), Error> {
        let mut from = room(self.sources.len())?;
        for at in 0..self.sources.len() {
            let at = if self.in_pairs { at ^ 1 } else { at };
            if let Some(source) = self.sources[at] {
                from.push((source, place(CommRank(at as u32))));
            }
        }
        let mut to = room(self.destinations.len())?;
        for (at, destination) in (0..).zip(&self.destinations) {
            if let Some(destination) = *destination {
                to.push((destination, part(CommRank(at))));
            }
        }
        Ok((from, to))
    }
}

/// With `reorder`, the grid of all processes is laid on the torus, if it fits: how; all processes find the same. Else
/// ranks stay as they are.
fn placed<'g>(comm: Communicator<'_>, grid: &'g Grid, reorder: bool) -> Option<Placement<'g>> {
    if !reorder || grid.places() != comm.size() {
        return None;
    }
    let shape = shape(comm.env());
    let is_whole = grid.places() == shape.nodes();
    is_whole.then(|| Placement::find(grid, shape)).flatten()
}

/// This process's rank in a grid of the communicator's processes, in which it need not be.
pub fn rank_in(comm: Communicator<'_>, grid: &Grid, reorder: bool) -> Option<u32> {
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
    /// The communicator of the processes of a grid, ranks as [`rank_in`] has them; `None` where this process is not
    /// among them. All processes give the same grid, so that each knows the others' ranks by itself. Blocks until all
    /// have called it. Fails as [`Communicator::duplicate`].
    pub fn make_grid(
        self,
        function: &'static str,
        ready: Ready<'_>,
        grid: &Grid,
        reorder: bool,
    ) -> Result<Option<Made>, Error> {
        let Some(placement) = placed(self, grid, reorder) else {
            return self.make_first(function, ready, grid.places());
        };
        let shape = shape(self.env());
        let at = |rank| shape.rank(placement.node(rank)).map(Rank::new);
        let members = collected(grid.places(), at);
        self.make_of(function, ready, members)
    }

    /// The communicator of the first so many processes, which are no more than there are; `None` where this one is not
    /// among them. Blocks and fails as [`Communicator::make_grid`].
    pub fn make_first(
        self,
        function: &'static str,
        ready: Ready<'_>,
        count: u32,
    ) -> Result<Option<Made>, Error> {
        if count == self.size() {
            return self.make_duplicate(function, ready).map(Some);
        }
        let membership = self.membership();
        let at = |rank| Some(membership.to_world(CommRank(rank)));
        self.make_of(function, ready, collected(count, at))
    }

    /// The communicator of the same processes in which this one has these neighbours, with that topology. Blocks until
    /// all processes have called it. Fails as [`Communicator::duplicate`]; where this process has been `given` an error,
    /// with that one here, and at all others with one of theirs.
    pub fn make_distributed(
        self,
        function: &'static str,
        ready: Ready<'_>,
        given: Result<Neighbourhood, Error>,
    ) -> Result<(Made, Option<Topology>), Error> {
        let mut given = Some(given);
        let mut own = None;
        let made = self.make_duplicate(function, &mut |context| {
            own = given.take().transpose()?.or(own.take());
            ready(context)
        })?;
        Ok((made, own.map(Topology::Distributed)))
    }

    /// The communicator of the first so many processes, which are the nodes of a graph, with that topology; `None` where
    /// this one is not among them. All processes give the same graph, of no more nodes than there are processes. Blocks and
    /// fails as [`Communicator::make_distributed`].
    pub fn make_graph(
        self,
        function: &'static str,
        ready: Ready<'_>,
        nodes: u32,
        given: Result<Graph, Error>,
    ) -> Result<Option<(Made, Option<Topology>)>, Error> {
        let mut given = Some(given);
        let mut graph = None;
        let mut ready = |context| {
            graph = given.take().transpose()?.or(graph.take());
            ready(context)
        };
        let made = self.make_first(function, &mut ready, nodes)?;
        Ok(made.map(|made| (made, graph.map(Topology::Graph))))
    }

    /// The communicator of those with whom this process is in a part of the grid that the communicator's processes are
    /// in, with the dimensions for which `keep` is true. Blocks until all processes have called it. Fails as
    /// [`Communicator::duplicate`].
    pub fn make_part(
        self,
        function: &'static str,
        ready: Ready<'_>,
        grid: &Grid,
        keep: &[bool],
    ) -> Result<Option<Made>, Error> {
        let membership = self.membership();
        let at = |number| {
            let rank = grid.in_part(self.rank(), keep, number)?;
            Some(membership.to_world(CommRank(rank)))
        };
        self.make_of(function, ready, collected(grid.part(keep).places(), at))
    }
}

/// The processes with the numbers below `count`. Fails with [`Error::NoRoom`].
fn collected(count: u32, at: impl Fn(u32) -> Option<Rank>) -> Result<Vec<Rank>, Error> {
    let mut members = room(count as usize)?;
    members.extend((0..count).filter_map(at));
    Ok(members)
}
