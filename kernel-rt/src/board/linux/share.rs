//! The file in memory that the processes of a job and the tool share.
//!
//! ```text
//! accounts   one for each node: its blackboard, and where it was when it failed      the node's, read by the tool
//! words      a page for each node: whether it sleeps                                  the node's and its neighbours'
//! pairs      three for each node: its links towards X+, Y+ and Z+                    the node's and its neighbour's
//! requests   one for each node: its request to the tool, and the answer               the node's and the tool's
//! ```
//! In a job over several hosts each host has such a file, with the same layout, and uses the parts of its own nodes and of
//! their links. A link that leaves the host is a connection ([`super::outside`]).
//!
//! A process maps its own account, its own word and pairs, and its neighbours' words, and nothing else of other nodes:
//! a wild store affects neighbours at most.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use midplane_abi::address::PAGE;
use midplane_abi::blackboard::Blackboard;
use midplane_abi::message_queues::QueueRecord;
use net_torus::coord::Rank;

use crate::dev::ring::RingPair;

/// Maximum number of return addresses that a failing node stores.
pub const FRAMES: usize = 32;
/// Offset of [`StackTrace`] in an account.
pub const AT_TRACE: u64 = core::mem::offset_of!(NodeAccount, trace) as u64;
/// Offset of the message queues in an account.
pub const AT_QUEUES: u64 = core::mem::offset_of!(NodeAccount, queues) as u64;

/// Offsets of the words of [`ToolRequests`] in an account.
pub const AT_ENDS: u64 = AT_ORDERS + core::mem::offset_of!(ToolRequests, ends) as u64;
/// See [`AT_ENDS`].
pub const AT_ASKED: u64 = AT_ORDERS + core::mem::offset_of!(ToolRequests, asked) as u64;
/// See [`AT_ENDS`].
pub const AT_HANDS_OVER: u64 = AT_ORDERS + core::mem::offset_of!(ToolRequests, hands_over) as u64;
/// See [`AT_ENDS`].
pub const AT_RESTS: u64 = AT_ORDERS + core::mem::offset_of!(ToolRequests, rests) as u64;
/// See [`AT_ENDS`].
pub const AT_ANSWERED: u64 = AT_ORDERS + core::mem::offset_of!(ToolRequests, answered) as u64;
const AT_ORDERS: u64 = core::mem::offset_of!(NodeAccount, orders) as u64;

/// Prefix of a print by a process of several nodes, followed by the rank in four bytes.
pub const PRINT_MARK: [u8; 4] = *b"MPR1";
/// Rank of that process's own messages.
pub const NO_RANK: Rank = Rank::MAX;

/// A node's status record in the shared file.
#[repr(C, align(4096))]
#[derive(Default)]
pub struct NodeAccount {
    /// Its status.
    pub blackboard: Blackboard,
    /// Its backtrace when it failed, or when the tool last requested the counters within a call.
    pub trace: StackTrace,
    /// The tool's requests.
    pub orders: ToolRequests,
    /// Message queues of its current call.
    pub queues: QueueRecord,
}

/// Requests of the tool, or of a launched job's keeper, to a node. It writes all words except
/// `answered` and `rests`.
#[repr(C)]
#[derive(Default)]
pub struct ToolRequests {
    ends: AtomicU32,
    asked: AtomicU32,
    answered: AtomicU32,
    /// Not 0: a process whose program has ended hands its node over, and ends.
    hands_over: AtomicU32,
    /// Not 0: the program has ended, and nothing of it is left in the device. Written by the node.
    rests: AtomicU32,
}

/// Value of [`ToolRequests::ends`]: the job is over.
const ENDS: u32 = 1;
/// Value of [`ToolRequests::ends`]: the process exits with the status that is added.
const EXITS: u32 = 2;

impl ToolRequests {
    /// Returns whether the job is over, so that a process whose program has ended must end.
    pub fn has_ended(&self) -> bool {
        self.ends.load(Ordering::Acquire) != 0
    }

    /// Orders a process whose program has ended to end, because the job is over.
    pub fn order_end(&self) {
        self.ends.store(ENDS, Ordering::Release);
    }

    /// Orders the process to exit with `status` at once.
    pub fn order_exit(&self, status: u8) {
        self.ends.store(EXITS + u32::from(status), Ordering::Release);
    }

    /// Returns whether a process whose program has ended must hand its node over.
    pub fn must_hand_over(&self) -> bool {
        self.hands_over.load(Ordering::Acquire) != 0
    }

    /// Reports that the node can be handed over.
    pub fn note_rest(&self) {
        self.rests.store(1, Ordering::Release);
    }

    /// Returns the status that the process is ordered to exit with.
    pub fn ordered_status(&self) -> Option<u8> {
        let status = self.ends.load(Ordering::Acquire).checked_sub(EXITS)?;
        Some(status as u8)
    }

    /// Returns whether the tool requests the counters, because it is about to end the job.
    #[inline]
    pub fn wants_counters(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != self.answered.load(Ordering::Relaxed)
    }

    /// Confirms that the counters were published.
    pub fn answer(&self) {
        let asked = self.asked.load(Ordering::Relaxed);
        self.answered.store(asked, Ordering::Release);
    }
}

/// A request of the process to the tool, and then the tool's answer. The process writes it while it is [`IDLE`](Self::IDLE),
/// and the tool while it is [`POSTED`](Self::POSTED).
#[repr(C, align(4096))]
pub struct RequestArea {
    /// Who may write.
    pub state: AtomicU32,
    /// Length of the fields in bytes.
    pub bytes: AtomicU32,
    /// The fields: see [`job_requests`](midplane_abi::job_requests).
    pub fields: UnsafeCell<[u8; REQUEST_BYTES]>,
}

// SAFETY: `state` determines who accesses the fields: the tool, or the one thread of the process that makes a request.
unsafe impl Sync for RequestArea {}

/// Maximum length of the fields of a request or an answer in bytes.
pub const REQUEST_BYTES: usize = (64 << 10) - 8;

impl RequestArea {
    /// There is no request.
    pub const IDLE: u32 = 0;
    /// A request waits for its answer.
    pub const POSTED: u32 = 1;
    /// The answer waits for the process.
    pub const ANSWERED: u32 = 2;
    /// The process has handed its node over: the fields contain its state.
    pub const HANDED_OVER: u32 = 3;
    /// Offsets of the three fields.
    pub const AT: [u64; 3] = [
        core::mem::offset_of!(RequestArea, state) as u64,
        core::mem::offset_of!(RequestArea, bytes) as u64,
        core::mem::offset_of!(RequestArea, fields) as u64,
    ];
}

/// Return addresses, innermost first, terminated by a zero unless the array is full.
#[repr(C)]
#[derive(Default)]
pub struct StackTrace([AtomicU64; FRAMES]);

impl StackTrace {
    /// Stores the addresses; excess ones are omitted.
    pub fn note(&self, addresses: impl Iterator<Item = u64>) {
        let ended = addresses.chain([0]);
        for (word, address) in self.0.iter().zip(ended) {
            word.store(address, Ordering::Relaxed);
        }
    }

    /// Decodes the bytes of a trace.
    pub fn read(bytes: &[u8; 8 * FRAMES]) -> impl Iterator<Item = u64> {
        let (words, _) = bytes.as_chunks();
        words
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .take_while(|address| *address != 0)
    }
}

/// Layout of the shared file, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareLayout {
    nodes: u64,
}

impl ShareLayout {
    /// Returns the layout for a job of this many nodes.
    pub fn new(nodes: u32) -> Self {
        Self { nodes: nodes.into() }
    }

    /// Returns the offset of the node's account.
    pub fn account(self, rank: Rank) -> u64 {
        u64::from(rank) * size_of::<NodeAccount>() as u64
    }

    /// Returns the offset of the nodes' words.
    pub fn words(self) -> u64 {
        self.nodes * size_of::<NodeAccount>() as u64
    }

    /// Returns the size of the words: a page each, so that a process maps only its neighbours' words.
    fn words_bytes(self) -> u64 {
        self.nodes * PAGE
    }

    /// Returns the offset of the node's word, an [`SleepFlag`](crate::dev::ring::SleepFlag) at the start of a page.
    pub fn word(self, rank: Rank) -> u64 {
        self.words() + u64::from(rank) * PAGE
    }

    /// Returns the offset of the node's link in the positive direction of axis 0, 1 or 2.
    pub fn pair(self, rank: Rank, axis: usize) -> u64 {
        let number = 3 * u64::from(rank) + axis as u64;
        self.words() + self.words_bytes() + number * size_of::<RingPair>() as u64
    }

    /// Returns the offset of the node's [`RequestArea`].
    pub fn request(self, rank: Rank) -> u64 {
        let pairs = 3 * self.nodes * size_of::<RingPair>() as u64;
        self.words() + self.words_bytes() + pairs + u64::from(rank) * size_of::<RequestArea>() as u64
    }

    /// Returns the size of the file.
    pub fn total(self) -> u64 {
        self.request(0) + self.nodes * size_of::<RequestArea>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_pages_of_their_own_one_after_the_other() {
        for nodes in [1, 2, 8, 63, 64, 65, 512] {
            let layout = ShareLayout::new(nodes);
            let mut end = 0;
            let accounts = (0..nodes).map(|k| (layout.account(k), size_of::<NodeAccount>() as u64));
            let words = (0..nodes).map(|k| (layout.word(k), PAGE));
            let pairs = (0..nodes)
                .flat_map(|k| (0..3).map(move |axis| layout.pair(k, axis)))
                .map(|start| (start, size_of::<RingPair>() as u64));
            let requests = (0..nodes).map(|k| (layout.request(k), size_of::<RequestArea>() as u64));
            for (start, bytes) in accounts.chain(words).chain(pairs).chain(requests) {
                assert_eq!((start, start % PAGE), (end, 0));
                end = start + bytes;
            }
            assert_eq!(layout.total(), end);
        }
    }

    #[test]
    fn a_trace_ends_where_it_is_said() {
        let bytes = |trace: &StackTrace| {
            let mut bytes = [0; 8 * FRAMES];
            for (to, from) in bytes.chunks_mut(8).zip(&trace.0) {
                to.copy_from_slice(&from.load(Ordering::Relaxed).to_ne_bytes());
            }
            bytes
        };
        let trace = StackTrace::default();
        assert_eq!(StackTrace::read(&bytes(&trace)).count(), 0);
        trace.note(1..=40);
        assert!(StackTrace::read(&bytes(&trace)).eq(1..=FRAMES as u64));
        trace.note([7, 8].into_iter());
        assert!(StackTrace::read(&bytes(&trace)).eq([7, 8]));
    }
}
