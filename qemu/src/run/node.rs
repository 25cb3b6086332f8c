//! A node: a part of an instance's memory.

use crate::build::image::{Image, StackRanges};
use crate::host::shared::SharedMemory;
use kernel_rt::board::linux::share::AT_QUEUES;
use kernel_rt::dev::ring::SleepFlag;
use midplane_abi::address::AddressRange;
use midplane_abi::blackboard::{self, BlackboardSnapshot, NodeState, ReadError};
use midplane_abi::files::{self, FileRequest};
use midplane_abi::inbox::{self, InboxState};
use midplane_abi::layout::InstanceLayout;
use midplane_abi::memory_access::MemoryAccess;
use midplane_abi::message_queues::{self, MessageQueues};
use midplane_abi::outbox::{OutboxCorruption, OutboxReader, OutputStream};
use net_torus::coord::Coord;
use serde::Serialize;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

/// Location of a node's memory in its instance's memory.
#[derive(Clone, Copy, Debug)]
pub enum MemoryLocation {
    /// The node uses all of it.
    Entire,
    /// The node is in a box.
    InBox {
        /// Memory layout of the instance.
        layout: InstanceLayout,
        /// Index of the node in the box.
        index: u32,
        /// Addresses of the image's code and constants, shared by all nodes.
        code: AddressRange,
    },
}

/// A node's memory within its instance's.
struct MemoryView {
    instance: Rc<SharedMemory>,
    place: MemoryLocation,
}

impl MemoryView {
    /// Translates an offset in the node's memory to one in the instance's.
    fn offset(&self, at: u64) -> Option<u64> {
        match self.place {
            MemoryLocation::Entire => Some(at),
            MemoryLocation::InBox { layout, index, code } => {
                let address = midplane_abi::layout::RAM.checked_add(at)?;
                layout.offset(index, address, code)
            }
        }
    }

    /// Translates a range of `bytes` bytes; `None` unless it is contiguous.
    fn range(&self, at: u64, bytes: usize) -> Option<u64> {
        let first = self.offset(at)?;
        let Some(more) = u64::try_from(bytes).ok()?.checked_sub(1) else {
            return Some(first);
        };
        let last = self.offset(at.checked_add(more)?)?;
        (last == first + more).then_some(first)
    }
}

impl MemoryAccess for MemoryView {
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

/// Reason why a node's records cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordError {
    /// Invalid blackboard (status record).
    Blackboard(ReadError),
    /// Overwritten outbox (output ring buffer).
    Outbox(OutboxCorruption),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blackboard(error) => error.fmt(f),
            Self::Outbox(error) => error.fmt(f),
        }
    }
}

/// Offsets of the words before the records in the ring buffer of a program's calls (recorder.c): magic number, capacity,
/// number of words written, number of words read. The counts are modulo 2^32. An address of the node follows.
const RING_HEAD: [u64; 4] = [0, 4, 8, 12];
/// Offset of the records.
const RING_WORDS: u64 = 24;
const RING_MAGIC: u32 = u32::from_le_bytes(*b"MPC1");
/// Maximum capacity of a ring buffer in words.
const MAX_RING_WORDS: u32 = 1 << 20;

/// Granularity of stack usage in bytes.
const WORD: u64 = 8;

/// Usage of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StackUse {
    /// Peak usage in bytes.
    pub peak_bytes: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Usage of both stacks of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StacksUse {
    /// Stack of the program.
    #[serde(rename = "stack")]
    pub program: StackUse,
    /// Stack of interrupts and faults.
    #[serde(rename = "interrupt_stack")]
    pub interrupts: StackUse,
}

pub struct Node {
    pub rank: u32,
    /// A process has spawned it, with a program that is none of the job's images.
    pub has_own_program: bool,
    /// Coordinates in the torus.
    pub coord: Coord,
    /// Index of its instance.
    pub instance: usize,
    memory: MemoryView,
    blackboard: u64,
    inbox: Option<u64>,
    files: Option<u64>,
    /// `None` for a board without message queues.
    queues: Option<u64>,
    /// `None` for a program that is not recorded, and for a native process.
    calls: Option<u64>,
    /// `None` for a native process: its stack is in its own memory.
    stacks: Option<StackRanges>,
    /// Reader of its output; `None` for a native process: it uses its standard streams.
    outbox: Option<OutboxReader>,
    /// Error in the outbox; it is not read any more.
    overwritten: Option<OutboxCorruption>,
}

impl Node {
    /// Creates the node of `rank` at `coord`, which runs `image` at `place` in the memory of the instance with this
    /// index.
    pub fn new(
        rank: u32,
        coord: Coord,
        image: &Image,
        instance: usize,
        memory: &Rc<SharedMemory>,
        place: MemoryLocation,
    ) -> Self {
        Self {
            rank,
            has_own_program: false,
            coord,
            instance,
            memory: MemoryView {
                instance: Rc::clone(memory),
                place,
            },
            blackboard: image.blackboard,
            inbox: image.inbox,
            files: image.files,
            queues: image.queues,
            calls: image.calls,
            stacks: Some(image.stacks),
            outbox: Some(OutboxReader::new(image.outbox)),
            overwritten: None,
        }
    }

    /// Creates the node of `rank` at `coord` in the process with this index. Its blackboard is at this offset of the
    /// memory that all processes share.
    pub fn from_process(rank: u32, coord: Coord, instance: usize, memory: &Rc<SharedMemory>, blackboard: u64) -> Self {
        Self {
            rank,
            has_own_program: false,
            coord,
            instance,
            memory: MemoryView {
                instance: Rc::clone(memory),
                place: MemoryLocation::Entire,
            },
            blackboard,
            inbox: None,
            files: None,
            queues: Some(blackboard + AT_QUEUES),
            calls: None,
            stacks: None,
            outbox: None,
            overwritten: None,
        }
    }

    /// Returns the node's state from its blackboard. Inexpensive.
    pub fn state(&self) -> Result<NodeState, RecordError> {
        self.check_record()?;
        blackboard::glance(&self.memory, self.blackboard).map_err(RecordError::Blackboard)
    }

    /// Returns the complete blackboard of the node.
    pub fn snapshot(&self) -> Result<BlackboardSnapshot, RecordError> {
        self.check_record()?;
        let mut bytes = [0; blackboard::BYTES];
        let read = self.memory.read(self.blackboard, &mut bytes);
        match read {
            Some(()) => BlackboardSnapshot::read(&bytes),
            None => Err(ReadError::TooShort(0)),
        }
        .map_err(RecordError::Blackboard)
    }

    /// Checks whether the program waits in a call, from its blackboard. Inexpensive.
    pub fn is_in_call(&self) -> bool {
        blackboard::glance_call(&self.memory, self.blackboard).is_some()
    }

    /// Returns the message queues of the program's current call. `None` if the node has not shown them, or is writing.
    pub fn queues(&self) -> Option<MessageQueues> {
        let mut bytes = [0; message_queues::BYTES];
        self.memory.read(self.queues?, &mut bytes)?;
        MessageQueues::read(&bytes)
    }

    /// Moves the records of the program's calls from its ring buffer to `words`. Returns false if the ring buffer is
    /// invalid, because the program has overwritten it.
    pub fn read_calls(&self, words: &mut Vec<u64>) -> bool {
        let Some(at) = self.calls else {
            return true;
        };
        let head = RING_HEAD.map(|offset| self.memory.load(at + offset));
        let [Some(magic), Some(capacity), Some(count), Some(read)] = head else {
            return false;
        };
        // Not open yet.
        if magic == 0 {
            return true;
        }
        let pending = count.wrapping_sub(read);
        if magic != RING_MAGIC || capacity == 0 || capacity > MAX_RING_WORDS || pending > capacity {
            return false;
        }
        // The records must not be read before their number.
        fence(Ordering::Acquire);
        let first = read % capacity;
        let until_end = pending.min(capacity - first);
        let parts = [first..first + until_end, 0..pending - until_end];
        let is_read = parts
            .into_iter()
            .all(|part| self.read_words(at + RING_WORDS, part, words));
        is_read && self.memory.store(at + RING_HEAD[3], count)
    }

    /// Appends words of an array in the node's RAM.
    fn read_words(&self, array: u64, part: Range<u32>, words: &mut Vec<u64>) -> bool {
        let mut bytes = vec![0; 8 * part.len()];
        let is_read = self
            .memory
            .read(array + 8 * u64::from(part.start), &mut bytes)
            .is_some();
        let chunks = bytes.chunks_exact(8).map(|chunk| chunk.try_into().unwrap_or_default());
        words.extend(chunks.map(u64::from_le_bytes));
        is_read
    }

    fn check_record(&self) -> Result<(), RecordError> {
        self.overwritten.map_or(Ok(()), |error| Err(RecordError::Outbox(error)))
    }

    /// Reads the node's RAM at an offset; `None` outside of it.
    pub fn read_ram(&self, offset: u64, out: &mut [u8]) -> Option<()> {
        self.memory.read(offset, out)
    }

    /// Copies bytes that a board has sent to the node's RAM; returns false outside of it.
    pub fn write_ram(&self, offset: u64, bytes: &[u8]) -> bool {
        self.memory.write(offset, bytes)
    }

    /// Returns the offset in the node's status record of this offset in its RAM; `None` outside of the record.
    pub fn record_offset(&self, offset: u64) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.blackboard)?).ok()?;
        (at < blackboard::BYTES).then_some(at)
    }

    /// Replaces the node's status record by one that a board has sent; returns false outside of its RAM.
    pub fn write_record(&self, record: &[u8]) -> bool {
        self.memory.write(self.blackboard, record)
    }

    /// Reads a word of a process's control area, at this offset of its record.
    pub fn control_word(&self, at: u64) -> Option<u32> {
        self.memory.load(self.blackboard + at)
    }

    /// Writes a word of a process's control area.
    pub fn set_control_word(&self, at: u64, word: u32) {
        self.memory.store(self.blackboard + at, word);
    }

    /// Wakes a process that sleeps on the word at this offset of the shared memory.
    pub fn ring(&self, at: u64) {
        { &self.memory.instance }.ring(at, SleepFlag::ARMED, SleepFlag::RUNG);
    }

    /// Returns the peak usage of the stacks: up to the farthest non-zero byte, as they are zero at the start. `None`
    /// where that is not observable.
    pub fn stacks(&self) -> Option<StacksUse> {
        let stacks = self.stacks?;
        let used = |stack: AddressRange| {
            let start = self.memory.range(stack.start, stack.len() as usize)?;
            let end = start + stack.len();
            Some(StackUse {
                // Some bytes of the last word may be zero.
                peak_bytes: (end - self.memory.instance.first_used(start, end)?).next_multiple_of(WORD),
                bytes: stack.len(),
            })
        };
        // Every program that has run has used its stack.
        let program = used(stacks.program).filter(|stack| stack.peak_bytes > 0)?;
        Some(StacksUse {
            program,
            interrupts: used(stacks.interrupts)?,
        })
    }

    /// Returns the free space of the program's inbox; `None` until the program requests input.
    pub fn inbox(&self) -> Option<InboxState> {
        InboxState::load(&self.memory, self.inbox?)
    }

    /// Writes input to the program's inbox, limited to its free space. Without an inbox it has no effect.
    pub fn write_input(&self, head: InboxState, bytes: &[u8]) {
        if let Some(inbox) = self.inbox {
            head.write_input(&self.memory, inbox, bytes);
        }
    }

    /// Notifies the program of the end of input.
    pub fn close_inbox(&self) {
        if let Some(inbox) = self.inbox {
            inbox::close(&self.memory, inbox);
        }
    }

    /// Returns the program's pending file call, unless its sequence number is `last`.
    pub fn pending_call(&self, last: u32, bytes: &mut [u8; files::BYTES]) -> Option<FileRequest> {
        FileRequest::poll(&self.memory, self.files?, last, bytes)
    }

    /// Replies to the file call with this sequence number.
    pub fn reply_to_call(&self, number: u32, answer: Result<([u64; 2], &[u8]), u32>) {
        if let Some(at) = self.files {
            files::answer(&self.memory, at, number, answer);
        }
    }

    /// Enables the node's doorbell for new output. Call it before [`Node::read_output`].
    pub fn arm_doorbell(&self) {
        if let Some(outbox) = &self.outbox {
            outbox.arm(&self.memory);
        }
    }

    /// Reads a stream's pending output. Empty if there is none or the ring buffer is invalid; the node's state then
    /// reports the error.
    pub fn read_output<'o>(&mut self, stream: OutputStream, out: &'o mut [u8]) -> &'o [u8] {
        let outbox = match &mut self.outbox {
            Some(outbox) if self.overwritten.is_none() => outbox,
            _ => return &[],
        };
        match outbox.read_stream(&self.memory, stream, out) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.overwritten = Some(error);
                &[]
            }
        }
    }
}
