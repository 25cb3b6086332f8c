//! The pool of requests, which have their links for the device's queues beside them.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::keyed::Table;
use super::outcome::Outcome;
use super::receive::{Matched, Posted, Receive, ReceiveState};
use super::send::{Copies, Data, PendingSend, Send, SendState};
use crate::device::envelope::{Context, Pattern};
use crate::device::list::Links;
use crate::device::names::{
    BcopyId, Generation, GenerationBits, MAX_SLOTS, REQUEST_GENERATION_BITS, RequestId, Slot,
};

/// Slots that the pool grows by at a time.
pub const CHUNK_SLOTS: usize = 32;
/// Slots that are kept for calls that block, so that these go on when the heap is used up. There is one at
/// a time; the greediest sends and receives.
pub const KEPT_SLOTS: u32 = 2;

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A send.
    Send(Send),
    /// A receive.
    Receive(Receive),
}

impl Request {
    /// Whom and what it is for: a send's destination, tag and context; what a receive asks for, or from when it
    /// has matched what it has.
    pub fn pattern(&self) -> Pattern {
        match self {
            Request::Send(send) => Pattern::new(Some(send.dest), Some(send.tag), send.context),
            Request::Receive(receive) => receive.pattern(),
        }
    }

    /// How it ended; `None`: it has not finished.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Request::Send(send) => send.outcome(),
            Request::Receive(receive) => receive.outcome(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Body {
    Free { next: Option<Slot> },
    Request(Request),
}

/// Which of a slot's lists a link belongs to: the queue it stands in.
pub(crate) const QUEUE: usize = 0;
/// What is found by its key: posted receives in one bucket of the table; messages to one destination with the
/// same context and tag.
pub(crate) const KEYED: usize = 1;
/// Sends: messages to be offered.
pub(crate) const OFFERS: usize = 2;
/// Receives: those that no restart has named yet.
pub(crate) const TO_NAME: usize = 2;
const LISTS: usize = 3;

#[derive(Clone, PartialEq, Eq, Debug)]
struct SlotEntry {
    generation: Generation,
    next: [Option<Slot>; LISTS],
    prev: [Option<Slot>; LISTS],
    /// The program has given it up: it is freed when it has finished.
    forgotten: bool,
    body: Body,
}

impl SlotEntry {
    /// A slot that has not been used yet.
    fn unused(next: Option<Slot>) -> SlotEntry {
        SlotEntry {
            generation: Generation::default(),
            next: [None; LISTS],
            prev: [None; LISTS],
            forgotten: false,
            body: Body::Free { next },
        }
    }

    /// The request that is here, if `id` names it.
    #[inline]
    fn request(&self, id: RequestId) -> Option<&Request> {
        match &self.body {
            Body::Request(request) if id.is(self.generation) => Some(request),
            _ => None,
        }
    }

    /// The request is gone, and its name with it.
    #[inline]
    fn free(&mut self, next: Option<Slot>, name_bits: GenerationBits) {
        self.body = Body::Free { next };
        self.forgotten = false;
        self.generation = self.generation.next(name_bits);
    }
}

/// Slots that the heap gives at a time, and as many buckets of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Chunk {
    entries: [SlotEntry; CHUNK_SLOTS],
    buckets: [Option<Slot>; CHUNK_SLOTS],
}

/// The pool has no free slot: grow it, or tell the program that its memory is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// The pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestPool {
    #[expect(
        clippy::vec_box,
        reason = "when the list grows, the slots stay where they are"
    )]
    chunks: Vec<Box<[Chunk; 1]>>,
    pub(super) table: Table,
    free: Option<Slot>,
    free_slots: u32,
    /// Free slots that are reserved.
    reserved: u32,
    live: u32,
    /// Of these, those that the program has given up.
    forgotten: u32,
    peak: u32,
    limit: u32,
    name_bits: GenerationBits,
}

impl RequestPool {
    /// A pool with no slots that grows to `limit` slots (at most [`MAX_SLOTS`]).
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(MAX_SLOTS) as u32;
        RequestPool {
            chunks: Vec::new(),
            table: Table::new(),
            free: None,
            free_slots: 0,
            reserved: 0,
            live: 0,
            forgotten: 0,
            peak: 0,
            limit,
            name_bits: GenerationBits::new(REQUEST_GENERATION_BITS),
        }
    }

    /// Names requests with fewer bits of generation, for a model checker.
    pub(crate) fn narrow_names(&mut self, bits: u32) {
        self.name_bits = GenerationBits::new(bits.min(REQUEST_GENERATION_BITS));
    }

    /// Bytes of the program's heap that a slot takes.
    pub const SLOT_BYTES: usize = size_of::<Chunk>() / CHUNK_SLOTS;

    /// Live requests.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Live requests that the program has not given up.
    pub fn named(&self) -> u32 {
        self.live - self.forgotten
    }

    /// The most requests ever live at once.
    pub fn peak(&self) -> u32 {
        self.peak
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
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(1).map_err(|_| Full)?;
            self.chunks.try_reserve(1).map_err(|_| Full)?;
            chunk.push(Chunk {
                entries: core::array::from_fn(|i| {
                    SlotEntry::unused(if i + 1 < CHUNK_SLOTS {
                        Some(Slot::new((first + i + 1) as u32))
                    } else {
                        self.free
                    })
                }),
                buckets: [None; CHUNK_SLOTS],
            });
            let Ok(chunk) = Box::<[Chunk; 1]>::try_from(chunk) else {
                unreachable!("one chunk was put there")
            };
            self.chunks.push(chunk);
            self.free = Some(Slot::new(first as u32));
            self.free_slots += CHUNK_SLOTS as u32;
        }
        Ok(())
    }

    fn entries(&self) -> impl Iterator<Item = &SlotEntry> {
        self.chunks.iter().flat_map(|chunk| chunk[0].entries.iter())
    }

    /// The first request in this bucket of the table.
    #[inline]
    pub(super) fn bucket(&self, index: u32) -> Option<Slot> {
        let index = index as usize;
        let chunk = self.chunks.get(index / CHUNK_SLOTS)?;
        chunk[0].buckets[index % CHUNK_SLOTS]
    }

    #[inline]
    pub(super) fn set_bucket(&mut self, index: u32, first: Option<Slot>) {
        let index = index as usize;
        if let Some(chunk) = self.chunks.get_mut(index / CHUNK_SLOTS) {
            chunk[0].buckets[index % CHUNK_SLOTS] = first;
        }
    }

    /// The hash of the key under which the request in `slot` is entered in the table.
    pub(super) fn key_hash(&self, slot: Slot) -> u32 {
        self.table.hashes.of(&self.posted(slot).pattern)
    }

    /// The hash of a pattern.
    #[inline]
    pub(crate) fn hash_of(&self, pattern: &Pattern) -> u32 {
        self.table.hashes.of(pattern)
    }

    /// The posted receive in `slot`, if that is one.
    #[inline]
    pub(crate) fn as_posted(&self, slot: Slot) -> Option<&Posted> {
        match &self.entry(slot)?.body {
            Body::Request(Request::Receive(Receive {
                state: ReceiveState::Posted(posted),
                ..
            })) => Some(posted),
            _ => None,
        }
    }

    /// A receive is posted in this context.
    pub(crate) fn has_posted(&self, context: Context) -> bool {
        self.entries().any(|entry| match &entry.body {
            Body::Request(Request::Receive(receive)) => {
                matches!(receive.state, ReceiveState::Posted(_))
                    && receive.pattern().context() == context
            }
            _ => false,
        })
    }

    fn entry(&self, slot: Slot) -> Option<&SlotEntry> {
        let index = slot.index() as usize;
        let chunk = self.chunks.get(index / CHUNK_SLOTS)?;
        Some(&chunk[0].entries[index % CHUNK_SLOTS])
    }

    fn entry_mut(&mut self, slot: Slot) -> Option<&mut SlotEntry> {
        let index = slot.index() as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_SLOTS)?;
        Some(&mut chunk[0].entries[index % CHUNK_SLOTS])
    }

    /// Takes a free slot for `request`.
    #[inline]
    pub fn insert(&mut self, request: Request) -> Result<RequestId, Full> {
        let slot = self.free.ok_or(Full)?;
        let entry = self.entry_mut(slot).ok_or(Full)?;
        let Body::Free { next } = entry.body else {
            unreachable!("the free list holds free slots")
        };
        entry.body = Body::Request(request);
        let generation = entry.generation;
        self.free = next;
        self.free_slots -= 1;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        Ok(RequestId::new(slot, generation))
    }

    /// The name of the request in `slot`.
    pub fn id(&self, slot: Slot) -> RequestId {
        RequestId::new(
            slot,
            self.entry(slot)
                .map_or_else(Generation::default, |entry| entry.generation),
        )
    }

    /// The request that `id` names; `None` when it names none (any more).
    pub fn get(&self, id: RequestId) -> Option<&Request> {
        self.entry(id.slot())?.request(id)
    }

    /// The send that `id` names; `None` when it names none (any more).
    pub fn get_send(&self, id: RequestId) -> Option<&Send> {
        match self.get(id) {
            Some(Request::Send(send)) => Some(send),
            _ => None,
        }
    }

    /// The receive that `id` names, to change it; `None` when it names none (any more).
    pub fn get_receive_mut(&mut self, id: RequestId) -> Option<&mut Receive> {
        let entry = self.entry_mut(id.slot())?;
        match &mut entry.body {
            Body::Request(Request::Receive(receive)) if id.is(entry.generation) => Some(receive),
            _ => None,
        }
    }

    /// A send of this context has not been recorded or matched by its receiver yet.
    pub(crate) fn has_pending(&self, context: Context) -> bool {
        self.entries().any(|entry| match &entry.body {
            Body::Request(Request::Send(send)) => {
                send.context == context && matches!(send.state, SendState::Pending(_))
            }
            _ => false,
        })
    }

    /// If the request that `id` names has finished, frees it and says how it ended.
    ///
    /// # Panics
    /// When `id` names none (any more).
    #[inline]
    pub fn conclude(&mut self, id: RequestId) -> Option<Outcome> {
        let (slot, next, bits) = (id.slot(), self.free, self.name_bits);
        let entry = self.entry_mut(slot).expect("a live request");
        let outcome = entry.request(id).expect("a live request").outcome()?;
        entry.free(next, bits);
        self.freed(slot);
        Some(outcome)
    }

    /// The program gives up the request that `id` names: frees it, now or when it has finished. One that
    /// is not there any more is left at that.
    pub fn forget(&mut self, id: RequestId) {
        match self.get(id).map(Request::outcome) {
            Some(Some(_)) => self.free_request(id.slot()),
            Some(None) => self.give_up(id.slot()),
            None => {}
        }
    }

    fn give_up(&mut self, slot: Slot) {
        let entry = self.entry_mut(slot).expect("a live slot");
        let first = !core::mem::replace(&mut entry.forgotten, true);
        self.forgotten += u32::from(first);
    }

    fn free_request(&mut self, slot: Slot) {
        let next = self.free;
        let bits = self.name_bits;
        let entry = self.entry_mut(slot).expect("a live slot");
        entry.free(next, bits);
        self.freed(slot);
    }

    /// The entry in `slot` has become free.
    #[inline]
    fn freed(&mut self, slot: Slot) {
        self.free = Some(slot);
        self.free_slots += 1;
        self.live -= 1;
    }

    /// The send in `slot` has finished; frees it if the program has given it up. Returns the bcopy that it was.
    #[inline]
    pub(crate) fn finish_send(&mut self, slot: Slot, cancelled: bool) -> Option<BcopyId> {
        let entry = self.entry_mut(slot).expect("a live slot");
        let Body::Request(Request::Send(send)) = &mut entry.body else {
            unreachable!("a queue of sends names a slot that holds none")
        };
        send.state = SendState::Done { cancelled };
        let bcopy = match send.data {
            Data::Bcopy(bcopy) => Some(bcopy),
            Data::User(_) => None,
        };
        if entry.forgotten {
            self.free_forgotten(slot);
        }
        bcopy
    }

    /// The receive in `slot` has finished, with this message; frees it if the program has given it up.
    #[inline]
    pub(crate) fn finish_receive(&mut self, slot: Slot, matched: Matched) {
        self.end_receive(slot, ReceiveState::Done(matched));
    }

    /// The posted receive in `slot` is cancelled; frees it if the program has given it up.
    pub(crate) fn cancel_receive(&mut self, slot: Slot) {
        let pattern = self.posted(slot).pattern;
        self.end_receive(slot, ReceiveState::Cancelled(pattern));
    }

    #[inline]
    fn end_receive(&mut self, slot: Slot, end: ReceiveState) {
        let entry = self.entry_mut(slot).expect("a live slot");
        let Body::Request(Request::Receive(receive)) = &mut entry.body else {
            unreachable!("a queue of receives names a slot that holds none")
        };
        receive.state = end;
        if entry.forgotten {
            self.free_forgotten(slot);
        }
    }

    fn free_forgotten(&mut self, slot: Slot) {
        self.forgotten -= 1;
        self.free_request(slot);
    }

    /// The send in `slot`, which one of the device's own queues names.
    pub(crate) fn send(&self, slot: Slot) -> &Send {
        match self.entry(slot).map(|entry| &entry.body) {
            Some(Body::Request(Request::Send(send))) => send,
            _ => unreachable!("a queue of sends names a slot that holds none"),
        }
    }

    /// As [`RequestPool::send`], to change it.
    pub(crate) fn send_mut(&mut self, slot: Slot) -> &mut Send {
        match self.entry_mut(slot).map(|entry| &mut entry.body) {
            Some(Body::Request(Request::Send(send))) => send,
            _ => unreachable!("a queue of sends names a slot that holds none"),
        }
    }

    /// The send in `slot`, which is in a pending send queue.
    pub(crate) fn pending(&self, slot: Slot) -> &PendingSend {
        match &self.send(slot).state {
            SendState::Pending(send) => send,
            _ => unreachable!("a pending send queue names a send that is not pending"),
        }
    }

    /// As [`RequestPool::pending`], to change it.
    pub(crate) fn pending_mut(&mut self, slot: Slot) -> &mut PendingSend {
        match &mut self.send_mut(slot).state {
            SendState::Pending(send) => send,
            _ => unreachable!("a pending send queue names a send that is not pending"),
        }
    }

    /// The receive in `slot`, which one of the device's own queues names.
    pub(crate) fn receive(&self, slot: Slot) -> &Receive {
        match self.entry(slot).map(|entry| &entry.body) {
            Some(Body::Request(Request::Receive(receive))) => receive,
            _ => unreachable!("a queue of receives names a slot that holds none"),
        }
    }

    /// As [`RequestPool::receive`], to change it.
    pub(crate) fn receive_mut(&mut self, slot: Slot) -> &mut Receive {
        match self.entry_mut(slot).map(|entry| &mut entry.body) {
            Some(Body::Request(Request::Receive(receive))) => receive,
            _ => unreachable!("a queue of receives names a slot that holds none"),
        }
    }

    /// The receive in `slot`, which is in the posted receive queue.
    pub(crate) fn posted(&self, slot: Slot) -> &Posted {
        match &self.receive(slot).state {
            ReceiveState::Posted(posted) => posted,
            _ => unreachable!("the posted receive queue names a receive that is not posted"),
        }
    }

    /// As [`RequestPool::posted`], to change it.
    pub(crate) fn posted_mut(&mut self, slot: Slot) -> &mut Posted {
        match &mut self.receive_mut(slot).state {
            ReceiveState::Posted(posted) => posted,
            _ => unreachable!("the posted receive queue names a receive that is not posted"),
        }
    }
}

impl RequestPool {
    /// Hashes what the pool does from now on, up to the names that it gives to sends: that depends on its live
    /// slots only, so neither measures nor the free list are hashed. A finished request does nothing any
    /// more; how it ended is what the program has been told. Pending messages are hashed with their
    /// destination, and bcopies are the `copies`.
    pub(crate) fn hash<'a, H: Hasher>(&self, copy: impl Copies<'a>, state: &mut H) {
        // Sends that are in no queue stand anywhere.
        let mut sends: Vec<&Send> = Vec::new();
        for (entry, index) in self.entries().zip(0u32..) {
            let receive = match &entry.body {
                Body::Free { .. } => continue,
                Body::Request(Request::Send(send)) => {
                    if let SendState::Held(_) | SendState::Sending(_) | SendState::Streaming =
                        send.state
                    {
                        sends.push(send);
                    }
                    continue;
                }
                Body::Request(Request::Receive(receive)) => receive,
            };
            // The order of posted receives is that of their serials.
            match receive.state {
                ReceiveState::Done(_) | ReceiveState::Cancelled(_) => {}
                ReceiveState::Posted(_) | ReceiveState::Matched(..) => {
                    (index, entry.generation, entry.forgotten, receive).hash(state);
                }
            }
        }
        let key = |send: &Send| match send.data {
            Data::User(span) => (span.address(), None),
            Data::Bcopy(bcopy) => (0, Some(copy(bcopy))),
        };
        sends.sort_by_key(|send| key(send));
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
        self.entry(slot).expect("a listed slot").next[LIST]
    }

    /// The slot before `slot` in list `LIST`.
    pub(crate) fn prev_in<const LIST: usize>(&self, slot: Slot) -> Option<Slot> {
        self.entry(slot).expect("a listed slot").prev[LIST]
    }
}

/// The pool's slots as members of one kind of list.
pub(crate) struct ListLinks<'a, const LIST: usize>(&'a mut RequestPool);

impl<const LIST: usize> Links<Slot> for ListLinks<'_, LIST> {
    fn next(&self, at: Slot) -> Option<Slot> {
        self.0.next_in::<LIST>(at)
    }
    fn set_next(&mut self, at: Slot, next: Option<Slot>) {
        self.0.entry_mut(at).expect("a listed slot").next[LIST] = next;
    }
    fn set_prev(&mut self, at: Slot, prev: Option<Slot>) {
        self.0.entry_mut(at).expect("a listed slot").prev[LIST] = prev;
    }
    fn neighbours(&self, at: Slot) -> (Option<Slot>, Option<Slot>) {
        let entry = self.0.entry(at).expect("a listed slot");
        (entry.prev[LIST], entry.next[LIST])
    }
    fn set_neighbours(&mut self, at: Slot, prev: Option<Slot>, next: Option<Slot>) {
        let entry = self.0.entry_mut(at).expect("a listed slot");
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
        let entry = self.entry(at).expect("a listed slot");
        (entry.prev[QUEUE], entry.next[QUEUE])
    }
    fn set_neighbours(&mut self, at: Slot, prev: Option<Slot>, next: Option<Slot>) {
        self.links::<QUEUE>().set_neighbours(at, prev, next);
    }
}
