//! Placement of Cartesian grids on the torus (MPI-3.1 section 7.5.1, `reorder`): ranks such that neighbours in the grid
//! are neighbours in the torus. Pure functions.
//!
//! A grid fits the torus if each of its extents is that of one axis or the product of several, and every axis is used.
//! A dimension is folded along its axes like a reflected Gray code: from one index to the next, one coordinate changes
//! by one. The last and the first index are also one hop apart if the slowest axis wraps around and has an even extent,
//! or if there is only one axis.
#![forbid(unsafe_code)]

use heapless::Vec;
use net_torus::coord::{Coord, Shape};

use crate::cart::{CartCoords, CartGrid, DIMENSIONS};

/// Number of axes of the torus.
const AXES: usize = 3;

/// Axes of the torus, slowest first.
type FoldedAxes = Vec<usize, AXES>;

/// Grid dimension of each axis; `None` where the extent is 1 and the dimension is irrelevant.
type AxisAssignment = [Option<usize>; AXES];

/// Placement of a grid on the torus.
pub struct GridPlacement<'g> {
    grid: &'g CartGrid,
    extents: [u32; AXES],
    /// Indexed by dimension.
    axes: Vec<FoldedAxes, DIMENSIONS>,
}

impl GridPlacement<'_> {
    /// Finds the placement. All processes find the same one. Returns `None` if the grid does not fit.
    pub fn find(grid: &CartGrid, shape: Shape) -> Option<GridPlacement<'_>> {
        let extents = shape.extents().map(u32::from);
        let assignment = assign(grid, &extents, [None; AXES], 0)?;
        let axes = (0..grid.dimensions().len())
            .map(|dimension| axes_of(dimension, &assignment, &extents))
            .collect();
        Some(GridPlacement { grid, extents, axes })
    }

    /// Returns the grid rank of the process at `here`; `None` outside the grid.
    pub fn rank(&self, here: Coord) -> Option<u32> {
        let at = [here.x, here.y, here.z].map(u32::from);
        let folded = self.axes.iter().map(|axes| fold(axes, &self.extents, &at));
        self.grid.rank(&folded.collect::<CartCoords>())
    }

    /// Returns the node of the process with this grid rank.
    pub fn node(&self, rank: u32) -> Coord {
        let mut at = [0; AXES];
        for (axes, place) in self.axes.iter().zip(self.grid.coords(rank)) {
            unfold(axes, &self.extents, place, &mut at);
        }
        // Less than the extents of the torus, at most 256.
        let [x, y, z] = at.map(|at| at as u8);
        Coord { x, y, z }
    }
}

/// Completes an assignment from `axis` on, so that each extent of the grid is the product of its axes' extents.
fn assign(grid: &CartGrid, extents: &[u32; AXES], begun: AxisAssignment, axis: usize) -> Option<AxisAssignment> {
    let dimensions = grid.dimensions();
    if axis == AXES {
        let fits = dimensions.iter().enumerate().all(|(number, dimension)| {
            let axes = axes_of(number, &begun, extents);
            let product: u32 = axes.iter().map(|axis| extents[*axis]).product();
            product == dimension.extent
        });
        return fits.then_some(begun);
    }
    if extents[axis] == 1 {
        return assign(grid, extents, begun, axis + 1);
    }
    (0..dimensions.len()).find_map(|dimension| {
        let mut more = begun;
        more[axis] = Some(dimension);
        assign(grid, extents, more, axis + 1)
    })
}

/// Returns the axes of a dimension, even extents first, so that the ring closes if possible.
fn axes_of(dimension: usize, assignment: &AxisAssignment, extents: &[u32; AXES]) -> FoldedAxes {
    let own = |axis: &usize| assignment[*axis] == Some(dimension);
    let parity = |odd: bool| {
        (0..AXES)
            .rev()
            .filter(own)
            .filter(move |axis| extents[*axis].is_multiple_of(2) != odd)
    };
    parity(false).chain(parity(true)).collect()
}

/// Returns the index along a dimension that is folded along these axes.
fn fold(axes: &FoldedAxes, extents: &[u32; AXES], at: &[u32; AXES]) -> i32 {
    let mut place = 0;
    for axis in axes {
        let (extent, at) = (extents[*axis], at[*axis]);
        // Each step of a slower axis reverses the direction.
        let along = if place % 2 == 0 { at } else { extent - 1 - at };
        place = place * extent + along;
    }
    place as i32
}

/// Computes the coordinates along these axes for an index; inverse of [`fold`].
fn unfold(axes: &FoldedAxes, extents: &[u32; AXES], place: i32, at: &mut [u32; AXES]) {
    let mut place = place as u32;
    for axis in axes.iter().rev() {
        let extent = extents[*axis];
        let along = place % extent;
        place /= extent;
        at[*axis] = if place.is_multiple_of(2) {
            along
        } else {
            extent - 1 - along
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(extents: &[i32]) -> CartGrid {
        CartGrid::new(extents.iter().map(|extent| (*extent, true))).expect("a grid")
    }

    /// Returns the hops between two nodes of a torus.
    fn hops(shape: Shape, a: Coord, b: Coord) -> u32 {
        let [a, b] = [a, b].map(|c| [c.x, c.y, c.z].map(u32::from));
        let along = |axis: usize| {
            let extent = u32::from(shape.extents()[axis]);
            let way = a[axis].abs_diff(b[axis]);
            way.min(extent - way)
        };
        (0..AXES).map(along).sum()
    }

    fn nodes_by_rank(grid: &CartGrid, shape: Shape) -> std::vec::Vec<Coord> {
        let placement = GridPlacement::find(grid, shape).expect("it fits");
        let mut nodes = vec![None; shape.nodes() as usize];
        for number in 0..shape.nodes() {
            let here = shape.coord(number).expect("a node");
            let rank = placement.rank(here).expect("a place");
            assert_eq!(placement.node(rank), here);
            let rank = rank as usize;
            assert!(nodes[rank].replace(here).is_none(), "two of one rank");
        }
        nodes.into_iter().flatten().collect()
    }

    #[test]
    fn neighbours_in_the_grid_are_neighbours_in_the_machine() {
        for (machine, extents, closes) in [
            ([2, 2, 1], &[2, 2][..], true),
            ([4, 3, 2], &[2, 4, 3], true),
            ([4, 3, 2], &[3, 1, 4, 2], true),
            ([4, 4, 4], &[16, 4], true),
            ([4, 4, 4], &[64], true),
            ([3, 4, 2], &[12, 2], true),
            ([3, 1, 1], &[3], true),
            ([2, 3, 5], &[30], true),
            ([3, 5, 2], &[15, 2], false),
            ([8, 8, 8], &[8, 64], true),
        ] {
            let shape = Shape::new(machine, [true; 3]).expect("a machine");
            let grid = grid(extents);
            let nodes = nodes_by_rank(&grid, shape);
            for rank in 0..grid.places() {
                for (dimension, extent) in extents.iter().enumerate() {
                    let place = grid.coords(rank)[dimension];
                    let is_last = place + 1 == *extent;
                    if *extent == 1 || (is_last && !closes) {
                        continue;
                    }
                    let next = grid.neighbour(rank, dimension, 1).expect("periodic");
                    let way = hops(shape, nodes[rank as usize], nodes[next as usize]);
                    assert_eq!(way, 1, "{machine:?} {extents:?} {rank} {dimension}");
                }
            }
        }
    }

    #[test]
    fn grids_that_do_not_fit_are_left_alone() {
        let shape = Shape::new([4, 3, 2], [true; 3]).expect("a machine");
        for extents in [&[6, 2, 2][..], &[4, 3], &[24, 2], &[4, 3, 1], &[]] {
            assert!(GridPlacement::find(&grid(extents), shape).is_none(), "{extents:?}");
        }
        let one = Shape::new([1; 3], [true; 3]).expect("a machine");
        let point = grid(&[]);
        let placement = GridPlacement::find(&point, one).expect("it fits");
        assert_eq!(placement.rank(Coord::default()), Some(0));
    }
}
