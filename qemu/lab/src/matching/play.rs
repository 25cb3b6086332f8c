//! Plays a sequence with an engine and with the oracle.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fmt;
use std::hash::Hasher;
use std::panic::{AssertUnwindSafe, catch_unwind};

use midplane_cluster::panic;
use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern, Rank};
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::matching::MatchingEngine;
use midplane_device::memory::{Span, UserMemory};
use midplane_device::region::{BLOCK_BYTES, BlockArray, RecordData, Region};
use midplane_device::request::{PostedReceive, ReceiveRequest, ReceiveState, Request, RequestId, RequestPool};
use rustc_hash::FxHasher;

use super::draw::OpSequence;
use super::op::{MatchingOp, OpSetting};
use super::oracle::QueueOracle;

/// Difference between an engine and the oracle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineDifference {
    /// Index of the operation; the number of operations for a check after the last one.
    pub at: usize,
    /// Description of the difference.
    pub what: String,
}

impl fmt::Display for EngineDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} operations: {}", self.at, self.what)
    }
}

/// A heap that loans blocks, and rejects some loans despite free blocks, like a fragmented heap.
struct LoanHeap {
    spare: u32,
    asked: u32,
}

/// One in this many loans is rejected.
const REFUSED: u32 = 5;

impl UserMemory for LoanHeap {
    fn read(&self, _: Span, _: usize, _: &mut [u8]) {}

    fn write(&mut self, _: Span, _: usize, _: &[u8]) {}

    fn spare_blocks(&self) -> u32 {
        self.spare
    }

    fn lend(&mut self, count: u32) -> Option<BlockArray> {
        self.asked += 1;
        if self.asked.is_multiple_of(REFUSED) {
            return None;
        }
        self.spare = self.spare.checked_sub(count)?;
        Some(blocks(count))
    }

    fn return_loan(&mut self, loan: BlockArray) {
        self.spare += loan.len() as u32;
    }
}

pub(crate) fn blocks(count: u32) -> BlockArray {
    let words = vec![0; BlockArray::map_words(count as usize)];
    BlockArray::new(vec![[0; BLOCK_BYTES]; count as usize].into(), words.into())
}

/// Plays `sequence` with the engine `E` and with the oracle.
///
/// # Errors
/// Their first difference, or the message of the engine's panic.
pub fn play<E: MatchingEngine>(sequence: &OpSequence) -> Result<(), EngineDifference> {
    let mut at = 0;
    let played = catch_unwind(AssertUnwindSafe(|| {
        let mut both = EnginePair::<E>::new(sequence.setting)?;
        for op in &sequence.ops {
            both.step(op)?;
            both.compare_measures()?;
            at += 1;
        }
        both.finish()
    }));
    let what = match played {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(what)) => what,
        Err(payload) => format!("panic: {}", panic::words(&*payload)),
    };
    Err(EngineDifference { at, what })
}

/// An engine with its pool and region, and the oracle.
struct EnginePair<E> {
    setting: OpSetting,
    engine: E,
    requests: RequestPool,
    region: Region,
    memory: LoanHeap,
    oracle: QueueOracle,
    open: BTreeSet<Context>,
    /// Records that were matched and are not freed yet.
    taken: Vec<BlockIndex>,
    posts: u64,
    messages: u32,
}

/// The error is the description of a difference.
type StepOutcome = Result<(), String>;

fn same<T: PartialEq + fmt::Debug>(what: &str, got: T, expected: T) -> Result<T, String> {
    if got == expected {
        Ok(got)
    } else {
        Err(format!("{what} gave {got:?}, the oracle {expected:?}"))
    }
}

impl<E: MatchingEngine> EnginePair<E> {
    fn new(setting: OpSetting) -> Result<Self, String> {
        let mut requests = RequestPool::new(setting.slots as usize);
        let engine = Self::engine(setting, &mut requests)?;
        Ok(EnginePair {
            setting,
            engine,
            requests,
            region: Region::new(blocks(setting.blocks)),
            memory: LoanHeap { spare: 0, asked: 0 },
            oracle: QueueOracle::default(),
            open: BTreeSet::new(),
            taken: Vec::new(),
            posts: 0,
            messages: 0,
        })
    }

    fn engine(setting: OpSetting, requests: &mut RequestPool) -> Result<E, String> {
        let engine = E::new(setting.blocks as usize, setting.peers as usize);
        let mut engine = engine.ok_or("new found no memory")?;
        requests.seed(setting.seed);
        engine.seed(setting.seed);
        Ok(engine)
    }

    fn step(&mut self, op: &MatchingOp) -> StepOutcome {
        match *op {
            MatchingOp::Open(context) => self.open(context),
            MatchingOp::Retire(context) => return self.retire(context),
            MatchingOp::Receive { pattern, bound } => return self.receive(pattern, bound),
            MatchingOp::Message { envelope, buffer } => return self.message(envelope, buffer),
            MatchingOp::Offer(envelope) => {
                let got = self.engine.match_incoming(&mut self.requests, &envelope);
                same("arrive", got, self.oracle.arrive(&envelope))?;
            }
            MatchingOp::Probe(pattern) => {
                let got = self.engine.probe(&mut self.region, &pattern);
                same("probe", got, self.oracle.probe(&pattern))?;
            }
            MatchingOp::Take(pattern) => {
                let taken = self.take_record(&pattern)?;
                self.taken.extend(taken);
            }
            MatchingOp::Finish(number) => {
                if let Some(place) = (number as usize).checked_rem(self.taken.len()) {
                    let at = self.taken.swap_remove(place);
                    self.region.release(&mut self.memory, at);
                }
            }
            MatchingOp::Cancel(number) => {
                if let Some(place) = (number as usize).checked_rem(self.oracle.posted.len()) {
                    self.unpost(self.oracle.posted[place].0);
                }
            }
            MatchingOp::Withdraw(number) => return self.withdraw(number),
            MatchingOp::Forget(source) => {
                let got = self
                    .engine
                    .find_record(&self.region, &|record| record.envelope.source == Rank::new(source));
                let expected = self.oracle.find(|record| record.envelope.source == Rank::new(source));
                if let Some(at) = same("find_record by source", got, expected)? {
                    self.forget(at);
                }
            }
            MatchingOp::Spare(blocks) => self.memory.spare = blocks,
        }
        Ok(())
    }

    fn open(&mut self, context: Context) {
        if self.open.insert(context) {
            self.engine.open(&mut self.requests, &mut self.region, context);
        }
    }

    fn retire(&mut self, context: Context) -> StepOutcome {
        let got = self
            .engine
            .context_is_idle(&mut self.requests, &mut self.region, context);
        if same("context_is_idle", got, self.oracle.is_idle(context))? {
            self.open.remove(&context);
        }
        Ok(())
    }

    /// Starts a receive like the device; does nothing without a free slot.
    fn receive(&mut self, pattern: MatchPattern, bound: bool) -> StepOutcome {
        let grown = self.requests.grow(1);
        if grown.is_err() || self.engine.reserve(self.requests.slots()).is_err() {
            return Ok(());
        }
        let posted = PostedReceive {
            pattern,
            serial: self.posts,
            needs_listing: false,
        };
        let request = Request::Receive(ReceiveRequest {
            span: Span::EMPTY,
            state: ReceiveState::Posted(posted),
        });
        let id = self.requests.insert(request).expect("a slot, just found");
        self.posts += 1;
        let Some(at) = self.take_record(&pattern)? else {
            self.engine.post(&mut self.requests, id.slot());
            self.oracle.post(id.slot(), pattern);
            return Ok(());
        };
        self.free_slot(id);
        let record = self.region.record(at).expect("a record that was taken");
        match record.holding {
            RecordData::Buffer { received } if bound => {
                // The record's links are no longer used as links.
                let receive = id;
                let holding = RecordData::MatchedBuffer { received, receive };
                self.region.set_holding(at, holding);
                self.taken.push(at);
            }
            _ => {
                self.region.release(&mut self.memory, at);
            }
        }
        Ok(())
    }

    /// Removes a record from the queue, and checks that it is unchanged.
    fn take_record(&mut self, pattern: &MatchPattern) -> Result<Option<BlockIndex>, String> {
        let got = self.engine.take_match(&mut self.region, pattern);
        let taken = same("take", got, self.oracle.probe(pattern))?;
        if let Some(at) = taken {
            let kept = self.oracle.unexpected.iter().find(|kept| kept.0 == at);
            same("the record", self.region.record(at), kept.map(|&(_, record)| record))?;
            self.oracle.unrecord(at);
        }
        Ok(taken)
    }

    fn message(&mut self, envelope: Envelope, buffer: Option<u32>) -> StepOutcome {
        let got = self.engine.match_incoming(&mut self.requests, &envelope);
        self.messages += 1;
        if let Some(slot) = same("arrive", got, self.oracle.arrive(&envelope))? {
            self.unpost(slot);
            return Ok(());
        }
        let sender = self.messages;
        let at = match buffer {
            Some(bytes) => self.region.record_with_buffer(&mut self.memory, envelope, bytes),
            None => self.region.record_without_buffer(&mut self.memory, envelope, 0, sender),
        };
        if let Some(at) = at {
            self.engine.record(&mut self.region, at);
            let record = self.region.record(at).ok_or("record destroyed the record")?;
            self.oracle.record(at, record);
        }
        Ok(())
    }

    fn unpost(&mut self, slot: Slot) {
        self.engine.unpost(&mut self.requests, slot);
        self.oracle.unpost(slot);
        self.free_slot(self.requests.id(slot));
    }

    /// Completes and frees a request.
    fn free_slot(&mut self, id: RequestId) {
        let receive = self.requests.get_receive(id).expect("a live receive");
        if let ReceiveState::Posted(_) = receive.state {
            self.requests.cancel_receive(id.slot());
        }
        self.requests.take_completed(id);
    }

    /// Cancels by the sender's request ID, or by the envelope if the record contains a buffer.
    fn withdraw(&mut self, number: u32) -> StepOutcome {
        let unexpected = &self.oracle.unexpected;
        let Some(place) = (number as usize).checked_rem(unexpected.len()) else {
            let got = self.engine.find_record(&self.region, &|_| true);
            same("find_record of anything", got, None)?;
            return Ok(());
        };
        let wanted = unexpected[place].1;
        let got = self.engine.find_record(&self.region, &|record| *record == wanted);
        let expected = self.oracle.find(|record| *record == wanted);
        if let Some(at) = same("find_record", got, expected)? {
            self.forget(at);
        }
        Ok(())
    }

    fn forget(&mut self, at: BlockIndex) {
        self.engine.unrecord(&mut self.region, at);
        self.oracle.unrecord(at);
        self.region.release(&mut self.memory, at);
    }

    fn compare_measures(&self) -> StepOutcome {
        let measures = self.engine.measures();
        let got = [
            measures.posted,
            measures.peak_posted,
            measures.unexpected,
            measures.peak_unexpected,
        ];
        let oracle = &self.oracle;
        let expected = [
            oracle.posted.len(),
            oracle.peak_posted,
            oracle.unexpected.len(),
            oracle.peak_unexpected,
        ];
        same(
            "measures (posted, its peak, unexpected, its peak)",
            got,
            expected.map(|count| count as u32),
        )?;
        Ok(())
    }

    /// Empties the queues, the PRQ from its end and the UMQ from its head. In between, checks that equal UMQs have
    /// equal hashes, independent of their history.
    fn finish(mut self) -> StepOutcome {
        while let Some(&(slot, pattern)) = self.oracle.posted.last() {
            self.unpost(slot);
            self.compare_measures()?;
            self.retire(pattern.context())?;
        }
        let expected = self.hash_of_new_queue()?;
        same("the hash", hash(&self.engine, &self.region), expected)?;
        while let Some(&(at, _)) = self.oracle.unexpected.first() {
            let got = self.engine.find_record(&self.region, &|_| true);
            same("find_record of anything", got, Some(at))?;
            self.forget(at);
            self.compare_measures()?;
        }
        let open: Vec<Context> = self.open.iter().copied().collect();
        open.into_iter().try_for_each(|context| self.retire(context))
    }

    /// Returns the hash of an engine that has only received the current records.
    fn hash_of_new_queue(&self) -> Result<u64, String> {
        let mut requests = RequestPool::new(0);
        let mut region = self.region.clone();
        let mut engine = Self::engine(self.setting, &mut requests)?;
        for &context in &self.open {
            engine.open(&mut requests, &mut region, context);
        }
        for &(at, _) in &self.oracle.unexpected {
            region.set_word(at, 0);
            engine.record(&mut region, at);
        }
        Ok(hash(&engine, &region))
    }
}

fn hash<E: MatchingEngine>(engine: &E, region: &Region) -> u64 {
    let mut state = FxHasher::default();
    engine.hash(region, &mut state);
    state.finish()
}
