//! Posted receives: those that a search has passed are in the pool's table, the others in a list.
#![forbid(unsafe_code)]

use super::SHORT;
use crate::device::envelope::Envelope;
use crate::device::list::{Ends, Links};
use crate::device::names::{Serial, Slot};
use crate::device::request::{Found, KINDS, RequestPool, kind, pattern_of};

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
    /// What the last search has found in the table, which is likely to be taken out next.
    found: Option<Found>,
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
        self.indexed[kind(&posted.pattern)] -= 1;
        self.all_indexed -= 1;
        if let Some(found) = self.found.take().filter(|found| found.slot == slot)
            && requests.withdraw_found(found)
        {
            return;
        }
        requests.withdraw(slot, requests.hash_of(&posted.pattern));
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
            self.found = self.find_indexed(requests, envelope, &mut hops);
            if let Some(found) = self.found {
                return (Some(found.slot), hops);
            }
        }
        let Some(head) = self.list.head() else {
            return (None, hops);
        };
        if requests.posted_matches(head, envelope) {
            return (Some(head), hops + 1);
        }
        let (found, passed) = if posted <= SHORT {
            let pool = &*requests;
            self.list
                .find(pool, |slot| pool.posted_matches(slot, envelope))
        } else {
            self.pass(requests, head, envelope)
        };
        (found, hops + passed)
    }

    /// Moves receives from `head`, the first of the list, to the table, up to the first one that matches.
    fn pass(
        &mut self,
        requests: &mut RequestPool,
        head: Slot,
        envelope: &Envelope,
    ) -> (Option<Slot>, u32) {
        let mut hops = 0;
        let mut slot = head;
        let found = loop {
            let next = requests.next(slot);
            let (kind, serial) = requests.enter_posted(slot);
            self.indexed[kind] += 1;
            self.indexed_to = serial + 1;
            hops += 1;
            match next {
                Some(next) if !requests.posted_matches(next, envelope) => slot = next,
                _ => break next,
            }
        };
        self.all_indexed += hops;
        self.list.cut(requests, found);
        (found, hops + u32::from(found.is_some()))
    }

    /// The first receive in the table that matches `envelope`.
    #[inline]
    fn find_indexed(
        &self,
        requests: &RequestPool,
        envelope: &Envelope,
        hops: &mut u32,
    ) -> Option<Found> {
        if self.indexed[0] == self.all_indexed {
            return requests.find_posted(&envelope.pattern(), hops);
        }
        let kinds = (0..KINDS).filter(|&kind| self.indexed[kind] > 0);
        kinds
            .filter_map(|kind| requests.find_posted(&pattern_of(envelope, kind), hops))
            .min_by_key(|found| found.serial)
    }
}
