//! Cartesian topologies, and queries for all topologies (chapter 7).
//!
//! The topology of a communicator is in a side table on the program's heap, indexed by its context.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::c_int;

use super::args;
use super::comm_objects::{enter, prepare};
use super::comm_state;
use super::error_dispatch::{on_any, on_comm, on_process};
use super::types::Handle;
use super::types::constants::*;
use midplane_objects::cart::{self, CartGrid, DIMENSIONS};
use midplane_objects::comm::Communicator;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::split::{CreatedComm, PrepareComm};
use midplane_objects::topology::{self, Topology};

const NOT_CARTESIAN: Error = Error::Wrong {
    class: ErrorClass::Topology,
    what: "the communicator has no Cartesian topology; MPI_Cart_create makes one that has",
};

fn grid(comm: &Communicator<'_>) -> Result<CartGrid, Error> {
    comm_state::grid(comm.membership().context).ok_or(NOT_CARTESIAN)
}

/// Registers the communicator with this grid that `make_it` creates. Returns its handle.
fn make(
    comm: Communicator<'static>,
    parent: c_int,
    grid: CartGrid,
    make_it: impl FnOnce(PrepareComm<'_>, &CartGrid) -> Result<Option<CreatedComm>, Error>,
) -> Result<c_int, Error> {
    let mut ready = |context| {
        comm_state::reserve()?;
        prepare(context)
    };
    let Some(made) = make_it(&mut ready, &grid)? else {
        return Ok(MPI_COMM_NULL);
    };
    comm_state::attach(made.context(), Some(Topology::Cartesian(grid)));
    enter(comm.env, made, parent)
}

/// Returns an array of the program with one item per dimension.
///
/// # Safety
/// See [`args::array`].
unsafe fn dimensions<'a>(pointer: *const c_int, ndims: c_int, name: &'static str) -> Result<&'a [c_int], Error> {
    let count = usize::try_from(ndims).map_err(|_| Error::Dims {
        what: "a negative number of dimensions",
    })?;
    // SAFETY: guaranteed by the caller.
    unsafe { args::array(pointer, count, name) }
}

pub unsafe fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) -> c_int {
    on_process("MPI_Dims_create", |_| {
        let count = usize::try_from(ndims).map_err(|_| Error::Dims {
            what: "a negative number of dimensions",
        })?;
        // SAFETY: the standard's requirements on `dims`.
        cart::balance(nnodes, unsafe { args::array_mut(dims, count, "dims") }?)
    })
}

/// Returns the grid that these arrays describe, with at most one node per process.
///
/// # Safety
/// See [`dimensions`].
unsafe fn new_grid(
    comm: &Communicator<'_>,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
) -> Result<CartGrid, Error> {
    // SAFETY: guaranteed by the caller.
    let (dims, periods) = unsafe { (dimensions(dims, ndims, "dims")?, dimensions(periods, ndims, "periods")?) };
    let each = dims.iter().zip(periods);
    let each = each.map(|(extent, periodic)| (*extent, *periodic != 0));
    CartGrid::within(each, comm.size())
}

pub unsafe fn MPI_Cart_create(
    comm_old: c_int,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    reorder: c_int,
    comm_cart: *mut Handle,
) -> c_int {
    on_comm("MPI_Cart_create", comm_old, |comm| {
        // SAFETY: the standard's requirements on the arrays and `comm_cart`.
        let (grid, comm_cart) = unsafe {
            (
                new_grid(&comm, ndims, dims, periods)?,
                args::out(comm_cart, "comm_cart")?,
            )
        };
        *comm_cart = Handle::new(make(comm, comm_old, grid, |ready, grid| {
            comm.make_grid("MPI_Cart_create", ready, grid, reorder != 0)
        })?);
        Ok(())
    })
}

pub unsafe fn MPI_Cart_map(
    comm: c_int,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    newrank: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_map", comm, |comm| {
        // SAFETY: the standard's requirements on the arrays and `newrank`.
        let (grid, newrank) = unsafe { (new_grid(&comm, ndims, dims, periods)?, args::out(newrank, "newrank")?) };
        *newrank = topology::rank_in(comm, &grid, true).map_or(MPI_UNDEFINED, |rank| rank as c_int);
        Ok(())
    })
}

pub unsafe fn MPI_Cart_sub(comm: c_int, remain_dims: *const c_int, newcomm: *mut Handle) -> c_int {
    let parent = comm;
    on_comm("MPI_Cart_sub", comm, |comm| {
        let grid = grid(&comm)?;
        // SAFETY: the standard's requirements on both.
        let (remain, newcomm) = unsafe {
            (
                args::array(remain_dims, grid.dimensions().len(), "remain_dims")?,
                args::out(newcomm, "newcomm")?,
            )
        };
        let keep: heapless::Vec<bool, DIMENSIONS> = remain.iter().map(|keep| *keep != 0).collect();
        *newcomm = Handle::new(make(comm, parent, grid.part(&keep), |ready, _| {
            comm.make_part("MPI_Cart_sub", ready, &grid, &keep)
        })?);
        Ok(())
    })
}

pub unsafe fn MPI_Topo_test(comm: c_int, status: *mut c_int) -> c_int {
    on_any("MPI_Topo_test", comm, |_, views| {
        // SAFETY: the standard's requirements on `status`.
        *unsafe { args::out(status, "status") }? =
            comm_state::with_topology(views.context(), |topology| match topology {
                Some(Topology::Cartesian(_)) => MPI_CART,
                Some(Topology::Graph(_)) => MPI_GRAPH,
                Some(Topology::Distributed(_)) => MPI_DIST_GRAPH,
                None => MPI_UNDEFINED,
            });
        Ok(())
    })
}

pub unsafe fn MPI_Cartdim_get(comm: c_int, ndims: *mut c_int) -> c_int {
    on_comm("MPI_Cartdim_get", comm, |comm| {
        // SAFETY: the standard's requirements on `ndims`.
        *unsafe { args::out(ndims, "ndims") }? = grid(&comm)?.dimensions().len() as c_int;
        Ok(())
    })
}

/// Returns the first `count` items of the program's array of `most` items.
///
/// # Safety
/// `pointer` must satisfy [`args::array_mut`], for `most` items.
unsafe fn try_with_capacity<'a>(
    pointer: *mut c_int,
    most: c_int,
    count: usize,
    name: &'static str,
) -> Result<&'a mut [c_int], Error> {
    if usize::try_from(most).is_ok_and(|most| most >= count) {
        // SAFETY: guaranteed by the caller.
        unsafe { args::array_mut(pointer, count, name) }
    } else {
        Err(Error::Argument {
            what: "maxdims is less than the grid's dimensions",
        })
    }
}

pub unsafe fn MPI_Cart_get(
    comm: c_int,
    maxdims: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_get", comm, |comm| {
        let grid = grid(&comm)?;
        let count = grid.dimensions().len();
        // SAFETY: the standard's requirements on the arrays.
        let (dims, periods, coords) = unsafe {
            (
                try_with_capacity(dims, maxdims, count, "dims")?,
                try_with_capacity(periods, maxdims, count, "periods")?,
                try_with_capacity(coords, maxdims, count, "coords")?,
            )
        };
        let here = grid.coords(comm.rank());
        for (at, dimension) in grid.dimensions().iter().enumerate() {
            dims[at] = dimension.extent as c_int;
            periods[at] = dimension.periodic.into();
            coords[at] = here[at];
        }
        Ok(())
    })
}

pub unsafe fn MPI_Cart_rank(comm: c_int, coords: *const c_int, rank: *mut c_int) -> c_int {
    on_comm("MPI_Cart_rank", comm, |comm| {
        let grid = grid(&comm)?;
        // SAFETY: the standard's requirements on both.
        let (coords, rank) = unsafe {
            (
                args::array(coords, grid.dimensions().len(), "coords")?,
                args::out(rank, "rank")?,
            )
        };
        *rank = grid.rank(coords).ok_or(Error::Argument {
            what: "coordinates outside of the grid, in a dimension that does not wrap around",
        })? as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Cart_coords(comm: c_int, rank: c_int, maxdims: c_int, coords: *mut c_int) -> c_int {
    on_comm("MPI_Cart_coords", comm, |comm| {
        let grid = grid(&comm)?;
        let of = args::rank(&comm.partners(), rank)?.0;
        // SAFETY: the standard's requirements on `coords`.
        unsafe { try_with_capacity(coords, maxdims, grid.dimensions().len(), "coords") }?
            .copy_from_slice(&grid.coords(of));
        Ok(())
    })
}

pub unsafe fn MPI_Cart_shift(
    comm: c_int,
    direction: c_int,
    disp: c_int,
    rank_source: *mut c_int,
    rank_dest: *mut c_int,
) -> c_int {
    on_comm("MPI_Cart_shift", comm, |comm| {
        let grid = grid(&comm)?;
        let dimension = usize::try_from(direction)
            .ok()
            .filter(|dimension| *dimension < grid.dimensions().len())
            .ok_or(Error::Argument {
                what: "direction is no dimension of the grid",
            })?;
        let rank = |steps: i64| {
            grid.neighbour(comm.rank(), dimension, steps)
                .map_or(MPI_PROC_NULL, |rank| rank as c_int)
        };
        // SAFETY: the standard's requirements on both.
        unsafe {
            *args::out(rank_source, "rank_source")? = rank(-i64::from(disp));
            *args::out(rank_dest, "rank_dest")? = rank(disp.into());
        }
        Ok(())
    })
}
