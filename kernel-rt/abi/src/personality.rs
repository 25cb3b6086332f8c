//! The personality: who this node is and what it may use, as read from the boot arguments.
//!
//! Grammar of the boot arguments, written by the host tool ([`BootArgs::encode`]) and read by the node
//! ([`BootArgs::parse`]): words separated by one space, in any order and each at most once, but `midplane.env`:
//!
//! | word | meaning | when absent |
//! |---|---|---|
//! | `midplane.torus=XxYxZ` | extents, 1..=256 each | 1x1x1 |
//! | `midplane.wrap=xyz` | letters of the dimensions that wrap around; may be empty | none wraps |
//! | `midplane.coord=x,y,z` | this node's place | 0,0,0 |
//! | `midplane.boxes=AxBxC` | the torus is in so many boxes along x, y and z, an instance each; then without `coord` and `exit` | one node per instance |
//! | `midplane.instance=I` | this instance's number, with `boxes` | 0 |
//! | `midplane.node_memory=BYTES` | memory of each node of a box: a multiple of 2 MiB, with `boxes` | it must be said |
//! | `midplane.mpi_memory=BYTES` | size of the region for incoming MPI traffic | a share of the memory |
//! | `midplane.eager=BYTES` | greatest message whose data follows without waiting for an answer | the device's |
//! | `midplane.interrupts=PERCENT` | how much of the processor interrupts take at most while the program computes | 100 |
//! | `midplane.watch=yes` | each node of a box has a processor of the host to itself: it watches for its neighbours for a while before it sleeps | it sleeps at once |
//! | `midplane.seal=yes` | frames of links in memory have a seal over all of their bytes | over name and length |
//! | `midplane.mpi_borrow=yes` | beyond that, the program's heap lends what it can spare | it does not |
//! | `midplane.matching=NAME` | the image's matching engine must be this one | it can be any |
//! | `midplane.app=N` | number of the program among those that the job was started with (MPI_APPNUM) | 0 |
//! | `midplane.env=WORD` | a variable of the program's environment, NAME=VALUE, encoded as argv's words | none |
//! | `midplane.auto=N` | N nodes, or with 0 any number, find extents and places out from their wires; only images built for it know it | as said |
//! | `midplane.number=N` | with that, the node's number, which no other node has | the chip's |
//! | `midplane.console=x,y,z:DIRECTION` | the serial line in this direction of the node at this place, which has no link there, is the machine's console; with `midplane.auto` it is `auto`: where a console is heard; only images built for it know it | there is none |
//! | `midplane.faults=WORD` | the links have the faults that this word orders ([`faults`](super::faults)); only images built for it know it | they have none |
//! | `midplane.output=rings` | output goes through the outbox, for the tool | it goes to the UART |
//! | `midplane.log=yes` | with it the kernel's log | there is none |
//! | `midplane.exit=test` | leave the emulator by its exit device when the program ends | stay and forward |
//! | `--` | ends the words above; the program's argv follows from argv\[0\] on | no arguments |
//!
//! Each word of argv is percent-encoded: every byte but `A-Za-z0-9._/+-,:=@` is `%` and two upper-case
//! hexadecimal digits. An empty word is written `%`. Words without the prefix `midplane.` in front of
//! `--` belong to another reader (a boot loader) and are skipped; an unknown word with the prefix is an
//! error, because it is a request that this kernel does not understand.
//!
//! The nodes of a box may be given several programs' words (MPMD, MPI-3.1 section 8.8). A word `%%RANK`, which encodes
//! nothing, ends argv: from that rank on `midplane.app`, `midplane.env` and argv are those that follow
//! ([`BootArgs::of_rank`]).

use core::fmt::{self, Write as _};

use net_torus::coord::{Coord, Direction, Rank, Shape};

#[cfg(any(feature = "faults", not(target_os = "none")))]
use super::faults::Faults;
use super::layout::{Division, LARGE_PAGE, MAX_NODES, NodeBox, SEVERAL};
use super::notation::{direction, number, parse_coord, split_at_byte, three, until};

/// Greatest length in bytes of all boot arguments. It bounds the copy of the device tree that the
/// kernel keeps.
pub const MAX_BYTES: usize = 16 * 1024;
/// Greatest number of words in the program's argv, the program's name included.
pub const MAX_ARGS: usize = 256;

/// Greatest number of variables in the program's environment.
pub const MAX_ENVIRONMENT: usize = 128;

/// How a node ends once its program has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Exit {
    /// It goes on forwarding for others until the host stops it.
    #[default]
    Stay,
    /// It leaves the emulator through its exit device, with the program's status.
    Test,
}

/// Where the program's output goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Output {
    /// To the UART, byte by byte; the kernel does not log.
    #[default]
    Uart,
    /// Through the outbox, which a tool reads.
    Rings {
        /// Whether the kernel logs, too.
        log: bool,
    },
}

/// Which nodes an instance carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// One, at this place, with all of the machine's memory.
    One(Coord),
    /// A box of them.
    Box(Boxed),
}

/// A node that finds extents and places out from the wires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Auto {
    /// How many nodes there are; 0: as many as are wired together.
    pub nodes: u32,
    /// This node's number, if it is not the chip's.
    pub number: Option<u32>,
    /// The machine has a serial console, which is found out, too.
    pub has_console: bool,
}

/// Whether an image logs: where it is asked for.
pub const LOGS: bool = cfg!(any(feature = "options", not(target_os = "none")));

/// In place of a console's line: it is found out.
const FOUND: &str = "auto";

/// The serial console of a machine of boards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Console {
    /// The node that has it.
    pub at: Coord,
    /// The direction in which that node has a serial line and no link.
    pub direction: Direction,
}

impl Console {
    /// Reads `x,y,z:DIRECTION`.
    pub fn parse(text: &str) -> Option<Self> {
        let (at, name) = text.split_once(':')?;
        Some(Self {
            at: parse_coord(at.as_bytes())?,
            direction: direction(name)?,
        })
    }

    /// Whether a machine of this shape has that line free.
    pub fn fits(&self, shape: &Shape) -> bool {
        shape.rank(self.at).is_some() && shape.neighbour(self.at, self.direction).is_none()
    }
}

/// A box of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Boxed {
    /// The boxes of all instances.
    pub division: Division,
    /// This instance's number.
    pub instance: u32,
    /// Memory of each node in bytes, a multiple of [`LARGE_PAGE`].
    pub node_memory: u64,
}

impl Nodes {
    /// The place of the node on hart `hart`; `None` when there is none.
    pub fn coord(&self, hart: u32) -> Option<Coord> {
        match self {
            Nodes::One(coord) => (hart == 0).then_some(*coord),
            Nodes::Box(boxed) => boxed.nodes().coord(hart),
        }
    }
}

impl Boxed {
    /// The box.
    pub fn nodes(&self) -> NodeBox {
        // `BootArgs::parse` has refused instances that there are not; a box without nodes has no coordinates.
        let none = NodeBox {
            origin: Coord::default(),
            extents: [0; 3],
        };
        self.division.node_box(self.instance).unwrap_or(none)
    }
}

/// What the boot arguments say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BootArgs<'a> {
    /// Extents of the machine, and which dimensions wrap.
    pub shape: Shape,
    /// Which nodes this instance carries; all inside `shape`.
    pub nodes: Nodes,
    /// Size in bytes of the region for incoming MPI traffic; `None` leaves it to the kernel.
    pub mpi_memory: Option<u64>,
    /// Whether the program's heap lends to the MPI device what it can spare.
    pub mpi_borrow: bool,
    /// Greatest message in bytes that is sent eagerly, when said.
    pub eager: Option<u64>,
    /// How many percent of the processor interrupts take at most while the program computes, when said.
    pub interrupts: Option<u8>,
    /// Whether a node of a box watches for its neighbours before it sleeps.
    pub watch: bool,
    /// Whether frames of links in memory have a seal over all of their bytes, and not over name and length only.
    pub seal: bool,
    /// The name of the matching engine that the image must have, when said; see
    /// `mpi_adi::matching::Choice`.
    pub matching: Option<&'a [u8]>,
    /// The faults that the links are to have, when said: a word that `Faults` reads.
    pub faults: Option<&'a [u8]>,
    /// Extents and place are not said, but to be found out from the wires.
    pub auto: Option<Auto>,
    /// The machine's serial console, when it has one.
    pub console: Option<Console>,
    /// Where output goes.
    pub output: Output,
    /// What to do when the program has ended.
    pub exit: Exit,
    /// The program's number among those that the job was started with.
    pub app: u32,
    /// The program's environment.
    pub environment: Environment<'a>,
    /// The program's argv.
    pub args: Words<'a>,
    /// The same three for ranks further on.
    pub others: Others<'a>,
}

/// Everything a node knows about itself when its program starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Personality {
    /// Extents of the machine, and which dimensions wrap.
    pub shape: Shape,
    /// This node's place.
    pub coord: Coord,
    /// This node's number.
    pub rank: Rank,
    /// Ticks per second of the node's clock.
    pub clock_hz: u64,
    /// Size of the node's memory in bytes, the image and everything else included.
    pub memory: u64,
    /// Size in bytes of the region for incoming MPI traffic.
    pub mpi_memory: u64,
    /// Whether the program's heap lends to the MPI device what it can spare.
    pub mpi_borrow: bool,
    /// Greatest message in bytes that is sent eagerly, when said.
    pub eager: Option<u64>,
    /// How many percent of the processor interrupts take at most while the program computes; 0: there are none.
    pub interrupts: u8,
    /// What to do when the program has ended.
    pub exit: Exit,
}

/// The words of argv, encoded as in the boot arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// The words one after the other, each still encoded; [`decode`] turns one into bytes.
    pub fn iter(&self) -> Behind<'a> {
        let (rest, prefix) = (self.0, &b""[..]);
        Behind { rest, prefix }
    }
}

/// The variables of the environment, encoded as in the boot arguments, whose text before argv this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Environment<'a>(&'a [u8]);

/// The words of other programs, each behind a `MARK` and the first of its ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Others<'a>(&'a [u8]);

/// What is in front of the first rank of another program.
const MARK: &[u8] = b"%%";

/// Whether an image knows of programs beside the first: one node alone is told its own only.
const SEVERAL_APPS: bool = cfg!(not(target_arch = "arm"));

/// The text up to the first word that begins with a mark, and the text from it on.
fn until_mark(text: &[u8]) -> (&[u8], &[u8]) {
    let is_mark = |at: &usize| text.get(*at..).is_some_and(|rest| rest.starts_with(b" %%"));
    let at = { 0..text.len() }.find(is_mark).unwrap_or(text.len());
    text.split_at(at)
}

/// What is in front of each of our words.
const PREFIX: &[u8] = b"midplane.";
/// What is in front of each variable of the environment.
const VARIABLE: &[u8] = b"midplane.env=";

impl<'a> Environment<'a> {
    /// The variables one after the other, NAME=VALUE, each still encoded; [`decode`] turns one into bytes.
    pub fn iter(&self) -> Behind<'a> {
        let (rest, prefix) = (self.0, VARIABLE);
        Behind { rest, prefix }
    }

    /// Checks that each has a name.
    fn check_names(&self) -> Result<(), ParseError<'a>> {
        for word in self.iter() {
            let name = decode(word).position(|byte| byte == Some(b'='));
            if name.is_none_or(|length| length == 0) {
                return Err(ParseError::Variable(word));
            }
        }
        Ok(())
    }
}

/// The words of a text that begin with a prefix, without it: variables and argv are words of one type, so that what goes
/// through them is in the image once.
#[derive(Clone)]
pub struct Behind<'a> {
    rest: &'a [u8],
    prefix: &'static [u8],
}

impl<'a> Behind<'a> {
    /// Checks the words, so that decoding them cannot fail: there are `most` at most.
    fn check(self, most: usize, too_many: ParseError<'a>) -> Result<(), ParseError<'a>> {
        for (number, word) in self.enumerate() {
            if number >= most {
                return Err(too_many);
            }
            check_encoding(word)?;
        }
        Ok(())
    }
}

impl<'a> Iterator for Behind<'a> {
    type Item = &'a [u8];

    #[inline(never)]
    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let (word, rest) = until(self.rest, b' ');
            self.rest = rest;
            if !word.is_empty()
                && let Some(word) = word.strip_prefix(self.prefix)
            {
                return Some(word);
            }
        }
        None
    }
}

/// Why boot arguments are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseError<'a> {
    /// More than [`MAX_BYTES`]; holds how many.
    TooLong(usize),
    /// More than [`MAX_ARGS`] words in argv.
    TooManyArgs,
    /// More than [`MAX_ENVIRONMENT`] variables in the environment.
    TooManyVariables,
    /// A variable without a name, or without an equals sign behind it.
    Variable(&'a [u8]),
    /// A word with our prefix that this kernel does not know.
    Unknown(&'a [u8]),
    /// The same setting twice.
    Twice(&'a [u8]),
    /// Not `XxYxZ` with extents of 1..=256.
    Torus(&'a [u8]),
    /// Not made of the letters x, y and z, each at most once.
    Wrap(&'a [u8]),
    /// Not `x,y,z`.
    Coord(&'a [u8]),
    /// A place outside the torus.
    Outside(Coord),
    /// Not `AxBxC`, or the torus cannot be divided so.
    Boxes(&'a [u8]),
    /// Not the number of an instance.
    Instance(&'a [u8]),
    /// Not a number of bytes that is a multiple of [`LARGE_PAGE`].
    NodeMemory(&'a [u8]),
    /// Boxes without the memory of their nodes, what belongs to boxes without them, or beside them a place or an
    /// exit, which would be all nodes'.
    HalfABox,
    /// The job is in several instances, and the image for one.
    OneInstance,
    /// Not a number of bytes.
    MpiMemory(&'a [u8]),
    /// `midplane.eager` is no number of bytes.
    Eager(&'a [u8]),
    /// `midplane.interrupts` is no number of percent.
    Interrupts(&'a [u8]),
    /// `midplane.mpi_borrow` is something other than `yes`.
    MpiBorrow(&'a [u8]),
    /// `midplane.watch` is something other than `yes`.
    Watch(&'a [u8]),
    /// `midplane.seal` is something other than `yes`.
    Seal(&'a [u8]),
    /// `midplane.faults` is not of the grammar in [`faults`](super::faults).
    Faults(&'a [u8]),
    /// Not a number of nodes, or not a node's number.
    Auto(&'a [u8]),
    /// Not `x,y,z:DIRECTION`, or the machine has a link there, or no such place. With `midplane.auto`: not `auto`.
    Console(&'a [u8]),
    /// `midplane.output` is something other than `rings`.
    Output(&'a [u8]),
    /// `midplane.log` is something other than `yes`, or stands without `midplane.output`.
    Log(&'a [u8]),
    /// Not `test`.
    Exit(&'a [u8]),
    /// Not a program's number, or not the first of its ranks.
    App(&'a [u8]),
    /// A word of argv that is not encoded as it must be, or that encodes a zero byte, which C strings
    /// cannot hold.
    Encoding(&'a [u8]),
}

/// A word as it is; what of it is no text is shown by a mark.
struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for ParseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "boot arguments: ")?;
        match self {
            Self::TooLong(bytes) => {
                write!(
                    f,
                    "{bytes} bytes of arguments, at most {MAX_BYTES} are possible"
                )
            }
            Self::TooManyArgs => write!(f, "more than {MAX_ARGS} program arguments"),
            Self::TooManyVariables => write!(
                f,
                "more than {MAX_ENVIRONMENT} variables in the environment"
            ),
            Self::Variable(word) => write!(f, "`{}` is not NAME=VALUE", Shown(word)),
            Self::Unknown(word) => write!(f, "`{}` is not known to this kernel", Shown(word)),
            Self::Twice(word) => write!(f, "`{}` repeats an earlier setting", Shown(word)),
            Self::Torus(word) => write!(
                f,
                "`{}` is not a torus; write extents of 1..256 as in 4x2x2",
                Shown(word)
            ),
            Self::Wrap(word) => write!(
                f,
                "`{}`: only the letters x, y and z, once each",
                Shown(word)
            ),
            Self::Coord(word) => write!(f, "`{}` is not a place; write it as 0,0,0", Shown(word)),
            Self::Outside(c) => write!(f, "place {},{},{} is outside the torus", c.x, c.y, c.z),
            Self::Boxes(word) => write!(
                f,
                "the torus cannot be divided into `{}` boxes of at most {MAX_NODES} nodes",
                Shown(word)
            ),
            Self::Instance(word) => write!(f, "there is no instance `{}`", Shown(word)),
            Self::NodeMemory(word) => {
                write!(
                    f,
                    "`{}` is not a multiple of {LARGE_PAGE} bytes",
                    Shown(word)
                )
            }
            Self::HalfABox => write!(
                f,
                "boxes and node_memory belong together, instance to them; coord and exit do not"
            ),
            Self::OneInstance => f.write_str(
                "this image is for jobs in one instance; give its source, or have it linked by `midplane cc`",
            ),
            Self::MpiBorrow(word) | Self::Watch(word) | Self::Seal(word) => {
                write!(f, "`{}` is not `yes`", Shown(word))
            }
            Self::MpiMemory(word) | Self::Eager(word) => {
                write!(f, "`{}` is not a number of bytes", Shown(word))
            }
            Self::Faults(word) => write!(f, "`{}` orders no faults", Shown(word)),
            Self::Auto(word) => write!(f, "`{}` is not a number", Shown(word)),
            Self::Console(word) => write!(
                f,
                "`{}` is not a place and a direction in which it has no link",
                Shown(word)
            ),
            Self::Interrupts(word) => write!(f, "`{}` is not a share from 0 to 100", Shown(word)),
            Self::Output(word) => write!(f, "`{}` is not an output; only `rings` is", Shown(word)),
            Self::Log(word) => write!(
                f,
                "log `{}`: only `yes`, and with output to rings",
                Shown(word)
            ),
            Self::Exit(word) => write!(f, "`{}` is not an exit; only `test` is", Shown(word)),
            Self::App(word) => write!(f, "`{}` is no program's number or rank", Shown(word)),
            Self::Encoding(word) => write!(f, "`{}` is not percent-encoded text", Shown(word)),
        }
    }
}

impl core::error::Error for ParseError<'_> {}

/// A table of the errors by their numbers: those that are about a word, and those that are not.
macro_rules! numbered {
    (word { $($word:literal: $about:ident;)* } plain { $($number:literal: $plain:ident;)* }) => {
        impl<'a> ParseError<'a> {
            /// Which error, a number and a word that belong to it.
            pub(crate) fn parts(&self) -> (u64, u64, &'a [u8]) {
                match *self {
                    $(Self::$about(word) => ($word, 0, word),)*
                    $(Self::$plain => ($number, 0, b""),)*
                    Self::TooLong(bytes) => (TOO_LONG, bytes as u64, b""),
                    Self::Outside(Coord { x, y, z }) => {
                        (OUTSIDE, u32::from_le_bytes([x, y, z, 0]).into(), b"")
                    }
                }
            }

            /// The error of which these are the [parts](Self::parts).
            pub(crate) fn of_parts(kind: u64, value: u64, word: &'a [u8]) -> Option<Self> {
                Some(match kind {
                    $($word => Self::$about(word),)*
                    $($number => Self::$plain,)*
                    TOO_LONG => Self::TooLong(value.try_into().ok()?),
                    OUTSIDE => {
                        let [x, y, z, _] = u32::try_from(value).ok()?.to_le_bytes();
                        Self::Outside(Coord { x, y, z })
                    }
                    _ => return None,
                })
            }

            /// One of each, about this word.
            #[cfg(test)]
            pub(crate) fn some_of_each(word: &'a [u8]) -> std::vec::Vec<Self> {
                let place = Coord { x: 1, y: 2, z: 255 };
                std::vec![
                    $(Self::$about(word),)*
                    $(Self::$plain,)*
                    Self::TooLong(MAX_BYTES + 1),
                    Self::Outside(place),
                ]
            }
        }
    };
}

const TOO_LONG: u64 = 100;
const OUTSIDE: u64 = 101;
numbered! {
    word {
        0: Variable;
        1: Unknown;
        2: Twice;
        3: Torus;
        4: Wrap;
        5: Coord;
        6: Boxes;
        7: Instance;
        8: NodeMemory;
        9: MpiMemory;
        10: Eager;
        11: Interrupts;
        12: MpiBorrow;
        13: Faults;
        14: Auto;
        15: Console;
        16: Output;
        17: Log;
        18: Exit;
        19: Encoding;
        23: Watch;
        25: Seal;
        26: App;
    }
    plain {
        20: TooManyArgs;
        21: TooManyVariables;
        22: HalfABox;
        24: OneInstance;
    }
}

/// The image has another matching engine than the host means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherMatching<'a> {
    /// What the image has.
    pub has: &'a [u8],
    /// What was asked for.
    pub asked: &'a [u8],
}

impl fmt::Display for OtherMatching<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (has, asked) = (Shown(self.has), Shown(self.asked));
        write!(
            f,
            "this image has the matching engine `{has}`, not `{asked}`"
        )
    }
}

impl core::error::Error for OtherMatching<'_> {}

impl Default for BootArgs<'_> {
    /// A single node that was booted by hand: it ends the emulator when its program ends.
    fn default() -> Self {
        Self {
            shape: single(),
            nodes: Nodes::One(Coord::default()),
            mpi_memory: None,
            mpi_borrow: false,
            eager: None,
            interrupts: None,
            watch: false,
            seal: false,
            matching: None,
            faults: None,
            auto: None,
            console: None,
            output: Output::Uart,
            exit: Exit::Test,
            app: 0,
            environment: Environment::default(),
            args: Words::default(),
            others: Others::default(),
        }
    }
}

/// A machine of one node.
pub fn single() -> Shape {
    match Shape::new([1; 3], [false; 3]) {
        Some(shape) => shape,
        // Extents of 1 are within 1..=256 by the contract of `Shape::new`.
        None => unreachable!(),
    }
}

/// The names of all settings but the environment's, as they are numbered below.
const NAMES: &[u8] =
    b"torus wrap coord boxes instance node_memory mpi_memory eager interrupts mpi_borrow \
                       matching output log exit faults auto number console watch seal app";
const TORUS: usize = 0;
const WRAP: usize = 1;
const COORD: usize = 2;
const BOXES: usize = 3;
const INSTANCE: usize = 4;
const NODE_MEMORY: usize = 5;
const MPI_MEMORY: usize = 6;
const EAGER: usize = 7;
const INTERRUPTS: usize = 8;
const MPI_BORROW: usize = 9;
const MATCHING: usize = 10;
const OUTPUT: usize = 11;
const LOG: usize = 12;
const EXIT: usize = 13;
const FAULTS: usize = 14;
const AUTO: usize = 15;
const NUMBER: usize = 16;
const CONSOLE: usize = 17;
const WATCH: usize = 18;
const SEAL: usize = 19;
const APP: usize = 20;
const SETTINGS: usize = 21;

/// Whether this image does what the setting asks for.
const fn is_known(setting: usize) -> bool {
    let is_host = cfg!(not(target_os = "none"));
    match setting {
        // Others would have it that their links have these faults.
        FAULTS => is_host || cfg!(feature = "faults"),
        // Others do not look at their wires, and have no line to spare.
        AUTO | NUMBER | CONSOLE => is_host || cfg!(all(target_arch = "arm", feature = "options")),
        // A board is one node.
        BOXES | INSTANCE | NODE_MEMORY | SEAL => is_host || cfg!(not(target_arch = "arm")),
        LOG => LOGS,
        MPI_BORROW => is_host || cfg!(feature = "borrow"),
        _ => true,
    }
}

/// What is wrong with a setting's word.
fn wrong(setting: usize, word: &[u8]) -> ParseError<'_> {
    match setting {
        TORUS => ParseError::Torus(word),
        WRAP => ParseError::Wrap(word),
        COORD => ParseError::Coord(word),
        BOXES if !SEVERAL => ParseError::OneInstance,
        BOXES => ParseError::Boxes(word),
        INSTANCE => ParseError::Instance(word),
        NODE_MEMORY => ParseError::NodeMemory(word),
        MPI_MEMORY => ParseError::MpiMemory(word),
        EAGER => ParseError::Eager(word),
        INTERRUPTS => ParseError::Interrupts(word),
        MPI_BORROW => ParseError::MpiBorrow(word),
        WATCH => ParseError::Watch(word),
        SEAL => ParseError::Seal(word),
        OUTPUT => ParseError::Output(word),
        LOG => ParseError::Log(word),
        EXIT => ParseError::Exit(word),
        FAULTS => ParseError::Faults(word),
        AUTO | NUMBER => ParseError::Auto(word),
        CONSOLE => ParseError::Console(word),
        APP => ParseError::App(word),
        _ => ParseError::Unknown(word),
    }
}

/// The words before argv.
#[derive(Default)]
struct Settings<'a> {
    /// What they have set, as it is written.
    words: [Option<&'a [u8]>; SETTINGS],
    /// The first that was found to be wrong. It is looked at once, at the end: a way out at each setting would take more of
    /// the image than all that is read.
    error: Option<ParseError<'a>>,
}

impl<'a> Settings<'a> {
    fn refuse(&mut self, error: ParseError<'a>) {
        self.error.get_or_insert(error);
    }

    /// Takes `setting`, which is `word` without its prefix.
    fn take(&mut self, word: &'a [u8], setting: &'a [u8]) {
        let (name, value) = split_at_byte(setting, b'=').unwrap_or_default();
        let mut names = NAMES.split(|byte| *byte == b' ');
        let place = { names.position(|other| other == name) }
            .filter(|setting| is_known(*setting))
            .and_then(|setting| self.words.get_mut(setting));
        match place {
            Some(place @ None) => *place = Some(value),
            Some(Some(_)) => self.refuse(ParseError::Twice(word)),
            None => self.refuse(ParseError::Unknown(word)),
        }
    }

    /// Takes the settings of a text; environment and argv, which are sound.
    fn read(&mut self, text: &'a [u8]) -> Result<(Environment<'a>, Words<'a>), ParseError<'a>> {
        let mut args = Words::default();
        let mut environment = Environment(text);
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = until(rest, b' ');
            rest = after;
            if word == b"--" {
                environment = Environment(text.get(..text.len() - rest.len()).unwrap_or(text));
                args = Words(rest);
                break;
            }
            let Some(setting) = word.strip_prefix(PREFIX) else {
                continue;
            };
            if !word.starts_with(VARIABLE) {
                self.take(word, setting);
            }
        }
        args.iter().check(MAX_ARGS, ParseError::TooManyArgs)?;
        { environment.iter() }.check(MAX_ENVIRONMENT, ParseError::TooManyVariables)?;
        environment.check_names()?;
        Ok((environment, args))
    }

    fn app(&mut self) -> u32 {
        // As MPI has it, an `int`.
        self.number(APP, i32::MAX as u64).unwrap_or_default() as u32
    }

    // Once in the image, for all settings.
    #[inline(never)]
    fn refuse_setting(&mut self, setting: usize, word: &'a [u8]) {
        self.refuse(wrong(setting, word));
    }

    fn has(&self, setting: usize) -> bool {
        self.words.get(setting).is_some_and(Option::is_some)
    }

    /// What was set, as `read` has it.
    fn get<T>(&mut self, setting: usize, read: impl FnOnce(&'a [u8]) -> Option<T>) -> Option<T> {
        let word = self.words.get(setting).copied().flatten()?;
        let value = read(word);
        if value.is_none() {
            self.refuse_setting(setting, word);
        }
        value
    }

    /// A number that was set, `most` at most.
    #[inline(never)]
    fn number(&mut self, setting: usize, most: u64) -> Option<u64> {
        self.get(setting, |word| {
            number(word).filter(|number| *number <= most)
        })
    }

    /// Whether something was set, which can only be set to this.
    #[inline(never)]
    fn is(&mut self, setting: usize, only: &str) -> bool {
        let read = |word: &[u8]| (word == only.as_bytes()).then_some(());
        self.get(setting, read).is_some()
    }

    /// The console, of a machine of `shape`.
    fn console(&mut self, shape: Shape) -> Option<Console> {
        if !is_known(CONSOLE) {
            return None;
        }
        // A node that finds its place out does not know the console's, either.
        if self.has(AUTO) {
            self.is(CONSOLE, FOUND);
            return None;
        }
        self.get(CONSOLE, |word| {
            let console = Console::parse(core::str::from_utf8(word).ok()?)?;
            console.fits(&shape).then_some(console)
        })
    }

    /// Where output goes.
    fn output(&mut self) -> Output {
        let log = self.is(LOG, "yes");
        if self.is(OUTPUT, "rings") {
            return Output::Rings { log };
        }
        if log {
            self.refuse(ParseError::Log(b"yes"));
        }
        Output::Uart
    }

    /// Which nodes of `shape` the settings mean; `None` when they make no sense, or have made none before.
    fn nodes(&mut self, shape: Shape) -> Option<Nodes> {
        let coord = self.get(COORD, parse_coord);
        if !is_known(BOXES) || !self.has(BOXES) {
            let coord = coord.unwrap_or_default();
            if self.has(INSTANCE) || self.has(NODE_MEMORY) {
                self.refuse(ParseError::HalfABox);
            } else if shape.rank(coord).is_none() {
                self.refuse(ParseError::Outside(coord));
            }
            return Some(Nodes::One(coord));
        }
        let node_memory = self.get(NODE_MEMORY, |word| {
            number::<u64>(word).filter(|bytes| *bytes != 0 && bytes.is_multiple_of(LARGE_PAGE))
        });
        if coord.is_some() || self.has(EXIT) || node_memory.is_none() {
            self.refuse(ParseError::HalfABox);
        }
        let division = self.get(BOXES, |word| {
            let parts = three(word, b'x')?;
            Division::new(shape, parts).filter(|_| SEVERAL || parts == [1; 3])
        })?;
        let last = division.instances() - 1;
        let instance = self.number(INSTANCE, last.into());
        Some(Nodes::Box(Boxed {
            division,
            instance: instance.unwrap_or_default() as u32,
            node_memory: node_memory?,
        }))
    }

    /// The machine's extents, and which dimensions wrap; `None` when they are not said.
    fn shape(&mut self) -> Option<Shape> {
        let wraps = self.get(WRAP, parse_wraps).unwrap_or_default();
        self.get(TORUS, |word| Shape::new(three(word, b'x')?, wraps))
    }

    fn auto(&mut self) -> Option<Auto> {
        if !is_known(AUTO) {
            return None;
        }
        let node = self.get(NUMBER, number);
        let nodes = self.get(AUTO, number)?;
        Some(Auto {
            nodes,
            number: node,
            has_console: self.has(CONSOLE),
        })
    }

    fn faults(&mut self) -> Option<&'a [u8]> {
        if !is_known(FAULTS) {
            return None;
        }
        self.get(FAULTS, |word| {
            #[cfg(any(feature = "faults", not(target_os = "none")))]
            core::str::from_utf8(word).ok()?.parse::<Faults>().ok()?;
            Some(word)
        })
    }
}

impl<'a> BootArgs<'a> {
    /// Reads boot arguments. Text without any of our words gives the default: a single node that leaves
    /// the emulator at the end. The words of argv are checked here, so that decoding them cannot fail.
    ///
    /// # Errors
    /// When a word is wrong; see [`ParseError`]. One of the wrong words is named.
    pub fn parse(text: &'a [u8]) -> Result<Self, ParseError<'a>> {
        if text.len() > MAX_BYTES {
            return Err(ParseError::TooLong(text.len()));
        }
        let (text, others) = match SEVERAL_APPS {
            true => until_mark(text),
            false => (text, &b""[..]),
        };
        let mut settings = Settings::default();
        let (environment, args) = settings.read(text)?;
        let by_hand = ![TORUS, COORD, BOXES, AUTO]
            .iter()
            .any(|setting| settings.has(*setting));
        let shape = settings.shape().unwrap_or_else(single);
        let is_test = settings.is(EXIT, "test") || by_hand;
        let read = Self {
            shape,
            nodes: { settings.nodes(shape) }.unwrap_or(Nodes::One(Coord::default())),
            mpi_memory: settings.number(MPI_MEMORY, u64::MAX),
            mpi_borrow: settings.is(MPI_BORROW, "yes"),
            eager: settings.number(EAGER, u64::MAX),
            interrupts: { settings.number(INTERRUPTS, 100) }.map(|percent| percent as u8),
            watch: settings.is(WATCH, "yes"),
            seal: settings.is(SEAL, "yes"),
            matching: settings.get(MATCHING, Some),
            faults: settings.faults(),
            auto: settings.auto(),
            console: settings.console(shape),
            output: settings.output(),
            exit: if is_test { Exit::Test } else { Exit::Stay },
            app: settings.app(),
            environment,
            args,
            others: Others(others),
        };
        settings.error.map_or(Ok(read), Err)
    }

    /// The same with the words of the program that this rank runs.
    ///
    /// # Errors
    /// As those of [`BootArgs::parse`], of which words that no rank up to this one has are not checked.
    pub fn of_rank(self, rank: Rank) -> Result<Self, ParseError<'a>> {
        let mut own = self;
        let mut rest = self.others.0;
        while let Some((b" ", marked)) = SEVERAL_APPS.then(|| rest.split_at_checked(1)).flatten() {
            let (text, after) = until_mark(marked);
            let (mark, text) = until(text, b' ');
            let first = mark.strip_prefix(MARK).and_then(number);
            let first: Rank = first.ok_or(ParseError::App(mark))?;
            if first > rank {
                break;
            }
            let mut settings = Settings::default();
            let (environment, args) = settings.read(text)?;
            if let Some(foreign) = (0..APP).find(|setting| settings.has(*setting)) {
                settings.refuse_setting(foreign, mark);
            }
            own = Self {
                app: settings.app(),
                environment,
                args,
                ..self
            };
            settings.error.map_or(Ok(()), Err)?;
            rest = after;
        }
        own.others = Others::default();
        Ok(own)
    }

    /// Checks that host and image mean the same matching engine; `has` is the image's.
    ///
    /// # Errors
    /// When they do not.
    pub fn check_matching(&self, has: &'a str) -> Result<(), OtherMatching<'a>> {
        let has = has.as_bytes();
        match self.matching {
            Some(asked) if asked != has => Err(OtherMatching { has, asked }),
            _ => Ok(()),
        }
    }

    fn encode_place(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let [x, y, z] = self.shape.extents();
        write!(out, "midplane.torus={x}x{y}x{z} midplane.wrap=")?;
        for (wraps, letter) in self.shape.wraps().into_iter().zip(['x', 'y', 'z']) {
            if wraps {
                out.write_char(letter)?;
            }
        }
        match self.nodes {
            Nodes::One(c) => write!(out, " midplane.coord={},{},{}", c.x, c.y, c.z)?,
            Nodes::Box(boxed) => {
                let [x, y, z] = boxed.division.parts();
                let (instance, memory) = (boxed.instance, boxed.node_memory);
                write!(
                    out,
                    " midplane.boxes={x}x{y}x{z} midplane.instance={instance} midplane.node_memory={memory}"
                )?;
            }
        }
        Ok(())
    }

    /// Writes boot arguments that [`BootArgs::parse`] reads back as `self`, with `environment` (NAME=VALUE each) and
    /// `argv` in place of [`BootArgs::environment`] and [`BootArgs::args`] (which hold words that are encoded already).
    ///
    /// # Errors
    /// Only those of `out`. The limits ([`MAX_BYTES`], [`MAX_ARGS`], [`MAX_ENVIRONMENT`]) are the reader's: parse what was
    /// written to find out whether a node would take it.
    pub fn encode<'w>(
        &self,
        environment: impl IntoIterator<Item = &'w [u8]>,
        argv: impl IntoIterator<Item = &'w [u8]>,
        out: &mut impl fmt::Write,
    ) -> fmt::Result {
        match self.auto {
            Some(Auto {
                nodes,
                number,
                has_console,
            }) => {
                write!(out, "midplane.auto={nodes}")?;
                if let Some(number) = number {
                    write!(out, " midplane.number={number}")?;
                }
                if has_console {
                    write!(out, " midplane.console={FOUND}")?;
                }
            }
            None => self.encode_place(out)?,
        }
        if let Some(bytes) = self.mpi_memory {
            write!(out, " midplane.mpi_memory={bytes}")?;
        }
        if let Some(bytes) = self.eager {
            write!(out, " midplane.eager={bytes}")?;
        }
        if let Some(percent) = self.interrupts {
            write!(out, " midplane.interrupts={percent}")?;
        }
        if self.watch {
            out.write_str(" midplane.watch=yes")?;
        }
        if self.seal {
            out.write_str(" midplane.seal=yes")?;
        }
        if self.mpi_borrow {
            out.write_str(" midplane.mpi_borrow=yes")?;
        }
        if let Some(name) = self.matching {
            write!(out, " midplane.matching={}", Shown(name))?;
        }
        if let Some(word) = self.faults {
            write!(out, " midplane.faults={}", Shown(word))?;
        }
        if let Some(Console { at, direction }) = self.console {
            let (Coord { x, y, z }, name) = (at, direction.name());
            write!(out, " midplane.console={x},{y},{z}:{name}")?;
        }
        if let Output::Rings { log } = self.output {
            out.write_str(" midplane.output=rings")?;
            if log {
                out.write_str(" midplane.log=yes")?;
            }
        }
        if self.exit == Exit::Test {
            out.write_str(" midplane.exit=test")?;
        }
        encode_app(self.app, environment, argv, out)
    }
}

/// Writes what a node of rank `first`, or of a rank from there on, has in place of what was written before: its program's
/// number, environment and argv. Those of the ranks before come first.
///
/// # Errors
/// Only those of `out`; see [`BootArgs::encode`].
pub fn encode_other<'w>(
    first: Rank,
    app: u32,
    environment: impl IntoIterator<Item = &'w [u8]>,
    argv: impl IntoIterator<Item = &'w [u8]>,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    write!(out, " {}{first}", Shown(MARK))?;
    encode_app(app, environment, argv, out)
}

fn encode_app<'w>(
    app: u32,
    environment: impl IntoIterator<Item = &'w [u8]>,
    argv: impl IntoIterator<Item = &'w [u8]>,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    if app > 0 {
        write!(out, " midplane.app={app}")?;
    }
    for variable in environment {
        out.write_str(" midplane.env=")?;
        encode_word(variable, out)?;
    }
    out.write_str(" --")?;
    for word in argv {
        out.write_char(' ')?;
        encode_word(word, out)?;
    }
    Ok(())
}

/// Writes one word of argv, percent-encoded.
///
/// # Errors
/// Only those of `out`.
pub fn encode_word(word: &[u8], out: &mut impl fmt::Write) -> fmt::Result {
    if word.is_empty() {
        return out.write_char('%');
    }
    for &byte in word {
        if byte.is_ascii_alphanumeric() || b"._/+-,:=@".contains(&byte) {
            out.write_char(byte as char)?;
        } else {
            write!(out, "%{byte:02X}")?;
        }
    }
    Ok(())
}

/// The bytes that an encoded word stands for; `None` in place of what is not encoded as it must be.
pub fn decode(word: &[u8]) -> Decoded<'_> {
    Decoded(if word == b"%" { &[] } else { word })
}

/// See [`decode`]. No closures: each crate that used them would have a copy in the image.
pub struct Decoded<'a>(&'a [u8]);

impl Decoded<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn digit(&mut self) -> Option<u32> {
        (self.byte()? as char).to_digit(16)
    }
}

impl Iterator for Decoded<'_> {
    type Item = Option<u8>;

    fn next(&mut self) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte != b'%' {
            return Some(Some(byte));
        }
        let (high, low) = (self.digit(), self.digit());
        Some(high.zip(low).map(|(high, low)| (high << 4 | low) as u8))
    }
}

/// Checks that a word is encoded as it must be, and is no more than what a C string holds.
#[inline(never)]
fn check_encoding(word: &[u8]) -> Result<(), ParseError<'_>> {
    let is_sound = decode(word).all(|byte| matches!(byte, Some(1..)));
    is_sound.then_some(()).ok_or(ParseError::Encoding(word))
}

fn parse_wraps(text: &[u8]) -> Option<[bool; 3]> {
    let mut wraps = [false; 3];
    for letter in text {
        let wraps = wraps.get_mut(usize::from(letter.checked_sub(b'x')?))?;
        if core::mem::replace(wraps, true) {
            return None;
        }
    }
    Some(wraps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: &Words<'_>) -> Vec<Vec<u8>> {
        args.iter()
            .map(|w| decode(w).map(|b| b.expect("checked by parse")).collect())
            .collect()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let argv: [&[u8]; 5] = [b"killer", b"", b"a b%c", "ä\n".as_bytes(), b"--"];
        let written = BootArgs {
            shape: Shape::new([4, 256, 1], [true, false, true]).expect("extents"),
            nodes: Nodes::One(Coord { x: 3, y: 255, z: 0 }),
            mpi_memory: Some(65536),
            mpi_borrow: true,
            eager: Some(0),
            interrupts: Some(50),
            watch: true,
            seal: true,
            matching: Some(b"list"),
            auto: None,
            console: Some(Console {
                at: Coord { x: 3, y: 1, z: 0 },
                direction: Direction::ZMinus,
            }),
            faults: Some(b"10000,1000,7;1,0,0:X+@5000"),
            output: Output::Rings { log: true },
            exit: Exit::Stay,
            app: 2,
            environment: Environment::default(),
            args: Words::default(),
            others: Others::default(),
        };
        let variables: [&[u8]; 2] = [b"A=", b"B_1=x y=z"];
        let mut text = String::new();
        written
            .encode(variables, argv, &mut text)
            .expect("strings take all");
        assert_eq!(
            text,
            "midplane.torus=4x256x1 midplane.wrap=xz midplane.coord=3,255,0 \
             midplane.mpi_memory=65536 midplane.eager=0 midplane.interrupts=50 midplane.watch=yes midplane.seal=yes midplane.mpi_borrow=yes midplane.matching=list \
             midplane.faults=10000,1000,7;1,0,0:X+@5000 midplane.console=3,1,0:Z- midplane.output=rings midplane.log=yes midplane.app=2 midplane.env=A= midplane.env=B_1=x%20y=z -- killer % a%20b%25c \
             %C3%A4%0A --"
        );
        let read = BootArgs::parse(text.as_bytes()).expect("own words");
        assert_eq!(words(&read.args), argv);
        let seen: Vec<Vec<u8>> = { read.environment.iter() }
            .map(|word| decode(word).flatten().collect())
            .collect();
        assert_eq!(seen, variables);
        let (environment, args) = (Environment::default(), Words::default());
        assert_eq!(
            BootArgs {
                environment,
                args,
                ..read
            },
            written
        );
    }

    #[test]
    fn ranks_have_the_words_of_their_own_program() {
        let variable: &[u8] = b"A=1";
        let mut text = String::new();
        let first = BootArgs {
            shape: Shape::new([4, 1, 1], [true; 3]).expect("extents"),
            exit: Exit::Stay,
            ..BootArgs::default()
        };
        let argv = |words: [&'static str; 2]| words.map(str::as_bytes);
        { first.encode([variable], argv(["a", "%%1"]), &mut text) }.expect("strings take all");
        { encode_other(1, 1, [], argv(["b", "--"]), &mut text) }.expect("strings take all");
        { encode_other(3, 2, [variable], argv(["c", ""]), &mut text) }.expect("strings take all");
        let read = BootArgs::parse(text.as_bytes()).expect("own words");
        let words_of = |rank| {
            let own = read.of_rank(rank).expect("own words");
            let variables = own.environment.iter().count();
            assert_eq!((own.shape, own.exit), (first.shape, Exit::Stay));
            (own.app, variables, words(&own.args))
        };
        let of = |words: [&'static str; 2]| words.map(|word| word.as_bytes().to_vec()).to_vec();
        assert_eq!(words_of(0), (0, 1, of(["a", "%%1"])));
        assert_eq!(words_of(1), (1, 0, of(["b", "--"])));
        assert_eq!(words_of(2), words_of(1));
        assert_eq!(words_of(3), (2, 1, of(["c", ""])));
        for (wrong, error) in [
            ("-- a %%x -- b", ParseError::App(b"%%x")),
            ("-- a %%0 midplane.app=x -- b", ParseError::App(b"x")),
            ("-- a %%0 midplane.eager=1 -- b", ParseError::Eager(b"%%0")),
            ("-- a %%0 -- b %%0 -- %0", ParseError::Encoding(b"%0")),
        ] {
            let read = BootArgs::parse(wrong.as_bytes()).expect("the first program's are sound");
            assert_eq!(read.of_rank(0), Err(error), "{wrong}");
        }
    }

    #[test]
    fn a_box_is_written_and_read_back() {
        let text = "midplane.torus=4x4x4 midplane.wrap=xyz midplane.boxes=1x1x2 midplane.instance=1 \
                    midplane.node_memory=8388608 --";
        let read = BootArgs::parse(text.as_bytes()).expect("sound");
        let Nodes::Box(boxed) = read.nodes else {
            panic!("no box: {read:?}");
        };
        assert_eq!((boxed.instance, boxed.node_memory), (1, 8 << 20));
        assert_eq!(boxed.nodes().nodes(), 32);
        let first = Coord { x: 0, y: 0, z: 2 };
        assert_eq!(read.nodes.coord(0), Some(first));
        assert_eq!((read.nodes.coord(32), read.exit), (None, Exit::Stay));
        let mut written = String::new();
        { read.encode([], [], &mut written) }.expect("strings take all");
        assert_eq!(written, text);
    }

    #[test]
    fn a_place_that_is_to_be_found_out_is_written_and_read_back() {
        for text in [
            "midplane.auto=8 midplane.number=3 --",
            "midplane.auto=0 --",
            "midplane.auto=0 midplane.console=auto --",
        ] {
            let read = BootArgs::parse(text.as_bytes()).expect("sound");
            assert!(read.auto.is_some() && read.exit == Exit::Stay, "{read:?}");
            let mut written = String::new();
            { read.encode([], [], &mut written) }.expect("strings take all");
            assert_eq!(written, text);
        }
        let refused = BootArgs::parse(b"midplane.auto=all").expect_err("no number");
        assert_eq!(refused, ParseError::Auto(b"all"));
    }

    #[test]
    fn a_console_is_where_the_machine_has_no_link() {
        let on = |place: &str, console: &str| {
            let text = std::format!("{place} midplane.console={console} --");
            BootArgs::parse(text.as_bytes())
                .map(|args| args.console.is_some())
                .map_err(|why| why.to_string())
        };
        let ring = "midplane.torus=2x2x1 midplane.wrap=xyz";
        for fits in ["0,0,0:z+", "1,1,0:Z-"] {
            assert_eq!(on(ring, fits), Ok(true), "{fits}");
        }
        for word in ["0,0,0:x+", "0,0,1:z+", "z+", "0,0,0:up", "0,0,0:"] {
            let why = on(ring, word).expect_err("refused");
            assert!(why.contains(word) && why.contains("has no link"), "{why}");
        }
        assert_eq!(
            on("midplane.torus=2x2x2 midplane.wrap=yz", "0,1,1:x-"),
            Ok(true)
        );
        assert!(on("midplane.torus=2x2x2 midplane.wrap=yz", "0,1,1:x+").is_err());
        // Where places are found out, so is which node is the console's.
        assert!(on("midplane.auto=2", "0,0,0:z+").is_err());
        assert_eq!(on("midplane.auto=2", "auto"), Ok(false));
        assert!(on(ring, "auto").is_err());
    }

    #[test]
    fn an_image_with_another_matching_engine_is_refused() {
        let read = BootArgs::parse(b"midplane.matching=list").expect("sound");
        assert_eq!(read.check_matching("list"), Ok(()));
        let refused = read.check_matching("fourd").expect_err("another engine");
        let words = "this image has the matching engine `fourd`, not `list`";
        assert_eq!(refused.to_string(), words);
        assert_eq!(BootArgs::default().check_matching("fourd"), Ok(()));
    }

    #[test]
    fn no_arguments_make_a_single_node_that_exits() {
        let read = BootArgs::parse(b"").expect("nothing is fine");
        assert_eq!(read, BootArgs::default());
        assert_eq!((read.shape.nodes(), read.exit), (1, Exit::Test));
        let other = BootArgs::parse(b"console=ttyS0 -- a b").expect("others' words are skipped");
        assert_eq!(words(&other.args), [b"a", b"b"]);
    }

    #[test]
    fn a_node_of_a_torus_stays_unless_told_to_exit() {
        let stay = BootArgs::parse(b"midplane.torus=2x1x1 midplane.coord=1,0,0").expect("sound");
        assert_eq!(
            (stay.exit, stay.nodes.coord(0)),
            (Exit::Stay, Some(Coord { x: 1, y: 0, z: 0 }))
        );
        let exit = BootArgs::parse(b"midplane.torus=2x1x1 midplane.exit=test").expect("sound");
        assert_eq!(exit.exit, Exit::Test);
    }

    // A table of cases, longer than a screen.
    #[test]
    fn wrong_words_are_named() {
        for (text, error) in [
            ("midplane.torus=0x2x2", ParseError::Torus(b"0x2x2")),
            ("midplane.torus=2x2", ParseError::Torus(b"2x2")),
            ("midplane.torus=2x2x2x2", ParseError::Torus(b"2x2x2x2")),
            ("midplane.torus=+2x2x2", ParseError::Torus(b"+2x2x2")),
            ("midplane.torus=257x1x1", ParseError::Torus(b"257x1x1")),
            (
                "midplane.torus=99999999999x1x1",
                ParseError::Torus(b"99999999999x1x1"),
            ),
            ("midplane.wrap=xx", ParseError::Wrap(b"xx")),
            ("midplane.wrap=w", ParseError::Wrap(b"w")),
            ("midplane.coord=1,2", ParseError::Coord(b"1,2")),
            ("midplane.coord=256,0,0", ParseError::Coord(b"256,0,0")),
            (
                "midplane.coord=0,1,0",
                ParseError::Outside(Coord { x: 0, y: 1, z: 0 }),
            ),
            (
                "midplane.boxes=2x1x1 midplane.node_memory=2097152",
                ParseError::Boxes(b"2x1x1"),
            ),
            (
                "midplane.boxes=1x1x1 midplane.instance=1 midplane.node_memory=2097152",
                ParseError::Instance(b"1"),
            ),
            (
                "midplane.boxes=1x1x1 midplane.node_memory=4096",
                ParseError::NodeMemory(b"4096"),
            ),
            ("midplane.boxes=1x1x1", ParseError::HalfABox),
            ("midplane.instance=0", ParseError::HalfABox),
            (
                "midplane.boxes=1x1x1 midplane.node_memory=2097152 midplane.coord=0,0,0",
                ParseError::HalfABox,
            ),
            (
                "midplane.boxes=1x1x1 midplane.node_memory=2097152 midplane.exit=test",
                ParseError::HalfABox,
            ),
            ("midplane.mpi_memory=4K", ParseError::MpiMemory(b"4K")),
            ("midplane.mpi_memory=", ParseError::MpiMemory(b"")),
            ("midplane.eager=1K", ParseError::Eager(b"1K")),
            ("midplane.interrupts=101", ParseError::Interrupts(b"101")),
            ("midplane.mpi_borrow=no", ParseError::MpiBorrow(b"no")),
            ("midplane.watch=1", ParseError::Watch(b"1")),
            ("midplane.seal=no", ParseError::Seal(b"no")),
            ("midplane.output=uart", ParseError::Output(b"uart")),
            (
                "midplane.output=rings midplane.log=no",
                ParseError::Log(b"no"),
            ),
            ("midplane.log=yes", ParseError::Log(b"yes")),
            ("midplane.exit=now", ParseError::Exit(b"now")),
            ("midplane.app=2147483648", ParseError::App(b"2147483648")),
            ("midplane.torus", ParseError::Unknown(b"midplane.torus")),
            (
                "midplane.colour=red",
                ParseError::Unknown(b"midplane.colour=red"),
            ),
            (
                "midplane.wrap=x midplane.wrap=x",
                ParseError::Twice(b"midplane.wrap=x"),
            ),
            (
                "midplane.matching=a midplane.matching=a",
                ParseError::Twice(b"midplane.matching=a"),
            ),
            ("midplane.env=A", ParseError::Variable(b"A")),
            ("midplane.env==x", ParseError::Variable(b"=x")),
            ("midplane.env=A=%0", ParseError::Encoding(b"A=%0")),
            ("-- a%2", ParseError::Encoding(b"a%2")),
            ("-- %00", ParseError::Encoding(b"%00")),
            ("-- %zz", ParseError::Encoding(b"%zz")),
        ] {
            assert_eq!(BootArgs::parse(text.as_bytes()), Err(error), "{text}");
        }
    }

    #[test]
    fn limits_hold_at_their_edges() {
        let words = |n: usize| format!("--{}", " a".repeat(n));
        assert!(BootArgs::parse(words(MAX_ARGS).as_bytes()).is_ok());
        let many = words(MAX_ARGS + 1);
        assert_eq!(
            BootArgs::parse(many.as_bytes()),
            Err(ParseError::TooManyArgs)
        );
        let variables = |n: usize| " midplane.env=A=".repeat(n);
        assert!(BootArgs::parse(variables(MAX_ENVIRONMENT).as_bytes()).is_ok());
        let many = variables(MAX_ENVIRONMENT + 1);
        assert_eq!(
            BootArgs::parse(many.as_bytes()),
            Err(ParseError::TooManyVariables)
        );
        // Behind `--` they are the program's words.
        let read = BootArgs::parse(b"-- midplane.env=A=").expect("sound");
        assert_eq!(read.environment.iter().count(), 0);
        let fits = format!("-- {}", "a".repeat(MAX_BYTES - 3));
        assert!(BootArgs::parse(fits.as_bytes()).is_ok());
        let long = format!("{fits}a");
        assert_eq!(
            BootArgs::parse(long.as_bytes()),
            Err(ParseError::TooLong(MAX_BYTES + 1))
        );
    }
}
