//! Failures of a node: as numbers on the node, as text for readers.
//!
//! A node contains neither error messages nor the code to format them: it writes a *record* to its blackboard, by
//! [`Failure::write`]. A reader of the blackboard that uses this library converts it back to the [`Failure`]
//! ([`Failure::read`]); the message texts are here and with the types that it contains. Only the texts of MPI errors
//! belong to the device ([`MpiText`]). A Linux process writes the text directly.

use core::fmt::{self, Display as _, Write as _};

use net_torus::coord::{Coord, Direction, Rank};
use net_torus::reliable::ReliableError;
use net_torus::router::ConfigError;

use super::blackboard::{MessageSnapshot, MessageText};
use super::boot_error::{DeviceError, DeviceFailure, InsufficientMemory, MemoryTooSmall, TreeError};
use super::boot_parameters::{MatchingMismatch, RecordError};
use super::fault::{FaultReport, NodeName};
use super::record::{FailureRecord, MESSAGE_BYTES, NUMBERS, RecordFields, TEXTS};

/// Prefix of a failure record in the log, and on the console of a node without a tool.
pub const LOGGED: &str = "failed: ";

/// A node's failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure<'a> {
    /// The failed node; `None` before it knows its identity.
    pub place: Option<(Rank, Coord)>,
    /// The reason.
    pub why: FailureReason<'a>,
}

/// Reason of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureReason<'a> {
    /// The program's error, as text.
    Text(&'a str),
    /// A panic of an image without message texts.
    Panic,
    /// A trap.
    Fault(FaultReport),
    /// The program called MPI_Abort with this status.
    MpiAbort(i32),
    /// The program ended with this status, without MPI_Finalize.
    NotFinalized(i32),
    /// An error under MPI_ERRORS_ARE_FATAL.
    Mpi(MpiFailure<'a>),
    /// The neighbour in this direction no longer responds.
    LinkLost {
        /// Its direction.
        direction: Direction,
        /// The links support rerouting, and it responds on no route.
        any_way: bool,
    },
    /// The memory that the node's link in this direction shares with that neighbour was overwritten.
    LinkOverwritten {
        /// Direction of the link.
        direction: Direction,
        /// The neighbour.
        neighbour: (Rank, Coord),
    },
    /// The connection to that neighbour of another host was closed, or has changed data.
    ConnectionLost {
        /// Direction of the link.
        direction: Direction,
        /// The neighbour.
        neighbour: (Rank, Coord),
    },
    /// A link has given up.
    DeadLink,
    /// The kernel could not start.
    Boot(BootFailure<'a>),
}

/// An MPI error that ended the job, encoded by the library that raised it. Only that library can interpret the numbers
/// and texts; see [`MpiText`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpiFailure<'a> {
    /// The record's numbers.
    pub numbers: [u64; NUMBERS],
    /// The record's texts. The last is truncated to the record's free space.
    pub texts: [&'a str; TEXTS],
}

/// Writes the text of an MPI error, including the name of the node at these coordinates.
pub type MpiText = fn(Option<(Rank, Coord)>, &MpiFailure<'_>, &mut fmt::Formatter<'_>) -> fmt::Result;

/// Reason of a kernel's failed start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BootFailure<'a> {
    /// A check that only some images contain, as text.
    Text(&'a str),
    /// The device tree is invalid.
    Tree(TreeError),
    /// The boot parameters are invalid.
    Parameters(RecordError),
    /// The image's matching engine differs from the host's.
    Matching(MatchingMismatch<'a>),
    /// The machine's memory cannot be divided into this number of nodes of this size.
    Nodes {
        /// Number of nodes.
        nodes: u32,
        /// Bytes of each.
        bytes: u64,
    },
    /// Several nodes are specified for a board of one node.
    NoBox,
    /// The node's coordinates are outside the machine.
    Outside,
    /// The memory is too small.
    TooSmall(MemoryTooSmall),
    /// The board's memory is too small.
    NoSpace(InsufficientMemory),
    /// The heap is exhausted.
    OutOfMemory,
    /// The device of a slot could not be initialized.
    Slot(u32, DeviceError),
    /// There is no memory for a link.
    NoFrames(u32),
    /// A neighbour is in another instance, and this one's doorbell is missing; contains the instance's index.
    NoDoorbell(u32),
    /// Router and links do not match.
    Router(ConfigError),
    /// A link cannot be made reliable.
    Reliable(ReliableError),
    /// There is no MPI device.
    Device(DeviceFailure),
    /// There are too many nodes for a serial console.
    NoConsole,
}

/// A failure as text.
pub struct ErrorText<'a> {
    failure: Failure<'a>,
    mpi: MpiText,
}

impl fmt::Display for ErrorText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { place, why } = &self.failure;
        // The device's text includes the name.
        if let FailureReason::Mpi(error) = why {
            return (self.mpi)(*place, error, f);
        }
        write!(f, "{}: ", NodeName(*place))?;
        why.write_words(f)
    }
}

impl FailureReason<'_> {
    /// Writes the text of all reasons except MPI errors.
    fn write_words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(words) => f.write_str(words),
            Self::Panic => f.write_str("panicked"),
            Self::Fault(report) => report.fmt(f),
            Self::MpiAbort(status) => write!(f, "MPI_Abort was called with status {status}"),
            Self::NotFinalized(status) => write!(
                f,
                "the program ended with status {status} without MPI_Finalize; others may be waiting for it"
            ),
            Self::Mpi(_) => Ok(()),
            Self::LinkLost { direction, any_way } => {
                let name = direction.name();
                write!(f, "the link {name} is dead: the neighbour there does not answer")?;
                if *any_way {
                    f.write_str(", and neither does it any other way")?;
                }
                f.write_str("; look at its wires and at the neighbour")
            }
            Self::LinkOverwritten { direction, neighbour } => {
                let (name, there) = (direction.name(), NodeName(Some(*neighbour)));
                write!(
                    f,
                    "the link {name} to {there} is dead: a frame failed its seal or an index is wrong, as its memory was \
                     overwritten, by a wild store of this rank or of that neighbour; look for stores by bad pointers in both"
                )
            }
            Self::ConnectionLost { direction, neighbour } => {
                let (name, there) = (direction.name(), NodeName(Some(*neighbour)));
                write!(
                    f,
                    "the link {name} to {there} of another host is dead: its connection was closed, or has changed data; \
                     look at the network between the hosts"
                )
            }
            Self::DeadLink => f.write_str("a link is dead"),
            Self::Boot(why) => write!(f, "cannot start: {why}"),
        }
    }
}

impl fmt::Display for BootFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(words) => f.write_str(words),
            Self::Tree(why) => why.fmt(f),
            Self::Parameters(why) => why.fmt(f),
            Self::Matching(why) => why.fmt(f),
            Self::Nodes { nodes, bytes } => write!(
                f,
                "{nodes} nodes of {bytes} bytes do not fit the machine's memory, or the program's image not such a node"
            ),
            Self::NoBox => f.write_str("this board carries one node, no box of them"),
            Self::Outside => f.write_str("coordinates outside the torus"),
            Self::TooSmall(why) => why.fmt(f),
            Self::NoSpace(why) => why.fmt(f),
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
        $(impl<'a> From<$why> for BootFailure<'a> {
            fn from(why: $why) -> Self {
                Self::$variant(why)
            }
        })*
    };
}

from! {
    TreeError => Tree;
    RecordError => Parameters;
    MatchingMismatch<'a> => Matching;
    MemoryTooSmall => TooSmall;
    InsufficientMemory => NoSpace;
    ConfigError => Router;
    ReliableError => Reliable;
    DeviceFailure => Device;
}

/// Encodes the node's identity in one number: 0, or rank, x, y and z above a bit that marks its presence.
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
const PARAMETERS: u64 = 10;
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
const LINK_OVERWRITTEN: u64 = 26;
const CONNECTION_LOST: u64 = 27;

impl<'a> Failure<'a> {
    /// Encodes the failure as a record.
    pub fn write(&self) -> FailureRecord {
        let mut fields = self.why.fields();
        fields.place = place_number(self.place);
        fields.write()
    }

    /// Returns the failure as text, with MPI errors written by `mpi`.
    pub fn in_words(self, mpi: MpiText) -> ErrorText<'a> {
        ErrorText { failure: self, mpi }
    }

    /// Decodes a node's failure record; returns `None` if it is invalid.
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let fields = RecordFields::read(record)?;
        Some(Self {
            place: read_place(fields.place),
            why: FailureReason::from_fields(&fields)?,
        })
    }
}

/// Returns the text of a final message, truncated to the maximum size.
pub fn text_of(message: &MessageSnapshot, mpi: MpiText) -> heapless::String<MESSAGE_BYTES> {
    let record = match message {
        MessageSnapshot::Text(words) => return words.clone(),
        MessageSnapshot::Record(record) => record,
    };
    let mut text = MessageText::default();
    let _ = match Failure::read(record) {
        Some(failure) => write!(text, "{}", failure.in_words(mpi)),
        None => text.write_str("failed, and what it says of it makes no sense"),
    };
    text.0
}

impl<'a> FailureReason<'a> {
    fn fields(&self) -> RecordFields<'a> {
        let mut fields = RecordFields::default();
        let numbers = &mut fields.numbers;
        fields.kind = match *self {
            Self::Text(words) => {
                fields.texts[0] = words.as_bytes();
                WORDS
            }
            Self::Panic => PANIC,
            Self::Fault(report) => {
                *numbers = report.numbers();
                FAULT
            }
            Self::MpiAbort(status) => {
                numbers[0] = status as u64;
                MPI_ABORT
            }
            Self::NotFinalized(status) => {
                numbers[0] = status as u64;
                NOT_FINALIZED
            }
            Self::Mpi(error) => {
                *numbers = error.numbers;
                fields.texts = error.texts.map(str::as_bytes);
                MPI
            }
            Self::LinkLost { direction, any_way } => {
                numbers[0] = direction as u64;
                numbers[1] = any_way.into();
                LINK_LOST
            }
            Self::LinkOverwritten { direction, neighbour } => {
                numbers[0] = direction as u64;
                numbers[1] = place_number(Some(neighbour));
                LINK_OVERWRITTEN
            }
            Self::ConnectionLost { direction, neighbour } => {
                numbers[0] = direction as u64;
                numbers[1] = place_number(Some(neighbour));
                CONNECTION_LOST
            }
            Self::DeadLink => DEAD_LINK,
            Self::Boot(why) => return why.fields(),
        };
        fields
    }

    fn from_fields(fields: &RecordFields<'a>) -> Option<Self> {
        let numbers = &fields.numbers;
        Some(match fields.kind {
            WORDS => Self::Text(fields.text(0)?),
            PANIC => Self::Panic,
            FAULT => Self::Fault(FaultReport::from_numbers(fields)?),
            MPI_ABORT => Self::MpiAbort(numbers[0] as i32),
            NOT_FINALIZED => Self::NotFinalized(numbers[0] as i32),
            MPI => Self::Mpi(MpiFailure {
                numbers: *numbers,
                texts: [fields.text(0)?, fields.text(1)?, fields.text(2)?],
            }),
            LINK_LOST => Self::LinkLost {
                direction: fields.one_of(0, &Direction::ALL)?,
                any_way: numbers[1] != 0,
            },
            LINK_OVERWRITTEN => Self::LinkOverwritten {
                direction: fields.one_of(0, &Direction::ALL)?,
                neighbour: read_place(numbers[1])?,
            },
            CONNECTION_LOST => Self::ConnectionLost {
                direction: fields.one_of(0, &Direction::ALL)?,
                neighbour: read_place(numbers[1])?,
            },
            DEAD_LINK => Self::DeadLink,
            _ => Self::Boot(BootFailure::from_fields(fields)?),
        })
    }
}

impl<'a> BootFailure<'a> {
    fn fields(&self) -> RecordFields<'a> {
        let mut fields = RecordFields::default();
        let numbers = &mut fields.numbers;
        fields.kind = match *self {
            Self::Text(words) => {
                fields.texts[0] = words.as_bytes();
                BOOT_WORDS
            }
            Self::Tree(why) => {
                numbers[0] = why as u64;
                TREE
            }
            Self::Parameters(why) => {
                (numbers[0], numbers[1]) = why.parts();
                PARAMETERS
            }
            Self::Matching(MatchingMismatch { has, asked }) => {
                fields.texts = [has, asked, b""];
                MATCHING
            }
            Self::Nodes { nodes, bytes } => {
                numbers[0] = nodes.into();
                numbers[1] = bytes;
                NODES
            }
            Self::NoBox => NO_BOX,
            Self::Outside => OUTSIDE,
            Self::TooSmall(why) => {
                [numbers[0], numbers[1], numbers[2], numbers[3]] = [why.memory, why.least, why.image, why.mpi];
                TOO_SMALL
            }
            Self::NoSpace(why) => {
                [numbers[0], numbers[1], numbers[2], numbers[3]] = [why.image, why.kernel, why.mpi, why.tables];
                NO_ROOM
            }
            Self::OutOfMemory => OUT_OF_MEMORY,
            Self::Slot(slot, why) => {
                numbers[0] = slot.into();
                numbers[1] = why as u64;
                SLOT
            }
            Self::NoFrames(slot) => {
                numbers[0] = slot.into();
                NO_FRAMES
            }
            Self::NoDoorbell(number) => {
                numbers[0] = number.into();
                NO_DOORBELL
            }
            Self::Router(why) => {
                let (kind, links) = match why {
                    ConfigError::Size => (0, 0),
                    ConfigError::Memory => (1, 0),
                    ConfigError::Outside => (2, 0),
                    ConfigError::Links(links) => (3, links),
                    ConfigError::Mtu => (4, 0),
                };
                numbers[0] = kind;
                numbers[1] = links.into();
                ROUTER
            }
            Self::Reliable(why) => {
                numbers[0] = (why == ReliableError::Mtu).into();
                RELIABLE
            }
            Self::Device(DeviceFailure::Memory(bytes)) => {
                numbers[0] = bytes;
                NO_DEVICE_MEMORY
            }
            Self::Device(DeviceFailure::Rank { rank, peers }) => {
                numbers[0] = rank.into();
                numbers[1] = peers.into();
                NO_DEVICE_PLACE
            }
            Self::NoConsole => NO_CONSOLE,
        };
        fields
    }

    fn from_fields(fields: &RecordFields<'a>) -> Option<Self> {
        let [a, b, c, d, ..] = fields.numbers;
        Some(match fields.kind {
            BOOT_WORDS => Self::Text(fields.text(0)?),
            TREE => Self::Tree(fields.one_of(0, &TreeError::ALL)?),
            PARAMETERS => Self::Parameters(RecordError::from_parts(a, b)?),
            MATCHING => {
                let [has, asked, _] = fields.texts;
                Self::Matching(MatchingMismatch { has, asked })
            }
            NODES => Self::Nodes {
                nodes: fields.number(0)?,
                bytes: b,
            },
            NO_BOX => Self::NoBox,
            OUTSIDE => Self::Outside,
            TOO_SMALL => Self::TooSmall(MemoryTooSmall {
                memory: a,
                least: b,
                image: c,
                mpi: d,
            }),
            NO_ROOM => Self::NoSpace(InsufficientMemory {
                image: a,
                kernel: b,
                mpi: c,
                tables: d,
            }),
            OUT_OF_MEMORY => Self::OutOfMemory,
            SLOT => Self::Slot(fields.number(0)?, fields.one_of(1, &DeviceError::ALL)?),
            NO_FRAMES => Self::NoFrames(fields.number(0)?),
            NO_DOORBELL => Self::NoDoorbell(fields.number(0)?),
            ROUTER => Self::Router(match a {
                0 => ConfigError::Size,
                1 => ConfigError::Memory,
                2 => ConfigError::Outside,
                3 => ConfigError::Links(fields.number(1)?),
                4 => ConfigError::Mtu,
                _ => return None,
            }),
            RELIABLE => Self::Reliable(match a {
                0 => ReliableError::Memory,
                1 => ReliableError::Mtu,
                _ => return None,
            }),
            NO_DEVICE_MEMORY => Self::Device(DeviceFailure::Memory(a)),
            NO_DEVICE_PLACE => Self::Device(DeviceFailure::Rank {
                rank: fields.number(0)?,
                peers: fields.number(1)?,
            }),
            NO_CONSOLE => Self::NoConsole,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Fault, FaultMeaning, TrapCause};

    const PLACE: Option<(Rank, Coord)> = Some((5, Coord { x: 1, y: 0, z: 255 }));

    fn mpi(words: &'static str, said: &'static str) -> FailureReason<'static> {
        FailureReason::Mpi(MpiFailure {
            numbers: [30, 1, 2, 0, u64::MAX, 3, 4, 5],
            texts: ["MPI_Send", words, said],
        })
    }

    fn text(failure: Failure<'_>) -> String {
        let mpi: MpiText = |place, error, f| write!(f, "{}: {}", NodeName(place), error.texts.concat());
        failure.in_words(mpi).to_string()
    }

    fn fault(cause: TrapCause) -> FailureReason<'static> {
        FailureReason::Fault(FaultReport {
            fault: Fault {
                cause,
                code: 1,
                pc: 2,
                address: u64::MAX,
                sp: 3,
                ra: 4,
            },
            meaning: FaultMeaning::Outside,
            stack_bytes: 512 << 10,
        })
    }

    /// Returns one of each kind with a text, and of each other kind with a number.
    fn all() -> Vec<FailureReason<'static>> {
        let boot = [
            BootFailure::Text("two boards are one"),
            BootFailure::Matching(MatchingMismatch {
                has: b"list",
                asked: b"fourd",
            }),
            BootFailure::Nodes {
                nodes: 8,
                bytes: 1 << 40,
            },
            BootFailure::NoBox,
            BootFailure::Outside,
            BootFailure::TooSmall(MemoryTooSmall {
                memory: 1,
                least: 2,
                image: 3,
                mpi: u64::MAX,
            }),
            BootFailure::NoSpace(InsufficientMemory {
                image: 1,
                kernel: 2,
                mpi: 3,
                tables: 4,
            }),
            BootFailure::OutOfMemory,
            BootFailure::NoFrames(3),
            BootFailure::NoDoorbell(u32::MAX),
            BootFailure::Reliable(ReliableError::Memory),
            BootFailure::Reliable(ReliableError::Mtu),
            BootFailure::Device(DeviceFailure::Memory(1 << 33)),
            BootFailure::Device(DeviceFailure::Rank { rank: 9, peers: 8 }),
            BootFailure::NoConsole,
        ];
        let trees = TreeError::ALL.map(BootFailure::Tree);
        let devices = DeviceError::ALL.map(|why| BootFailure::Slot(2, why));
        let routers = [
            ConfigError::Size,
            ConfigError::Memory,
            ConfigError::Outside,
            ConfigError::Links(0b10_0001),
            ConfigError::Mtu,
        ];
        let records = RecordError::some_of_each().into_iter();
        let boot = boot.into_iter().chain(trees).chain(devices);
        let boot = { boot.chain(routers.map(BootFailure::Router)) }.chain(records.map(BootFailure::Parameters));
        let others = [
            FailureReason::Text("the program called abort()"),
            FailureReason::Panic,
            fault(TrapCause::StoreAccess),
            fault(TrapCause::Other(77)),
            FailureReason::MpiAbort(-1),
            FailureReason::NotFinalized(0),
            mpi("no such thing", ""),
            mpi("no such thing", "own words"),
            FailureReason::LinkOverwritten {
                direction: Direction::YPlus,
                neighbour: (7, Coord { x: 1, y: 2, z: 255 }),
            },
            FailureReason::ConnectionLost {
                direction: Direction::XMinus,
                neighbour: (7, Coord { x: 1, y: 2, z: 255 }),
            },
            FailureReason::DeadLink,
        ];
        let lost = Direction::ALL.map(|direction| FailureReason::LinkLost {
            direction,
            any_way: direction == Direction::ZMinus,
        });
        others
            .into_iter()
            .chain(lost)
            .chain(boot.map(FailureReason::Boot))
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
            // Without their texts they may be valid.
            for length in 0..(2 + NUMBERS) * size_of::<u64>() {
                assert_eq!(Failure::read(&bytes[..length]), None, "{why:?}");
            }
            for length in 0..bytes.len() {
                let text = Failure::read(&bytes[..length]).map(text);
                assert!(text.is_none_or(|text| !text.is_empty()));
            }
            for at in 0..bytes.len() {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.to_vec();
                    damaged[at] = value;
                    match Failure::read(&damaged) {
                        Some(failure) => assert!(!text(failure).is_empty()),
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
            FailureReason::Text(long),
            mpi(long, ""),
            mpi("short", long),
            FailureReason::Boot(BootFailure::Text(long)),
        ] {
            let failure = Failure { place: PLACE, why };
            let record = failure.write();
            let read = text(Failure::read(record.bytes()).expect("a failure"));
            let all = text(failure);
            let same = read.bytes().zip(all.bytes()).take_while(|(a, b)| a == b).count();
            assert!(same >= MESSAGE_BYTES - 130 && all.len() > read.len(), "{same}: {read}");
        }
    }

    #[test]
    fn a_failure_has_its_nodes_name() {
        let text = |place, why| text(Failure { place, why });
        assert_eq!(
            text(PLACE, FailureReason::DeadLink),
            "rank 5 at (1,0,255): a link is dead"
        );
        assert_eq!(
            text(None, FailureReason::Boot(BootFailure::OutOfMemory)),
            "a node that does not know its rank yet: cannot start: out of memory"
        );
    }
}
