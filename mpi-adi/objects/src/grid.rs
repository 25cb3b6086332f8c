//! Communicators whose processes form a box of the torus: coordinates of their ranks, for the collectives.
//!
//! Ranks increase along X first, then Y, then Z, like those of MPI_COMM_WORLD. All members compute the same box from
//! the same list of processes.
#![forbid(unsafe_code)]

use net_torus::Shape;

use midplane_device::envelope::Rank;

/// A box of nodes of the torus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TorusBox {
    /// Nodes along x, y and z.
    pub extents: [u16; 3],
    /// Dimensions in which the box is as long as the torus and its lines are rings.
    pub wraps: [bool; 3],
}

/// Coordinates relative to the first process of the box.
pub type BoxCoords = [u16; 3];

impl TorusBox {
    /// Returns the box of all nodes.
    pub fn from_shape(shape: Shape) -> TorusBox {
        TorusBox {
            extents: shape.extents(),
            wraps: shape.wraps(),
        }
    }

    /// Returns the box that these processes form in this order. `None`: they form none, or there is one process only.
    /// Reads each entry once.
    // Not inlined: used only to create a communicator.
    #[inline(never)]
    pub fn find(shape: Shape, list: &[Rank]) -> Option<TorusBox> {
        let at = |rank: &Rank| Some(shape.coord(rank.index())?.axes().map(u16::from));
        let [first, .., last] = list else {
            return None;
        };
        let (first, last) = (at(first)?, at(last)?);
        let mut grid = TorusBox::from_shape(shape);
        for dim in 0..3 {
            grid.extents[dim] = last[dim].checked_sub(first[dim])? + 1;
            grid.wraps[dim] &= grid.extents[dim] == shape.extents()[dim];
        }
        if grid
            .extents
            .iter()
            .map(|&extent| usize::from(extent))
            .product::<usize>()
            != list.len()
        {
            return None;
        }
        let mut places = list.iter().zip(0..);
        let is_box = places.all(|(member, rank)| {
            let from_first = grid.at(rank);
            at(member) == Some(core::array::from_fn(|dim| first[dim] + from_first[dim]))
        });
        is_box.then_some(grid)
    }

    /// Returns the coordinates of a rank.
    pub fn at(&self, rank: u32) -> BoxCoords {
        let [x, y, _] = self.extents.map(u32::from);
        [rank % x, rank / x % y, rank / x / y].map(|at| at as u16)
    }

    /// Returns the rank at these coordinates.
    pub fn rank(&self, at: BoxCoords) -> u32 {
        let [x, y, _] = self.extents.map(u32::from);
        let [at_x, at_y, at_z] = at.map(u32::from);
        at_x + x * (at_y + y * at_z)
    }

    /// Returns the rank at index `place` of the line through `at` in dimension `dim`.
    pub fn on_line(&self, mut at: BoxCoords, dim: usize, place: u16) -> u32 {
        at[dim] = place;
        self.rank(at)
    }

    /// Returns the dimensions with more than one process.
    pub fn dimensions(&self) -> impl DoubleEndedIterator<Item = usize> + Clone + use<> {
        let extents = self.extents;
        (0..3).filter(move |&dim| extents[dim] > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(shape: [u16; 3], wraps: [bool; 3], list: &[u32]) -> Option<TorusBox> {
        let list: Vec<Rank> = list.iter().map(|&rank| Rank::new(rank)).collect();
        TorusBox::find(Shape::new(shape, wraps).expect("a shape"), &list)
    }

    #[test]
    fn boxes_in_the_order_of_their_ranks_are_found_and_nothing_else() {
        let all: Vec<u32> = (0..24).collect();
        let whole = found([2, 3, 4], [true; 3], &all).expect("a box");
        assert_eq!((whole.extents, whole.wraps), ([2, 3, 4], [true; 3]));
        let part = found([2, 3, 4], [true, true, false], &[8, 9, 10, 11, 14, 15, 16, 17]);
        let part = part.expect("a box");
        assert_eq!((part.extents, part.wraps), ([2, 2, 2], [true, false, false]));
        assert_eq!(part.at(6), [0, 1, 1]);
        assert!(part.dimensions().eq(0..3));
        let line = found([2, 3, 4], [true; 3], &[3, 9, 15, 21]).expect("a box");
        assert_eq!((line.extents, line.wraps), ([1, 1, 4], [false, false, true]));
        assert!(line.dimensions().eq([2]));
        for no_box in [
            &[][..],
            &[5],
            &[1, 0],
            &[0, 2, 1, 3],
            &[0, 1, 2],
            &[0, 3],
            &[0, 1, 2, 4],
            &[0, 0],
            &[0, 1, 6, 7, 8, 9],
            &[0, 99],
        ] {
            assert_eq!(found([2, 3, 4], [true; 3], no_box), None, "{no_box:?}");
        }
    }

    #[test]
    fn places_and_ranks_name_each_other() {
        let all: Vec<u32> = (0..60).collect();
        let grid = found([5, 3, 4], [false; 3], &all).expect("a box");
        for rank in all {
            let at = grid.at(rank);
            assert_eq!(grid.rank(at), rank);
            assert_eq!(grid.on_line(at, 1, at[1]), rank);
        }
    }
}
