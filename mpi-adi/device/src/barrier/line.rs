//! How the nodes of a line tell each other that they have come.
//!
//! The line is cut into groups of neighbours, at least as many groups as a group has nodes. Each node tells its group; then
//! the last of a group tells those above it and the first those below, round a ring half of them each. So each node gets a
//! packet from each other node of its group and one from each other group, and in lines of up to eight no packet waits for
//! another one on a link.
//!
//! ```text
//! a ring of 8, groups of 2      0 1 | 2 3 | 4 5 | 6 7      1 ==> 2 3 4     0 ==> 7 6 5
//! ```
#![forbid(unsafe_code)]

use net_torus::{Coord, Direction, Shape};

/// Whom a node tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Circle {
    /// The other nodes of its group.
    Group,
    /// Those of the other groups.
    Line,
}

/// Nodes of a group in a line of so many; the last one may have fewer.
// One copy: it is asked for everywhere.
#[inline(never)]
fn group_nodes(extent: u16) -> u16 {
    let fits = |nodes: &u16| u32::from(*nodes) * u32::from(*nodes) <= extent.into();
    (2..).take_while(fits).last().unwrap_or(1)
}

/// Groups of a line of so many beside a node's own.
fn other_groups(extent: u16, group_nodes: u16) -> u16 {
    extent.div_ceil(group_nodes) - 1
}

/// A node's place on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LinePosition {
    dimension: usize,
    at: u16,
    extent: u16,
    is_ring: bool,
}

impl LinePosition {
    pub(super) fn new(shape: &Shape, here: Coord, dimension: usize) -> LinePosition {
        LinePosition {
            dimension,
            at: here.axes()[dimension].into(),
            extent: shape.extents()[dimension],
            is_ring: shape.wraps()[dimension],
        }
    }

    /// Nodes of a group; the last one may have fewer.
    fn group_nodes(&self) -> u16 {
        group_nodes(self.extent)
    }

    /// The first and the last node of the group.
    fn group(&self) -> (u16, u16) {
        let nodes = self.group_nodes();
        let first = self.at - self.at % nodes;
        (first, (self.extent - first).min(nodes) + first - 1)
    }

    /// Packets that this node gets from its group, or from the other ones.
    pub(super) fn expected(&self, circle: Circle) -> u16 {
        let (first, last) = self.group();
        match circle {
            Circle::Group => last - first,
            Circle::Line => other_groups(self.extent, self.group_nodes()),
        }
    }

    /// How far a packet goes up and down from this node, in hops; 0: there is none.
    pub(super) fn hops(&self, circle: Circle) -> [(Direction, u16); 2] {
        let (first, last) = self.group();
        let others = self.extent - (last - first + 1);
        let (up, down) = match (circle, self.is_ring) {
            (Circle::Group, _) => (last - self.at, self.at - first),
            (Circle::Line, true) => (others.div_ceil(2), others / 2),
            (Circle::Line, false) => (self.extent - 1 - last, first),
        };
        let tells = |is_end: bool, hops| match circle == Circle::Group || is_end {
            true => hops,
            false => 0,
        };
        let direction = |down: usize| Direction::ALL[2 * self.dimension + down];
        [
            (direction(0), tells(self.at == last, up)),
            (direction(1), tells(self.at == first, down)),
        ]
    }

    /// As [`LinePosition::expected`], of the node that gets most in this dimension: from its group, and from the others.
    pub(super) fn most(shape: &Shape, dimension: usize) -> [u16; 2] {
        let extent = shape.extents()[dimension];
        let nodes = group_nodes(extent);
        [nodes - 1, other_groups(extent, nodes)]
    }

    /// The number of the node `at`, which is in this circle or is this one, in the order of coordinates.
    fn number(&self, circle: Circle, at: u16) -> usize {
        let (first, _) = self.group();
        usize::from(match circle {
            Circle::Group => at - first,
            Circle::Line => at / self.group_nodes(),
        })
    }

    /// Packets of this circle that come from lower coordinates than this node's.
    pub(super) fn lower(&self, circle: Circle) -> usize {
        self.number(circle, self.at)
    }

    /// Which packet of this circle, in the order of coordinates, comes from the node `from`, which it hears.
    pub(super) fn index(&self, circle: Circle, from: u8) -> usize {
        let from = u16::from(from);
        self.number(circle, from) - usize::from(from > self.at)
    }

    /// A packet of this circle can come from the node `from` of the same line.
    pub(super) fn hears(&self, circle: Circle, from: u8) -> bool {
        let (first, last) = self.group();
        let from = u16::from(from);
        let is_of_group = (first..=last).contains(&from);
        from != self.at && is_of_group == (circle == Circle::Group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(shape: &Shape) -> impl Iterator<Item = (Coord, LinePosition)> {
        (0..shape.nodes()).map(|rank| {
            let here = shape.coord(rank).expect("a node");
            (here, LinePosition::new(shape, here, 1))
        })
    }

    #[test]
    fn each_node_hears_its_whole_group_and_each_other_group_once() {
        for extent in 1..140 {
            for is_ring in [true, false] {
                let shape = Shape::new([1, extent, 1], [is_ring; 3]).expect("a line");
                for circle in [Circle::Group, Circle::Line] {
                    let mut heard = vec![0; usize::from(extent)];
                    let mut indices = vec![Vec::new(); usize::from(extent)];
                    for (here, place) in places(&shape) {
                        for (direction, hops) in place.hops(circle) {
                            let mut at = here;
                            for _ in 0..hops {
                                at = shape.neighbour(at, direction).expect("a node there");
                                let rank = shape.rank(at).expect("a node") as usize;
                                heard[rank] += 1;
                                let there = LinePosition::new(&shape, at, 1);
                                assert!(there.hears(circle, here.y));
                                indices[rank].push(there.index(circle, here.y));
                                let is_lower = there.index(circle, here.y) < there.lower(circle);
                                assert_eq!(is_lower, here.y < at.y);
                            }
                        }
                    }
                    for ((_, place), heard) in places(&shape).zip(heard) {
                        assert_eq!(heard, place.expected(circle), "{place:?} {circle:?}");
                        let most = LinePosition::most(&shape, 1);
                        assert!(heard <= most[usize::from(circle == Circle::Line)]);
                    }
                    for mut indices in indices {
                        indices.sort_unstable();
                        assert!(indices.iter().copied().eq(0..indices.len()));
                    }
                }
            }
        }
    }

    #[test]
    fn few_packets_reach_each_node_of_a_long_line() {
        let expected = |extent| {
            let shape = Shape::new([1, extent, 1], [true; 3]).expect("a line");
            let (_, place) = places(&shape).next().expect("a node");
            [Circle::Group, Circle::Line].map(|circle| place.expected(circle))
        };
        assert_eq!(expected(3), [0, 2]);
        assert_eq!(expected(8), [1, 3]);
        assert_eq!(expected(32), [4, 6]);
        assert_eq!(expected(64), [7, 7]);
    }
}
