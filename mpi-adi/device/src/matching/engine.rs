//! What the device asks of a matching engine.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::fmt;
use core::hash::Hasher;

use crate::envelope::{Context, Envelope, Pattern, Tag};
use crate::memory::boxed_with;
use crate::memory::region::{Record, Region};
use crate::names::{BlockIndex, Slot};
use crate::request::RequestPool;
use crate::stats::Count;

/// How full the queues are, and what searching them has cost.
///
/// A hop is one thing looked at in a search, one after the other: an entry of a queue or a table, or a structure on
/// the way to it; the word of a hash table by which the first entry is found is none. Whether a context is idle is no search, but its hops count.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Measures {
    /// Posted receives.
    pub posted: u32,
    /// The most receives ever posted at once.
    pub peak_posted: u32,
    /// Unexpected messages recorded and not yet matched.
    pub unexpected: u32,
    /// The most messages ever recorded and not yet matched at once.
    pub peak_unexpected: u32,
    /// Searches of either queue, whether they found something or not.
    pub searches: Count,
    /// Hops of all searches.
    pub traversals: Count,
    /// Hops of the longest search.
    pub longest: u32,
}

impl Measures {
    /// A search has ended after so many hops.
    #[inline]
    pub(crate) fn searched(&mut self, hops: u32) {
        self.searches += 1;
        if hops > 0 {
            self.traversals += hops as Count;
            self.longest = self.longest.max(hops);
        }
    }

    /// A receive has been posted.
    #[inline]
    pub(crate) fn posted(&mut self) {
        self.posted += 1;
        self.peak_posted = self.peak_posted.max(self.posted);
    }

    /// A receive is posted no more.
    #[inline]
    pub(crate) fn unposted(&mut self) {
        self.posted -= 1;
    }

    /// A message has been recorded.
    #[inline]
    pub(crate) fn recorded(&mut self) {
        self.unexpected += 1;
        self.peak_unexpected = self.peak_unexpected.max(self.unexpected);
    }

    /// A message is recorded no more.
    #[inline]
    pub(crate) fn unrecorded(&mut self) {
        self.unexpected -= 1;
    }
}

/// Collectives that messages can belong to: their tags are 1 to this many.
pub const OPERATIONS: u8 = 8;

/// What a message is for. The two sides of a communication always agree about it, since it follows from what
/// matching compares: a communicator has an even context for the program's messages and the odd one after
/// it for those of its collectives, whose tags say of which.
///
/// Paper 002, section 4.1, has the communicator's size and the message's length among the parameters of a collective,
/// too. The context stands for the communicator, and so for its size. The length is left out: in a wrong program
/// sender and receiver may disagree about it, and what is wrong with their message could never be told if
/// they did not meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The program sends or receives it.
    PointToPoint,
    /// It is part of a collective.
    Collective {
        /// Of which, from 0 on and below [`OPERATIONS`]; `None`: the tag is none of theirs, or a wildcard.
        operation: Option<u8>,
    },
}

impl Kind {
    /// What a message with this envelope, or a receive with this pattern, is for.
    #[inline]
    pub fn of(context: Context, tag: Option<Tag>) -> Kind {
        if context & 1 == 0 {
            return Kind::PointToPoint;
        }
        let number = tag.and_then(|tag| u8::try_from(tag).ok()?.checked_sub(1));
        Kind::Collective {
            operation: number.filter(|&number| number < OPERATIONS),
        }
    }
}

/// An engine's own memory cannot grow: the program's heap has no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom;

/// A matching engine at work.
///
/// Receives and records are stored by the request pool and the MPI memory, which keep links for the engine: a slot
/// those of its queue ([`Links<Slot>`](crate::list::Links) of the pool), a record's block those of its
/// queue and one word more ([`Region::word`]). What an engine needs beside them it allocates in
/// [`new`](MatchingEngine::new) for the records, and in [`reserve`](Matching::reserve) and [`open`](Matching::open), which
/// are called from calls of the program, for the receives. [`probe`](Matching::probe) is called
/// from the program, too, and may take heap to be faster from then on; it does without when there is none. All other
/// methods do not allocate, and none but the first three can fail.
///
/// The operations of MPI are these:
///
/// | operation | calls |
/// |---|---|
/// | a receive starts | [`take`](Matching::take), and [`post`](Matching::post) if there is nothing |
/// | a message arrives | [`arrive`](Matching::arrive); then [`unpost`](Matching::unpost), or [`record`](Matching::record) if it gets a record |
/// | a probe | [`probe`](Matching::probe) |
/// | a matched probe | [`take`](Matching::take) |
/// | a posted receive is cancelled | [`unpost`](Matching::unpost) |
/// | a sender takes a message back, whatever its record | [`find_record`](Matching::find_record), then [`unrecord`](Matching::unrecord) |
/// | a communicator begins and ends | [`open`](Matching::open), [`context_is_idle`](Matching::context_is_idle) |
pub trait Matching: BoxedCopy + fmt::Debug + Send {
    /// What users call it.
    fn name(&self) -> &'static str;

    /// Makes sure that so many receives can be posted at once, out of the heap.
    fn reserve(&mut self, receives: usize) -> Result<(), NoRoom> {
        let _ = receives;
        Ok(())
    }

    /// So many receives can be posted at once, without more of the heap.
    fn has_reserved(&self, receives: usize) -> bool {
        let _ = receives;
        true
    }

    /// A communicator's context is about to be used, out of the heap. Messages of it may have been recorded
    /// before. An engine works for contexts that it has no room for, too, if more slowly.
    fn open(&mut self, requests: &mut RequestPool, region: &mut Region, context: Context) {
        let _ = (requests, region, context);
    }

    /// A receive, in this slot, is posted: its [serial](crate::request::Posted::serial) is higher than that
    /// of every other one.
    fn post(&mut self, requests: &mut RequestPool, slot: Slot);

    /// A posted receive has matched, or is cancelled: it is posted no more.
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot);

    /// The first posted receive that matches `envelope`; it stays posted.
    fn arrive(&mut self, requests: &mut RequestPool, envelope: &Envelope) -> Option<Slot>;

    /// The posted receive that every message is held against before all others; `None`: the engine does not know at once.
    fn first_posted(&self) -> Option<Slot> {
        None
    }

    /// A message has been held against [that receive](Matching::first_posted), which asks for it and is posted no more; what
    /// was linked behind it is `next`. As [`arrive`](Matching::arrive) and [`unpost`](Matching::unpost).
    fn take_first(&mut self, requests: &mut RequestPool, next: Option<Slot>) {
        let _ = (requests, next);
        unreachable!("an engine that knows of no first receive")
    }

    /// A message has been recorded, at `at`.
    fn record(&mut self, region: &mut Region, at: BlockIndex);

    /// The first recorded message that `pattern` asks for; it stays recorded.
    fn probe(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex>;

    /// A recorded message has been matched, or is forgotten: it is in the queue no more.
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex);

    /// The first recorded message of which `is` is true; it stays recorded. For what is asked seldom: an engine may
    /// look at every record.
    fn find_record(&mut self, region: &Region, is: &dyn Fn(&Record) -> bool) -> Option<BlockIndex>;

    /// No receive is posted and no message recorded in this context. Asked before the context is used for another
    /// communicator: when it is true, the engine may let go of what it keeps for it. It may look at every
    /// receive and every record.
    fn context_is_idle(
        &mut self,
        requests: &mut RequestPool,
        region: &mut Region,
        context: Context,
    ) -> bool;

    /// Draws what an engine draws by chance from this seed. Both queues are empty, and the pool has been
    /// [seeded](RequestPool::seed), too.
    fn seed(&mut self, seed: u64) {
        let _ = seed;
    }

    /// Hashes the records in their order of arrival, for a model checker. What the queues do from now on depends
    /// on nothing else, and on the posted receives, which are hashed with the pool.
    fn hash(&self, region: &Region, state: &mut dyn Hasher);

    /// [`measures`](Matching::measures), for what does not go by the queues and is counted as if it did; `None`: all is to go
    /// by the queues.
    fn counts(&mut self) -> Option<&mut Measures> {
        None
    }

    /// How full the queues are, and what searching them has cost.
    fn measures(&self) -> Measures;

    /// Takes the first recorded message that `pattern` asks for out of the queue.
    #[inline]
    fn take(&mut self, region: &mut Region, pattern: &Pattern) -> Option<BlockIndex> {
        let at = self.probe(region, pattern)?;
        self.unrecord(region, at);
        Some(at)
    }
}

/// An engine that can be copied without its type.
pub trait BoxedCopy {
    /// A copy on the heap, for a model checker; `None` when the heap has no room.
    fn boxed_copy(&self) -> Option<Box<dyn Matching>>;
}

impl<E: Matching + Clone + 'static> BoxedCopy for E {
    fn boxed_copy(&self) -> Option<Box<dyn Matching>> {
        let copy = boxed_with(|| self.clone())?;
        Some(copy)
    }
}

/// A kind of matching engine: its name, its memory, and how one is made.
pub trait MatchingEngine: Matching + Clone + Sized + 'static {
    /// What users call it.
    const NAME: &'static str;

    /// Bytes that [`new`](MatchingEngine::new) takes from the heap, for MPI memory of so many blocks of 32 bytes and
    /// a job of so many processes.
    fn fixed_bytes(blocks: usize, peers: usize) -> usize;

    /// Bytes of the heap that an open context takes, with as many processes as that: what
    /// [`open`](Matching::open) asks for. While there are fewer blocks and receives than it could use, it asks for
    /// less.
    fn context_bytes(peers: usize) -> usize {
        let _ = peers;
        0
    }

    /// Bytes of the heap that [`probe`](Matching::probe) asks for at most, once, with so many blocks.
    fn wildcard_bytes(blocks: usize) -> usize {
        let _ = blocks;
        0
    }

    /// Bytes of the heap that [`reserve`](Matching::reserve) asks for, for each receive more, with as many processes as
    /// that.
    fn receive_bytes(peers: usize) -> usize {
        let _ = peers;
        0
    }

    /// An engine for MPI memory of so many blocks, each of which has room for one record, in a job of so many
    /// processes; both queues empty. `None` when the heap does not have
    /// [`fixed_bytes`](MatchingEngine::fixed_bytes).
    fn new(blocks: usize, peers: usize) -> Option<Self>;
}
