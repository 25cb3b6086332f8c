//! Matching engine of an exploration: the list engine, except that a wildcard selects among the sources whose messages
//! have arrived.
//!
//! The order in which messages of different sources arrive is the network's, and MPI lets a receive with MPI_ANY_SOURCE
//! match another message than the probe before it (MPI-3.1 section 3.8.1).
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::hash::Hasher;

use midplane_device::envelope::{Context, Envelope, MatchPattern, Rank};
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::matching::{ListEngine, Matching, MatchingEngine, MatchingStats};
use midplane_device::region::{Region, UnexpectedRecord};
use midplane_device::request::RequestPool;

use crate::match_orders::{self, DecisionKind, MatchAlternative};
use crate::schedule::running;

/// The engine.
#[derive(Clone, Debug)]
pub(super) struct ChoosingEngine(ListEngine);

impl ChoosingEngine {
    /// Returns the source of the message that a wildcard selects, if it has a choice.
    fn choose(&mut self, region: &Region, pattern: &MatchPattern, rank: usize) -> Option<Rank> {
        let sources: RefCell<Vec<Rank>> = RefCell::default();
        // The search finds nothing, so that it visits every message.
        self.0.find_record(region, &|record| {
            let mut sources = sources.borrow_mut();
            let source = record.envelope.source;
            if pattern.matches(&record.envelope) && !sources.contains(&source) {
                sources.push(source);
            }
            false
        });
        let mut sources = sources.into_inner();
        if sources.len() < 2 {
            return None;
        }
        sources.sort();
        let alternatives = sources.iter().map(|source| MatchAlternative::Source(source.index()));
        match match_orders::decide(rank, DecisionKind::Arrived, alternatives.collect()) {
            MatchAlternative::Source(source) => Some(Rank::new(source)),
            MatchAlternative::Later => None,
        }
    }
}

impl Matching for ChoosingEngine {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.0.post(requests, slot);
    }

    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.0.unpost(requests, slot);
    }

    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        self.0.match_incoming(requests, envelope)
    }

    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        self.0.record(region, at);
    }

    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let is_of_program = pattern.context().is_multiple_of(2);
        if let Some(rank) = running().filter(|_| is_of_program) {
            match_orders::note_probe(rank, *pattern);
            if pattern.source().is_none()
                && let Some(source) = self.choose(region, pattern, rank)
            {
                let narrow = MatchPattern::new(Some(source), pattern.tag(), pattern.context());
                return self.0.probe(region, &narrow);
            }
        }
        self.0.probe(region, pattern)
    }

    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.0.unrecord(region, at);
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        self.0.find_record(region, is)
    }

    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool {
        self.0.context_is_idle(requests, region, context)
    }

    fn hash(&self, region: &Region, state: &mut dyn Hasher) {
        self.0.hash(region, state);
    }

    fn measures(&self) -> MatchingStats {
        self.0.measures()
    }
}

impl MatchingEngine for ChoosingEngine {
    /// It is a list, as far as a program can see.
    const NAME: &'static str = ListEngine::NAME;

    fn fixed_bytes(blocks: usize, peers: usize) -> usize {
        ListEngine::fixed_bytes(blocks, peers)
    }

    fn new(blocks: usize, peers: usize) -> Option<Self> {
        ListEngine::new(blocks, peers).map(ChoosingEngine)
    }
}
