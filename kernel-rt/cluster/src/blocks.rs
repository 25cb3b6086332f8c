//! Parallel simulation of a machine in blocks of nodes, each in its own thread or process, synchronized in virtual
//! time.
//!
//! A node's action reaches its neighbour after at least one hop. So a block can run alone until one hop after the next
//! event in any other block, its *horizon*, and until one hop after its own first frame has reached another block. Then
//! the blocks meet: each publishes its next event, and receives the frames that others have sent to its nodes. The
//! events and their times are the same as with one block.
//!
//! The blocks share words of memory. Each word is written by one block between two meetings and read by others after
//! the second of them. So there are two copies of each, for meetings with even and odd numbers.
//!
//! ```text
//!   block 0   |-- events before its horizon --| publishes next, first sent | waits for all | receives frames |-- ..
//!   block 1   |-- events --| publishes |          waits for all            | receives frames |-- events before ..
//! ```
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use net_torus::wire::{FRAME_HEADER_BYTES, MIN_MTU};
use net_torus::{Direction, Shape};

use crate::costs::OperationCosts;

/// No time.
pub(super) const NEVER: u64 = u64::MAX;

const WORD_BYTES: usize = size_of::<u64>();
/// Words that a block publishes at a meeting: complete cache lines of the host.
const SAID: usize = 16;
/// Indices of its words: the meeting's number plus one, written last; the next event; arrival of this turn's first
/// frame at another block; programs that have ended; the failure, as [`FailureTime`]; pending settlement.
const AT_NUMBER: usize = 0;
const AT_NEXT: usize = 1;
const AT_SENT: usize = 2;
const AT_ENDED: usize = 3;
const AT_FAILED: usize = 4;
const AT_FAILED_RANK: usize = 5;
const AT_UNSETTLED: usize = 6;

/// Words of a frame in transit: target node and side, its arrival, its length, its bytes.
const FRAME: usize = 3 + MIN_MTU.div_ceil(WORD_BYTES);

/// Polls of another block's words before the thread yields the processor, and before it rests.
const SPINS: u32 = 300;
const YIELDS: u32 = 2_000;

/// The memory shared by the blocks.
pub type SharedWords = [AtomicU64];

/// Division of a machine into blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockDivision {
    shape: Shape,
    count: usize,
    costs: OperationCosts,
    /// Maximum number of frames in transit from one block to another.
    room: usize,
}

impl BlockDivision {
    /// Divides into `count` blocks, at most one per node: consecutive ranks in equal numbers.
    pub fn new(shape: Shape, count: usize, costs: OperationCosts) -> BlockDivision {
        let count = count.clamp(1, shape.nodes() as usize);
        let mut division = BlockDivision {
            shape,
            count,
            costs,
            room: 0,
        };
        let most = (0..count).map(|block| division.links_out_of(block)).max();
        // A turn lasts at most two hops after its first frame, and a link carries one frame at a time.
        let each = 2 * division.hop() / costs.carries(FRAME_HEADER_BYTES) + 2;
        division.room = most.unwrap_or(0) * each as usize;
        division
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of words that the blocks require, initially zero.
    pub fn words(&self) -> usize {
        2 * self.count * (SAID + self.count * self.box_words()) + 1
    }

    /// Returns the nodes of a block.
    pub(super) fn ranks(&self, block: usize) -> Range<usize> {
        let nodes = self.shape.nodes() as usize;
        let start = |block: usize| block * nodes / self.count;
        start(block)..start(block + 1)
    }

    fn block_of(&self, rank: usize) -> usize {
        let nodes = self.shape.nodes() as usize;
        let guess = rank * self.count / nodes;
        let at = (guess..self.count).find(|&block| self.ranks(block).contains(&rank));
        at.unwrap_or(guess)
    }

    fn links_out_of(&self, block: usize) -> usize {
        let own = self.ranks(block);
        let leads_out = |rank: usize, direction| {
            let here = self.shape.coord(rank as u32)?;
            let there = self.shape.neighbour(here, direction)?;
            let there = self.shape.rank(there)? as usize;
            (!own.contains(&there)).then_some(())
        };
        let links = own.clone().flat_map(|rank| {
            let leads_out = &leads_out;
            { Direction::ALL.into_iter() }.filter_map(move |side| leads_out(rank, side))
        });
        links.count()
    }

    fn hop(&self) -> u64 {
        self.costs.hop_ns.max(1)
    }

    /// Returns the words for the frames from one block to another: their number, and each frame.
    fn box_words(&self) -> usize {
        1 + self.room * FRAME
    }

    fn state_offset(&self, parity: usize, block: usize) -> usize {
        (parity * self.count + block) * SAID
    }

    fn frames(&self, parity: usize, from: usize, to: usize) -> usize {
        let before = 2 * self.count * SAID;
        before + ((parity * self.count + from) * self.count + to) * self.box_words()
    }

    /// Returns the index of the word that reports an abandoned block.
    fn broken(&self) -> usize {
        self.words() - 1
    }
}

/// Failure that ended a job, and its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FailureTime {
    /// Virtual time in nanoseconds.
    pub now_ns: u64,
    /// Rank of the program.
    pub rank: u32,
}

/// Combined state of all blocks at a meeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MeetingResult {
    /// No event happens before this time, in any block.
    pub(super) next: u64,
    /// Programs that have ended.
    pub(super) ended: usize,
    /// The earliest failure.
    pub(super) failed: Option<FailureTime>,
    /// A block requires settlement.
    pub(super) is_unsettled: bool,
}

impl MeetingResult {
    /// Returns the failure that ended the job, once no earlier one is possible.
    pub(super) fn end(&self) -> Option<FailureTime> {
        self.failed.filter(|failed| self.next > failed.now_ns)
    }
}

/// State that a block publishes. A failed block has no next event.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockState {
    pub(super) next: u64,
    pub(super) ended: usize,
    pub(super) failed: Option<FailureTime>,
    pub(super) is_unsettled: bool,
}

/// One block, from the view of its thread or process.
pub struct MachineBlock<'w> {
    division: BlockDivision,
    words: &'w SharedWords,
    own: usize,
    ranks: Range<usize>,
    /// Yields the processor for a while.
    rest: fn(),
    /// Number of the next meeting.
    number: Cell<u64>,
    horizon: Cell<u64>,
    /// Arrival of this turn's first frame at another block.
    sent: Cell<u64>,
}

impl<'w> MachineBlock<'w> {
    /// Creates block number `own` of the division, with the words that all its blocks share. It calls `rest` in long
    /// waits.
    ///
    /// # Panics
    /// If there is no such block, or there are too few words.
    pub fn new(division: BlockDivision, own: usize, words: &'w SharedWords, rest: fn()) -> MachineBlock<'w> {
        assert!(own < division.count && words.len() >= division.words());
        MachineBlock {
            division,
            words,
            own,
            ranks: division.ranks(own),
            rest,
            number: Cell::new(0),
            horizon: Cell::new(0),
            sent: Cell::new(NEVER),
        }
    }

    /// Returns its nodes.
    pub fn ranks(&self) -> Range<usize> {
        self.ranks.clone()
    }

    /// Returns whether the node belongs to it.
    pub(super) fn has(&self, node: usize) -> bool {
        self.ranks.contains(&node)
    }

    /// Returns the horizon: earlier events need no further meeting.
    pub(super) fn horizon(&self) -> u64 {
        self.horizon.get()
    }

    fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    fn parity(&self) -> usize {
        self.number.get() as usize % 2
    }

    /// Sends a frame to the node `there` of another block, to its side with this number, where it arrives at `arrival`.
    pub(super) fn send(&self, there: usize, side: u8, arrival: u64, frame: &[u8]) {
        let to = self.division.block_of(there);
        let start = self.division.frames(self.parity(), self.own, to);
        let count = self.get(start);
        assert!(
            (count as usize) < self.division.room,
            "no link carries so many frames at a time"
        );
        let at = start + 1 + count as usize * FRAME;
        self.set(at, (there as u64) << 8 | u64::from(side));
        self.set(at + 1, arrival);
        self.set(at + 2, frame.len() as u64);
        for (word, bytes) in frame.chunks(WORD_BYTES).enumerate() {
            let mut whole = [0; WORD_BYTES];
            whole[..bytes.len()].copy_from_slice(bytes);
            self.set(at + 3 + word, u64::from_ne_bytes(whole));
        }
        self.set(start, count + 1);
        self.sent.set(self.sent.get().min(arrival));
        let answered = arrival.saturating_add(self.division.hop());
        self.horizon.set(self.horizon.get().min(answered));
    }

    /// Handles a program's failure in the middle of this turn: meets the others until all their events are later.
    /// Returns the earliest failure. Nothing continues after that.
    pub fn fail(&self, own: FailureTime) -> FailureTime {
        let says = BlockState {
            next: NEVER,
            failed: Some(own),
            ..BlockState::default()
        };
        loop {
            if let Some(first) = self.meet(says).end() {
                return first;
            }
            self.receive_frames(|_, _, _, _| ());
        }
    }

    /// Publishes this block's state, and waits for that of all blocks. All blocks must call it, until there is no next
    /// event or one has failed.
    pub(super) fn meet(&self, says: BlockState) -> MeetingResult {
        let (number, parity) = (self.number.get() + 1, self.parity());
        let at = self.division.state_offset(parity, self.own);
        let failed = says.failed.unwrap_or(NOT_FAILED);
        self.set(at + AT_NEXT, says.next);
        self.set(at + AT_SENT, self.sent.get());
        self.set(at + AT_ENDED, says.ended as u64);
        self.set(at + AT_FAILED, failed.now_ns);
        self.set(at + AT_FAILED_RANK, failed.rank.into());
        self.set(at + AT_UNSETTLED, says.is_unsettled.into());
        self.words[at + AT_NUMBER].store(number, Ordering::Release);
        for block in 0..self.division.count {
            self.wait_for(self.division.state_offset(parity, block), number);
        }
        self.conclude(parity)
    }

    /// Waits until the block with these words has reached this meeting.
    fn wait_for(&self, at: usize, number: u64) {
        let mut looks = 0;
        while self.words[at + AT_NUMBER].load(Ordering::Acquire) != number {
            assert!(self.get(self.division.broken()) == 0, "another block has been given up");
            looks += 1;
            match looks {
                ..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => std::thread::yield_now(),
                _ => (self.rest)(),
            }
        }
    }

    /// Combines the states of all blocks, and begins the next turn.
    fn conclude(&self, parity: usize) -> MeetingResult {
        let said = |block: usize, word| self.get(self.division.state_offset(parity, block) + word);
        let blocks = 0..self.division.count;
        let failed = |block| FailureTime {
            now_ns: said(block, AT_FAILED),
            rank: said(block, AT_FAILED_RANK) as u32,
        };
        let sent = |to: usize| {
            let others = blocks.clone().filter(move |&from| from != to);
            others.map(|from| said(from, AT_SENT)).min()
        };
        // Time of a block's next event, its own or caused by a received frame.
        let next = |block: usize| said(block, AT_NEXT).min(sent(block).unwrap_or(NEVER));
        let others = blocks.clone().filter(|&block| block != self.own);
        let horizon = others.map(next).min().unwrap_or(NEVER);
        let horizon = horizon.saturating_add(self.division.hop());
        let first = blocks.clone().map(failed).min();
        // Events after a failure are irrelevant.
        let end = first.map_or(NEVER, |failed| failed.now_ns.saturating_add(1));
        self.horizon.set(horizon.min(end));
        self.sent.set(NEVER);
        self.number.set(self.number.get() + 1);
        MeetingResult {
            next: blocks.clone().map(next).min().unwrap_or(NEVER),
            ended: blocks.clone().map(|b| said(b, AT_ENDED) as usize).sum(),
            failed: first.filter(|failed| *failed != NOT_FAILED),
            is_unsettled: blocks.clone().any(|b| said(b, AT_UNSETTLED) != 0),
        }
    }

    /// Receives the frames sent to this block before the last meeting: node, side, arrival and frame.
    pub(super) fn receive_frames(&self, mut put: impl FnMut(usize, u8, u64, &[u8])) {
        // That meeting has the other parity.
        let parity = 1 - self.parity();
        let mut frame = [0; FRAME * WORD_BYTES];
        for from in (0..self.division.count).filter(|&from| from != self.own) {
            let start = self.division.frames(parity, from, self.own);
            for index in 0..self.get(start) as usize {
                let at = start + 1 + index * FRAME;
                let (to, arrival, len) = (self.get(at), self.get(at + 1), self.get(at + 2));
                let len = len as usize;
                for (word, bytes) in frame[..len].chunks_mut(WORD_BYTES).enumerate() {
                    let whole = self.get(at + 3 + word).to_ne_bytes();
                    bytes.copy_from_slice(&whole[..bytes.len()]);
                }
                put((to >> 8) as usize, to as u8, arrival, &frame[..len]);
            }
            // It is not written again before the next meeting, and this block reaches that later.
            self.set(start, 0);
        }
    }
}

const NOT_FAILED: FailureTime = FailureTime {
    now_ns: NEVER,
    rank: u32::MAX,
};

impl Drop for MachineBlock<'_> {
    /// Prevents others from waiting for a block whose thread has panicked.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.set(self.division.broken(), 1);
        }
    }
}
