//! What is kept of peers: two ages and four bits each, 2.5 bytes.
//!
//! # Pages
//! Sixteen peers are a *group*, whose bits are a word. A machine of at most [`PAGE_PEERS`] has what it needs from the
//! start, in one piece, to which the way is short. In a greater one the table is in pages of so many peers, and a
//! page comes when something is to be kept of one of its peers: of all others is known what is known of a peer that has
//! never been heard of, and reading it takes no page. A node that talks to everybody has all pages in the end, as many
//! bytes as one table would take, beside the list of pages.
//!
//! Which groups have peers that wait for something is kept beside them (`peer_sets.rs`), so that the next
//! one is found in a few steps, however many there are and however far away it is.
//!
//! What is first kept of a peer is that a message of its was refused, or the age that its restart brings: it comes with a
//! packet, and packets come at any time, when nothing may be allocated. So a number of pages is in *stock*,
//! [`STOCK_PAGES`] at most. They are taken from the program's heap at the start, and within calls of the program as they
//! are used up. A packet takes one page at most, that of its source. As long as there are peers without a page, a step of
//! progress takes no more packets than there are pages in stock: the others stay in the network, which holds up their
//! senders, until a call of the program has filled the stock up. A program that makes no calls for long may so hold up
//! others, as it may by not receiving; and one whose heap has no room for a page, before pages for all have come, no longer
//! receives before it frees some.
//!
//! A build with the feature `micro`, for machines of few nodes, has all tables in one piece, and looks for who waits
//! at one group after the other.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::hash::{Hash, Hasher};

use crate::boxed::boxed;
use crate::envelope::Rank;
#[cfg(feature = "micro")]
use crate::no_peer_pages::Pages;
pub use crate::peer_group::{Ages, PAGE_PEERS, STOCK_PAGES, Standing};
use crate::peer_group::{Bits, DONE, GROUP_PEERS, SETS_OF};
#[cfg(not(feature = "micro"))]
use crate::peer_pages::Pages;
use crate::peer_sets::{GroupSets, Set};
use crate::protocol::{Age, Rules};

/// Restarts that may be on their way at once for receives from any source: each such receive takes only one
/// message, so not everybody is asked at the same time.
pub const WILDCARD_RESTARTS: u32 = 8;

/// The peer table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peers {
    /// In a machine of one page: the bits of its groups and the ages of its peers. Empty in a greater one.
    bits: Box<[Bits]>,
    ages: Box<[Ages]>,
    /// The pages of a greater machine.
    pages: Pages,
    peers: u32,
    /// Which groups have members of which sets.
    #[cfg(not(feature = "micro"))]
    sets: GroupSets,
    /// Peers by standing.
    count: [u32; Standing::ALL.len()],
    done: u32,
    /// Where the search for the next source to serve goes on, so that sources take turns.
    turn: u32,
    /// Where the search for the next restart to send goes on.
    due_turn: u32,
    steps: u64,
}

/// Without the measure; sets and counts say no more than the bits.
impl Hash for Peers {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Peers {
            bits, ages, pages, ..
        } = self;
        (bits, ages, pages, self.turn, self.due_turn).hash(state);
    }
}

impl Peers {
    /// The table of so many peers, at least 1, of whom nothing is known; `None`: the heap has no room.
    pub fn allocate(peers: usize) -> Option<Self> {
        let (near, pages) = Pages::parts(peers);
        let mut table = Peers {
            bits: boxed(Bits::default(), near.div_ceil(GROUP_PEERS))?,
            ages: boxed(Ages::default(), near)?,
            pages: Pages::allocate(pages)?,
            peers: peers as u32,
            #[cfg(not(feature = "micro"))]
            sets: GroupSets::allocate(peers.div_ceil(GROUP_PEERS))?,
            count: [0; Standing::ALL.len()],
            done: 0,
            turn: 0,
            due_turn: 0,
            steps: 0,
        };
        table.count[Standing::Clear as usize] = table.peers;
        Some(table)
    }

    /// Bytes of the table of `peers` peers beside its pages.
    const fn near_bytes(peers: usize) -> usize {
        let (near, _) = Pages::parts(peers);
        let sets = if cfg!(not(feature = "micro")) {
            GroupSets::bytes(peers.div_ceil(GROUP_PEERS))
        } else {
            0
        };
        near.div_ceil(GROUP_PEERS) * size_of::<Bits>() + near * size_of::<Ages>() + sets
    }

    /// Bytes that [`Peers::allocate`] takes for `peers` peers.
    pub const fn bytes(peers: usize) -> usize {
        Self::near_bytes(peers) + Pages::bytes(Pages::parts(peers).1)
    }

    /// Bytes of the table of `peers` peers once there is something to keep of all of them.
    pub const fn most_bytes(peers: usize) -> usize {
        Self::near_bytes(peers) + Pages::most_bytes(Pages::parts(peers).1)
    }

    /// Bytes of the table now, those in stock included.
    pub fn bytes_now(&self) -> usize {
        Self::near_bytes(self.size()) + self.pages.bytes_now()
    }

    /// Number of peers.
    pub fn size(&self) -> usize {
        self.peers as usize
    }

    /// Packets that can be taken before [`Peers::fill_stock`], whomever they come from.
    #[inline]
    pub fn packets(&self) -> usize {
        self.pages.packets()
    }

    /// Within a call of the program: takes pages from its heap, as many as there is room for and packets may need.
    #[inline]
    pub fn fill_stock(&mut self) {
        self.pages.fill_stock();
    }

    /// The group of `peer`, and the place in it.
    #[inline]
    fn place(peer: Rank) -> (usize, usize) {
        let peer = peer.index() as usize;
        (peer / GROUP_PEERS, peer % GROUP_PEERS)
    }

    /// The bits of a group, those of which nothing is kept too.
    #[inline]
    fn bits(&self, group: usize) -> Bits {
        match self.bits.get(group) {
            Some(bits) => *bits,
            None => self.pages.bits(group).unwrap_or_default(),
        }
    }

    fn bits_mut(&mut self, group: usize) -> &mut Bits {
        match self.bits.get_mut(group) {
            Some(bits) => bits,
            None => self.pages.bits_mut(group),
        }
    }

    fn nibble(&self, peer: Rank) -> u8 {
        let (group, at) = Self::place(peer);
        self.bits(group).nibble(at)
    }

    /// How `source` stands.
    pub fn standing(&self, source: Rank) -> Standing {
        Standing::of(self.nibble(source))
    }

    /// The one place where a source's standing changes.
    fn set(&mut self, source: Rank, standing: Standing) {
        let before = self.standing(source);
        if before == standing {
            return;
        }
        self.count[before as usize] -= 1;
        self.count[standing as usize] += 1;
        self.set_nibble(source, self.nibble(source) & DONE | standing as u8);
    }

    fn set_nibble(&mut self, peer: Rank, nibble: u8) {
        let (group, at) = Self::place(peer);
        let bits = self.bits_mut(group);
        let before = SETS_OF[bits.nibble(at) as usize];
        bits.set_nibble(at, nibble);
        let (bits, now) = (*bits, SETS_OF[nibble as usize]);
        if before != now {
            self.note_sets(group, bits, before, now);
        }
    }

    /// A peer of the group, whose bits are these now, is in other sets than before: a group is in a set from its first
    /// member to its last.
    #[cfg(not(feature = "micro"))]
    fn note_sets(&mut self, group: usize, bits: Bits, before: u8, now: u8) {
        for set in Set::ALL {
            let bit = 1 << set as u8;
            if (before ^ now) & bit != 0 {
                let has_member = now & bit != 0 || bits.marks(set) != 0;
                self.sets.set(set, group, has_member);
            }
        }
    }

    #[cfg(feature = "micro")]
    fn note_sets(&mut self, _: usize, _: Bits, _: u8, _: u8) {}

    /// The first group from `from` on with a member of `set`.
    #[cfg(not(feature = "micro"))]
    fn next_group(&mut self, set: Set, from: usize) -> Option<usize> {
        self.sets.next(set, from, &mut self.steps)
    }

    #[cfg(feature = "micro")]
    fn next_group(&mut self, set: Set, from: usize) -> Option<usize> {
        self.steps += 1;
        let mut groups = self.bits.iter().skip(from);
        let at = groups.position(|bits| bits.marks(set) != 0)?;
        Some(from + at)
    }

    /// The ages of `peer`.
    #[inline]
    pub fn ages(&self, peer: Rank) -> Ages {
        match self.ages.get(peer.index() as usize) {
            Some(ages) => *ages,
            None => self.pages.ages(peer.index() as usize),
        }
    }

    /// The ages of `peer`, to change them.
    pub fn ages_mut(&mut self, peer: Rank) -> &mut Ages {
        let peer = peer.index() as usize;
        match self.ages.get_mut(peer) {
            Some(ages) => ages,
            None => self.pages.ages_mut(peer),
        }
    }

    /// Takes the age that `peer`'s restart brings.
    pub fn take_age(&mut self, peer: Rank, age: Age) {
        if self.ages(peer).to != age {
            self.ages_mut(peer).to = age;
        }
    }

    /// Nothing stands refused here, as far as we know.
    #[inline]
    pub fn are_all_clear(&self) -> bool {
        self.count[Standing::Clear as usize] == self.peers
    }

    fn counts<const N: usize>(&self, standings: [Standing; N]) -> u32 {
        let counts = standings.map(|standing| self.count[standing as usize]);
        counts.into_iter().sum()
    }

    /// Restarts are still to be sent.
    #[inline]
    pub fn owes_restarts(&self) -> bool {
        self.count[Standing::RestartQueued as usize] > 0
    }

    /// DONEs are still to be sent.
    #[inline]
    pub fn owes_done(&self) -> bool {
        self.done > 0
    }

    /// Restarts and DONEs still to be sent.
    pub fn owed(&self) -> u32 {
        self.counts([Standing::RestartQueued]) + self.done
    }

    /// Sources whose messages stand refused and to which no restart is on its way.
    pub fn waiting(&self) -> u32 {
        use Standing::*;
        self.counts([RefusedEarlier, Refused, WildcardQueued])
    }

    /// Sources that have been restarted and have not answered yet.
    pub fn under_way(&self) -> u32 {
        use Standing::*;
        self.counts([RestartQueued, RestartSent, RestartSentStale])
    }

    /// The first source from `from` on that has been restarted and has not answered yet. Looks at the groups one after
    /// the other.
    pub fn next_under_way(&self, from: u32) -> Option<Rank> {
        let (first, at) = Self::place(Rank::new(from));
        (first..self.size().div_ceil(GROUP_PEERS)).find_map(|group| {
            let bits = self.bits(group);
            let begin = if group == first { at } else { 0 };
            let at = (begin..GROUP_PEERS)
                .filter(|_| bits != Bits::default())
                .find(|&at| Standing::of(bits.nibble(at)).is_under_way())?;
            Some(Rank::new((group * GROUP_PEERS + at) as u32))
        })
    }

    /// Sources that have still to be asked for messages for receives from any source.
    pub fn wildcards_queued(&self) -> u32 {
        self.counts([Standing::WildcardQueued])
    }

    /// The first member of `set` from `from` on, once around.
    fn find(&mut self, set: Set, from: u32) -> Option<Rank> {
        let from = from as usize;
        self.find_from(set, from / GROUP_PEERS, from % GROUP_PEERS)
            .or_else(|| self.find_from(set, 0, 0))
    }

    /// The first member of `set` from place `at` of a group on.
    fn find_from(&mut self, set: Set, group: usize, at: usize) -> Option<Rank> {
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

    /// Groups of peers, and words of which groups have some, looked at by all searches.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn after(&self, peer: Rank) -> u32 {
        (peer.index() + 1) % self.peers
    }

    /// Gives `source` a new age and owes it the restart.
    pub fn restart(&mut self, source: Rank, rules: impl Rules) {
        let from = &mut self.ages_mut(source).from;
        *from = rules.next_age(*from);
        self.set(source, Standing::RestartQueued);
    }

    /// Restarts up to `count` sources that wait, by turns.
    #[inline]
    pub fn restart_next(&mut self, count: u32, rules: impl Rules) {
        if self.waiting() > 0 {
            self.restart_some(count, rules);
        }
    }

    fn restart_some(&mut self, count: u32, rules: impl Rules) {
        for _ in 0..count.min(self.waiting()) {
            self.restart_one(Set::Waiting, rules);
        }
    }

    /// Restarts sources that have still to be asked, by turns, as many as may be asked at once.
    pub fn restart_wildcards(&mut self, rules: impl Rules) {
        let under_way = self.under_way();
        for _ in under_way..WILDCARD_RESTARTS.min(under_way + self.wildcards_queued()) {
            self.restart_one(Set::WildcardQueued, rules);
        }
    }

    // Rare, and asked for in several places: once in the image.
    #[inline(never)]
    fn restart_one(&mut self, set: Set, rules: impl Rules) {
        if let Some(source) = self.find(set, self.turn) {
            self.turn = self.after(source);
            self.restart(source, rules);
        }
    }

    /// A receive has been posted that `source` (any source when `None`) could match: restarts who waits, if
    /// that may be any source by turns. True when a restart must name the receive.
    pub fn posted(&mut self, source: Option<Rank>, rules: impl Rules) -> bool {
        if self.are_all_clear() {
            return false;
        }
        match source {
            Some(source) => self.posted_for(source, rules),
            None => {
                self.posted_for_any(rules);
                true
            }
        }
    }

    fn posted_for(&mut self, source: Rank, rules: impl Rules) -> bool {
        use Standing::*;
        match self.standing(source) {
            Clear => return false,
            RefusedEarlier | Refused | Offering | WildcardQueued => self.restart(source, rules),
            RestartSent => self.set(source, RestartSentStale),
            RestartQueued | RestartSentStale => {}
        }
        true
    }

    fn posted_for_any(&mut self, rules: impl Rules) {
        let set = Set::AskedByWildcards;
        let mut from = 0;
        while let Some(number) = self.next_group(set, from) {
            while let Some(at) = self.bits(number).first(set, 0) {
                self.steps += 1;
                let source = Rank::new((number * GROUP_PEERS + at) as u32);
                self.set(
                    source,
                    match self.standing(source) {
                        Standing::RestartSent => Standing::RestartSentStale,
                        _ => Standing::WildcardQueued,
                    },
                );
            }
            from = number + 1;
        }
        self.restart_wildcards(rules);
    }

    /// A message of `source` has been refused under the current age.
    pub fn refused(&mut self, source: Rank) {
        if self.standing(source) != Standing::WildcardQueued {
            self.set(source, Standing::Refused);
        }
    }

    /// A message of `source` has been accepted under the current age, or DONE has come; `more` of its
    /// messages stand refused, and another offer `follows`.
    pub fn accepted(&mut self, source: Rank, more: bool, follows: bool) {
        if !more && self.are_all_clear() {
            return;
        }
        // One that failed still waits, whatever else of it is accepted.
        if !matches!(
            self.standing(source),
            Standing::Refused | Standing::WildcardQueued
        ) {
            let standing = match (more, follows) {
                (false, _) => Standing::Clear,
                (true, true) => Standing::Offering,
                (true, false) => Standing::RefusedEarlier,
            };
            self.set(source, standing);
        }
    }

    /// A source that is owed a restart, and the age to send; the debt is paid with this call.
    pub fn take_due_restart(&mut self) -> Option<(Rank, Age)> {
        if self.counts([Standing::RestartQueued]) == 0 {
            return None;
        }
        let source = self.find(Set::RestartDue, self.due_turn)?;
        self.due_turn = self.after(source);
        self.set(source, Standing::RestartSent);
        Some((source, self.ages(source).from))
    }

    /// Owes `peer` a DONE.
    pub fn queue_done(&mut self, peer: Rank) {
        if self.nibble(peer) & DONE == 0 {
            self.set_nibble(peer, self.nibble(peer) | DONE);
            self.done += 1;
        }
    }

    /// A peer that is owed a DONE, and the age to send; the debt is paid with this call.
    #[inline]
    pub fn take_due_done(&mut self) -> Option<(Rank, Age)> {
        match self.done {
            0 => None,
            _ => self.take_first_due_done(),
        }
    }

    fn take_first_due_done(&mut self) -> Option<(Rank, Age)> {
        let peer = self.find(Set::DoneDue, self.due_turn)?;
        self.set_nibble(peer, self.nibble(peer) & !DONE);
        self.done -= 1;
        Some((peer, self.ages(peer).to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer_group::members;
    use crate::protocol::Sound;

    fn table(peers: usize) -> Peers {
        Peers::allocate(peers).expect("room")
    }

    fn ranks(size: usize) -> impl Iterator<Item = Rank> + Clone {
        (0..size as u32).map(Rank::new)
    }

    fn restarts(peers: &mut Peers) -> Vec<Rank> {
        core::iter::from_fn(|| peers.take_due_restart())
            .map(|(source, _)| source)
            .collect()
    }

    /// 2.5 bytes a peer; in pages where there are more than one page of them, with words to find those that wait where
    /// there are more than 64 groups.
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
                256 * 8 + STOCK_PAGES * page + 64 * 40,
                256 * 8 + 256 * page + 64 * 40,
            ),
        ] {
            assert_eq!(
                (Peers::bytes(peers), Peers::most_bytes(peers)),
                (start, most)
            );
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
                waiting.iter().for_each(|&peer| peers.refused(peer));
                // One by one they are restarted in order, and told in order.
                for &source in &waiting {
                    peers.restart_next(1, Sound);
                    assert_eq!(restarts(&mut peers), [source], "of {size}");
                }
                assert_eq!(peers.waiting(), 0);
            }
        }
    }

    #[test]
    fn each_source_that_is_asked_for_a_receive_from_any_is_a_step() {
        let steps = |waiting| {
            let mut peers = table(16);
            ranks(waiting).for_each(|peer| peers.refused(peer));
            let before = peers.steps();
            peers.posted(None, Sound);
            peers.steps() - before
        };
        assert!(steps(16) - steps(1) >= 15);
    }

    /// Whether one source waits or all of them do: each is found, restarted and told in a few steps.
    #[cfg(not(feature = "micro"))]
    #[test]
    fn a_search_takes_a_few_steps_however_many_wait() {
        const PEERS: usize = 65_536;
        for each in [1, 7, 300, PEERS] {
            let mut peers = table(PEERS);
            let waiting = ranks(PEERS).skip(each - 1).step_by(each);
            for source in waiting.clone() {
                peers.fill_stock();
                peers.refused(source);
            }
            // The last is asked for by name, then all others are by turns.
            let last = waiting.clone().last().expect("some");
            assert!(peers.posted(Some(last), Sound));
            assert_eq!(restarts(&mut peers), [last]);
            for source in waiting.take(PEERS / each - 1) {
                let before = peers.steps();
                peers.restart_next(1, Sound);
                assert_eq!(restarts(&mut peers), [source], "each {each}");
                assert!(peers.steps() - before <= 16, "each {each}");
            }
        }
    }

    /// What is never changed takes no page; what is takes one out of the stock, and packets are taken as long as there
    /// is one for each.
    #[cfg(not(feature = "micro"))]
    #[test]
    fn pages_come_with_what_is_kept() {
        for size in [1, PAGE_PEERS] {
            let mut peers = table(size);
            assert_eq!(peers.bytes_now(), Peers::bytes(size));
            assert_eq!(Peers::bytes(size), Peers::most_bytes(size));
            let rank = Rank::new(size as u32 - 1);
            peers.refused(rank);
            peers.ages_mut(rank).to = 3;
            assert_eq!(
                (peers.packets(), peers.bytes_now()),
                (usize::MAX, Peers::bytes(size))
            );
        }
        let size = 20 * PAGE_PEERS + 1;
        let mut peers = table(size);
        assert_eq!(peers.bytes_now(), Peers::bytes(size));
        let rank = |page: usize| Rank::new((page * PAGE_PEERS) as u32);
        for page in 0..=20 {
            // What changes nothing: a message is accepted, a receive posted, an age told that it has already.
            peers.accepted(rank(page), false, true);
            assert!(!peers.posted(Some(rank(page)), Sound));
            peers.take_age(rank(page), 0);
            assert_eq!(peers.ages(rank(page)), Ages::default());
        }
        assert_eq!(
            (peers.packets(), peers.bytes_now()),
            (STOCK_PAGES, Peers::bytes(size))
        );
        for page in 0..=20 {
            let left = STOCK_PAGES - page % STOCK_PAGES;
            assert_eq!(peers.packets(), left.min(21 - page));
            match page % 3 {
                0 => peers.refused(rank(page)),
                1 => peers.queue_done(rank(page)),
                _ => peers.take_age(rank(page), 7),
            }
            // Another peer of the page takes none.
            if page < 20 {
                peers.refused(Rank::new(rank(page).index() + 9));
            }
            if (page + 1) % STOCK_PAGES == 0 {
                assert_eq!(peers.packets(), 0);
                peers.fill_stock();
            }
        }
        assert_eq!(
            (peers.packets(), peers.bytes_now()),
            (usize::MAX, Peers::most_bytes(size))
        );
        assert_eq!((peers.waiting(), peers.owed()), (7 + 20, 7));
        let done: Vec<_> = core::iter::from_fn(|| peers.take_due_done()).collect();
        assert_eq!(done.len(), 7);
        peers.posted(None, Sound);
        assert_eq!(peers.under_way(), WILDCARD_RESTARTS);
        assert_eq!(peers.ages(rank(2)), Ages { to: 7, from: 0 });
    }

    #[test]
    fn a_done_is_owed_once_and_paid_once_whatever_else_is_known_of_the_peer() {
        for size in [1, 2, 16, 33] {
            let mut peers = table(size);
            let age = |peer: Rank| peer.index() as Age + 1;
            let owed: Vec<Rank> = ranks(size).filter(|peer| peer.index() % 3 == 0).collect();
            for peer in ranks(size) {
                if peer.index() % 2 == 0 {
                    peers.refused(peer);
                }
                peers.take_age(peer, age(peer));
            }
            assert_eq!((peers.owed(), peers.take_due_done()), (0, None));
            for _ in 0..2 {
                owed.iter().for_each(|&peer| peers.queue_done(peer));
                assert_eq!(peers.owed() as usize, owed.len());
            }
            let first = Rank::new(0);
            peers.restart(first, Sound);
            assert_eq!(peers.owed() as usize, owed.len() + 1, "a restarts, too");
            assert!(peers.owes_restarts());
            let paid: Vec<_> = core::iter::from_fn(|| peers.take_due_done()).collect();
            let due: Vec<_> = owed.iter().map(|&peer| (peer, age(peer))).collect();
            assert_eq!(paid, due);
            assert_eq!(
                (peers.owed(), peers.take_due_restart()),
                (1, Some((first, 1)))
            );
            assert_eq!(peers.owed(), 0);
            for peer in ranks(size).skip(1) {
                let expected = match peer.index() % 2 {
                    0 => Standing::Refused,
                    _ => Standing::Clear,
                };
                assert_eq!(peers.standing(peer), expected);
            }
        }
    }

    #[test]
    fn a_peer_that_is_owed_a_done_changes_its_standing_and_keeps_the_debt() {
        let mut peers = table(2);
        let [clear, owed] = [0, 1].map(Rank::new);
        peers.queue_done(owed);
        peers.refused(owed);
        peers.restart(owed, Sound);
        assert_eq!(
            (peers.take_due_restart(), peers.standing(owed)),
            (Some((owed, 1)), Standing::RestartSent)
        );
        assert_eq!(
            (peers.take_due_done(), peers.take_due_done()),
            (Some((owed, 0)), None)
        );
        assert_eq!(peers.standing(owed), Standing::RestartSent);
        assert_eq!(peers.standing(clear), Standing::Clear);
    }

    /// Whatever happens, the counts are those of the standings, and a search finds the first peer that it is for.
    #[test]
    fn peers_are_counted_and_found_by_standing() {
        let mut random = oorandom::Rand32::new(5);
        for size in [1, 7, 40, 600] {
            let mut peers = table(size);
            for _ in 0..5_000 {
                peers.fill_stock();
                let peer = Rank::new(random.rand_range(0..size as u32));
                let flag = random.rand_range(0..2) == 0;
                match random.rand_range(0..9) {
                    0 => peers.refused(peer),
                    1 => peers.restart(peer, Sound),
                    2 => peers.accepted(peer, flag, !flag),
                    3 => {
                        let was = peers.standing(peer);
                        let is_named = peers.posted(Some(peer), Sound);
                        assert_eq!(is_named, was != Standing::Clear);
                    }
                    4 => {
                        let was_calm = peers.are_all_clear();
                        assert_eq!(peers.posted(None, Sound), !was_calm);
                        assert!(
                            peers.wildcards_queued() == 0 || peers.under_way() >= WILDCARD_RESTARTS
                        );
                    }
                    5 => peers.restart_next(random.rand_range(0..4), Sound),
                    6 => {
                        let was_owed = peers.owes_restarts();
                        assert_eq!(peers.take_due_restart().is_some(), was_owed);
                    }
                    7 => peers.queue_done(peer),
                    _ => peers.accepted(peer, false, flag),
                }
                let count = |is: fn(Standing) -> bool| {
                    ranks(size).filter(|&peer| is(peers.standing(peer))).count() as u32
                };
                use Standing::*;
                assert_eq!(
                    peers.are_all_clear(),
                    count(|s| s == Clear) as usize == size
                );
                assert_eq!(peers.wildcards_queued(), count(|s| s == WildcardQueued));
                assert_eq!(peers.waiting(), count(Standing::awaits_restart));
                assert_eq!(peers.owes_restarts(), count(|s| s == RestartQueued) > 0);
                let under_way =
                    count(|s| matches!(s, RestartQueued | RestartSent | RestartSentStale));
                assert_eq!(peers.under_way(), under_way);
                let done = ranks(size).filter(|&peer| peers.nibble(peer) & DONE != 0);
                let done = done.count() as u32;
                assert_eq!(peers.owes_done(), done > 0);
                assert_eq!(peers.owed(), count(|s| s == RestartQueued) + done);
                let from = random.rand_range(0..size as u32);
                for set in Set::ALL {
                    let is = |peer: &Rank| match set {
                        Set::DoneDue => peers.nibble(*peer) & DONE != 0,
                        _ => members(set).contains(&peers.standing(*peer)),
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
            (Standing::Clear, true, true, Standing::Offering),
            (Standing::Clear, true, false, Standing::RefusedEarlier),
            (Standing::Clear, false, true, Standing::Clear),
            (Standing::RestartSent, false, false, Standing::Clear),
            (Standing::Refused, false, false, Standing::Refused),
            (
                Standing::WildcardQueued,
                true,
                true,
                Standing::WildcardQueued,
            ),
        ] {
            let mut peers = table(3);
            let [other, source] = [0, 1].map(Rank::new);
            peers.set(source, before);
            peers.accepted(source, more, follows);
            assert_eq!(peers.standing(source), after, "{before:?} {more} {follows}");
            assert_eq!(peers.standing(other), Standing::Clear);
        }
    }
}
