//! A machine in blocks of nodes, which go on side by side in virtual time, each in a thread or a process of its own.
//!
//! What a node does reaches its neighbour a hop later at the earliest. So a block can go on by itself until a hop after
//! the next thing that happens in any other block, its *horizon*, and until a hop after the first frame of its own has
//! come to another. Then the blocks meet: each says what is next for it, and takes the frames that others have sent to its
//! nodes. What happens, and when, is the same as with one block.
//!
//! What they share is words of memory. Each word is written by one block between two meetings and read by others after
//! the second of them: there are two of each, for meetings of even and of odd numbers.
//!
//! ```text
//!   block 0   |-- events before its horizon --| says: next, first sent |  waits for all  | takes frames |-- ...
//!   block 1   |-- events --| says |            waits for all           | takes frames |-- events before ...
//! ```
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use net_torus::wire::{FRAME_HEADER_BYTES, MIN_MTU};
use net_torus::{Direction, Shape};

use crate::costs::Costs;

/// No time.
pub(super) const NEVER: u64 = u64::MAX;

const WORD_BYTES: usize = size_of::<u64>();
/// Words of what a block says at a meeting: whole lines of the host's caches.
const SAID: usize = 16;
/// Its words: the meeting's number and one, which is written last; the next event; when the first frame of this turn
/// comes to another block; programs that have ended; what has failed, as [`Failed`]; something is to be settled.
const AT_NUMBER: usize = 0;
const AT_NEXT: usize = 1;
const AT_SENT: usize = 2;
const AT_ENDED: usize = 3;
const AT_FAILED: usize = 4;
const AT_FAILED_RANK: usize = 5;
const AT_UNSETTLED: usize = 6;

/// Words of a frame on its way: whose and on which side, its arrival, its length, its bytes.
const FRAME: usize = 3 + MIN_MTU.div_ceil(WORD_BYTES);

/// Looks at what another block has said, before the processor is left to others, and before resting.
const SPINS: u32 = 300;
const YIELDS: u32 = 2_000;

/// The memory that blocks share.
pub type Words = [AtomicU64];

/// How a machine is divided.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    shape: Shape,
    count: usize,
    costs: Costs,
    /// Frames that can be on their way from one block to another at a time.
    room: usize,
}

impl Division {
    /// Into so many blocks, or as many as there are nodes: stretches of ranks of equal lengths.
    pub fn new(shape: Shape, count: usize, costs: Costs) -> Division {
        let count = count.clamp(1, shape.nodes() as usize);
        let mut division = Division {
            shape,
            count,
            costs,
            room: 0,
        };
        let most = (0..count).map(|block| division.links_out_of(block)).max();
        // A turn goes on for two hops at most after the first frame has left, and a link carries one at a time.
        let each = 2 * division.hop() / costs.carries(FRAME_HEADER_BYTES) + 2;
        division.room = most.unwrap_or(0) * each as usize;
        division
    }

    /// How many blocks there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Words that the blocks need, zeros at first.
    pub fn words(&self) -> usize {
        2 * self.count * (SAID + self.count * self.box_words()) + 1
    }

    /// The nodes of a block.
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

    /// Words for the frames from one block to another: how many, and each.
    fn box_words(&self) -> usize {
        1 + self.room * FRAME
    }

    fn said(&self, parity: usize, block: usize) -> usize {
        (parity * self.count + block) * SAID
    }

    fn frames(&self, parity: usize, from: usize, to: usize) -> usize {
        let before = 2 * self.count * SAID;
        before + ((parity * self.count + from) * self.count + to) * self.box_words()
    }

    /// The word that says that a block has been given up.
    fn broken(&self) -> usize {
        self.words() - 1
    }
}

/// What ended a job, and when.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Failed {
    /// In nanoseconds of virtual time.
    pub now_ns: u64,
    /// Whose program it was.
    pub rank: u32,
}

/// What all blocks have said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Met {
    /// Nothing happens before this time, in any block.
    pub(super) next: u64,
    /// Programs that have ended.
    pub(super) ended: usize,
    /// What failed first.
    pub(super) failed: Option<Failed>,
    /// Some block has something to be settled.
    pub(super) is_unsettled: bool,
}

impl Met {
    /// What has ended the job: nothing happens any more that could have ended it before.
    pub(super) fn end(&self) -> Option<Failed> {
        self.failed.filter(|failed| self.next > failed.now_ns)
    }
}

/// What a block has to say. One that has failed has no next event.
#[derive(Clone, Copy, Default)]
pub(super) struct Says {
    pub(super) next: u64,
    pub(super) ended: usize,
    pub(super) failed: Option<Failed>,
    pub(super) is_unsettled: bool,
}

/// One block, as the thread or process knows it in which it goes on.
pub struct Block<'w> {
    division: Division,
    words: &'w Words,
    own: usize,
    ranks: Range<usize>,
    /// Leaves the processor to others for a while.
    rest: fn(),
    /// Of the meeting that comes next.
    number: Cell<u64>,
    horizon: Cell<u64>,
    /// When the first frame of this turn comes to another block.
    sent: Cell<u64>,
}

impl<'w> Block<'w> {
    /// Block number `own` of the division, by the words that all its blocks share. It waits for long by calling `rest`.
    ///
    /// # Panics
    /// When there is no such block, or there are too few words.
    pub fn new(division: Division, own: usize, words: &'w Words, rest: fn()) -> Block<'w> {
        assert!(own < division.count && words.len() >= division.words());
        Block {
            division,
            words,
            own,
            ranks: division.ranks(own),
            rest,
            number: Cell::new(0),
            // Nothing has been said yet.
            horizon: Cell::new(0),
            sent: Cell::new(NEVER),
        }
    }

    /// Its nodes.
    pub fn ranks(&self) -> Range<usize> {
        self.ranks.clone()
    }

    /// The node is one of them.
    pub(super) fn has(&self, node: usize) -> bool {
        self.ranks.contains(&node)
    }

    /// Events before this time can happen without another meeting.
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

    /// Sends a frame to the node `there` of another block, to its side with this number, where it is at `arrival`.
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

    /// A program has failed in the middle of this turn: meets the others until what they do comes later than that; which
    /// program has failed first. Nothing goes on after that.
    pub fn fail(&self, own: Failed) -> Failed {
        let says = Says {
            next: NEVER,
            failed: Some(own),
            ..Says::default()
        };
        loop {
            if let Some(first) = self.meet(says).end() {
                return first;
            }
            self.take(|_, _, _, _| ());
        }
    }

    /// Says how things stand, and waits for all blocks to have said it. To be called by all, until there is no next
    /// event or one has failed.
    pub(super) fn meet(&self, says: Says) -> Met {
        let (number, parity) = (self.number.get() + 1, self.parity());
        let at = self.division.said(parity, self.own);
        let failed = says.failed.unwrap_or(NOT_FAILED);
        self.set(at + AT_NEXT, says.next);
        self.set(at + AT_SENT, self.sent.get());
        self.set(at + AT_ENDED, says.ended as u64);
        self.set(at + AT_FAILED, failed.now_ns);
        self.set(at + AT_FAILED_RANK, failed.rank.into());
        self.set(at + AT_UNSETTLED, says.is_unsettled.into());
        self.words[at + AT_NUMBER].store(number, Ordering::Release);
        for block in 0..self.division.count {
            self.wait_for(self.division.said(parity, block), number);
        }
        self.conclude(parity)
    }

    /// Returns once the block that says it there has come to this meeting.
    fn wait_for(&self, at: usize, number: u64) {
        let mut looks = 0;
        while self.words[at + AT_NUMBER].load(Ordering::Acquire) != number {
            assert!(
                self.get(self.division.broken()) == 0,
                "another block has been given up"
            );
            looks += 1;
            match looks {
                ..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => std::thread::yield_now(),
                _ => (self.rest)(),
            }
        }
    }

    /// All have said how things stand: begins the next turn.
    fn conclude(&self, parity: usize) -> Met {
        let said = |block: usize, word| self.get(self.division.said(parity, block) + word);
        let blocks = 0..self.division.count;
        let failed = |block| Failed {
            now_ns: said(block, AT_FAILED),
            rank: said(block, AT_FAILED_RANK) as u32,
        };
        let sent = |to: usize| {
            let others = blocks.clone().filter(move |&from| from != to);
            others.map(|from| said(from, AT_SENT)).min()
        };
        // When something happens in a block, by itself or by what has come.
        let next = |block: usize| said(block, AT_NEXT).min(sent(block).unwrap_or(NEVER));
        let others = blocks.clone().filter(|&block| block != self.own);
        let horizon = others.map(next).min().unwrap_or(NEVER);
        let horizon = horizon.saturating_add(self.division.hop());
        let first = blocks.clone().map(failed).min();
        // What comes later than a failure does not matter any more.
        let end = first.map_or(NEVER, |failed| failed.now_ns.saturating_add(1));
        self.horizon.set(horizon.min(end));
        self.sent.set(NEVER);
        self.number.set(self.number.get() + 1);
        Met {
            next: blocks.clone().map(next).min().unwrap_or(NEVER),
            ended: blocks.clone().map(|b| said(b, AT_ENDED) as usize).sum(),
            failed: first.filter(|failed| *failed != NOT_FAILED),
            is_unsettled: blocks.clone().any(|b| said(b, AT_UNSETTLED) != 0),
        }
    }

    /// Takes what has been sent to this block before the last meeting: node, side, arrival and frame.
    pub(super) fn take(&self, mut put: impl FnMut(usize, u8, u64, &[u8])) {
        // That meeting's parity is the other one.
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
            // It is written again after the next meeting at the earliest, to which this block comes later.
            self.set(start, 0);
        }
    }
}

const NOT_FAILED: Failed = Failed {
    now_ns: NEVER,
    rank: u32::MAX,
};

impl Drop for Block<'_> {
    /// Others must not wait for a block whose thread has panicked.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.set(self.division.broken(), 1);
        }
    }
}
