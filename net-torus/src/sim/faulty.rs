//! Fault injection for any link.

use crate::link::Link;
use oorandom::Rand32;
use std::collections::VecDeque;

/// Fault rates per frame, 0..=1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FaultRates {
    /// The frame is lost.
    pub loss: f32,
    /// One to three bits are flipped.
    pub corruption: f32,
    /// The frame is duplicated.
    pub duplication: f32,
    /// The frame arrives after the next ones.
    pub reordering: f32,
    /// The frame is truncated.
    pub truncation: f32,
    /// No frame arrives for a while.
    pub pause: f32,
}

impl FaultRates {
    /// One percent of each fault.
    pub const PERCENT: Self = Self {
        loss: 0.01,
        corruption: 0.01,
        duplication: 0.01,
        reordering: 0.01,
        truncation: 0.01,
        pause: 0.01,
    };
}

/// Maximum duration of a pause in calls of [`Link::receive`].
const LONGEST_PAUSE: u32 = 40;
/// Maximum number of frames that overtake a reordered one.
const FARTHEST: u32 = 4;

/// Link that injects faults into the received frames.
pub struct FaultyLink<L> {
    link: L,
    faults: FaultRates,
    random: Rand32,
    /// Delayed frames, with the number of calls until delivery.
    kept: VecDeque<(u32, Vec<u8>)>,
    pause: u32,
    dead: bool,
}

impl<L: Link> FaultyLink<L> {
    /// Creates a link with `faults`, determined by `seed`.
    pub fn new(link: L, faults: FaultRates, seed: u64) -> Self {
        Self {
            link,
            faults,
            random: Rand32::new(seed),
            kept: VecDeque::new(),
            pause: 0,
            dead: false,
        }
    }

    /// Cuts the link: nothing is received any more.
    pub fn cut(&mut self) {
        self.dead = true;
    }

    fn happens(&mut self, rate: f32) -> bool {
        self.random.rand_float() < rate
    }

    fn corrupt(&mut self, mut frame: Vec<u8>) {
        if self.happens(self.faults.loss) {
            return;
        }
        if self.happens(self.faults.corruption) {
            for _ in 0..self.random.rand_range(1..4) {
                let bit = self.random.rand_range(0..frame.len() as u32 * 8) as usize;
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
        if self.happens(self.faults.truncation) {
            frame.truncate(self.random.rand_range(0..frame.len() as u32) as usize);
        }
        if self.happens(self.faults.duplication) {
            self.kept.push_back((0, frame.clone()));
        }
        let back = if self.happens(self.faults.reordering) {
            self.random.rand_range(1..FARTHEST + 1)
        } else {
            0
        };
        self.kept.push_back((back, frame));
    }
}

impl<L: Link> Link for FaultyLink<L> {
    fn mtu(&self) -> usize {
        self.link.mtu()
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let mut taken = Vec::new();
        if self.link.receive(|frame| taken.extend_from_slice(frame)) && !self.dead {
            self.corrupt(taken);
        }
        if self.happens(self.faults.pause) {
            self.pause = self.random.rand_range(1..LONGEST_PAUSE);
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        let Some(index) = self.kept.iter().position(|(back, _)| *back == 0) else {
            self.kept.iter_mut().for_each(|(back, _)| *back -= 1);
            return false;
        };
        for (back, _) in self.kept.iter_mut().take(index) {
            *back -= 1;
        }
        match self.kept.remove(index) {
            Some((_, frame)) => f(&frame),
            None => return false,
        }
        true
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        self.link.transmit(f)
    }

    fn poll(&mut self, now_ns: u64) {
        self.link.poll(now_ns);
    }

    fn poll_at(&self) -> Option<u64> {
        self.link.poll_at()
    }
}
