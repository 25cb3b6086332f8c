//! Posted receive queue: receives that a search has passed, and those older than the youngest [`FAR`], are in the
//! pool's hash table; the others are in a list.
#![forbid(unsafe_code)]

use super::limits::{FAR, NEAR};
use super::sorted_run::SortedRun;
use crate::envelope::Envelope;
use crate::ids::{SequenceNumber, Slot};
use crate::list::{LinkStorage, ListEnds};
use crate::request::{FoundReceive, KINDS, RequestPool, kind, pattern_of};

/// Posted receive queue.
#[derive(Clone, Debug)]
pub(super) struct PostedQueue {
    /// Receives that are not in the table, in the order of posting. All are younger than those in the table.
    list: ListEnds<Slot>,
    /// The predecessor of the last receive removed from the list; `None` means the youngest. With ascending keys, only
    /// one receive matches, and this one is checked before others are passed.
    beside: Option<Slot>,
    rise: SortedRun,
    /// Receives in the table, per kind of pattern.
    indexed: [u32; KINDS],
    /// Receives in the table, of all kinds.
    all_indexed: u32,
    /// Maximum serial ever in the table, plus one.
    indexed_to: SequenceNumber,
    /// Result of the last table search, likely to be removed next.
    found: Option<FoundReceive>,
}

impl PostedQueue {
    pub(super) fn new() -> PostedQueue {
        PostedQueue {
            list: ListEnds::default(),
            beside: None,
            rise: SortedRun::NEW,
            indexed: [0; KINDS],
            all_indexed: 0,
            indexed_to: 0,
            found: None,
        }
    }

    /// Posts a receive behind `posted` others.
    #[inline]
    pub(super) fn post(&mut self, requests: &mut RequestPool, slot: Slot, posted: u32) {
        let pattern = requests.link_posted(slot, self.list.tail());
        self.list.pushed(slot);
        match posted {
            0 => self.rise = SortedRun::from_pattern(&pattern),
            _ => {
                self.rise.add(&pattern);
                if posted - self.all_indexed >= FAR {
                    self.index_oldest(requests);
                }
            }
        }
    }

    /// Moves the oldest receive of the list to the table.
    #[inline(never)]
    fn index_oldest(&mut self, requests: &mut RequestPool) {
        let Some(slot) = self.list.head() else {
            return;
        };
        let next = self.index(requests, slot);
        self.list.cut(requests, next);
        if self.beside == Some(slot) {
            self.beside = None;
        }
    }

    /// Inserts a receive of the list into the table and returns its successor. All receives before it have been
    /// removed.
    fn index(&mut self, requests: &mut RequestPool, slot: Slot) -> Option<Slot> {
        let next = requests.next(slot);
        let (kind, serial) = requests.insert_posted(slot);
        self.indexed[kind] += 1;
        self.indexed_to = serial + 1;
        self.all_indexed += 1;
        next
    }

    #[inline]
    pub(super) fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        if self.list.head() == Some(slot) {
            let next = requests.next(slot);
            return self.take_first(requests, next);
        }
        if self.all_indexed > 0 && requests.posted(slot).serial < self.indexed_to {
            return self.unpost_indexed(requests, slot);
        }
        self.beside = self.list.unlink(requests, slot);
    }

    /// Returns the first receive of the list if the table is empty.
    #[inline]
    pub(super) fn first(&self) -> Option<Slot> {
        match self.all_indexed {
            0 => self.list.head(),
            _ => None,
        }
    }

    /// Removes [that receive](PostedQueue::first), which is followed by `next`.
    #[inline]
    pub(super) fn take_first(&mut self, requests: &mut RequestPool, next: Option<Slot>) {
        self.beside = None;
        self.list.cut(requests, next);
    }

    fn unpost_indexed(&mut self, requests: &mut RequestPool, slot: Slot) {
        let pattern = requests.posted_pattern(slot);
        self.indexed[kind(&pattern)] -= 1;
        self.all_indexed -= 1;
        if let Some(found) = self.found.take().filter(|found| found.slot == slot)
            && requests.remove_found(found)
        {
            return;
        }
        requests.remove_entry(slot, requests.hash_of(&pattern));
    }

    /// Returns the first posted receive that matches `envelope`, and the hops.
    #[inline]
    pub(super) fn find(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> (Option<Slot>, u32) {
        let mut hops = 0;
        if self.all_indexed > 0 {
            self.found = self.find_indexed(requests, envelope, &mut hops);
            if let Some(found) = self.found {
                return (Some(found.slot), hops);
            }
        }
        let Some(head) = self.list.head() else {
            return (None, hops);
        };
        let (pattern, second) = requests.posted_and_next(head);
        if pattern.matches(envelope) {
            return (Some(head), hops + 1);
        }
        hops += 1;
        if second.is_none() {
            return (None, hops);
        }
        if self.rise.is_sorted()
            && let Some(beside) = self.beside.or(self.list.tail())
        {
            hops += 1;
            if requests.posted_matches(beside, envelope) {
                return (Some(beside), hops);
            }
        }
        self.find_near(requests, envelope, second, hops)
    }

    /// Searches the list from its second receive on. `hops` is the count so far.
    #[inline(never)]
    fn find_near(
        &mut self,
        requests: &mut RequestPool,
        envelope: &Envelope,
        second: Option<Slot>,
        hops: u32,
    ) -> (Option<Slot>, u32) {
        let mut next = second;
        for hop in 1..NEAR {
            let Some(slot) = next else {
                return (None, hops + hop - 1);
            };
            let (pattern, after) = requests.posted_and_next(slot);
            if pattern.matches(envelope) {
                return (next, hops + hop);
            }
            next = after;
        }
        let (found, passed) = self.pass(requests, envelope);
        (found, hops + NEAR - 1 + passed)
    }

    /// Returns the first receive that matches `envelope`, and the further hops. The first [`NEAR`] receives of the list
    /// do not match. Moves those to the table, and the same number again if that includes all passed receives.
    fn pass(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> (Option<Slot>, u32) {
        let mut rest = self.list.head();
        for _ in 0..NEAR {
            rest = rest.and_then(|slot| self.index(requests, slot));
        }
        let (mut next, mut passed) = (rest, 0);
        while let Some(slot) = next {
            let (pattern, after) = requests.posted_and_next(slot);
            if pattern.matches(envelope) {
                break;
            }
            passed += 1;
            next = after;
        }
        if passed <= NEAR {
            while let Some(slot) = rest.filter(|_| rest != next) {
                rest = self.index(requests, slot);
            }
        }
        self.list.cut(requests, rest);
        self.beside = None;
        (next, passed + u32::from(next.is_some()))
    }

    /// Returns the first receive in the table that matches `envelope`.
    // Outlined from the list search, the more common case.
    #[inline(never)]
    fn find_indexed(&self, requests: &RequestPool, envelope: &Envelope, hops: &mut u32) -> Option<FoundReceive> {
        if self.indexed[0] == self.all_indexed {
            return requests.find_posted(&envelope.pattern(), hops);
        }
        let kinds = (0..KINDS).filter(|&kind| self.indexed[kind] > 0);
        kinds
            .filter_map(|kind| requests.find_posted(&pattern_of(envelope, kind), hops))
            .min_by_key(|found| found.serial)
    }
}
