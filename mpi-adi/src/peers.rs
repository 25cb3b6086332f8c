//! What is kept for every peer: two ages and four bits, 2.5 bytes.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::hash::{Hash, Hasher};

use crate::envelope::Rank;
use crate::protocol::{Age, Rules, restarts};

/// A peer's ages.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Ages {
    /// The age that the peer, as a receiver, has last told us: ours to it travel under it.
    pub to: Age,
    /// The age that we, as a receiver, expect of what comes from the peer.
    pub from: Age,
}

/// How a source stands with us as its receiver (three bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standing {
    /// None of its messages stands refused, as far as we know.
    Calm,
    /// Some of its messages stand refused, none of them under the current age.
    Hungry,
    /// One of its messages was refused under the current age: its failed bit is set.
    Failed,
    /// It has a new age; the notice that tells it is still to be sent.
    Owed,
    /// The notice is on its way; nothing has come under the new age yet.
    Open,
    /// As `Open`, and receives that it could match have been posted since.
    OpenAgain,
}

impl Standing {
    const ALL: [Standing; 6] = {
        use Standing::*;
        [Calm, Hungry, Failed, Owed, Open, OpenAgain]
    };

    /// Its messages stand refused, and no notice is on its way.
    pub fn waits(self) -> bool {
        restarts(matches!(self, Standing::Hungry | Standing::Failed))
    }
}

const STANDING: u8 = 7;
/// As a sender, we owe the peer a DONE.
const DONE: u8 = 8;

/// The peer table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peers {
    ages: Box<[Ages]>,
    /// Four bits a peer.
    bits: Box<[u8]>,
    waiting: u32,
    owed: u32,
    open: u32,
    done: u32,
    /// Where the search for the next source to serve goes on, so that sources take turns.
    turn: u32,
    steps: u64,
}

/// Without the measure; the counts say no more than the bits.
impl Hash for Peers {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.ages, &self.bits, self.turn).hash(state);
    }
}

impl Peers {
    /// A table over `ages` (one a peer) and `bits` (a byte for two peers).
    ///
    /// # Panics
    /// When `bits` is too small.
    pub fn new(mut ages: Box<[Ages]>, mut bits: Box<[u8]>) -> Self {
        assert!(bits.len() >= Self::bit_bytes(ages.len()));
        ages.fill(Ages::default());
        bits.fill(0);
        Peers {
            ages,
            bits,
            waiting: 0,
            owed: 0,
            open: 0,
            done: 0,
            turn: 0,
            steps: 0,
        }
    }

    /// Bytes of bits for `peers` peers.
    pub const fn bit_bytes(peers: usize) -> usize {
        peers.div_ceil(2)
    }

    /// Bytes of the table for `peers` peers.
    pub const fn bytes(peers: usize) -> usize {
        peers * size_of::<Ages>() + Self::bit_bytes(peers)
    }

    fn nibble(&self, peer: Rank) -> u8 {
        self.bits[peer as usize / 2] >> (peer % 2 * 4) & 0xF
    }

    fn set_nibble(&mut self, peer: Rank, nibble: u8) {
        let (byte, shift) = (&mut self.bits[peer as usize / 2], peer % 2 * 4);
        *byte = *byte & !(0xF << shift) | nibble << shift;
    }

    /// How `source` stands.
    pub fn standing(&self, source: Rank) -> Standing {
        Standing::ALL[(self.nibble(source) & STANDING) as usize]
    }

    /// The one place where a source's standing changes.
    fn set(&mut self, source: Rank, standing: Standing) {
        let old = self.standing(source);
        for (standing, change) in [(old, u32::MAX), (standing, 1)] {
            let count = match standing {
                Standing::Calm => continue,
                Standing::Hungry | Standing::Failed => &mut self.waiting,
                Standing::Owed => &mut self.owed,
                Standing::Open | Standing::OpenAgain => &mut self.open,
            };
            *count = count.wrapping_add(change);
        }
        self.set_nibble(source, self.nibble(source) & DONE | standing as u8);
    }

    /// The ages of `peer`.
    pub fn ages(&self, peer: Rank) -> Ages {
        self.ages[peer as usize]
    }

    /// Takes the age that `peer`'s notice brings.
    pub fn take_age(&mut self, peer: Rank, age: Age) {
        self.ages[peer as usize].to = age;
    }

    /// Notices still to be sent.
    pub fn owed(&self) -> u32 {
        self.owed + self.done
    }

    /// Peers looked at by all searches.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Sources whose messages stand refused and to which no notice is on its way.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The first peer from `from` on of whom `is` is true, once around; what `from` is left at is for the
    /// next search.
    fn find(&mut self, is: impl Fn(u8) -> bool) -> Option<Rank> {
        let peers = self.ages.len() as u32;
        let mut steps = 0;
        let found = (self.turn..peers)
            .chain(0..self.turn)
            .inspect(|_| steps += 1)
            .find(|&peer| is(self.nibble(peer)));
        self.steps += steps;
        found
    }

    /// Gives `source` a new age and owes it the notice.
    pub fn restart(&mut self, source: Rank, rules: Rules) {
        let from = &mut self.ages[source as usize].from;
        *from = rules.next_age(*from);
        self.set(source, Standing::Owed);
    }

    /// Restarts up to `count` sources that wait, by turns.
    pub fn restart_next(&mut self, count: u32, rules: Rules) {
        for _ in 0..count.min(self.waiting) {
            let waits = |nibble: u8| Standing::ALL[(nibble & STANDING) as usize].waits();
            let Some(source) = self.find(waits) else {
                return;
            };
            self.turn = (source + 1) % self.ages.len() as u32;
            self.restart(source, rules);
        }
    }

    /// A receive has been posted that `source` (any source when `None`) could match: restarts who waits.
    /// True when a notice must name the receive.
    pub fn posted(&mut self, source: Option<Rank>, rules: Rules) -> bool {
        if self.waiting + self.owed + self.open == 0 {
            return false;
        }
        match source {
            Some(source) => self.posted_for(source, rules),
            None => (0..self.ages.len() as Rank).fold(false, |named, source| {
                self.posted_for(source, rules) | named
            }),
        }
    }

    fn posted_for(&mut self, source: Rank, rules: Rules) -> bool {
        match self.standing(source) {
            Standing::Calm => return false,
            Standing::Hungry | Standing::Failed => self.restart(source, rules),
            Standing::Open => self.set(source, Standing::OpenAgain),
            Standing::Owed | Standing::OpenAgain => {}
        }
        true
    }

    /// A message of `source` has been refused under the current age.
    pub fn refused(&mut self, source: Rank) {
        self.set(source, Standing::Failed);
    }

    /// A message of `source` has been accepted under the current age, or DONE has come; `more` of its
    /// messages stand refused.
    pub fn accepted(&mut self, source: Rank, more: bool) {
        if self.standing(source) != Standing::Failed {
            self.set(
                source,
                if more {
                    Standing::Hungry
                } else {
                    Standing::Calm
                },
            );
        }
    }

    /// A source that is owed a notice, and the age to send; the debt is paid with this call.
    pub fn pay(&mut self) -> Option<(Rank, Age)> {
        if self.owed == 0 {
            return None;
        }
        let source = self.find(|nibble| nibble & STANDING == Standing::Owed as u8)?;
        self.set(source, Standing::Open);
        Some((source, self.ages[source as usize].from))
    }

    /// Owes `peer` a DONE.
    pub fn owe_done(&mut self, peer: Rank) {
        if self.nibble(peer) & DONE == 0 {
            self.set_nibble(peer, self.nibble(peer) | DONE);
            self.done += 1;
        }
    }

    /// A peer that is owed a DONE, and the age to send; the debt is paid with this call.
    pub fn pay_done(&mut self) -> Option<(Rank, Age)> {
        if self.done == 0 {
            return None;
        }
        let peer = self.find(|nibble| nibble & DONE != 0)?;
        self.set_nibble(peer, self.nibble(peer) & !DONE);
        self.done -= 1;
        Some((peer, self.ages[peer as usize].to))
    }
}
