//! What the device asks of a matching engine.
#![forbid(unsafe_code)]

use core::hash::Hasher;

use crate::device::envelope::{Context, Envelope, Pattern};
use crate::device::memory::region::{Record, Region};
use crate::device::names::{BlockIndex, Slot};
use crate::device::request::RequestPool;

/// How full the queues are, and what searching them has cost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Measures {
    /// Posted receives.
    pub posted: u32,
    /// The most receives ever posted at once.
    pub peak_posted: u32,
    /// Unexpected messages recorded and not yet matched.
    pub unexpected: u32,
    /// Entries of queues and tables looked at by all searches.
    pub traversals: u64,
}

/// A matching engine.
pub trait Matching {
    /// Bytes of memory of its own for each block of the MPI memory, which has room for one record.
    const BYTES_PER_BLOCK: usize;

    /// An engine for MPI memory of so many blocks, both queues empty; `None` when the heap does not have
    /// [`BYTES_PER_BLOCK`](Matching::BYTES_PER_BLOCK) for each.
    fn new(blocks: usize) -> Option<Self>
    where
        Self: Sized;

    /// A receive, in this slot, is posted.
    fn post(&mut self, requests: &mut RequestPool, slot: Slot);

    /// A posted receive has matched, or is cancelled: it is posted no more.
    fn unpost(&mut self, requests: &mut RequestPool, slot: Slot);

    /// The first posted receive that matches `envelope`; it stays posted.
    fn arrive(&mut self, requests: &RequestPool, envelope: &Envelope) -> Option<Slot>;

    /// A message has been recorded, at `at`.
    fn record(&mut self, region: &mut Region, at: BlockIndex);

    /// The first recorded message that `pattern` asks for; it stays recorded.
    fn probe(&mut self, region: &Region, pattern: &Pattern) -> Option<BlockIndex>;

    /// A recorded message has been matched, or is forgotten: it is in the queue no more.
    fn unrecord(&mut self, region: &mut Region, at: BlockIndex);

    /// The first recorded message of which `is` is true; it stays recorded. For what is asked seldom: an
    /// engine may look at every record.
    fn find_record(&mut self, region: &Region, is: impl Fn(&Record) -> bool) -> Option<BlockIndex>;

    /// No receive is posted and no message recorded in this context. Asked before the context is used for another
    /// communicator: when it is true, the engine may let go of what it keeps for it. It may look at every
    /// receive and every record.
    fn context_is_idle(
        &mut self,
        requests: &RequestPool,
        region: &Region,
        context: Context,
    ) -> bool;

    /// Hashes the queues for a model checker, without the measures: what they do from now on depends on
    /// nothing else.
    fn hash<H: Hasher>(&self, region: &Region, state: &mut H);

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
