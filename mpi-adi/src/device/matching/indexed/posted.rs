//! Posted receives: those that a search has passed are in the pool's table, the others in a list.
#![forbid(unsafe_code)]

use super::SHORT;
use crate::device::envelope::Envelope;
use crate::device::list::{Ends, Links};
use crate::device::names::{Serial, Slot};
use crate::device::request::{KEYED, KINDS, RequestPool, kind, pattern_of};

/// The posted receive queue.
#[derive(Clone, Default, Debug)]
pub(super) struct PostedQueue {
    /// Receives that no search has passed, in the order of posting; all are younger than those in the table.
    list: Ends<Slot>,
    /// Receives in the table, of each kind of pattern.
    indexed: [u32; KINDS],
    /// Their number.
    all_indexed: u32,
    /// The serial of the youngest one that has ever been in the table, plus one.
    indexed_to: Serial,
}

impl PostedQueue {
    #[inline]
    pub(super) fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.list.push(requests, slot);
    }

    #[inline]
    pub(super) fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        if self.all_indexed == 0 {
            return self.list.remove(requests, slot);
        }
        let posted = requests.posted(slot);
        if posted.serial >= self.indexed_to {
            return self.list.remove(requests, slot);
        }
        let hash = requests.hash_of(&posted.pattern);
        self.indexed[kind(&posted.pattern)] -= 1;
        self.all_indexed -= 1;
        requests.withdraw(slot, hash);
    }

    /// The first of the `posted` receives that matches `envelope`, and how many were looked at.
    #[inline]
    pub(super) fn find(
        &mut self,
        requests: &mut RequestPool,
        envelope: &Envelope,
        posted: u32,
    ) -> (Option<Slot>, u32) {
        let mut hops = 0;
        if self.all_indexed > 0 {
            let found = self.find_indexed(requests, envelope, &mut hops);
            if found.is_some() {
                return (found, hops);
            }
        }
        let is_short = posted <= SHORT;
        let mut next = self.list.head();
        while let Some(slot) = next {
            hops += 1;
            if requests.posted(slot).pattern.matches(envelope) {
                break;
            }
            next = requests.next(slot);
            if !is_short {
                self.index(requests, slot);
            }
        }
        (next, hops)
    }

    /// Moves the first receive of the list to the table.
    fn index(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.list.remove(requests, slot);
        let posted = requests.posted(slot);
        let kind = kind(&posted.pattern);
        let hash = requests.hash_of(&posted.pattern);
        self.indexed_to = posted.serial + 1;
        self.indexed[kind] += 1;
        self.all_indexed += 1;
        requests.enter(slot, hash);
    }

    /// The first receive in the table that matches `envelope`.
    #[inline]
    fn find_indexed(
        &self,
        requests: &RequestPool,
        envelope: &Envelope,
        hops: &mut u32,
    ) -> Option<Slot> {
        let mut first: Option<(Serial, Slot)> = None;
        for kind in 0..KINDS {
            if self.indexed[kind] == 0 {
                continue;
            }
            let pattern = pattern_of(envelope, kind);
            let mut next = requests.first_of(requests.hash_of(&pattern));
            while let Some(slot) = next {
                *hops += 1;
                if let Some(posted) = requests
                    .as_posted(slot)
                    .filter(|posted| posted.pattern == pattern)
                {
                    if first.is_none_or(|(serial, _)| posted.serial < serial) {
                        first = Some((posted.serial, slot));
                    }
                    break;
                }
                next = requests.next_in::<KEYED>(slot);
            }
        }
        first.map(|(_, slot)| slot)
    }
}
