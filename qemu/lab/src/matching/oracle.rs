//! Reference matcher: slow and simple.
#![forbid(unsafe_code)]

use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern};
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::region::UnexpectedRecord;

/// The two queues: posted receives (PRQ) in posting order, unexpected messages (UMQ) in arrival order.
#[derive(Clone, Default, Debug)]
pub struct QueueOracle {
    pub posted: Vec<(Slot, MatchPattern)>,
    pub unexpected: Vec<(BlockIndex, UnexpectedRecord)>,
    pub peak_posted: usize,
    pub peak_unexpected: usize,
}

impl QueueOracle {
    pub fn post(&mut self, slot: Slot, pattern: MatchPattern) {
        self.posted.push((slot, pattern));
        self.peak_posted = self.peak_posted.max(self.posted.len());
    }

    pub fn unpost(&mut self, slot: Slot) {
        self.posted.retain(|&(other, _)| other != slot);
    }

    pub fn arrive(&self, envelope: &Envelope) -> Option<Slot> {
        let mut posted = self.posted.iter();
        posted
            .find(|(_, pattern)| pattern.matches(envelope))
            .map(|&(slot, _)| slot)
    }

    pub fn record(&mut self, at: BlockIndex, record: UnexpectedRecord) {
        self.unexpected.push((at, record));
        self.peak_unexpected = self.peak_unexpected.max(self.unexpected.len());
    }

    pub fn unrecord(&mut self, at: BlockIndex) {
        self.unexpected.retain(|&(other, _)| other != at);
    }

    pub fn probe(&self, pattern: &MatchPattern) -> Option<BlockIndex> {
        self.find(|record| pattern.matches(&record.envelope))
    }

    pub fn find(&self, is: impl Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        let mut unexpected = self.unexpected.iter();
        unexpected.find(|(_, record)| is(record)).map(|&(at, _)| at)
    }

    pub fn is_idle(&self, context: Context) -> bool {
        let is_posted = |(_, pattern): &(Slot, MatchPattern)| pattern.context() == context;
        let is_recorded = |(_, record): &(BlockIndex, UnexpectedRecord)| record.envelope.context == context;
        !self.posted.iter().any(is_posted) && !self.unexpected.iter().any(is_recorded)
    }
}
