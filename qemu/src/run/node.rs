//! A node: a place in the memory of an instance.

use crate::build::image::{Image, Stacks};
use crate::host::shared::Shared;
use kernel_rt::dev::ring::Asleep;
use midplane_abi::address::Bytes;
use midplane_abi::blackboard::{self, ReadError, Snapshot, State};
use midplane_abi::files::{self, Asked};
use midplane_abi::inbox::{self, Head};
use midplane_abi::layout::Layout;
use midplane_abi::outbox::{Overwritten, Reader, Stream};
use midplane_abi::window::Window;
use net_torus::coord::Coord;
use serde::Serialize;
use std::fmt;
use std::rc::Rc;

/// Where in an instance's memory a node's own lies.
#[derive(Clone, Copy, Debug)]
pub enum OwnMemory {
    /// The whole is the node's.
    Whole,
    /// One of the nodes of a box.
    InBox {
        /// Where the parts of the instance's memory lie.
        layout: Layout,
        /// The node's number in the box.
        index: u32,
        /// Addresses of the image's code and constants, of which all nodes see the same.
        code: Bytes,
    },
}

/// A node's memory in its instance's.
struct Memory {
    instance: Rc<Shared>,
    place: OwnMemory,
}

impl Memory {
    /// Where a byte of the node's memory lies, by its offset there.
    fn offset(&self, at: u64) -> Option<u64> {
        match self.place {
            OwnMemory::Whole => Some(at),
            OwnMemory::InBox {
                layout,
                index,
                code,
            } => {
                let address = midplane_abi::layout::RAM.checked_add(at)?;
                layout.offset(index, address, code)
            }
        }
    }

    /// Where `bytes` bytes lie that the node has side by side.
    fn range(&self, at: u64, bytes: usize) -> Option<u64> {
        let first = self.offset(at)?;
        let Some(more) = u64::try_from(bytes).ok()?.checked_sub(1) else {
            return Some(first);
        };
        let last = self.offset(at.checked_add(more)?)?;
        (last == first + more).then_some(first)
    }
}

impl Window for Memory {
    fn load(&self, at: u64) -> Option<u32> {
        self.instance.load(self.range(at, 4)?)
    }

    fn store(&self, at: u64, word: u32) -> bool {
        let place = self.range(at, 4);
        place.is_some_and(|at| self.instance.store(at, word))
    }

    fn read(&self, at: u64, out: &mut [u8]) -> Option<()> {
        self.instance.read(self.range(at, out.len())?, out)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> bool {
        let place = self.range(at, bytes.len());
        place.is_some_and(|at| self.instance.write(at, bytes))
    }
}

/// Why a node's account of itself cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Its blackboard.
    Blackboard(ReadError),
    /// What it printed.
    Outbox(Overwritten),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blackboard(error) => error.fmt(f),
            Self::Outbox(error) => error.fmt(f),
        }
    }
}

/// Stacks are used by this many bytes at least.
const WORD: u64 = 8;

/// What of a stack has been used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StackUse {
    /// Most bytes that were ever in use.
    pub peak_bytes: u64,
    /// Bytes that there are.
    pub bytes: u64,
}

/// The same of both stacks of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StacksUse {
    /// The program's.
    #[serde(rename = "stack")]
    pub program: StackUse,
    /// That of interrupts and faults.
    #[serde(rename = "interrupt_stack")]
    pub interrupts: StackUse,
}

/// One node.
pub struct Node {
    /// Its rank.
    pub rank: u32,
    /// Its place in the torus.
    pub coord: Coord,
    /// The instance that carries it.
    pub instance: usize,
    memory: Memory,
    blackboard: u64,
    inbox: Option<u64>,
    files: Option<u64>,
    /// A process of this machine has its stack elsewhere.
    stacks: Option<Stacks>,
    /// Where what it prints is found; a process of this machine prints into its own streams.
    outbox: Option<Reader>,
    /// What was wrong with the outbox; nothing is read from it any more.
    overwritten: Option<Overwritten>,
}

impl Node {
    /// The node of `rank` at `coord`, which runs `image` in `place` of the memory of instance number `instance`.
    pub fn new(
        (rank, coord): (u32, Coord),
        image: &Image,
        instance: usize,
        memory: &Rc<Shared>,
        place: OwnMemory,
    ) -> Self {
        Self {
            rank,
            coord,
            instance,
            memory: Memory {
                instance: Rc::clone(memory),
                place,
            },
            blackboard: image.blackboard,
            inbox: image.inbox,
            files: image.files,
            stacks: Some(image.stacks),
            outbox: Some(Reader::new(image.outbox)),
            overwritten: None,
        }
    }

    /// The node of `rank` at `coord` that is process number `instance`; its blackboard is at that offset of the memory
    /// that all of them share.
    pub fn of_process(
        (rank, coord): (u32, Coord),
        instance: usize,
        memory: &Rc<Shared>,
        blackboard: u64,
    ) -> Self {
        Self {
            rank,
            coord,
            instance,
            memory: Memory {
                instance: Rc::clone(memory),
                place: OwnMemory::Whole,
            },
            blackboard,
            inbox: None,
            files: None,
            stacks: None,
            outbox: None,
            overwritten: None,
        }
    }

    /// What the node is doing, by its own account. Cheap.
    pub fn state(&self) -> Result<State, Unreadable> {
        self.sound()?;
        blackboard::glance(&self.memory, self.blackboard).map_err(Unreadable::Blackboard)
    }

    /// All of the node's own account.
    pub fn snapshot(&self) -> Result<Snapshot, Unreadable> {
        self.sound()?;
        let mut bytes = [0; blackboard::BYTES];
        let read = self.memory.read(self.blackboard, &mut bytes);
        match read {
            Some(()) => Snapshot::read(&bytes),
            None => Err(ReadError::TooShort(0)),
        }
        .map_err(Unreadable::Blackboard)
    }

    fn sound(&self) -> Result<(), Unreadable> {
        self.overwritten
            .map_or(Ok(()), |error| Err(Unreadable::Outbox(error)))
    }

    /// Reads the node's RAM from an offset on. `None`: it has no such place.
    pub fn read_ram(&self, offset: u64, out: &mut [u8]) -> Option<()> {
        self.memory.read(offset, out)
    }

    /// Puts into the node's RAM what stands there on a board that has said so. False: it has no such place.
    pub fn write_ram(&self, offset: u64, bytes: &[u8]) -> bool {
        self.memory.write(offset, bytes)
    }

    /// A word of a process's orders, at this offset of its account.
    pub fn order(&self, at: u64) -> Option<u32> {
        self.memory.load(self.blackboard + at)
    }

    /// Writes a word of a process's orders.
    pub fn give_order(&self, at: u64, word: u32) {
        self.memory.store(self.blackboard + at, word);
    }

    /// Rings a process that sleeps on the word at this offset of the memory that all of them share.
    pub fn ring(&self, at: u64) {
        { &self.memory.instance }.ring(at, Asleep::ARMED, Asleep::RUNG);
    }

    /// How far the stacks have been used: up to the furthest byte that is not zero, as they were at the start. `None`
    /// where that cannot be seen.
    pub fn stacks(&self) -> Option<StacksUse> {
        let stacks = self.stacks?;
        let used = |stack: Bytes| {
            let start = self.memory.range(stack.start, stack.len() as usize)?;
            let end = start + stack.len();
            Some(StackUse {
                // Of the last word's bytes some may be zero.
                peak_bytes: (end - self.memory.instance.first_used(start, end)?)
                    .next_multiple_of(WORD),
                bytes: stack.len(),
            })
        };
        // No program has run without using its stack.
        let program = used(stacks.program).filter(|stack| stack.peak_bytes > 0)?;
        Some(StacksUse {
            program,
            interrupts: used(stacks.interrupts)?,
        })
    }

    /// What the program's inbox has room for; `None` while it has not asked for input.
    pub fn inbox(&self) -> Option<Head> {
        Head::look(&self.memory, self.inbox?)
    }

    /// Puts input into the program's inbox, no more than it has room for. Nothing can go wrong but that it has none.
    pub fn give(&self, head: Head, bytes: &[u8]) {
        if let Some(inbox) = self.inbox {
            head.give(&self.memory, inbox, bytes);
        }
    }

    /// Tells the program that no more input comes.
    pub fn close_inbox(&self) {
        if let Some(inbox) = self.inbox {
            inbox::close(&self.memory, inbox);
        }
    }

    /// What the program asks of files, other than call number `last`.
    pub fn asked(&self, last: u32, bytes: &mut [u8; files::BYTES]) -> Option<Asked> {
        Asked::look(&self.memory, self.files?, last, bytes)
    }

    /// Answers call `number` on a file.
    pub fn answer(&self, number: u32, answer: Result<([u64; 2], &[u8]), u32>) {
        if let Some(at) = self.files {
            files::answer(&self.memory, at, number, answer);
        }
    }

    /// From now on the node rings for what it writes. Call it before [`Node::take`].
    pub fn arm(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.arm(&self.memory);
        }
    }

    /// Takes what the node has written to a stream; empty when there is nothing, or nonsense, which the node's state
    /// then tells.
    pub fn take<'o>(&mut self, stream: Stream, out: &'o mut [u8]) -> &'o [u8] {
        let outbox = match &mut self.outbox {
            Some(outbox) if self.overwritten.is_none() => outbox,
            _ => return &[],
        };
        match outbox.take(&self.memory, stream, out) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.overwritten = Some(error);
                &[]
            }
        }
    }
}
