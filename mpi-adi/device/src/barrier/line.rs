//! Communication pattern of a barrier along a line of nodes.
//!
//! The line is divided into groups of neighbours, with at least as many groups as nodes per group. Each node announces
//! its arrival to its group. Then the last node of a group announces it to the nodes above, and the first to those
//! below; on a ring, each to half of them. So each node receives a packet from each other node of its group and one
//! from each other group. In lines of up to eight nodes, no packet waits for another one on a link.
//!
//! ```text
//! a ring of 8, groups of 2      0 1 | 2 3 | 4 5 | 6 7      1 ==> 2 3 4     0 ==> 7 6 5
//! ```
#![forbid(unsafe_code)]

use net_torus::{Coord, Direction, Shape};

/// Receivers of an announcement.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AnnounceScope {
    /// The other nodes of its group.
    Group,
    /// The nodes of the other groups.
    Line,
}

/// Returns the nodes per group in a line of `extent` nodes; the last group may have fewer.
// One copy, because it has many callers.
#[inline(never)]
fn group_nodes(extent: u16) -> u16 {
    let fits = |nodes: &u16| u32::from(*nodes) * u32::from(*nodes) <= extent.into();
    (2..).take_while(fits).last().unwrap_or(1)
}

/// Returns the number of other groups in a line of `extent` nodes.
fn other_groups(extent: u16, group_nodes: u16) -> u16 {
    extent.div_ceil(group_nodes) - 1
}

/// Position of a node on a line.
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

    /// Returns the nodes per group; the last group may have fewer.
    fn group_nodes(&self) -> u16 {
        group_nodes(self.extent)
    }

    /// Returns the first and the last node of this node's group.
    fn group(&self) -> (u16, u16) {
        let nodes = self.group_nodes();
        let first = self.at - self.at % nodes;
        (first, (self.extent - first).min(nodes) + first - 1)
    }

    /// Returns the number of packets that this node receives from its group, or from the other groups.
    pub(super) fn expected(&self, circle: AnnounceScope) -> u16 {
        let (first, last) = self.group();
        match circle {
            AnnounceScope::Group => last - first,
            AnnounceScope::Line => other_groups(self.extent, self.group_nodes()),
        }
    }

    /// Returns the hops of this node's packets up and down the line; 0 for no packet.
    pub(super) fn hops(&self, circle: AnnounceScope) -> [(Direction, u16); 2] {
        let (first, last) = self.group();
        let others = self.extent - (last - first + 1);
        let (up, down) = match (circle, self.is_ring) {
            (AnnounceScope::Group, _) => (last - self.at, self.at - first),
            (AnnounceScope::Line, true) => (others.div_ceil(2), others / 2),
            (AnnounceScope::Line, false) => (self.extent - 1 - last, first),
        };
        let tells = |is_end: bool, hops| {
            if circle == AnnounceScope::Group || is_end {
                hops
            } else {
                0
            }
        };
        let direction = |down: usize| Direction::ALL[2 * self.dimension + down];
        [
            (direction(0), tells(self.at == last, up)),
            (direction(1), tells(self.at == first, down)),
        ]
    }

    /// Returns the maximum of [`LinePosition::expected`] over the nodes of this dimension: from the group, and from the
    /// others.
    pub(super) fn max_expected(shape: &Shape, dimension: usize) -> [u16; 2] {
        let extent = shape.extents()[dimension];
        let nodes = group_nodes(extent);
        [nodes - 1, other_groups(extent, nodes)]
    }

    /// Returns the index of node `at`, which is in this circle or is this one, in the order of coordinates.
    fn node_index(&self, circle: AnnounceScope, at: u16) -> usize {
        let (first, _) = self.group();
        usize::from(match circle {
            AnnounceScope::Group => at - first,
            AnnounceScope::Line => at / self.group_nodes(),
        })
    }

    /// Returns the number of packets of this circle from coordinates below this node's.
    pub(super) fn packets_below(&self, circle: AnnounceScope) -> usize {
        self.node_index(circle, self.at)
    }

    /// Returns the index of the packet from node `from` among the received packets of this circle, in the order of
    /// coordinates.
    pub(super) fn packet_index(&self, circle: AnnounceScope, from: u8) -> usize {
        let from = u16::from(from);
        self.node_index(circle, from) - usize::from(from > self.at)
    }

    /// Checks whether this node receives a packet of this circle from node `from` of the same line.
    pub(super) fn receives_from(&self, circle: AnnounceScope, from: u8) -> bool {
        let (first, last) = self.group();
        let from = u16::from(from);
        let is_of_group = (first..=last).contains(&from);
        from != self.at && is_of_group == (circle == AnnounceScope::Group)
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
                for circle in [AnnounceScope::Group, AnnounceScope::Line] {
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
                                assert!(there.receives_from(circle, here.y));
                                indices[rank].push(there.packet_index(circle, here.y));
                                let is_lower = there.packet_index(circle, here.y) < there.packets_below(circle);
                                assert_eq!(is_lower, here.y < at.y);
                            }
                        }
                    }
                    for ((_, place), heard) in places(&shape).zip(heard) {
                        assert_eq!(heard, place.expected(circle), "{place:?} {circle:?}");
                        let most = LinePosition::max_expected(&shape, 1);
                        assert!(heard <= most[usize::from(circle == AnnounceScope::Line)]);
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
            [AnnounceScope::Group, AnnounceScope::Line].map(|circle| place.expected(circle))
        };
        assert_eq!(expected(3), [0, 2]);
        assert_eq!(expected(8), [1, 3]);
        assert_eq!(expected(32), [4, 6]);
        assert_eq!(expected(64), [7, 7]);
    }
}
