//! Faults on links, as the tool orders them for a test in the [boot parameters](super::boot_parameters).

use heapless::Vec;
use net_torus::coord::{Coord, Direction, Shape};

/// What rates are parts of.
pub const MILLION: u32 = 1_000_000;
/// Greatest rate of loss, and of corruption: with more, what is lost cannot be told from what is cut.
pub const MOST: u32 = MILLION / 5;
/// Greatest number of cuts.
pub const MAX_CUTS: usize = 16;

/// A link that is cut for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// One of its ends.
    pub at: Coord,
    /// The link, as that end calls it.
    pub direction: Direction,
    /// When, in milliseconds since the node's links came up.
    pub after_ms: u32,
}

/// What links do to their frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Frames in a million that vanish; at most [`MOST`].
    pub loss: u32,
    /// Frames in a million in which one to three bits are turned; at most [`MOST`].
    pub corruption: u32,
    /// What determines which frames these are: of each link, the same by number in each run.
    pub seed: u64,
    /// Links that are cut.
    pub cuts: Vec<Cut, MAX_CUTS>,
}

impl Faults {
    /// When the link in direction `d` of the node at `here` is cut, in nanoseconds since it came up.
    pub fn cut_ns(&self, shape: &Shape, here: Coord, d: Direction) -> Option<u64> {
        let there = (shape.neighbour(here, d), d.opposite());
        let is_it = |cut: &&Cut| {
            (cut.at, cut.direction) == (here, d) || (Some(cut.at), cut.direction) == there
        };
        let times = self.cuts.iter().filter(is_it);
        times.map(|cut| u64::from(cut.after_ms) * 1_000_000).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_at_both_ends_of_its_link_and_nowhere_else() {
        let shape = Shape::new([3, 2, 1], [true; 3]).unwrap();
        let cut = |after_ms| Cut {
            at: Coord { x: 2, y: 1, z: 0 },
            direction: Direction::XPlus,
            after_ms,
        };
        let faults = Faults {
            cuts: Vec::from_slice(&[cut(7), cut(9)]).unwrap(),
            ..Faults::default()
        };
        let mut found = std::vec::Vec::new();
        for rank in 0..shape.nodes() {
            let here = shape.coord(rank).unwrap();
            for d in shape.links(here).iter() {
                let cut = faults.cut_ns(&shape, here, d);
                found.extend(cut.map(|ns| (here.axes(), d, ns)));
            }
        }
        let expected = [
            ([0, 1, 0], Direction::XMinus, 7_000_000),
            ([2, 1, 0], Direction::XPlus, 7_000_000),
        ];
        assert_eq!(found, expected);
    }
}
