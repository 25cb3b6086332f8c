//! What is kept for every peer: two ages and two bits, 2.25 bytes.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use bitvec::order::Lsb0;
use bitvec::view::BitView;

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

/// The peer table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Peers {
    ages: Box<[Ages]>,
    failed: Box<[usize]>,
    owed: Box<[usize]>,
    failed_count: u32,
    owed_count: u32,
    /// Where the search for an owed resendAll goes on, so that sources take turns.
    turn: u32,
}

impl Peers {
    /// A table over `ages` (one a peer) and two bit maps of at least as many bits.
    ///
    /// # Panics
    /// When a bit map is too small.
    pub fn new(mut ages: Box<[Ages]>, mut failed: Box<[usize]>, mut owed: Box<[usize]>) -> Self {
        let words = Self::map_words(ages.len());
        assert!(failed.len() >= words && owed.len() >= words);
        ages.fill(Ages::default());
        failed.fill(0);
        owed.fill(0);
        Peers {
            ages,
            failed,
            owed,
            failed_count: 0,
            owed_count: 0,
            turn: 0,
        }
    }

    /// Words of one bit map for `peers` peers.
    pub const fn map_words(peers: usize) -> usize {
        peers.div_ceil(usize::BITS as usize)
    }

    /// Bytes of the table for `peers` peers.
    pub const fn bytes(peers: usize) -> usize {
        peers * size_of::<Ages>() + 2 * Self::map_words(peers) * size_of::<usize>()
    }

    /// The ages of `peer`.
    pub fn ages(&self, peer: Rank) -> Ages {
        self.ages[peer as usize]
    }

    /// Takes the age that `peer`'s resendAll brings; false when that says nothing new.
    pub fn take_age(&mut self, peer: Rank, age: Age, rules: Rules) -> bool {
        let to = &mut self.ages[peer as usize].to;
        let news = rules.is_news(*to, age);
        if news {
            *to = age;
        }
        news
    }

    /// An RTS of `source` was refused under the current age.
    pub fn set_failed(&mut self, source: Rank) {
        let bits = self.failed.view_bits_mut::<Lsb0>();
        if !bits[source as usize] {
            bits.set(source as usize, true);
            self.failed_count += 1;
        }
    }

    /// Sources whose failed bit is set.
    pub fn failed(&self) -> u32 {
        self.failed_count
    }

    /// Owes `source` a resendAll with its current age.
    pub fn owe(&mut self, source: Rank) {
        let bits = self.owed.view_bits_mut::<Lsb0>();
        if !bits[source as usize] {
            bits.set(source as usize, true);
            self.owed_count += 1;
        }
    }

    /// Restarts `source` (every source when `None`) if its failed bit is set: new age, resendAll owed.
    pub fn restart(&mut self, source: Option<Rank>, rules: Rules) {
        match source {
            Some(source) => self.restart_one(source, rules),
            None if self.failed_count > 0 => {
                let mut from = 0;
                while let Some(skip) = self.failed.view_bits::<Lsb0>()[from..].first_one() {
                    self.restart_one((from + skip) as Rank, rules);
                    from += skip + 1;
                }
            }
            None => {}
        }
    }

    fn restart_one(&mut self, source: Rank, rules: Rules) {
        let bits = self.failed.view_bits_mut::<Lsb0>();
        if restarts(bits[source as usize]) {
            bits.set(source as usize, false);
            self.failed_count -= 1;
            let from = &mut self.ages[source as usize].from;
            *from = rules.next_age(*from);
            self.owe(source);
        }
    }

    /// A source that is owed a resendAll, and the age to send; the debt is paid with this call.
    pub fn pay(&mut self) -> Option<(Rank, Age)> {
        if self.owed_count == 0 {
            return None;
        }
        let bits = self.owed.view_bits_mut::<Lsb0>();
        let turn = self.turn as usize;
        let source = bits[turn..]
            .first_one()
            .map(|skip| turn + skip)
            .or_else(|| bits[..turn].first_one())?;
        bits.set(source, false);
        self.owed_count -= 1;
        self.turn = (source as u32 + 1) % self.ages.len() as u32;
        Some((source as Rank, self.ages[source].from))
    }

    /// resendAlls that are owed.
    pub fn owed(&self) -> u32 {
        self.owed_count
    }
}
