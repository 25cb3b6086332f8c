//! Graph topologies (sections 7.5.3 to 7.5.5 and 7.5.8).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::c_int;

use super::addresses;
use super::args::{self, array, array_mut, out};
use super::comm_objects::{apart, enter, prepare};
use super::comm_state;
use super::error_dispatch::on_comm;
use super::infos::check_hints;
use super::types::Handle;
use super::types::constants::*;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::graph::{Edge, Graph, GraphArc, Neighbourhood};
use midplane_objects::topology::Topology;

fn is_unweighted(weights: *const c_int) -> bool {
    weights.addr() == addresses::UNWEIGHTED
}

fn is_weights_empty(weights: *const c_int) -> bool {
    weights.addr() == addresses::WEIGHTS_EMPTY
}

const NO_GRAPH: Error = Error::Wrong {
    class: ErrorClass::Topology,
    what: "the communicator has no graph topology; MPI_Graph_create makes one that has",
};
const NO_DISTRIBUTED_GRAPH: Error = Error::Wrong {
    class: ErrorClass::Topology,
    what: "the communicator has no distributed graph topology; MPI_Dist_graph_create makes one that has",
};

/// Runs `f` on the graph of a communicator. Fails like `f`, and with [`NO_GRAPH`].
fn with_graph<R>(comm: &Communicator<'_>, f: impl FnOnce(&Graph) -> Result<R, Error>) -> Result<R, Error> {
    comm_state::with_topology(comm.membership().context, |topology| match topology {
        Some(Topology::Graph(graph)) => f(graph),
        _ => Err(NO_GRAPH),
    })
}

/// Runs `f` on this process's edges of a distributed graph; see [`with_graph`].
fn with_neighbourhood<R>(
    comm: &Communicator<'_>,
    f: impl FnOnce(&Neighbourhood) -> Result<R, Error>,
) -> Result<R, Error> {
    comm_state::with_topology(comm.membership().context, |topology| match topology {
        Some(Topology::Distributed(own)) => f(own),
        _ => Err(NO_DISTRIBUTED_GRAPH),
    })
}

/// Returns the graph of `nnodes` nodes that these arrays describe; at most one node per process.
///
/// # Safety
/// The arrays must satisfy [`args::array`], with the number of items that they specify.
unsafe fn graph(
    comm: &Communicator<'_>,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
) -> Result<Graph, Error> {
    let nodes = u32::try_from(nnodes).map_err(|_| Error::Argument {
        what: "a negative number of nodes",
    })?;
    if nodes > comm.size() {
        return Err(Error::Argument {
            what: "a graph of more nodes than the communicator has ranks",
        });
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let index = array(index, nodes as usize, "index")?;
        let edges = array(edges, Graph::edges_of(index)?, "edges")?;
        Graph::new(index, edges)
    }
}

pub unsafe fn MPI_Graph_create(
    comm_old: c_int,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    _reorder: c_int,
    comm_graph: *mut Handle,
) -> c_int {
    on_comm("MPI_Graph_create", comm_old, |comm| {
        // SAFETY: the standard's requirements on the arrays and `comm_graph`.
        let (graph, comm_graph) = unsafe {
            (
                apart(graph(&comm, nnodes, index, edges))?,
                out(comm_graph, "comm_graph")?,
            )
        };
        *comm_graph = Handle::new(MPI_COMM_NULL);
        let mut ready = |context| {
            comm_state::reserve()?;
            prepare(context)
        };
        // Ranks are not reordered, which is permitted with `reorder`.
        let made = comm.make_graph("MPI_Graph_create", &mut ready, nnodes as u32, graph)?;
        if let Some((made, topology)) = made {
            comm_state::attach(made.context(), topology);
            *comm_graph = Handle::new(enter(comm.env, made, comm_old)?);
        }
        Ok(())
    })
}

pub unsafe fn MPI_Graph_map(
    comm: c_int,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    newrank: *mut c_int,
) -> c_int {
    on_comm("MPI_Graph_map", comm, |comm| {
        // SAFETY: the standard's requirements on the arrays and `newrank`.
        let newrank = unsafe {
            graph(&comm, nnodes, index, edges)?;
            out(newrank, "newrank")?
        };
        *newrank = if comm.rank() < nnodes as u32 {
            comm.rank() as c_int
        } else {
            MPI_UNDEFINED
        };
        Ok(())
    })
}

pub unsafe fn MPI_Graphdims_get(comm: c_int, nnodes: *mut c_int, nedges: *mut c_int) -> c_int {
    on_comm("MPI_Graphdims_get", comm, |comm| {
        with_graph(&comm, |graph| {
            // SAFETY: the standard's requirements on both.
            unsafe {
                *out(nnodes, "nnodes")? = graph.index().len() as c_int;
                *out(nedges, "nedges")? = graph.edges().len() as c_int;
            }
            Ok(())
        })
    })
}

/// Copies `list` to the program's array, truncated to its length.
///
/// # Safety
/// `to` must satisfy [`args::array_mut`], for `most` items.
unsafe fn put(
    list: impl ExactSizeIterator<Item = c_int>,
    to: *mut c_int,
    most: c_int,
    name: &'static str,
) -> Result<(), Error> {
    let count = args::length(most)?.min(list.len());
    // SAFETY: guaranteed by the caller.
    let to = unsafe { array_mut(to, count, name) }?;
    for (place, item) in to.iter_mut().zip(list) {
        *place = item;
    }
    Ok(())
}

pub unsafe fn MPI_Graph_get(
    comm: c_int,
    maxindex: c_int,
    maxedges: c_int,
    index: *mut c_int,
    edges: *mut c_int,
) -> c_int {
    on_comm("MPI_Graph_get", comm, |comm| {
        with_graph(&comm, |graph| {
            // SAFETY: the standard's requirements on the arrays.
            unsafe {
                put(graph.index().iter().copied(), index, maxindex, "index")?;
                put(graph.edges().iter().copied(), edges, maxedges, "edges")
            }
        })
    })
}

pub unsafe fn MPI_Graph_neighbors_count(comm: c_int, rank: c_int, nneighbors: *mut c_int) -> c_int {
    on_comm("MPI_Graph_neighbors_count", comm, |comm| {
        with_graph(&comm, |graph| {
            let rank = args::rank(&comm.partners(), rank)?;
            // SAFETY: the standard's requirements on `nneighbors`.
            *unsafe { out(nneighbors, "nneighbors") }? = graph.neighbours(rank).len() as c_int;
            Ok(())
        })
    })
}

pub unsafe fn MPI_Graph_neighbors(comm: c_int, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) -> c_int {
    on_comm("MPI_Graph_neighbors", comm, |comm| {
        with_graph(&comm, |graph| {
            let rank = args::rank(&comm.partners(), rank)?;
            let list = graph.neighbours(rank).iter().copied();
            // SAFETY: the standard's requirements on `neighbors`.
            unsafe { put(list, neighbors, maxneighbors, "neighbors") }
        })
    })
}

/// Returns the weights of `count` edges; `None` is MPI_UNWEIGHTED.
///
/// # Safety
/// `weights` must satisfy [`args::array`], unless it is one of the two constants.
unsafe fn weights<'a>(weights: *const c_int, count: usize, name: &'static str) -> Result<Option<&'a [c_int]>, Error> {
    if is_unweighted(weights) {
        return Ok(None);
    }
    if is_weights_empty(weights) {
        return match count {
            0 => Ok(Some(&[])),
            _ => Err(Error::Argument {
                what: "MPI_WEIGHTS_EMPTY where there are edges",
            }),
        };
    }
    // SAFETY: guaranteed by the caller.
    unsafe { array(weights, count, name) }.map(Some)
}

/// Placeholder for an unspecified weight; never returned.
const NO_WEIGHT: c_int = 1;

/// Returns the edges to or from these ranks.
///
/// # Safety
/// See [`args::array`] and [`weights`].
unsafe fn edges(
    comm: &Communicator<'_>,
    degree: c_int,
    ranks: *const c_int,
    name: &'static str,
    weights: *const c_int,
) -> Result<(Vec<Edge>, bool), Error> {
    let degree = args::length(degree)?;
    // SAFETY: guaranteed by the caller.
    let (ranks, weights) = unsafe { (array(ranks, degree, name)?, self::weights(weights, degree, "weights")?) };
    let mut edges = Vec::new();
    edges.try_reserve_exact(degree).map_err(|_| Error::NoSpace {
        bytes: degree * size_of::<Edge>(),
    })?;
    for (at, rank) in ranks.iter().enumerate() {
        args::rank(&comm.partners(), *rank)?;
        edges.push([*rank, weights.map_or(NO_WEIGHT, |weights| weights[at])]);
    }
    Ok((edges, weights.is_some()))
}

/// Creates the communicator of the same processes with these neighbours of this process. Returns its handle. All
/// processes are notified if one has no memory for it.
fn make(
    function: &'static str,
    comm: Communicator<'static>,
    parent: c_int,
    own: Result<Neighbourhood, Error>,
) -> Result<c_int, Error> {
    let mut ready = |context| {
        comm_state::reserve()?;
        prepare(context)
    };
    let (made, topology) = comm.make_distributed(function, &mut ready, own)?;
    comm_state::attach(made.context(), topology);
    enter(comm.env, made, parent)
}

const WEIGHTS_DIFFER: Error = Error::Argument {
    what: "MPI_UNWEIGHTED for the sources or for the destinations alone",
};

pub unsafe fn MPI_Dist_graph_create_adjacent(
    comm_old: c_int,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    info: c_int,
    _reorder: c_int,
    comm_dist_graph: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Dist_graph_create_adjacent";
    on_comm(NAME, comm_old, |comm| {
        // SAFETY: the standard's requirements on the arrays and `comm_dist_graph`.
        let (sources, destinations, comm_dist_graph) = unsafe {
            (
                apart(edges(&comm, indegree, sources, "sources", sourceweights))?,
                apart(edges(&comm, outdegree, destinations, "destinations", destweights))?,
                out(comm_dist_graph, "comm_dist_graph")?,
            )
        };
        check_hints(info)?;
        let own = match (sources, destinations) {
            (Ok((_, weighted)), Ok((_, also))) if weighted != also => return Err(WEIGHTS_DIFFER),
            (Ok((sources, is_weighted)), Ok((destinations, _))) => Ok(Neighbourhood {
                sources,
                destinations,
                is_weighted,
            }),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        *comm_dist_graph = Handle::new(make(NAME, comm, comm_old, own)?);
        Ok(())
    })
}

/// Returns the edges that these arrays describe, `degrees[i]` of them from `sources[i]`, and whether they have weights.
///
/// # Safety
/// See [`args::array`] and [`weights`].
unsafe fn arcs(
    comm: &Communicator<'_>,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
) -> Result<(Vec<GraphArc>, bool), Error> {
    let n = args::length(n)?;
    let partners = comm.partners();
    // SAFETY: guaranteed by the caller.
    let (sources, degrees) = unsafe { (array(sources, n, "sources")?, array(degrees, n, "degrees")?) };
    let mut total = 0usize;
    for degree in degrees {
        total = total.saturating_add(args::length(*degree)?);
    }
    // SAFETY: guaranteed by the caller.
    let (destinations, weights) = unsafe {
        (
            array(destinations, total, "destinations")?,
            self::weights(weights, total, "weights")?,
        )
    };
    let mut arcs = Vec::new();
    arcs.try_reserve_exact(total).map_err(|_| Error::NoSpace {
        bytes: total * size_of::<GraphArc>(),
    })?;
    for (source, degree) in sources.iter().zip(degrees) {
        let from = args::rank(&partners, *source)?;
        for _ in 0..*degree {
            let at = arcs.len();
            let to: CommRank = args::rank(&partners, destinations[at])?;
            let weight = weights.map_or(NO_WEIGHT, |weights| weights[at]);
            arcs.push(GraphArc { from, to, weight });
        }
    }
    Ok((arcs, weights.is_some()))
}

pub unsafe fn MPI_Dist_graph_create(
    comm_old: c_int,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: c_int,
    _reorder: c_int,
    comm_dist_graph: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Dist_graph_create";
    on_comm(NAME, comm_old, |comm| {
        // SAFETY: the standard's requirements on the arrays and `comm_dist_graph`.
        let (given, comm_dist_graph) = unsafe {
            (
                apart(arcs(&comm, n, sources, degrees, destinations, weights))?,
                out(comm_dist_graph, "comm_dist_graph")?,
            )
        };
        check_hints(info)?;
        let (arcs, is_weighted) = match &given {
            Ok((arcs, is_weighted)) => (Ok(&arcs[..]), *is_weighted),
            Err(error) => (Err(*error), false),
        };
        let own = comm.neighbourhood(NAME, arcs, is_weighted)?;
        *comm_dist_graph = Handle::new(make(NAME, comm, comm_old, Ok(own))?);
        Ok(())
    })
}

pub unsafe fn MPI_Dist_graph_neighbors_count(
    comm: c_int,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> c_int {
    on_comm("MPI_Dist_graph_neighbors_count", comm, |comm| {
        with_neighbourhood(&comm, |own| {
            // SAFETY: the standard's requirements on all three.
            unsafe {
                *out(indegree, "indegree")? = own.sources.len() as c_int;
                *out(outdegree, "outdegree")? = own.destinations.len() as c_int;
                *out(weighted, "weighted")? = own.is_weighted.into();
            }
            Ok(())
        })
    })
}

/// Copies the edges to the program's arrays, truncated to their length. Copies the weights if there are any and the
/// program requests them.
///
/// # Safety
/// The arrays must satisfy [`args::array_mut`], for `most` items, unless `weights` is one of the two constants.
unsafe fn put_edges(
    own: &Neighbourhood,
    edges: &[Edge],
    most: c_int,
    ranks: *mut c_int,
    name: &'static str,
    weights: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { put(edges.iter().map(|[rank, _]| *rank), ranks, most, name) }?;
    if !own.is_weighted || is_unweighted(weights) || is_weights_empty(weights) {
        return Ok(());
    }
    // SAFETY: guaranteed by the caller.
    unsafe { put(edges.iter().map(|[_, weight]| *weight), weights, most, "weights") }
}

pub unsafe fn MPI_Dist_graph_neighbors(
    comm: c_int,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> c_int {
    on_comm("MPI_Dist_graph_neighbors", comm, |comm| {
        with_neighbourhood(&comm, |own| {
            // SAFETY: the standard's requirements on the arrays.
            unsafe {
                put_edges(own, &own.sources, maxindegree, sources, "sources", sourceweights)?;
                put_edges(
                    own,
                    &own.destinations,
                    maxoutdegree,
                    destinations,
                    "destinations",
                    destweights,
                )
            }
        })
    })
}
