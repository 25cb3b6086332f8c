//! Default matching engine: a plain list while it is fast enough, and a hash index for entries deeper in the queue.
//!
//! # Fast path
//! Most messages match one of the first entries of a queue. A list finds these in minimum time, and an entry costs only
//! two links on insertion and removal. Therefore every entry is first inserted into a plain list, in order. Only a
//! search that passes more than [`NEAR`] entries ([`NEAR_RECORDS`] of unexpected messages) *indexes* some of them. Each
//! entry is indexed at most once, since later searches start after the indexed ones. With more than [`FAR`] entries not
//! indexed, each new entry indexes the oldest of them:
//!
//! ```text
//!   posted receives       indexed, by pattern                       | list, in the order of posting
//!   unexpected messages   deep: by pattern  | chained: by envelope  | neither         all in one list, in the order of
//!                         of each kind                              ^ at most FAR      arrival
//!                                           a search that finds nothing on the left continues here
//! ```
//! IndexedEngine entries are older than all others, so a match in the index is older than any in the list. Indexing requires
//! constant time. Compared with a list, each entry costs only a constant more, for any order of requests. It costs
//! nothing more if entries are requested in order and no more than [`FAR`] others wait.
//!
//! # Worst case of a single message
//! A search checks an index in constant expected time, passes at most [`FAR`] entries not indexed, and indexes at most
//! twice [`NEAR`] of them ([`MOVED_RECORDS`]). A new entry indexes at most two others. Equal keys form groups, which
//! are passed in one step, and tables grow by one bucket at a time. Thus a message requires at most 10,000 instructions
//! above the mean on a node, for any queue length (`tests/programs/worst_message.c`). Indexing all passed entries in
//! the first search required 300 instructions for each of them. The cost is borne by messages behind [`FAR`] others:
//! they are indexed for four kinds of patterns, of which the program may use one.
//!
//! Such an old unexpected message uses a block of the MPI memory for its links, so message arrival does not allocate.
//! This reduces the space for messages by one block. If no block is free, the message remains in the list, and no new
//! message is recorded until others are removed.
//!
//! A program that posts a receive for each rank in a loop, or receives messages with ascending tags, creates a queue of
//! *ascending* keys (`rise`). All keys are distinct, so a match is unique, wherever it is in the queue. While the keys
//! of a queue ascend, the entry before the last removed one is checked before others are passed. A queue that is
//! emptied from its tail, or in runs towards its head, therefore requires no index. A receive's key is compared with
//! the preceding one when it is posted; a record's, when a search first passes the head.
//!
//! * **Message arrival** (`posted`): a matching receive has one of four patterns: source and tag, any source, any tag,
//!   or both wildcards. The oldest receive of each kind is the first of its kind in one hash bucket. The one with the
//!   smallest serial was posted first. Kinds without indexed receives are skipped.
//! * **Receive or probe** (`unexpected`): the first match among the oldest messages is found in a hash bucket (`deep`),
//!   for any wildcards. Otherwise an exact receive finds the first message of its envelope in another bucket. Then the
//!   list is traversed.
//!
//! # Resistance to adversarial keys
//! Keys are hashed with random numbers drawn at initialization (`KeyHash`). Two keys chosen without knowledge of those
//! numbers collide with the probability of two random indexes. Equal keys are harmless, too: they share a chain in age
//! order, and the oldest is the requested one. Thus the expected number of entries checked is constant, for any tags,
//! ranks and contexts.
//!
//! # Operations in linear time
//! A sender that cancels a message specifies its request, not the message's envelope. A record has no space for the
//! links of another index: all of its 32 bytes are in use. So [`find_record`](Matching::find_record) checks the records
//! one by one, up to the number of blocks of the MPI memory (2,048 for 64 KiB). Only MPI_Cancel of a send uses it, if
//! its message is recorded here and unmatched. A cancel packet with tag and context would allow a lookup as for a
//! receive. [`context_is_idle`](Matching::context_is_idle), called once when a communicator is freed, checks all
//! records and all receives.
//!
//! # Memory
//! | what | bytes | of |
//! |---|---|---|
//! | posted receives | 0 | the table is inside the pool's slots (`request/hash_table.rs`) |
//! | unexpected messages | 0 | links and chain are inside their records |
//! | buckets for the chains of unexpected messages | [`BUCKETS`] of [`BUCKET_BYTES`] for each [`BUCKET_BLOCKS`] blocks of MPI memory, up to [`FAR`], none below [`MIN_BLOCKS`] blocks | the budget |
//! | buckets for the oldest of them, in chunks | 2.4 for each block | the budget, with more than [`FEW_BLOCKS`] blocks; else the program's heap, at the first search for a wildcard that passes [`WILD_ENTRIES`] entries |
//! | an unexpected message that is among the oldest | a block | the MPI memory |
//! | during loans (`--mpi-borrow`) | a chunk of buckets when there are more than four records for each | the program's heap; if it is full, chains grow long |
//!
//! Memory does not depend on the size of the job. Searches after the end of the last loan free the memory allocated for
//! loans.
#![forbid(unsafe_code)]

mod deep;
mod limits;
mod posted;
mod sorted_run;
mod table;
#[cfg(test)]
mod tests;
mod unexpected;

use core::hash::{Hash, Hasher};

#[cfg(test)]
use super::EngineKind;
use super::engine::{Matching, MatchingEngine, MatchingStats};
use crate::envelope::{Context, Envelope, MatchPattern};
use crate::ids::{BlockIndex, Slot};
use crate::memory::region::{Region, UnexpectedRecord};
use crate::request::RequestPool;
use crate::stats::Count;
use posted::PostedQueue;
use unexpected::UnexpectedQueue;

pub use limits::{FAR, FEW_BLOCKS, MOVED_RECORDS, NEAR, NEAR_RECORDS, SHORT, WILD_ENTRIES, WILD_MOVES};
pub use table::{BUCKET_BLOCKS, BUCKET_BYTES, BUCKETS, MIN_BLOCKS};

/// Matching engine with an indexed posted receive queue and unexpected message queue.
#[derive(Clone, Debug)]
pub struct IndexedEngine {
    posted: PostedQueue,
    unexpected: UnexpectedQueue,
    measures: MatchingStats,
}

impl IndexedEngine {
    /// The kind of this engine.
    #[cfg(test)]
    pub(crate) const KIND: EngineKind = if crate::config::MICRO {
        EngineKind::for_engine::<IndexedEngine>()
    } else {
        EngineKind::STANDARD
    };

    /// Returns the first posted receive that matches `envelope`.
    #[inline(never)]
    fn find_posted(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let (found, hops) = self.posted.find(requests, envelope);
        self.measures.searched(hops);
        found
    }
}

impl Matching for IndexedEngine {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn seed(&mut self, seed: u64) {
        self.unexpected.seed(seed);
    }

    #[inline]
    fn post(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.post(requests, slot, self.measures.posted);
        self.measures.posted();
    }

    #[inline]
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot) {
        self.posted.unpost(requests, slot);
        self.measures.unposted();
    }

    #[inline]
    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        match self.measures.posted {
            // Most unexpected messages arrive when no receive is posted.
            0 => {
                self.measures.searched(0);
                None
            }
            _ => self.find_posted(requests, envelope),
        }
    }

    #[inline]
    fn first_posted(&self) -> Option<Slot> {
        self.posted.first()
    }

    #[inline]
    fn take_first(&mut self, requests: &mut RequestPool, next: Option<Slot>) {
        self.posted.take_first(requests, next);
        self.measures.searched(1);
        self.measures.unposted();
    }

    #[inline]
    fn record(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.record(region, at, self.measures.unexpected);
        self.measures.recorded();
    }

    #[inline]
    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let (found, hops) = self.unexpected.find(region, pattern, self.measures.unexpected);
        self.measures.searched(hops);
        found
    }

    #[inline]
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.unrecord(region, at);
        self.measures.unrecorded();
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        let (found, hops) = self
            .unexpected
            .walk(region, |at| region.record(at).is_some_and(|record| is(&record)));
        self.measures.searched(hops);
        found
    }

    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool {
        let is_of = |at| region.envelope(at).context == context;
        let (found, hops) = self.unexpected.walk(region, is_of);
        self.measures.traversals += hops as Count;
        found.is_none() && !requests.has_posted(context)
    }

    fn hash(&self, region: &Region, mut state: &mut dyn Hasher) {
        self.measures.unexpected.hash(&mut state);
        let mut next = self.unexpected.first();
        while let Some(at) = next {
            region.hash_record(at, &mut state);
            next = UnexpectedQueue::next(region, at);
        }
    }

    #[inline]
    fn counts(&mut self) -> Option<&mut MatchingStats> {
        Some(&mut self.measures)
    }

    fn measures(&self) -> MatchingStats {
        self.measures
    }
}

impl MatchingEngine for IndexedEngine {
    const NAME: &'static str = "default";

    fn fixed_bytes(blocks: usize, _: usize) -> usize {
        let deep = if blocks > FEW_BLOCKS { deep::bytes(blocks) } else { 0 };
        table::buckets(blocks) as usize * BUCKET_BYTES + deep
    }

    fn wildcard_bytes(blocks: usize) -> usize {
        if blocks > FEW_BLOCKS { 0 } else { deep::bytes(blocks) }
    }

    fn new(blocks: usize, _: usize) -> Option<Self> {
        Some(IndexedEngine {
            posted: PostedQueue::new(),
            unexpected: UnexpectedQueue::new(blocks)?,
            measures: MatchingStats::default(),
        })
    }
}
