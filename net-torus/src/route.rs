//! Routing decisions: pure functions of coordinates and hint bits.
//!
//! The source chooses one direction per dimension, the shorter one, and writes it into the hint bits. Mesh and torus
//! differ in nothing else ("Blue Gene/L torus, hint bits and cut-off registers").

use crate::coord::{Coord, Direction, Shape};
use crate::wire::{DirectionSet, FrameError, HeaderWord};

impl Direction {
    /// Returns the dimension: 0 for X, 1 for Y, 2 for Z.
    pub const fn dimension(self) -> usize {
        self as usize / 2
    }
    /// Checks whether coordinates increase in this direction.
    pub const fn is_plus(self) -> bool {
        (self as usize).is_multiple_of(2)
    }
    /// Returns the opposite direction of the same dimension.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self::ALL[self as usize ^ 1]
    }
    /// Returns the direction of `dimension` (0, 1, 2) towards larger (`plus`) or smaller coordinates.
    const fn from_dimension(dimension: usize, plus: bool) -> Self {
        Self::ALL[2 * dimension + !plus as usize]
    }
    /// Returns the name for reports: `X+` and so on.
    pub const fn name(self) -> &'static str {
        ["X+", "X-", "Y+", "Y-", "Z+", "Z-"][self as usize]
    }
}

impl Coord {
    /// Returns x, y, z.
    pub const fn axes(self) -> [u8; 3] {
        [self.x, self.y, self.z]
    }
    /// Creates coordinates from x, y, z.
    pub const fn from_axes([x, y, z]: [u8; 3]) -> Self {
        Self { x, y, z }
    }
}

impl Shape {
    /// Returns the node behind the link of `from` in direction `d`. Returns `None` at a mesh's edge, along an extent of
    /// 1, or when `from` is outside the machine. Along a torus of extent 2 both directions reach the same node, over
    /// two links.
    pub fn neighbour(&self, from: Coord, d: Direction) -> Option<Coord> {
        self.rank(from)?;
        let (dim, mut axes) = (d.dimension(), from.axes());
        let (extent, here) = (self.extents()[dim], axes[dim] as u16);
        let edge = if d.is_plus() { here + 1 == extent } else { here == 0 };
        if extent == 1 || edge && !self.wraps()[dim] {
            return None;
        }
        axes[dim] = match (edge, d.is_plus()) {
            (false, true) => here + 1,
            (false, false) => here - 1,
            (true, true) => 0,
            (true, false) => extent - 1,
        } as u8;
        Some(Coord::from_axes(axes))
    }

    /// Returns the directions in which `from` has a link.
    pub fn links(&self, from: Coord) -> DirectionSet {
        Direction::ALL
            .into_iter()
            .filter(|&d| self.neighbour(from, d).is_some())
            .fold(DirectionSet::NONE, DirectionSet::with)
    }

    /// Returns the number of hops of the shortest route.
    pub fn distance(&self, a: Coord, b: Coord) -> u32 {
        (0..3)
            .map(|dim| {
                let straight = a.axes()[dim].abs_diff(b.axes()[dim]) as u32;
                if self.wraps()[dim] {
                    straight.min(self.extents()[dim] as u32 - straight)
                } else {
                    straight
                }
            })
            .sum()
    }
}

/// Returns the hint bits of the shortest route. Of two equal routes around a ring, sources with an even coordinate use
/// the plus direction, others the minus direction. This balances the ring and is the same for every packet of a pair,
/// which preserves order.
pub fn hints(shape: &Shape, from: Coord, to: Coord) -> DirectionSet {
    let mut hints = DirectionSet::NONE;
    for dim in 0..3 {
        let (a, b) = (from.axes()[dim] as u16, to.axes()[dim] as u16);
        if a == b {
            continue;
        }
        let plus = if shape.wraps()[dim] {
            let extent = shape.extents()[dim];
            let up = (b + extent - a) % extent;
            match (2 * up).cmp(&extent) {
                core::cmp::Ordering::Less => true,
                core::cmp::Ordering::Equal => a % 2 == 0,
                core::cmp::Ordering::Greater => false,
            }
        } else {
            b > a
        };
        hints = hints.with(Direction::from_dimension(dim, plus));
    }
    hints
}

/// Returns the remaining directions of a packet at node `here`; empty at its destination.
#[inline]
pub(crate) fn productive(here: HeaderWord, packet: HeaderWord) -> DirectionSet {
    let away = packet.away(here);
    let mut left = packet.hints().bits();
    for dim in 0..3 {
        if away >> (u8::BITS * dim) & 0xff == 0 {
            left &= !(0b11 << (2 * dim));
        }
    }
    DirectionSet::from_bits(left)
}

/// Returns the first direction in dimension order (X, then Y, then Z) of `productive`.
pub fn dimension_order(productive: DirectionSet) -> Option<Direction> {
    productive.first()
}

/// Checks that the hint bits of a packet lead to its destination. The node `here` received it from direction `side` and
/// has `links`. Fails with [`FrameError::Destination`] or [`FrameError::Hints`].
#[inline]
pub(crate) fn check(
    shape: &Shape,
    here: HeaderWord,
    links: DirectionSet,
    side: Direction,
    packet: HeaderWord,
) -> Result<(), FrameError> {
    if packet.away(here) != 0 {
        return check_on_the_way(shape, here, links, side, packet);
    }
    // No direction remains, so this check is sufficient.
    let arrival = packet.hints().has(side.opposite());
    if arrival && !(packet.is_deposit() && packet.is_dynamic()) {
        Ok(())
    } else {
        Err(FrameError::Hints)
    }
}

/// Checks a packet that must be forwarded, like [`check`].
fn check_on_the_way(
    shape: &Shape,
    here: HeaderWord,
    links: DirectionSet,
    side: Direction,
    packet: HeaderWord,
) -> Result<(), FrameError> {
    let (at, dest) = (here.dest().axes(), packet.dest());
    if shape.rank(dest).is_none() {
        return Err(FrameError::Destination);
    }
    let left = productive(here, packet).bits();
    let mut unfinished = 0;
    for (dim, (a, b)) in at.into_iter().zip(dest.axes()).enumerate() {
        let bits = left >> (2 * dim) & 0b11;
        if a != b {
            unfinished += 1;
            if bits == 0 || bits == 0b11 {
                return Err(FrameError::Hints);
            }
        }
    }
    let arrival = packet.hints().has(side.opposite());
    let turns_back = left & 1 << side as u8 != 0;
    let deposit_turns =
        packet.is_deposit() && (unfinished > 1 || left & !(1 << side.opposite() as u8) != 0 || packet.is_dynamic());
    if turns_back || !arrival || left & !links.bits() != 0 || deposit_turns {
        return Err(FrameError::Hints);
    }
    // On a mesh, a hint away from the destination would end at the edge: rejected here already.
    for d in DirectionSet::from_bits(left).iter() {
        let (a, b) = (at[d.dimension()], dest.axes()[d.dimension()]);
        if !shape.wraps()[d.dimension()] && (b > a) != d.is_plus() {
            return Err(FrameError::Hints);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::HeaderRepr;

    fn word_at(here: Coord) -> HeaderWord {
        HeaderWord::to(here, DirectionSet::NONE, false)
    }

    #[test]
    fn packets_pass_others_where_two_nodes_have_no_link() {
        let sizes = [1, 2, 3, 4];
        for (case, wraps) in (0..64 * 8).map(|case| (case / 8, [0, 1, 2].map(|bit| case >> bit & 1 == 1))) {
            let extents = [sizes[case % 4], sizes[case / 4 % 4], sizes[case / 16]];
            let shape = Shape::new(extents, wraps).unwrap();
            let coords = || (0..shape.nodes()).filter_map(|rank| shape.coord(rank));
            let has_link = |a, b| a == b || Direction::ALL.iter().any(|d| shape.neighbour(a, *d) == Some(b));
            let any_apart = coords().any(|a| coords().any(|b| !has_link(a, b)));
            assert_eq!(shape.has_through_traffic(), any_apart, "{extents:?} {wraps:?}");
        }
    }

    #[test]
    fn hints_follow_the_shortest_way_everywhere() {
        for extents in [[1, 1, 1], [2, 1, 3], [4, 5, 2], [8, 1, 6], [256, 1, 1]] {
            for wrap in [true, false] {
                let shape = Shape::new(extents, [wrap; 3]).unwrap();
                for a in 0..shape.nodes() {
                    for b in (0..shape.nodes()).step_by(1 + shape.nodes() as usize / 64) {
                        let (mut at, to) = (shape.coord(a).unwrap(), shape.coord(b).unwrap());
                        let (distance, hints) = (shape.distance(at, to), hints(&shape, at, to));
                        let repr = HeaderRepr {
                            hints,
                            deposit: false,
                            dynamic: false,
                            vc: crate::vc::Vc::Bn,
                            fifo: crate::wire::Fifo::Normal,
                            body: 0,
                            dest: to,
                        };
                        let mut hops = 0;
                        while let Some(d) = dimension_order(productive(word_at(at), repr.word())) {
                            at = shape.neighbour(at, d).expect("a link");
                            hops += 1;
                            assert!(hops <= distance);
                            let links = shape.links(at);
                            let checked = check(&shape, word_at(at), links, d.opposite(), repr.word());
                            assert_eq!(checked, Ok(()));
                        }
                        assert_eq!((at, hops), (to, distance));
                    }
                }
            }
        }
    }

    #[test]
    fn hints_that_lead_nowhere_are_refused() {
        let shape = Shape::new([4, 4, 1], [true, false, true]).unwrap();
        let here = Coord { x: 1, y: 1, z: 0 };
        let links = shape.links(here);
        let check = |hints: &[Direction], dest: [u8; 3], deposit| {
            let repr = HeaderRepr {
                hints: hints.iter().fold(DirectionSet::NONE, |s, &d| s.with(d)),
                deposit,
                dynamic: false,
                vc: crate::vc::Vc::Bn,
                fifo: crate::wire::Fifo::Normal,
                body: 0,
                dest: Coord::from_axes(dest),
            };
            check(&shape, word_at(here), links, Direction::XMinus, repr.word())
        };
        use Direction::*;
        assert_eq!(check(&[XPlus], [3, 1, 0], false), Ok(()));
        assert_eq!(check(&[XPlus], [1, 1, 0], false), Ok(()));
        assert_eq!(check(&[XPlus], [4, 1, 0], false), Err(FrameError::Destination));
        assert_eq!(check(&[XPlus], [2, 2, 0], false), Err(FrameError::Hints));
        assert_eq!(check(&[XMinus], [3, 1, 0], false), Err(FrameError::Hints));
        assert_eq!(check(&[XPlus, XMinus], [3, 1, 0], false), Err(FrameError::Hints));
        assert_eq!(check(&[XPlus, YMinus], [3, 3, 0], false), Err(FrameError::Hints));
        assert_eq!(check(&[YPlus], [1, 3, 0], false), Err(FrameError::Hints));
        assert_eq!(check(&[XPlus], [3, 1, 0], true), Ok(()));
        assert_eq!(check(&[XPlus, YPlus], [1, 3, 0], true), Err(FrameError::Hints));
    }

    #[test]
    fn both_links_of_an_extent_of_two_lead_to_the_same_node() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let (a, b) = (Coord::default(), Coord { x: 1, y: 0, z: 0 });
        assert_eq!(shape.neighbour(a, Direction::XPlus), Some(b));
        assert_eq!(shape.neighbour(a, Direction::XMinus), Some(b));
        assert_eq!(shape.links(a).bits(), 0b11);
        let mesh = Shape::new([2, 1, 1], [false; 3]).unwrap();
        assert_eq!(mesh.neighbour(a, Direction::XMinus), None);
        assert_eq!(hints(&mesh, b, a).bits(), 0b10);
    }
}
