//! A matching engine of plain vectors, with injected faults that the harness must detect.
#![forbid(unsafe_code)]

use std::hash::{Hash, Hasher};

use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern};
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::matching::{Matching, MatchingEngine, MatchingStats};
use midplane_device::region::{RecordData, Region, UnexpectedRecord};
use midplane_device::request::{ReceiveRequest, ReceiveState, Request, RequestPool};

use super::draw::OpSequence;
use super::engines::NamedEngine;
use super::oracle::QueueOracle;

type FaultCode = u8;
const NONE: FaultCode = 0;
/// A message matches the second matching receive.
const SECOND_MATCH: FaultCode = 1;
/// Receives with a source match before wildcard receives.
const WILDCARDS_LAST: FaultCode = 2;
/// A receive matches the last matching message.
const LAST_MESSAGE: FaultCode = 3;
/// A cancel removes the next receive, too, in a long queue.
const CANCELS_TWO: FaultCode = 4;
/// Every context is reported idle.
const FORGETS_CONTEXTS: FaultCode = 5;
/// Records over a table's capacity are dropped.
const SMALL_TABLE: FaultCode = 6;
/// The record found is not the first one.
const FINDS_ANY: FaultCode = 7;
/// The hash depends on the history.
const HASHES_THE_PAST: FaultCode = 8;
/// The record's links are used after its removal.
const CORRUPTS_RECORDS: FaultCode = 9;
/// The length is wrong after a context is opened.
const MISCOUNTS: FaultCode = 10;
/// A long queue panics.
const PANICS: FaultCode = 11;

const TABLE: usize = 40;

#[derive(Clone, Default, Debug)]
struct FaultyQueues<const FAULT: FaultCode> {
    queues: QueueOracle,
    searches: u64,
    opened: u32,
}

impl<const FAULT: FaultCode> Matching for FaultyQueues<FAULT> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn open(&mut self, _: &mut RequestPool, _: &mut Region, _: Context) {
        self.opened += 1;
    }

    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        let Some(Request::Receive(ReceiveRequest {
            state: ReceiveState::Posted(posted),
            ..
        })) = requests.get(requests.id(slot))
        else {
            unreachable!("a posted receive")
        };
        self.queues.post(slot, posted.pattern);
        assert!(FAULT != PANICS || self.queues.posted.len() < TABLE, "full");
    }

    fn unpost(&mut self, _: &mut RequestPool, slot: Slot) {
        let place = self.queues.posted.iter().position(|p| p.0 == slot);
        self.queues.unpost(slot);
        if FAULT == CANCELS_TWO && place.is_some_and(|at| at > 0 && at < self.queues.posted.len()) {
            self.queues.posted.remove(place.unwrap_or(0));
        }
    }

    fn match_incoming(&mut self, _: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        self.searches += 1;
        let matches = |p: &&(Slot, MatchPattern)| p.1.matches(envelope);
        let all = || self.queues.posted.iter().filter(matches);
        let found = match FAULT {
            SECOND_MATCH => all().nth(1).or(all().next()),
            WILDCARDS_LAST => all().find(|p| p.1.source().is_some()).or(all().next()),
            _ => all().next(),
        };
        found.map(|p| p.0)
    }

    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        if FAULT == SMALL_TABLE && self.queues.unexpected.len() == TABLE {
            self.queues.unexpected.remove(0);
        }
        let record = region.record(at).expect("a record");
        self.queues.record(at, record);
    }

    fn probe(&mut self, _: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let mut all = self.queues.unexpected.iter();
        match FAULT {
            LAST_MESSAGE => all.rfind(|kept| pattern.matches(&kept.1.envelope)),
            _ => all.find(|kept| pattern.matches(&kept.1.envelope)),
        }
        .map(|kept| kept.0)
    }

    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.queues.unrecord(at);
        if FAULT == CORRUPTS_RECORDS {
            region.set_holding(at, RecordData::None { sender: 0 });
        }
    }

    fn find_record(&mut self, _: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        let mut all = self.queues.unexpected.iter();
        match FAULT {
            FINDS_ANY => all.rfind(|kept| is(&kept.1)),
            _ => all.find(|kept| is(&kept.1)),
        }
        .map(|kept| kept.0)
    }

    fn context_is_idle(&mut self, _: &mut RequestPool, _: &mut Region, context: Context) -> bool {
        FAULT == FORGETS_CONTEXTS || self.queues.is_idle(context)
    }

    fn hash(&self, _: &Region, mut state: &mut dyn Hasher) {
        let records = self.queues.unexpected.iter().map(|kept| kept.0);
        records.for_each(|at| at.hash(&mut state));
        if FAULT == HASHES_THE_PAST {
            self.searches.hash(&mut state);
        }
    }

    fn measures(&self) -> MatchingStats {
        let wrong = FAULT == MISCOUNTS && self.opened > 1;
        MatchingStats {
            posted: self.queues.posted.len() as u32 + u32::from(wrong),
            peak_posted: self.queues.peak_posted as u32,
            unexpected: self.queues.unexpected.len() as u32,
            peak_unexpected: self.queues.peak_unexpected as u32,
            traversals: self.searches,
            ..MatchingStats::default()
        }
    }
}

impl<const FAULT: FaultCode> MatchingEngine for FaultyQueues<FAULT> {
    const NAME: &'static str = "vectors";

    fn fixed_bytes(_: usize, _: usize) -> usize {
        0
    }

    fn new(_: usize, _: usize) -> Option<Self> {
        Some(Self::default())
    }
}

fn find(engine: NamedEngine, seeds: u64) -> Option<super::ShrunkSequence> {
    (0..seeds).find_map(|seed| engine.check(&OpSequence::draw(seed)).err())
}

#[test]
fn an_engine_without_a_fault_passes() {
    let found = find(NamedEngine::from_engine::<FaultyQueues<NONE>>(), 200);
    assert!(found.is_none(), "{}", found.unwrap());
}

/// Each fault has a maximum number of operations in its counterexample.
#[test]
fn every_fault_is_found_and_shrunk() {
    // Requires a loan, because the MPI memory alone is too small.
    let table = TABLE + 2;
    let faults = [
        (
            NamedEngine::from_engine::<FaultyQueues<SECOND_MATCH>>(),
            3,
            "arrive gave",
        ),
        (
            NamedEngine::from_engine::<FaultyQueues<WILDCARDS_LAST>>(),
            3,
            "arrive gave",
        ),
        (NamedEngine::from_engine::<FaultyQueues<LAST_MESSAGE>>(), 3, "gave"),
        (NamedEngine::from_engine::<FaultyQueues<CANCELS_TWO>>(), 4, "measures"),
        (
            NamedEngine::from_engine::<FaultyQueues<FORGETS_CONTEXTS>>(),
            2,
            "context_is_idle",
        ),
        (
            NamedEngine::from_engine::<FaultyQueues<SMALL_TABLE>>(),
            table,
            "measures",
        ),
        (NamedEngine::from_engine::<FaultyQueues<FINDS_ANY>>(), 2, "find_record"),
        (
            NamedEngine::from_engine::<FaultyQueues<HASHES_THE_PAST>>(),
            1,
            "the hash",
        ),
        (
            NamedEngine::from_engine::<FaultyQueues<CORRUPTS_RECORDS>>(),
            2,
            "the record",
        ),
        (NamedEngine::from_engine::<FaultyQueues<MISCOUNTS>>(), 2, "measures"),
        (NamedEngine::from_engine::<FaultyQueues<PANICS>>(), TABLE, "panic: full"),
    ];
    for (engine, most, words) in faults {
        let found = find(engine, 300).expect(words);
        assert!(found.sequence.ops.len() <= most, "{found}");
        assert!(found.difference.what.contains(words), "{found}");
    }
}

/// The printed text is sufficient for a replay.
#[test]
fn a_counterexample_is_a_script() {
    let found = find(NamedEngine::from_engine::<FaultyQueues<WILDCARDS_LAST>>(), 300).expect("a fault");
    let text = found.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("matching engine vectors, "), "{text}");
    let what = "after 2 operations: arrive gave Some(Slot(2)), the oracle Some(Slot(1))";
    assert!(lines[0].ends_with(what), "{text}");
    assert_eq!(
        lines[1..],
        [
            "  0: receive any source, any tag, context 0",
            "  1: receive source 0, tag 0, context 0",
            "  2: message source 0, tag 0, context 0, no buffer",
        ]
    );
}
