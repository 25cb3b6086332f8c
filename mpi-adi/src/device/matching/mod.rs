//! Matching: the posted receive queue and the unexpected message queue.
//!
//! This is the seam behind which other engines will stand: everything the device asks of matching is a
//! method of [`Matching`], and an engine keeps nothing but what is in here and the links inside the
//! requests and records it is given, so that queueing can never fail once these exist. This engine is a
//! plain list each, in order of posting and of arrival (MPI-3.1 section 3.5), as MPICH has it.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use crate::device::envelope::{Envelope, Pattern};
use crate::device::list::{Links, List};
use crate::device::memory::region::{Record, Region};
use crate::device::names::{BlockIndex, Slot};
use crate::device::request::RequestPool;

/// The two queues and what searching them has cost.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Matching {
    posted: List<Slot>,
    unexpected: List<BlockIndex>,
    peak_posted: u32,
    traversals: u64,
}

impl Matching {
    /// The first posted receive that matches `envelope`, leaving it where it is: its slot, or `None`.
    #[inline]
    pub fn arrive(&mut self, requests: &RequestPool, envelope: &Envelope) -> Option<Slot> {
        let mut next = self.posted.head();
        while let Some(at) = next {
            self.traversals += 1;
            if requests.posted(at).pattern.matches(envelope) {
                return Some(at);
            }
            next = requests.next(at);
        }
        None
    }

    /// Appends a receive to the posted receive queue.
    #[inline]
    pub fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.push(requests, slot);
        self.peak_posted = self.peak_posted.max(self.posted.len());
    }

    /// Takes a posted receive out: it has matched, or is cancelled.
    #[inline]
    pub fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.remove(requests, slot);
    }

    /// Appends a record to the unexpected message queue.
    pub fn record(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.push(region, at);
    }

    /// The first unexpected message that `pattern` asks for, leaving it where it is.
    #[inline]
    pub fn probe(&mut self, region: &Region, pattern: &Pattern) -> Option<BlockIndex> {
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            self.traversals += 1;
            if region.matches(at, pattern) {
                return Some(at);
            }
            next = region.next(at);
        }
        None
    }

    /// Takes the first unexpected message that `pattern` asks for out of its queue.
    #[inline]
    pub fn take(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex> {
        let at = self.probe(region, pattern)?;
        self.unexpected.remove(region, at);
        Some(at)
    }

    /// Takes the unexpected message out of its queue that `is` the one.
    pub fn take_where(
        &mut self,
        region: &mut Region,
        is: impl Fn(&Record) -> bool,
    ) -> Option<BlockIndex> {
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            self.traversals += 1;
            if region.record(at).is_some_and(|record| is(&record)) {
                self.unexpected.remove(region, at);
                return Some(at);
            }
            next = region.next(at);
        }
        None
    }

    /// Hashes the queues, without the measures: the posted receive queue is in the pool, the unexpected
    /// message queue is what its records say, wherever they stand.
    pub(crate) fn hash<H: Hasher>(&self, region: &Region, state: &mut H) {
        self.posted.hash(state);
        self.unexpected.len().hash(state);
        let mut next = self.unexpected.head();
        while let Some(at) = next {
            region.hash_record(at, state);
            next = region.next(at);
        }
    }

    /// Posted receives.
    pub fn posted(&self) -> u32 {
        self.posted.len()
    }

    /// The most receives ever posted at once.
    pub fn peak_posted(&self) -> u32 {
        self.peak_posted
    }

    /// Unexpected messages recorded and not yet matched.
    pub fn unexpected(&self) -> u32 {
        self.unexpected.len()
    }

    /// Queue entries looked at by all searches.
    pub fn traversals(&self) -> u64 {
        self.traversals
    }
}
