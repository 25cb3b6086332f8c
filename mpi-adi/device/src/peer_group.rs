//! State of one peer, and of a group of peers, in the table of [`peers`](super::peers).
#![forbid(unsafe_code)]

use crate::peer_sets::PeerSet;
use crate::protocol::Age;

/// Ages of a peer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PeerAges {
    /// The last age received from the peer as a receiver: our messages to it use this age.
    pub to: Age,
    /// The age that we, as a receiver, expect in messages from the peer.
    pub from: Age,
}

/// Flow-control state of a source at its receiver (three bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SourceState {
    /// None of its messages is rejected, as far as known.
    Clear,
    /// Some of its messages are rejected, none of them under the current age.
    RejectedEarlier,
    /// One of its messages was rejected under the current age: its failed bit is set.
    Rejected,
    /// It has a new age; the restart is still to be sent.
    RestartQueued,
    /// The restart is in flight; nothing has arrived under the new age yet.
    RestartSent,
    /// The restart is in flight, and receives that it could match have been posted since.
    RestartSentStale,
    /// RTSs under its current age are arriving in sequence, and all were accepted so far: it does not wait for memory.
    Offering,
    /// Some of its messages are rejected, and receives from any source have been posted since: it waits for its turn.
    WildcardQueued,
}

impl SourceState {
    pub(super) const ALL: [SourceState; 8] = {
        use SourceState::*;
        [
            Clear,
            RejectedEarlier,
            Rejected,
            RestartQueued,
            RestartSent,
            RestartSentStale,
            Offering,
            WildcardQueued,
        ]
    };

    /// Returns whether matching receives have been posted since the rejection, or since the restart was sent.
    pub(super) fn is_posted_since(self) -> bool {
        matches!(self, SourceState::RestartSentStale | SourceState::WildcardQueued)
    }

    /// Returns whether it has a restart without a reply.
    pub(super) fn has_restart_in_flight(self) -> bool {
        use SourceState::*;
        matches!(self, RestartQueued | RestartSent | RestartSentStale)
    }

    pub(super) fn from_nibble(nibble: u8) -> SourceState {
        Self::ALL[(nibble & STANDING) as usize]
    }

    /// Returns whether its messages are rejected, and no restart is in flight.
    #[cfg(test)]
    pub(super) fn awaits_restart(self) -> bool {
        members(PeerSet::Waiting).contains(&self)
    }
}

/// Peers of a group.
pub(super) const GROUP_PEERS: usize = 16;
/// Bits of a peer.
pub(super) const PEER_BITS: usize = u64::BITS as usize / GROUP_PEERS;
pub(super) const STANDING: u8 = 7;
/// As a sender, we have a DONE pending for the peer.
pub(super) const DONE: u8 = 8;

/// Peers of a page, a multiple of `GROUP_PEERS`.
pub const PAGE_PEERS: usize = 256;
/// Maximum number of preallocated pages.
pub const PREALLOCATED_PAGES: usize = 8;

/// Returns the states of a set's members; empty for a set that does not depend on the state.
pub(super) const fn members(set: PeerSet) -> &'static [SourceState] {
    use SourceState::*;
    match set {
        PeerSet::Waiting => &[RejectedEarlier, Rejected, WildcardQueued],
        PeerSet::WildcardQueued => &[WildcardQueued],
        PeerSet::RestartPending => &[RestartQueued],
        PeerSet::AskedByWildcards => &[RejectedEarlier, Rejected, Offering, RestartSent],
        PeerSet::DonePending => &[],
    }
}

/// Lookup table from a peer's bits to a bit mask of its sets.
pub(super) const SETS_OF: [u8; 1 << PEER_BITS] = {
    let mut sets_of = [0; 1 << PEER_BITS];
    let mut nibble = 0;
    while nibble < sets_of.len() as u8 {
        let mut set = 0;
        while set < PeerSet::ALL.len() {
            sets_of[nibble as usize] |= (is_in(nibble, PeerSet::ALL[set]) as u8) << set;
            set += 1;
        }
        nibble += 1;
    }
    sets_of
};

/// Returns whether a peer with these bits is in a set.
const fn is_in(nibble: u8, set: PeerSet) -> bool {
    if matches!(set, PeerSet::DonePending) {
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

/// Bits of a group: four per peer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct GroupBits(pub(super) u64);

/// The lowest bit of each peer in a group's bits.
const EACH: u64 = u64::MAX / ((1 << PEER_BITS) - 1);

impl GroupBits {
    pub(super) fn nibble(&self, at: usize) -> u8 {
        (self.0 >> (at * PEER_BITS)) as u8 & (STANDING | DONE)
    }

    pub(super) fn set_nibble(&mut self, at: usize, nibble: u8) {
        let change = self.nibble(at) ^ nibble;
        self.0 ^= u64::from(change) << (at * PEER_BITS);
    }

    /// Returns the members of `set`: the highest bit of each member's four.
    pub(super) fn marks(&self, set: PeerSet) -> u64 {
        const DONES: u64 = EACH * DONE as u64;
        if set == PeerSet::DonePending {
            return self.0 & DONES;
        }
        let standings = self.0 & !DONES;
        let marks = members(set).iter().map(|&standing| {
            // 8 - 0 has that bit, 8 - 1 to 8 - 7 have not, and none of them borrows from the next.
            DONES - (standings ^ (EACH * standing as u64))
        });
        marks.fold(0, |all, marks| all | marks) & DONES
    }

    /// Returns the first member of `set` from index `from` on.
    pub(super) fn first(&self, set: PeerSet, from: usize) -> Option<usize> {
        let marks = self.marks(set) & u64::MAX << (from * PEER_BITS);
        (marks != 0).then(|| marks.trailing_zeros() as usize / PEER_BITS)
    }
}
