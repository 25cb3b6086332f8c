//! Another way for a link that is cut: its frames go over links of the neighbours.
//!
//! Below [`Reliable`](crate::Reliable), above the link itself. When the reliable layer has waited in vain for
//! [`PATIENCE`] time-outs, the frames go another way, and when nothing answers there the next one, in turn:
//!
//! ```text
//!      A ---x+---> B    cut          the other link to the same node, in a ring of two
//!      |           ^                 a step aside, along, and back: up to four such ways
//!     y+          y-                 round the ring, if that is at most MAX_HOPS links
//!      |           |
//!      C ---x+---> D
//! ```
//! The router above knows nothing of it: its tokens, order and channels are those of the link from A to B, which has
//! become slower. Nor can the ways between block each other: a frame that finds no room is dropped after a while, and
//! the reliable layer sends it again. The other end learns of it by the first frame that reaches it so, and answers
//! another way, too.
//!
//! A frame on its way has a header in front:
//!
//! ```text
//!  byte 0      0x44
//!  byte 1      steps still to go, 0..=MAX_HOPS
//!  byte 2      direction of the link, at the node where the frame ends, that it belongs to
//!  byte 3      0
//!  byte 4-7    the steps, three bits each, the next one lowest, little-endian
//!  byte 8-11   CRC-32 of bytes 0..8, little-endian
//! ```
//! What it carries has the reliable layer's own CRC.

use crate::coord::{Coord, Direction, Shape};
use crate::link::Link;
use crate::sums::CRC_32;

/// Bytes that the layer adds to each frame's greatest size.
pub const HEADER: usize = 12;
/// Greatest number of links on a way.
pub const MAX_HOPS: usize = 8;
/// Time-outs in a row after which frames go another way.
pub const PATIENCE: u32 = 8;
/// Greatest number of ways around one link.
pub const WAYS: usize = 6;
/// Rounds in which a frame is tried to be sent on before it is dropped.
const TRIES: u8 = 64;

const MAGIC: u8 = 0x44;

/// A way: the links to go over, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Way {
    hops: u8,
    steps: u32,
}

impl Way {
    /// A way of these steps; `None` when they are more than [`MAX_HOPS`].
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

    /// The first step; `None` at the end.
    pub fn first(self) -> Option<Direction> {
        (self.hops > 0).then(|| Direction::ALL[(self.steps & 7) as usize % Direction::ALL.len()])
    }

    /// What is behind the first step.
    #[must_use]
    pub fn rest(self) -> Self {
        Self {
            hops: self.hops.saturating_sub(1),
            steps: self.steps >> 3,
        }
    }
}

/// The ways from `here` to its neighbour in direction `d` without the link between them, the shortest first.
pub fn ways(shape: &Shape, here: Coord, d: Direction) -> impl Iterator<Item = Way> {
    let (shape, back) = (*shape, d.opposite());
    let dimension = d.dimension();
    let wraps = shape.wraps()[dimension];
    let others = shape.extents()[dimension] as usize - 1;
    let around = move || Way::new((0..others).map(|_| back)).filter(|_| wraps);
    let short = around().filter(|_| others == 1);
    let aside = Direction::ALL.into_iter().filter_map(move |side| {
        let is_aside = side.dimension() != dimension && shape.neighbour(here, side).is_some();
        Way::new([side, d, side.opposite()]).filter(|_| is_aside)
    });
    let long = around().filter(|_| others > 1);
    short.into_iter().chain(aside).chain(long)
}

/// One frame that waits, header included; empty when it has no bytes.
#[derive(Default)]
struct Mail<'m> {
    memory: &'m mut [u8],
    bytes: usize,
    tries: u8,
}

impl Mail<'_> {
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

/// What a frame's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    way: Way,
    /// The link that the frame belongs to, where it ends.
    link: Direction,
}

impl Header {
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
            way: Way {
                hops,
                steps: u32::from_le_bytes([a, b, c, d]),
            },
            link,
        })
    }
}

/// A link whose frames go another way when it is cut. See the [module](self). [`relay`] is to be called after each
/// round.
pub struct Detour<'m, L> {
    link: L,
    ways: [Option<Way>; WAYS],
    /// The link as the other end calls it.
    there: Direction,
    /// The number of the way that frames go; `None`: over the link.
    by: Option<u8>,
    /// There is no other way, and the link does not answer.
    lost: bool,
    /// A frame that has come over this link, and goes on.
    passing: Mail<'m>,
    /// A frame of this link that has come another way.
    arrived: Mail<'m>,
    /// A frame of this link that leaves another way.
    leaving: Mail<'m>,
    detoured: u64,
}

impl<'m, L: Link> Detour<'m, L> {
    /// Bytes of memory that a link with frames of `mtu` bytes needs.
    pub const fn memory(mtu: usize) -> usize {
        3 * mtu
    }

    /// `link` in direction `d` of the node at `here`, with [`Detour::memory`] bytes for the frames that go other ways;
    /// with less, those that do not fit are lost.
    pub fn new(link: L, shape: &Shape, here: Coord, d: Direction, memory: &'m mut [u8]) -> Self {
        let mut found = ways(shape, here, d);
        let mtu = link.mtu().min(memory.len() / 3);
        let (passing, rest) = memory.split_at_mut(mtu);
        let (arrived, leaving) = rest.split_at_mut(mtu);
        let mail = |memory| Mail {
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

    /// Frames of this link that went another way, because it does not answer.
    pub fn detoured(&self) -> u64 {
        self.detoured
    }

    /// Whether a frame waits that [`relay`] or [`Link::receive`] could move.
    pub fn has_mail(&self) -> bool {
        !(self.passing.is_empty() && self.arrived.is_empty() && self.leaving.is_empty())
    }

    /// The link below.
    pub fn lower(&self) -> &L {
        &self.link
    }
    /// The link below, for the board's own business (interrupts).
    pub fn lower_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// From now on frames go the next way.
    fn turn(&mut self) {
        let next = self.by.map_or(0, |by| by + 1);
        self.by = self
            .ways
            .get(next as usize)
            .and_then(|way| way.map(|_| next));
        self.lost = self.ways[0].is_none();
    }

    /// Sends a frame on over this link; false when it has no room.
    fn forward(&mut self, frame: &[u8], header: Header) -> bool {
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
            } else if Header::parse(frame).is_some() {
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
            Header { way, link }.emit(self.leaving.memory);
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
            self.turn();
        }
    }

    fn is_dead(&self) -> bool {
        self.lost || self.link.is_dead()
    }
}

/// Moves the frames that are on other ways, by one link each. `detour` is the layer in a link. True if any moved, or
/// was dropped.
pub fn relay<'m, K, L: Link + 'm>(
    links: &mut [Option<K>; 6],
    detour: impl Fn(&mut K) -> &mut Detour<'m, L>,
) -> bool {
    let mut moved = false;
    for at in 0..links.len() {
        for which in [Which::Passing, Which::Leaving] {
            let Some(mut mail) = links[at].as_mut().map(|link| which.take(detour(link))) else {
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

/// One of the two frames that leave by other links.
#[derive(Clone, Copy)]
enum Which {
    Passing,
    Leaving,
}

impl Which {
    fn of<'d, 'm, L>(self, detour: &'d mut Detour<'m, L>) -> &'d mut Mail<'m> {
        match self {
            Self::Passing => &mut detour.passing,
            Self::Leaving => &mut detour.leaving,
        }
    }

    fn take<'m, L>(self, detour: &mut Detour<'m, L>) -> Mail<'m> {
        core::mem::take(self.of(detour))
    }

    fn put_back<'m, L>(self, detour: &mut Detour<'m, L>, mail: Mail<'m>) {
        *self.of(detour) = mail;
    }
}

/// Sends `mail` on, or hands it to the link that it belongs to here. False when it has to wait.
fn deliver<'m, K, L: Link + 'm>(
    links: &mut [Option<K>; 6],
    detour: &impl Fn(&mut K) -> &mut Detour<'m, L>,
    mail: &mut Mail<'m>,
) -> bool {
    let Some(header) = Header::parse(mail.frame()) else {
        mail.clear();
        return true;
    };
    let next = header.way.first();
    let link = next.unwrap_or(header.link);
    let done = match links[link as usize].as_mut().map(detour) {
        // A way that this machine does not have.
        None => true,
        Some(link) if next.is_some() => link.forward(
            mail.frame(),
            Header {
                way: header.way.rest(),
                ..header
            },
        ),
        Some(link) if link.arrived.is_empty() => {
            core::mem::swap(&mut link.arrived, mail);
            // The other end has given the link up.
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
    use crate::reliable::{Reliable, Retry};
    use crate::sim::{Faults, Faulty, SimLink, wire_torus};

    type Lower = Faulty<SimLink>;
    type End = Reliable<'static, Detour<'static, Lower>>;

    const RETRY: Retry = Retry {
        timeout_ns: 20,
        retries: 200,
    };

    fn machine(shape: &Shape, faults: Faults, seed: u64) -> Vec<[Option<End>; 6]> {
        let nodes = (0..).zip(wire_torus(shape));
        let node = |(rank, links): (u32, [Option<SimLink>; 6])| {
            let here = shape.coord(rank).unwrap();
            let mut d = Direction::ALL.into_iter();
            links.map(|link| {
                let d = d.next().unwrap();
                let link = link?;
                let mtu = link.mtu();
                let seed = seed << 16 | u64::from(rank) << 3 | d as u64;
                let memory = vec![0; Detour::<Lower>::memory(mtu)].leak();
                let detour = Detour::new(Faulty::new(link, faults, seed), shape, here, d, memory);
                Some(Reliable::new(detour, RETRY, vec![0; 4 * mtu].leak()).unwrap())
            })
        };
        nodes.map(node).collect()
    }

    fn cut(nodes: &mut [[Option<End>; 6]], shape: &Shape, here: Coord, d: Direction) {
        let there = shape.neighbour(here, d).unwrap();
        for (at, d) in [(here, d), (there, d.opposite())] {
            let node = &mut nodes[shape.rank(at).unwrap() as usize];
            let link = node[d as usize].as_mut().unwrap();
            link.lower_mut().lower_mut().cut();
        }
    }

    /// Sends `count` frames from `here` to its neighbour in direction `d`, and as many back; false when the link died.
    fn exchange(
        nodes: &mut [[Option<End>; 6]],
        shape: &Shape,
        here: Coord,
        d: Direction,
        count: u32,
    ) -> bool {
        let there = shape.neighbour(here, d).unwrap();
        let ends = [(here, d), (there, d.opposite())]
            .map(|(at, d)| (shape.rank(at).unwrap() as usize, d as usize));
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
                relay(node, Reliable::lower_mut);
            }
            if received == [count; 2] {
                return true;
            }
        }
        panic!("stuck: {sent:?} {received:?}");
    }

    fn detoured(nodes: &[[Option<End>; 6]], shape: &Shape, at: Coord, d: Direction) -> u64 {
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
                    let found: Vec<Way> = ways(&shape, here, d).collect();
                    assert!(found.len() <= WAYS);
                    for mut way in found {
                        let mut at = here;
                        while let Some(step) = way.first() {
                            let next = shape.neighbour(at, step).expect("a link");
                            let over =
                                (at, step) == (here, d) || (next, step.opposite()) == (here, d);
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
        let header = Header {
            way: Way::new([Direction::YPlus, Direction::XMinus, Direction::ZMinus]).unwrap(),
            link: Direction::ZPlus,
        };
        let mut frame = [7; HEADER + 1];
        header.emit(&mut frame);
        assert_eq!(Header::parse(&frame), Some(header));
        assert_eq!(Header::parse(&frame[..HEADER]), None, "nothing in it");
        for bit in 0..8 * HEADER {
            let mut damaged = frame;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::parse(&damaged), None, "bit {bit}");
        }
        assert_eq!(Way::new([Direction::XPlus; MAX_HOPS + 1]), None);
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
            let mut nodes = machine(&shape, Faults::PERCENT, seed);
            assert!(exchange(&mut nodes, &shape, here, d, 50));
            assert_eq!(detoured(&nodes, &shape, here, d), 0, "{extents:?}");
            let mut nodes = machine(&shape, Faults::PERCENT, seed);
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
        let mut nodes = machine(&shape, Faults::default(), 1);
        cut(&mut nodes, &shape, here, d);
        cut(&mut nodes, &shape, here, Direction::YPlus);
        assert!(exchange(&mut nodes, &shape, here, d, 20));
    }

    #[test]
    fn without_another_way_the_link_is_dead() {
        let line = Shape::new([2, 1, 1], [false; 3]).unwrap();
        let mut nodes = machine(&line, Faults::default(), 1);
        let (here, d) = (Coord::default(), Direction::XPlus);
        cut(&mut nodes, &line, here, d);
        assert!(!exchange(&mut nodes, &line, here, d, 1));
        // All ways are cut.
        let ring = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let mut nodes = machine(&ring, Faults::default(), 1);
        cut(&mut nodes, &ring, here, d);
        cut(&mut nodes, &ring, here, d.opposite());
        assert!(!exchange(&mut nodes, &ring, here, d, 1));
    }
}
