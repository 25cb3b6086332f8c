//! Fault injection on links, specified by the tool for a test in the [boot parameters](super::boot_parameters).

use heapless::Vec;
use net_torus::coord::{Coord, Direction, Shape};

/// Denominator of the rates.
pub const MILLION: u32 = 1_000_000;
/// Maximum rate of loss, and of corruption: above it, loss is indistinguishable from a cut.
pub const MAX_RATE: u32 = MILLION / 5;
/// Maximum number of cuts.
pub const MAX_CUTS: usize = 16;

/// A permanently cut link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkCut {
    /// One of its ends.
    pub at: Coord,
    /// Direction of the link at that end.
    pub direction: Direction,
    /// Time of the cut, in milliseconds since the node's links came up.
    pub after_ms: u32,
}

/// Faults of the links' frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkFaults {
    /// Lost frames in a million; at most [`MAX_RATE`].
    pub loss: u32,
    /// Frames in a million with one to three inverted bits; at most [`MAX_RATE`].
    pub corruption: u32,
    /// Seed that determines these frames: on each link, the same frame numbers in each run.
    pub seed: u64,
    /// Cut links.
    pub cuts: Vec<LinkCut, MAX_CUTS>,
}

impl LinkFaults {
    /// Returns the time of the cut of the link in direction `d` of the node at `here`, in nanoseconds since it came up.
    pub fn cut_ns(&self, shape: &Shape, here: Coord, d: Direction) -> Option<u64> {
        let there = (shape.neighbour(here, d), d.opposite());
        let is_it = |cut: &&LinkCut| (cut.at, cut.direction) == (here, d) || (Some(cut.at), cut.direction) == there;
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
        let cut = |after_ms| LinkCut {
            at: Coord { x: 2, y: 1, z: 0 },
            direction: Direction::XPlus,
            after_ms,
        };
        let faults = LinkFaults {
            cuts: Vec::from_slice(&[cut(7), cut(9)]).unwrap(),
            ..LinkFaults::default()
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
