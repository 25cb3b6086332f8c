//! The pool of requests, which have their links for the device's queues beside them.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::any::{Full, QUEUE, Request};
use super::chunks::Chunks;
use super::outcome::{Concluded, Outcome, Whole};
use super::receive::{Matched, Posted, Receive, ReceiveState};
use super::send::{Copies, Data, PendingSend, Send, SendState};
use super::slot::SlotEntry;
use super::table::{NEIGHBOURS, Table};
use crate::envelope::{Context, Envelope, Pattern, Rank, Tag};
use crate::list::Links;
use crate::memory::Span;
use crate::names::{BcopyId, GenerationBits, MAX_SLOTS, REQUEST_GENERATION_BITS, RequestId, Slot};
use crate::work::did;

/// Slots that the pool grows by at a time.
pub const CHUNK_SLOTS: usize = if cfg!(feature = "micro") { 16 } else { 32 };
/// Slots that are kept for calls that block, so that these go on when the heap is used up. There is one at
/// a time; the greediest sends and receives.
pub const KEPT_SLOTS: u32 = 2;

/// Buckets that come with a chunk: three for four slots, so that a request and its share of the chunks' list stay
/// within 64 bytes; at least those in use from the first request on.
const CHUNK_BUCKETS: usize = if cfg!(feature = "micro") { 16 } else { 24 };
const _: () = assert!(CHUNK_BUCKETS >= NEIGHBOURS as usize);

/// Slots that the heap gives at a time, and buckets of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Chunk {
    entries: [SlotEntry; CHUNK_SLOTS],
    buckets: [Option<Slot>; CHUNK_BUCKETS],
}

/// What the list of chunks takes for a slot, at most: it is at least half full once it has grown.
const LISTED: usize = 2 * size_of::<usize>();

const _: () = assert!(size_of::<Chunk>() + LISTED <= CHUNK_SLOTS * 64 || cfg!(feature = "micro"));

/// The pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestPool {
    chunks: Chunks<Chunk>,
    pub(super) table: Table,
    free: Option<Slot>,
    free_slots: u32,
    /// The fewest slots ever free at once, of as many as there are now.
    fewest_free: u32,
    /// Free slots that are reserved.
    reserved: u32,
    /// Live requests that the program has given up.
    forgotten: u32,
    limit: u32,
    name_bits: GenerationBits,
}

impl RequestPool {
    /// A pool with no slots that grows to `limit` slots (at most [`MAX_SLOTS`]).
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(MAX_SLOTS) as u32;
        RequestPool {
            chunks: Chunks::default(),
            table: Table::new(),
            free: None,
            free_slots: 0,
            fewest_free: 0,
            reserved: 0,
            forgotten: 0,
            limit,
            name_bits: GenerationBits::new(REQUEST_GENERATION_BITS),
        }
    }

    /// Names requests with fewer bits of generation, for a model checker.
    pub(crate) fn narrow_names(&mut self, bits: u32) {
        self.name_bits = GenerationBits::new(bits.min(REQUEST_GENERATION_BITS));
    }

    /// Bytes of the program's heap that a slot takes, links and buckets of the matching engine included. The list of
    /// chunks takes up to half a byte more.
    pub const SLOT_BYTES: usize = size_of::<Chunk>() / CHUNK_SLOTS;

    /// Live requests.
    pub fn live(&self) -> u32 {
        self.slots() as u32 - self.free_slots
    }

    /// Live requests that the program has not given up.
    pub fn named(&self) -> u32 {
        self.live() - self.forgotten
    }

    /// The most requests ever live at once.
    pub fn peak(&self) -> u32 {
        self.slots() as u32 - self.fewest_free
    }

    /// Slots, used and free.
    pub fn slots(&self) -> usize {
        self.chunks.len() * CHUNK_SLOTS
    }

    /// Makes sure that `slots` slots are free beside those reserved, out of the heap; [`Full`] when heap or
    /// limit do not allow it.
    #[inline]
    pub fn grow(&mut self, slots: u32) -> Result<(), Full> {
        let slots = slots + self.reserved;
        match self.free_slots >= slots {
            true => Ok(()),
            false => self.add_chunks(slots),
        }
    }

    /// So many slots are free beside those reserved.
    pub(crate) fn has_free(&self, slots: u32) -> bool {
        self.free_slots >= slots + self.reserved
    }

    /// Reserves `slots` free slots, which [`RequestPool::grow`] has found.
    pub(crate) fn reserve_slots(&mut self, slots: u32) {
        self.reserved += slots;
    }

    /// Gives back slots that were reserved.
    pub(crate) fn put_back(&mut self, slots: u32) {
        self.reserved -= slots;
    }

    #[cold]
    fn add_chunks(&mut self, slots: u32) -> Result<(), Full> {
        while self.free_slots < slots {
            let first = self.slots();
            if first + CHUNK_SLOTS > self.limit as usize {
                return Err(Full);
            }
            let free = self.free;
            did(CHUNK_SLOTS);
            self.chunks.push(|| Chunk {
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

    /// Buckets of the table, used and unused.
    pub(super) fn buckets(&self) -> usize {
        self.chunks.len() * CHUNK_BUCKETS
    }

    /// The first request in this bucket of the table.
    #[inline]
    pub(super) fn bucket(&self, index: u32) -> Option<Slot> {
        let index = index as usize;
        let chunk = self.chunks.get(index / CHUNK_BUCKETS)?;
        chunk.buckets[index % CHUNK_BUCKETS]
    }

    /// As [`RequestPool::bucket`], to change it.
    #[inline]
    pub(super) fn bucket_mut(&mut self, index: u32) -> &mut Option<Slot> {
        let index = index as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_BUCKETS);
        &mut chunk.expect(NO_BUCKET).buckets[index % CHUNK_BUCKETS]
    }

    /// The slot's entry, which is in a list.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    pub(crate) fn listed(&self, slot: Slot) -> &SlotEntry {
        self.entry(slot).expect(NOT_LISTED)
    }

    /// As [`RequestPool::listed`], to change it.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    pub(super) fn listed_mut(&mut self, slot: Slot) -> &mut SlotEntry {
        self.entry_mut(slot).expect(NOT_LISTED)
    }

    /// The pattern of the posted receive in `slot`.
    #[inline]
    pub(crate) fn posted_pattern(&self, slot: Slot) -> Pattern {
        self.listed(slot).pattern()
    }

    /// Links the posted receive in `slot` behind the last one of its queue; its pattern.
    #[inline]
    pub(crate) fn link_posted(&mut self, slot: Slot, last: Option<Slot>) -> Pattern {
        if let Some(last) = last {
            self.listed_mut(last).next[QUEUE] = Some(slot);
        }
        let entry = self.listed_mut(slot);
        (entry.prev[QUEUE], entry.next[QUEUE]) = (last, None);
        entry.pattern()
    }

    /// As [`RequestPool::posted_pattern`], and the slot after it in its queue.
    #[inline]
    pub(crate) fn posted_and_next(&self, slot: Slot) -> (Pattern, Option<Slot>) {
        let entry = self.listed(slot);
        (entry.pattern(), entry.next[QUEUE])
    }

    /// The posted receive in `slot` matches `envelope`.
    #[inline]
    pub(crate) fn posted_matches(&self, slot: Slot, envelope: &Envelope) -> bool {
        self.posted_pattern(slot).matches(envelope)
    }

    /// The hash of the key under which the request in `slot` is entered in the table.
    pub(super) fn key_hash(&self, slot: Slot) -> u32 {
        match self.as_posted(slot) {
            Some(posted) => self.table.hashes.of(&posted.pattern),
            None => self.send_hash(slot),
        }
    }

    /// A receive is posted.
    pub(crate) fn has_any_posted(&self) -> bool {
        self.entries().any(|entry| entry.posted().is_some())
    }

    /// A receive is posted in this context.
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

    /// Takes a free slot for `request`.
    #[cfg_attr(not(feature = "micro"), inline(always))]
    #[cfg_attr(feature = "micro", inline(never))]
    pub fn insert(&mut self, request: Request) -> Result<RequestId, Full> {
        let slot = self.free.ok_or(Full)?;
        let entry = self.entry_mut(slot).ok_or(Full)?;
        let next = entry.take(request);
        let generation = entry.generation();
        self.free = next;
        self.free_slots -= 1;
        self.fewest_free = self.fewest_free.min(self.free_slots);
        Ok(RequestId::new(slot, generation))
    }

    /// One more request has been live than there are.
    #[inline]
    pub(crate) fn count_one_more(&mut self) {
        self.fewest_free = self.fewest_free.min(self.free_slots.saturating_sub(1));
    }

    /// The next request will have another name than it would have had: that.
    #[inline]
    pub(crate) fn pass_name(&mut self) -> Option<RequestId> {
        let (slot, bits) = (self.free?, self.name_bits);
        let entry = self.entry_mut(slot)?;
        entry.pass_name(bits);
        Some(RequestId::new(slot, entry.generation()))
    }

    /// The name that the next request will have; `None` when no slot is free.
    pub(crate) fn next_id(&self) -> Option<RequestId> {
        Some(self.id(self.free?))
    }

    /// The name of the request in `slot`.
    pub fn id(&self, slot: Slot) -> RequestId {
        RequestId::new(slot, self.listed(slot).generation())
    }

    /// The slot's entry that `id` names; `None` when it names none (any more).
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    pub(crate) fn named_entry(&self, id: RequestId) -> Option<&SlotEntry> {
        self.entry(id.slot()).filter(|entry| entry.is(id))
    }

    /// As [`RequestPool::named_entry`], to change it.
    #[cfg_attr(not(feature = "micro"), inline)]
    #[cfg_attr(feature = "micro", inline(never))]
    fn named_entry_mut(&mut self, id: RequestId) -> Option<&mut SlotEntry> {
        self.entry_mut(id.slot()).filter(|entry| entry.is(id))
    }

    /// The pattern of the receive that `id` names: what it asks for, or has matched; of a send, its destination and tag. `None`
    /// when it names none (any more).
    #[inline]
    pub fn pattern(&self, id: RequestId) -> Option<Pattern> {
        self.named_entry(id).map(SlotEntry::pattern)
    }

    /// The context of the request that `id` names, and the program's buffer; `None` when it names none (any more).
    #[inline]
    pub fn context_and_buffer(&self, id: RequestId) -> Option<(Context, Span)> {
        let entry = self.named_entry(id)?;
        Some((entry.context(), entry.buffer()))
    }

    /// The request that `id` names; `None` when it names none (any more).
    #[inline]
    pub fn get(&self, id: RequestId) -> Option<Request> {
        self.named_entry(id)?.request()
    }

    /// The send that `id` names; `None` when it names none (any more).
    #[inline]
    pub fn get_send(&self, id: RequestId) -> Option<Send> {
        self.named_entry(id)?.send()
    }

    /// The receive that `id` names; `None` when it names none (any more).
    #[inline]
    pub fn get_receive(&self, id: RequestId) -> Option<Receive> {
        self.named_entry(id)?.receive()
    }

    /// A send of this context has not been recorded or matched by its receiver yet.
    pub(crate) fn has_pending(&self, context: Context) -> bool {
        self.entries()
            .filter(|entry| entry.pending().is_some())
            .any(|entry| entry.context() == context)
    }

    /// The program has no handle of this request: somebody else frees it.
    pub(crate) fn disown(&mut self, id: RequestId) {
        if let Some(entry) = self.named_entry_mut(id) {
            entry.disown();
        }
    }

    /// Requests of this context of which the program has handles. Looks at all requests.
    pub fn count_in(&self, context: Context) -> u32 {
        let of_it = |entry: &&SlotEntry| entry.is_owned() && entry.context() == context;
        self.entries().filter(of_it).count() as u32
    }

    /// The request that `id` names has finished; `None` when it names none (any more).
    #[inline]
    pub fn is_done(&self, id: RequestId) -> Option<bool> {
        self.named_entry(id).map(SlotEntry::is_done)
    }

    /// How the request that `id` names ended, if it has finished.
    ///
    /// # Panics
    /// When `id` names none (any more).
    pub fn outcome(&self, id: RequestId) -> Option<Outcome> {
        self.named_entry(id).expect("a live request").outcome()
    }

    /// As [`RequestPool::conclude`], with what its binding has of the request; `None` inside: it has not finished.
    /// `None`: `id` names none (any more).
    #[inline]
    pub(crate) fn conclude_named(&mut self, id: RequestId) -> Option<Option<Concluded>> {
        let (slot, next, bits) = (id.slot(), self.free, self.name_bits);
        let entry = self.named_entry_mut(id)?;
        let Some(outcome) = entry.outcome() else {
            return Some(None);
        };
        let concluded = Concluded {
            context: entry.context(),
            buffer: entry.buffer(),
            outcome,
        };
        entry.free(next, bits);
        self.freed(slot);
        Some(Some(concluded))
    }

    /// As [`RequestPool::conclude_named`], of a request that has finished with a [whole](SlotEntry::whole) message. `None`:
    /// nothing has changed.
    #[inline]
    pub(crate) fn conclude_whole(&mut self, id: RequestId) -> Option<Whole> {
        let (slot, next, bits) = (id.slot(), self.free, self.name_bits);
        let entry = self.named_entry_mut(id)?;
        let whole = entry.whole()?;
        entry.free(next, bits);
        self.freed(slot);
        Some(whole)
    }

    /// As [`RequestPool::outcome`], with the request's context.
    ///
    /// # Panics
    /// As [`RequestPool::outcome`].
    #[inline]
    pub(crate) fn outcome_in_context(&self, id: RequestId) -> Option<(Context, Outcome)> {
        let entry = self.named_entry(id).expect("a live request");
        Some((entry.context(), entry.outcome()?))
    }

    /// If the request that `id` names has finished, frees it and says how it ended.
    ///
    /// # Panics
    /// When `id` names none (any more).
    #[inline(always)]
    pub fn conclude(&mut self, id: RequestId) -> Option<Outcome> {
        let (slot, next, bits) = (id.slot(), self.free, self.name_bits);
        let entry = self.named_entry_mut(id).expect("a live request");
        let outcome = entry.outcome()?;
        entry.free(next, bits);
        self.freed(slot);
        Some(outcome)
    }

    /// The program gives up the request that `id` names: frees it, now or when it has finished. One that
    /// is not there any more is left at that.
    #[inline]
    pub fn forget(&mut self, id: RequestId) {
        match self.named_entry(id).map(SlotEntry::outcome) {
            Some(Some(_)) => self.free_request(id.slot()),
            Some(None) => self.give_up(id.slot()),
            None => {}
        }
    }

    fn give_up(&mut self, slot: Slot) {
        let entry = self.listed_mut(slot);
        let first = entry.forget();
        self.forgotten += u32::from(first);
    }

    fn free_request(&mut self, slot: Slot) {
        let next = self.free;
        let bits = self.name_bits;
        let entry = self.listed_mut(slot);
        entry.free(next, bits);
        self.freed(slot);
    }

    /// The entry in `slot` has become free.
    #[inline]
    fn freed(&mut self, slot: Slot) {
        self.free = Some(slot);
        self.free_slots += 1;
    }

    /// The send in `slot` has finished; frees it if the program has given it up. Returns the bcopy that it was.
    #[inline]
    pub(crate) fn finish_send(&mut self, slot: Slot, cancelled: bool) -> Option<BcopyId> {
        let entry = self.listed_mut(slot);
        assert!(entry.is_send(), "{NO_SEND}");
        entry.set_send_state(SendState::Done { cancelled });
        let bcopy = match entry.send_data() {
            Data::Bcopy(bcopy) => Some(bcopy),
            Data::User(_) => None,
        };
        if entry.is_forgotten() {
            self.free_forgotten(slot);
        }
        bcopy
    }

    /// The receive in `slot` has finished, with this message; frees it if the program has given it up.
    #[inline]
    pub(crate) fn finish_receive(&mut self, slot: Slot, matched: Matched) {
        self.end_receive(slot, ReceiveState::Done(matched));
    }

    /// The posted receive in `slot` has finished with this message, if it asks for it and that is all there is to it (it
    /// neither [holds](RequestPool::holds) what it matches, nor has a restart to name it, nor has the program given it up):
    /// its buffer, and the slot behind it in its queue. `None`: nothing has changed.
    #[inline]
    pub(crate) fn finish_posted(
        &mut self,
        slot: Slot,
        matched: &Matched,
    ) -> Option<(Span, Option<Slot>)> {
        let entry = self.listed_mut(slot);
        let span = entry.finish_posted(matched)?;
        Some((span, entry.next[QUEUE]))
    }

    /// The posted receive in `slot` is cancelled; frees it if the program has given it up.
    pub fn cancel_receive(&mut self, slot: Slot) {
        let pattern = self.posted(slot).pattern;
        self.end_receive(slot, ReceiveState::Cancelled(pattern));
    }

    /// The program has cancelled the posted receive in `slot`, which is still posted.
    pub(crate) fn is_cancelled(&self, slot: Slot) -> bool {
        self.listed(slot).is_cancelled()
    }

    /// The program has cancelled the posted receive in `slot`, which stays posted for now.
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

    /// The send in `slot`, which one of the device's own queues names.
    #[inline]
    pub(crate) fn send(&self, slot: Slot) -> Send {
        self.listed(slot).send().expect(NO_SEND)
    }

    /// Where the send in `slot` stands from now on.
    #[inline]
    pub(crate) fn set_send_state(&mut self, slot: Slot, state: SendState) {
        let entry = self.listed_mut(slot);
        assert!(entry.is_send(), "{NO_SEND}");
        entry.set_send_state(state);
    }

    /// The send in `slot`, which is in a pending send queue.
    #[inline]
    pub(crate) fn pending(&self, slot: Slot) -> &PendingSend {
        self.listed(slot).pending().expect(NOT_PENDING)
    }

    /// As [`RequestPool::pending`], to change it.
    #[inline]
    pub(crate) fn pending_mut(&mut self, slot: Slot) -> &mut PendingSend {
        self.listed_mut(slot).pending_mut().expect(NOT_PENDING)
    }

    /// The request in `slot` is a pending send to `dest` in this context with this tag.
    #[inline]
    pub(crate) fn is_pending_to(&self, slot: Slot, dest: Rank, context: Context, tag: Tag) -> bool {
        self.listed(slot).is_pending_to(dest, context, tag)
    }

    /// The receive in `slot`, which one of the device's own queues names.
    #[inline]
    pub(crate) fn receive(&self, slot: Slot) -> Receive {
        self.listed(slot).receive().expect(NO_RECEIVE)
    }

    /// The program's buffer of the receive in `slot`.
    #[inline]
    pub(crate) fn span(&self, slot: Slot) -> Span {
        self.listed(slot).span().expect(NO_RECEIVE)
    }

    /// As [`RequestPool::span`]; `None`: the receive [holds](RequestPool::holds) what it matches.
    #[inline]
    pub(crate) fn open_span(&self, slot: Slot) -> Option<Span> {
        let entry = self.listed(slot);
        match entry.holds() {
            true => None,
            false => entry.span(),
        }
    }

    /// Where the receive in `slot` stands from now on.
    #[inline]
    pub(crate) fn set_receive_state(&mut self, slot: Slot, state: ReceiveState) {
        let entry = self.listed_mut(slot);
        assert!(entry.is_receive(), "{NO_RECEIVE}");
        entry.set_receive_state(state);
    }

    /// Counts what comes of a long message into the buffer of the receive that `id` names: that buffer, and the message
    /// once it is whole. `None`: no such bytes can come.
    #[inline]
    pub(crate) fn land(
        &mut self,
        id: RequestId,
        offset: u32,
        len: usize,
    ) -> Option<(Span, Option<Matched>)> {
        let entry = self.named_entry_mut(id)?;
        entry.land(offset, len)
    }

    /// The receive in `slot`, which is in the posted receive queue.
    #[inline]
    pub(crate) fn posted(&self, slot: Slot) -> Posted {
        self.as_posted(slot).expect(NOT_POSTED)
    }

    /// The posted receive in `slot`, if that is one.
    #[inline]
    pub(crate) fn as_posted(&self, slot: Slot) -> Option<Posted> {
        self.listed(slot).posted()
    }

    /// The receive in `slot` is for a matched probe, and holds what it matches.
    #[inline]
    pub(crate) fn holds(&self, slot: Slot) -> bool {
        self.listed(slot).holds()
    }

    /// The receive in `slot` is for a matched probe, and holds what it matches.
    pub(crate) fn hold(&mut self, slot: Slot) {
        self.listed_mut(slot).hold();
    }

    /// The receive in `slot` holds its message no longer, which goes to `span`.
    pub(crate) fn aim(&mut self, slot: Slot, span: Span) {
        self.listed_mut(slot).aim(span);
    }

    /// A restart has still to name the posted receive in `slot`, or none has. What was true before.
    #[inline]
    pub(crate) fn set_to_name(&mut self, slot: Slot, to_name: bool) -> bool {
        let is_to_name = self.listed_mut(slot).is_to_name();
        core::mem::replace(is_to_name.expect(NOT_POSTED), to_name)
    }
}

/// What a cancelled receive that is still posted adds to the hash.
const CANCELLED_MARK: u8 = 0xCA;

const NO_BUCKET: &str = "a bucket that is in use";
const NOT_LISTED: &str = "a listed slot";
const NO_SEND: &str = "a queued send";
const NOT_PENDING: &str = "a pending send";
const NO_RECEIVE: &str = "a queued receive";
const NOT_POSTED: &str = "a posted receive";

impl RequestPool {
    /// Hashes what the pool does from now on, up to the names that it gives to sends: that depends on its live
    /// slots only, so neither measures nor the free list are hashed. A finished request does nothing any
    /// more; how it ended is what the program has been told. Pending messages are hashed with their
    /// destination, and bcopies are the `copies`.
    pub(crate) fn hash<'a, H: Hasher>(&self, copy: impl Copies<'a>, state: &mut H) {
        // Sends that are in no queue stand anywhere.
        let mut sends: Vec<Send> = Vec::new();
        for (entry, index) in self.entries().zip(0u32..) {
            if let Some(send) = entry.send() {
                if let SendState::Held(_) | SendState::Sending(_) | SendState::Streaming =
                    send.state
                {
                    sends.push(send);
                }
                continue;
            }
            let Some(receive) = entry.receive() else {
                continue;
            };
            // The order of posted receives is that of their serials.
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
        let key = |send: &Send| match send.data {
            Data::User(span) => (span.address(), None),
            Data::Bcopy(bcopy) => (0, Some(copy(bcopy))),
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
    pub(crate) fn hash_queue<'a, H: Hasher>(
        &self,
        first: Option<Slot>,
        copy: impl Copies<'a>,
        state: &mut H,
    ) {
        let mut next = first;
        while let Some(slot) = next {
            self.send(slot).hash(copy, state);
            next = self.next_in::<QUEUE>(slot);
        }
        None::<Slot>.hash(state);
    }
}

impl RequestPool {
    /// The pool's links of list `LIST`.
    pub(crate) fn links<const LIST: usize>(&mut self) -> ListLinks<'_, LIST> {
        ListLinks(self)
    }

    /// The slot after `slot` in list `LIST`.
    pub(crate) fn next_in<const LIST: usize>(&self, slot: Slot) -> Option<Slot> {
        self.listed(slot).next[LIST]
    }

    /// The slot before `slot` in list `LIST`.
    pub(crate) fn prev_in<const LIST: usize>(&self, slot: Slot) -> Option<Slot> {
        self.listed(slot).prev[LIST]
    }
}

/// The pool's slots as members of one kind of list.
pub(crate) struct ListLinks<'a, const LIST: usize>(&'a mut RequestPool);

impl<const LIST: usize> Links<Slot> for ListLinks<'_, LIST> {
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

impl Links<Slot> for RequestPool {
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
