//! Cartesian grids (MPI-3.1 section 7.5). Pure functions.
#![forbid(unsafe_code)]

use heapless::Vec;

use crate::error::{Error, LimitedResource};

/// Maximum number of dimensions.
pub const DIMENSIONS: usize = 16;

/// A dimension of a Cartesian topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// Processes along this dimension.
    pub extent: u32,
    /// The dimension wraps around.
    pub periodic: bool,
}

/// A grid. Ranks increase along the last dimension first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CartGrid(Vec<Dimension, DIMENSIONS>);

/// Coordinates along each dimension.
pub type CartCoords = Vec<i32, DIMENSIONS>;

impl CartGrid {
    /// Creates a grid with these dimensions. Fails with [`Error::Limit`] if there are too many, and with
    /// [`Error::Dims`] if an extent is below 1 or the grid would have more than 2^31 - 1 nodes.
    pub fn new(dimensions: impl Iterator<Item = (i32, bool)>) -> Result<CartGrid, Error> {
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
            grid.push(Dimension { extent, periodic }).map_err(|_| Error::Limit {
                what: LimitedResource::Dimensions,
                limit: DIMENSIONS,
            })?;
        }
        if places > i32::MAX as u64 {
            return Err(Error::Dims {
                what: "a grid of more places than there can be ranks",
            });
        }
        Ok(CartGrid(grid))
    }

    /// Creates a grid with at most `ranks` nodes. Fails with [`Error::Dims`] if it has more, and like [`CartGrid::new`].
    pub fn within(dimensions: impl Iterator<Item = (i32, bool)>, ranks: u32) -> Result<CartGrid, Error> {
        let grid = CartGrid::new(dimensions)?;
        if grid.places() <= ranks {
            Ok(grid)
        } else {
            Err(Error::Dims {
                what: "a grid of more places than the communicator has ranks",
            })
        }
    }

    /// Returns the dimensions of the grid, the slowest first.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.0
    }

    /// Returns the number of processes of the grid.
    pub fn places(&self) -> u32 {
        self.0.iter().map(|dimension| dimension.extent).product()
    }

    /// Returns the coordinates of a rank below [`CartGrid::places`].
    pub fn coords(&self, rank: u32) -> CartCoords {
        let mut rest = rank;
        let mut coords: CartCoords = self.0.iter().map(|_| 0).collect();
        for (at, dimension) in coords.iter_mut().zip(&self.0).rev() {
            *at = (rest % dimension.extent) as i32;
            rest /= dimension.extent;
        }
        coords
    }

    /// Returns the rank at these coordinates, one per dimension; `None` outside the grid.
    pub fn rank(&self, coords: &[i32]) -> Option<u32> {
        let mut rank = 0;
        for (at, dimension) in coords.iter().zip(&self.0) {
            let inside = if dimension.periodic {
                i64::from(*at).rem_euclid(dimension.extent.into()) as u32
            } else {
                u32::try_from(*at).ok().filter(|at| *at < dimension.extent)?
            };
            rank = rank * dimension.extent + inside;
        }
        Some(rank)
    }

    /// Returns the rank at distance `steps` from `rank` along an existing dimension; `None` outside the grid.
    pub fn neighbour(&self, rank: u32, dimension: usize, steps: i64) -> Option<u32> {
        let mut coords = self.coords(rank);
        let extent = i64::from(self.0[dimension].extent);
        let to = i64::from(coords[dimension]) + steps;
        coords[dimension] = if self.0[dimension].periodic {
            to.rem_euclid(extent) as i32
        } else {
            i32::try_from(to).ok()?
        };
        self.rank(&coords)
    }

    /// Returns the subgrid of the dimensions for which `keep` is true.
    pub fn part(&self, keep: &[bool]) -> CartGrid {
        let kept = self.0.iter().zip(keep).filter(|(_, keep)| **keep);
        CartGrid(kept.map(|(dimension, _)| *dimension).collect())
    }

    /// Returns the rank at index `number` of the subgrid that contains `rank`.
    pub fn in_part(&self, rank: u32, keep: &[bool], number: u32) -> Option<u32> {
        let mut coords = self.coords(rank);
        let mut along = self.part(keep).coords(number).into_iter();
        let kept = coords.iter_mut().zip(keep).filter(|(_, keep)| **keep);
        for ((at, _), place) in kept.zip(&mut along) {
            *at = place;
        }
        self.rank(&coords)
    }
}

/// Maximum number of prime factors of a node count; a power of two reaches it.
const FACTORS: usize = 30;

/// Fills the zeros in `dims` such that their product is `nodes` (MPI_Dims_create), in descending order and as balanced
/// as the divisors allow. It chooses the minimum difference between the maximum and the minimum extent; among ties, the
/// largest minimum, then the largest second smallest extent, and so on. Fails with [`Error::Dims`] if no such extents
/// exist.
pub fn balance(nodes: i32, dims: &mut [i32]) -> Result<(), Error> {
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
    let open = dims.iter().filter(|extent| **extent == 0).count();
    if open == 0 && rest > 1 {
        return Err(impossible);
    }
    let found = ExtentSearch::closest(rest, open);
    let zeros = dims.iter_mut().filter(|extent| **extent == 0);
    for (at, zero) in zeros.enumerate() {
        *zero = found.get(at).map_or(1, |extent| *extent as i32);
    }
    Ok(())
}

/// Candidate and best extents of a grid, each in descending order.
struct ExtentSearch {
    tried: Vec<u32, FACTORS>,
    best: Vec<u32, FACTORS>,
    /// Difference between the maximum and the minimum extent of `best`.
    spread: u32,
}

impl ExtentSearch {
    /// Returns the best `count` extents whose product is `number`. Omits trailing ones if `count` is very large.
    fn closest(number: u32, count: usize) -> Vec<u32, FACTORS> {
        let mut division = ExtentSearch {
            tried: Vec::new(),
            best: Vec::new(),
            spread: u32::MAX,
        };
        let count = count.min(FACTORS) as u32;
        if count > 0 {
            let least_at_most = root(number, count);
            let mut greatest = divisor_from_root(number, count);
            // The minimum extent is at most the root, so every later candidate has a larger spread.
            while greatest - least_at_most <= division.spread {
                division.try_extent(number, count, greatest);
                match min_divisor(number, |divisor| divisor > greatest) {
                    Some(divisor) => greatest = divisor,
                    None => break,
                }
            }
        }
        division.best
    }

    /// Tries `extent` as the next of `count` extents whose product is `number`, then all possible successors.
    fn try_extent(&mut self, number: u32, count: u32, extent: u32) {
        // Callers request at most `FACTORS` extents.
        let _ = self.tried.push(extent);
        let (rest, count) = (number / extent, count - 1);
        if count == 0 {
            self.compare();
        } else {
            let mut next = divisor_from_root(rest, count);
            // A smaller minimum extent gives a larger spread than the best.
            let least = self.tried[0].saturating_sub(self.spread).max(1);
            while next <= extent && root(rest / next, count - 1) >= least {
                self.try_extent(rest, count, next);
                match min_divisor(rest, |divisor| divisor > next) {
                    Some(divisor) => next = divisor,
                    None => break,
                }
            }
        }
        self.tried.pop();
    }

    /// Keeps the candidate if it is better.
    fn compare(&mut self) {
        let (first, last) = (self.tried[0], self.tried[self.tried.len() - 1]);
        let spread = first - last;
        if spread < self.spread || spread == self.spread && self.tried.iter().rev().gt(self.best.iter().rev()) {
            self.spread = spread;
            self.best = self.tried.clone();
        }
    }
}

/// Returns the largest integer whose power of `degree` is at most `number`; [`u32::MAX`] for degree 0.
fn root(number: u32, degree: u32) -> u32 {
    if degree == 0 {
        return u32::MAX;
    }
    let (mut low, mut high) = (1u32, number);
    while low < high {
        let middle = high - (high - low) / 2;
        match u64::from(middle).checked_pow(degree) {
            Some(power) if power <= number.into() => low = middle,
            _ => high = middle - 1,
        }
    }
    low
}

/// Returns the smallest divisor of `number` that is at least its `degree`-th root.
fn divisor_from_root(number: u32, degree: u32) -> u32 {
    let reaches = |divisor: u32| {
        u64::from(divisor)
            .checked_pow(degree)
            .is_none_or(|power| power >= number.into())
    };
    min_divisor(number, reaches).unwrap_or(number)
}

/// Returns the smallest divisor of `number` for which `wanted` is true. `wanted` must be monotonic.
fn min_divisor(number: u32, wanted: impl Fn(u32) -> bool) -> Option<u32> {
    let mut least = None;
    let mut divisor = 1;
    while divisor <= number / divisor {
        if number.is_multiple_of(divisor) {
            if wanted(divisor) {
                return Some(divisor);
            }
            let other = number / divisor;
            if wanted(other) {
                least = Some(other);
            }
        }
        divisor += 1;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dimensions: &[(i32, bool)]) -> CartGrid {
        CartGrid::new(dimensions.iter().copied()).unwrap()
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
        let rows = [false, true, false];
        assert_eq!(
            grid.part(&rows).dimensions(),
            [Dimension {
                extent: 3,
                periodic: false
            }]
        );
        let members = (0..3).map(|number| grid.in_part(23, &rows, number));
        assert!(members.eq([15, 19, 23].map(Some)));
        for rank in 0..grid.places() {
            assert_eq!(grid.in_part(5, &[true; 3], rank), Some(rank));
            assert_eq!(grid.in_part(rank, &[false; 3], 0), Some(rank));
        }
        assert_eq!(grid.part(&[true; 3]), grid);
    }

    #[test]
    fn impossible_grids_are_refused() {
        assert!(CartGrid::new([(0, false)].into_iter()).is_err());
        assert!(CartGrid::new([(1 << 20, false); 2].into_iter()).is_err());
        assert!(CartGrid::new([(1, false); DIMENSIONS + 1].into_iter()).is_err());
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
            (7488, &[0, 0, 0], &[26, 18, 16]),
            (6240, &[0, 0, 0], &[26, 16, 15]),
            (119_952, &[0; 5], &[17, 14, 9, 8, 7]),
        ] {
            let mut dims = [0; 5];
            let dims = &mut dims[..given.len()];
            dims.copy_from_slice(given);
            assert_eq!(balance(nodes, dims), Ok(()));
            assert_eq!(dims, wanted);
        }
        for (nodes, wanted) in [(20, &[5, 2, 2][..]), (42, &[7, 3, 2]), (40, &[5, 2, 2, 2])] {
            let mut dims = [0; 4];
            let dims = &mut dims[..wanted.len()];
            assert_eq!(balance(nodes, dims), Ok(()));
            assert_eq!(dims, wanted);
        }
        let mut most = [0; DIMENSIONS];
        assert_eq!(balance(735_134_400, &mut most), Ok(()));
        assert_eq!(most.iter().product::<i32>(), 735_134_400);
        let mut many = [0; 40];
        assert_eq!(balance(1 << 30, &mut many), Ok(()));
        assert_eq!((many[..30].iter().min(), many[30..].iter().max()), (Some(&2), Some(&1)));
        assert_eq!(balance(6, &mut []), balance(7, &mut [2, 0]));
        assert!(balance(7, &mut [2, 0]).is_err());
        assert!(balance(6, &mut [3]).is_err());
        assert!(balance(6, &mut [-1, 0]).is_err());
        assert!(balance(0, &mut [0]).is_err());
    }
    /// Returns all products of `count` extents in descending order that equal `number`.
    fn all_ways(number: i32, count: usize, most: i32, begun: &[i32], ways: &mut std::vec::Vec<std::vec::Vec<i32>>) {
        if count == 0 {
            if number == 1 {
                ways.push(begun.to_vec());
            }
            return;
        }
        for extent in (1..=most.min(number)).filter(|extent| number % extent == 0) {
            let longer = [begun, &[extent]].concat();
            all_ways(number / extent, count - 1, extent, &longer, ways);
        }
    }

    #[test]
    fn no_extents_are_more_balanced() {
        for nodes in 1..=1000 {
            for count in 1..=4 {
                let mut ways = std::vec::Vec::new();
                all_ways(nodes, count, nodes, &[], &mut ways);
                let mut dims = [0; 4];
                let dims = &mut dims[..count];
                assert_eq!(balance(nodes, dims), Ok(()));
                // Minimum spread; among ties, the largest extents compared from the smallest upwards.
                let rank = |way: &&std::vec::Vec<i32>| {
                    let from_the_least: std::vec::Vec<i32> = way.iter().rev().map(|n| -n).collect();
                    (way[0] - way[count - 1], from_the_least)
                };
                assert_eq!(Some(&dims.to_vec()), ways.iter().min_by_key(rank), "{nodes}");
            }
        }
    }
}
