//! The engine that programs get if they do not choose another one: a list as long as a list is good enough, and an
//! index for what the list could not find at once.
//!
//! # Why it is fast
//! Most messages match the first entry of a queue, or one of the first few. A list finds these as fast as anything
//! can, and costs nothing but two links when an entry comes and goes. So every entry begins its life in a plain
//! list, in order. Only a search that has to pass more than [`NEAR`] entries ([`NEAR_RECORDS`] of unexpected
//! messages) *indexes* some of them, and each entry is indexed at most once, since no later search begins before it.
//! And when more than [`FAR`] entries are not indexed, each entry that comes indexes the oldest of these:
//!
//! ```text
//!   posted receives       indexed, by pattern                       | list, in the order of posting
//!   unexpected messages   deep: by pattern  | chained: by envelope  | neither         all in one list, in the order of
//!                         of each kind                              ^ at most FAR      arrival
//!                                           the next search that finds nothing on the left goes on here
//! ```
//! What is indexed is older than what is not, so a match in the index is older than any in the list. Indexing
//! takes constant time, so each entry costs a constant more than in a list, whatever the order in which it is
//! asked for, and nothing more than in a list when it is asked for in order and no more than [`FAR`] others wait.
//!
//! # Why no single message is dear
//! A search looks at an index in constant expected time, passes at most [`FAR`] entries that are not indexed, and indexes at
//! most twice [`NEAR`] of them ([`MOVED_RECORDS`]); an entry that comes indexes at most two others. Equal keys form groups,
//! which are passed in one step, and tables grow by one bucket at a time. So no message takes more than 10,000 instructions
//! above the mean on a node, however many wait (`tests/programs/worst_message.c`). A first search that indexed all that it
//! passed took 300 instructions for each of them. The price is paid by messages that wait behind [`FAR`] others: to be
//! entered for four kinds of patterns, of which the program may use one.
//!
//! An unexpected message that is so old has a block of the MPI memory for its links, so that nothing is allocated when a
//! message comes. It is one block less for messages; where no block is free, the message stays in the list, and more come
//! only when others have left.
//!
//! A program that posts a receive for each rank in a loop, or is sent messages with rising tags, makes a queue whose
//! keys *rise* (`rise`): no two are the same, so that a match is the only one, wherever it stands. While a queue
//! rises, the entry before the one that was taken last is looked at before any other is passed: a queue that is
//! emptied from its end, or in runs towards its head, is emptied without an index. A receive's key is compared with
//! that of the one before it when it is posted; a record's, when a search first passes the head.
//!
//! * **A message arrives** (`posted`): receives that match it have one of four patterns: its source and tag, any
//!   source, any tag, or both. The oldest receive of each is the first of its kind in one bucket of a hash table; the
//!   oldest of these four, by serial, is the first that was posted. Kinds of which none is indexed are not
//!   looked for.
//! * **A receive starts**, or a probe (`unexpected`): it finds the first of the oldest messages that matches in the bucket
//!   of a hash table (`deep`), whatever its wildcards are; or else an exact one finds the first message of its envelope in
//!   another one; and then the list is walked.
//!
//! # Why nobody can make it slow
//! Keys are hashed with random numbers that are drawn at the start (`KeyHash`).
//! Two keys that were chosen without knowing those numbers collide with the chance that two random places are the
//! same one. Many equal keys do no harm either: they share a chain, oldest first, and the oldest is the one that
//! is asked for. So the number of entries looked at is expected to be constant, for any tags, ranks and contexts.
//!
//! # What takes as long as the queue
//! A sender that takes a message back names its request, not the message's envelope, and a record has no room for links
//! of one more index: all of its 32 bytes are in use. So [`find_record`](Matching::find_record) looks at the
//! records one by one, up to as many as the MPI memory has blocks (2,048 for 64 KiB). Only MPI_Cancel of a send whose
//! message is recorded here and has not been matched asks for it. A cancellation that carried tag and context could be
//! looked up as a receive is. [`context_is_idle`](Matching::context_is_idle), once for each communicator that
//! ends, looks at all records and all receives.
//!
//! # Memory
//! | what | bytes | of |
//! |---|---|---|
//! | posted receives | 0 | the table is inside the pool's slots (`request/keyed.rs`) |
//! | unexpected messages | 0 | links and chain are inside their records |
//! | buckets for the chains of unexpected messages | [`BUCKETS`] of [`BUCKET_BYTES`] for each [`BUCKET_BLOCKS`] blocks of MPI memory, up to [`FAR`], none below [`LEAST_BLOCKS`] blocks | the budget |
//! | buckets for the oldest of them, in chunks | 2.4 for each block | the budget, with more than [`FEW_BLOCKS`] blocks; else the program's heap, at the first search for a wildcard that passes [`WILD_ENTRIES`] entries |
//! | an unexpected message that is among the oldest | a block | the MPI memory |
//! | while memory is lent (`--mpi-borrow`) | a chunk of buckets when there are more than four records for each | the program's heap; without room, chains grow long |
//!
//! Nothing depends on the size of the job. What is taken for loans is given back by searches after the last one.
#![forbid(unsafe_code)]

mod deep;
mod limits;
mod posted;
mod rise;
mod table;
#[cfg(test)]
mod tests;
mod unexpected;

use core::hash::{Hash, Hasher};

use super::engine::{Matching, MatchingEngine, Measures};
use crate::envelope::{Context, Envelope, Pattern};
use crate::memory::region::{Record, Region};
use crate::names::{BlockIndex, Slot};
use crate::request::RequestPool;
use crate::stats::Count;
use posted::PostedQueue;
use unexpected::UnexpectedQueue;

pub use limits::{
    FAR, FEW_BLOCKS, MOVED_RECORDS, NEAR, NEAR_RECORDS, SHORT, WILD_ENTRIES, WILD_MOVES,
};
pub use table::{BUCKET_BLOCKS, BUCKET_BYTES, BUCKETS, LEAST_BLOCKS};

/// The two queues.
#[derive(Clone, Debug)]
pub struct Indexed {
    posted: PostedQueue,
    unexpected: UnexpectedQueue,
    measures: Measures,
}

impl Indexed {
    /// The first of the posted receives that matches `envelope`.
    #[inline(never)]
    fn find_posted(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        let (found, hops) = self.posted.find(requests, envelope);
        self.measures.searched(hops);
        found
    }
}

impl Matching for Indexed {
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
    fn arrive(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot> {
        match self.measures.posted {
            // Most messages that no receive waits for come where there is none.
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
    fn probe(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex> {
        let (found, hops) = self
            .unexpected
            .find(region, pattern, self.measures.unexpected);
        self.measures.searched(hops);
        found
    }

    #[inline]
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex) {
        self.unexpected.unrecord(region, at);
        self.measures.unrecorded();
    }

    fn find_record(&mut self, region: &Region, is: &dyn Fn(&Record) -> bool) -> Option<BlockIndex> {
        let (found, hops) = self.unexpected.walk(region, |at| {
            region.record(at).is_some_and(|record| is(&record))
        });
        self.measures.searched(hops);
        found
    }

    fn context_is_idle(
        &mut self,
        requests: &mut RequestPool,
        region: &mut Region,
        context: Context,
    ) -> bool {
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
    fn counts(&mut self) -> Option<&mut Measures> {
        Some(&mut self.measures)
    }

    fn measures(&self) -> Measures {
        self.measures
    }
}

impl MatchingEngine for Indexed {
    const NAME: &'static str = "default";

    fn fixed_bytes(blocks: usize, _: usize) -> usize {
        let deep = match blocks > FEW_BLOCKS {
            true => deep::bytes(blocks),
            false => 0,
        };
        table::buckets(blocks) as usize * BUCKET_BYTES + deep
    }

    fn wildcard_bytes(blocks: usize) -> usize {
        match blocks > FEW_BLOCKS {
            true => 0,
            false => deep::bytes(blocks),
        }
    }

    fn new(blocks: usize, _: usize) -> Option<Self> {
        Some(Indexed {
            posted: PostedQueue::new(),
            unexpected: UnexpectedQueue::new(blocks)?,
            measures: Measures::default(),
        })
    }
}
