//! Computes extents and coordinates from link-state records, or identifies the wrong wire.
//!
//! Each node's record contains, for each of its links, the node and link at the other end of the wire. A machine is
//! valid if every wire connects opposite directions, and if all coordinates, counted from any node along the wires,
//! agree. The nodes then fill a box whose dimensions are rings or lines.
//!
//! 1. Each wire alone: it works both ways, between opposite directions, and does not lead back to its node
//!    ([`WiringDefect`]).
//! 2. Positions: counted from the node with the lowest ID along the shortest paths, without regard to rings.
//! 3. Extents: a wire that closes a ring connects the last position to the first. Its offset is the extent; a dimension
//!    without such a wire is a line.
//! 4. All wires: each offset is zero or an extent, and no wire is missing.
//!
//! If step 4 fails, usually two wires were swapped. Then some squares do not close any more (one hop in x, one in y, or
//! the other way round). The suspects are the wires in such squares or, if all squares close, those that close rings.
//! The reported wires are the two suspects whose swap makes the machine valid.

use core::fmt;

use crate::coord::{Coord, Direction, Shape};

/// One end of a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireEnd {
    /// Unique ID of the node.
    pub node: u32,
    /// Link of the node.
    pub link: Direction,
}

/// Link-state record of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkAccount {
    /// ID of the node.
    pub node: u32,
    /// Version, incremented with each change.
    pub version: u16,
    /// Remote ends that the node hears, by direction.
    pub heard: [Option<WireEnd>; 6],
}

/// Node in a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapEntry {
    /// Record of the node.
    pub account: LinkAccount,
    /// Hops from the first node and position relative to it; `None` if unreached.
    place: Option<(u16, [i16; 3])>,
    /// Bit mask of the links in squares that do not close.
    suspected: u8,
}

impl MapEntry {
    /// Creates the entry of a node with this record.
    pub const fn new(account: LinkAccount) -> Self {
        Self {
            account,
            place: None,
            suspected: 0,
        }
    }
}

/// Node in messages, identified by its coordinates if known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeLabel {
    /// ID of the node.
    pub node: u32,
    /// Coordinates of the node.
    pub coord: Option<Coord>,
}

impl fmt::Display for NodeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.coord {
            Some(Coord { x, y, z }) => write!(f, "({x},{y},{z})"),
            None => write!(f, "node {:x}", self.node),
        }
    }
}

/// Defect of a wire. `N` identifies a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WiringDefect<N = NodeLabel> {
    /// The wire leads back to its node.
    Loop(Direction),
    /// The wire leads to a link that is not of the opposite direction.
    Direction(N, Direction),
    /// The wire works in one direction only; frames from the other end are received from another wire or not at all.
    OneWay(N, Direction),
    /// The wire was swapped with the one of the same direction at this node.
    Exchanged(N),
    /// The wire leads to this node, which is not the neighbour.
    NoNeighbour(N),
    /// The wire is missing, while other lines of this dimension contain one.
    Missing,
    /// The machine contains more than 256 nodes in this direction.
    TooLong,
}

impl<N> WiringDefect<N> {
    fn map<M>(self, name: impl Fn(N) -> M) -> WiringDefect<M> {
        match self {
            Self::Loop(other) => WiringDefect::Loop(other),
            Self::Direction(to, other) => WiringDefect::Direction(name(to), other),
            Self::OneWay(to, other) => WiringDefect::OneWay(name(to), other),
            Self::Exchanged(with) => WiringDefect::Exchanged(name(with)),
            Self::NoNeighbour(to) => WiringDefect::NoNeighbour(name(to)),
            Self::Missing => WiringDefect::Missing,
            Self::TooLong => WiringDefect::TooLong,
        }
    }
}

/// The machine is neither torus nor mesh: the first wrong wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WiringError {
    /// Node at one of its ends.
    pub at: NodeLabel,
    /// Link at that node.
    pub link: Direction,
    /// Defect of the wire.
    pub trouble: WiringDefect,
}

impl core::error::Error for WiringError {}

impl fmt::Display for WiringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, link, trouble } = self;
        let (link, opposite) = (link.name(), link.opposite().name());
        write!(f, "the wire at {link} of {at} ")?;
        match trouble {
            WiringDefect::Loop(other) => write!(f, "leads to {} of the same node", other.name()),
            WiringDefect::Direction(to, other) => {
                let other = other.name();
                write!(f, "leads to {other} of {to}, not to a link {opposite}")
            }
            WiringDefect::OneWay(to, other) => {
                let other = other.name();
                write!(f, "hears {other} of {to}, which does not hear it")
            }
            WiringDefect::Exchanged(other) => {
                write!(f, "is exchanged with that at {link} of {other}")
            }
            WiringDefect::NoNeighbour(to) => {
                write!(f, "leads to {to}, which is not the neighbour there")
            }
            WiringDefect::Missing => write!(f, "is missing"),
            WiringDefect::TooLong => write!(f, "is the 256th or a later one of its line"),
        }
    }
}

/// Wrong wire, with nodes as indices.
type WrongWire = (usize, Direction, WiringDefect<usize>);

/// Dimensions, computed from the nodes' positions.
#[derive(Clone, Copy, Default)]
struct Box3 {
    least: [i16; 3],
    extents: [u16; 3],
    wraps: [bool; 3],
}

impl Box3 {
    fn coord(&self, place: [i16; 3]) -> Option<Coord> {
        let mut axes = [0; 3];
        for (d, axis) in axes.iter_mut().enumerate() {
            let at = if self.wraps[d] {
                i32::from(place[d]).rem_euclid(self.extents[d].max(1).into())
            } else {
                i32::from(place[d]) - i32::from(self.least[d])
            };
            *axis = u8::try_from(at).ok()?;
        }
        Some(Coord::from_axes(axes))
    }
}

/// Machine as its nodes report it, sorted by node ID.
pub struct MachineMap<'m> {
    nodes: &'m mut [MapEntry],
}

impl<'m> MachineMap<'m> {
    /// Creates a map of these nodes, sorted by ID. It must contain all nodes that are heard.
    pub fn new(nodes: &'m mut [MapEntry]) -> Self {
        Self { nodes }
    }

    /// Returns the machine's shape and the coordinates of `node`. Along a ring, the node with the lowest ID is at 0.
    ///
    /// # Errors
    /// The machine is neither torus nor mesh; the error specifies the first wrong wire.
    pub fn solve(&mut self, node: u32) -> Result<(Shape, Coord), WiringError> {
        let local = self.local_fault();
        self.place();
        let dimensions = self.dimensions();
        let wrong = match local.map_or_else(|| self.check(&dimensions), Err) {
            Ok(shape) => {
                let place = self.find(node).and_then(|at| self.nodes[at].place);
                let coord = place.and_then(|(_, place)| dimensions.coord(place));
                return Ok((shape, coord.unwrap_or_default()));
            }
            Err(wrong) => wrong,
        };
        if local.is_none()
            && let Some(exchanged) = self.exchanged()
        {
            return Err(exchanged);
        }
        self.place();
        Err(self.describe_wire(wrong, &dimensions))
    }

    fn find(&self, node: u32) -> Option<usize> {
        let found = self.nodes.binary_search_by_key(&node, |e| e.account.node);
        found.ok()
    }

    /// Returns the node behind a link, if the wire alone is correct.
    fn behind(&self, at: usize, link: Direction) -> Option<usize> {
        let account = &self.nodes[at].account;
        let end = account.heard[link as usize]?;
        let other = self.find(end.node)?;
        let back = self.nodes[other].account.heard[end.link as usize];
        let is_heard = back
            == Some(WireEnd {
                node: account.node,
                link,
            });
        (is_heard && end.link == link.opposite() && other != at).then_some(other)
    }

    /// Returns the first wire that is wrong on its own.
    fn local_fault(&self) -> Option<WrongWire> {
        for at in 0..self.nodes.len() {
            for link in Direction::ALL {
                let heard = self.nodes[at].account.heard[link as usize];
                let Some((end, other)) = heard.and_then(|end| Some((end, self.find(end.node)?))) else {
                    continue;
                };
                if self.behind(at, link).is_none() {
                    let trouble = match () {
                        () if other == at => WiringDefect::Loop(end.link),
                        () if end.link != link.opposite() => WiringDefect::Direction(other, end.link),
                        () => WiringDefect::OneWay(other, end.link),
                    };
                    return Some((at, link, trouble));
                }
            }
        }
        None
    }

    /// Computes positions relative to the first node, along the shortest paths of correct wires.
    fn place(&mut self) {
        for entry in self.nodes.iter_mut() {
            entry.place = None;
        }
        if let Some(first) = self.nodes.first_mut() {
            first.place = Some((0, [0; 3]));
        }
        for round in 0.. {
            let mut is_last = true;
            for at in 0..self.nodes.len() {
                let Some((_, place)) = self.nodes[at].place.filter(|(steps, _)| *steps == round) else {
                    continue;
                };
                is_last = false;
                for link in Direction::ALL {
                    if let Some(other) = self.behind(at, link) {
                        let there = (round + 1, step_towards(place, link));
                        self.nodes[other].place.get_or_insert(there);
                    }
                }
            }
            if is_last {
                return;
            }
        }
    }

    /// Returns the node behind a wire and the wire's offset from its expected position.
    fn off(&self, at: usize, link: Direction) -> Option<(usize, [i16; 3])> {
        let other = self.behind(at, link)?;
        let (_, here) = self.nodes[at].place?;
        let (_, there) = self.nodes[other].place?;
        let should = step_towards(here, link);
        Some((other, [0, 1, 2].map(|d| should[d] - there[d])))
    }

    /// Returns the wires that close rings: their ends in plus direction and the nodes they lead to.
    fn seams(&self) -> impl Iterator<Item = (usize, Direction, usize)> {
        let plus = [Direction::XPlus, Direction::YPlus, Direction::ZPlus];
        let ends = (0..self.nodes.len()).flat_map(move |at| plus.map(|link| (at, link)));
        ends.filter_map(|(at, link)| {
            let (other, off) = self.off(at, link)?;
            (off != [0; 3]).then_some((at, link, other))
        })
    }

    fn dimensions(&self) -> Box3 {
        let mut dimensions = Box3::default();
        for d in 0..3 {
            let places = || self.nodes.iter().filter_map(|e| Some(e.place?.1[d]));
            let least = places().min().unwrap_or(0);
            let most = places().max().unwrap_or(0);
            // All rings are as long as the shortest one of two or more nodes, or some wire is wrong.
            let mut ring = u16::MAX;
            for at in 0..self.nodes.len() {
                for link in Direction::ALL.into_iter().skip(2 * d).take(2) {
                    if let Some((_, off)) = self.off(at, link)
                        && (0..3).all(|other| other == d || off[other] == 0)
                    {
                        let off = off[d].unsigned_abs();
                        ring = if off > 1 { ring.min(off) } else { ring };
                    }
                }
            }
            dimensions.least[d] = least;
            dimensions.wraps[d] = ring != u16::MAX;
            dimensions.extents[d] = ring.min(most.abs_diff(least) + 1);
        }
        dimensions
    }

    /// Checks that all wires match the positions, and that none is missing.
    fn check(&self, dimensions: &Box3) -> Result<Shape, WrongWire> {
        for at in 0..self.nodes.len() {
            for link in Direction::ALL {
                self.check_wire(dimensions, at, link)
                    .map_err(|trouble| (at, link, trouble))?;
            }
        }
        let Box3 { extents, wraps, .. } = *dimensions;
        let places: u64 = extents.iter().map(|extent| u64::from(*extent)).product();
        let placed = self.nodes.iter().filter(|entry| entry.place.is_some());
        // Rings of different lengths may fit together; then several nodes share coordinates.
        if places != placed.count() as u64
            && let Some((at, link, other)) = self.seams().next()
        {
            return Err((at, link, WiringDefect::NoNeighbour(other)));
        }
        // An extent of 1 does not wrap; it counts as a torus.
        let wraps = [0, 1, 2].map(|d| wraps[d] || extents[d] == 1);
        let longest = (0..3).max_by_key(|d| extents[*d]).unwrap_or(0);
        let shape = Shape::new(extents, wraps);
        shape.ok_or((0, Direction::ALL[2 * longest], WiringDefect::TooLong))
    }

    fn check_wire(&self, dimensions: &Box3, at: usize, link: Direction) -> Result<(), WiringDefect<usize>> {
        let Some((_, place)) = self.nodes[at].place else {
            return Ok(());
        };
        let Box3 { least, extents, wraps } = *dimensions;
        let d = link.dimension();
        if let Some((other, off)) = self.off(at, link) {
            let is_right = |d: usize| {
                if wraps[d] {
                    [0, extents[d]].contains(&off[d].unsigned_abs())
                } else {
                    off[d] == 0
                }
            };
            return if (0..3).all(is_right) {
                Ok(())
            } else {
                Err(WiringDefect::NoNeighbour(other))
            };
        }
        let edge = if link.is_plus() {
            least[d] + (extents[d] - 1) as i16
        } else {
            least[d]
        };
        if extents[d] > 1 && (wraps[d] || place[d] != edge) {
            Err(WiringDefect::Missing)
        } else {
            Ok(())
        }
    }

    /// Returns the wrong wires if two were swapped.
    fn exchanged(&mut self) -> Option<WiringError> {
        self.suspect();
        let count = self.nodes.len();
        for link in [Direction::XPlus, Direction::YPlus, Direction::ZPlus] {
            for one in 0..count {
                for other in one + 1..count {
                    if self.is_suspected(one, link)
                        && self.is_suspected(other, link)
                        && let Some(found) = self.try_exchange(one, other, link)
                    {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    fn is_suspected(&self, at: usize, link: Direction) -> bool {
        self.nodes[at].suspected & 1 << link as u8 != 0
    }

    /// Swaps two wires, checks whether the machine is then valid, and restores them.
    fn try_exchange(&mut self, one: usize, other: usize, link: Direction) -> Option<WiringError> {
        self.exchange(one, other, link);
        self.place();
        let dimensions = self.dimensions();
        let is_right = self.check(&dimensions).is_ok();
        let [mut at, mut with] = [one, other].map(|node| self.name(node, &dimensions));
        self.exchange(one, other, link);
        // If wires of two machines were swapped, one node has no position.
        if at.coord.is_none() {
            (at, with) = (with, at);
        }
        let trouble = WiringDefect::Exchanged(with);
        (is_right && at.coord.is_some()).then_some(WiringError { at, link, trouble })
    }

    fn exchange(&mut self, one: usize, other: usize, link: Direction) {
        let at = link as usize;
        let ends = [one, other].map(|node| self.nodes[node].account.heard[at]);
        for (node, end) in [(one, ends[1]), (other, ends[0])] {
            self.nodes[node].account.heard[at] = end;
            let here = Some(WireEnd {
                node: self.nodes[node].account.node,
                link,
            });
            if let Some(there) = end.and_then(|end| self.find(end.node)) {
                self.nodes[there].account.heard[link.opposite() as usize] = here;
            }
        }
    }

    /// Marks the wires of squares that do not close or, if all close, those that close rings.
    fn suspect(&mut self) {
        for entry in self.nodes.iter_mut() {
            entry.suspected = 0;
        }
        for at in 0..self.nodes.len() {
            for (n, one) in Direction::ALL.into_iter().enumerate() {
                for other in Direction::ALL.into_iter().skip(n + 1) {
                    let sides = (self.behind(at, one), self.behind(at, other));
                    let (Some(a), Some(b)) = sides else {
                        continue;
                    };
                    let corners = (self.behind(a, other), self.behind(b, one));
                    let (Some(c), Some(d)) = corners else {
                        continue;
                    };
                    if one.dimension() == other.dimension() || c == d {
                        continue;
                    }
                    for (node, link) in [(at, one), (at, other), (a, other), (b, one)] {
                        self.suspect_wire(node, link);
                    }
                }
            }
        }
        if self.nodes.iter().all(|entry| entry.suspected == 0) {
            self.suspect_seams();
        }
    }

    fn suspect_seams(&mut self) {
        for at in 0..self.nodes.len() {
            for link in [Direction::XPlus, Direction::YPlus, Direction::ZPlus] {
                if self.off(at, link).is_some_and(|(_, off)| off != [0; 3]) {
                    self.suspect_wire(at, link);
                }
            }
        }
    }

    /// Marks a wire at its end in plus direction.
    fn suspect_wire(&mut self, at: usize, link: Direction) {
        let (at, link) = if link.is_plus() {
            (Some(at), link)
        } else {
            (self.behind(at, link), link.opposite())
        };
        if let Some(at) = at {
            self.nodes[at].suspected |= 1 << link as u8;
        }
    }

    fn name(&self, at: usize, dimensions: &Box3) -> NodeLabel {
        let entry = &self.nodes[at];
        NodeLabel {
            node: entry.account.node,
            coord: entry.place.and_then(|(_, place)| dimensions.coord(place)),
        }
    }

    fn describe_wire(&self, wrong: WrongWire, dimensions: &Box3) -> WiringError {
        let (at, link, trouble) = wrong;
        let name = |at| self.name(at, dimensions);
        WiringError {
            at: name(at),
            link,
            trouble: trouble.map(name),
        }
    }
}

fn step_towards(mut place: [i16; 3], link: Direction) -> [i16; 3] {
    place[link.dimension()] += if link.is_plus() { 1 } else { -1 };
    place
}

#[cfg(test)]
mod tests;
