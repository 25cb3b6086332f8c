//! How what the nodes print, and how they fare, comes to the one board of a machine that has a serial console: from
//! neighbour to neighbour, by the links' lines, below the torus. A node that has failed, whose router and device are in
//! the middle of something, still gets its last words out.
//!
//! ```text
//!   node (2,0,0) -- line x- --> node (1,0,0) -- line x- --> node (0,0,0) -- console --> `midplane attach`
//!      own                           own, through                  own, through
//! ```
//! Each node but the console's has one line up: in the first dimension in which it is not yet at the console's place, the
//! shorter way ([`up`]). A record is a frame of the line's own kind ([`serial`](super::serial)):
//!
//! ```text
//!  byte 0     0x43                                               an answer: 0x41               there is room: 0x51
//!  byte 1     number, counting from 0, and from 1 again after 255            the number behind it         the number
//!  byte 2-3   rank, little-endian
//!  byte 4     0: stdout, 1: stderr, 2: memory
//!  then       what was printed; or an offset in RAM, little-endian, in 4 bytes, and what stands there
//! ```
//! Each hop has one record under way, keeps it and repeats it until it is answered. So what a line loses is sent again,
//! and who has no room does not answer: the neighbour waits, up to the program that prints. Each node keeps a record of
//! its own, one that passes through, and the one under way; the two kinds take turns. Nothing waits for anything in the
//! other direction, so that what is at the console's node makes room for all.
//!
//! A number of 0 is that of the first record after a start: who hears it again without having heard another has heard
//! it before.
#![forbid(unsafe_code)]

use heapless::Vec;
use midplane_abi::outbox::Stream;
use net_torus::coord::{Coord, Direction, Shape};

use super::serial::MTU;

const RECORD: u8 = b'C';
const ANSWER: u8 = b'A';
const ASK: u8 = b'Q';
const MEMORY: u8 = 2;
/// Bytes in front of what was printed.
const HEADER: usize = 5;
/// Bytes of an offset.
const OFFSET: usize = 4;
/// Bytes of memory in a record at most.
const BLOCK: u32 = (MTU - HEADER - OFFSET) as u32;
/// Time until a record without an answer is first repeated, in nanoseconds.
pub const FIRST_REPEAT_NS: u64 = 20_000_000;
/// It doubles with each repetition so often: to more than a second.
const DOUBLINGS: u32 = 6;
/// What the console's line carries, in parts of what accounts of all nodes may take of it.
const ACCOUNTS_SHARE: u64 = 5;
/// Accounts are no more frequent than this.
const LEAST_INTERVAL_NS: u64 = 1_000_000_000;
/// Accounts that have not changed are so much less frequent.
const UNCHANGED_INTERVALS: u64 = 4;

/// Whether a frame of a line is the chain's.
pub fn is_of_chain(frame: &[u8]) -> bool {
    matches!(frame, [ANSWER | ASK, _] | [RECORD, _, _, _, _, ..])
}

/// What the end of the chain says to a record.
pub fn answer(number: u8) -> [u8; 2] {
    [ANSWER, after(number)]
}

/// The number after this one.
fn after(number: u8) -> u8 {
    number.checked_add(1).unwrap_or(1)
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said<'a> {
    /// The program has printed this.
    Printed(Stream, &'a [u8]),
    /// From this offset in RAM on stands this.
    Memory(u32, &'a [u8]),
}

/// A record as it comes out of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Its number on this line.
    pub number: u8,
    /// Whose it is.
    pub rank: u16,
    /// What it says.
    pub said: Said<'a>,
}

impl<'a> Record<'a> {
    /// Reads a frame; `None`: it is no record.
    pub fn read(frame: &'a [u8]) -> Option<Self> {
        let ([RECORD, number, low, high, kind], rest) = frame.split_first_chunk::<HEADER>()? else {
            return None;
        };
        let said = match *kind {
            0 => Said::Printed(Stream::Out, rest),
            1 => Said::Printed(Stream::Err, rest),
            MEMORY => {
                let (offset, bytes) = rest.split_first_chunk::<OFFSET>()?;
                Said::Memory(u32::from_le_bytes(*offset), bytes)
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

/// The way from `here` towards the console's node; `None`: this is it.
pub fn up(shape: &Shape, here: Coord, console: Coord) -> Option<Direction> {
    let (extents, wraps) = (shape.extents(), shape.wraps());
    let [here, there] = [here, console].map(|at| [at.x, at.y, at.z].map(u16::from));
    let dimension = (0..3).find(|d| here[*d] != there[*d])?;
    let extent = extents[dimension];
    let ahead = (there[dimension] + extent - here[dimension]) % extent;
    let plus = match wraps[dimension] {
        true => 2 * ahead <= extent,
        false => there[dimension] > here[dimension],
    };
    Some(Direction::ALL[2 * dimension + usize::from(!plus)])
}

/// What a chain's node stands on.
pub trait Ground {
    /// Sends a frame by a line; false: the line has no room now.
    fn send(&mut self, line: usize, frame: &[u8]) -> bool;

    /// Copies the node's memory from this offset on.
    fn read(&self, at: u32, out: &mut [u8]);
}

/// Bytes of RAM, by their offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The first.
    pub start: u32,
    /// Behind the last.
    pub end: u32,
}

/// Parts that a node sends at once, at most.
pub const PARTS: usize = 5;

struct Frame {
    bytes: [u8; MTU],
    length: usize,
}

impl Frame {
    const fn empty() -> Self {
        Self {
            bytes: [0; MTU],
            length: 0,
        }
    }

    /// Adds what there is room for; how much.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let room = &mut self.bytes[self.length..];
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.length += count;
        count
    }

    fn take(&mut self, from: &mut Frame) {
        self.length = 0;
        self.add(&from.bytes[..from.length]);
        from.length = 0;
    }
}

/// A node's part of the chain.
pub struct Chain {
    rank: u16,
    /// The line towards the console, or the console.
    line_up: usize,
    /// What the program has printed.
    own: Frame,
    /// A neighbour's record.
    through: Frame,
    /// The record under way.
    out: Frame,
    is_under_way: bool,
    /// The line had no room for it.
    is_unsent: bool,
    number: u8,
    repeats: u32,
    sent_ns: u64,
    own_is_next: bool,
    /// Of its own, memory: a program may print without end.
    memory_is_next: bool,
    /// By line: the number that was heard last.
    heard: [Option<u8>; 6],
    /// By line: the number of a record that found no room.
    refused: [Option<u8>; 6],
    /// The line that was asked for such a record last.
    asked: usize,
    /// There is room for a neighbour's record, for which none was asked yet.
    has_place: bool,
    /// Memory that is to be sent, each part from its end to its start.
    parts: Vec<Part, PARTS>,
    /// The node's account of itself.
    account: Part,
    /// What was shown last, and is shown again: the account, and before it what explains the node's state.
    shown: Vec<Part, PARTS>,
    /// When that was.
    shown_ns: u64,
    /// The account has changed since.
    is_stale: bool,
    interval_ns: u64,
}

impl Chain {
    /// The part of this rank, in a machine of so many nodes whose console carries `baud` bits in a second.
    pub fn new(rank: u16, line_up: usize, account: Part, (nodes, baud): (u32, u32)) -> Self {
        let bytes = u64::from(nodes) * u64::from(account.end - account.start);
        let all_ns = super::serial::line_ns(bytes as usize, baud);
        Self {
            rank,
            line_up,
            own: Frame::empty(),
            through: Frame::empty(),
            out: Frame::empty(),
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
            interval_ns: (ACCOUNTS_SHARE * all_ns).max(LEAST_INTERVAL_NS),
        }
    }

    /// The line towards the console.
    pub fn line_up(&self) -> usize {
        self.line_up
    }

    /// Takes what the program prints, as much as there is room for; how much.
    pub fn print(&mut self, stream: Stream, bytes: &[u8]) -> usize {
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

    /// The node's account of itself has changed. It goes up before long.
    pub fn changed(&mut self) {
        self.is_stale = true;
    }

    /// These parts go up now, in this order, instead of what was on its way; the account behind them. From now on they go
    /// up again and again: what reads the console may have been started after them.
    pub fn show(&mut self, parts: &[Part], now_ns: u64) {
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

    /// When what was shown is shown again.
    fn again_ns(&self) -> u64 {
        let intervals = if self.is_stale {
            1
        } else {
            UNCHANGED_INTERVALS
        };
        let wait = self.interval_ns.saturating_mul(intervals);
        self.shown_ns.saturating_add(wait)
    }

    /// Whether all has been sent and answered.
    pub fn is_done(&self) -> bool {
        !self.is_under_way
            && self.own.length == 0
            && self.through.length == 0
            && self.parts.is_empty()
    }

    /// A frame of the chain has come by a line.
    pub fn hear(&mut self, line: usize, frame: &[u8], now_ns: u64, ground: &mut impl Ground) {
        match *frame {
            [ANSWER, next] if line == self.line_up && self.is_under_way => {
                if next == after(self.number) {
                    self.is_under_way = false;
                    self.number = next;
                }
            }
            // Not the answer to the record before, of which there may be several: each would make two of this one.
            [ASK, number] if line == self.line_up => {
                self.is_unsent |= self.is_under_way && number == self.number;
            }
            [RECORD, number, ..] if line != self.line_up => self.pass(line, number, frame, ground),
            _ => return,
        }
        self.go_on(now_ns, ground);
    }

    /// Takes a neighbour's record, if there is room for it.
    fn pass(&mut self, line: usize, number: u8, frame: &[u8], ground: &mut impl Ground) {
        let (Some(heard), Some(refused)) = (self.heard.get_mut(line), self.refused.get_mut(line))
        else {
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
        // One that is lost is given again when the record comes again.
        let _ = ground.send(line, &answer(number));
    }

    /// Sends what is due. To be called when something has been printed, has come or has changed, when a line has room
    /// again, and at the time that [`Chain::next_ns`] tells.
    pub fn go_on(&mut self, now_ns: u64, ground: &mut impl Ground) {
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

    /// When [`Chain::go_on`] has something to do even if nothing happens before.
    pub fn next_ns(&self) -> u64 {
        match self.is_under_way {
            true => self.repeat_ns(),
            false => self.again_ns(),
        }
    }

    fn header(&self, kind: u8) -> [u8; HEADER] {
        let [low, high] = self.rank.to_le_bytes();
        [RECORD, 0, low, high, kind]
    }

    /// Chooses what is sent next; false: nothing.
    fn choose(&mut self, now_ns: u64, ground: &mut impl Ground) -> bool {
        if self.parts.is_empty() && now_ns >= self.again_ns() {
            self.show_again(now_ns);
        }
        let has_own = self.own.length > 0 || !self.parts.is_empty();
        if self.through.length > 0 && !(has_own && self.own_is_next) {
            self.out.take(&mut self.through);
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
            match is_memory {
                true => self.take_memory(ground),
                false => self.out.take(&mut self.own),
            }
        } else {
            return false;
        }
        self.out.bytes[1] = self.number;
        (self.is_under_way, self.is_unsent) = (true, true);
        (self.sent_ns, self.repeats) = (now_ns, 0);
        true
    }

    /// There is room for a neighbour's record: of those that found none, one is asked for, each in turn.
    fn ask(&mut self, ground: &mut impl Ground) {
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

    /// The last block of the first part is what is sent next.
    fn take_memory(&mut self, ground: &impl Ground) {
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
