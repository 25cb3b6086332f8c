//! Request pool: request slots with the links of the device's queues.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::any::{PoolFull, QUEUE, Request};
use super::chunks::ChunkList;
use super::outcome::{CompletedRequest, PlainCompletion, RequestOutcome};
use super::receive::{MatchedMessage, PostedReceive, ReceiveRequest, ReceiveState};
use super::send::{BcopyBytes, PendingSend, SendData, SendRequest, SendState};
use super::slot::SlotEntry;
use super::table::{HashTable, NEIGHBOURS};
use crate::envelope::{Context, Envelope, MatchPattern, Rank, Tag};
use crate::ids::{BcopyId, GenerationBits, MAX_SLOTS, REQUEST_GENERATION_BITS, RequestId, Slot};
use crate::list::LinkStorage;
use crate::memory::Span;
use crate::queues::{QueueEntry, QueueKind};
use crate::work::count_steps;

/// Slots per chunk, the unit of pool growth.
pub const CHUNK_SLOTS: usize = if cfg!(feature = "micro") { 16 } else { 32 };
/// Slots reserved for blocking calls, so that these still work when the heap is full. Only one such call is active at a
/// time; the maximum is a combined send and receive.
pub const RESERVED_SLOTS: u32 = 2;

/// Hash buckets per chunk: three for four slots, so that a request and its share of the chunk list fit in 64 bytes. At
/// least the number in use from the first request on.
const CHUNK_BUCKETS: usize = if cfg!(feature = "micro") { 16 } else { 24 };
const _: () = assert!(CHUNK_BUCKETS >= NEIGHBOURS as usize);

/// Unit of heap allocation: slots, and buckets of the hash table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PoolChunk {
    entries: [SlotEntry; CHUNK_SLOTS],
    buckets: [Option<Slot>; CHUNK_BUCKETS],
}

/// Maximum bytes of the chunk list per chunk: it is at least half full once it has grown.
const LISTED: usize = 2 * size_of::<usize>();

const _: () = assert!(size_of::<PoolChunk>() + LISTED <= CHUNK_SLOTS * 64 || cfg!(feature = "micro"));

/// Pool of request slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestPool {
    chunks: ChunkList<PoolChunk>,
    pub(super) table: HashTable,
    free: Option<Slot>,
    free_slots: u32,
    /// Minimum of free slots so far, relative to the current number of slots.
    fewest_free: u32,
    /// Free slots that are reserved.
    reserved: u32,
    /// Live requests that the program has detached (MPI_Request_free).
    forgotten: u32,
    limit: u32,
    id_bits: GenerationBits,
}

impl RequestPool {
    /// Creates an empty pool that grows to `limit` slots (at most [`MAX_SLOTS`]).
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(MAX_SLOTS) as u32;
        RequestPool {
            chunks: ChunkList::default(),
            table: HashTable::new(),
            free: None,
            free_slots: 0,
            fewest_free: 0,
            reserved: 0,
            forgotten: 0,
            limit,
            id_bits: GenerationBits::new(REQUEST_GENERATION_BITS),
        }
    }

    /// Reduces the generation bits of request IDs, for a model checker.
    pub(crate) fn narrow_ids(&mut self, bits: u32) {
        self.id_bits = GenerationBits::new(bits.min(REQUEST_GENERATION_BITS));
    }

    /// Heap bytes per slot, including the links and buckets of the matching engine. The chunk list adds up to half a
    /// byte.
    pub const SLOT_BYTES: usize = size_of::<PoolChunk>() / CHUNK_SLOTS;

    /// Returns the number of live requests.
    pub fn live(&self) -> u32 {
        self.slots() as u32 - self.free_slots
    }

    /// Returns the number of live requests that the program has not detached.
    pub fn handle_count(&self) -> u32 {
        self.live() - self.forgotten
    }

    /// Returns the peak of [`RequestPool::live`].
    pub fn peak(&self) -> u32 {
        self.slots() as u32 - self.fewest_free
    }

    /// Returns the number of slots, used and free.
    pub fn slots(&self) -> usize {
        self.chunks.len() * CHUNK_SLOTS
    }

    /// Allocates heap memory until `slots` unreserved slots are free. Returns [`PoolFull`] if the heap or the limit does
    /// not allow it.
    #[inline]
    pub fn grow(&mut self, slots: u32) -> Result<(), PoolFull> {
        let slots = slots + self.reserved;
        if self.free_slots >= slots {
            Ok(())
        } else {
            self.add_chunks(slots)
        }
    }

    /// Checks whether `slots` unreserved slots are free.
    pub(crate) fn has_free(&self, slots: u32) -> bool {
        self.free_slots >= slots + self.reserved
    }

    /// Reserves `slots` free slots, which [`RequestPool::grow`] has provided.
    pub(crate) fn reserve_slots(&mut self, slots: u32) {
        self.reserved += slots;
    }

    /// Releases reserved slots.
    pub(crate) fn put_back(&mut self, slots: u32) {
        self.reserved -= slots;
    }

    #[cold]
    fn add_chunks(&mut self, slots: u32) -> Result<(), PoolFull> {
        while self.free_slots < slots {
            let first = self.slots();
            if first + CHUNK_SLOTS > self.limit as usize {
                return Err(PoolFull);
            }
            let free = self.free;
            count_steps(CHUNK_SLOTS);
            self.chunks.push(|| PoolChunk {
                entries: core::array::from_fn(|i| {
                    SlotEntry::unused(if i + 1 < CHUNK_SLOTS {
                        Some(Slot::new((first + i + 1) as u32))
                    } else {
                        free
                    })
                }),
                buckets: [None; CHUNK_BUCKETS],
            })?;
            self.free = Some(Slot::new(first as u32));
            self.free_slots += CHUNK_SLOTS as u32;
            self.fewest_free += CHUNK_SLOTS as u32;
        }
        Ok(())
    }

    fn entries(&self) -> impl Iterator<Item = &SlotEntry> {
        self.chunks.iter().flat_map(|chunk| chunk.entries.iter())
    }

    /// Returns the number of hash buckets, used and unused.
    pub(super) fn buckets(&self) -> usize {
        self.chunks.len() * CHUNK_BUCKETS
    }

    /// Returns the first request in a hash bucket.
    #[inline]
    pub(super) fn bucket(&self, index: u32) -> Option<Slot> {
        let index = index as usize;
        let chunk = self.chunks.get(index / CHUNK_BUCKETS)?;
        chunk.buckets[index % CHUNK_BUCKETS]
    }

    /// Returns the head of a hash bucket, for writing.
    #[inline]
    pub(super) fn bucket_mut(&mut self, index: u32) -> &mut Option<Slot> {
        let index = index as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_BUCKETS);
        &mut chunk.expect(NO_BUCKET).buckets[index % CHUNK_BUCKETS]
    }

    /// Returns the entry of a slot that is in a list.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    pub(crate) fn listed(&self, slot: Slot) -> &SlotEntry {
        self.entry(slot).expect(NOT_LISTED)
    }

    /// Returns the entry of a slot that is in a list, for writing.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    pub(super) fn listed_mut(&mut self, slot: Slot) -> &mut SlotEntry {
        self.entry_mut(slot).expect(NOT_LISTED)
    }

    /// Returns the pattern of the posted receive in `slot`.
    #[inline]
    pub(crate) fn posted_pattern(&self, slot: Slot) -> MatchPattern {
        self.listed(slot).pattern()
    }

    /// Links the posted receive in `slot` after the last one of its queue. Returns its pattern.
    #[inline]
    pub(crate) fn link_posted(&mut self, slot: Slot, last: Option<Slot>) -> MatchPattern {
        if let Some(last) = last {
            self.listed_mut(last).next[QUEUE] = Some(slot);
        }
        let entry = self.listed_mut(slot);
        (entry.prev[QUEUE], entry.next[QUEUE]) = (last, None);
        entry.pattern()
    }

    /// Returns the pattern of the posted receive in `slot`, and its successor in the queue.
    #[inline]
    pub(crate) fn posted_and_next(&self, slot: Slot) -> (MatchPattern, Option<Slot>) {
        let entry = self.listed(slot);
        (entry.pattern(), entry.next[QUEUE])
    }

    /// Checks whether the posted receive in `slot` matches `envelope`.
    #[inline]
    pub(crate) fn posted_matches(&self, slot: Slot, envelope: &Envelope) -> bool {
        self.posted_pattern(slot).matches(envelope)
    }

    /// Returns the hash of the table key of the request in `slot`.
    pub(super) fn key_hash(&self, slot: Slot) -> u32 {
        match self.as_posted(slot) {
            Some(posted) => self.table.hashes.hash_pattern(&posted.pattern),
            None => self.send_hash(slot),
        }
    }

    /// Checks whether a receive is posted.
    pub(crate) fn has_any_posted(&self) -> bool {
        self.entries().any(|entry| entry.posted().is_some())
    }

    /// Checks whether a receive is posted in this context.
    pub(crate) fn has_posted(&self, context: Context) -> bool {
        self.entries()
            .filter_map(SlotEntry::posted)
            .any(|posted| posted.pattern.context() == context)
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn entry(&self, slot: Slot) -> Option<&SlotEntry> {
        let index = slot.index() as usize;
        let chunk = self.chunks.get(index / CHUNK_SLOTS)?;
        Some(&chunk.entries[index % CHUNK_SLOTS])
    }

    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn entry_mut(&mut self, slot: Slot) -> Option<&mut SlotEntry> {
        let index = slot.index() as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_SLOTS)?;
        Some(&mut chunk.entries[index % CHUNK_SLOTS])
    }

    /// Allocates a free slot for `request`.
    #[cfg_attr(not(feature = "micro"), inline(always))]
    #[cfg_attr(feature = "micro", inline(never))]
    pub fn insert(&mut self, request: Request) -> Result<RequestId, PoolFull> {
        let slot = self.free.ok_or(PoolFull)?;
        let entry = self.entry_mut(slot).ok_or(PoolFull)?;
        let next = entry.fill(request);
        let generation = entry.generation();
        self.free = next;
        self.free_slots -= 1;
        self.fewest_free = self.fewest_free.min(self.free_slots);
        Ok(RequestId::new(slot, generation))
    }

    /// Updates [`RequestPool::peak`] as if one more request were live.
    #[inline]
    pub(crate) fn bump_live_count(&mut self) {
        self.fewest_free = self.fewest_free.min(self.free_slots.saturating_sub(1));
    }

    /// Advances the generation of the next free slot and returns its new ID.
    #[inline]
    pub(crate) fn next_generation(&mut self) -> Option<RequestId> {
        let (slot, bits) = (self.free?, self.id_bits);
        let entry = self.entry_mut(slot)?;
        entry.next_generation(bits);
        Some(RequestId::new(slot, entry.generation()))
    }

    /// Returns the ID of the next request, or `None` if no slot is free.
    pub(crate) fn next_id(&self) -> Option<RequestId> {
        Some(self.id(self.free?))
    }

    /// Returns the ID of the request in `slot`.
    pub fn id(&self, slot: Slot) -> RequestId {
        RequestId::new(slot, self.listed(slot).generation())
    }

    /// Returns the entry of the request `id`, or `None` if the ID is stale.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    pub(crate) fn entry_by_id(&self, id: RequestId) -> Option<&SlotEntry> {
        self.entry(id.slot()).filter(|entry| entry.has_id(id))
    }

    /// Returns the entry of the request `id`, for writing, or `None` if the ID is stale.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn entry_by_id_mut(&mut self, id: RequestId) -> Option<&mut SlotEntry> {
        self.entry_mut(id.slot()).filter(|entry| entry.has_id(id))
    }

    /// Returns the pattern of a request: that of a receive, or of its message once it has matched; for a send, its
    /// destination and tag. Returns `None` if the ID is stale.
    #[inline]
    pub fn pattern(&self, id: RequestId) -> Option<MatchPattern> {
        self.entry_by_id(id).map(SlotEntry::pattern)
    }

    /// Returns the request's context and the program's buffer, or `None` if the ID is stale.
    #[inline]
    pub fn context_and_buffer(&self, id: RequestId) -> Option<(Context, Span)> {
        let entry = self.entry_by_id(id)?;
        Some((entry.context(), entry.buffer()))
    }

    /// Returns the request, or `None` if the ID is stale.
    #[inline]
    pub fn get(&self, id: RequestId) -> Option<Request> {
        self.entry_by_id(id)?.request()
    }

    /// Returns the send, or `None` if the ID is stale.
    #[inline]
    pub fn get_send(&self, id: RequestId) -> Option<SendRequest> {
        self.entry_by_id(id)?.send()
    }

    /// Returns the receive, or `None` if the ID is stale.
    #[inline]
    pub fn get_receive(&self, id: RequestId) -> Option<ReceiveRequest> {
        self.entry_by_id(id)?.receive()
    }

    /// Iterates over the posted receives, in no particular order.
    pub fn posted_receives(&self) -> impl Iterator<Item = PostedReceive> {
        self.entries().filter_map(|entry| match entry.receive()?.state {
            ReceiveState::Posted(posted) => Some(posted),
            _ => None,
        })
    }

    /// Iterates over the receives that no message has matched and the sends that no receive has matched, as far as this
    /// process knows.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = QueueEntry> {
        self.entries().filter_map(|entry| {
            if let Some(send) = entry.send() {
                let is_open = matches!(
                    send.state,
                    SendState::Bcopy | SendState::Pending(_) | SendState::Held(_)
                );
                return is_open.then_some(QueueEntry {
                    kind: QueueKind::PendingSend,
                    is_complete: matches!(send.data, SendData::Bcopy(_)),
                    context: send.context,
                    peer: Some(send.dest),
                    tag: Some(send.tag),
                    bytes: send.length as usize,
                });
            }
            let receive = entry.receive()?;
            let ReceiveState::Posted(PostedReceive { pattern, .. }) = receive.state else {
                return None;
            };
            Some(QueueEntry {
                kind: QueueKind::PostedReceive,
                is_complete: false,
                context: pattern.context(),
                peer: pattern.source(),
                tag: pattern.tag(),
                bytes: receive.span.len(),
            })
        })
    }

    /// Checks whether a send of this context is neither recorded nor matched by its receiver.
    pub(crate) fn has_pending(&self, context: Context) -> bool {
        self.entries()
            .filter(|entry| entry.pending().is_some())
            .any(|entry| entry.context() == context)
    }

    /// Marks a request as owned by a language binding, which frees it after completion. The program has no handle of
    /// it.
    pub(crate) fn disown(&mut self, id: RequestId) {
        if let Some(entry) = self.entry_by_id_mut(id) {
            entry.disown();
        }
    }

    /// Counts the requests of this context for which the program has handles. Checks all requests.
    pub fn count_in_context(&self, context: Context) -> u32 {
        let of_it = |entry: &&SlotEntry| entry.is_owned() && entry.context() == context;
        self.entries().filter(of_it).count() as u32
    }

    /// Checks whether the request has finished. Returns `None` if the ID is stale.
    #[inline]
    pub fn is_done(&self, id: RequestId) -> Option<bool> {
        self.entry_by_id(id).map(SlotEntry::is_done)
    }

    /// Returns the outcome of the request, if it has finished.
    ///
    /// # Panics
    /// If the ID is stale.
    pub fn outcome(&self, id: RequestId) -> Option<RequestOutcome> {
        self.entry_by_id(id).expect("a live request").outcome()
    }

    /// Frees the request if it has finished, and returns its outcome, context and buffer for the language binding.
    /// Returns `Some(None)` if it has not finished, and `None` if the ID is stale.
    #[inline]
    pub(crate) fn take_completed_by_id(&mut self, id: RequestId) -> Option<Option<CompletedRequest>> {
        let (slot, next, bits) = (id.slot(), self.free, self.id_bits);
        let entry = self.entry_by_id_mut(id)?;
        let Some(outcome) = entry.outcome() else {
            return Some(None);
        };
        let concluded = CompletedRequest {
            context: entry.context(),
            buffer: entry.buffer(),
            outcome,
        };
        entry.free(next, bits);
        self.push_free(slot);
        Some(Some(concluded))
    }

    /// Frees the request if it has finished with a [complete](SlotEntry::plain_completion) message. Otherwise returns `None` and
    /// changes nothing.
    #[inline]
    pub(crate) fn take_plain_completed(&mut self, id: RequestId) -> Option<PlainCompletion> {
        let (slot, next, bits) = (id.slot(), self.free, self.id_bits);
        let entry = self.entry_by_id_mut(id)?;
        let whole = entry.plain_completion()?;
        entry.free(next, bits);
        self.push_free(slot);
        Some(whole)
    }

    /// Returns the context and outcome of the request, if it has finished.
    ///
    /// # Panics
    /// If the ID is stale.
    #[inline]
    pub(crate) fn outcome_in_context(&self, id: RequestId) -> Option<(Context, RequestOutcome)> {
        let entry = self.entry_by_id(id).expect("a live request");
        Some((entry.context(), entry.outcome()?))
    }

    /// Frees the request if it has finished, and returns its outcome.
    ///
    /// # Panics
    /// If the ID is stale.
    #[inline(always)]
    pub fn take_completed(&mut self, id: RequestId) -> Option<RequestOutcome> {
        let (slot, next, bits) = (id.slot(), self.free, self.id_bits);
        let entry = self.entry_by_id_mut(id).expect("a live request");
        let outcome = entry.outcome()?;
        entry.free(next, bits);
        self.push_free(slot);
        Some(outcome)
    }

    /// Detaches the request from the program: it is freed now, or when it finishes. A stale ID is ignored.
    #[inline]
    pub fn forget(&mut self, id: RequestId) {
        match self.entry_by_id(id).map(SlotEntry::outcome) {
            Some(Some(_)) => self.free_request(id.slot()),
            Some(None) => self.free_or_forget(id.slot()),
            None => {}
        }
    }

    fn free_or_forget(&mut self, slot: Slot) {
        let entry = self.listed_mut(slot);
        let first = entry.forget();
        self.forgotten += u32::from(first);
    }

    fn free_request(&mut self, slot: Slot) {
        let next = self.free;
        let bits = self.id_bits;
        let entry = self.listed_mut(slot);
        entry.free(next, bits);
        self.push_free(slot);
    }

    /// Adds `slot` to the free list; its entry is already free.
    #[inline]
    fn push_free(&mut self, slot: Slot) {
        self.free = Some(slot);
        self.free_slots += 1;
    }

    /// Completes the send in `slot`, and frees it if the program has detached it. Returns its bcopy, if any.
    #[inline]
    pub(crate) fn finish_send(&mut self, slot: Slot, cancelled: bool) -> Option<BcopyId> {
        let entry = self.listed_mut(slot);
        assert!(entry.is_send(), "{NO_SEND}");
        entry.set_send_state(SendState::Done { cancelled });
        let bcopy = match entry.send_data() {
            SendData::Bcopy(bcopy) => Some(bcopy),
            SendData::User(_) => None,
        };
        if entry.is_forgotten() {
            self.free_forgotten(slot);
        }
        bcopy
    }

    /// Completes the receive in `slot` with this message, and frees it if the program has detached it.
    #[inline]
    pub fn finish_receive(&mut self, slot: Slot, matched: MatchedMessage) {
        self.end_receive(slot, ReceiveState::Done(matched));
    }

    /// Completes the posted receive in `slot` with this message on the fast path. Requires a match, and that the
    /// receive is neither a [matched probe's](RequestPool::is_mprobe), nor awaited by a restart, nor cancelled or detached.
    /// Returns its buffer and its successor in the queue. Otherwise returns `None` and changes nothing.
    #[inline]
    pub(crate) fn finish_posted(&mut self, slot: Slot, matched: &MatchedMessage) -> Option<(Span, Option<Slot>)> {
        let entry = self.listed_mut(slot);
        let span = entry.finish_posted(matched)?;
        Some((span, entry.next[QUEUE]))
    }

    /// Cancels the posted receive in `slot`, and frees it if the program has detached it.
    pub fn cancel_receive(&mut self, slot: Slot) {
        let pattern = self.posted(slot).pattern;
        self.end_receive(slot, ReceiveState::Cancelled(pattern));
    }

    /// Checks whether the program has cancelled the receive in `slot`, which is still posted.
    pub(crate) fn is_cancelled(&self, slot: Slot) -> bool {
        self.listed(slot).is_cancelled()
    }

    /// Marks the posted receive in `slot` as cancelled. It remains posted for now.
    pub(crate) fn mark_cancelled(&mut self, slot: Slot) {
        self.listed_mut(slot).mark_cancelled();
    }

    #[inline(always)]
    fn end_receive(&mut self, slot: Slot, end: ReceiveState) {
        let entry = self.listed_mut(slot);
        assert!(entry.is_receive(), "{NO_RECEIVE}");
        entry.set_receive_state(end);
        if entry.is_forgotten() {
            self.free_forgotten(slot);
        }
    }

    fn free_forgotten(&mut self, slot: Slot) {
        self.forgotten -= 1;
        self.free_request(slot);
    }

    #[inline]
    pub(crate) fn send(&self, slot: Slot) -> SendRequest {
        self.listed(slot).send().expect(NO_SEND)
    }

    #[inline]
    pub(crate) fn set_send_state(&mut self, slot: Slot, state: SendState) {
        let entry = self.listed_mut(slot);
        assert!(entry.is_send(), "{NO_SEND}");
        entry.set_send_state(state);
    }

    /// Returns the pending-queue state of the send in `slot`.
    #[inline]
    pub(crate) fn pending(&self, slot: Slot) -> &PendingSend {
        self.listed(slot).pending().expect(NOT_PENDING)
    }

    /// Returns the pending-queue state of the send in `slot`, for writing.
    #[inline]
    pub(crate) fn pending_mut(&mut self, slot: Slot) -> &mut PendingSend {
        self.listed_mut(slot).pending_mut().expect(NOT_PENDING)
    }

    /// Checks whether the request in `slot` is a pending send to `dest` with this context and tag.
    #[inline]
    pub(crate) fn is_pending_to(&self, slot: Slot, dest: Rank, context: Context, tag: Tag) -> bool {
        self.listed(slot).is_pending_to(dest, context, tag)
    }

    #[inline]
    pub(crate) fn receive(&self, slot: Slot) -> ReceiveRequest {
        self.listed(slot).receive().expect(NO_RECEIVE)
    }

    /// Returns the program's buffer of the receive in `slot`.
    #[inline]
    pub(crate) fn span(&self, slot: Slot) -> Span {
        self.listed(slot).span().expect(NO_RECEIVE)
    }

    /// Returns the program's buffer of the receive in `slot`, or `None` if the receive is a [matched
    /// probe's](RequestPool::is_mprobe).
    #[inline]
    pub(crate) fn open_span(&self, slot: Slot) -> Option<Span> {
        let entry = self.listed(slot);
        if entry.is_mprobe() { None } else { entry.span() }
    }

    #[inline]
    pub(crate) fn set_receive_state(&mut self, slot: Slot, state: ReceiveState) {
        let entry = self.listed_mut(slot);
        assert!(entry.is_receive(), "{NO_RECEIVE}");
        entry.set_receive_state(state);
    }

    /// Counts received bytes of a long message for the receive `id`. Returns its buffer, and the message once it is
    /// complete. Returns `None` if these bytes are not expected.
    #[inline]
    pub(crate) fn begin_receive(
        &mut self,
        id: RequestId,
        offset: u32,
        len: usize,
    ) -> Option<(Span, Option<MatchedMessage>)> {
        let entry = self.entry_by_id_mut(id)?;
        entry.begin_receive(offset, len)
    }

    /// Returns the posted receive in `slot`.
    #[inline]
    pub fn posted(&self, slot: Slot) -> PostedReceive {
        self.as_posted(slot).expect(NOT_POSTED)
    }

    /// Returns the receive in `slot` if it is posted.
    #[inline]
    pub(crate) fn as_posted(&self, slot: Slot) -> Option<PostedReceive> {
        self.listed(slot).posted()
    }

    /// Checks whether the receive in `slot` belongs to a matched probe, so that its message waits for a buffer.
    #[inline]
    pub(crate) fn is_mprobe(&self, slot: Slot) -> bool {
        self.listed(slot).is_mprobe()
    }

    /// Marks the receive in `slot` as belonging to a matched probe.
    pub(crate) fn mark_mprobe(&mut self, slot: Slot) {
        self.listed_mut(slot).mark_mprobe();
    }

    /// Sets the buffer of a matched probe's receive in `slot`.
    pub(crate) fn set_target_buffer(&mut self, slot: Slot, span: Span) {
        self.listed_mut(slot).set_target_buffer(span);
    }

    /// Sets whether the posted receive in `slot` must be listed in the next restart. Returns the previous value.
    #[inline]
    pub(crate) fn set_needs_listing(&mut self, slot: Slot, needs_listing: bool) -> bool {
        let needs_listing_flag = self.listed_mut(slot).needs_listing_mut();
        core::mem::replace(needs_listing_flag.expect(NOT_POSTED), needs_listing)
    }
}

/// Hash value of a cancelled receive that is still posted.
const CANCELLED_MARK: u8 = 0xCA;

const NO_BUCKET: &str = "a bucket that is in use";
const NOT_LISTED: &str = "a listed slot";
const NO_SEND: &str = "a queued send";
const NOT_PENDING: &str = "a pending send";
const NO_RECEIVE: &str = "a queued receive";
const NOT_POSTED: &str = "a posted receive";

impl RequestPool {
    /// Hashes the state that determines the pool's behavior, up to the IDs of sends. It depends on live slots only:
    /// counters and the free list are not hashed. A finished request has no further effect; the program knows its
    /// outcome. Pending messages are hashed with their destination, and bcopies through `copy`.
    pub(crate) fn hash<'a, H: Hasher>(&self, copy: impl BcopyBytes<'a>, state: &mut H) {
        // Sends outside queues have no order.
        let mut sends: Vec<SendRequest> = Vec::new();
        for (entry, index) in self.entries().zip(0u32..) {
            if let Some(send) = entry.send() {
                if let SendState::Held(_) | SendState::Sending(_) | SendState::Streaming = send.state {
                    sends.push(send);
                }
                continue;
            }
            let Some(receive) = entry.receive() else {
                continue;
            };
            // Serials determine the order of posted receives.
            match receive.state {
                ReceiveState::Done(_) | ReceiveState::Cancelled(_) => {}
                ReceiveState::Posted(_) | ReceiveState::Matched(..) => {
                    let forgotten = entry.is_forgotten();
                    (index, entry.generation(), forgotten, receive).hash(state);
                    if entry.is_cancelled() {
                        CANCELLED_MARK.hash(state);
                    }
                }
            }
        }
        let key = |send: &SendRequest| match send.data {
            SendData::User(span) => (span.address(), None),
            SendData::Bcopy(bcopy) => (0, Some(copy(bcopy))),
        };
        sends.sort_by_key(key);
        for send in sends {
            send.hash(copy, state);
        }
    }

    /// Hashes the order of a queue of receives from `first` on.
    pub(crate) fn hash_order<H: Hasher>(&self, first: Option<Slot>, state: &mut H) {
        let mut next = first;
        while let Some(slot) = next {
            slot.hash(state);
            next = self.next_in::<QUEUE>(slot);
        }
        None::<Slot>.hash(state);
    }

    /// Hashes the sends of a queue from `first` on.
    pub(crate) fn hash_queue<'a, H: Hasher>(&self, first: Option<Slot>, copy: impl BcopyBytes<'a>, state: &mut H) {
        let mut next = first;
        while let Some(slot) = next {
            self.send(slot).hash(copy, state);
            next = self.next_in::<QUEUE>(slot);
        }
        None::<Slot>.hash(state);
    }
}

impl RequestPool {
    pub(crate) fn links<const LIST: usize>(&mut self) -> ListLinks<'_, LIST> {
        ListLinks(self)
    }

    /// Returns the successor of `slot` in list `LIST`.
    pub(crate) fn next_in<const LIST: usize>(&self, slot: Slot) -> Option<Slot> {
        self.listed(slot).next[LIST]
    }

    /// Returns the predecessor of `slot` in list `LIST`.
    pub(crate) fn prev_in<const LIST: usize>(&self, slot: Slot) -> Option<Slot> {
        self.listed(slot).prev[LIST]
    }
}

/// The pool's slots as members of one kind of list.
pub(crate) struct ListLinks<'a, const LIST: usize>(&'a mut RequestPool);

impl<const LIST: usize> LinkStorage<Slot> for ListLinks<'_, LIST> {
    fn next(&self, at: Slot) -> Option<Slot> {
        self.0.next_in::<LIST>(at)
    }
    fn set_next(&mut self, at: Slot, next: Option<Slot>) {
        self.0.listed_mut(at).next[LIST] = next;
    }
    fn set_prev(&mut self, at: Slot, prev: Option<Slot>) {
        self.0.listed_mut(at).prev[LIST] = prev;
    }
    fn neighbours(&self, at: Slot) -> (Option<Slot>, Option<Slot>) {
        let entry = self.0.listed(at);
        (entry.prev[LIST], entry.next[LIST])
    }
    fn set_neighbours(&mut self, at: Slot, prev: Option<Slot>, next: Option<Slot>) {
        let entry = self.0.listed_mut(at);
        (entry.prev[LIST], entry.next[LIST]) = (prev, next);
    }
}

impl LinkStorage<Slot> for RequestPool {
    fn next(&self, at: Slot) -> Option<Slot> {
        self.next_in::<QUEUE>(at)
    }
    fn set_next(&mut self, at: Slot, next: Option<Slot>) {
        self.links::<QUEUE>().set_next(at, next);
    }
    fn set_prev(&mut self, at: Slot, prev: Option<Slot>) {
        self.links::<QUEUE>().set_prev(at, prev);
    }
    fn neighbours(&self, at: Slot) -> (Option<Slot>, Option<Slot>) {
        let entry = self.listed(at);
        (entry.prev[QUEUE], entry.next[QUEUE])
    }
    fn set_neighbours(&mut self, at: Slot, prev: Option<Slot>, next: Option<Slot>) {
        self.links::<QUEUE>().set_neighbours(at, prev, next);
    }
}
