//! Topology discovery: nodes determine by themselves how they are wired.
//!
//! The algorithm floods link-state records, like link-state routing. Each node stores the records of all nodes
//! ([`LinkAccount`]), its own included, and transmits them to its neighbours, one record per frame, round robin. A frame
//! also identifies its sender and the link that it was sent over, from which the neighbour learns its own wiring. A
//! digest of all records in the frame shows the neighbour whether it lacks some.
//!
//! ```text
//! 'D' | link, 1 byte | node, 4 | digest, 4 |
//! an account: node, 4 | version, 2 | heard, 6 times: link + 1 or 0, 1, and node, 4
//! ```
//! Frames may be lost, duplicated or late: the newest version of a record is valid. Discovery is complete
//! ([`Discovery::is_over`]) when nothing has changed for a while and all neighbours have the same records. Then
//! [`wiring`](crate::wiring) computes extents and coordinates from them, the same at each node.
//!
//! The host that reads the machine's console announces itself on its line ([`console_frame`]) with a reserved node ID.
//! The node there handles the frame like one of a neighbour, so that all nodes learn the node and link of the console.
//!
//! The module is pure: it receives frames and the time, and returns frames. Time is in nanoseconds, by any clock.

use crate::coord::{Coord, Direction, Shape};
use crate::wiring::{LinkAccount, MachineMap, MapEntry, WireEnd, WiringError};

/// Size of a frame in bytes.
pub const FRAME_BYTES: usize = ACCOUNT_AT + 6 + 6 * HEARD_BYTES;
const ACCOUNT_AT: usize = 10;
const HEARD_BYTES: usize = 5;
const MARK: u8 = b'D';

/// Node ID of the host that reads the console.
const CONSOLE: u32 = u32::MAX;

/// Delay from a received frame to the next transmitted one on a link whose ends have different records. It paces the
/// frames, so that no more are in flight than are received.
pub const FAST_NS: u64 = 2_000_000;
/// Interval between transmitted frames when none is received, or the records are equal.
pub const SLOW_NS: u64 = 50_000_000;

/// State of one link and of the neighbour there.
#[derive(Clone, Copy, Default)]
struct LinkSide {
    /// Index of the record to transmit next.
    next: usize,
    due_ns: u64,
    /// The neighbour's records differ from those of this node.
    differs: bool,
}

/// Discovery state of one node.
pub struct Discovery<'m> {
    own: u32,
    nodes: &'m mut [MapEntry],
    count: usize,
    /// The machine has more nodes than the table holds.
    is_full: bool,
    changed_ns: u64,
    sides: [LinkSide; 6],
}

impl<'m> Discovery<'m> {
    /// Creates the state of the node with the unique ID `own`. `nodes` provides one entry per node of the machine.
    /// Returns `None` if it is empty.
    pub fn new(own: u32, nodes: &'m mut [MapEntry], now_ns: u64) -> Option<Self> {
        *nodes.first_mut()? = MapEntry::new(LinkAccount {
            node: own,
            version: 0,
            heard: [None; 6],
        });
        Some(Self {
            own,
            nodes,
            count: 1,
            is_full: false,
            changed_ns: now_ns,
            sides: [LinkSide::default(); 6],
        })
    }

    /// Returns the number of nodes known so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Checks whether the machine has more nodes than the table holds.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Handles data received over a link. Ignores everything except discovery frames.
    pub fn on_frame(&mut self, link: Direction, frame: &[u8], now_ns: u64) {
        let Some((end, digest, account)) = parse(frame) else {
            return;
        };
        let mut own = self.own_account();
        if own.heard[link as usize] != Some(end) {
            own.heard[link as usize] = Some(end);
            own.version = own.version.wrapping_add(1);
            self.put(own, now_ns);
        }
        if end.node == CONSOLE {
            return;
        }
        if account.node != self.own {
            self.put(account, now_ns);
        } else if account != own && !is_newer(own.version, account.version) {
            // The record is from before this node's reset.
            own.version = account.version.wrapping_add(1);
            self.put(own, now_ns);
        }
        let differs = digest != self.digest();
        let side = &mut self.sides[link as usize];
        side.differs = differs;
        if differs {
            side.due_ns = side.due_ns.min(now_ns + FAST_NS);
        }
    }

    /// Returns the frame that is due on a link now, if any. Lost frames need no retransmission: the records rotate.
    pub fn due(&mut self, link: Direction, now_ns: u64) -> Option<[u8; FRAME_BYTES]> {
        let digest = self.digest();
        let side = &mut self.sides[link as usize];
        if now_ns < side.due_ns {
            return None;
        }
        side.due_ns = now_ns + SLOW_NS;
        let at = side.next % self.count;
        side.next = at + 1;
        let node = self.own;
        Some(emit(WireEnd { node, link }, digest, &self.nodes[at].account))
    }

    /// Returns the time at which the next frame is due if none is received before.
    pub fn next_ns(&self) -> u64 {
        let times = self.sides.iter().map(|side| side.due_ns);
        times.min().unwrap_or(0)
    }

    /// Checks whether discovery is complete: no change for `quiet_ns`, equal records at all neighbours, and a record
    /// for every node that was heard.
    pub fn is_over(&self, now_ns: u64, quiet_ns: u64) -> bool {
        let is_quiet = now_ns.saturating_sub(self.changed_ns) >= quiet_ns;
        is_quiet && !self.sides.iter().any(|side| side.differs) && self.is_closed()
    }

    /// Returns the machine's shape and this node's coordinates.
    ///
    /// # Errors
    /// The machine is neither torus nor mesh; the error specifies the wrong wire.
    pub fn solve(&mut self) -> Result<(Shape, Coord), WiringError> {
        MachineMap::new(&mut self.nodes[..self.count]).solve(self.own)
    }

    /// Returns the node and link of the console: the first of several.
    pub fn console(&self) -> Option<WireEnd> {
        let known = self.nodes[..self.count].iter();
        let mut ends = known.flat_map(|MapEntry { account, .. }| {
            let heard = Direction::ALL.into_iter().zip(account.heard);
            heard.map(|(link, heard)| (account.node, link, heard))
        });
        let is_console = |heard: Option<WireEnd>| heard.is_some_and(|end| end.node == CONSOLE);
        let (node, link, _) = ends.find(|(.., heard)| is_console(*heard))?;
        Some(WireEnd { node, link })
    }

    /// Returns the coordinates of a node in a correctly wired machine.
    pub fn place(&mut self, node: u32) -> Option<Coord> {
        let solved = MachineMap::new(&mut self.nodes[..self.count]).solve(node);
        solved.ok().map(|(_, coord)| coord)
    }

    fn is_closed(&self) -> bool {
        let known = &self.nodes[..self.count];
        let mut ends = known.iter().flat_map(|e| e.account.heard).flatten();
        ends.all(|end| end.node == CONSOLE || self.find(end.node).is_ok())
    }

    fn find(&self, node: u32) -> Result<usize, usize> {
        self.nodes[..self.count].binary_search_by_key(&node, |e| e.account.node)
    }

    fn own_account(&self) -> LinkAccount {
        let at = self.find(self.own).unwrap_or(0);
        self.nodes[at].account
    }

    /// Stores a record if it is newer.
    fn put(&mut self, account: LinkAccount, now_ns: u64) {
        match self.find(account.node) {
            Ok(at) => {
                if !is_newer(account.version, self.nodes[at].account.version) {
                    return;
                }
                self.nodes[at] = MapEntry::new(account);
            }
            Err(_) if self.count == self.nodes.len() => {
                self.is_full = true;
                return;
            }
            Err(at) => {
                self.nodes.copy_within(at..self.count, at + 1);
                self.nodes[at] = MapEntry::new(account);
                self.count += 1;
                // The new record is transmitted first.
                for side in &mut self.sides {
                    side.next = at;
                }
            }
        }
        self.changed_ns = now_ns;
        for side in &mut self.sides {
            side.due_ns = side.due_ns.min(now_ns + FAST_NS);
        }
    }

    /// Returns a digest of the nodes' record versions, independent of the order of arrival.
    fn digest(&self) -> u32 {
        let one = |entry: &MapEntry| {
            let LinkAccount { node, version, .. } = entry.account;
            let word = node ^ u32::from(version) << 16 ^ u32::from(version);
            let word = (word ^ word >> 15).wrapping_mul(0x2c1b_3c6d);
            word ^ word >> 12
        };
        let known = self.nodes[..self.count].iter();
        known.map(one).fold(0, u32::wrapping_add)
    }
}

/// Returns the frame that announces the host that reads the console.
pub fn console_frame() -> [u8; FRAME_BYTES] {
    let account = LinkAccount {
        node: CONSOLE,
        version: 0,
        heard: [None; 6],
    };
    let end = WireEnd {
        node: CONSOLE,
        link: Direction::XPlus,
    };
    emit(end, 0, &account)
}

/// Checks whether `frame` is a discovery frame.
pub fn is_of_discovery(frame: &[u8]) -> bool {
    parse(frame).is_some()
}

/// Checks whether version `one` is newer than `other`, with wraparound.
fn is_newer(one: u16, other: u16) -> bool {
    (one.wrapping_sub(other) as i16) > 0
}

fn emit(end: WireEnd, digest: u32, account: &LinkAccount) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[0] = MARK;
    frame[1] = end.link as u8;
    frame[2..6].copy_from_slice(&end.node.to_le_bytes());
    frame[6..10].copy_from_slice(&digest.to_le_bytes());
    frame[10..14].copy_from_slice(&account.node.to_le_bytes());
    frame[14..16].copy_from_slice(&account.version.to_le_bytes());
    for (bytes, heard) in frame[16..].chunks_exact_mut(HEARD_BYTES).zip(account.heard) {
        if let Some(WireEnd { node, link }) = heard {
            bytes[0] = link as u8 + 1;
            bytes[1..].copy_from_slice(&node.to_le_bytes());
        }
    }
    frame
}

/// Returns sender, digest and record, or `None` if it is no discovery frame.
fn parse(frame: &[u8]) -> Option<(WireEnd, u32, LinkAccount)> {
    let frame: &[u8; FRAME_BYTES] = frame.try_into().ok()?;
    let [MARK, link, rest @ ..] = frame else {
        return None;
    };
    let (node, rest) = rest.split_first_chunk()?;
    let (digest, rest) = rest.split_first_chunk()?;
    let (of, rest) = rest.split_first_chunk()?;
    let (version, rest) = rest.split_first_chunk()?;
    let mut heard = [None; 6];
    for (heard, bytes) in heard.iter_mut().zip(rest.chunks_exact(HEARD_BYTES)) {
        let (link, node) = bytes.split_first()?;
        if let Some(link) = link.checked_sub(1) {
            *heard = Some(WireEnd {
                node: u32::from_le_bytes(node.try_into().ok()?),
                link: *Direction::ALL.get(usize::from(link))?,
            });
        }
    }
    let end = WireEnd {
        node: u32::from_le_bytes(*node),
        link: *Direction::ALL.get(usize::from(*link))?,
    };
    let account = LinkAccount {
        node: u32::from_le_bytes(*of),
        version: u16::from_le_bytes(*version),
        heard,
    };
    Some((end, u32::from_le_bytes(*digest), account))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oorandom::Rand32;

    const QUIET_NS: u64 = 1_000_000_000;
    const EMPTY: MapEntry = MapEntry::new(LinkAccount {
        node: 0,
        version: 0,
        heard: [None; 6],
    });

    /// Runs discovery on a machine of this shape over lossy links. Its nodes start within half a second. Returns each
    /// node's result.
    fn discover(shape: Shape, loss: f32, seed: u64) -> Vec<Result<(Shape, Coord), WiringError>> {
        let mut rand = Rand32::new(seed);
        let nodes = shape.nodes() as usize;
        let mut rooms = vec![vec![EMPTY; nodes]; nodes];
        let starts: Vec<u64> = (0..nodes)
            .map(|_| u64::from(rand.rand_range(0..500)) * 1_000_000)
            .collect();
        let mut all: Vec<Discovery<'_>> = rooms
            .iter_mut()
            .zip(&starts)
            .enumerate()
            .map(|(rank, (room, start))| Discovery::new(1000 - 3 * rank as u32, room, *start).unwrap())
            .collect();
        let mut now = 0;
        while !all.iter().all(|node| node.is_over(now, QUIET_NS)) {
            assert!(now < 20 * QUIET_NS, "not over");
            for rank in 0..nodes {
                if now < starts[rank] {
                    continue;
                }
                for link in Direction::ALL {
                    let here = shape.coord(rank as u32).unwrap();
                    let there = shape.neighbour(here, link);
                    let frame = all[rank].due(link, now);
                    let (Some(frame), Some(there)) = (frame, there) else {
                        continue;
                    };
                    let to = shape.rank(there).unwrap() as usize;
                    if now >= starts[to] && rand.rand_float() >= loss {
                        all[to].on_frame(link.opposite(), &frame, now);
                    }
                }
            }
            now += 1_000_000;
        }
        all.iter_mut().map(Discovery::solve).collect()
    }

    #[test]
    fn nodes_find_the_machine_also_over_bad_links() {
        for (extents, wraps) in [
            ([1, 1, 1], [true; 3]),
            ([2, 1, 1], [true; 3]),
            ([4, 3, 2], [true; 3]),
            ([3, 4, 1], [false, true, true]),
            ([2, 2, 2], [false; 3]),
        ] {
            for loss in [0.0, 0.3] {
                let shape = Shape::new(extents, wraps).unwrap();
                let found = discover(shape, loss, 7);
                let mut coords = Vec::new();
                for found in found {
                    let (found, coord) = found.unwrap();
                    let is_edge = |d: usize| extents[d] == 1;
                    assert!((0..3).all(|d| is_edge(d) || found.wraps()[d] == wraps[d]));
                    assert_eq!(found.extents(), extents);
                    assert!(!coords.contains(&coord));
                    coords.push(coord);
                }
            }
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written_and_others_are_refused() {
        let end = WireEnd {
            node: 0x0102_0304,
            link: Direction::ZMinus,
        };
        let account = LinkAccount {
            node: 77,
            version: 300,
            heard: [None, Some(end), None, None, None, Some(end)],
        };
        let frame = emit(end, 42, &account);
        assert_eq!(parse(&frame), Some((end, 42, account)));
        assert_eq!(parse(&frame[1..]), None);
        for (at, byte) in [(0, b'H'), (1, 6), (16, 7)] {
            let mut frame = frame;
            frame[at] = byte;
            assert_eq!(parse(&frame), None, "{at}");
        }
    }

    /// A console is heard at an unused link and does not count as a node; all nodes learn its location.
    #[test]
    fn nodes_find_out_where_the_console_is() {
        let shape = Shape::new([3, 1, 1], [false, true, true]).unwrap();
        let mut rooms = [[EMPTY; 3]; 3];
        let mut all: Vec<Discovery<'_>> = (10..)
            .zip(&mut rooms)
            .map(|(number, room)| Discovery::new(number, room, 0).unwrap())
            .collect();
        for ms in 0..3000u64 {
            let now = ms * 1_000_000;
            if ms == 500 {
                all[2].on_frame(Direction::YMinus, &console_frame(), now);
            }
            for (rank, link) in (0..3).flat_map(|rank| Direction::ALL.map(|link| (rank, link))) {
                let here = shape.coord(rank).unwrap();
                let frame = all[rank as usize].due(link, now);
                if let (Some(frame), Some(there)) = (frame, shape.neighbour(here, link)) {
                    let to = shape.rank(there).unwrap() as usize;
                    all[to].on_frame(link.opposite(), &frame, now);
                }
            }
            assert!(ms < 500 || !all[0].is_over(now, QUIET_NS) || ms >= 1500);
        }
        for (rank, node) in all.iter_mut().enumerate() {
            assert!(node.is_over(3 * QUIET_NS, QUIET_NS));
            assert_eq!(node.count(), 3);
            let (found, here) = node.solve().unwrap();
            assert_eq!((found.extents(), here.x), ([3, 1, 1], rank as u8));
            let console = node.console().unwrap();
            assert_eq!(console.link, Direction::YMinus);
            assert_eq!(node.place(console.node).map(|at| at.x), Some(2));
        }
        assert!(is_of_discovery(&console_frame()) && !is_of_discovery(b"D"));
    }

    /// A record from before a node's reset is replaced; an overflow of the node table is reported.
    #[test]
    fn old_accounts_are_replaced_and_missing_room_is_noticed() {
        let mut room = [EMPTY; 2];
        let mut node = Discovery::new(5, &mut room, 0).unwrap();
        let from = |node| WireEnd {
            node,
            link: Direction::XMinus,
        };
        let account = |node, version| LinkAccount {
            node,
            version,
            heard: [None, None, None, Some(from(9)), None, None],
        };
        node.on_frame(Direction::XPlus, &emit(from(6), 0, &account(5, 40)), 1);
        assert_eq!(node.own_account().version, 41);
        assert_eq!(node.own_account().heard[0], Some(from(6)));
        assert_eq!(node.own_account().heard[3], None);
        node.on_frame(Direction::XPlus, &emit(from(6), 0, &account(6, 1)), 2);
        assert_eq!((node.count(), node.is_full()), (2, false));
        assert!(!node.is_over(u64::MAX, QUIET_NS), "9 is heard and not known");
        node.on_frame(Direction::XPlus, &emit(from(6), 0, &account(7, 1)), 3);
        assert_eq!((node.count(), node.is_full()), (2, true));
        assert!(Discovery::new(5, &mut [], 0).is_none());
    }
}
