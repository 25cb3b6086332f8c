//! Graph topologies (MPI-3.1 sections 7.5.3 and 7.5.4): a graph that all processes store, and a distributed graph with
//! each process's own edges. Pure except for the exchange of edges.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::coll::try_with_capacity;
use crate::comm::{CommRank, Communicator};
use crate::error::{Error, ErrorClass};
use crate::group::exact;

/// A graph that all processes store (MPI_Graph_create).
#[derive(PartialEq, Eq, Debug)]
pub struct Graph {
    /// For each node, the number of edges of it and all nodes before it.
    index: Vec<i32>,
    /// Neighbours of each node, concatenated in node order.
    edges: Vec<i32>,
}

impl Graph {
    /// Creates the graph from these lists; `index` contains one item per node. Fails with [`Error::Wrong`] if `index`
    /// decreases or an edge refers to no node, and with [`Error::NoSpace`].
    pub fn new(index: &[i32], edges: &[i32]) -> Result<Graph, Error> {
        let wrong = |what| Error::Wrong {
            class: ErrorClass::Arg,
            what,
        };
        let ascends = index.windows(2).all(|two| two[0] <= two[1]);
        if !ascends || index.first().is_some_and(|first| *first < 0) {
            return Err(wrong("index does not count up"));
        }
        let nodes = index.len() as i32;
        if !edges.iter().all(|to| (0..nodes).contains(to)) {
            return Err(wrong("edges has one that goes to no node of the graph"));
        }
        Ok(Graph {
            index: exact(index)?,
            edges: exact(edges)?,
        })
    }

    /// Returns the number of entries of `edges` that `index` requires.
    pub fn edges_of(index: &[i32]) -> Result<usize, Error> {
        let last = index.last().copied().unwrap_or(0);
        usize::try_from(last).map_err(|_| Error::Count { count: last.into() })
    }

    /// Returns the cumulative number of neighbours by rank (MPI_Graph_get).
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// Returns the edges, in the order of the ranks (MPI_Graph_get).
    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    /// Returns the neighbours of an existing node in the specified order.
    pub fn neighbours(&self, node: CommRank) -> &[i32] {
        let at = node.0 as usize;
        let start = if at == 0 { 0 } else { self.index[at - 1] };
        &self.edges[start as usize..self.index[at] as usize]
    }

    /// Fails with [`Error::NoSpace`].
    pub fn copied(&self) -> Result<Graph, Error> {
        Ok(Graph {
            index: exact(&self.index)?,
            edges: exact(&self.edges)?,
        })
    }
}

/// An edge from or to this process: rank of the other process, and weight.
pub type Edge = [i32; 2];

/// Edges of one process in a distributed graph (MPI_Dist_graph_create_adjacent, MPI_Dist_graph_create).
#[derive(PartialEq, Eq, Debug)]
pub struct Neighbourhood {
    /// Edges to this process.
    pub sources: Vec<Edge>,
    /// Edges from this process.
    pub destinations: Vec<Edge>,
    /// The program specified weights.
    pub is_weighted: bool,
}

impl Neighbourhood {
    /// Returns the source ranks of incoming edges.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = i32> {
        self.sources.iter().map(|[rank, _]| *rank)
    }

    /// Returns the destination ranks of outgoing edges.
    pub fn destinations(&self) -> impl ExactSizeIterator<Item = i32> {
        self.destinations.iter().map(|[rank, _]| *rank)
    }

    /// Fails with [`Error::NoSpace`].
    pub fn copied(&self) -> Result<Neighbourhood, Error> {
        Ok(Neighbourhood {
            sources: exact(&self.sources)?,
            destinations: exact(&self.destinations)?,
            is_weighted: self.is_weighted,
        })
    }
}

/// An edge between any two processes: source, destination and weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphArc {
    /// Rank where the edge starts.
    pub from: CommRank,
    /// Rank where the edge ends.
    pub to: CommRank,
    /// Weight of the edge.
    pub weight: i32,
}

/// Edges grouped by the process that receives or sent them.
struct EdgeLists {
    /// Numbers of outgoing and incoming edges per process.
    counts: Vec<[u32; 2]>,
    /// Outgoing edges, then incoming edges of each process in turn.
    edges: Vec<Edge>,
}

impl EdgeLists {
    /// Allocates space for the edges that `counts` specifies.
    fn with(counts: Vec<[u32; 2]>) -> Result<EdgeLists, Error> {
        let total = counts.iter().map(|[out, back]| *out as usize + *back as usize);
        let total = total.sum();
        let mut edges = try_with_capacity(total)?;
        edges.resize(total, [0; 2]);
        Ok(EdgeLists { counts, edges })
    }

    /// Returns the offset of each process's edges, and the total.
    fn starts(&self) -> Result<Vec<usize>, Error> {
        let mut starts = try_with_capacity(self.counts.len() + 1)?;
        let mut start = 0;
        starts.push(start);
        for [out, back] in &self.counts {
            start += *out as usize + *back as usize;
            starts.push(start);
        }
        Ok(starts)
    }

    /// Groups `arcs` by recipient among `size` processes. Each end of an edge receives it.
    fn from_arcs(arcs: &[GraphArc], size: u32) -> Result<EdgeLists, Error> {
        let mut counts = try_with_capacity(size as usize)?;
        counts.resize(size as usize, [0; 2]);
        for GraphArc { from, to, .. } in arcs {
            counts[from.0 as usize][0] += 1;
            counts[to.0 as usize][1] += 1;
        }
        let mut letters = EdgeLists::with(counts)?;
        let starts = letters.starts()?;
        let mut next = try_with_capacity(size as usize)?;
        for (start, [out, _]) in starts.iter().zip(&letters.counts) {
            next.push([*start, *start + *out as usize]);
        }
        for GraphArc { from, to, weight } in arcs {
            let ends = [(from, to), (to, from)];
            for (kind, (of, other)) in ends.into_iter().enumerate() {
                let at = &mut next[of.0 as usize][kind];
                letters.edges[*at] = [other.0 as i32, *weight];
                *at += 1;
            }
        }
        Ok(letters)
    }

    /// Allocates space for this process's edges: outgoing, then incoming.
    fn rooms(&self) -> Result<[Vec<Edge>; 2], Error> {
        let count = |kind: usize| self.counts.iter().map(|both| both[kind] as usize).sum();
        Ok([try_with_capacity(count(0))?, try_with_capacity(count(1))?])
    }

    /// Collects this process's edges from the received ones into the allocated space.
    fn opened(
        &self,
        starts: &[usize],
        [mut destinations, mut sources]: [Vec<Edge>; 2],
        is_weighted: bool,
    ) -> Neighbourhood {
        for (start, [out, back]) in starts.iter().zip(&self.counts) {
            let (out, back) = (*out as usize, *back as usize);
            let edges = &self.edges[*start..start + out + back];
            destinations.extend_from_slice(&edges[..out]);
            sources.extend_from_slice(&edges[out..]);
        }
        Neighbourhood {
            sources,
            destinations,
            is_weighted,
        }
    }
}

impl Communicator<'_> {
    /// Returns this process's edges of a distributed graph, ordered by contributing rank, then as specified. Blocks
    /// until all processes have called it. If a process has no memory or an error in `given`, this error is returned
    /// there and [`Error::NoSpaceElsewhere`] at the others. Also fails with [`Error::NoMemory`].
    pub fn neighbourhood(
        self,
        function: &'static str,
        given: Result<&[GraphArc], Error>,
        is_weighted: bool,
    ) -> Result<Neighbourhood, Error> {
        let size = self.size() as usize;
        let first = given.and_then(|arcs| {
            let given = EdgeLists::from_arcs(arcs, self.size())?;
            let parts = given.starts()?;
            let mut counts = try_with_capacity(size)?;
            counts.resize(size, [0u32; 2]);
            Ok((given, parts, counts))
        });
        let (given, parts, mut counts) = self.once_all_have(function, first)?;
        let one = |rank: CommRank| rank.0 as usize * size_of::<[u32; 2]>();
        let each = |rank: CommRank| one(rank)..one(rank) + size_of::<[u32; 2]>();
        self.alltoall_bytes(
            function,
            bytemuck::cast_slice(&given.counts),
            &each,
            bytemuck::cast_slice_mut(&mut counts),
            &each,
        )?;
        let second = EdgeLists::with(counts).and_then(|taken| {
            let (places, rooms) = (taken.starts()?, taken.rooms()?);
            Ok((taken, places, rooms))
        });
        let (mut taken, places, rooms) = self.once_all_have(function, second)?;
        let between = |starts: &[usize], rank: CommRank| {
            let at = rank.0 as usize;
            starts[at] * size_of::<Edge>()..starts[at + 1] * size_of::<Edge>()
        };
        self.alltoall_bytes(
            function,
            bytemuck::cast_slice(&given.edges),
            &|rank| between(&parts, rank),
            bytemuck::cast_slice_mut(&mut taken.edges),
            &|rank| between(&places, rank),
        )?;
        Ok(taken.opened(&places, rooms, is_weighted))
    }

    /// Returns `got` once all processes have called it. Blocks until then. Fails at all processes if one of them has an
    /// error.
    fn once_all_have<T>(self, function: &'static str, got: Result<T, Error>) -> Result<T, Error> {
        let mut everywhere = [u64::from(got.is_ok())];
        self.and_masks(function, &mut everywhere)?;
        match (got, everywhere) {
            (Ok(_), [0]) => Err(Error::NoSpaceElsewhere),
            (got, _) => got,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_knows_each_nodes_neighbours() {
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).expect("a graph");
        let neighbours = |node| graph.neighbours(CommRank(node)).to_vec();
        assert_eq!(neighbours(0), [1, 3]);
        assert_eq!(neighbours(1), [0]);
        assert_eq!(neighbours(3), [0, 2]);
        assert_eq!(graph.copied(), Ok(graph));
    }

    #[test]
    fn impossible_graphs_are_refused() {
        assert!(Graph::new(&[1, 0], &[0]).is_err());
        assert!(Graph::new(&[-1, 0], &[]).is_err());
        assert!(Graph::new(&[1, 2], &[0, 2]).is_err());
        assert!(Graph::new(&[1, 2], &[0, -1]).is_err());
        assert!(Graph::new(&[0, 0], &[]).is_ok());
        assert!(Graph::edges_of(&[3, -2]).is_err());
        assert_eq!(Graph::edges_of(&[]), Ok(0));
    }

    #[test]
    fn edges_are_told_to_both_of_their_ends() {
        let arc = |from, to, weight| GraphArc {
            from: CommRank(from),
            to: CommRank(to),
            weight,
        };
        let letters = EdgeLists::from_arcs(&[arc(0, 2, 5), arc(2, 2, 6), arc(1, 0, 7)], 3).expect("room");
        assert_eq!(letters.counts, [[1, 1], [1, 0], [1, 2]]);
        let starts = letters.starts().expect("room");
        assert_eq!(starts, [0, 2, 3, 6]);
        assert_eq!(letters.edges[..2], [[2, 5], [1, 7]]);
        assert_eq!(letters.edges[2..3], [[0, 7]]);
        assert_eq!(letters.edges[3..], [[2, 6], [0, 5], [2, 6]]);
        let (starts, rooms) = (letters.starts().unwrap(), letters.rooms().unwrap());
        let all = letters.opened(&starts, rooms, true);
        assert_eq!(all.destinations, [[2, 5], [0, 7], [2, 6]]);
        assert_eq!(all.sources, [[1, 7], [0, 5], [2, 6]]);
    }
}
