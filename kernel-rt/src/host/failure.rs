//! Why a node has failed: in numbers on the node, in words where people read it.
//!
//! A node has no sentences for what can go wrong, nor what puts numbers into them: it leaves a *record* on its blackboard,
//! by [`Failure::write`]. Whoever reads the blackboard with this library turns it back into the [`Failure`]
//! ([`Failure::read`]), whose words stand here and with the types that it is made of. A process of this machine writes
//! the words at once.
//!
//! A record is a sequence of little-endian numbers of 64 bits: the node's place, the kind of failure, what belongs to it.
//! Texts, which come last, are their length in bytes and as many bytes. The last text is cut where it is too long for the
//! record; others are the kernel's, and short.
#![forbid(unsafe_code)]

use core::fmt;

use mpi_adi::kernel::{Heap, MpiError, Told};
use net_torus::coord::{Coord, Direction, Rank};
use net_torus::reliable::ReliableError;
use net_torus::router::ConfigError;

use super::blackboard::{MESSAGE_BYTES, cut};
use super::personality::{OtherMatching, ParseError};
use crate::board::device::NoDevice;
use crate::board::device_tree::TreeError;
use crate::board::stm32f405::memory::NoRoom;
use crate::fault::{NodeName, Report};
use crate::mem::TooSmall;

/// What is in front of a failure's record in the log, and on the console of a node that no tool looks after.
pub const LOGGED: &str = "failed: ";

/// A node's failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure<'a> {
    /// Which node's; `None` before it knows who it is.
    pub place: Option<(Rank, Coord)>,
    /// Why it failed.
    pub why: Why<'a>,
}

/// Why a node failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why<'a> {
    /// What the program did, in words.
    Words(&'a str),
    /// A panic of an image that has no words for it.
    Panic,
    /// A trap.
    Fault(Report),
    /// The program called MPI_Abort with this status.
    MpiAbort(i32),
    /// The program ended with this status, and without MPI_Finalize.
    NotFinalized(i32),
    /// An error under MPI_ERRORS_ARE_FATAL.
    Mpi(MpiError<'a>),
    /// The neighbour in this direction does not answer any more.
    LinkLost {
        /// Where it is.
        direction: Direction,
        /// The links have other ways, and it answers on none.
        any_way: bool,
    },
    /// A link has given up.
    DeadLink,
    /// The kernel could not start.
    Boot(Boot<'a>),
}

/// Why a kernel could not start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Boot<'a> {
    /// What only some images look at, in words.
    Words(&'a str),
    /// The device tree is not as it must be.
    Tree(TreeError),
    /// The boot arguments are not.
    Arguments(ParseError<'a>),
    /// The image has another matching engine than the host means.
    Matching(OtherMatching<'a>),
    /// The machine's memory cannot be divided into so many nodes of this size.
    Nodes {
        /// How many.
        nodes: u32,
        /// Bytes of each.
        bytes: u64,
    },
    /// A board of one node is to carry several.
    NoBox,
    /// The node's place is not of the machine.
    Outside,
    /// The memory is too small.
    TooSmall(TooSmall),
    /// The board's memory is too small.
    NoRoom(NoRoom),
    /// The heap is used up.
    OutOfMemory,
    /// The device of a slot could not be brought up.
    Slot(u32, DeviceError),
    /// There is no memory for a link.
    NoFrames(u32),
    /// A neighbour is in another instance, and this one's doorbell, of this number, is missing.
    NoDoorbell(u32),
    /// Router and links do not go together.
    Router(ConfigError),
    /// A link cannot be made reliable.
    Reliable(ReliableError),
    /// There is no MPI device.
    Device(NoDevice),
    /// There are too many nodes for a serial console.
    NoConsole,
}

/// Why a device could not be brought up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceError {
    /// The slot speaks another version than 2: QEMU needs `-global virtio-mmio.force-legacy=false`.
    Transport,
    /// The device lacks the modern interface.
    Refused,
    /// The device's queue is missing or too small, or there is no memory for it.
    Queue,
    /// The slot's interrupt is none of the interrupt controller's.
    Interrupt,
}

impl DeviceError {
    const ALL: [Self; 4] = [Self::Transport, Self::Refused, Self::Queue, Self::Interrupt];
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transport => {
                "its transport is not version 2 (QEMU: -global virtio-mmio.force-legacy=false)"
            }
            Self::Refused => {
                "it lacks a feature that this kernel needs (a console: more than one port)"
            }
            Self::Queue => "its queue is missing or too small",
            Self::Interrupt => "it has no usable interrupt",
        })
    }
}

impl core::error::Error for DeviceError {}

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It has the name in its own words.
        if let Why::Mpi(error) = &self.why {
            return error.fmt(f);
        }
        write!(f, "{}: {}", NodeName(self.place), self.why)
    }
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Panic => f.write_str("panicked"),
            Self::Fault(report) => report.fmt(f),
            Self::MpiAbort(status) => write!(f, "MPI_Abort was called with status {status}"),
            Self::NotFinalized(status) => write!(
                f,
                "the program ended with status {status} without MPI_Finalize; others may be waiting for it"
            ),
            Self::Mpi(error) => error.fmt(f),
            Self::LinkLost { direction, any_way } => {
                let name = direction.name();
                write!(
                    f,
                    "the link {name} is dead: the neighbour there does not answer"
                )?;
                if *any_way {
                    f.write_str(", and neither does it any other way")?;
                }
                f.write_str("; look at its wires and at the neighbour")
            }
            Self::DeadLink => f.write_str("a link is dead"),
            Self::Boot(why) => write!(f, "cannot start: {why}"),
        }
    }
}

impl fmt::Display for Boot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Tree(why) => why.fmt(f),
            Self::Arguments(why) => why.fmt(f),
            Self::Matching(why) => why.fmt(f),
            Self::Nodes { nodes, bytes } => write!(
                f,
                "{nodes} nodes of {bytes} bytes do not fit the machine's memory, or the program's image not such a node"
            ),
            Self::NoBox => f.write_str("this board carries one node, no box of them"),
            Self::Outside => f.write_str("coordinates outside the torus"),
            Self::TooSmall(why) => why.fmt(f),
            Self::NoRoom(why) => why.fmt(f),
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::Slot(slot, why) => write!(f, "the device in virtio slot {slot}: {why}"),
            Self::NoFrames(slot) => write!(f, "no frames for link {slot}"),
            Self::NoDoorbell(number) => write!(
                f,
                "a neighbour is in another instance, and PCI slot 1 has no ivshmem-doorbell of number {number}"
            ),
            Self::Router(why) => why.fmt(f),
            Self::Reliable(why) => why.fmt(f),
            Self::Device(why) => why.fmt(f),
            Self::NoConsole => f.write_str("a console is for 65,536 nodes at most"),
        }
    }
}

macro_rules! from {
    ($($why:ty => $variant:ident;)*) => {
        $(impl<'a> From<$why> for Boot<'a> {
            fn from(why: $why) -> Self {
                Self::$variant(why)
            }
        })*
    };
}

from! {
    TreeError => Tree;
    ParseError<'a> => Arguments;
    OtherMatching<'a> => Matching;
    TooSmall => TooSmall;
    NoRoom => NoRoom;
    ConfigError => Router;
    ReliableError => Reliable;
    NoDevice => Device;
}

/// A failure in numbers, as it is written.
pub struct Record {
    bytes: [u8; MESSAGE_BYTES],
    length: usize,
}

impl Record {
    const fn new() -> Self {
        Self {
            bytes: [0; MESSAGE_BYTES],
            length: 0,
        }
    }

    /// What has been written.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    #[inline(never)]
    fn put(&mut self, bytes: &[u8]) {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        for (place, byte) in room.iter_mut().zip(bytes) {
            *place = *byte;
            self.length += 1;
        }
    }

    #[inline(never)]
    pub(crate) fn number(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    #[inline(never)]
    pub(crate) fn text(&mut self, text: &str) {
        let room = MESSAGE_BYTES.saturating_sub(self.length + size_of::<u64>());
        self.bytes_of(cut(text, room).as_bytes());
    }

    /// Text that may be none, cut anywhere.
    #[inline(never)]
    pub(crate) fn bytes_of(&mut self, text: &[u8]) {
        let room = MESSAGE_BYTES.saturating_sub(self.length + size_of::<u64>());
        let text = text.get(..room).unwrap_or(text);
        self.number(text.len() as u64);
        self.put(text);
    }
}

/// A record that is read. Nothing in it is trusted.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// A number of fewer bits.
    pub(crate) fn small<N: TryFrom<u64>>(&mut self) -> Option<N> {
        self.number()?.try_into().ok()
    }

    /// One of these, by its place among them.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.small::<usize>()?).copied()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let (text, rest) = { self.small() }.and_then(|length| self.0.split_at_checked(length))?;
        self.0 = rest;
        Some(text)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes()?).ok()
    }
}

/// The node's place in one number: none, or rank, x, y and z above a bit that says that there is one.
fn place_number(place: Option<(Rank, Coord)>) -> u64 {
    place.map_or(0, |(rank, Coord { x, y, z })| {
        u64::from(rank) << 32 | u64::from(u32::from_le_bytes([1, x, y, z]))
    })
}

fn read_place(number: u64) -> Option<(Rank, Coord)> {
    let [is_there, x, y, z] = (number as u32).to_le_bytes();
    (is_there != 0).then_some(((number >> 32) as Rank, Coord { x, y, z }))
}

// The kinds of failure.
const WORDS: u64 = 0;
const PANIC: u64 = 1;
const FAULT: u64 = 2;
const MPI_ABORT: u64 = 3;
const NOT_FINALIZED: u64 = 4;
const MPI: u64 = 5;
const LINK_LOST: u64 = 6;
const DEAD_LINK: u64 = 7;
const BOOT_WORDS: u64 = 8;
const TREE: u64 = 9;
const ARGUMENTS: u64 = 10;
const MATCHING: u64 = 11;
const NODES: u64 = 12;
const NO_BOX: u64 = 13;
const OUTSIDE: u64 = 14;
const TOO_SMALL: u64 = 15;
const NO_ROOM: u64 = 16;
const OUT_OF_MEMORY: u64 = 17;
const SLOT: u64 = 18;
const NO_FRAMES: u64 = 19;
const NO_DOORBELL: u64 = 20;
const ROUTER: u64 = 21;
const RELIABLE: u64 = 22;
const NO_DEVICE_MEMORY: u64 = 23;
const NO_DEVICE_PLACE: u64 = 24;
const NO_CONSOLE: u64 = 25;

impl<'a> Failure<'a> {
    /// The failure as a record.
    pub fn write(&self) -> Record {
        let mut record = Record::new();
        record.number(place_number(self.place));
        self.why.write(&mut record);
        record
    }

    /// The failure that a node has left as this record; `None` when it makes no sense.
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let reader = &mut Reader(record);
        Some(Self {
            place: read_place(reader.number()?),
            why: Why::read(reader)?,
        })
    }
}

impl<'a> Why<'a> {
    fn write(&self, record: &mut Record) {
        match *self {
            Self::Words(words) => {
                record.number(WORDS);
                record.text(words);
            }
            Self::Panic => record.number(PANIC),
            Self::Fault(report) => {
                record.number(FAULT);
                report.write(record);
            }
            Self::MpiAbort(status) => {
                record.number(MPI_ABORT);
                record.number(status as u64);
            }
            Self::NotFinalized(status) => {
                record.number(NOT_FINALIZED);
                record.number(status as u64);
            }
            Self::Mpi(error) => {
                record.number(MPI);
                write_mpi(&error, record);
            }
            Self::LinkLost { direction, any_way } => {
                record.number(LINK_LOST);
                record.number(direction as u64);
                record.number(any_way.into());
            }
            Self::DeadLink => record.number(DEAD_LINK),
            Self::Boot(why) => why.write(record),
        }
    }

    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let kind = reader.number()?;
        Some(match kind {
            WORDS => Self::Words(reader.text()?),
            PANIC => Self::Panic,
            FAULT => Self::Fault(Report::read(reader)?),
            MPI_ABORT => Self::MpiAbort(reader.number()? as i32),
            NOT_FINALIZED => Self::NotFinalized(reader.number()? as i32),
            MPI => Self::Mpi(read_mpi(reader)?),
            LINK_LOST => Self::LinkLost {
                direction: reader.one_of(&Direction::ALL)?,
                any_way: reader.number()? != 0,
            },
            DEAD_LINK => Self::DeadLink,
            _ => Self::Boot(Boot::read(kind, reader)?),
        })
    }
}

fn write_mpi(error: &MpiError<'_>, record: &mut Record) {
    record.number(place_number(Some((error.rank, error.here))));
    record.number(error.told.kind.into());
    for number in error.told.numbers {
        record.number(number);
    }
    // A heap of no bytes could not have failed.
    let heap = error.heap.unwrap_or(Heap { bytes: 0, used: 0 });
    record.number(heap.bytes as u64);
    record.number(heap.used as u64);
    record.number(error.said.is_some().into());
    record.text(error.function);
    record.text(error.told.words);
    if let Some(said) = error.said {
        record.text(said);
    }
}

fn read_mpi<'a>(reader: &mut Reader<'a>) -> Option<MpiError<'a>> {
    let (rank, here) = read_place(reader.number()?)?;
    let kind = reader.small()?;
    let numbers = [reader.number()?, reader.number()?, reader.number()?];
    let (bytes, used) = (reader.small()?, reader.small()?);
    let has_said = reader.number()? != 0;
    let (function, words) = (reader.text()?, reader.text()?);
    Some(MpiError {
        rank,
        here,
        function,
        told: Told {
            kind,
            numbers,
            words,
        },
        heap: (bytes != 0).then_some(Heap { bytes, used }),
        said: match has_said {
            true => Some(reader.text()?),
            false => None,
        },
    })
}

impl<'a> Boot<'a> {
    fn write(&self, record: &mut Record) {
        match *self {
            Self::Words(words) => {
                record.number(BOOT_WORDS);
                record.text(words);
            }
            Self::Tree(why) => {
                record.number(TREE);
                record.number(why as u64);
            }
            Self::Arguments(why) => {
                record.number(ARGUMENTS);
                why.write(record);
            }
            Self::Matching(OtherMatching { has, asked }) => {
                record.number(MATCHING);
                record.bytes_of(has);
                record.bytes_of(asked);
            }
            Self::Nodes { nodes, bytes } => {
                record.number(NODES);
                record.number(nodes.into());
                record.number(bytes);
            }
            Self::NoBox => record.number(NO_BOX),
            Self::Outside => record.number(OUTSIDE),
            Self::TooSmall(TooSmall {
                memory,
                least,
                image,
                mpi,
            }) => {
                record.number(TOO_SMALL);
                for bytes in [memory, least, image, mpi] {
                    record.number(bytes);
                }
            }
            Self::NoRoom(NoRoom {
                image,
                kernel,
                mpi,
                tables,
            }) => {
                record.number(NO_ROOM);
                for bytes in [image, kernel, mpi, tables] {
                    record.number(bytes);
                }
            }
            Self::OutOfMemory => record.number(OUT_OF_MEMORY),
            Self::Slot(slot, why) => {
                record.number(SLOT);
                record.number(slot.into());
                record.number(why as u64);
            }
            Self::NoFrames(slot) => {
                record.number(NO_FRAMES);
                record.number(slot.into());
            }
            Self::NoDoorbell(number) => {
                record.number(NO_DOORBELL);
                record.number(number.into());
            }
            Self::Router(why) => {
                record.number(ROUTER);
                let (kind, links) = match why {
                    ConfigError::Size => (0, 0),
                    ConfigError::Memory => (1, 0),
                    ConfigError::Outside => (2, 0),
                    ConfigError::Links(links) => (3, links),
                    ConfigError::Mtu => (4, 0),
                };
                record.number(kind);
                record.number(links.into());
            }
            Self::Reliable(why) => {
                record.number(RELIABLE);
                record.number((why == ReliableError::Mtu).into());
            }
            Self::Device(NoDevice::Memory(bytes)) => {
                record.number(NO_DEVICE_MEMORY);
                record.number(bytes);
            }
            Self::Device(NoDevice::Place { rank, peers }) => {
                record.number(NO_DEVICE_PLACE);
                record.number(rank.into());
                record.number(peers.into());
            }
            Self::NoConsole => record.number(NO_CONSOLE),
        }
    }

    fn read(kind: u64, reader: &mut Reader<'a>) -> Option<Self> {
        Some(match kind {
            BOOT_WORDS => Self::Words(reader.text()?),
            TREE => Self::Tree(reader.one_of(&TreeError::ALL)?),
            ARGUMENTS => Self::Arguments(ParseError::read(reader)?),
            MATCHING => Self::Matching(OtherMatching {
                has: reader.bytes()?,
                asked: reader.bytes()?,
            }),
            NODES => Self::Nodes {
                nodes: reader.small()?,
                bytes: reader.number()?,
            },
            NO_BOX => Self::NoBox,
            OUTSIDE => Self::Outside,
            TOO_SMALL => Self::TooSmall(TooSmall {
                memory: reader.number()?,
                least: reader.number()?,
                image: reader.number()?,
                mpi: reader.number()?,
            }),
            NO_ROOM => Self::NoRoom(NoRoom {
                image: reader.number()?,
                kernel: reader.number()?,
                mpi: reader.number()?,
                tables: reader.number()?,
            }),
            OUT_OF_MEMORY => Self::OutOfMemory,
            SLOT => Self::Slot(reader.small()?, reader.one_of(&DeviceError::ALL)?),
            NO_FRAMES => Self::NoFrames(reader.small()?),
            NO_DOORBELL => Self::NoDoorbell(reader.small()?),
            ROUTER => {
                let (kind, links) = (reader.number()?, reader.small()?);
                Self::Router(match kind {
                    0 => ConfigError::Size,
                    1 => ConfigError::Memory,
                    2 => ConfigError::Outside,
                    3 => ConfigError::Links(links),
                    4 => ConfigError::Mtu,
                    _ => return None,
                })
            }
            RELIABLE => Self::Reliable(match reader.number()? {
                0 => ReliableError::Memory,
                _ => ReliableError::Mtu,
            }),
            NO_DEVICE_MEMORY => Self::Device(NoDevice::Memory(reader.number()?)),
            NO_DEVICE_PLACE => Self::Device(NoDevice::Place {
                rank: reader.small()?,
                peers: reader.small()?,
            }),
            NO_CONSOLE => Self::NoConsole,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Cause, Fault, Meaning};

    const PLACE: Option<(Rank, Coord)> = Some((5, Coord { x: 1, y: 0, z: 255 }));

    fn mpi(words: &'static str, said: Option<&'static str>) -> Why<'static> {
        Why::Mpi(MpiError {
            rank: 5,
            here: Coord { x: 1, y: 0, z: 255 },
            function: "MPI_Send",
            told: mpi_adi::Error::Argument { what: words }.told(""),
            heap: None,
            said,
        })
    }

    fn fault(cause: Cause) -> Why<'static> {
        Why::Fault(Report {
            fault: Fault {
                cause,
                code: 1,
                pc: 2,
                address: u64::MAX,
                sp: 3,
                ra: 4,
            },
            meaning: Meaning::Outside,
            stack_bytes: 512 << 10,
        })
    }

    /// One of each kind that has words, and what else has a number.
    fn all() -> Vec<Why<'static>> {
        let boot = [
            Boot::Words("two boards are one"),
            Boot::Matching(OtherMatching {
                has: b"list",
                asked: b"fourd",
            }),
            Boot::Nodes {
                nodes: 8,
                bytes: 1 << 40,
            },
            Boot::NoBox,
            Boot::Outside,
            Boot::TooSmall(TooSmall {
                memory: 1,
                least: 2,
                image: 3,
                mpi: u64::MAX,
            }),
            Boot::NoRoom(NoRoom {
                image: 1,
                kernel: 2,
                mpi: 3,
                tables: 4,
            }),
            Boot::OutOfMemory,
            Boot::NoFrames(3),
            Boot::NoDoorbell(u32::MAX),
            Boot::Reliable(ReliableError::Memory),
            Boot::Reliable(ReliableError::Mtu),
            Boot::Device(NoDevice::Memory(1 << 33)),
            Boot::Device(NoDevice::Place { rank: 9, peers: 8 }),
            Boot::NoConsole,
        ];
        let trees = TreeError::ALL.map(Boot::Tree);
        let devices = DeviceError::ALL.map(|why| Boot::Slot(2, why));
        let routers = [
            ConfigError::Size,
            ConfigError::Memory,
            ConfigError::Outside,
            ConfigError::Links(0b10_0001),
            ConfigError::Mtu,
        ];
        let arguments = ParseError::some_of_each(b"word").into_iter();
        let boot = boot.into_iter().chain(trees).chain(devices);
        let boot = { boot.chain(routers.map(Boot::Router)) }.chain(arguments.map(Boot::Arguments));
        let others = [
            Why::Words("the program called abort()"),
            Why::Panic,
            fault(Cause::StoreAccess),
            fault(Cause::Other(77)),
            Why::MpiAbort(-1),
            Why::NotFinalized(0),
            mpi("no such thing", None),
            mpi("no such thing", Some("own words")),
            Why::DeadLink,
        ];
        let lost = Direction::ALL.map(|direction| Why::LinkLost {
            direction,
            any_way: direction == Direction::ZMinus,
        });
        others
            .into_iter()
            .chain(lost)
            .chain(boot.map(Why::Boot))
            .collect()
    }

    #[test]
    fn every_failure_is_read_as_it_was_written() {
        for why in all() {
            for place in [None, PLACE] {
                let failure = Failure { place, why };
                let record = failure.write();
                assert_eq!(Failure::read(record.bytes()), Some(failure));
            }
        }
    }

    #[test]
    fn records_that_are_cut_or_damaged_are_refused_or_read_as_something() {
        let mut refused = 0;
        for why in all() {
            let record = Failure { place: PLACE, why }.write();
            let bytes = record.bytes();
            for length in 0..bytes.len() {
                assert_eq!(Failure::read(&bytes[..length]), None, "{why:?}");
            }
            for at in 0..bytes.len() {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.to_vec();
                    damaged[at] = value;
                    match Failure::read(&damaged) {
                        Some(failure) => assert!(!failure.to_string().is_empty()),
                        None => refused += 1,
                    }
                }
            }
        }
        assert!(refused > 1000, "{refused}");
    }

    #[test]
    fn texts_that_are_too_long_are_cut_between_two_characters() {
        let long: &str = "ä".repeat(MESSAGE_BYTES).leak();
        for why in [
            Why::Words(long),
            mpi(long, None),
            mpi("short", Some(long)),
            Why::Boot(Boot::Arguments(ParseError::Unknown(long.as_bytes()))),
        ] {
            let failure = Failure { place: PLACE, why };
            let record = failure.write();
            let read = Failure::read(record.bytes())
                .expect("a failure")
                .to_string();
            let all = failure.to_string();
            let same = read
                .bytes()
                .zip(all.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            assert!(
                same >= MESSAGE_BYTES - 130 && all.len() > read.len(),
                "{same}: {read}"
            );
        }
    }

    #[test]
    fn a_failure_has_its_nodes_name() {
        let text = |place, why| Failure { place, why }.to_string();
        assert_eq!(
            text(PLACE, Why::DeadLink),
            "rank 5 at (1,0,255): a link is dead"
        );
        assert_eq!(
            text(None, Why::Boot(Boot::OutOfMemory)),
            "a node that does not know its rank yet: cannot start: out of memory"
        );
        assert_eq!(
            text(PLACE, mpi("no such thing", None)),
            "rank 5 at (1,0,255): MPI_Send failed with MPI_ERR_ARG: invalid argument: no such thing"
        );
    }
}
