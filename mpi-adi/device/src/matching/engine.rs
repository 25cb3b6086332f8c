//! Interface between the device and a matching engine.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::fmt;
use core::hash::Hasher;

use crate::envelope::{Context, Envelope, MatchPattern, Tag};
use crate::ids::{BlockIndex, Slot};
use crate::memory::region::{Region, UnexpectedRecord};
use crate::memory::try_boxed_with;
use crate::request::RequestPool;
use crate::stats::Count;

/// Queue lengths and search costs.
///
/// A hop is one sequential step of a search: an entry of a queue or table, or a structure on the path to it. The
/// hash-table word that contains the first entry does not count. The check for an idle context is not counted as a
/// search, but its hops are.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct MatchingStats {
    /// Current number of posted receives.
    pub posted: u32,
    /// Peak number of posted receives.
    pub peak_posted: u32,
    /// Current number of unexpected messages.
    pub unexpected: u32,
    /// Peak number of unexpected messages.
    pub peak_unexpected: u32,
    /// Searches of either queue, successful or not.
    pub searches: Count,
    /// Hops of all searches.
    pub traversals: Count,
    /// Hops of the longest search.
    pub longest: u32,
}

impl MatchingStats {
    /// Counts a completed search.
    #[inline]
    pub fn searched(&mut self, hops: u32) {
        self.searches += 1;
        if hops > 0 {
            self.traversals += hops as Count;
            self.longest = self.longest.max(hops);
        }
    }

    /// Counts a receive that has been posted.
    #[inline]
    pub fn posted(&mut self) {
        self.posted += 1;
        self.peak_posted = self.peak_posted.max(self.posted);
    }

    /// Counts a receive that is no longer posted.
    #[inline]
    pub fn unposted(&mut self) {
        self.posted -= 1;
    }

    /// Counts a message that has been recorded.
    #[inline]
    pub fn recorded(&mut self) {
        self.unexpected += 1;
        self.peak_unexpected = self.peak_unexpected.max(self.unexpected);
    }

    /// Counts a message that is no longer recorded.
    #[inline]
    pub fn unrecorded(&mut self) {
        self.unexpected -= 1;
    }
}

/// Number of collective operations. Their messages use the tags from 1 to this number.
pub const OPERATIONS: u8 = 8;

/// Message class: point-to-point or collective.
///
/// Sender and receiver always agree on it, since it follows from the matching criteria: a communicator has an even
/// context for the program's messages, and the next odd one for its collectives, whose tags specify the operation.
///
/// Paper 002, section 4.1, also includes the communicator's size and the message's length in the parameters of a
/// collective. The context determines the communicator, and so its size. The length is omitted: in an erroneous
/// program, sender and receiver may specify different lengths, and the error could not be reported if their message did
/// not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageClass {
    /// Message of a point-to-point operation.
    PointToPoint,
    /// Message of a collective operation.
    Collective {
        /// Index of the operation, below [`OPERATIONS`]. `None` if the tag is a wildcard or belongs to no operation.
        operation: Option<u8>,
    },
}

impl MessageClass {
    /// Returns the class of a message with this envelope, or of a receive with this pattern.
    #[inline]
    pub fn from_criteria(context: Context, tag: Option<Tag>) -> MessageClass {
        if context & 1 == 0 {
            return MessageClass::PointToPoint;
        }
        let number = tag.and_then(|tag| u8::try_from(tag).ok()?.checked_sub(1));
        MessageClass::Collective {
            operation: number.filter(|&number| number < OPERATIONS),
        }
    }
}

/// Error: the heap is full, so an engine's own memory cannot grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfSpace;

/// Matching engine.
///
/// The request pool stores receives, and the MPI memory stores records. Both provide links for the engine: a slot those
/// of its queue ([`Links<Slot>`](crate::list::LinkStorage) of the pool), a record's block those of its queue and one extra
/// word ([`Region::word`]). An engine allocates further memory for records in [`new`](MatchingEngine::new), and for
/// receives in [`reserve`](Matching::reserve) and [`open`](Matching::open), which are only called from calls of the
/// program. [`probe`](Matching::probe), also called from the program, may allocate heap memory to accelerate later
/// searches; it works without if there is none. All other methods do not allocate, and only the first three can fail.
///
/// MPI operations use the methods as follows:
///
/// | operation | calls |
/// |---|---|
/// | start a receive | [`take_match`](Matching::take_match), then [`post`](Matching::post) if nothing matched |
/// | message arrival | [`match_incoming`](Matching::match_incoming); then [`unpost`](Matching::unpost), or [`record`](Matching::record) if the message is recorded |
/// | probe | [`probe`](Matching::probe) |
/// | matched probe | [`take_match`](Matching::take_match) |
/// | cancel a posted receive | [`unpost`](Matching::unpost) |
/// | cancel a sent message, regardless of its record | [`find_record`](Matching::find_record), then [`unrecord`](Matching::unrecord) |
/// | create and free a communicator | [`open`](Matching::open), [`context_is_idle`](Matching::context_is_idle) |
pub trait Matching: BoxedCopy + fmt::Debug + Send {
    /// Returns the engine's user-visible name.
    fn name(&self) -> &'static str;

    /// Allocates heap memory so that `receives` receives can be posted simultaneously.
    fn reserve(&mut self, receives: usize) -> Result<(), OutOfSpace> {
        let _ = receives;
        Ok(())
    }

    /// Checks whether `receives` receives can be posted simultaneously without more heap memory.
    fn has_reserved(&self, receives: usize) -> bool {
        let _ = receives;
        true
    }

    /// Prepares for a communicator's context, using heap memory. Messages of the context may already be recorded.
    /// Without sufficient memory the engine still handles the context, but more slowly.
    fn open(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) {
        let _ = (requests, region, context);
    }

    /// Posts the receive in this slot. Its [serial](crate::request::PostedReceive::serial) is higher than that of all others.
    fn post(&mut self, requests: &mut RequestPool, slot: Slot);

    /// Removes a posted receive that has matched or is cancelled.
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot);

    /// Returns the first posted receive that matches `envelope`. It remains posted.
    fn match_incoming(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot>;

    /// Returns the posted receive that is compared with every message first. `None` if the engine cannot determine it
    /// in constant time.
    fn first_posted(&self) -> Option<Slot> {
        None
    }

    /// Removes [that receive](Matching::first_posted), which matched a message. `next` was linked after it. Replaces
    /// the calls [`match_incoming`](Matching::match_incoming) and [`unpost`](Matching::unpost).
    fn take_first(&mut self, requests: &mut RequestPool, next: Option<Slot>) {
        let _ = (requests, next);
        unreachable!("an engine that knows of no first receive")
    }

    /// Enqueues a recorded message.
    fn record(&mut self, region: &mut Region, at: BlockIndex);

    /// Returns the first recorded message that matches `pattern`. It remains recorded.
    fn probe(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex>;

    /// Removes a recorded message that has matched or is discarded.
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex);

    /// Returns the first recorded message that satisfies `is`. It remains recorded. For rare operations: an engine may
    /// check every record.
    fn find_record(&mut self, region: &Region, is: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex>;

    /// Checks whether a context has neither posted receives nor recorded messages. Called before another communicator
    /// reuses the context: if idle, the engine may free its state for the context. May check every receive and every
    /// record.
    fn context_is_idle(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) -> bool;

    /// Seeds the engine's random numbers. Both queues are empty, and the pool has been [seeded](RequestPool::seed),
    /// too.
    fn seed(&mut self, seed: u64) {
        let _ = seed;
    }

    /// Hashes the records in their order of arrival, for a model checker. The queues' behavior depends on nothing else,
    /// except for the posted receives, which are hashed with the pool.
    fn hash(&self, region: &Region, state: &mut dyn Hasher);

    /// Returns the mutable [`measures`](Matching::measures), to count fast-path operations as if they used the queues.
    /// `None` if all operations must use the queues.
    fn counts(&mut self) -> Option<&mut MatchingStats> {
        None
    }

    /// Returns the queue lengths and search costs.
    fn measures(&self) -> MatchingStats;

    /// Removes and returns the first recorded message that matches `pattern`.
    #[inline]
    fn take_match(&mut self, region: &mut Region, pattern: &MatchPattern) -> Option<BlockIndex> {
        let at = self.probe(region, pattern)?;
        self.unrecord(region, at);
        Some(at)
    }
}

/// Type-erased clone of an engine.
pub trait BoxedCopy {
    /// Returns a copy on the heap, for a model checker. `None` if the heap is full.
    fn boxed_copy(&self) -> Option<Box<dyn Matching>>;
}

impl<E: Matching + Clone + 'static> BoxedCopy for E {
    fn boxed_copy(&self) -> Option<Box<dyn Matching>> {
        let copy = try_boxed_with(|| self.clone())?;
        Some(copy)
    }
}

/// Kind of matching engine: its name, memory requirements and constructor.
pub trait MatchingEngine: Matching + Clone + Sized + 'static {
    /// User-visible name.
    const NAME: &'static str;

    /// Returns the heap bytes that [`new`](MatchingEngine::new) allocates, for MPI memory of `blocks` 32-byte blocks
    /// and a job of `peers` processes.
    fn fixed_bytes(blocks: usize, peers: usize) -> usize;

    /// Returns the maximum heap bytes that [`open`](Matching::open) allocates for a context of `peers` processes. It
    /// allocates less while there are fewer blocks and receives than it could use.
    fn context_bytes(peers: usize) -> usize {
        let _ = peers;
        0
    }

    /// Returns the maximum heap bytes that [`probe`](Matching::probe) allocates, once, for `blocks` blocks.
    fn wildcard_bytes(blocks: usize) -> usize {
        let _ = blocks;
        0
    }

    /// Returns the heap bytes that [`reserve`](Matching::reserve) allocates for each further receive, with `peers`
    /// processes.
    fn receive_bytes(peers: usize) -> usize {
        let _ = peers;
        0
    }

    /// Creates an engine with empty queues, for MPI memory of `blocks` blocks (each holds one record) and a job of
    /// `peers` processes. Returns `None` if the heap does not have [`fixed_bytes`](MatchingEngine::fixed_bytes).
    fn new(blocks: usize, peers: usize) -> Option<Self>;
}
