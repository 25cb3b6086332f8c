//! Cartesian topologies (MPI-3.1 section 7.5).

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::Rank;
use super::simple::SimpleCommunicator;
use crate::Count;
use crate::recording::{Fields, creating};
use midplane_objects::cart::{self, CartGrid};
use midplane_objects::error::Error;
use midplane_objects::split::{CreatedComm, ready};
use midplane_objects::topology::Topology;

/// A communicator with a Cartesian topology.
pub struct CartesianCommunicator(pub(super) SimpleCommunicator);

/// Extents and periods of a grid, and the coordinates of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CartesianLayout {
    /// Extent of each dimension.
    pub dims: Vec<Count>,
    /// Whether each dimension wraps around.
    pub periods: Vec<bool>,
    /// Coordinates of this process.
    pub coords: Vec<Count>,
}

/// Replaces the zeros in `dims` so that the product is `nodes`, as balanced as the divisors allow (MPI_Dims_create,
/// MPI-3.1 section 7.5.2). Returns [`Error::Dims`] if that is impossible, and [`Error::Limit`].
pub fn dims_create(nodes: Count, dims: &mut [Count]) -> Result<(), Error> {
    cart::balance(nodes, dims)
}

/// Panics unless a grid's extents and periods have the same length.
#[track_caller]
pub(super) fn assert_same(dims: &[Count], periods: &[bool]) {
    let message = "an extent and a period for each dimension";
    assert_eq!(dims.len(), periods.len(), "{message}");
}

/// Returns a grid with at most as many positions as the communicator has processes.
pub(super) fn grid(comm: &SimpleCommunicator, dims: &[Count], periods: &[bool]) -> Result<CartGrid, Error> {
    if dims.len() != periods.len() {
        return Err(Error::argument("there are not as many periods as extents"));
    }
    let each = dims.iter().copied().zip(periods.iter().copied());
    CartGrid::within(each, comm.record.size() as u32)
}

impl CartesianCommunicator {
    pub(super) fn from_created(comm: &SimpleCommunicator, made: CreatedComm, grid: CartGrid) -> Self {
        CartesianCommunicator(comm.made(made, Some(Rc::new(Topology::Cartesian(grid)))))
    }

    fn grid(&self) -> &CartGrid {
        match self.0.record.topology() {
            Some(Topology::Cartesian(grid)) => grid,
            _ => unreachable!("made with a grid"),
        }
    }

    /// Returns the number of dimensions (MPI_Cartdim_get, MPI-3.1 section 7.5.5).
    pub fn num_dimensions(&self) -> Count {
        self.grid().dimensions().len() as Count
    }

    /// Returns extents, periods and this process's coordinates (MPI_Cart_get, MPI-3.1 section 7.5.5).
    ///
    /// # Panics
    /// When the length of a slice is not the number of dimensions.
    pub fn get_layout_into(&self, dims: &mut [Count], periods: &mut [bool], coords: &mut [Count]) {
        let layout = self.get_layout();
        dims.copy_from_slice(&layout.dims);
        periods.copy_from_slice(&layout.periods);
        coords.copy_from_slice(&layout.coords);
    }

    /// Returns the result of [`get_layout_into`](Self::get_layout_into), allocated from the program's heap.
    pub fn get_layout(&self) -> CartesianLayout {
        let dimensions = self.grid().dimensions();
        CartesianLayout {
            dims: dimensions.iter().map(|d| d.extent as Count).collect(),
            periods: dimensions.iter().map(|d| d.periodic).collect(),
            coords: self.rank_to_coordinates(self.0.record.rank()),
        }
    }

    /// Returns the rank at coordinates (MPI_Cart_rank, MPI-3.1 section 7.5.5). Periodic dimensions wrap around.
    ///
    /// # Panics
    /// When there is not one coordinate for each dimension, or one is outside a dimension that is not periodic.
    pub fn coordinates_to_rank(&self, coords: &[Count]) -> Rank {
        let dimensions = self.grid().dimensions().len();
        assert_eq!(coords.len(), dimensions, "a coordinate for each dimension");
        let rank = self.grid().rank(coords);
        rank.unwrap_or_else(|| panic!("{coords:?} lies outside of the grid")) as Rank
    }

    /// Returns the coordinates of a rank (MPI_Cart_coords, MPI-3.1 section 7.5.5).
    ///
    /// # Panics
    /// When there is no such rank, or the length of `coords` is not the number of dimensions.
    pub fn rank_to_coordinates_into(&self, rank: Rank, coords: &mut [Count]) {
        coords.copy_from_slice(&self.rank_to_coordinates(rank));
    }

    /// Returns the coordinates of a rank, allocated from the program's heap.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn rank_to_coordinates(&self, rank: Rank) -> Vec<Count> {
        assert!((0..self.0.record.size()).contains(&rank), "there is no rank {rank}");
        self.grid().coords(rank as u32).to_vec()
    }

    /// Returns the ranks at distance `displacement` before and after this process along a dimension, each `None`
    /// outside the grid (MPI_Cart_shift, MPI-3.1 section 7.5.6).
    ///
    /// # Panics
    /// When there is no such dimension.
    pub fn shift(&self, dimension: Count, displacement: Count) -> (Option<Rank>, Option<Rank>) {
        let is_there = (0..self.num_dimensions()).contains(&dimension);
        assert!(is_there, "there is no dimension {dimension}");
        let (grid, own) = (self.grid(), self.0.record.rank() as u32);
        let away = |steps: i64| Some(grid.neighbour(own, dimension as usize, steps)? as Rank);
        let steps = i64::from(displacement);
        (away(-steps), away(steps))
    }

    ends_the_job! {
        "mpi::topology::CartesianCommunicator", [pub fn(&self)], self.0.record.here;

        /// Creates the subgrid of the retained dimensions that contains this process (MPI_Cart_sub, MPI-3.1 section
        /// 7.5.7). Blocks and aborts like the calls of [`Communicator`](super::Communicator) that create one.
        ///
        /// # Panics
        /// When the length of `retain` is not the number of dimensions.
        subgroup[](retain: &[bool]) -> CartesianCommunicator, "MPI_Cart_sub" = {
            assert_eq!(retain.len(), self.grid().dimensions().len(), "a choice for each dimension");
            self.try_subgroup(retain)
        };
    }

    /// [`subgroup`](Self::subgroup) that returns its error: [`Error::Argument`] when the length of `retain` is not the
    /// number of dimensions, or one of [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_subgroup(&self, retain: &[bool]) -> Result<CartesianCommunicator, Error> {
        let grid = self.grid();
        if retain.len() != grid.dimensions().len() {
            return Err(Error::argument("there are not as many choices as dimensions"));
        }
        let core = self.0.record.core()?;
        let arguments = |fields: &mut Fields| {
            fields.communicator(&self.0.record).unknown(2);
        };
        let create = || {
            let made = core.make_part("MPI_Cart_sub", &mut ready, grid, retain)?;
            let made = made.expect("in its own part");
            Ok(CartesianCommunicator::from_created(&self.0, made, grid.part(retain)))
        };
        creating("MPI_Cart_sub", arguments, create, |new| Some(&new.0.record))
    }
}
