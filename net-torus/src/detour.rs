//! Link failover: reroutes the frames of a cut link over links of the neighbours.
//!
//! The layer is below [`ReliableLink`](crate::ReliableLink) and above the link itself. After every [`PATIENCE`] timeouts of the
//! reliable layer without an acknowledgement, frames use the next route:
//!
//! ```text
//!      A ---x+---> B    cut          the other link to the same node, in a ring of two
//!      |           ^                 a step aside, along, and back: up to four such routes
//!     y+          y-                 round the ring, if that is at most MAX_HOPS links
//!      |           |
//!      C ---x+---> D
//! ```
//! The router is not aware of it: its tokens, order and channels are those of the link from A to B, which is only
//! slower. The routes cannot deadlock each other. A frame that finds no free space is dropped after a while, and the
//! reliable layer retransmits it. The other end detects the failover by the first detoured frame, and replies over
//! another route, too.
//!
//! A detoured frame starts with a header:
//!
//! ```text
//!  byte 0      0x44
//!  byte 1      remaining hops, 0..=MAX_HOPS
//!  byte 2      direction of the link, at the final node, that the frame belongs to
//!  byte 3      0
//!  byte 4-7    the hops, three bits each, the next one lowest, little-endian
//!  byte 8-11   CRC-32 of bytes 0..8, little-endian
//! ```
//! The payload contains the reliable layer's own CRC.

use crate::checksum::CRC_32;
use crate::coord::{Coord, Direction, Shape};
use crate::link::Link;

/// Bytes that the layer adds to each frame's maximum size.
pub const HEADER: usize = 12;
/// Maximum number of links on a route.
pub const MAX_HOPS: usize = 8;
/// Timeouts in a row after which frames use another route.
pub const PATIENCE: u32 = 8;
/// Maximum number of routes around one link.
pub const WAYS: usize = 6;
/// Number of attempts to forward a frame before it is dropped.
const TRIES: u8 = 64;

pub(crate) const MAGIC: u8 = 0x44;

/// Source route: a sequence of links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SourceRoute {
    hops: u8,
    steps: u32,
}

impl SourceRoute {
    /// Creates a route of these hops. Returns `None` for more than [`MAX_HOPS`].
    pub fn new(steps: impl IntoIterator<Item = Direction>) -> Option<Self> {
        let mut way = Self::default();
        for step in steps {
            if way.hops as usize == MAX_HOPS {
                return None;
            }
            way.steps |= (step as u32) << (3 * way.hops);
            way.hops += 1;
        }
        Some(way)
    }

    /// Returns the first hop, or `None` at the end.
    pub fn first(self) -> Option<Direction> {
        (self.hops > 0).then(|| Direction::ALL[(self.steps & 7) as usize % Direction::ALL.len()])
    }

    /// Returns the route after the first hop.
    #[must_use]
    pub fn rest(self) -> Self {
        Self {
            hops: self.hops.saturating_sub(1),
            steps: self.steps >> 3,
        }
    }
}

/// Returns the routes from `here` to its neighbour in direction `d` that avoid the link between them, shortest first.
pub fn ways(shape: &Shape, here: Coord, d: Direction) -> impl Iterator<Item = SourceRoute> {
    let (shape, back) = (*shape, d.opposite());
    let dimension = d.dimension();
    let wraps = shape.wraps()[dimension];
    let others = shape.extents()[dimension] as usize - 1;
    let around = move || SourceRoute::new((0..others).map(|_| back)).filter(|_| wraps);
    let short = around().filter(|_| others == 1);
    let aside = Direction::ALL.into_iter().filter_map(move |side| {
        let is_aside = side.dimension() != dimension && shape.neighbour(here, side).is_some();
        SourceRoute::new([side, d, side.opposite()]).filter(|_| is_aside)
    });
    let long = around().filter(|_| others > 1);
    short.into_iter().chain(aside).chain(long)
}

/// Buffer of one waiting frame, header included; `bytes` is 0 when it is empty.
#[derive(Default)]
struct WaitingFrame<'m> {
    memory: &'m mut [u8],
    bytes: usize,
    tries: u8,
}

impl WaitingFrame<'_> {
    fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn clear(&mut self) {
        (self.bytes, self.tries) = (0, 0);
    }

    fn put(&mut self, frame: &[u8]) {
        if let Some(room) = self.memory.get_mut(..frame.len()) {
            room.copy_from_slice(frame);
            self.bytes = frame.len();
            self.tries = 0;
        }
    }

    fn frame(&self) -> &[u8] {
        &self.memory[..self.bytes]
    }
}

/// Decoded header of a detoured frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct DetourHeader {
    way: SourceRoute,
    /// Link, at the final node, that the frame belongs to.
    link: Direction,
}

impl DetourHeader {
    fn emit(self, out: &mut [u8]) {
        let Some(out) = out.first_chunk_mut::<HEADER>() else {
            return;
        };
        out[..4].copy_from_slice(&[MAGIC, self.way.hops, self.link as u8, 0]);
        out[4..8].copy_from_slice(&self.way.steps.to_le_bytes());
        let crc = CRC_32.checksum(&out[..8]);
        out[8..].copy_from_slice(&crc.to_le_bytes());
    }

    fn parse(frame: &[u8]) -> Option<Self> {
        let (header, rest) = frame.split_first_chunk::<HEADER>()?;
        let [magic, hops, link, zero, a, b, c, d, crc @ ..] = *header;
        let good = magic == MAGIC
            && zero == 0
            && hops as usize <= MAX_HOPS
            && !rest.is_empty()
            && CRC_32.checksum(&header[..8]) == u32::from_le_bytes(crc);
        let link = *Direction::ALL.get(link as usize)?;
        good.then_some(Self {
            way: SourceRoute {
                hops,
                steps: u32::from_le_bytes([a, b, c, d]),
            },
            link,
        })
    }
}

/// Link with failover. See the [module](self). The caller must call [`relay`] after each round.
pub struct Detour<'m, L> {
    link: L,
    ways: [Option<SourceRoute>; WAYS],
    /// Direction of the link at the other end.
    there: Direction,
    /// Index of the route in use; `None` for the link itself.
    by: Option<u8>,
    /// The link does not respond, and no other route exists.
    lost: bool,
    /// Frame received over this link that must be forwarded.
    passing: WaitingFrame<'m>,
    /// Frame of this link received over another route.
    arrived: WaitingFrame<'m>,
    /// Frame of this link to be transmitted over another route.
    leaving: WaitingFrame<'m>,
    detoured: u64,
}

impl<'m, L: Link> Detour<'m, L> {
    /// Returns the memory in bytes that a link with frames of `mtu` bytes requires.
    pub const fn memory(mtu: usize) -> usize {
        3 * mtu
    }

    /// Creates the layer for `link` in direction `d` of the node at `here`. `memory` buffers the detoured frames and
    /// requires [`Detour::memory`] bytes; frames that do not fit into less are dropped.
    pub fn new(link: L, shape: &Shape, here: Coord, d: Direction, memory: &'m mut [u8]) -> Self {
        let mut found = ways(shape, here, d);
        let mtu = link.mtu().min(memory.len() / 3);
        let (passing, rest) = memory.split_at_mut(mtu);
        let (arrived, leaving) = rest.split_at_mut(mtu);
        let mail = |memory| WaitingFrame {
            memory,
            bytes: 0,
            tries: 0,
        };
        Self {
            link,
            ways: core::array::from_fn(|_| found.next()),
            there: d.opposite(),
            by: None,
            lost: false,
            passing: mail(passing),
            arrived: mail(arrived),
            leaving: mail(leaving),
            detoured: 0,
        }
    }

    /// Returns the number of this link's frames that used another route.
    pub fn detoured(&self) -> u64 {
        self.detoured
    }

    /// Checks whether a frame waits for [`relay`] or [`Link::receive`].
    pub fn has_mail(&self) -> bool {
        !(self.passing.is_empty() && self.arrived.is_empty() && self.leaving.is_empty())
    }

    /// Returns the lower link.
    pub fn lower(&self) -> &L {
        &self.link
    }
    /// Returns the lower link, for the board's interrupt handling.
    pub fn lower_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Selects the next route for subsequent frames.
    fn next_route(&mut self) {
        let next = self.by.map_or(0, |by| by + 1);
        self.by = self.ways.get(next as usize).and_then(|way| way.map(|_| next));
        self.lost = self.ways[0].is_none();
    }

    /// Forwards a frame over this link. Returns false when the link is full.
    fn forward(&mut self, frame: &[u8], header: DetourHeader) -> bool {
        self.link.transmit(|buffer| {
            let Some(room) = buffer.get_mut(..frame.len()) else {
                return 0;
            };
            room.copy_from_slice(frame);
            header.emit(room);
            frame.len()
        })
    }
}

impl<L: Link> Link for Detour<'_, L> {
    fn mtu(&self) -> usize {
        self.link.mtu() - HEADER
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        if !self.arrived.is_empty() {
            f(&self.arrived.frame()[HEADER..]);
            self.arrived.clear();
            return true;
        }
        if !self.passing.is_empty() {
            return false;
        }
        let (mut handed_up, passing) = (false, &mut self.passing);
        self.link.receive(|frame| {
            if frame.first() != Some(&MAGIC) {
                handed_up = true;
                f(frame);
            } else if DetourHeader::parse(frame).is_some() {
                passing.put(frame);
            }
        });
        handed_up
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let mtu = self.mtu();
        let by = self.by.and_then(|by| self.ways[by as usize]);
        let Some(way) = by else {
            return self.link.transmit(|buffer| f(&mut buffer[..mtu]));
        };
        if !self.leaving.is_empty() {
            return false;
        }
        let Some(room) = self.leaving.memory.get_mut(HEADER..HEADER + mtu) else {
            return false;
        };
        let bytes = f(room).min(mtu);
        if bytes > 0 {
            let link = self.there;
            DetourHeader { way, link }.emit(self.leaving.memory);
            self.leaving.bytes = HEADER + bytes;
            self.detoured += 1;
        }
        true
    }

    fn poll(&mut self, now_ns: u64) {
        self.link.poll(now_ns);
    }

    fn poll_at(&self) -> Option<u64> {
        self.link.poll_at()
    }

    fn is_untaken(&mut self) -> bool {
        self.by.is_none() && self.link.is_untaken()
    }

    fn unanswered(&mut self, timeouts: u32) {
        if timeouts.is_multiple_of(PATIENCE) {
            self.next_route();
        }
    }

    fn is_dead(&self) -> bool {
        self.lost || self.link.is_dead()
    }
}

/// Forwards the detoured frames of a node by one link each. `detour` returns the failover layer of a link. Returns true
/// if any frame was moved or dropped.
pub fn relay<'m, K, L: Link + 'm>(links: &mut [Option<K>; 6], detour: impl Fn(&mut K) -> &mut Detour<'m, L>) -> bool {
    let mut moved = false;
    for at in 0..links.len() {
        for which in [WaitingBuffer::Forwarded, WaitingBuffer::Transmitted] {
            let Some(mut mail) = links[at].as_mut().map(|link| which.take_frame(detour(link))) else {
                continue;
            };
            if !mail.is_empty() {
                moved |= deliver(links, &detour, &mut mail);
            }
            if let Some(link) = &mut links[at] {
                which.put_back(detour(link), mail);
            }
        }
    }
    moved
}

/// Selects one of the two buffers whose frames use other links.
#[derive(Clone, Copy)]
enum WaitingBuffer {
    Forwarded,
    Transmitted,
}

impl WaitingBuffer {
    fn select<'d, 'm, L>(self, detour: &'d mut Detour<'m, L>) -> &'d mut WaitingFrame<'m> {
        match self {
            Self::Forwarded => &mut detour.passing,
            Self::Transmitted => &mut detour.leaving,
        }
    }

    fn take_frame<'m, L>(self, detour: &mut Detour<'m, L>) -> WaitingFrame<'m> {
        core::mem::take(self.select(detour))
    }

    fn put_back<'m, L>(self, detour: &mut Detour<'m, L>, mail: WaitingFrame<'m>) {
        *self.select(detour) = mail;
    }
}

/// Forwards `mail`, or delivers it to its link on this node. Returns false when it must wait.
fn deliver<'m, K, L: Link + 'm>(
    links: &mut [Option<K>; 6],
    detour: &impl Fn(&mut K) -> &mut Detour<'m, L>,
    mail: &mut WaitingFrame<'m>,
) -> bool {
    let Some(header) = DetourHeader::parse(mail.frame()) else {
        mail.clear();
        return true;
    };
    let next = header.way.first();
    let link = next.unwrap_or(header.link);
    let done = match links[link as usize].as_mut().map(detour) {
        // The machine does not contain this route.
        None => true,
        Some(link) if next.is_some() => link.forward(
            mail.frame(),
            DetourHeader {
                way: header.way.rest(),
                ..header
            },
        ),
        Some(link) if link.arrived.is_empty() => {
            core::mem::swap(&mut link.arrived, mail);
            // The other end has stopped using the link.
            link.by = link.by.or(link.ways[0].map(|_| 0));
            true
        }
        Some(_) => false,
    };
    mail.tries += 1;
    if done || mail.tries == TRIES {
        mail.clear();
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reliable::{ReliableLink, RetryConfig};
    use crate::sim::{FaultRates, FaultyLink, SimLink, wire_torus};

    type LowerLink = FaultyLink<SimLink>;
    type UpperLink = ReliableLink<'static, Detour<'static, LowerLink>>;

    const RETRY: RetryConfig = RetryConfig {
        timeout_ns: 20,
        retries: 200,
    };

    fn machine(shape: &Shape, faults: FaultRates, seed: u64) -> Vec<[Option<UpperLink>; 6]> {
        let nodes = (0..).zip(wire_torus(shape));
        let node = |(rank, links): (u32, [Option<SimLink>; 6])| {
            let here = shape.coord(rank).unwrap();
            let mut d = Direction::ALL.into_iter();
            links.map(|link| {
                let d = d.next().unwrap();
                let link = link?;
                let mtu = link.mtu();
                let seed = seed << 16 | u64::from(rank) << 3 | d as u64;
                let memory = vec![0; Detour::<LowerLink>::memory(mtu)].leak();
                let detour = Detour::new(FaultyLink::new(link, faults, seed), shape, here, d, memory);
                Some(ReliableLink::new(detour, RETRY, vec![0; 4 * mtu].leak()).unwrap())
            })
        };
        nodes.map(node).collect()
    }

    fn cut(nodes: &mut [[Option<UpperLink>; 6]], shape: &Shape, here: Coord, d: Direction) {
        let there = shape.neighbour(here, d).unwrap();
        for (at, d) in [(here, d), (there, d.opposite())] {
            let node = &mut nodes[shape.rank(at).unwrap() as usize];
            let link = node[d as usize].as_mut().unwrap();
            link.lower_mut().lower_mut().cut();
        }
    }

    /// Sends `count` frames from `here` to its neighbour in direction `d`, and `count` back. Returns false when the
    /// link died.
    fn exchange(nodes: &mut [[Option<UpperLink>; 6]], shape: &Shape, here: Coord, d: Direction, count: u32) -> bool {
        let there = shape.neighbour(here, d).unwrap();
        let ends = [(here, d), (there, d.opposite())].map(|(at, d)| (shape.rank(at).unwrap() as usize, d as usize));
        let (mut sent, mut received) = ([0; 2], [0; 2]);
        for now in 0..1_000_000 {
            for (rank, node) in nodes.iter_mut().enumerate() {
                for (side, link) in node.iter_mut().enumerate() {
                    let Some(link) = link else { continue };
                    link.poll(now);
                    let Some(end) = ends.iter().position(|end| *end == (rank, side)) else {
                        assert!(!link.receive(|frame| panic!("strayed: {frame:?}")));
                        continue;
                    };
                    let expected = received[end];
                    let next = |bytes: &[u8]| {
                        assert_eq!(bytes, u32::to_le_bytes(expected));
                    };
                    received[end] += u32::from(link.receive(next));
                    if sent[end] < count
                        && link.transmit(|buffer| {
                            buffer[..4].copy_from_slice(&u32::to_le_bytes(sent[end]));
                            4
                        })
                    {
                        sent[end] += 1;
                    }
                    if link.is_dead() {
                        return false;
                    }
                }
                relay(node, ReliableLink::lower_mut);
            }
            if received == [count; 2] {
                return true;
            }
        }
        panic!("stuck: {sent:?} {received:?}");
    }

    fn detoured(nodes: &[[Option<UpperLink>; 6]], shape: &Shape, at: Coord, d: Direction) -> u64 {
        let node = &nodes[shape.rank(at).unwrap() as usize];
        node[d as usize].as_ref().unwrap().lower().detoured()
    }

    #[test]
    fn ways_lead_to_the_neighbour_without_the_link() {
        for (extents, wraps) in [
            ([2, 1, 1], [true; 3]),
            ([3, 2, 1], [true; 3]),
            ([4, 3, 2], [false; 3]),
            ([9, 2, 2], [true, false, true]),
            ([10, 1, 1], [true; 3]),
        ] {
            let shape = Shape::new(extents, wraps).unwrap();
            for rank in 0..shape.nodes() {
                let here = shape.coord(rank).unwrap();
                for d in shape.links(here).iter() {
                    let there = shape.neighbour(here, d).unwrap();
                    let found: Vec<SourceRoute> = ways(&shape, here, d).collect();
                    assert!(found.len() <= WAYS);
                    for mut way in found {
                        let mut at = here;
                        while let Some(step) = way.first() {
                            let next = shape.neighbour(at, step).expect("a link");
                            let over = (at, step) == (here, d) || (next, step.opposite()) == (here, d);
                            assert!(!over, "{extents:?} {here:?} {d:?}");
                            (at, way) = (next, way.rest());
                        }
                        assert_eq!(at, there);
                    }
                }
            }
        }
        let count = |extents, wraps| {
            let shape = Shape::new(extents, wraps).unwrap();
            ways(&shape, Coord::default(), Direction::XPlus).count()
        };
        assert_eq!(count([2, 1, 1], [false; 3]), 0);
        assert_eq!(count([2, 1, 1], [true; 3]), 1);
        assert_eq!(count([10, 1, 1], [true; 3]), 0, "too far");
        assert_eq!(count([3, 3, 3], [true; 3]), 5);
    }

    #[test]
    fn headers_are_read_as_written_and_damage_is_seen() {
        let header = DetourHeader {
            way: SourceRoute::new([Direction::YPlus, Direction::XMinus, Direction::ZMinus]).unwrap(),
            link: Direction::ZPlus,
        };
        let mut frame = [7; HEADER + 1];
        header.emit(&mut frame);
        assert_eq!(DetourHeader::parse(&frame), Some(header));
        let fields = crate::fields::DETOUR.iter().take(4).map(|field| field.read(&frame));
        let expected = [u64::from(MAGIC), 3, Direction::ZPlus as u64, 0o512];
        assert!(fields.eq(expected.map(Some)), "{frame:?}");
        assert_eq!(DetourHeader::parse(&frame[..HEADER]), None, "nothing in it");
        for bit in 0..8 * HEADER {
            let mut damaged = frame;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(DetourHeader::parse(&damaged), None, "bit {bit}");
        }
        assert_eq!(SourceRoute::new([Direction::XPlus; MAX_HOPS + 1]), None);
    }

    #[test]
    fn what_a_cut_link_carried_goes_another_way_once_and_in_order() {
        for (extents, wraps, seed) in [
            ([2, 1, 1], [true; 3], 1),
            ([2, 2, 1], [false; 3], 2),
            ([3, 2, 2], [true; 3], 3),
            ([5, 1, 1], [true; 3], 4),
        ] {
            let shape = Shape::new(extents, wraps).unwrap();
            let (here, d) = (Coord::default(), Direction::XPlus);
            let mut nodes = machine(&shape, FaultRates::PERCENT, seed);
            assert!(exchange(&mut nodes, &shape, here, d, 50));
            assert_eq!(detoured(&nodes, &shape, here, d), 0, "{extents:?}");
            let mut nodes = machine(&shape, FaultRates::PERCENT, seed);
            cut(&mut nodes, &shape, here, d);
            assert!(exchange(&mut nodes, &shape, here, d, 50));
            assert!(detoured(&nodes, &shape, here, d) > 0, "{extents:?}");
            let there = shape.neighbour(here, d).unwrap();
            assert!(detoured(&nodes, &shape, there, d.opposite()) > 0);
        }
    }

    #[test]
    fn a_way_that_is_cut_too_is_left_for_the_next() {
        let shape = Shape::new([3, 3, 1], [true; 3]).unwrap();
        let (here, d) = (Coord::default(), Direction::XPlus);
        let mut nodes = machine(&shape, FaultRates::default(), 1);
        cut(&mut nodes, &shape, here, d);
        cut(&mut nodes, &shape, here, Direction::YPlus);
        assert!(exchange(&mut nodes, &shape, here, d, 20));
    }

    #[test]
    fn without_another_way_the_link_is_dead() {
        let line = Shape::new([2, 1, 1], [false; 3]).unwrap();
        let mut nodes = machine(&line, FaultRates::default(), 1);
        let (here, d) = (Coord::default(), Direction::XPlus);
        cut(&mut nodes, &line, here, d);
        assert!(!exchange(&mut nodes, &line, here, d, 1));
        // All routes are cut.
        let ring = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let mut nodes = machine(&ring, FaultRates::default(), 1);
        cut(&mut nodes, &ring, here, d);
        cut(&mut nodes, &ring, here, d.opposite());
        assert!(!exchange(&mut nodes, &ring, here, d, 1));
    }
}
