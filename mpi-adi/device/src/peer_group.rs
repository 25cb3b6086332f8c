//! What the table of [`peers`](super::peers) has of one peer, and of a group of them.
#![forbid(unsafe_code)]

use crate::peer_sets::Set;
use crate::protocol::Age;

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
    Clear,
    /// Some of its messages stand refused, none of them under the current age.
    RefusedEarlier,
    /// One of its messages was refused under the current age: its failed bit is set.
    Refused,
    /// It has a new age; the restart that tells it is still to be sent.
    RestartQueued,
    /// The restart is on its way; nothing has come under the new age yet.
    RestartSent,
    /// As `RestartSent`, and receives that it could match have been posted since.
    RestartSentStale,
    /// Offers under its current age are coming one after the other, and all were accepted so far: it does
    /// not wait for memory.
    Offering,
    /// Some of its messages stand refused, and receives from any source have been posted since: it gets a
    /// restart when it has its turn.
    WildcardQueued,
}

impl Standing {
    pub(super) const ALL: [Standing; 8] = {
        use Standing::*;
        [
            Clear,
            RefusedEarlier,
            Refused,
            RestartQueued,
            RestartSent,
            RestartSentStale,
            Offering,
            WildcardQueued,
        ]
    };

    /// Receives that it could match have been posted since it was refused, or since its restart was sent.
    pub(super) fn is_posted_since(self) -> bool {
        matches!(self, Standing::RestartSentStale | Standing::WildcardQueued)
    }

    /// It has been restarted and has not answered yet.
    pub(super) fn is_under_way(self) -> bool {
        use Standing::*;
        matches!(self, RestartQueued | RestartSent | RestartSentStale)
    }

    pub(super) fn of(nibble: u8) -> Standing {
        Self::ALL[(nibble & STANDING) as usize]
    }

    /// Its messages stand refused, and no restart is on its way.
    #[cfg(test)]
    pub(super) fn awaits_restart(self) -> bool {
        members(Set::Waiting).contains(&self)
    }
}

/// Peers of a group.
pub(super) const GROUP_PEERS: usize = 16;
/// Bits of a peer.
pub(super) const PEER_BITS: usize = u64::BITS as usize / GROUP_PEERS;
pub(super) const STANDING: u8 = 7;
/// As a sender, we owe the peer a DONE.
pub(super) const DONE: u8 = 8;

/// Peers of a page, a multiple of `GROUP_PEERS`.
pub const PAGE_PEERS: usize = 256;
/// Pages in stock, at most.
pub const STOCK_PAGES: usize = 8;

/// The standings of the members of a set; none where it is not for its standing that a peer is in it.
pub(super) const fn members(set: Set) -> &'static [Standing] {
    use Standing::*;
    match set {
        Set::Waiting => &[RefusedEarlier, Refused, WildcardQueued],
        Set::WildcardQueued => &[WildcardQueued],
        Set::RestartDue => &[RestartQueued],
        Set::AskedByWildcards => &[RefusedEarlier, Refused, Offering, RestartSent],
        Set::DoneDue => &[],
    }
}

/// By a peer's bits: the sets that it is in, a bit each.
pub(super) const SETS_OF: [u8; 1 << PEER_BITS] = {
    let mut sets_of = [0; 1 << PEER_BITS];
    let mut nibble = 0;
    while nibble < sets_of.len() as u8 {
        let mut set = 0;
        while set < Set::ALL.len() {
            sets_of[nibble as usize] |= (is_in(nibble, Set::ALL[set]) as u8) << set;
            set += 1;
        }
        nibble += 1;
    }
    sets_of
};

/// Whether a peer of these bits is in a set.
const fn is_in(nibble: u8, set: Set) -> bool {
    if matches!(set, Set::DoneDue) {
        return nibble & DONE != 0;
    }
    let mut members = members(set);
    while let [first, rest @ ..] = members {
        if *first as u8 == nibble & STANDING {
            return true;
        }
        members = rest;
    }
    false
}

/// The bits of a group: four a peer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Bits(pub(super) u64);

/// In a group's bits, those of its first peer once for each peer.
const EACH: u64 = u64::MAX / ((1 << PEER_BITS) - 1);

impl Bits {
    pub(super) fn nibble(&self, at: usize) -> u8 {
        (self.0 >> (at * PEER_BITS)) as u8 & (STANDING | DONE)
    }

    pub(super) fn set_nibble(&mut self, at: usize, nibble: u8) {
        let change = self.nibble(at) ^ nibble;
        self.0 ^= u64::from(change) << (at * PEER_BITS);
    }

    /// The members of `set`: the highest of a peer's bits is set for each of them.
    pub(super) fn marks(&self, set: Set) -> u64 {
        const DONES: u64 = EACH * DONE as u64;
        if set == Set::DoneDue {
            return self.0 & DONES;
        }
        let standings = self.0 & !DONES;
        let marks = members(set).iter().map(|&standing| {
            // 8 - 0 has that bit, 8 - 1 to 8 - 7 have not, and none of them borrows from the next.
            DONES - (standings ^ (EACH * standing as u64))
        });
        marks.fold(0, |all, marks| all | marks) & DONES
    }

    /// The first member of `set` from place `from` on.
    pub(super) fn first(&self, set: Set, from: usize) -> Option<usize> {
        let marks = self.marks(set) & u64::MAX << (from * PEER_BITS);
        (marks != 0).then(|| marks.trailing_zeros() as usize / PEER_BITS)
    }
}
