//! The file in memory that the processes of a job and the tool share.
//!
//! ```text
//! accounts   one for each node: its blackboard, and where it was when it failed      the node's, read by the tool
//! words      a page for each node: whether it sleeps                                  the node's and its neighbours'
//! pairs      three for each node: its links towards X+, Y+ and Z+                    the node's and its neighbour's
//! ```
//! A process maps its own account, its own word and pairs, and its neighbours' words. Nothing else of another node is within
//! its reach: a wild store harms neighbours at most.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use midplane_abi::address::PAGE;
use midplane_abi::blackboard::Blackboard;
use net_torus::coord::Rank;

use crate::dev::ring::RingPair;

/// Greatest number of return addresses that a failing node leaves.
pub const FRAMES: usize = 32;
/// Offset of [`Trace`] in an account.
pub const AT_TRACE: u64 = core::mem::offset_of!(Account, trace) as u64;

/// Offsets of the words of [`Orders`] in an account.
pub const AT_ENDS: u64 = AT_ORDERS + core::mem::offset_of!(Orders, ends) as u64;
/// See [`AT_ENDS`].
pub const AT_ASKED: u64 = AT_ORDERS + core::mem::offset_of!(Orders, asked) as u64;
/// See [`AT_ENDS`].
pub const AT_ANSWERED: u64 = AT_ORDERS + core::mem::offset_of!(Orders, answered) as u64;
const AT_ORDERS: u64 = core::mem::offset_of!(Account, orders) as u64;

/// In front of what a process of several nodes prints: that it is that; then whose it is, in four bytes.
pub const PRINT_MARK: [u8; 4] = *b"MPR1";
/// Whose that process's own words are.
pub const NO_RANK: Rank = Rank::MAX;

/// A node's own account.
#[repr(C, align(4096))]
#[derive(Default)]
pub struct Account {
    /// How it fares.
    pub blackboard: Blackboard,
    /// Where it was when it failed.
    pub trace: Trace,
    /// What the tool asks of it.
    pub orders: Orders,
}

/// What the tool asks of a node. The tool writes all but `answered`.
#[repr(C)]
#[derive(Default)]
pub struct Orders {
    ends: AtomicU32,
    asked: AtomicU32,
    answered: AtomicU32,
}

impl Orders {
    /// The job is over, and a process whose program has ended is to end.
    pub fn has_ended(&self) -> bool {
        self.ends.load(Ordering::Acquire) != 0
    }

    /// The counters are to be published, since the tool is about to end the job.
    #[inline]
    pub fn wants_counters(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != self.answered.load(Ordering::Relaxed)
    }

    /// They have been published.
    pub fn answer(&self) {
        let asked = self.asked.load(Ordering::Relaxed);
        self.answered.store(asked, Ordering::Release);
    }
}

/// Addresses to return to, innermost first; ends with a zero, or when it is full.
#[repr(C)]
#[derive(Default)]
pub struct Trace([AtomicU64; FRAMES]);

impl Trace {
    /// Notes them; those that do not fit are left out.
    pub fn note(&self, addresses: impl Iterator<Item = u64>) {
        let ended = addresses.chain([0]);
        for (word, address) in self.0.iter().zip(ended) {
            word.store(address, Ordering::Relaxed);
        }
    }

    /// Reads the bytes of one.
    pub fn read(bytes: &[u8; 8 * FRAMES]) -> impl Iterator<Item = u64> {
        let (words, _) = bytes.as_chunks();
        words
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .take_while(|address| *address != 0)
    }
}

/// Where what lies in the file; all in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    nodes: u64,
}

impl Layout {
    /// The file of a job of so many nodes.
    pub fn new(nodes: u32) -> Self {
        Self {
            nodes: nodes.into(),
        }
    }

    /// The node's account.
    pub fn account(self, rank: Rank) -> u64 {
        u64::from(rank) * size_of::<Account>() as u64
    }

    /// Start of the nodes' words.
    pub fn words(self) -> u64 {
        self.nodes * size_of::<Account>() as u64
    }

    /// Size of the words: a page each, so that a process maps its neighbours' alone.
    fn words_bytes(self) -> u64 {
        self.nodes * PAGE
    }

    /// The node's word, an [`Asleep`](crate::dev::ring::Asleep) at the start of a page.
    pub fn word(self, rank: Rank) -> u64 {
        self.words() + u64::from(rank) * PAGE
    }

    /// The link of the node towards greater coordinates along axis 0, 1 or 2.
    pub fn pair(self, rank: Rank, axis: usize) -> u64 {
        let number = 3 * u64::from(rank) + axis as u64;
        self.words() + self.words_bytes() + number * size_of::<RingPair>() as u64
    }

    /// Size of the file.
    pub fn total(self) -> u64 {
        self.words() + self.words_bytes() + 3 * self.nodes * size_of::<RingPair>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_pages_of_their_own_one_after_the_other() {
        for nodes in [1, 2, 8, 63, 64, 65, 512] {
            let layout = Layout::new(nodes);
            let mut end = 0;
            let accounts = (0..nodes).map(|k| (layout.account(k), size_of::<Account>() as u64));
            let words = (0..nodes).map(|k| (layout.word(k), PAGE));
            let pairs = (0..nodes)
                .flat_map(|k| (0..3).map(move |axis| layout.pair(k, axis)))
                .map(|start| (start, size_of::<RingPair>() as u64));
            for (start, bytes) in accounts.chain(words).chain(pairs) {
                assert_eq!((start, start % PAGE), (end, 0));
                end = start + bytes;
            }
            assert_eq!(layout.total(), end);
        }
    }

    #[test]
    fn a_trace_ends_where_it_is_said() {
        let bytes = |trace: &Trace| {
            let mut bytes = [0; 8 * FRAMES];
            for (to, from) in bytes.chunks_mut(8).zip(&trace.0) {
                to.copy_from_slice(&from.load(Ordering::Relaxed).to_ne_bytes());
            }
            bytes
        };
        let trace = Trace::default();
        assert_eq!(Trace::read(&bytes(&trace)).count(), 0);
        trace.note(1..=40);
        assert!(Trace::read(&bytes(&trace)).eq(1..=FRAMES as u64));
        trace.note([7, 8].into_iter());
        assert!(Trace::read(&bytes(&trace)).eq([7, 8]));
    }
}
