//! Cartesian grids (MPI-3.1 section 7.5): pure.
#![forbid(unsafe_code)]

use heapless::Vec;

use crate::mpi::error::Error;

/// Most dimensions that a grid can have.
pub const DIMENSIONS: usize = 16;

/// One dimension of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dimension {
    pub extent: u32,
    /// It wraps around.
    pub periodic: bool,
}

/// A grid; ranks count up along the last dimension first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Grid(Vec<Dimension, DIMENSIONS>);

/// Places along each dimension.
pub(crate) type Coords = Vec<i32, DIMENSIONS>;

impl Grid {
    /// The grid with these dimensions. Fails with [`Error::Limit`] when they are too many and with
    /// [`Error::Dims`] when one is below 1 or there would be more than 2^31 - 1 places.
    pub fn new(dimensions: impl Iterator<Item = (i32, bool)>) -> Result<Grid, Error> {
        let mut grid = Vec::new();
        let mut places = 1u64;
        for (given, periodic) in dimensions {
            let extent = u32::try_from(given)
                .ok()
                .filter(|extent| *extent > 0)
                .ok_or(Error::Dims {
                    what: "an extent below 1",
                })?;
            places = places.saturating_mul(extent.into());
            grid.push(Dimension { extent, periodic })
                .map_err(|_| Error::Limit {
                    what: "dimensions of a grid",
                    limit: DIMENSIONS,
                })?;
        }
        if places > i32::MAX as u64 {
            return Err(Error::Dims {
                what: "a grid of more places than there can be ranks",
            });
        }
        Ok(Grid(grid))
    }

    pub fn dimensions(&self) -> &[Dimension] {
        &self.0
    }

    /// How many places it has.
    pub fn places(&self) -> u32 {
        self.0.iter().map(|dimension| dimension.extent).product()
    }

    /// Where a rank below [`Grid::places`] is.
    pub fn coords(&self, rank: u32) -> Coords {
        let mut rest = rank;
        let mut coords: Coords = self.0.iter().map(|_| 0).collect();
        for (at, dimension) in coords.iter_mut().zip(&self.0).rev() {
            *at = (rest % dimension.extent) as i32;
            rest /= dimension.extent;
        }
        coords
    }

    /// Who is at a place, one coordinate for each dimension; `None` when it lies outside.
    pub fn rank(&self, coords: &[i32]) -> Option<u32> {
        let mut rank = 0;
        for (at, dimension) in coords.iter().zip(&self.0) {
            let inside = match dimension.periodic {
                true => i64::from(*at).rem_euclid(dimension.extent.into()) as u32,
                false => u32::try_from(*at)
                    .ok()
                    .filter(|at| *at < dimension.extent)?,
            };
            rank = rank * dimension.extent + inside;
        }
        Some(rank)
    }

    /// Who is `steps` away from `rank` along a dimension that there is; `None` outside.
    pub fn neighbour(&self, rank: u32, dimension: usize, steps: i64) -> Option<u32> {
        let mut coords = self.coords(rank);
        let extent = i64::from(self.0[dimension].extent);
        let to = i64::from(coords[dimension]) + steps;
        coords[dimension] = match self.0[dimension].periodic {
            true => to.rem_euclid(extent) as i32,
            false => i32::try_from(to).ok()?,
        };
        self.rank(&coords)
    }

    /// The grid of the dimensions for which `keep` is true, and which of such grids `rank` is in.
    pub fn part(&self, rank: u32, keep: &[bool]) -> (Grid, u32) {
        let (mut grid, mut number) = (Vec::new(), 0);
        for ((dimension, at), keep) in self.0.iter().zip(self.coords(rank)).zip(keep) {
            if *keep {
                // No more than this grid has.
                let _ = grid.push(*dimension);
            } else {
                number = number * dimension.extent + at as u32;
            }
        }
        (Grid(grid), number)
    }
}

/// Fills the zeros in `dims` so that their product is `nodes`, as equal as the divisors allow and the
/// greatest first. Fails with [`Error::Dims`] when that cannot be.
pub(crate) fn balance(nodes: i32, dims: &mut [i32]) -> Result<(), Error> {
    let impossible = Error::Dims {
        what: "no extents have this number of nodes as their product",
    };
    if nodes < 1 || dims.iter().any(|extent| *extent < 0) {
        return Err(impossible);
    }
    let mut rest = nodes as u32;
    for extent in dims.iter().filter(|extent| **extent > 0) {
        if !rest.is_multiple_of(*extent as u32) {
            return Err(impossible);
        }
        rest /= *extent as u32;
    }
    let mut open = dims.iter().filter(|extent| **extent == 0).count() as u32;
    let mut found = Vec::<i32, DIMENSIONS>::new();
    while open > 0 {
        let extent = divisor_from_root(rest, open);
        rest /= extent;
        open -= 1;
        found.push(extent as i32).map_err(|_| Error::Limit {
            what: "dimensions of a grid",
            limit: DIMENSIONS,
        })?;
    }
    if rest != 1 {
        return Err(impossible);
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    let zeros = dims.iter_mut().filter(|extent| **extent == 0);
    for (zero, extent) in zeros.zip(found) {
        *zero = extent;
    }
    Ok(())
}

/// The least divisor of `number` that is not below its `degree`-th root.
fn divisor_from_root(number: u32, degree: u32) -> u32 {
    let reaches = |divisor: u32| {
        u64::from(divisor)
            .checked_pow(degree)
            .is_none_or(|power| power >= number.into())
    };
    let mut least = number;
    let mut divisor = 1;
    while divisor <= number / divisor {
        if number.is_multiple_of(divisor) {
            for candidate in [divisor, number / divisor] {
                if candidate < least && reaches(candidate) {
                    least = candidate;
                }
            }
        }
        divisor += 1;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dimensions: &[(i32, bool)]) -> Grid {
        Grid::new(dimensions.iter().copied()).unwrap()
    }

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        let grid = grid(&[(3, true), (4, false), (2, true)]);
        assert_eq!(grid.places(), 24);
        for rank in 0..24 {
            assert_eq!(grid.rank(&grid.coords(rank)), Some(rank));
        }
        assert_eq!(grid.coords(1), [0, 0, 1], "the last dimension first");
        assert_eq!(grid.rank(&[-1, 3, 2]), grid.rank(&[2, 3, 0]));
        assert_eq!(grid.rank(&[0, 4, 0]), None);
        assert_eq!(grid.rank(&[0, -1, 0]), None);
    }

    #[test]
    fn neighbours_wrap_around_where_the_dimension_does() {
        let grid = grid(&[(3, true), (4, false)]);
        assert_eq!(grid.neighbour(0, 0, -1), Some(8));
        assert_eq!(
            grid.neighbour(0, 0, i64::MAX / 2),
            grid.neighbour(0, 0, (i64::MAX / 2) % 3)
        );
        assert_eq!(grid.neighbour(0, 1, -1), None);
        assert_eq!(grid.neighbour(0, 1, 3), Some(3));
        assert_eq!(grid.neighbour(0, 1, 4), None);
    }

    #[test]
    fn parts_keep_some_dimensions() {
        let grid = grid(&[(2, true), (3, false), (4, true)]);
        let (rows, number) = grid.part(23, &[false, true, false]);
        assert_eq!(
            rows.dimensions(),
            [Dimension {
                extent: 3,
                periodic: false
            }]
        );
        assert_eq!(number, 7);
        assert_eq!(grid.part(5, &[true; 3]), (grid.clone(), 0));
        assert_eq!(grid.part(5, &[false; 3]).1, 5);
    }

    #[test]
    fn impossible_grids_are_refused() {
        assert!(Grid::new([(0, false)].into_iter()).is_err());
        assert!(Grid::new([(1 << 20, false); 2].into_iter()).is_err());
        assert!(Grid::new([(1, false); DIMENSIONS + 1].into_iter()).is_err());
        assert_eq!(grid(&[]).places(), 1);
    }

    #[test]
    fn extents_are_balanced() {
        for (nodes, given, wanted) in [
            (12, &[0, 0][..], &[4, 3][..]),
            (8, &[0, 0, 0], &[2, 2, 2]),
            (24, &[0, 0, 0], &[4, 3, 2]),
            (60, &[0, 0, 0], &[5, 4, 3]),
            (7, &[0, 0], &[7, 1]),
            (12, &[0, 3, 0], &[2, 3, 2]),
            (6, &[6], &[6]),
            (1, &[0, 0], &[1, 1]),
            (2_147_483_647, &[0, 0], &[2_147_483_647, 1]),
        ] {
            let mut dims = [0; 4];
            let dims = &mut dims[..given.len()];
            dims.copy_from_slice(given);
            assert_eq!(balance(nodes, dims), Ok(()));
            assert_eq!(dims, wanted);
        }
        assert!(balance(7, &mut [2, 0]).is_err());
        assert!(balance(6, &mut [3]).is_err());
        assert!(balance(6, &mut [-1, 0]).is_err());
        assert!(balance(0, &mut [0]).is_err());
    }
}
