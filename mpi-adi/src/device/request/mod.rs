//! Requests: the program's own calls under way, in a pool that grows out of the program's heap.
//!
//! A request is named by index and generation, so that a stale name (from the program or from the wire) is
//! refused instead of reaching another request. The pool grows only when the program makes a call
//! ([`RequestPool::grow`]); progress, which may run from an interrupt, only uses and frees what is there.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use msg_layer::{Landing, Transfer};

use crate::device::envelope::{Context, Envelope, Pattern, Rank, Tag};
use crate::device::list::Links;
use crate::device::memory::Span;
use crate::device::names::{Serial, Slot};
use crate::device::send::light::{LightId, Lights};

/// Slots that the pool grows by at a time.
pub const CHUNK_SLOTS: usize = 32;
/// Slots that are kept for calls that block, so that these go on when the heap is used up. There is one at
/// a time; the greediest sends and receives.
pub const KEPT_SLOTS: u32 = 2;
const INDEX_BITS: u32 = 22;
const GENERATION_MASK: u32 = (1 << (31 - INDEX_BITS)) - 1;
/// Greatest number of slots: all but the last names, which light sends have on the wire, and notices use for
/// what is no receive.
pub const MAX_SLOTS: usize = (1 << INDEX_BITS) - 64;

/// A request's name: index and generation, top bit clear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The name on the wire of the light send at `place`.
    pub(crate) fn light(place: u32, generation: u32) -> Self {
        Self::named(MAX_SLOTS as u32 + place, generation)
    }

    /// The place of the light send, if it is the name of one.
    pub(crate) fn light_index(self) -> Option<u32> {
        self.index().checked_sub(MAX_SLOTS as u32)
    }

    fn new(slot: Slot, generation: u32) -> Self {
        Self::named(slot.index(), generation)
    }

    fn named(index: u32, generation: u32) -> Self {
        RequestId((generation & GENERATION_MASK) << INDEX_BITS | index)
    }

    fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    /// It names its slot's request of this generation.
    fn is(self, generation: u32) -> bool {
        self.0 >> INDEX_BITS == generation
    }

    /// The request's slot.
    #[inline]
    pub fn slot(self) -> Slot {
        Slot::new(self.index())
    }
}

/// Whether a send may complete before a receive has matched it (MPI-3.1 section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// As soon as the receiver has recorded it or the data has left.
    Standard,
    /// Only once a receive has matched it.
    Synchronous,
}

/// How often a pending send has been offered to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Offer {
    /// Not yet.
    Unsent,
    /// An RTS is on its way or its answer is.
    Unanswered,
    /// The receiver answered NCTS.
    Refused,
}

/// How far a send is that the program has cancelled (MPI-3.1 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Withdrawal {
    /// It has not been cancelled.
    None,
    /// It is cancelled as soon as the answer under way says that the receiver has not taken it.
    Wanted,
    /// The receiver, who has recorded it, is still to be asked to forget it.
    Unasked,
    /// The receiver, who has refused it but may have noted it for a probe, is still to be asked to forget it.
    Refused,
    /// The receiver has been asked.
    Asked,
}

/// Where a request stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Send: light, and has not left yet.
    Light,
    /// Send: in the destination's pending send queue.
    Pending(Offer),
    /// Send: recorded at the receiver without a buffer (NCTSD); waits for CTS.
    Held,
    /// Send: data packets are leaving.
    Sending(Transfer),
    /// Send: accepted while its data is leaving eagerly.
    Streaming,
    /// Receive: in the posted receive queue.
    Posted,
    /// Receive: matched a record without a buffer; the CTS is still to be sent.
    Owing {
        /// The sender's name for its request.
        sender: u32,
    },
    /// Receive: matched; data packets arrive into the program's buffer.
    Landing(Landing),
    /// Receive: matched a record whose buffer is still filling.
    Bound,
    /// Finished; the program has yet to ask.
    Done {
        /// A receive that was cancelled before it matched.
        cancelled: bool,
    },
}

/// How a finished request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Receive: who sent the message.
    pub source: Rank,
    /// Receive: its tag.
    pub tag: Tag,
    /// Receive: bytes received, at most the buffer's.
    pub bytes: usize,
    /// Receive: the message was longer than the buffer (MPI_ERR_TRUNCATE); only its beginning was kept.
    pub truncated: bool,
    /// Receive: cancelled before a message matched.
    pub cancelled: bool,
}

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Where it stands.
    pub state: State,
    /// Send: the destination. Receive: the source asked for, or from when it has matched the actual one.
    pub peer: Option<Rank>,
    /// Send: the tag. Receive: the tag asked for, or from when it has matched the actual one.
    pub tag: Option<Tag>,
    /// The communicator's context.
    pub context: Context,
    /// Send: the mode.
    pub mode: Mode,
    /// The program's buffer.
    pub span: Span,
    /// Receive: length in bytes of the matched message, which may be more than the span holds.
    pub length: u32,
    /// Place in the order of sends to a destination, or of receives.
    pub serial: Serial,
    /// Send: which of the receiver's notices asks for it.
    pub asked: Option<Asked>,
    /// Send: it was last offered with everything before it accepted or offered so, too.
    pub in_order: bool,
    /// Send: the program wants it back.
    pub withdrawal: Withdrawal,
    /// Send: it was last offered with its data following at once.
    pub eager: bool,
    /// Send: it was a light one, whose data is there; it is complete for the program.
    pub light: Option<LightId>,
}

impl Request {
    /// Hashes what the device does with the request from now on, up to names. Serial numbers say no more than
    /// the order of the queue, and whether a message was offered in order is of interest to the next one as
    /// long as its answer is under way.
    pub(crate) fn hash<H: Hasher>(&self, lights: &Lights, state: &mut H) {
        let in_order = self.in_order && self.state == State::Pending(Offer::Unanswered);
        (self.state, self.peer, self.tag, self.context).hash(state);
        (self.mode, self.span, self.length).hash(state);
        (self.asked, in_order, self.withdrawal, self.eager).hash(state);
        self.light.map(|light| lights.bytes(light)).hash(state);
        // A notice's horizon is compared with it.
        (self.state == State::Posted)
            .then_some(self.serial)
            .hash(state);
    }
}

/// A posted receive for which a receiver asks to be offered a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// The receive takes any tag.
    pub any_tag: bool,
    /// The receive takes no other source's messages, so that what is asked for is sure to be taken.
    pub exact: bool,
    /// The offer under way says so.
    pub told: bool,
}

impl Request {
    /// A request that nothing has happened to yet, in standard mode.
    pub fn new(state: State, pattern: Pattern, span: Span) -> Request {
        Request {
            state,
            peer: pattern.source,
            tag: pattern.tag,
            context: pattern.context,
            mode: Mode::Standard,
            span,
            length: 0,
            serial: 0,
            asked: None,
            in_order: false,
            withdrawal: Withdrawal::None,
            eager: false,
            light: None,
        }
    }

    /// A send to `dest` that has been offered and has no answer.
    pub(crate) fn is_offered_to(&self, dest: Rank) -> bool {
        self.state == State::Pending(Offer::Unanswered) && self.peer == Some(dest)
    }

    /// How it ended; `None`: it has not finished.
    pub fn outcome(&self) -> Option<Outcome> {
        let State::Done { cancelled } = self.state else {
            return None;
        };
        Some(Outcome {
            source: self.peer.unwrap_or(0),
            tag: self.tag.unwrap_or(0),
            bytes: self.wanted() as usize,
            truncated: self.length as usize > self.span.len(),
            cancelled,
        })
    }

    /// What a receive asks for.
    pub fn pattern(&self) -> Pattern {
        Pattern {
            source: self.peer,
            tag: self.tag,
            context: self.context,
        }
    }

    /// Notes which message a receive has matched.
    pub fn match_with(&mut self, envelope: &Envelope, length: u32) {
        self.peer = Some(envelope.source);
        self.tag = Some(envelope.tag);
        self.length = length;
    }

    /// Bytes of the matched message that the program's buffer takes.
    pub fn wanted(&self) -> u32 {
        self.length
            .min(u32::try_from(self.span.len()).unwrap_or(u32::MAX))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Body {
    Free { next: Option<Slot> },
    Request(Request),
}

/// Which of a slot's lists a link belongs to: the queue it stands in.
pub(crate) const QUEUE: usize = 0;
/// Sends: messages to one destination with the same context and tag. Receives: those that no notice has
/// named yet.
pub(crate) const CHAIN: usize = 1;
/// Sends: messages to be offered.
pub(crate) const OFFERS: usize = 2;
const LISTS: usize = 3;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    generation: u32,
    next: [Option<Slot>; LISTS],
    prev: [Option<Slot>; LISTS],
    /// Nobody will ask how the request ended: it is freed when it has finished.
    forgotten: bool,
    body: Body,
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
    chunks: Vec<Box<[Entry; CHUNK_SLOTS]>>,
    free: Option<Slot>,
    free_slots: u32,
    /// Free slots that are set aside.
    aside: u32,
    live: u32,
    /// Of these, those for whose end nobody will ask.
    forgotten: u32,
    peak: u32,
    limit: u32,
}

impl RequestPool {
    /// A pool with no slots that grows to `limit` slots (at most [`MAX_SLOTS`]).
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(MAX_SLOTS) as u32;
        RequestPool {
            chunks: Vec::new(),
            free: None,
            free_slots: 0,
            aside: 0,
            live: 0,
            forgotten: 0,
            peak: 0,
            limit,
        }
    }

    /// Bytes of the program's heap that a slot takes.
    pub const SLOT_BYTES: usize = size_of::<Entry>();

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

    /// Makes sure that `slots` slots are free beside those set aside, out of the heap; [`Full`] when heap or
    /// limit do not allow it.
    #[inline]
    pub fn grow(&mut self, slots: u32) -> Result<(), Full> {
        let slots = slots + self.aside;
        match self.free_slots >= slots {
            true => Ok(()),
            false => self.add_chunks(slots),
        }
    }

    /// Sets `slots` free slots aside, which [`RequestPool::grow`] has found.
    pub(crate) fn set_aside(&mut self, slots: u32) {
        self.aside += slots;
    }

    /// Gives back slots that were set aside.
    pub(crate) fn put_back(&mut self, slots: u32) {
        self.aside -= slots;
    }

    #[cold]
    fn add_chunks(&mut self, slots: u32) -> Result<(), Full> {
        while self.free_slots < slots {
            let first = self.slots();
            if first + CHUNK_SLOTS > self.limit as usize {
                return Err(Full);
            }
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(CHUNK_SLOTS).map_err(|_| Full)?;
            self.chunks.try_reserve(1).map_err(|_| Full)?;
            for i in 0..CHUNK_SLOTS {
                let next = if i + 1 < CHUNK_SLOTS {
                    Some(Slot::new((first + i + 1) as u32))
                } else {
                    self.free
                };
                chunk.push(Entry {
                    generation: 0,
                    next: [None; LISTS],
                    prev: [None; LISTS],
                    forgotten: false,
                    body: Body::Free { next },
                });
            }
            let Ok(chunk) = chunk.into_boxed_slice().try_into() else {
                unreachable!("as many slots as a chunk has")
            };
            self.chunks.push(chunk);
            self.free = Some(Slot::new(first as u32));
            self.free_slots += CHUNK_SLOTS as u32;
        }
        Ok(())
    }

    fn entry(&self, slot: Slot) -> Option<&Entry> {
        let index = slot.index() as usize;
        let chunk = self.chunks.get(index / CHUNK_SLOTS)?;
        Some(&chunk[index % CHUNK_SLOTS])
    }

    fn entry_mut(&mut self, slot: Slot) -> Option<&mut Entry> {
        let index = slot.index() as usize;
        let chunk = self.chunks.get_mut(index / CHUNK_SLOTS)?;
        Some(&mut chunk[index % CHUNK_SLOTS])
    }

    fn give_back(&mut self, slot: Slot) {
        let next = self.free;
        let entry = self.entry_mut(slot).expect("a live slot");
        entry.body = Body::Free { next };
        entry.forgotten = false;
        entry.generation = entry.generation.wrapping_add(1) & GENERATION_MASK;
        self.free = Some(slot);
        self.free_slots += 1;
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
        RequestId::new(slot, self.entry(slot).map_or(0, |entry| entry.generation))
    }

    /// The request that `id` names; `None` when it names none (any more).
    pub fn get(&self, id: RequestId) -> Option<&Request> {
        let entry = self.entry(id.slot())?;
        match &entry.body {
            Body::Request(request) if id.is(entry.generation) => Some(request),
            _ => None,
        }
    }

    /// The request that `id` names, to change it; `None` when it names none (any more).
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        let entry = self.entry_mut(id.slot())?;
        match &mut entry.body {
            Body::Request(request) if id.is(entry.generation) => Some(request),
            _ => None,
        }
    }

    /// If the request that `id` names has finished, frees it and says how it ended.
    ///
    /// # Panics
    /// When `id` names none (any more).
    #[inline]
    pub fn conclude(&mut self, id: RequestId) -> Option<Outcome> {
        let outcome = self.get(id).expect("a live request").outcome()?;
        self.free_request(id.slot());
        Some(outcome)
    }

    /// Nobody will ask how the request ended that `id` names: frees it, now or when it has finished. One that
    /// is not there any more is left at that.
    pub fn forget(&mut self, id: RequestId) {
        match self.get(id).map(|request| request.state) {
            Some(State::Done { .. }) => self.free_request(id.slot()),
            Some(_) => self.give_up(id.slot()),
            None => {}
        }
    }

    fn give_up(&mut self, slot: Slot) {
        let entry = self.entry_mut(slot).expect("a live slot");
        let first = !core::mem::replace(&mut entry.forgotten, true);
        self.forgotten += u32::from(first);
    }

    fn free_request(&mut self, slot: Slot) {
        self.give_back(slot);
        self.live -= 1;
    }

    /// The request in `slot` has finished; frees it if nobody will ask how it ended. Returns the light
    /// send that it was.
    #[inline]
    pub(crate) fn finish(&mut self, slot: Slot, cancelled: bool) -> Option<LightId> {
        let entry = self.entry_mut(slot).expect("a live slot");
        let Body::Request(request) = &mut entry.body else {
            unreachable!("a queue names a slot that holds no request")
        };
        request.state = State::Done { cancelled };
        let light = request.light.take();
        if entry.forgotten {
            self.forgotten -= 1;
            self.free_request(slot);
        }
        light
    }

    /// The request in `slot`, to change it, and its name.
    pub(crate) fn named_mut(&mut self, slot: Slot) -> (RequestId, &mut Request) {
        match self.entry_mut(slot) {
            Some(Entry {
                body: Body::Request(request),
                generation,
                ..
            }) => (RequestId::new(slot, *generation), request),
            _ => unreachable!("a queue names a slot that holds no request"),
        }
    }

    /// The request in `slot`, which one of the device's own queues names.
    pub(crate) fn at(&self, slot: Slot) -> &Request {
        match self.entry(slot) {
            Some(Entry {
                body: Body::Request(request),
                ..
            }) => request,
            _ => unreachable!("a queue names a slot that holds no request"),
        }
    }

    /// As [`RequestPool::at`], to change it.
    pub(crate) fn at_mut(&mut self, slot: Slot) -> &mut Request {
        match self.entry_mut(slot) {
            Some(Entry {
                body: Body::Request(request),
                ..
            }) => request,
            _ => unreachable!("a queue names a slot that holds no request"),
        }
    }
}

impl RequestPool {
    /// Hashes what the pool does from now on, up to the names that it gives to sends: that depends on its live
    /// slots only, so neither measures nor the free list are hashed. A finished request does nothing any
    /// more; how it ended is what the program has been told. Pending messages are hashed with their
    /// destination, and light ones are `lights`.
    pub(crate) fn hash<H: Hasher>(&self, lights: &Lights, state: &mut H) {
        let entries = self.chunks.iter().flat_map(|chunk| chunk.iter());
        // Sends that are in no queue stand anywhere.
        let mut sends: Vec<&Request> = Vec::new();
        for (entry, index) in entries.zip(0u32..) {
            let Body::Request(request) = &entry.body else {
                continue;
            };
            let is_queued = match request.state {
                State::Done { .. } | State::Light | State::Pending(_) => continue,
                State::Held | State::Sending(_) | State::Streaming => {
                    sends.push(request);
                    continue;
                }
                State::Posted | State::Owing { .. } => true,
                State::Landing(_) | State::Bound => false,
            };
            (index, entry.generation, entry.forgotten).hash(state);
            request.hash(lights, state);
            if is_queued {
                (entry.next, entry.prev).hash(state);
            }
        }
        let data = |request: &Request| request.light.map(|light| lights.bytes(light));
        sends.sort_by_key(|request| (request.span.address(), data(request)));
        for request in sends {
            request.hash(lights, state);
        }
    }

    /// Hashes the requests of a queue from `first` on.
    pub(crate) fn hash_queue<H: Hasher>(
        &self,
        first: Option<Slot>,
        lights: &Lights,
        state: &mut H,
    ) {
        let mut next = first;
        while let Some(slot) = next {
            self.at(slot).hash(lights, state);
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
    fn prev(&self, at: Slot) -> Option<Slot> {
        self.0.prev_in::<LIST>(at)
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
    fn prev(&self, at: Slot) -> Option<Slot> {
        self.prev_in::<QUEUE>(at)
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
