//! The blackboard: a fixed status record in the node's memory.
//!
//! The node writes it, and any reader of the node's memory can use it: the host tool through the memory file behind a
//! QEMU instance, a debug probe on a board. It requires no stream, so it is readable after the node was killed, and it
//! contains the current call of a hanging node. Readers find it by the image's symbol [`SYMBOL`]. It consists of
//! [`WORDS`] little-endian 32-bit words, the maximum size that every board reads and writes atomically; a 64-bit value
//! uses two, the lower half first. Both sides use this module: the node by [`Blackboard`], the reader by
//! [`BlackboardSnapshot::read`].
//!
//! Age of the contents: state, call, end, message and fault are written immediately. The statistics (beats and
//! counters) require thousands of instructions, so a node writes them once per millisecond of its own clock while it
//! makes progress (`kernel_rt::node::PUBLISH_NS`). Progress is visible after at most a millisecond, even if the node
//! then sleeps, computes or hangs, because the timer is set before. They are written once more at the program's end
//! and, unless it fails inside a call, at its failure. A killed node may lack its last millisecond.
//!
//! All data that explains a state is written before the state itself, so a reader that sees [`NodeState::Failed`] also sees
//! the reason.

use super::counters::{ChannelCounter, Counter, LINKS, LinkCounter, LinkCounters};
use super::memory_access::MemoryAccess;
use super::record::{FailureRecord, MESSAGE_BYTES};
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering, fence};
use net_torus::{Direction, Vc};

/// The image's symbol of the blackboard.
pub const SYMBOL: &str = "MIDPLANE_BLACKBOARD";
/// First word of an initialized blackboard ("MPB3").
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPB3");
/// Maximum length of a call's name in bytes; a longer one is truncated.
pub const CALL_BYTES: usize = 32;
/// Maximum length of a matching engine's name in bytes.
pub const MATCHING_BYTES: usize = 16;

// Word offsets of the fields.
const AT_MAGIC: usize = 0;
const AT_STATE: usize = 1;
const AT_END: usize = 2;
const AT_STATUS: usize = 3;
const AT_RANK: usize = 4;
/// Steps of the node's loop: they show whether a node without progress is alive.
const AT_BEATS: usize = 6;
const AT_FAULT_CAUSE: usize = 8;
const AT_FAULT_PC: usize = 10;
const AT_FAULT_ADDRESS: usize = 12;
/// Sequence number of the last complete change of the call. It precedes the fields it covers and [`AT_CALL_BEGUN`]
/// follows them, so that a reader that copies upwards while the node writes finds them different.
const AT_CALL_COMPLETE: usize = 14;
const AT_CALL_ACTIVE: usize = 15;
const AT_CALL_ENTERED: usize = 16;
const AT_CALL_PEER: usize = 18;
const AT_CALL_TAG: usize = 19;
const AT_CALL_BYTES: usize = 20;
const AT_CALL_NAME: usize = 21;
const AT_CALL_BEGUN: usize = AT_CALL_NAME + CALL_BYTES / 4;
const AT_MESSAGE_BYTES: usize = AT_CALL_BEGUN + 1;
/// [`IS_RECORD`], or 0 for text.
const AT_MESSAGE_KIND: usize = AT_MESSAGE_BYTES + 1;
const AT_MESSAGE: usize = AT_MESSAGE_KIND + 1;
const AT_MATCHING_BYTES: usize = AT_MESSAGE + MESSAGE_BYTES / 4;
const AT_MATCHING: usize = AT_MATCHING_BYTES + 1;
const AT_COUNTERS: usize = AT_MATCHING + MATCHING_BYTES / 4;
const AT_LINKS: usize = AT_COUNTERS + 2 * Counter::COUNT;
/// Counters of one link.
const LINK_VALUES: usize = LinkCounter::COUNT + Vc::COUNT * ChannelCounter::COUNT;
/// Size of a blackboard in 32-bit words.
pub const WORDS: usize = AT_LINKS + 2 * LINKS * LINK_VALUES;
/// Size of a blackboard in bytes.
pub const BYTES: usize = 4 * WORDS;

/// The message is a failure record.
const IS_RECORD: u32 = 1;

// Bits of the word at AT_CALL_ACTIVE.
const CALL_ACTIVE: u32 = 1;
const CALL_HAS_PEER: u32 = 2;
const CALL_HAS_TAG: u32 = 4;

/// State of a node, written to `state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum NodeState {
    /// Memory as it was before the kernel ran.
    Off = 0,
    /// The kernel initializes devices.
    Booting = 1,
    /// The program runs.
    Running = 2,
    /// The program has ended (`status` contains its exit status); the node still forwards for others.
    Done = 3,
    /// The node ended for the reason in `end`, with `message`; the job must end.
    Failed = 4,
}

/// Reason of a failure, written to `end` before `state` becomes [`NodeState::Failed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum FailureCode {
    /// Not failed.
    None = 0,
    /// A fatal trap, described by `fault_cause`, `fault_pc`, `fault_address`.
    Fault = 1,
    /// Stack overflow into the guard; the fault fields describe the access.
    StackOverflow = 2,
    /// A Rust panic; `message` contains location and text.
    Panic = 3,
    /// The program called `abort()`.
    Abort = 4,
    /// The program called MPI_Abort; `status` contains its code.
    MpiAbort = 5,
    /// An MPI error under MPI_ERRORS_ARE_FATAL; `message` contains rank, function and class.
    MpiError = 6,
    /// The kernel could not start (devices, memory, arguments); `message` contains the reason.
    Boot = 7,
    /// A neighbour no longer responds, most likely because it has failed itself; `message` contains its location.
    LinkLost = 8,
    /// The memory that a link shares with a neighbour was overwritten; `message` identifies the link.
    LinkOverwritten = 9,
    /// The job hangs: each program waits, and the simulator has no more events.
    Hang = 10,
}

impl NodeState {
    fn from_word(word: u32) -> Option<Self> {
        Some(match word {
            0 => Self::Off,
            1 => Self::Booting,
            2 => Self::Running,
            3 => Self::Done,
            4 => Self::Failed,
            _ => return None,
        })
    }
}

impl FailureCode {
    fn from_word(word: u32) -> Option<Self> {
        Some(match word {
            0 => Self::None,
            1 => Self::Fault,
            2 => Self::StackOverflow,
            3 => Self::Panic,
            4 => Self::Abort,
            5 => Self::MpiAbort,
            6 => Self::MpiError,
            7 => Self::Boot,
            8 => Self::LinkLost,
            9 => Self::LinkOverwritten,
            10 => Self::Hang,
            _ => return None,
        })
    }
}

/// The node's side. All zeros is [`NodeState::Off`], so it may be in memory that is cleared at start.
#[repr(C, align(8))]
pub struct Blackboard {
    words: [AtomicU32; WORDS],
}

impl Default for Blackboard {
    fn default() -> Self {
        Self::new()
    }
}

impl Blackboard {
    /// Creates a blackboard in [`NodeState::Off`].
    pub const fn new() -> Self {
        Self {
            words: [const { AtomicU32::new(0) }; WORDS],
        }
    }

    /// Returns a reader's copy.
    pub fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let (places, _) = bytes.as_chunks_mut();
        for (place, word) in places.iter_mut().zip(&self.words) {
            *place = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        bytes
    }

    fn set(&self, at: usize, word: u32) {
        put(&self.words[at], word);
    }

    fn get(&self, at: usize) -> u32 {
        u32::from_le(self.words[at].load(Ordering::Relaxed))
    }

    fn set_long(&self, at: usize, value: u64) {
        self.set(at, value as u32);
        self.set(at + 1, (value >> 32) as u32);
    }

    fn set_bytes(&self, at: usize, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        for (i, word) in words.iter().enumerate() {
            self.set(at + i, u32::from_le_bytes(*word));
        }
        // Without a loop, because many names of calls have a rest.
        let last = match *rest {
            [a, b, c] => [a, b, c, 0],
            [a, b] => [a, b, 0, 0],
            [a] => [a, 0, 0, 0],
            _ => return,
        };
        self.set(at + words.len(), u32::from_le_bytes(last));
    }

    fn set_state(&self, state: NodeState) {
        fence(Ordering::Release);
        self.set(AT_STATE, state as u32);
        fence(Ordering::Release);
        // Written each time: a wild store may have changed it, and a node without it counts as not started.
        self.set(AT_MAGIC, MAGIC);
    }

    /// Initializes the blackboard in [`NodeState::Booting`]; the rank is not yet known.
    pub fn begin(&self) {
        self.set(AT_RANK, u32::MAX);
        self.set_state(NodeState::Booting);
    }

    /// Sets the rank from the personality.
    pub fn set_rank(&self, rank: u32) {
        self.set(AT_RANK, rank);
    }

    /// Sets the name of the image's matching engine.
    pub fn set_matching(&self, name: &str) {
        let name = truncate(name, MATCHING_BYTES);
        self.set_bytes(AT_MATCHING, name.as_bytes());
        self.set(AT_MATCHING_BYTES, name.len() as u32);
    }

    /// Records the start of the program.
    pub fn running(&self) {
        self.set_state(NodeState::Running);
    }

    /// Records the program's end with `status`. Does nothing on a node that failed.
    pub fn done(&self, status: i32) {
        if !self.has_failed() {
            self.set(AT_STATUS, status as u32);
            self.set_state(NodeState::Done);
        }
    }

    /// Records a fault's registers; the failure itself is reported by [`Blackboard::failed`].
    pub fn set_fault(&self, cause: u64, pc: u64, address: u64) {
        self.set_long(AT_FAULT_CAUSE, cause);
        self.set_long(AT_FAULT_PC, pc);
        self.set_long(AT_FAULT_ADDRESS, address);
    }

    /// Records a failure. Only the first one is kept: a second one, during the report of the first, is ignored.
    pub fn failed(&self, end: FailureCode, status: i32, message: FinalMessage<'_>) {
        if self.has_failed() {
            return;
        }
        let (kind, bytes) = match message {
            FinalMessage::Text(words) => (0, truncate(words, MESSAGE_BYTES).as_bytes()),
            FinalMessage::Record(record) => (IS_RECORD, record.bytes()),
        };
        self.set_bytes(AT_MESSAGE, bytes);
        self.set(AT_MESSAGE_KIND, kind);
        self.set(AT_MESSAGE_BYTES, bytes.len() as u32);
        self.set(AT_STATUS, status as u32);
        self.set(AT_END, end as u32);
        self.set_state(NodeState::Failed);
    }

    /// Returns whether [`Blackboard::failed`] was called.
    pub fn has_failed(&self) -> bool {
        self.state() == Some(NodeState::Failed)
    }

    /// Returns the node's state.
    pub fn state(&self) -> Option<NodeState> {
        NodeState::from_word(self.get(AT_STATE))
    }

    /// Records the program's current call, or `None` in its own code.
    pub fn call(&self, call: Option<CallRecord<'_>>) {
        let turn = self.get(AT_CALL_BEGUN).wrapping_add(1);
        self.set(AT_CALL_BEGUN, turn);
        fence(Ordering::Release);
        match call {
            Some(call) => {
                let name = truncate(call.function, CALL_BYTES);
                self.set_long(AT_CALL_ENTERED, self.calls_entered().wrapping_add(1));
                self.set_bytes(AT_CALL_NAME, name.as_bytes());
                self.set(AT_CALL_BYTES, name.len() as u32);
                self.set(AT_CALL_PEER, call.peer.unwrap_or(0) as u32);
                self.set(AT_CALL_TAG, call.tag.unwrap_or(0) as u32);
                let peer = if call.peer.is_some() { CALL_HAS_PEER } else { 0 };
                let tag = if call.tag.is_some() { CALL_HAS_TAG } else { 0 };
                self.set(AT_CALL_ACTIVE, CALL_ACTIVE | peer | tag);
            }
            None => self.set(AT_CALL_ACTIVE, 0),
        }
        fence(Ordering::Release);
        self.set(AT_CALL_COMPLETE, turn);
    }

    /// Returns the number of calls shown so far: that of the current call.
    pub fn calls_entered(&self) -> u64 {
        u64::from(self.get(AT_CALL_ENTERED)) | u64::from(self.get(AT_CALL_ENTERED + 1)) << 32
    }

    /// Sets the number of steps of the node's loop.
    pub fn set_beats(&self, beats: u64) {
        self.set_long(AT_BEATS, beats);
    }

    /// Sets one counter of the report.
    pub fn set_counter(&self, counter: Counter, value: u64) {
        self.set_long(AT_COUNTERS + 2 * counter as usize, value);
    }

    /// Returns the last value of the counter at this index of [`Counter::ALL`]; 0 if there is none.
    pub fn counter(&self, index: usize) -> u64 {
        if index >= Counter::COUNT {
            return 0;
        }
        let word = AT_COUNTERS + 2 * index;
        u64::from(self.get(word)) | u64::from(self.get(word + 1)) << 32
    }

    /// Returns the counters of the link in direction `d`.
    pub fn link(&self, d: Direction) -> LinkRecord<'_> {
        // In place, and without a bounds check for each: a busy node writes them every millisecond.
        let (links, _) = self.words[AT_LINKS..].as_chunks::<{ 2 * LINK_VALUES }>();
        let (longs, _) = links[d as usize].as_chunks::<2>();
        let (frames, channels) = longs.split_at(LinkCounter::COUNT);
        let (channels, _) = channels.as_chunks::<{ ChannelCounter::COUNT }>();
        LinkRecord { frames, channels }
    }
}

/// The counters of one link on a blackboard.
#[derive(Clone, Copy)]
pub struct LinkRecord<'a> {
    frames: &'a [[AtomicU32; 2]],
    channels: &'a [[[AtomicU32; 2]; ChannelCounter::COUNT]],
}

impl<'a> LinkRecord<'a> {
    /// Sets a counter of the link.
    #[inline]
    pub fn set(&self, counter: LinkCounter, value: u64) {
        put_long(&self.frames[counter as usize], value);
    }

    /// Returns the counters of its channels, in the order of [`Vc::ALL`].
    #[inline]
    pub fn channels(&self) -> impl Iterator<Item = ChannelRecord<'a>> {
        self.channels.iter().map(ChannelRecord)
    }
}

/// The counters of one channel of a link on a blackboard.
#[derive(Clone, Copy)]
pub struct ChannelRecord<'a>(&'a [[AtomicU32; 2]; ChannelCounter::COUNT]);

impl ChannelRecord<'_> {
    /// Sets one of them.
    #[inline]
    pub fn set(&self, counter: ChannelCounter, value: u64) {
        put_long(&self.0[counter as usize], value);
    }
}

#[inline]
fn put(at: &AtomicU32, word: u32) {
    // Little-endian by definition; no conversion on any supported machine.
    at.store(word.to_le(), Ordering::Relaxed);
}

#[inline]
fn put_long([low, high]: &[AtomicU32; 2], value: u64) {
    put(low, value as u32);
    put(high, (value >> 32) as u32);
}

/// Text truncated to the size of a message.
#[derive(Default)]
pub struct MessageText(pub heapless::String<MESSAGE_BYTES>);

impl fmt::Write for MessageText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Truncated to the free space, so it never fails.
        let _ = self.0.push_str(truncate(text, MESSAGE_BYTES - self.0.len()));
        Ok(())
    }
}

/// Returns `text`, truncated to `bytes` between two characters.
pub fn truncate(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    // Always present; `get` keeps the panic message out of the image.
    text.get(..text.floor_char_boundary(bytes)).unwrap_or("")
}

/// Final message of a node.
#[derive(Clone, Copy)]
pub enum FinalMessage<'a> {
    /// Text.
    Text(&'a str),
    /// A failure record, for a reader with the texts.
    Record(&'a FailureRecord),
}

/// A call as the node records it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallRecord<'a> {
    /// Its name, for example `MPI_Recv`.
    pub function: &'a str,
    /// The peer's rank, if the call has one; negative for a wildcard.
    pub peer: Option<i32>,
    /// The tag, if the call has one; negative for a wildcard.
    pub tag: Option<i32>,
}

/// A call as the reader sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSnapshot {
    /// Its name, for example `MPI_Recv`.
    pub function: heapless::String<CALL_BYTES>,
    /// The peer's rank, if the call has one; negative for a wildcard.
    pub peer: Option<i32>,
    /// The tag, if the call has one; negative for a wildcard.
    pub tag: Option<i32>,
}

/// Final message of a node, as the reader sees it; [`failure`](super::failure) converts it to text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessageSnapshot {
    /// Text.
    Text(heapless::String<MESSAGE_BYTES>),
    /// A failure record.
    Record(heapless::Vec<u8, MESSAGE_BYTES>),
}

/// A trap's registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultRegisters {
    /// The architecture's cause code (riscv: `mcause`).
    pub cause: u64,
    /// The instruction that faulted.
    pub pc: u64,
    /// The address that it accessed, or 0.
    pub address: u64,
}

/// A reader's copy of the blackboard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlackboardSnapshot {
    /// State of the node.
    pub state: NodeState,
    /// Reason of its failure.
    pub end: FailureCode,
    /// The program's exit status when done; the job's exit status when failed.
    pub status: i32,
    /// The node's rank; `None` until it has read its personality.
    pub rank: Option<u32>,
    /// Steps of the node's loop so far.
    pub beats: u64,
    /// A fault's registers; valid for [`FailureCode::Fault`] and [`FailureCode::StackOverflow`].
    pub fault: FaultRegisters,
    /// The program's current call; `None` in its own code, or during a change.
    pub call: Option<CallSnapshot>,
    /// Number of calls shown: those that sleep, that take long, or that poll repeatedly.
    pub calls_entered: u64,
    /// The name of the last one; empty before the first, or during a change.
    pub last_call: heapless::String<CALL_BYTES>,
    /// Message of the failed node.
    pub message: MessageSnapshot,
    /// The name of its matching engine; empty until the node has booted.
    pub matching: heapless::String<MATCHING_BYTES>,
    /// The counters, by [`Counter`].
    pub counters: [u64; Counter::COUNT],
    /// The links' counters, by direction.
    pub links: [LinkCounters; LINKS],
}

/// Error of reading a blackboard. A node that has not booted yet reads as [`NodeState::Off`] instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// Fewer than [`BYTES`] bytes; contains their number.
    TooShort(usize),
    /// The first word is neither 0 nor [`MAGIC`]: no blackboard, or one of another version.
    Magic(u32),
    /// The state is invalid: the program overwrote it.
    State(u32),
    /// The reason is invalid: the program overwrote it.
    End(u32),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(bytes) => {
                write!(f, "a blackboard has {BYTES} bytes, these are {bytes}")
            }
            Self::Magic(word) => write!(f, "no blackboard here (first word {word:#010x})"),
            Self::State(word) => write!(f, "overwritten blackboard: state {word}"),
            Self::End(word) => write!(f, "overwritten blackboard: reason {word}"),
        }
    }
}

impl core::error::Error for ReadError {}

/// Returns the state of the node whose blackboard is at `at`: the part of a [`BlackboardSnapshot`] that is cheap to poll.
///
/// # Errors
/// If there is no blackboard; see [`ReadError`].
pub fn glance(window: &impl MemoryAccess, at: u64) -> Result<NodeState, ReadError> {
    let word = |word: usize| {
        let word = window.load(at + 4 * word as u64);
        word.ok_or(ReadError::TooShort(0))
    };
    let [magic, state, end] = [word(AT_MAGIC)?, word(AT_STATE)?, word(AT_END)?];
    check(magic, state, end).map(|(state, _)| state)
}

/// Returns the sequence number of the call that the node whose blackboard is at `at` shows; `None` in its own code or
/// during a change. Cheap to poll: while the result is the same, the node is in the same call.
pub fn glance_call(window: &impl MemoryAccess, at: u64) -> Option<u32> {
    let word = |word: usize| window.load(at + 4 * word as u64);
    let complete = word(AT_CALL_COMPLETE)?;
    let is_active = word(AT_CALL_ACTIVE)? & CALL_ACTIVE != 0;
    (is_active && word(AT_CALL_BEGUN)? == complete).then_some(complete)
}

fn check(magic: u32, state: u32, end: u32) -> Result<(NodeState, FailureCode), ReadError> {
    let (state, end) = match magic {
        MAGIC => (state, end),
        0 => (0, 0),
        other => return Err(ReadError::Magic(other)),
    };
    let state = NodeState::from_word(state).ok_or(ReadError::State(state))?;
    let end = FailureCode::from_word(end).ok_or(ReadError::End(end))?;
    Ok((state, end))
}

impl BlackboardSnapshot {
    /// Reads a blackboard from a copy of its bytes; bytes after [`BYTES`] are ignored.
    ///
    /// # Errors
    /// If the bytes are not a blackboard; see [`ReadError`].
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let bytes = bytes.get(..BYTES).ok_or(ReadError::TooShort(bytes.len()))?;
        let (words, _) = bytes.as_chunks::<4>();
        let word = |at: usize| u32::from_le_bytes(words[at]);
        let long = |at: usize| word(at) as u64 | (word(at + 1) as u64) << 32;
        let magic = word(AT_MAGIC);
        let (state, end) = check(magic, word(AT_STATE), word(AT_END))?;
        let up = magic == MAGIC;
        let flags = word(AT_CALL_ACTIVE);
        let whole = word(AT_CALL_COMPLETE) == word(AT_CALL_BEGUN);
        let last_call = if whole {
            text(bytes, AT_CALL_NAME, word(AT_CALL_BYTES))
        } else {
            heapless::String::new()
        };
        let call = (whole && flags & CALL_ACTIVE != 0).then(|| CallSnapshot {
            function: last_call.clone(),
            peer: (flags & CALL_HAS_PEER != 0).then(|| word(AT_CALL_PEER) as i32),
            tag: (flags & CALL_HAS_TAG != 0).then(|| word(AT_CALL_TAG) as i32),
        });
        Ok(Self {
            state,
            end,
            status: word(AT_STATUS) as i32,
            rank: (up && word(AT_RANK) != u32::MAX).then(|| word(AT_RANK)),
            beats: long(AT_BEATS),
            fault: FaultRegisters {
                cause: long(AT_FAULT_CAUSE),
                pc: long(AT_FAULT_PC),
                address: long(AT_FAULT_ADDRESS),
            },
            call,
            calls_entered: long(AT_CALL_ENTERED),
            last_call,
            message: match word(AT_MESSAGE_KIND) {
                IS_RECORD => {
                    let length = word(AT_MESSAGE_BYTES);
                    let record = field(bytes, AT_MESSAGE, MESSAGE_BYTES, length);
                    // Cannot fail: at most the bytes of the field.
                    MessageSnapshot::Record(record.try_into().unwrap_or_default())
                }
                _ => MessageSnapshot::Text(text(bytes, AT_MESSAGE, word(AT_MESSAGE_BYTES))),
            },
            matching: text(bytes, AT_MATCHING, word(AT_MATCHING_BYTES)),
            counters: core::array::from_fn(|i| long(AT_COUNTERS + 2 * i)),
            links: core::array::from_fn(|d| {
                let value = |i: usize| long(AT_LINKS + 2 * (d * LINK_VALUES + i));
                LinkCounters {
                    frames: core::array::from_fn(value),
                    channels: core::array::from_fn(|vc| {
                        let first = LinkCounter::COUNT + vc * ChannelCounter::COUNT;
                        core::array::from_fn(|i| value(first + i))
                    }),
                }
            }),
        })
    }

    /// Returns one of the counters.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }
}

/// Returns the `length` bytes at word `at`, limited to the field's size.
fn field(bytes: &[u8], at: usize, room: usize, length: u32) -> &[u8] {
    &bytes[4 * at..4 * at + (length as usize).min(room)]
}

/// Returns the text of `length` bytes at word `at`. Bytes that are not UTF-8 (an overwritten board) become `?`, and an
/// excessive length is truncated to the field.
fn text<const N: usize>(bytes: &[u8], at: usize, length: u32) -> heapless::String<N> {
    let field = field(bytes, at, N, length);
    let mut text = heapless::String::new();
    for chunk in field.utf8_chunks() {
        // Cannot fail: at most the bytes of the field, which has N.
        let _ = text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            let _ = text.push('?');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_access::tests::SingleStructure;
    use core::sync::atomic::AtomicU8;

    fn read(board: &Blackboard) -> BlackboardSnapshot {
        BlackboardSnapshot::read(&board.bytes()).expect("a blackboard")
    }

    fn words(seen: &BlackboardSnapshot) -> &str {
        match &seen.message {
            MessageSnapshot::Text(words) => words,
            MessageSnapshot::Record(record) => panic!("{record:?}"),
        }
    }

    impl SingleStructure for Blackboard {
        fn word(&self, at: u64) -> Option<&AtomicU32> {
            self.words.get(at as usize / 4)
        }
        fn bytes(&self, _: u64, _: usize) -> Option<&[AtomicU8]> {
            None
        }
    }

    #[test]
    fn a_glance_says_what_a_snapshot_says() {
        let board = Blackboard::new();
        assert_eq!(glance(&board, 0), Ok(NodeState::Off));
        board.begin();
        assert_eq!(glance(&board, 0), Ok(NodeState::Booting));
        board.failed(FailureCode::Panic, 1, FinalMessage::Text(""));
        assert_eq!(glance(&board, 0), Ok(NodeState::Failed));
        board.set(AT_END, 99);
        assert_eq!(glance(&board, 0), Err(ReadError::End(99)));
        board.set(AT_STATE, 77);
        assert_eq!(glance(&board, 0), Err(ReadError::State(77)));
        board.set(AT_MAGIC, 5);
        assert_eq!(glance(&board, 0), Err(ReadError::Magic(5)));
        assert_eq!(glance(&board, 1 << 40), Err(ReadError::TooShort(0)));
    }

    #[test]
    fn a_glance_tells_calls_apart() {
        let board = Blackboard::new();
        let call = CallRecord {
            function: "MPI_Recv",
            peer: None,
            tag: None,
        };
        assert_eq!(glance_call(&board, 0), None);
        board.call(Some(call));
        let first = glance_call(&board, 0);
        assert!(first.is_some());
        board.call(None);
        assert_eq!(glance_call(&board, 0), None);
        board.call(Some(call));
        assert_ne!(glance_call(&board, 0), first);
        board.set(AT_CALL_BEGUN, 77);
        assert_eq!(glance_call(&board, 0), None, "during a change");
    }

    #[test]
    fn a_node_whose_mark_was_overwritten_is_seen_to_end() {
        let board = Blackboard::new();
        board.begin();
        board.running();
        board.set(AT_MAGIC, 0);
        assert_eq!(glance(&board, 0), Ok(NodeState::Off));
        board.done(3);
        assert_eq!(glance(&board, 0), Ok(NodeState::Done));
    }

    #[test]
    fn cleared_memory_is_a_node_that_is_off() {
        let seen = BlackboardSnapshot::read(&[0; BYTES]).expect("zeros are a blackboard");
        assert_eq!((seen.state, seen.rank), (NodeState::Off, None));
    }

    #[test]
    fn a_life_from_boot_to_exit() {
        let board = Blackboard::new();
        board.begin();
        assert_eq!(read(&board).state, NodeState::Booting);
        assert_eq!(read(&board).rank, None);
        assert_eq!(read(&board).matching, "");
        board.set_rank(7);
        board.set_matching("fourd");
        board.running();
        assert_eq!(read(&board).matching, "fourd");
        assert_eq!((read(&board).state, read(&board).rank), (NodeState::Running, Some(7)));
        board.set_beats(1 << 40);
        board.set_counter(Counter::IdleTicks, u64::MAX - 1);
        board.done(-3);
        let seen = read(&board);
        assert_eq!(
            (seen.state, seen.end, seen.status),
            (NodeState::Done, FailureCode::None, -3)
        );
        assert_eq!(seen.beats, 1 << 40);
        assert_eq!(seen.counter(Counter::IdleTicks), u64::MAX - 1);
        assert_eq!(seen.counter(Counter::RunTicks), 0);
    }

    #[test]
    fn the_first_failure_stands() {
        let board = Blackboard::new();
        board.begin();
        board.set_fault(7, 0x8000_1234, 0xdead_0000_beef);
        board.failed(FailureCode::Fault, 1, FinalMessage::Text("rank 3: store to nowhere"));
        board.failed(FailureCode::Panic, 2, FinalMessage::Text("panic while reporting"));
        board.done(0);
        let seen = read(&board);
        assert_eq!(
            (seen.state, seen.end, seen.status),
            (NodeState::Failed, FailureCode::Fault, 1)
        );
        assert_eq!(words(&seen), "rank 3: store to nowhere");
        let registers = FaultRegisters {
            cause: 7,
            pc: 0x8000_1234,
            address: 0xdead_0000_beef,
        };
        assert_eq!(seen.fault, registers);
    }

    #[test]
    fn calls_come_and_go() {
        let board = Blackboard::new();
        board.begin();
        board.call(Some(CallRecord {
            function: "MPI_Recv",
            peer: Some(-1),
            tag: Some(5),
        }));
        let seen = read(&board).call.expect("in a call");
        assert_eq!(seen.function, "MPI_Recv");
        assert_eq!((seen.peer, seen.tag), (Some(-1), Some(5)));
        board.call(None);
        assert_eq!(read(&board).call, None);
        board.call(Some(CallRecord {
            function: "MPI_Finalize",
            peer: None,
            tag: None,
        }));
        let seen = read(&board);
        assert_eq!(seen.calls_entered, 2);
        let call = seen.call.expect("in a call");
        assert_eq!((call.peer, call.tag), (None, None));
    }

    #[test]
    fn a_call_that_is_being_written_is_not_shown() {
        let board = Blackboard::new();
        board.begin();
        board.call(Some(CallRecord {
            function: "MPI_Send",
            peer: None,
            tag: None,
        }));
        board.set(AT_CALL_BEGUN, board.get(AT_CALL_BEGUN) + 1);
        assert_eq!(read(&board).call, None);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let board = Blackboard::new();
        board.begin();
        let long = "ä".repeat(MESSAGE_BYTES);
        board.failed(FailureCode::Panic, 1, FinalMessage::Text(&format!("x{long}")));
        let seen = read(&board);
        let message = words(&seen);
        assert_eq!(message.len(), MESSAGE_BYTES - 1);
        assert!(message.starts_with("xä") && message.ends_with('ä'));
    }

    #[test]
    fn hostile_bytes_are_refused_or_made_harmless() {
        assert_eq!(BlackboardSnapshot::read(&[0; 8]), Err(ReadError::TooShort(8)));
        assert_eq!(
            BlackboardSnapshot::read(&[0xff; BYTES]),
            Err(ReadError::Magic(u32::MAX))
        );
        let board = Blackboard::new();
        board.begin();
        board.set(AT_STATE, 99);
        assert_eq!(BlackboardSnapshot::read(&board.bytes()), Err(ReadError::State(99)));
        let mut all = vec![0xff; BYTES];
        all[..4].copy_from_slice(&MAGIC.to_le_bytes());
        all[4..8].copy_from_slice(&(NodeState::Failed as u32).to_le_bytes());
        assert_eq!(BlackboardSnapshot::read(&all), Err(ReadError::End(u32::MAX)));
        all[8..12].copy_from_slice(&(FailureCode::Fault as u32).to_le_bytes());
        let seen = BlackboardSnapshot::read(&all).expect("states are sound");
        assert_eq!(words(&seen).len(), MESSAGE_BYTES);
        assert!(words(&seen).chars().all(|c| c == '?'));
        assert_eq!(seen.matching.as_str(), "?".repeat(MATCHING_BYTES));
    }
}
