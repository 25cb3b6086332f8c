//! Traffic patterns and the maximum load that the wires allow.

use crate::coord::{Coord, Direction, Rank, Shape};
use crate::route;
use oorandom::Rand32;

/// Traffic pattern: the destinations of each node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TrafficPattern {
    /// Each packet to a random other node.
    Uniform,
    /// Each packet to a neighbour, round robin over all links.
    Neighbour,
    /// From (x, y, z) to (X-1-x, Y-1-y, Z-1-z).
    Complement,
    /// Just less than half way round in every dimension, always in the same direction: shortest-path routing then uses
    /// only half of the links.
    Tornado,
    /// From x + X (y + Y z) to the node whose rank is z + Z (y + Y x).
    Transpose,
    /// Each node to every other once per round, in a separate random order.
    AllToAll,
    /// A fraction of all packets (0..=1) to the node in the middle, the rest uniform.
    HotSpot(f64),
}

/// Maximum load that the wires allow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LoadLimit {
    /// Load in chunks per sending node and tick; 0 when no node sends.
    pub load: f64,
    /// Bottleneck.
    pub bound: LoadBound,
}

/// Bottleneck of a [`LoadLimit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadBound {
    /// Links between two parts of the machine.
    Bisection,
    /// Links of the hot node.
    HotNode,
    /// Links of the sending nodes.
    Links,
}

impl LoadBound {
    /// Returns the name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bisection => "bisection",
            Self::HotNode => "the hot node's links",
            Self::Links => "the senders' links",
        }
    }
}

/// Default fraction of the packets of [`TrafficPattern::HotSpot`] that are sent to the hot node.
pub const HOT_FRACTION: f64 = 0.1;

impl TrafficPattern {
    /// All patterns, with their names.
    pub const ALL: [(&'static str, TrafficPattern); 7] = [
        ("uniform", TrafficPattern::Uniform),
        ("neighbour", TrafficPattern::Neighbour),
        ("complement", TrafficPattern::Complement),
        ("tornado", TrafficPattern::Tornado),
        ("transpose", TrafficPattern::Transpose),
        ("all-to-all", TrafficPattern::AllToAll),
        ("hot-spot", TrafficPattern::HotSpot(HOT_FRACTION)),
    ];

    /// Returns the name for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Neighbour => "neighbour",
            Self::Complement => "complement",
            Self::Tornado => "tornado",
            Self::Transpose => "transpose",
            Self::AllToAll => "all-to-all",
            Self::HotSpot(_) => "hot-spot",
        }
    }

    /// Returns the node that [`TrafficPattern::HotSpot`] overloads.
    pub fn hot_node(shape: &Shape) -> Coord {
        Coord::from_axes(shape.extents().map(|e| (e / 2) as u8))
    }

    /// Returns the only destination of `from` in a permutation; a node that is its own destination sends nothing.
    fn partner(&self, shape: &Shape, from: Coord) -> Option<Coord> {
        let extents = shape.extents();
        let map = |f: fn(u16, u16) -> u16| {
            let axes = from.axes();
            Some(Coord::from_axes(core::array::from_fn(|d| {
                f(axes[d] as u16, extents[d]) as u8
            })))
        };
        match self {
            Self::Complement => map(|x, e| e - 1 - x),
            Self::Tornado => map(|x, e| (x + e.div_ceil(2) - 1) % e),
            Self::Transpose => {
                let [_, ey, ez] = extents.map(u32::from);
                let [x, y, z] = from.axes().map(u32::from);
                shape.coord(z + ez * (y + ey * x))
            }
            _ => None,
        }
    }

    /// Returns the number of sending nodes: for a permutation, those with another node as destination.
    pub fn senders(&self, shape: &Shape) -> u32 {
        let mut random = Rand32::new(0);
        (0..shape.nodes())
            .filter(|&rank| self.dest(shape, rank, 0, &mut random).is_some())
            .count() as u32
    }

    /// Returns the destination of packet `serial` of the node `from`; `None` if this node never sends.
    pub(crate) fn dest(&self, shape: &Shape, from: Rank, serial: u32, random: &mut Rand32) -> Option<Coord> {
        let nodes = shape.nodes();
        if nodes == 1 {
            return None;
        }
        let other = |random: &mut Rand32| {
            let other = random.rand_range(0..nodes - 1);
            other + (other >= from) as u32
        };
        let here = shape.coord(from)?;
        match *self {
            Self::Uniform => shape.coord(other(random)),
            Self::HotSpot(fraction) => {
                let hot = Self::hot_node(shape);
                if here != hot && (random.rand_float() as f64) < fraction {
                    Some(hot)
                } else {
                    shape.coord(other(random))
                }
            }
            Self::Neighbour => {
                let links = shape.links(here);
                let n = links.iter().count() as u32;
                let d = links.iter().nth((serial % n) as usize)?;
                shape.neighbour(here, d)
            }
            Self::AllToAll => {
                let other = shuffle_index(serial % (nodes - 1), nodes - 1, from);
                shape.coord(other + (other >= from) as u32)
            }
            Self::Complement | Self::Tornado | Self::Transpose => self.partner(shape, here).filter(|&c| c != here),
        }
    }

    /// Returns the maximum load that the wires allow if all nodes send alike.
    ///
    /// Planes cut the torus into two parts. Packets that must cross a plane use its links, one chunk per link and tick,
    /// however well routing balances them. In addition, no node receives or sends more than its links transmit. Packets
    /// from a node to itself do not count.
    pub fn limit(&self, shape: &Shape) -> LoadLimit {
        let nodes = shape.nodes();
        let mut flow = PlaneFlow::new(shape);
        match *self {
            Self::Uniform | Self::AllToAll => flow.add_uniform(shape, 1.0),
            Self::HotSpot(fraction) => {
                flow.add_uniform(shape, 1.0 - fraction);
                let hot = Self::hot_node(shape);
                for from in (0..nodes).filter_map(|r| shape.coord(r)) {
                    flow.add(shape, from, hot, fraction);
                }
            }
            Self::Neighbour => {
                let widths = (0..nodes)
                    .filter_map(|r| shape.coord(r))
                    .map(|c| shape.links(c).iter().count());
                // Round robin over each node's links: the node with the most links has the lowest load per link.
                return LoadLimit {
                    load: widths.min().unwrap_or(0) as f64,
                    bound: LoadBound::Links,
                };
            }
            _ => {
                for from in (0..nodes).filter_map(|r| shape.coord(r)) {
                    if let Some(to) = self.partner(shape, from) {
                        flow.add(shape, from, to, 1.0);
                    }
                }
            }
        }
        let hot = match *self {
            Self::HotSpot(fraction) => {
                let links = shape.links(Self::hot_node(shape)).iter().count() as f64;
                (fraction * (nodes - 1) as f64 + 1.0 - fraction) / links
            }
            _ => 0.0,
        };
        let planes = flow.most(shape);
        let most = planes.max(hot);
        LoadLimit {
            load: if most > 0.0 { 1.0 / most } else { 0.0 },
            bound: if hot > planes {
                LoadBound::HotNode
            } else {
                LoadBound::Bisection
            },
        }
    }
}

/// Chunks that cross each plane of links when every node sends one.
struct PlaneFlow {
    /// By direction, then by the coordinate from which the links start.
    planes: [Vec<f64>; 6],
}

impl PlaneFlow {
    fn new(shape: &Shape) -> Self {
        Self {
            planes: core::array::from_fn(|d| vec![0.0; shape.extents()[d / 2] as usize]),
        }
    }

    fn add(&mut self, shape: &Shape, from: Coord, to: Coord, weight: f64) {
        for dim in 0..3 {
            self.add_axis(shape, dim, from.axes()[dim], to.axes()[dim], weight);
        }
    }

    fn add_axis(&mut self, shape: &Shape, dim: usize, from: u8, to: u8, weight: f64) {
        let on_axis = |v: u8| {
            let mut axes = [0; 3];
            axes[dim] = v;
            Coord::from_axes(axes)
        };
        let hops = shape.distance(on_axis(from), on_axis(to));
        if hops == 0 {
            return;
        }
        let extent = shape.extents()[dim];
        // Two equal routes carry half each: the optimum for routing.
        let tie = shape.wraps()[dim] && 2 * hops == extent as u32;
        let hints = route::hints(shape, on_axis(from), on_axis(to));
        for d in Direction::ALL {
            let share = match (tie && d.dimension() == dim, hints.has(d)) {
                (true, _) => weight / 2.0,
                (false, true) => weight,
                (false, false) => continue,
            };
            let mut at = on_axis(from);
            for _ in 0..hops {
                self.planes[d as usize][at.axes()[dim] as usize] += share;
                let Some(next) = shape.neighbour(at, d) else {
                    break;
                };
                at = next;
            }
        }
    }

    fn add_uniform(&mut self, shape: &Shape, weight: f64) {
        let nodes = shape.nodes() as f64;
        for dim in 0..3 {
            let extent = shape.extents()[dim];
            // Sources per coordinate, times the probability of a destination's coordinate.
            let share = nodes / extent as f64 * (nodes / extent as f64) / (nodes - 1.0).max(1.0);
            for from in 0..extent {
                for to in 0..extent {
                    self.add_axis(shape, dim, from as u8, to as u8, weight * share);
                }
            }
        }
    }

    /// Returns the load of the busiest plane's links, evenly spread, when every node sends one chunk per tick.
    fn most(&self, shape: &Shape) -> f64 {
        let mut most = 0.0f64;
        for (d, plane) in self.planes.iter().enumerate() {
            let links = shape.nodes() as f64 / shape.extents()[d / 2] as f64;
            most = plane.iter().fold(most, |m, flow| m.max(flow / links));
        }
        most
    }
}

/// Returns element `index` of a random permutation of 0..n that `seed` selects: a Feistel network over the next power
/// of four, iterated until the value is below n.
fn shuffle_index(index: u32, n: u32, seed: u32) -> u32 {
    let half = (32 - (n.max(2) - 1).leading_zeros()).div_ceil(2);
    let mask = (1u32 << half) - 1;
    let mut value = index;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..4u32 {
            let mut mix = (right ^ seed.wrapping_mul(0x9E37_79B9)).wrapping_add(round) as u64;
            mix = mix.wrapping_mul(0xD6E8_FEB8_6659_FD93);
            mix ^= mix >> 32;
            mix = mix.wrapping_mul(0xD6E8_FEB8_6659_FD93);
            (left, right) = (right, left ^ (mix >> 40) as u32 & mask);
        }
        value = left << half | right;
        if value < n {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(e: u16, wrap: bool) -> Shape {
        Shape::new([e; 3], [wrap; 3]).unwrap()
    }

    #[test]
    fn limits_are_those_of_the_textbooks() {
        let near = |limit: LoadLimit, b: f64| assert!((limit.load - b).abs() < 0.01 * b, "{limit:?} {b}");
        // 8 chunks per node and tick over a bisection of 2 * 64 links each way; half of the packets cross.
        near(TrafficPattern::Uniform.limit(&cube(8, true)), 1.0);
        near(TrafficPattern::Uniform.limit(&cube(8, false)), 0.5);
        near(TrafficPattern::AllToAll.limit(&cube(16, true)), 0.5);
        near(TrafficPattern::Neighbour.limit(&cube(8, true)), 6.0);
        near(TrafficPattern::Tornado.limit(&cube(8, true)), 1.0 / 3.0);
        near(TrafficPattern::Complement.limit(&cube(8, false)), 0.25);
        // All packets to one node with six links.
        let hot = TrafficPattern::HotSpot(1.0).limit(&cube(8, true));
        near(hot, 6.0 / 511.0);
        assert_eq!(hot.bound, LoadBound::HotNode);
        assert_eq!(TrafficPattern::Uniform.limit(&cube(1, true)).load, 0.0);
    }

    #[test]
    fn permutations_are_permutations_and_shuffles_too() {
        let shape = Shape::new([5, 3, 4], [true; 3]).unwrap();
        let mut random = Rand32::new(1);
        for traffic in [
            TrafficPattern::Complement,
            TrafficPattern::Tornado,
            TrafficPattern::Transpose,
        ] {
            let mut seen = std::collections::HashSet::new();
            for from in 0..shape.nodes() {
                let here = shape.coord(from).unwrap();
                assert!(seen.insert(traffic.partner(&shape, here).unwrap()));
                let dest = traffic.dest(&shape, from, 0, &mut random);
                assert_ne!(dest, Some(here));
            }
        }
        for from in [0, 7, 59] {
            let dests: std::collections::HashSet<_> = (0..59)
                .map(|i| TrafficPattern::AllToAll.dest(&shape, from, i, &mut random).unwrap())
                .collect();
            assert_eq!(dests.len(), 59);
            assert!(!dests.contains(&shape.coord(from).unwrap()));
        }
    }
}
