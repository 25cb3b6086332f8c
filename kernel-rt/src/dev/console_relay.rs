//! Console relay: forwards the nodes' output and status to the machine's one board with a serial console. Records pass
//! from neighbour to neighbour over the links' serial lines, below the torus. A failed node, with its router and device
//! in an undefined state, can still send its last output.
//!
//! ```text
//!   node (2,0,0) -- line x- --> node (1,0,0) -- line x- --> node (0,0,0) -- console --> `midplane attach`
//!      own                           own, through                  own, through
//! ```
//! Each node except the console's uses one line upwards: in the first dimension in which its coordinate differs from
//! the console's, in the shorter direction ([`up`]). A record is a frame type of the line ([`serial`](super::serial)):
//!
//! ```text
//!  byte 0     0x43                                               an acknowledgement: 0x41      space available: 0x51
//!  byte 1     sequence number: 0, 1 .. 255, then from 1 again    the next number               the number
//!  byte 2-3   rank, little-endian
//!  byte 4     0: stdout, 1: stderr, 2: memory
//!  then       the output; or an offset in RAM, little-endian, in 4 bytes, and the contents of RAM there
//! ```
//! Each hop has at most one outstanding record, which it stores and retransmits until it is acknowledged. So records
//! lost on a line are retransmitted. A node without free space sends no acknowledgement: this back-pressure reaches the
//! neighbour and finally the program that prints. Each node stores one record of its own, one to forward and the
//! outstanding one; own and forwarded records alternate. Nothing waits for the opposite direction, so the console's
//! node always makes progress for all.
//!
//! Sequence number 0 identifies the first record after a start. A receiver that gets it twice without another number in
//! between has a duplicate.
#![forbid(unsafe_code)]

use heapless::Vec;
use midplane_abi::outbox::OutputStream;
use net_torus::coord::{Coord, Direction, Shape};

use super::serial::MTU;

const RECORD: u8 = b'C';
const ANSWER: u8 = b'A';
const ASK: u8 = b'Q';
const MEMORY: u8 = 2;
/// Header size of a printed record in bytes.
const HEADER: usize = 5;
const OFFSET: usize = 4;
/// Maximum number of memory bytes in a record.
const BLOCK: u32 = (MTU - HEADER - OFFSET) as u32;
/// Time until an unacknowledged record is first retransmitted, in nanoseconds.
pub const FIRST_REPEAT_NS: u64 = 20_000_000;
/// Maximum number of doublings of that time, one per retransmission: to more than a second.
const DOUBLINGS: u32 = 6;
/// Reciprocal of the maximum share of the console's line that all nodes' accounts use.
const ACCOUNTS_SHARE: u64 = 5;
/// Minimum interval of accounts in nanoseconds.
const MIN_INTERVAL_NS: u64 = 1_000_000_000;
/// Factor of the interval for accounts that have not changed.
const UNCHANGED_INTERVALS: u64 = 4;

/// Returns the minimum interval between two accounts of a node in nanoseconds.
fn interval_ns(nodes: u32, account_bytes: usize, baud: u32) -> u64 {
    let all_ns = super::serial::line_ns(nodes as usize * account_bytes, baud);
    (ACCOUNTS_SHARE * all_ns).max(MIN_INTERVAL_NS)
}

/// Returns the interval in nanoseconds after which a node repeats its account and the memory that explains it, in a
/// machine of `nodes` nodes whose console transmits `baud` bits per second.
pub fn repetition_ns(nodes: u32, account_bytes: usize, baud: u32) -> u64 {
    UNCHANGED_INTERVALS.saturating_mul(interval_ns(nodes, account_bytes, baud))
}

/// Returns whether a line's frame belongs to the console relay.
pub fn is_of_chain(frame: &[u8]) -> bool {
    matches!(frame, [ANSWER | ASK, _] | [RECORD, _, _, _, _, ..])
}

/// Returns the acknowledgement of a record by the end of the relay.
pub fn answer(number: u8) -> [u8; 2] {
    [ANSWER, after(number)]
}

/// Returns the next sequence number.
fn after(number: u8) -> u8 {
    number.checked_add(1).unwrap_or(1)
}

/// Payload of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelayPayload<'a> {
    /// Bytes that the program has printed.
    Output(OutputStream, &'a [u8]),
    /// RAM contents from this offset on.
    Memory(u32, &'a [u8]),
}

/// A record received from the relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelayRecord<'a> {
    /// Its sequence number on this line.
    pub number: u8,
    /// Rank of its source.
    pub rank: u16,
    /// Its payload.
    pub said: RelayPayload<'a>,
}

impl<'a> RelayRecord<'a> {
    /// Decodes a frame; returns `None` if it is not a record.
    pub fn read(frame: &'a [u8]) -> Option<Self> {
        let ([RECORD, number, low, high, kind], rest) = frame.split_first_chunk::<HEADER>()? else {
            return None;
        };
        let said = match *kind {
            0 => RelayPayload::Output(OutputStream::Out, rest),
            1 => RelayPayload::Output(OutputStream::Err, rest),
            MEMORY => {
                let (offset, bytes) = rest.split_first_chunk::<OFFSET>()?;
                RelayPayload::Memory(u32::from_le_bytes(*offset), bytes)
            }
            _ => return None,
        };
        Some(Self {
            number: *number,
            rank: u16::from_le_bytes([*low, *high]),
            said,
        })
    }
}

/// Returns the direction from `here` to the console's node, or `None` if this is that node.
pub fn up(shape: &Shape, here: Coord, console: Coord) -> Option<Direction> {
    let (extents, wraps) = (shape.extents(), shape.wraps());
    let [here, there] = [here, console].map(|at| [at.x, at.y, at.z].map(u16::from));
    let dimension = (0..3).find(|d| here[*d] != there[*d])?;
    let extent = extents[dimension];
    let ahead = (there[dimension] + extent - here[dimension]) % extent;
    let plus = if wraps[dimension] {
        2 * ahead <= extent
    } else {
        there[dimension] > here[dimension]
    };
    Some(Direction::ALL[2 * dimension + usize::from(!plus)])
}

/// Services that the relay requires from its node.
pub trait RelayHost {
    /// Sends a frame on a line. Returns false if the line has no free space now.
    fn send(&mut self, line: usize, frame: &[u8]) -> bool;

    /// Copies the node's memory from this offset on.
    fn read(&self, at: u32, out: &mut [u8]);
}

/// A range of RAM, by offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryRange {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// Maximum number of ranges that a node sends together.
pub const PARTS: usize = 5;

struct RelayFrame {
    bytes: [u8; MTU],
    length: usize,
}

impl RelayFrame {
    const fn empty() -> Self {
        Self {
            bytes: [0; MTU],
            length: 0,
        }
    }

    /// Appends the bytes that fit; returns their count.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let room = &mut self.bytes[self.length..];
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.length += count;
        count
    }

    fn move_from(&mut self, from: &mut RelayFrame) {
        self.length = 0;
        self.add(&from.bytes[..from.length]);
        from.length = 0;
    }
}

/// One node's state of the console relay.
pub struct ConsoleRelay {
    rank: u16,
    /// The line towards the console, or the console itself.
    line_up: usize,
    /// Output of the program.
    own: RelayFrame,
    /// A neighbour's record to forward.
    through: RelayFrame,
    out: RelayFrame,
    is_under_way: bool,
    /// The line had no free space for it.
    is_unsent: bool,
    number: u8,
    repeats: u32,
    sent_ns: u64,
    own_is_next: bool,
    /// The next own record contains memory. It alternates with output, which a program may print without end.
    memory_is_next: bool,
    /// By line: the last sequence number received.
    heard: [Option<u8>; 6],
    /// By line: the number of a record that was rejected for lack of space.
    refused: [Option<u8>; 6],
    /// The line whose record was requested last.
    asked: usize,
    /// There is space for a neighbour's record, and none was requested yet.
    has_place: bool,
    /// Memory to send, each range from its end to its start.
    parts: Vec<MemoryRange, PARTS>,
    /// Range of the node's account.
    account: MemoryRange,
    /// Ranges sent last and to be repeated: the account, after the memory that explains the node's state.
    shown: Vec<MemoryRange, PARTS>,
    /// Time of the last repetition.
    shown_ns: u64,
    /// The account has changed since then.
    is_stale: bool,
    interval_ns: u64,
}

impl ConsoleRelay {
    /// Creates the state of this rank, in a machine of `nodes` nodes whose console transmits `baud` bits per second.
    pub fn new(rank: u16, line_up: usize, account: MemoryRange, nodes: u32, baud: u32) -> Self {
        Self {
            rank,
            line_up,
            own: RelayFrame::empty(),
            through: RelayFrame::empty(),
            out: RelayFrame::empty(),
            is_under_way: false,
            is_unsent: false,
            number: 0,
            repeats: 0,
            sent_ns: 0,
            own_is_next: true,
            memory_is_next: false,
            heard: [None; 6],
            refused: [None; 6],
            asked: 0,
            has_place: false,
            parts: Vec::new(),
            account,
            shown: Vec::new(),
            shown_ns: 0,
            is_stale: false,
            interval_ns: interval_ns(nodes, (account.end - account.start) as usize, baud),
        }
    }

    /// Returns the line towards the console.
    pub fn line_up(&self) -> usize {
        self.line_up
    }

    /// Accepts the program's output as far as there is space; returns the number of bytes accepted.
    pub fn print(&mut self, stream: OutputStream, bytes: &[u8]) -> usize {
        let header = self.header(stream as u8);
        if bytes.is_empty() {
            return 0;
        }
        if self.own.length == 0 {
            self.own.add(&header);
        } else if self.own.bytes[HEADER - 1] != stream as u8 {
            return 0;
        }
        self.own.add(bytes)
    }

    /// Records that the node's account has changed. It will be sent soon.
    pub fn changed(&mut self) {
        self.is_stale = true;
    }

    /// Sends these ranges now, in this order and followed by the account, instead of pending ones. Repeats them from
    /// now on, because the console's reader may start later.
    pub fn show(&mut self, parts: &[MemoryRange], now_ns: u64) {
        self.shown.clear();
        for part in parts.iter().take(PARTS - 1).chain([&self.account]) {
            let _ = self.shown.push(*part);
        }
        self.show_again(now_ns);
    }

    fn show_again(&mut self, now_ns: u64) {
        self.parts.clone_from(&self.shown);
        self.shown_ns = now_ns;
        self.is_stale = false;
    }

    /// Returns the time of the next repetition.
    fn again_ns(&self) -> u64 {
        let intervals = if self.is_stale { 1 } else { UNCHANGED_INTERVALS };
        let wait = self.interval_ns.saturating_mul(intervals);
        self.shown_ns.saturating_add(wait)
    }

    /// Returns whether everything has been sent and acknowledged.
    pub fn is_done(&self) -> bool {
        !self.is_under_way && self.own.length == 0 && self.through.length == 0 && self.parts.is_empty()
    }

    /// Handles a frame of the relay received on a line.
    pub fn on_frame(&mut self, line: usize, frame: &[u8], now_ns: u64, ground: &mut impl RelayHost) {
        match *frame {
            [ANSWER, next] if line == self.line_up && self.is_under_way => {
                if next == after(self.number) {
                    self.is_under_way = false;
                    self.number = next;
                }
            }
            // The number must match: requests for the previous record may be duplicated, and each would duplicate this
            // record.
            [ASK, number] if line == self.line_up => {
                self.is_unsent |= self.is_under_way && number == self.number;
            }
            [RECORD, number, ..] if line != self.line_up => self.pass(line, number, frame, ground),
            _ => return,
        }
        self.advance(now_ns, ground);
    }

    /// Accepts a neighbour's record, if there is space for it.
    fn pass(&mut self, line: usize, number: u8, frame: &[u8], ground: &mut impl RelayHost) {
        let (Some(heard), Some(refused)) = (self.heard.get_mut(line), self.refused.get_mut(line)) else {
            return;
        };
        if *heard != Some(number) {
            if self.through.length > 0 {
                *refused = Some(number);
                return;
            }
            *heard = Some(number);
            *refused = None;
            self.through.add(frame);
            self.has_place = false;
        }
        // A lost acknowledgement is sent again when the record is retransmitted.
        let _ = ground.send(line, &answer(number));
    }

    /// Sends pending frames. Must be called after output, a received frame or a change, when a line has free space
    /// again, and at the time that [`ConsoleRelay::next_ns`] returns.
    pub fn advance(&mut self, now_ns: u64, ground: &mut impl RelayHost) {
        let has_some = self.is_under_way || self.choose(now_ns, ground);
        if self.has_place {
            self.ask(ground);
        }
        if !has_some {
            return;
        }
        let is_late = now_ns >= self.repeat_ns();
        if self.is_unsent || is_late {
            let has_room = ground.send(self.line_up, &self.out.bytes[..self.out.length]);
            self.is_unsent = !has_room;
            if has_room || is_late {
                self.sent_ns = now_ns;
                self.repeats += u32::from(is_late);
            }
        }
    }

    fn repeat_ns(&self) -> u64 {
        self.sent_ns
            .saturating_add(FIRST_REPEAT_NS << self.repeats.min(DOUBLINGS))
    }

    /// Returns the time of the next call of [`ConsoleRelay::advance`] if no event happens before.
    pub fn next_ns(&self) -> u64 {
        if self.is_under_way {
            self.repeat_ns()
        } else {
            self.again_ns()
        }
    }

    fn header(&self, kind: u8) -> [u8; HEADER] {
        let [low, high] = self.rank.to_le_bytes();
        [RECORD, 0, low, high, kind]
    }

    /// Selects the next record to send; returns false if there is none.
    fn choose(&mut self, now_ns: u64, ground: &mut impl RelayHost) -> bool {
        if self.parts.is_empty() && now_ns >= self.again_ns() {
            self.show_again(now_ns);
        }
        let has_own = self.own.length > 0 || !self.parts.is_empty();
        if self.through.length > 0 && !(has_own && self.own_is_next) {
            self.out.move_from(&mut self.through);
            self.own_is_next = true;
            self.has_place = true;
        } else if has_own {
            self.own_is_next = false;
            let is_memory = match (self.own.length, self.parts.is_empty()) {
                (0, _) => true,
                (_, true) => false,
                _ => self.memory_is_next,
            };
            self.memory_is_next = !is_memory;
            if is_memory {
                self.take_memory(ground)
            } else {
                self.out.move_from(&mut self.own)
            }
        } else {
            return false;
        }
        self.out.bytes[1] = self.number;
        (self.is_under_way, self.is_unsent) = (true, true);
        (self.sent_ns, self.repeats) = (now_ns, 0);
        true
    }

    /// Requests one of the neighbours' rejected records, in round robin order, because there is space for one.
    fn ask(&mut self, ground: &mut impl RelayHost) {
        let lines = self.refused.len();
        for line in (1..=lines).map(|more| (self.asked + more) % lines) {
            if let Some(number) = self.refused[line]
                && ground.send(line, &[ASK, number])
            {
                self.refused[line] = None;
                self.asked = line;
                self.has_place = false;
                return;
            }
        }
    }

    /// Prepares the last block of the first range as the next record.
    fn take_memory(&mut self, ground: &impl RelayHost) {
        let header = self.header(MEMORY);
        self.out.length = 0;
        let Some(part) = self.parts.first_mut() else {
            return;
        };
        let at = part.end.saturating_sub(BLOCK).max(part.start);
        let count = part.end.saturating_sub(at) as usize;
        part.end = at;
        if at == part.start {
            self.parts.remove(0);
        }
        self.out.add(&header);
        self.out.add(&at.to_le_bytes());
        let begin = self.out.length;
        ground.read(at, &mut self.out.bytes[begin..begin + count]);
        self.out.length += count;
    }
}

#[cfg(test)]
mod tests;
