//! Cartesian grids (MPI-3.1 section 7.5): pure.
#![forbid(unsafe_code)]

use heapless::Vec;

use crate::error::{Error, Limited};

/// Most dimensions that a grid can have.
pub const DIMENSIONS: usize = 16;

/// One dimension of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// Processes along this dimension.
    pub extent: u32,
    /// It wraps around.
    pub periodic: bool,
}

/// A grid; ranks count up along the last dimension first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid(Vec<Dimension, DIMENSIONS>);

/// Places along each dimension.
pub type Coords = Vec<i32, DIMENSIONS>;

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
                    what: Limited::Dimensions,
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

    /// As [`Grid::new`], of no more places than there are ranks, or it fails with [`Error::Dims`], too.
    pub fn within(
        dimensions: impl Iterator<Item = (i32, bool)>,
        ranks: u32,
    ) -> Result<Grid, Error> {
        let grid = Grid::new(dimensions)?;
        match grid.places() <= ranks {
            true => Ok(grid),
            false => Err(Error::Dims {
                what: "a grid of more places than the communicator has ranks",
            }),
        }
    }

    /// Returns the dimensions of the grid, the slowest first.
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

    /// The grid of the dimensions for which `keep` is true.
    pub fn part(&self, keep: &[bool]) -> Grid {
        let kept = self.0.iter().zip(keep).filter(|(_, keep)| **keep);
        Grid(kept.map(|(dimension, _)| *dimension).collect())
    }

    /// Who has, in the part that `rank` is in, the place with this number.
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

/// Most factors above 1 of a number of nodes: a power of two has them.
const FACTORS: usize = 30;

/// Fills the zeros in `dims` so that their product is `nodes`, as balanced as the divisors allow, the greatest first: of
/// all such extents, those whose greatest and least are closest, of these the ones whose least is greatest, then those
/// whose second least is, and so on. Fails with [`Error::Dims`] when that cannot be.
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
    let found = Division::closest(rest, open);
    let zeros = dims.iter_mut().filter(|extent| **extent == 0);
    for (at, zero) in zeros.enumerate() {
        *zero = found.get(at).map_or(1, |extent| *extent as i32);
    }
    Ok(())
}

/// Extents of a grid, none above the one before it: those tried, and the best so far.
struct Division {
    tried: Vec<u32, FACTORS>,
    best: Vec<u32, FACTORS>,
    /// By how much the greatest of the best exceeds its least.
    spread: u32,
}

impl Division {
    /// The best of `count` extents whose product is `number`, without the ones at their end when they are very many.
    fn closest(number: u32, count: usize) -> Vec<u32, FACTORS> {
        let mut division = Division {
            tried: Vec::new(),
            best: Vec::new(),
            spread: u32::MAX,
        };
        let count = count.min(FACTORS) as u32;
        if count > 0 {
            let least_at_most = root(number, count);
            let mut greatest = divisor_from_root(number, count);
            // The least is not above the root, so that beyond this every spread is greater.
            while greatest - least_at_most <= division.spread {
                division.go_on(number, count, greatest);
                match least_divisor(number, |divisor| divisor > greatest) {
                    Some(divisor) => greatest = divisor,
                    None => break,
                }
            }
        }
        division.best
    }

    /// Tries `extent` as the next of `count` whose product is `number`, and behind it all that can follow.
    fn go_on(&mut self, number: u32, count: u32, extent: u32) {
        // No more than `FACTORS` are asked for.
        let _ = self.tried.push(extent);
        let (rest, count) = (number / extent, count - 1);
        if count == 0 {
            self.compare();
        } else {
            let mut next = divisor_from_root(rest, count);
            // What is below this makes a spread that is greater than the best.
            let least = self.tried[0].saturating_sub(self.spread).max(1);
            while next <= extent && root(rest / next, count - 1) >= least {
                self.go_on(rest, count, next);
                match least_divisor(rest, |divisor| divisor > next) {
                    Some(divisor) => next = divisor,
                    None => break,
                }
            }
        }
        self.tried.pop();
    }

    /// Keeps what was tried when it is better.
    fn compare(&mut self) {
        let (first, last) = (self.tried[0], self.tried[self.tried.len() - 1]);
        let spread = first - last;
        if spread < self.spread
            || spread == self.spread && self.tried.iter().rev().gt(self.best.iter().rev())
        {
            self.spread = spread;
            self.best = self.tried.clone();
        }
    }
}

/// The greatest number whose power of `degree` is not above `number`; what is beyond all bounds for the degree 0.
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

/// The least divisor of `number` that is not below its `degree`-th root.
fn divisor_from_root(number: u32, degree: u32) -> u32 {
    let reaches = |divisor: u32| {
        u64::from(divisor)
            .checked_pow(degree)
            .is_none_or(|power| power >= number.into())
    };
    least_divisor(number, reaches).unwrap_or(number)
}

/// The least divisor of `number` that is `wanted`; all above one that is, are.
fn least_divisor(number: u32, wanted: impl Fn(u32) -> bool) -> Option<u32> {
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
        assert_eq!(
            (many[..30].iter().min(), many[30..].iter().max()),
            (Some(&2), Some(&1))
        );
        assert_eq!(balance(6, &mut []), balance(7, &mut [2, 0]));
        assert!(balance(7, &mut [2, 0]).is_err());
        assert!(balance(6, &mut [3]).is_err());
        assert!(balance(6, &mut [-1, 0]).is_err());
        assert!(balance(0, &mut [0]).is_err());
    }
    /// Every way of writing `number` as a product of `count` extents of which none is greater than the one before.
    fn all_ways(
        number: i32,
        count: usize,
        most: i32,
        begun: &[i32],
        ways: &mut std::vec::Vec<std::vec::Vec<i32>>,
    ) {
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
                // The closest; of these, from the least up, the greatest.
                let rank = |way: &&std::vec::Vec<i32>| {
                    let from_the_least: std::vec::Vec<i32> = way.iter().rev().map(|n| -n).collect();
                    (way[0] - way[count - 1], from_the_least)
                };
                assert_eq!(
                    Some(&dims.to_vec()),
                    ways.iter().min_by_key(rank),
                    "{nodes}"
                );
            }
        }
    }
}
