//! The boot parameters: a binary record that specifies an instance's nodes and their programs.
//!
//! The host tool fills a [`BootRecord`] and appends the sections below (`BootParameters::write`). A node reads fields
//! at fixed offsets and checks their ranges ([`BootParameters::read`]). There is no text to parse, and no input makes
//! the reader panic. All numbers are little-endian; coordinates are the bytes x, y, z and 0, with a direction's number
//! instead of the 0.
//!
//! | offset | field | unit and range | needs the flag |
//! |---:|---|---|---|
//! | 0 | `magic` | [`MAGIC`], "MPBP" | |
//! | 4 | `version` | [`VERSION`] | |
//! | 8 | `bytes` | size of the record, sections included; at most [`MAX_BYTES`] | |
//! | 12 | `flags` | the bits of [`flag`] that this image supports, no others | |
//! | 16 | `extents` | of the torus along x, y and z, 1..=256 each | |
//! | 22 | `interrupts` | maximum CPU share of interrupts while the program computes, 0..=100 percent | `INTERRUPTS` |
//! | 24 | `parts` | number of boxes of the torus along x, y and z, an instance each | `BOXES` |
//! | 30 | `cuts` | number of cuts that follow, at most [`MAX_CUTS`](super::faults::MAX_CUTS) | `FAULTS` |
//! | 32 | `instance` | this instance's index | `BOXES` |
//! | 36 | `coord` | this node's coordinates, within the torus | without `BOXES` |
//! | 40 | `node_memory` | bytes of each node of a box, a multiple of 2 MiB, not 0 | `BOXES` |
//! | 48 | `mpi_memory` | bytes of the region for incoming MPI traffic | `MPI_MEMORY` |
//! | 56 | `eager` | bytes of the longest message that is sent eagerly | `EAGER` |
//! | 64 | `seed` | of the links' faults | `FAULTS` |
//! | 72 | `loss` | frames in a million that links lose, at most `faults::MOST` | `FAULTS` |
//! | 76 | `corruption` | frames in a million that links corrupt, at most `faults::MOST` | `FAULTS` |
//! | 80 | `auto_nodes` | number of nodes that are wired together; 0: any | `AUTO` |
//! | 84 | `auto_number` | the node's unique ID | `AUTO_NUMBER` |
//! | 88 | `console` | the node with the serial console, and the direction of the line, where it has no link | `CONSOLE`, without `AUTO` |
//! | 92 | `programs` | number of programs that follow behind the cuts | |
//! | 96 | `matching` | name of the matching engine that the image must have, padded with zeros; all zeros: any | |
//! | 112 | cuts | 8 bytes each: coordinates with a direction, and milliseconds since the links came up | |
//! | | programs | see below | |
//!
//! An instance may run several programs (MPMD, MPI-3.1 section 8.8). Their sections are in ascending order of the first
//! rank:
//!
//! | offset | field | unit and range |
//! |---:|---|---|
//! | 0 | first rank | the section is for ranks from here up to the next section's; the first section's is 0 |
//! | 4 | number | of the program among those of the job (MPI_APPNUM), at most `i32::MAX` |
//! | 8 | variables | number of strings of the environment, NAME=VALUE, at most [`MAX_ENVIRONMENT`] |
//! | 12 | arguments | number of strings of argv, the program's name included, at most [`MAX_ARGS`] |
//! | 16 | bytes | of all these strings |
//! | 20 | strings | variables, then arguments, each ended by a zero byte |
//!
//! | board | writer | location of the record |
//! |---|---|---|
//! | virt | `midplane run` | the start of flash ([`FLASH`](super::layout::FLASH)) |
//! | stm32f405 | `midplane run`, `image`, `flash`, the macro `flashed_personality!` | the last sector of flash |
//! | linux, cluster | `midplane run --on linux`, `--on cluster` | a file in memory, whose descriptor is in an environment variable |
//!
//! If flash begins with zeros or is erased there is no record: a node that was started by hand is a machine of one node
//! ([`BootParameters::default`]).

use core::fmt::{self, Write as _};
use core::mem::offset_of;

use net_torus::coord::{Coord, Direction, Rank, Shape};

#[cfg(any(feature = "faults", not(target_os = "none")))]
use super::faults::{LinkCut, LinkFaults, MAX_RATE};
use super::layout::{BoxDivision, LARGE_PAGE, MAX_NODES, NodeBox, SEVERAL};
use super::personality::{ExitAction, LOGS};

/// The first word of a record.
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPBP");
/// Version of the layout above.
pub const VERSION: u32 = 1;
/// Maximum size of a record in bytes. It bounds the copy that a kernel keeps.
pub const MAX_BYTES: usize = 16 * 1024;
/// Maximum number of strings in a program's argv, its name included.
pub const MAX_ARGS: usize = 256;
/// Maximum number of variables in a program's environment.
pub const MAX_ENVIRONMENT: usize = 128;
/// Maximum length of a matching engine's name in bytes.
pub const MATCHING_BYTES: usize = 16;

/// The bits of [`BootRecord::flags`].
pub mod flag {
    /// The dimensions x, y and z wrap around.
    pub const WRAPS: [u32; 3] = [1, 1 << 1, 1 << 2];
    /// The instance contains a box of nodes; without it, one node.
    pub const BOXES: u32 = 1 << 3;
    /// `mpi_memory` is valid; without it the kernel selects the size.
    pub const MPI_MEMORY: u32 = 1 << 4;
    /// `eager` is valid; without it the device selects the size.
    pub const EAGER: u32 = 1 << 5;
    /// `interrupts` is valid; without it the share is 100.
    pub const INTERRUPTS: u32 = 1 << 6;
    /// Each node of a box has its own host processor: it polls its neighbours for a while before it sleeps.
    pub const WATCH: u32 = 1 << 7;
    /// The seal of frames on links in memory covers all of their bytes; without it, name and length.
    pub const SEAL: u32 = 1 << 8;
    /// In addition to the MPI memory, the program's heap lends its free part.
    pub const MPI_BORROW: u32 = 1 << 9;
    /// Fault injection is enabled on links.
    pub const FAULTS: u32 = 1 << 10;
    /// The node discovers torus and coordinates from the wiring: `extents` and `coord` are those of a single node.
    pub const AUTO: u32 = 1 << 11;
    /// `auto_number` is valid; without it the chip's ID is used.
    pub const AUTO_NUMBER: u32 = 1 << 12;
    /// The machine has a serial console. With `AUTO`, its location is discovered, too.
    pub const CONSOLE: u32 = 1 << 13;
    /// Output uses the outbox, for the tool; without it, the UART.
    pub const RINGS: u32 = 1 << 14;
    /// With `RINGS`: the kernel's log is enabled, too.
    pub const LOG: u32 = 1 << 15;
    /// The node exits the emulator by its exit device when its program ends; without it, it remains and forwards. Not
    /// with `BOXES`, because all nodes of the box would end.
    pub const EXIT: u32 = 1 << 16;
}

/// The flags that this image supports. Another flag requests a feature that the image lacks.
const SUPPORTED: u32 = {
    use flag::*;
    let is_host = cfg!(not(target_os = "none"));
    let is_board = cfg!(target_arch = "arm");
    let [x, y, z] = WRAPS;
    let mut all = x | y | z | MPI_MEMORY | EAGER | INTERRUPTS | WATCH | RINGS | EXIT;
    if is_host || cfg!(feature = "faults") {
        all |= FAULTS;
    }
    // Other images do not examine their wiring, and have no free line.
    if is_host || is_board && cfg!(feature = "options") {
        all |= AUTO | AUTO_NUMBER | CONSOLE;
    }
    // A board is one node.
    if is_host || !is_board {
        all |= BOXES | SEAL;
    }
    if is_host || cfg!(feature = "borrow") {
        all |= MPI_BORROW;
    }
    if LOGS {
        all |= LOG;
    }
    all
};

/// The fixed part of a record, in its memory layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the table above says what each field is")]
pub struct BootRecord {
    pub magic: u32,
    pub version: u32,
    pub bytes: u32,
    pub flags: u32,
    pub extents: [u16; 3],
    pub interrupts: u16,
    pub parts: [u16; 3],
    pub cuts: u16,
    pub instance: u32,
    pub coord: [u8; 4],
    pub node_memory: u64,
    pub mpi_memory: u64,
    pub eager: u64,
    pub seed: u64,
    pub loss: u32,
    pub corruption: u32,
    pub auto_nodes: u32,
    pub auto_number: u32,
    pub console: [u8; 4],
    pub programs: u32,
    pub matching: [u8; MATCHING_BYTES],
}

/// Size of the fixed part in bytes.
pub const RECORD_BYTES: usize = size_of::<BootRecord>();
const WORDS: usize = RECORD_BYTES / 4;

impl BootRecord {
    /// A machine of one node that exits the emulator when its program ends.
    pub const SINGLE: Self = Self {
        magic: MAGIC,
        version: VERSION,
        bytes: RECORD_BYTES as u32,
        flags: flag::EXIT,
        extents: [1; 3],
        interrupts: 0,
        parts: [0; 3],
        cuts: 0,
        instance: 0,
        coord: [0; 4],
        node_memory: 0,
        mpi_memory: 0,
        eager: 0,
        seed: 0,
        loss: 0,
        corruption: 0,
        auto_nodes: 0,
        auto_number: 0,
        console: [0; 4],
        programs: 0,
        matching: [0; MATCHING_BYTES],
    };

    /// Creates the record of one of `nodes` nodes (0: any number) that discover torus and coordinates from their
    /// wiring.
    pub const fn auto(nodes: u32) -> Self {
        Self {
            flags: flag::AUTO,
            auto_nodes: nodes,
            ..Self::SINGLE
        }
    }

    /// Sets this ID instead of the chip's, for nodes that discover their coordinates.
    pub const fn number(self, number: u32) -> Self {
        Self {
            flags: self.flags | flag::AUTO_NUMBER,
            auto_number: number,
            ..self
        }
    }

    /// Sets the size in bytes of the region for incoming MPI traffic.
    pub const fn mpi_memory(self, bytes: u64) -> Self {
        Self {
            flags: self.flags | flag::MPI_MEMORY,
            mpi_memory: bytes,
            ..self
        }
    }

    /// Adds these [flags](flag).
    pub const fn with(self, flags: u32) -> Self {
        Self {
            flags: self.flags | flags,
            ..self
        }
    }

    /// Returns the record's bytes.
    pub const fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let words = self.words();
        let mut bytes = [0; RECORD_BYTES];
        let mut at = 0;
        while at < RECORD_BYTES {
            bytes[at] = words[at / 4].to_le_bytes()[at % 4];
            at += 1;
        }
        bytes
    }

    /// Converts bytes to a record, without checks.
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Self {
        Self::from_words(words(bytes))
    }

    const fn words(&self) -> [u32; WORDS] {
        const fn pair(low: u16, high: u16) -> u32 {
            (high as u32) << 16 | low as u32
        }
        const fn low(number: u64) -> u32 {
            number as u32
        }
        const fn high(number: u64) -> u32 {
            (number >> 32) as u32
        }
        let ([ex, ey, ez], [px, py, pz]) = (self.extents, self.parts);
        let m = &self.matching;
        [
            self.magic,
            self.version,
            self.bytes,
            self.flags,
            pair(ex, ey),
            pair(ez, self.interrupts),
            pair(px, py),
            pair(pz, self.cuts),
            self.instance,
            u32::from_le_bytes(self.coord),
            low(self.node_memory),
            high(self.node_memory),
            low(self.mpi_memory),
            high(self.mpi_memory),
            low(self.eager),
            high(self.eager),
            low(self.seed),
            high(self.seed),
            self.loss,
            self.corruption,
            self.auto_nodes,
            self.auto_number,
            u32::from_le_bytes(self.console),
            self.programs,
            u32::from_le_bytes([m[0], m[1], m[2], m[3]]),
            u32::from_le_bytes([m[4], m[5], m[6], m[7]]),
            u32::from_le_bytes([m[8], m[9], m[10], m[11]]),
            u32::from_le_bytes([m[12], m[13], m[14], m[15]]),
        ]
    }

    fn from_words(words: [u32; WORDS]) -> Self {
        let pair = |word: u32| [word as u16, (word >> 16) as u16];
        let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let [magic, version, bytes, flags, words @ ..] = words;
        let [xy, z_interrupts, parts_xy, z_cuts, words @ ..] = words;
        let ([ex, ey], [ez, interrupts]) = (pair(xy), pair(z_interrupts));
        let ([px, py], [pz, cuts]) = (pair(parts_xy), pair(z_cuts));
        let [instance, coord, node, node_high, mpi, mpi_high, words @ ..] = words;
        let [eager, eager_high, seed, seed_high, words @ ..] = words;
        let [loss, corruption, auto_nodes, auto_number, words @ ..] = words;
        let [console, programs, name @ ..] = words;
        let mut matching = [0; MATCHING_BYTES];
        for (bytes, word) in matching.chunks_exact_mut(4).zip(name) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self {
            magic,
            version,
            bytes,
            flags,
            extents: [ex, ey, ez],
            interrupts,
            parts: [px, py, pz],
            cuts,
            instance,
            coord: coord.to_le_bytes(),
            node_memory: long(node, node_high),
            mpi_memory: long(mpi, mpi_high),
            eager: long(eager, eager_high),
            seed: long(seed, seed_high),
            loss,
            corruption,
            auto_nodes,
            auto_number,
            console: console.to_le_bytes(),
            programs,
            matching,
        }
    }

    /// Splits `bytes` into the fixed part and the sections after it.
    fn split(bytes: &[u8]) -> Result<(Self, &[u8]), RecordError> {
        let (fixed, _) = { bytes.split_first_chunk() }.ok_or(RecordError::Truncated)?;
        let record = Self::from_bytes(fixed);
        if record.magic != MAGIC {
            return Err(RecordError::Magic(record.magic));
        }
        if record.version != VERSION {
            return Err(RecordError::Version(record.version));
        }
        let size = record.bytes as usize;
        if size > MAX_BYTES {
            return Err(RecordError::TooLong(record.bytes));
        }
        let sections = bytes.get(RECORD_BYTES..size);
        Ok((record, sections.ok_or(RecordError::Truncated)?))
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns the field if its flag is set.
    fn get<T>(&self, flag: u32, field: T) -> Option<T> {
        self.has(flag).then_some(field)
    }

    fn shape(&self) -> Result<Shape, RecordError> {
        let wraps = flag::WRAPS.map(|flag| self.has(flag));
        Shape::new(self.extents, wraps).ok_or(RecordError::Range(RecordField::Torus))
    }

    /// Returns the nodes of `shape` in the instance.
    fn nodes(&self, shape: Shape) -> Result<InstanceNodes, RecordError> {
        if self.flags & SUPPORTED & flag::BOXES == 0 {
            let coord = place(self.coord).0;
            return match shape.rank(coord) {
                Some(_) => Ok(InstanceNodes::One(coord)),
                None => Err(RecordError::Range(RecordField::Coord)),
            };
        }
        if !SEVERAL && self.parts != [1; 3] {
            return Err(RecordError::OneInstance);
        }
        let division = BoxDivision::new(shape, self.parts).ok_or(RecordError::Range(RecordField::Boxes))?;
        if self.instance >= division.instances() {
            return Err(RecordError::Range(RecordField::Instance));
        }
        if self.node_memory == 0 || !self.node_memory.is_multiple_of(LARGE_PAGE) {
            return Err(RecordError::Range(RecordField::NodeMemory));
        }
        if self.has(flag::EXIT) {
            return Err(RecordError::Range(RecordField::Exit));
        }
        Ok(InstanceNodes::Box(BoxParameters {
            division,
            instance: self.instance,
            node_memory: self.node_memory,
        }))
    }

    fn console(&self, shape: &Shape) -> Result<Option<SerialConsole>, RecordError> {
        // A node that discovers its coordinates does not know the console's, either.
        if self.flags & SUPPORTED & flag::CONSOLE == 0 || self.has(flag::AUTO) {
            return Ok(None);
        }
        let (at, direction) = place(self.console);
        let console = direction.map(|direction| SerialConsole { at, direction });
        match console.filter(|console| console.fits(shape)) {
            None => Err(RecordError::Range(RecordField::Console)),
            console => Ok(console),
        }
    }

    fn output(&self) -> Result<OutputTarget, RecordError> {
        let log = LOGS && self.has(flag::LOG);
        if self.has(flag::RINGS) {
            Ok(OutputTarget::Rings { log })
        } else if log {
            Err(RecordError::Range(RecordField::Log))
        } else {
            Ok(OutputTarget::Uart)
        }
    }

    fn discovery(&self) -> Option<AutoConfig> {
        (self.flags & SUPPORTED & flag::AUTO != 0).then(|| AutoConfig {
            nodes: self.auto_nodes,
            number: self.get(flag::AUTO_NUMBER, self.auto_number),
            has_console: self.has(flag::CONSOLE),
        })
    }

    /// Reads the fault injection settings, with the cuts at the start of `sections`.
    #[cfg(any(feature = "faults", not(target_os = "none")))]
    fn faults(&self, sections: &mut &[u8]) -> Result<Option<LinkFaults>, RecordError> {
        const WRONG: RecordError = RecordError::Range(RecordField::Faults);
        if !self.has(flag::FAULTS) {
            return Ok(None);
        }
        let mut faults = LinkFaults {
            loss: self.loss,
            corruption: self.corruption,
            seed: self.seed,
            ..LinkFaults::default()
        };
        if faults.loss > MAX_RATE || faults.corruption > MAX_RATE {
            return Err(WRONG);
        }
        for _ in 0..self.cuts {
            let (cut, rest) = sections
                .split_first_chunk::<CUT_BYTES>()
                .ok_or(RecordError::Truncated)?;
            *sections = rest;
            let [link, after_ms] = words(cut);
            let (at, direction) = place(link.to_le_bytes());
            let cut = LinkCut {
                at,
                direction: direction.ok_or(WRONG)?,
                after_ms,
            };
            faults.cuts.push(cut).map_err(|_| WRONG)?;
        }
        Ok(Some(faults))
    }
}

#[cfg(any(feature = "faults", not(target_os = "none")))]
const CUT_BYTES: usize = 8;
/// Size of a program's section in bytes, without its strings.
const PROGRAM_BYTES: usize = 20;

fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// Returns coordinates, and the direction of a link there if the fourth byte is valid.
fn place([x, y, z, direction]: [u8; 4]) -> (Coord, Option<Direction>) {
    let direction = Direction::ALL.get(usize::from(direction));
    (Coord { x, y, z }, direction.copied())
}

/// Nodes of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstanceNodes {
    /// One, at these coordinates, with all of the machine's memory.
    One(Coord),
    /// A box of nodes.
    Box(BoxParameters),
}

/// A box of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoxParameters {
    /// The boxes of all instances.
    pub division: BoxDivision,
    /// This instance's index.
    pub instance: u32,
    /// Memory of each node in bytes, a multiple of [`LARGE_PAGE`].
    pub node_memory: u64,
}

impl InstanceNodes {
    /// Returns the coordinates of the node on hart `hart`; `None` if there is none.
    pub fn coord(&self, hart: u32) -> Option<Coord> {
        match self {
            InstanceNodes::One(coord) => (hart == 0).then_some(*coord),
            InstanceNodes::Box(boxed) => boxed.nodes().coord(hart),
        }
    }
}

impl BoxParameters {
    /// Returns the box.
    pub fn nodes(&self) -> NodeBox {
        // The reader has rejected missing instances; a box without nodes has no coordinates.
        let none = NodeBox {
            origin: Coord::default(),
            extents: [0; 3],
        };
        self.division.node_box(self.instance).unwrap_or(none)
    }
}

/// A node that discovers the torus and its coordinates from the wiring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AutoConfig {
    /// Number of nodes; 0: all that are wired together.
    pub nodes: u32,
    /// This node's ID, unless it is the chip's.
    pub number: Option<u32>,
    /// The machine has a serial console, whose location is discovered, too.
    pub has_console: bool,
}

/// The serial console of a machine of boards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerialConsole {
    /// The node that the console is connected to.
    pub at: Coord,
    /// The direction in which that node has a serial line and no link.
    pub direction: Direction,
}

impl SerialConsole {
    /// Returns whether that line is free in a machine of this shape.
    pub fn fits(&self, shape: &Shape) -> bool {
        shape.rank(self.at).is_some() && shape.neighbour(self.at, self.direction).is_none()
    }
}

/// Destination of the program's output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputTarget {
    /// The UART, byte by byte; the kernel does not log.
    #[default]
    Uart,
    /// The outbox, which a tool reads.
    Rings {
        /// Whether the kernel logs, too.
        log: bool,
    },
}

/// Contents of a record, each field within its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BootParameters<'a> {
    /// Extents of the machine, and which dimensions wrap.
    pub shape: Shape,
    /// Nodes of this instance; all inside `shape`.
    pub nodes: InstanceNodes,
    /// Size in bytes of the region for incoming MPI traffic; `None`: selected by the kernel.
    pub mpi_memory: Option<u64>,
    /// Whether the program's heap lends its free part to the MPI device.
    pub mpi_borrow: bool,
    /// Maximum size in bytes of a message that is sent eagerly; `None`: selected by the device.
    pub eager: Option<u64>,
    /// Maximum CPU share of interrupts while the program computes, in percent, if specified.
    pub interrupts: Option<u8>,
    /// Whether a node of a box polls its neighbours before it sleeps.
    pub watch: bool,
    /// Whether the seal of frames on links in memory covers all of their bytes instead of name and length only.
    pub seal: bool,
    /// The name of the matching engine that the image must have; `None`: any. See `midplane_engines::EngineChoice`.
    pub matching: Option<&'a [u8]>,
    /// Fault injection settings of the links, if any.
    #[cfg(any(feature = "faults", not(target_os = "none")))]
    pub faults: Option<LinkFaults>,
    /// Discovery of torus and coordinates from the wiring, if enabled.
    pub auto: Option<AutoConfig>,
    /// The machine's serial console, if there is one.
    pub console: Option<SerialConsole>,
    /// Destination of output.
    pub output: OutputTarget,
    /// Action at the program's end.
    pub exit: ExitAction,
    /// The programs of the nodes.
    pub programs: ProgramList<'a>,
}

impl Default for BootParameters<'_> {
    /// Returns the parameters of a single node that was booted by hand: it exits the emulator when its program ends.
    fn default() -> Self {
        Self {
            shape: single(),
            nodes: InstanceNodes::One(Coord::default()),
            mpi_memory: None,
            mpi_borrow: false,
            eager: None,
            interrupts: None,
            watch: false,
            seal: false,
            matching: None,
            #[cfg(any(feature = "faults", not(target_os = "none")))]
            faults: None,
            auto: None,
            console: None,
            output: OutputTarget::Uart,
            exit: ExitAction::Test,
            programs: ProgramList::default(),
        }
    }
}

/// Returns the shape of a machine of one node.
pub fn single() -> Shape {
    match Shape::new([1; 3], [false; 3]) {
        Some(shape) => shape,
        // Extents of 1 are within 1..=256 by the contract of `Shape::new`.
        None => unreachable!(),
    }
}

impl<'a> BootParameters<'a> {
    /// Reads the record at the start of `bytes`. Empty input contains none, nor does input that starts with 0 or 0xff,
    /// as unwritten flash does; the default is returned then.
    ///
    /// # Errors
    /// The first invalid item; see [`RecordError`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, RecordError> {
        if let None | Some(0 | 0xff) = bytes.first() {
            return Ok(Self::default());
        }
        let (record, mut sections) = BootRecord::split(bytes)?;
        let unsupported = record.flags & !SUPPORTED;
        if unsupported != 0 {
            return Err(RecordError::Unsupported(unsupported));
        }
        let shape = record.shape()?;
        if record.has(flag::INTERRUPTS) && record.interrupts > 100 {
            return Err(RecordError::Range(RecordField::Interrupts));
        }
        Ok(Self {
            shape,
            nodes: record.nodes(shape)?,
            mpi_memory: record.get(flag::MPI_MEMORY, record.mpi_memory),
            mpi_borrow: record.has(flag::MPI_BORROW),
            eager: record.get(flag::EAGER, record.eager),
            interrupts: record.get(flag::INTERRUPTS, record.interrupts as u8),
            watch: record.has(flag::WATCH),
            seal: record.has(flag::SEAL),
            matching: matching(bytes),
            #[cfg(any(feature = "faults", not(target_os = "none")))]
            faults: record.faults(&mut sections)?,
            auto: record.discovery(),
            console: record.console(&shape)?,
            output: record.output()?,
            exit: if record.has(flag::EXIT) {
                ExitAction::Test
            } else {
                ExitAction::Stay
            },
            programs: ProgramList::read(record.programs, &mut sections)?,
        })
    }

    /// Checks that host and image use the same matching engine; `has` is the image's.
    ///
    /// # Errors
    /// If they differ.
    pub fn check_matching(&self, has: &'a str) -> Result<(), MatchingMismatch<'a>> {
        let has = has.as_bytes();
        match self.matching {
            Some(asked) if asked != has => Err(MatchingMismatch { has, asked }),
            _ => Ok(()),
        }
    }
}

/// Returns the name in a record whose fixed part is complete.
fn matching(bytes: &[u8]) -> Option<&[u8]> {
    const START: usize = offset_of!(BootRecord, matching);
    let name = bytes.get(START..START + MATCHING_BYTES)?;
    let end = name.iter().position(|byte| *byte == 0);
    let name = name.get(..end.unwrap_or(MATCHING_BYTES))?;
    (!name.is_empty()).then_some(name)
}

/// The checked programs of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProgramList<'a>(&'a [u8]);

/// A rank's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RankProgram<'a> {
    /// Its index among the programs of the job.
    pub number: u32,
    /// Its environment, NAME=VALUE each.
    pub environment: StringList<'a>,
    /// Its argv.
    pub arguments: StringList<'a>,
}

impl<'a> ProgramList<'a> {
    /// Reads and checks `count` programs, which must fill `sections`.
    fn read(count: u32, sections: &mut &'a [u8]) -> Result<Self, RecordError> {
        let all = *sections;
        let mut first = 0;
        for number in 0..count {
            let (rank, _, rest) = section(sections)?;
            if number == 0 && rank != 0 || number > 0 && rank <= first {
                return Err(RecordError::Range(RecordField::Programs));
            }
            (first, *sections) = (rank, rest);
        }
        if sections.is_empty() {
            Ok(Self(all))
        } else {
            Err(RecordError::Range(RecordField::Bytes))
        }
    }

    /// Returns the program of this rank. If there is none, it has no arguments.
    pub fn for_rank(self, rank: Rank) -> RankProgram<'a> {
        let mut own = RankProgram::default();
        let mut rest = self.0;
        while let Ok((first, program, after)) = section(rest)
            && first <= rank
        {
            (own, rest) = (program, after);
        }
        own
    }
}

/// Splits off the section at the start of `sections`: its first rank, the program, and the remaining sections.
// One copy in the image for all callers.
#[inline(never)]
fn section(sections: &[u8]) -> Result<(Rank, RankProgram<'_>, &[u8]), RecordError> {
    let parts = sections.split_first_chunk::<PROGRAM_BYTES>();
    let (fixed, rest) = parts.ok_or(RecordError::Truncated)?;
    let [first, number, variables, arguments, bytes] = words(fixed);
    if number > i32::MAX as u32 {
        return Err(RecordError::Range(RecordField::Programs));
    }
    if arguments > MAX_ARGS as u32 {
        return Err(RecordError::TooManyArgs);
    }
    if variables > MAX_ENVIRONMENT as u32 {
        return Err(RecordError::TooManyVariables);
    }
    let parts = rest.split_at_checked(bytes as usize);
    let (mut strings, rest) = parts.ok_or(RecordError::Truncated)?;
    let program = RankProgram {
        number,
        environment: StringList::split(&mut strings, variables)?,
        arguments: StringList::split(&mut strings, arguments)?,
    };
    if strings.is_empty() {
        Ok((first, program, rest))
    } else {
        Err(RecordError::Range(RecordField::Strings))
    }
}

/// Consecutive strings, each terminated by a zero byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StringList<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> StringList<'a> {
    /// Splits `count` strings off the start of `bytes`.
    fn split(bytes: &mut &'a [u8], count: u32) -> Result<Self, RecordError> {
        let mut rest = *bytes;
        for _ in 0..count {
            (_, rest) = first_string(rest).ok_or(RecordError::Range(RecordField::Strings))?;
        }
        let own = bytes.split_at(bytes.len() - rest.len()).0;
        *bytes = rest;
        Ok(Self {
            bytes: own,
            count: count as usize,
        })
    }

    /// Returns their number.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns all strings, including the zero bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the strings, without the zero bytes.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.bytes;
        core::iter::from_fn(move || {
            let string;
            (string, rest) = first_string(rest)?;
            Some(string)
        })
    }
}

/// Returns the first string, and the bytes after it.
fn first_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let (string, rest) = bytes.split_at_checked(end)?;
    Some((string, rest.get(1..)?))
}

/// The tool's description of a program, for the ranks from `first`.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSection<'s, S> {
    /// First rank of the program.
    pub first: Rank,
    /// Its index among the programs of the job.
    pub number: u32,
    /// Its environment, NAME=VALUE each.
    pub environment: &'s [S],
    /// Its argv.
    pub arguments: &'s [S],
}

#[cfg(not(target_os = "none"))]
impl BootParameters<'_> {
    /// Appends the record to `out`, with `programs`, in ascending order of their ranks, instead of
    /// [`BootParameters::programs`].
    ///
    /// Only the reader checks limits: read the record to find out whether a node would accept it.
    pub fn write<S: AsRef<[u8]>>(&self, programs: &[ProgramSection<'_, S>], out: &mut impl Extend<u8>) {
        let size = |strings: &[S]| -> usize { strings.iter().map(|s| s.as_ref().len() + 1).sum() };
        let strings =
            |program: &ProgramSection<'_, S>| size(program.environment).saturating_add(size(program.arguments));
        let cuts = self.faults.iter().flat_map(|faults| &faults.cuts);
        let sections = cuts.clone().count() * CUT_BYTES + { programs.iter() }
            .map(|program| PROGRAM_BYTES + strings(program))
            .sum::<usize>();
        let mut put = |bytes: &[u8]| out.extend(bytes.iter().copied());
        let record = BootRecord {
            bytes: number(RECORD_BYTES + sections),
            programs: number(programs.len()),
            ..self.record()
        };
        put(&record.to_bytes());
        for LinkCut {
            at,
            direction,
            after_ms,
        } in cuts
        {
            put(&[at.x, at.y, at.z, *direction as u8]);
            put(&after_ms.to_le_bytes());
        }
        for program in programs {
            let ProgramSection {
                environment, arguments, ..
            } = program;
            for word in [
                program.first,
                program.number,
                number(environment.len()),
                number(arguments.len()),
                number(strings(program)),
            ] {
                put(&word.to_le_bytes());
            }
            for string in environment.iter().chain(*arguments) {
                put(string.as_ref());
                put(&[0]);
            }
        }
    }

    /// Returns the fixed part, including the number of cuts but no other information about sections.
    fn record(&self) -> BootRecord {
        let flags = [
            (self.mpi_memory.is_some(), flag::MPI_MEMORY),
            (self.mpi_borrow, flag::MPI_BORROW),
            (self.eager.is_some(), flag::EAGER),
            (self.interrupts.is_some(), flag::INTERRUPTS),
            (self.watch, flag::WATCH),
            (self.seal, flag::SEAL),
            (self.faults.is_some(), flag::FAULTS),
            (self.auto.is_some(), flag::AUTO),
            (self.auto.is_some_and(|auto| auto.number.is_some()), flag::AUTO_NUMBER),
            (
                self.console.is_some() || self.auto.is_some_and(|auto| auto.has_console),
                flag::CONSOLE,
            ),
            (self.output != OutputTarget::Uart, flag::RINGS),
            (self.output == OutputTarget::Rings { log: true }, flag::LOG),
            (self.exit == ExitAction::Test, flag::EXIT),
        ];
        let wraps = self.shape.wraps().into_iter().zip(flag::WRAPS);
        let flags = { flags.into_iter().chain(wraps) }
            .filter(|(is_set, _)| *is_set)
            .fold(0, |flags, (_, flag)| flags | flag);
        let mut record = BootRecord {
            flags,
            extents: self.shape.extents(),
            mpi_memory: self.mpi_memory.unwrap_or(0),
            eager: self.eager.unwrap_or(0),
            interrupts: self.interrupts.unwrap_or(0).into(),
            ..BootRecord::SINGLE
        };
        match self.nodes {
            InstanceNodes::One(Coord { x, y, z }) => record.coord = [x, y, z, 0],
            InstanceNodes::Box(boxed) => {
                record.flags |= flag::BOXES;
                record.parts = boxed.division.parts();
                record.instance = boxed.instance;
                record.node_memory = boxed.node_memory;
            }
        }
        if let Some(auto) = self.auto {
            record.auto_nodes = auto.nodes;
            record.auto_number = auto.number.unwrap_or(0);
        }
        if let Some(SerialConsole { at, direction }) = self.console {
            record.console = [at.x, at.y, at.z, direction as u8];
        }
        if let Some(faults) = &self.faults {
            record.loss = faults.loss;
            record.corruption = faults.corruption;
            record.seed = faults.seed;
            record.cuts = faults.cuts.len() as u16;
        }
        for (byte, name) in { record.matching.iter_mut() }.zip(self.matching.unwrap_or_default()) {
            *byte = *name;
        }
        record
    }
}

/// Converts a size to a record's type; an excessive one remains too large for any record.
#[cfg(not(target_os = "none"))]
fn number(size: usize) -> u32 {
    size.try_into().unwrap_or(u32::MAX)
}

/// A field of a record, or several with a common range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordField {
    /// `extents`.
    Torus,
    /// `coord`.
    Coord,
    /// `parts`.
    Boxes,
    /// `instance`.
    Instance,
    /// `node_memory`.
    NodeMemory,
    /// `interrupts`.
    Interrupts,
    /// `console`.
    Console,
    /// `loss`, `corruption`, the number of cuts or the direction of one.
    Faults,
    /// The flag `LOG`.
    Log,
    /// The flag `EXIT`.
    Exit,
    /// A program's index, or the order of their ranks.
    Programs,
    /// A program's strings.
    Strings,
    /// `bytes`.
    Bytes,
}

impl RecordField {
    /// All fields, in the order of their numbers.
    pub(crate) const ALL: [Self; 13] = [
        Self::Torus,
        Self::Coord,
        Self::Boxes,
        Self::Instance,
        Self::NodeMemory,
        Self::Interrupts,
        Self::Console,
        Self::Faults,
        Self::Log,
        Self::Exit,
        Self::Programs,
        Self::Strings,
        Self::Bytes,
    ];
}

impl fmt::Display for RecordField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Torus => "an extent of the torus is not 1 to 256",
            Self::Coord => "the node's place is outside the torus",
            Self::Boxes => {
                return write!(
                    f,
                    "the torus cannot be divided into such boxes of at most {MAX_NODES} nodes"
                );
            }
            Self::Instance => "there is no instance of that number",
            Self::NodeMemory => {
                return write!(f, "a node's memory is not a multiple of {LARGE_PAGE} bytes");
            }
            Self::Interrupts => "the share of interrupts is not 0 to 100 percent",
            Self::Console => "the console is at no node, or where the machine has a link",
            Self::Faults => "the faults of the links are out of range",
            Self::Log => "the log is for nodes whose output goes to the tool",
            Self::Exit => "a node of a box cannot leave the emulator",
            Self::Programs => "the programs' numbers or first ranks are out of range",
            Self::Strings => "a program's strings are not as many as counted, or contain a zero byte",
            Self::Bytes => "the record is longer than its sections",
        })
    }
}

/// Reason to reject a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordError {
    /// No record: it begins with this word.
    Magic(u32),
    /// A record of another version.
    Version(u32),
    /// The record has this number of bytes, more than [`MAX_BYTES`].
    TooLong(u32),
    /// It ends before its sections do.
    Truncated,
    /// A program has more than [`MAX_ARGS`] arguments.
    TooManyArgs,
    /// A program has more than [`MAX_ENVIRONMENT`] variables.
    TooManyVariables,
    /// It contains these [flags](flag), which this image does not support.
    Unsupported(u32),
    /// A field is out of its range.
    Range(RecordField),
    /// The job uses several instances, but the image supports one.
    OneInstance,
}

impl RecordError {
    /// Returns the error's number, and a value that belongs to it.
    pub(crate) fn parts(self) -> (u64, u64) {
        match self {
            Self::Magic(word) => (0, word.into()),
            Self::Version(version) => (1, version.into()),
            Self::TooLong(bytes) => (2, bytes.into()),
            Self::Truncated => (3, 0),
            Self::TooManyArgs => (4, 0),
            Self::TooManyVariables => (5, 0),
            Self::Unsupported(flags) => (6, flags.into()),
            Self::Range(field) => (7, field as u64),
            Self::OneInstance => (8, 0),
        }
    }

    /// Returns the error with these [parts](Self::parts).
    pub(crate) fn from_parts(kind: u64, value: u64) -> Option<Self> {
        let word = u32::try_from(value).ok()?;
        Some(match kind {
            0 => Self::Magic(word),
            1 => Self::Version(word),
            2 => Self::TooLong(word),
            3 => Self::Truncated,
            4 => Self::TooManyArgs,
            5 => Self::TooManyVariables,
            6 => Self::Unsupported(word),
            7 => Self::Range(*RecordField::ALL.get(word as usize)?),
            8 => Self::OneInstance,
            _ => return None,
        })
    }

    /// Returns one of each.
    #[cfg(test)]
    pub(crate) fn some_of_each() -> std::vec::Vec<Self> {
        let others = [
            Self::Magic(0x1234_5678),
            Self::Version(2),
            Self::TooLong(u32::MAX),
            Self::Truncated,
            Self::TooManyArgs,
            Self::TooManyVariables,
            Self::Unsupported(flag::LOG | 1 << 31),
            Self::OneInstance,
        ];
        let fields = RecordField::ALL.map(Self::Range);
        others.into_iter().chain(fields).collect()
    }
}

/// Options of flags that only some images support.
const OPTIONS: [(u32, &str); 5] = [
    (flag::FAULTS, "faults of links"),
    (flag::AUTO | flag::AUTO_NUMBER, "--auto"),
    (flag::CONSOLE, "--console"),
    (flag::MPI_BORROW, "--mpi-borrow"),
    (flag::LOG, "--log"),
];

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AGAIN: &str = "start or flash the node again with the command that built its image";
        write!(f, "boot parameters: ")?;
        match self {
            Self::Magic(word) => write!(f, "{word:#010x} begins no record; {AGAIN}"),
            Self::Version(version) => write!(f, "a record of version {version}, this kernel reads {VERSION}; {AGAIN}"),
            Self::TooLong(bytes) => write!(
                f,
                "{bytes} bytes with the program's arguments and environment, at most {MAX_BYTES} are possible"
            ),
            Self::Truncated => write!(f, "the record is cut short; {AGAIN}"),
            Self::TooManyArgs => write!(f, "more than {MAX_ARGS} program arguments"),
            Self::TooManyVariables => write!(f, "more than {MAX_ENVIRONMENT} variables in the environment"),
            Self::Unsupported(flags) => {
                f.write_str("this image was built without")?;
                let mut rest = *flags;
                for (option, name) in OPTIONS {
                    if flags & option != 0 {
                        write!(f, " {name},")?;
                    }
                    rest &= !option;
                }
                if rest != 0 {
                    write!(f, " the flags {rest:#x},")?;
                }
                f.write_str(" with which it is started; give its source in place of the image")
            }
            Self::Range(field) => write!(f, "{field}; {AGAIN}"),
            Self::OneInstance => f.write_str(
                "this image is for jobs in one instance; give its source, or have it linked by `midplane cc`",
            ),
        }
    }
}

impl core::error::Error for RecordError {}

/// The image's matching engine differs from the host's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchingMismatch<'a> {
    /// The image's engine.
    pub has: &'a [u8],
    /// The requested engine.
    pub asked: &'a [u8],
}

/// A name for display; invalid UTF-8 is replaced by a mark.
struct DisplayName<'a>(&'a [u8]);

impl fmt::Display for DisplayName<'_> {
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

impl fmt::Display for MatchingMismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (has, asked) = (DisplayName(self.has), DisplayName(self.asked));
        write!(f, "this image has the matching engine `{has}`, not `{asked}`")
    }
}

impl core::error::Error for MatchingMismatch<'_> {}

#[cfg(test)]
mod tests;
