//! Peer table: two ages and four state bits for each peer, 2.5 bytes.
//!
//! # Pages
//! Sixteen peers are a *group*, whose bits fill a word. A machine of at most [`PAGE_PEERS`] nodes allocates the table
//! at start, in one array with short access. In a larger machine the table consists of pages of that size, and a page
//! is allocated on the first state change of one of its peers. All other peers read as peers without any traffic, which
//! requires no page. A node that communicates with all peers uses all pages in the end: one array's bytes, plus the
//! list of pages.
//!
//! The groups with waiting peers are indexed separately (`peer_sets.rs`), so that a search finds the next one in a few
//! steps, independently of their count and distance.
//!
//! The first state change of a peer is a rejected message or the age in its restart. Both arrive in a packet, possibly
//! in an interrupt handler, where nothing may be allocated. So up to [`PREALLOCATED_PAGES`] pages are preallocated from the
//! program's heap: at start, and within calls of the program as they are used up. A packet uses at most one page, that
//! of its source. While there are peers without a page, a progress step receives no more packets than there are
//! preallocated pages. The other packets remain in the network, which exerts back-pressure on their senders, until a
//! call of the program allocates more pages. So a program that makes no calls for a long time may stall others, as it
//! may by not receiving. When the heap is full before all pages exist, the program receives nothing until it frees
//! memory.
//!
//! A build with the feature `micro`, for machines of few nodes, uses only arrays, and searches the groups one by one.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::hash::{Hash, Hasher};

use crate::envelope::Rank;
use crate::peer_group::{DONE, GROUP_PEERS, GroupBits, SETS_OF};
pub use crate::peer_group::{PAGE_PEERS, PREALLOCATED_PAGES, PeerAges, SourceState};
#[cfg(not(feature = "micro"))]
use crate::peer_pages::PeerPages;
#[cfg(feature = "micro")]
use crate::peer_pages_stub::PeerPages;
use crate::peer_sets::{GroupSets, PeerSet};
use crate::protocol::{Age, ProtocolRules};
use crate::try_box::try_boxed_slice;

/// Maximum number of restarts in flight for receives from any source: each such receive matches only one message, so
/// not all sources are asked at the same time.
pub const WILDCARD_RESTARTS: u32 = 8;

/// Peer table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerTable {
    /// In a machine of one page: the bits of its groups and the ages of its peers. Empty in a larger machine.
    bits: Box<[GroupBits]>,
    ages: Box<[PeerAges]>,
    /// The pages of a larger machine.
    pages: PeerPages,
    peers: u32,
    /// Index of groups by membership in sets.
    #[cfg(not(feature = "micro"))]
    sets: GroupSets,
    /// Number of peers in each flow-control state.
    count: [u32; SourceState::ALL.len()],
    done: u32,
    /// Start of the search for the next source to serve, in round robin.
    turn: u32,
    /// Start of the search for the next restart to send.
    due_turn: u32,
    steps: u64,
}

/// Omits the statistics, and the sets and counts, which derive from the bits.
impl Hash for PeerTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let PeerTable { bits, ages, pages, .. } = self;
        (bits, ages, pages, self.turn, self.due_turn).hash(state);
    }
}

impl PeerTable {
    /// Allocates the table of `peers` (1 or more) peers in the initial state; returns `None` when the heap is full.
    pub fn allocate(peers: usize) -> Option<Self> {
        let (near, pages) = PeerPages::parts(peers);
        let mut table = PeerTable {
            bits: try_boxed_slice(GroupBits::default(), near.div_ceil(GROUP_PEERS))?,
            ages: try_boxed_slice(PeerAges::default(), near)?,
            pages: PeerPages::allocate(pages)?,
            peers: peers as u32,
            #[cfg(not(feature = "micro"))]
            sets: GroupSets::allocate(peers.div_ceil(GROUP_PEERS))?,
            count: [0; SourceState::ALL.len()],
            done: 0,
            turn: 0,
            due_turn: 0,
            steps: 0,
        };
        table.count[SourceState::Clear as usize] = table.peers;
        Some(table)
    }

    /// Returns the size in bytes of the table of `peers` peers without its pages.
    const fn near_bytes(peers: usize) -> usize {
        let (near, _) = PeerPages::parts(peers);
        let sets = if cfg!(not(feature = "micro")) {
            GroupSets::bytes(peers.div_ceil(GROUP_PEERS))
        } else {
            0
        };
        near.div_ceil(GROUP_PEERS) * size_of::<GroupBits>() + near * size_of::<PeerAges>() + sets
    }

    /// Returns the bytes that [`PeerTable::allocate`] allocates for `peers` peers.
    pub const fn bytes(peers: usize) -> usize {
        Self::near_bytes(peers) + PeerPages::bytes(PeerPages::parts(peers).1)
    }

    /// Returns the size in bytes of the table of `peers` peers with all pages.
    pub const fn max_bytes(peers: usize) -> usize {
        Self::near_bytes(peers) + PeerPages::max_bytes(PeerPages::parts(peers).1)
    }

    /// Returns the current size in bytes, including preallocated pages.
    pub fn bytes_now(&self) -> usize {
        Self::near_bytes(self.size()) + self.pages.bytes_now()
    }

    /// Returns the number of peers.
    pub fn size(&self) -> usize {
        self.peers as usize
    }

    /// Returns the number of packets, from any sources, that can be received before [`PeerTable::preallocate_pages`].
    #[inline]
    pub fn packets(&self) -> usize {
        self.pages.packets()
    }

    /// Preallocates pages for packets, as far as the heap has space. Use only within a call of the program.
    #[inline]
    pub fn preallocate_pages(&mut self) {
        self.pages.preallocate_pages();
    }

    /// Returns the group of `peer`, and the index in it.
    #[inline]
    fn group_index(peer: Rank) -> (usize, usize) {
        let peer = peer.index() as usize;
        (peer / GROUP_PEERS, peer % GROUP_PEERS)
    }

    /// Returns the bits of a group, also of one without a page.
    #[inline]
    fn bits(&self, group: usize) -> GroupBits {
        match self.bits.get(group) {
            Some(bits) => *bits,
            None => self.pages.bits(group).unwrap_or_default(),
        }
    }

    fn bits_mut(&mut self, group: usize) -> &mut GroupBits {
        match self.bits.get_mut(group) {
            Some(bits) => bits,
            None => self.pages.bits_mut(group),
        }
    }

    fn nibble(&self, peer: Rank) -> u8 {
        let (group, at) = Self::group_index(peer);
        self.bits(group).nibble(at)
    }

    /// Returns the flow-control state of `source`.
    pub fn source_state(&self, source: Rank) -> SourceState {
        SourceState::from_nibble(self.nibble(source))
    }

    /// Updates a source's flow-control state and the counts; no other code does.
    fn set_state(&mut self, source: Rank, standing: SourceState) {
        let before = self.source_state(source);
        if before == standing {
            return;
        }
        self.count[before as usize] -= 1;
        self.count[standing as usize] += 1;
        self.set_nibble(source, self.nibble(source) & DONE | standing as u8);
    }

    fn set_nibble(&mut self, peer: Rank, nibble: u8) {
        let (group, at) = Self::group_index(peer);
        let bits = self.bits_mut(group);
        let before = SETS_OF[bits.nibble(at) as usize];
        bits.set_nibble(at, nibble);
        let (bits, now) = (*bits, SETS_OF[nibble as usize]);
        if before != now {
            self.update_sets(group, bits, before, now);
        }
    }

    /// Updates the sets after a change in a group with these new bits: a group is in a set while it has a member.
    #[cfg(not(feature = "micro"))]
    fn update_sets(&mut self, group: usize, bits: GroupBits, before: u8, now: u8) {
        for set in PeerSet::ALL {
            let bit = 1 << set as u8;
            if (before ^ now) & bit != 0 {
                let has_member = now & bit != 0 || bits.marks(set) != 0;
                self.sets.set(set, group, has_member);
            }
        }
    }

    #[cfg(feature = "micro")]
    fn update_sets(&mut self, _: usize, _: GroupBits, _: u8, _: u8) {}

    /// Returns the first group from `from` on with a member of `set`.
    #[cfg(not(feature = "micro"))]
    fn next_group(&mut self, set: PeerSet, from: usize) -> Option<usize> {
        self.sets.next(set, from, &mut self.steps)
    }

    #[cfg(feature = "micro")]
    fn next_group(&mut self, set: PeerSet, from: usize) -> Option<usize> {
        self.steps += 1;
        let mut groups = self.bits.iter().skip(from);
        let at = groups.position(|bits| bits.marks(set) != 0)?;
        Some(from + at)
    }

    /// Returns the ages of `peer`.
    #[inline]
    pub fn ages(&self, peer: Rank) -> PeerAges {
        match self.ages.get(peer.index() as usize) {
            Some(ages) => *ages,
            None => self.pages.ages(peer.index() as usize),
        }
    }

    /// Returns the ages of `peer` for an update.
    pub fn ages_mut(&mut self, peer: Rank) -> &mut PeerAges {
        let peer = peer.index() as usize;
        match self.ages.get_mut(peer) {
            Some(ages) => ages,
            None => self.pages.ages_mut(peer),
        }
    }

    /// Updates the age with that of a restart from `peer`.
    pub fn update_age(&mut self, peer: Rank, age: Age) {
        if self.ages(peer).to != age {
            self.ages_mut(peer).to = age;
        }
    }

    /// Returns whether no peer has rejected messages here, as far as known.
    #[inline]
    pub fn has_no_rejected(&self) -> bool {
        self.count[SourceState::Clear as usize] == self.peers
    }

    fn counts<const N: usize>(&self, standings: [SourceState; N]) -> u32 {
        let counts = standings.map(|standing| self.count[standing as usize]);
        counts.into_iter().sum()
    }

    /// Returns whether restarts are pending.
    #[inline]
    pub fn has_pending_restarts(&self) -> bool {
        self.count[SourceState::RestartQueued as usize] > 0
    }

    /// Returns whether DONEs are pending.
    #[inline]
    pub fn has_pending_done(&self) -> bool {
        self.done > 0
    }

    /// Returns the number of pending restarts and DONEs.
    pub fn pending_count(&self) -> u32 {
        self.counts([SourceState::RestartQueued]) + self.done
    }

    /// Returns the number of sources with rejected messages and no restart in flight.
    pub fn waiting_count(&self) -> u32 {
        use SourceState::*;
        self.counts([RejectedEarlier, Rejected, WildcardQueued])
    }

    /// Returns the number of sources with a restart that has no reply yet.
    pub fn in_flight_count(&self) -> u32 {
        use SourceState::*;
        self.counts([RestartQueued, RestartSent, RestartSentStale])
    }

    /// Returns the first source from `from` on with a restart that has no reply yet. Searches the groups sequentially.
    pub fn next_in_flight(&self, from: u32) -> Option<Rank> {
        let (first, at) = Self::group_index(Rank::new(from));
        (first..self.size().div_ceil(GROUP_PEERS)).find_map(|group| {
            let bits = self.bits(group);
            let begin = if group == first { at } else { 0 };
            let at = (begin..GROUP_PEERS)
                .filter(|_| bits != GroupBits::default())
                .find(|&at| SourceState::from_nibble(bits.nibble(at)).has_restart_in_flight())?;
            Some(Rank::new((group * GROUP_PEERS + at) as u32))
        })
    }

    /// Returns the number of sources still to be asked for receives from any source.
    pub fn queued_wildcards(&self) -> u32 {
        self.counts([SourceState::WildcardQueued])
    }

    /// Returns the first member of `set` from `from` on, cyclically.
    fn find(&mut self, set: PeerSet, from: u32) -> Option<Rank> {
        let from = from as usize;
        self.find_from(set, from / GROUP_PEERS, from % GROUP_PEERS)
            .or_else(|| self.find_from(set, 0, 0))
    }

    /// Returns the first member of `set` from index `at` of a group on.
    fn find_from(&mut self, set: PeerSet, group: usize, at: usize) -> Option<Rank> {
        let first = |this: &Self, number: usize, at: usize| {
            let at = this.bits(number).first(set, at)?;
            Some(Rank::new((number * GROUP_PEERS + at) as u32))
        };
        self.steps += 1;
        first(self, group, at).or_else(|| {
            let next = self.next_group(set, group + 1)?;
            first(self, next, 0)
        })
    }

    /// Returns the number of groups and set words that all searches have checked.
    pub fn search_steps(&self) -> u64 {
        self.steps
    }

    fn after(&self, peer: Rank) -> u32 {
        (peer.index() + 1) % self.peers
    }

    /// Assigns a new age to `source` and queues its restart.
    pub fn queue_restart(&mut self, source: Rank, rules: impl ProtocolRules) {
        let from = &mut self.ages_mut(source).from;
        *from = rules.next_age(*from);
        self.set_state(source, SourceState::RestartQueued);
    }

    /// Queues the next restart of `source`, previously in state `before`, if receives have been posted since the last
    /// one and its messages may still be rejected.
    pub fn renew_restart(&mut self, source: Rank, before: SourceState, rules: impl ProtocolRules) {
        if before.is_posted_since() && self.source_state(source) != SourceState::Clear {
            self.queue_restart(source, rules);
        }
    }

    /// Queues restarts to up to `count` waiting sources, in round robin.
    #[inline]
    pub fn restart_next(&mut self, count: u32, rules: impl ProtocolRules) {
        if self.waiting_count() > 0 {
            self.restart_waiting(count, rules);
        }
    }

    fn restart_waiting(&mut self, count: u32, rules: impl ProtocolRules) {
        for _ in 0..count.min(self.waiting_count()) {
            self.restart_one(PeerSet::Waiting, rules);
        }
    }

    /// Queues restarts to sources that wait for a receive from any source, in round robin, up to the limit in flight.
    pub fn restart_wildcards(&mut self, rules: impl ProtocolRules) {
        let under_way = self.in_flight_count();
        for _ in under_way..WILDCARD_RESTARTS.min(under_way + self.queued_wildcards()) {
            self.restart_one(PeerSet::WildcardQueued, rules);
        }
    }

    // Rare, and used in several places: one copy in the image.
    #[inline(never)]
    fn restart_one(&mut self, set: PeerSet, rules: impl ProtocolRules) {
        if let Some(source) = self.find(set, self.turn) {
            self.turn = self.after(source);
            self.queue_restart(source, rules);
        }
    }

    /// Handles a posted receive that could match a message of `source` (`None`: any source). Queues restarts to the
    /// waiting sources; for any source, in round robin. Returns whether a restart must list the receive.
    pub fn note_posted(&mut self, source: Option<Rank>, rules: impl ProtocolRules) -> bool {
        if self.has_no_rejected() {
            return false;
        }
        match source {
            Some(source) => self.note_posted_for(source, rules),
            None => {
                self.note_posted_for_any(rules);
                true
            }
        }
    }

    fn note_posted_for(&mut self, source: Rank, rules: impl ProtocolRules) -> bool {
        use SourceState::*;
        match self.source_state(source) {
            Clear => return false,
            RejectedEarlier | Rejected | Offering | WildcardQueued => self.queue_restart(source, rules),
            RestartSent => self.set_state(source, RestartSentStale),
            RestartQueued | RestartSentStale => {}
        }
        true
    }

    fn note_posted_for_any(&mut self, rules: impl ProtocolRules) {
        let set = PeerSet::AskedByWildcards;
        let mut from = 0;
        while let Some(number) = self.next_group(set, from) {
            while let Some(at) = self.bits(number).first(set, 0) {
                self.steps += 1;
                let source = Rank::new((number * GROUP_PEERS + at) as u32);
                self.set_state(
                    source,
                    match self.source_state(source) {
                        SourceState::RestartSent => SourceState::RestartSentStale,
                        _ => SourceState::WildcardQueued,
                    },
                );
            }
            from = number + 1;
        }
        self.restart_wildcards(rules);
    }

    /// Records a rejected message of `source` under the current age.
    pub fn note_rejected(&mut self, source: Rank) {
        if self.source_state(source) != SourceState::WildcardQueued {
            self.set_state(source, SourceState::Rejected);
        }
    }

    /// Records an accepted message of `source` under the current age, or DONE. `more`: other messages of the source are
    /// rejected. `follows`: another RTS follows.
    pub fn note_accepted(&mut self, source: Rank, more: bool, follows: bool) {
        if !more && self.has_no_rejected() {
            return;
        }
        // A failed source still waits, even if other messages of it are accepted.
        if !matches!(
            self.source_state(source),
            SourceState::Rejected | SourceState::WildcardQueued
        ) {
            let standing = match (more, follows) {
                (false, _) => SourceState::Clear,
                (true, true) => SourceState::Offering,
                (true, false) => SourceState::RejectedEarlier,
            };
            self.set_state(source, standing);
        }
    }

    /// Dequeues a pending restart: the source, and the age to send.
    pub fn next_pending_restart(&mut self) -> Option<(Rank, Age)> {
        if self.counts([SourceState::RestartQueued]) == 0 {
            return None;
        }
        let source = self.find(PeerSet::RestartPending, self.due_turn)?;
        self.due_turn = self.after(source);
        self.set_state(source, SourceState::RestartSent);
        Some((source, self.ages(source).from))
    }

    /// Queues a DONE to `peer`.
    pub fn queue_done(&mut self, peer: Rank) {
        if self.nibble(peer) & DONE == 0 {
            self.set_nibble(peer, self.nibble(peer) | DONE);
            self.done += 1;
        }
    }

    /// Dequeues a pending DONE: the peer, and the age to send.
    #[inline]
    pub fn next_pending_done(&mut self) -> Option<(Rank, Age)> {
        match self.done {
            0 => None,
            _ => self.take_first_pending_done(),
        }
    }

    fn take_first_pending_done(&mut self) -> Option<(Rank, Age)> {
        let peer = self.find(PeerSet::DonePending, self.due_turn)?;
        self.set_nibble(peer, self.nibble(peer) & !DONE);
        self.done -= 1;
        Some((peer, self.ages(peer).to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer_group::members;
    use crate::protocol::AllRules;

    fn table(peers: usize) -> PeerTable {
        PeerTable::allocate(peers).expect("room")
    }

    fn ranks(size: usize) -> impl Iterator<Item = Rank> + Clone {
        (0..size as u32).map(Rank::new)
    }

    fn restarts(peers: &mut PeerTable) -> Vec<Rank> {
        core::iter::from_fn(|| peers.next_pending_restart())
            .map(|(source, _)| source)
            .collect()
    }

    /// 2.5 bytes per peer, in pages for more than one page of them, plus set words for more than 64 groups.
    #[cfg(not(feature = "micro"))]
    #[test]
    fn the_bytes_of_a_table_are_those_of_its_parts() {
        let page = PAGE_PEERS * 5 / 2;
        for (peers, start, most) in [
            (1, 8 + 2, 8 + 2),
            (PAGE_PEERS, page, page),
            (PAGE_PEERS + 1, 2 * 8 + 2 * page, 2 * 8 + 2 * page),
            (2_000, 8 * 8 + 8 * page + 80, 8 * 8 + 8 * page + 80),
            (
                65_536,
                256 * 8 + PREALLOCATED_PAGES * page + 64 * 40,
                256 * 8 + 256 * page + 64 * 40,
            ),
        ] {
            assert_eq!((PeerTable::bytes(peers), PeerTable::max_bytes(peers)), (start, most));
            assert_eq!(table(peers).bytes_now(), start, "{peers} peers");
        }
    }

    #[test]
    fn sources_that_wait_are_found_by_turns_wherever_they_are() {
        for size in [1, 2, 15, 16, 17, 31, 32, 33, 200, 300, 1_000] {
            let mut peers = table(size);
            let waiting: Vec<Rank> = ranks(size)
                .filter(|peer| {
                    let peer = peer.index();
                    peer % 7 == 3 || peer % 16 == 15 || peer == 0
                })
                .collect();
            for _ in 0..2 {
                waiting.iter().for_each(|&peer| peers.note_rejected(peer));
                // Sources are restarted one by one in order, and the restarts are sent in that order.
                for &source in &waiting {
                    peers.restart_next(1, AllRules);
                    assert_eq!(restarts(&mut peers), [source], "of {size}");
                }
                assert_eq!(peers.waiting_count(), 0);
            }
        }
    }

    #[test]
    fn each_source_that_is_asked_for_a_receive_from_any_is_a_step() {
        let steps = |waiting| {
            let mut peers = table(16);
            ranks(waiting).for_each(|peer| peers.note_rejected(peer));
            let before = peers.search_steps();
            peers.note_posted(None, AllRules);
            peers.search_steps() - before
        };
        assert!(steps(16) - steps(1) >= 15);
    }

    /// A source is found and restarted in a few steps, whether one or all of them wait.
    #[cfg(not(feature = "micro"))]
    #[test]
    fn a_search_takes_a_few_steps_however_many_wait() {
        const PEERS: usize = 65_536;
        for each in [1, 7, 300, PEERS] {
            let mut peers = table(PEERS);
            let waiting = ranks(PEERS).skip(each - 1).step_by(each);
            for source in waiting.clone() {
                peers.preallocate_pages();
                peers.note_rejected(source);
            }
            // The last source is requested explicitly, then all others in round robin.
            let last = waiting.clone().last().expect("some");
            assert!(peers.note_posted(Some(last), AllRules));
            assert_eq!(restarts(&mut peers), [last]);
            for source in waiting.take(PEERS / each - 1) {
                let before = peers.search_steps();
                peers.restart_next(1, AllRules);
                assert_eq!(restarts(&mut peers), [source], "each {each}");
                assert!(peers.search_steps() - before <= 16, "each {each}");
            }
        }
    }

    /// An unchanged peer uses no page; a changed one uses a preallocated page. Each received packet requires one.
    #[cfg(not(feature = "micro"))]
    #[test]
    fn pages_come_with_what_is_kept() {
        for size in [1, PAGE_PEERS] {
            let mut peers = table(size);
            assert_eq!(peers.bytes_now(), PeerTable::bytes(size));
            assert_eq!(PeerTable::bytes(size), PeerTable::max_bytes(size));
            let rank = Rank::new(size as u32 - 1);
            peers.note_rejected(rank);
            peers.ages_mut(rank).to = 3;
            assert_eq!(
                (peers.packets(), peers.bytes_now()),
                (usize::MAX, PeerTable::bytes(size))
            );
        }
        let size = 20 * PAGE_PEERS + 1;
        let mut peers = table(size);
        assert_eq!(peers.bytes_now(), PeerTable::bytes(size));
        let rank = |page: usize| Rank::new((page * PAGE_PEERS) as u32);
        for page in 0..=20 {
            // No change: an accepted message, a posted receive, an age that is already known.
            peers.note_accepted(rank(page), false, true);
            assert!(!peers.note_posted(Some(rank(page)), AllRules));
            peers.update_age(rank(page), 0);
            assert_eq!(peers.ages(rank(page)), PeerAges::default());
        }
        assert_eq!(
            (peers.packets(), peers.bytes_now()),
            (PREALLOCATED_PAGES, PeerTable::bytes(size))
        );
        for page in 0..=20 {
            let left = PREALLOCATED_PAGES - page % PREALLOCATED_PAGES;
            assert_eq!(peers.packets(), left.min(21 - page));
            match page % 3 {
                0 => peers.note_rejected(rank(page)),
                1 => peers.queue_done(rank(page)),
                _ => peers.update_age(rank(page), 7),
            }
            // Another peer of the page uses no further page.
            if page < 20 {
                peers.note_rejected(Rank::new(rank(page).index() + 9));
            }
            if (page + 1) % PREALLOCATED_PAGES == 0 {
                assert_eq!(peers.packets(), 0);
                peers.preallocate_pages();
            }
        }
        assert_eq!(
            (peers.packets(), peers.bytes_now()),
            (usize::MAX, PeerTable::max_bytes(size))
        );
        assert_eq!((peers.waiting_count(), peers.pending_count()), (7 + 20, 7));
        let done: Vec<_> = core::iter::from_fn(|| peers.next_pending_done()).collect();
        assert_eq!(done.len(), 7);
        peers.note_posted(None, AllRules);
        assert_eq!(peers.in_flight_count(), WILDCARD_RESTARTS);
        assert_eq!(peers.ages(rank(2)), PeerAges { to: 7, from: 0 });
    }

    #[test]
    fn a_done_is_owed_once_and_paid_once_whatever_else_is_known_of_the_peer() {
        for size in [1, 2, 16, 33] {
            let mut peers = table(size);
            let age = |peer: Rank| peer.index() as Age + 1;
            let owed: Vec<Rank> = ranks(size).filter(|peer| peer.index() % 3 == 0).collect();
            for peer in ranks(size) {
                if peer.index() % 2 == 0 {
                    peers.note_rejected(peer);
                }
                peers.update_age(peer, age(peer));
            }
            assert_eq!((peers.pending_count(), peers.next_pending_done()), (0, None));
            for _ in 0..2 {
                owed.iter().for_each(|&peer| peers.queue_done(peer));
                assert_eq!(peers.pending_count() as usize, owed.len());
            }
            let first = Rank::new(0);
            peers.queue_restart(first, AllRules);
            assert_eq!(peers.pending_count() as usize, owed.len() + 1, "a restarts, too");
            assert!(peers.has_pending_restarts());
            let paid: Vec<_> = core::iter::from_fn(|| peers.next_pending_done()).collect();
            let due: Vec<_> = owed.iter().map(|&peer| (peer, age(peer))).collect();
            assert_eq!(paid, due);
            assert_eq!(
                (peers.pending_count(), peers.next_pending_restart()),
                (1, Some((first, 1)))
            );
            assert_eq!(peers.pending_count(), 0);
            for peer in ranks(size).skip(1) {
                let expected = match peer.index() % 2 {
                    0 => SourceState::Rejected,
                    _ => SourceState::Clear,
                };
                assert_eq!(peers.source_state(peer), expected);
            }
        }
    }

    #[test]
    fn a_peer_that_is_owed_a_done_changes_its_standing_and_keeps_the_debt() {
        let mut peers = table(2);
        let [clear, owed] = [0, 1].map(Rank::new);
        peers.queue_done(owed);
        peers.note_rejected(owed);
        peers.queue_restart(owed, AllRules);
        assert_eq!(
            (peers.next_pending_restart(), peers.source_state(owed)),
            (Some((owed, 1)), SourceState::RestartSent)
        );
        assert_eq!(
            (peers.next_pending_done(), peers.next_pending_done()),
            (Some((owed, 0)), None)
        );
        assert_eq!(peers.source_state(owed), SourceState::RestartSent);
        assert_eq!(peers.source_state(clear), SourceState::Clear);
    }

    /// After any sequence of operations, the counts match the states, and a search finds the first member of its set.
    #[test]
    fn peers_are_counted_and_found_by_standing() {
        let mut random = oorandom::Rand32::new(5);
        for size in [1, 7, 40, 600] {
            let mut peers = table(size);
            for _ in 0..5_000 {
                peers.preallocate_pages();
                let peer = Rank::new(random.rand_range(0..size as u32));
                let flag = random.rand_range(0..2) == 0;
                match random.rand_range(0..9) {
                    0 => peers.note_rejected(peer),
                    1 => peers.queue_restart(peer, AllRules),
                    2 => peers.note_accepted(peer, flag, !flag),
                    3 => {
                        let was = peers.source_state(peer);
                        let is_named = peers.note_posted(Some(peer), AllRules);
                        assert_eq!(is_named, was != SourceState::Clear);
                    }
                    4 => {
                        let was_calm = peers.has_no_rejected();
                        assert_eq!(peers.note_posted(None, AllRules), !was_calm);
                        assert!(peers.queued_wildcards() == 0 || peers.in_flight_count() >= WILDCARD_RESTARTS);
                    }
                    5 => peers.restart_next(random.rand_range(0..4), AllRules),
                    6 => {
                        let was_owed = peers.has_pending_restarts();
                        assert_eq!(peers.next_pending_restart().is_some(), was_owed);
                    }
                    7 => peers.queue_done(peer),
                    _ => peers.note_accepted(peer, false, flag),
                }
                let count = |is: fn(SourceState) -> bool| {
                    ranks(size).filter(|&peer| is(peers.source_state(peer))).count() as u32
                };
                use SourceState::*;
                assert_eq!(peers.has_no_rejected(), count(|s| s == Clear) as usize == size);
                assert_eq!(peers.queued_wildcards(), count(|s| s == WildcardQueued));
                assert_eq!(peers.waiting_count(), count(SourceState::awaits_restart));
                assert_eq!(peers.has_pending_restarts(), count(|s| s == RestartQueued) > 0);
                let under_way = count(|s| matches!(s, RestartQueued | RestartSent | RestartSentStale));
                assert_eq!(peers.in_flight_count(), under_way);
                let done = ranks(size).filter(|&peer| peers.nibble(peer) & DONE != 0);
                let done = done.count() as u32;
                assert_eq!(peers.has_pending_done(), done > 0);
                assert_eq!(peers.pending_count(), count(|s| s == RestartQueued) + done);
                let from = random.rand_range(0..size as u32);
                for set in PeerSet::ALL {
                    let is = |peer: &Rank| match set {
                        PeerSet::DonePending => peers.nibble(*peer) & DONE != 0,
                        _ => members(set).contains(&peers.source_state(*peer)),
                    };
                    let from_there = ranks(size).skip(from as usize).chain(ranks(size));
                    let expected = from_there.into_iter().find(is);
                    assert_eq!(peers.find(set, from), expected, "{set:?} from {from}");
                }
            }
        }
    }

    #[test]
    fn what_is_accepted_says_how_its_source_stands() {
        for (before, more, follows, after) in [
            (SourceState::Clear, true, true, SourceState::Offering),
            (SourceState::Clear, true, false, SourceState::RejectedEarlier),
            (SourceState::Clear, false, true, SourceState::Clear),
            (SourceState::RestartSent, false, false, SourceState::Clear),
            (SourceState::Rejected, false, false, SourceState::Rejected),
            (SourceState::WildcardQueued, true, true, SourceState::WildcardQueued),
        ] {
            let mut peers = table(3);
            let [other, source] = [0, 1].map(Rank::new);
            peers.set_state(source, before);
            peers.note_accepted(source, more, follows);
            assert_eq!(peers.source_state(source), after, "{before:?} {more} {follows}");
            assert_eq!(peers.source_state(other), SourceState::Clear);
        }
    }
}
