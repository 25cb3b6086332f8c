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
use crate::device::list::{Links, NONE};
use crate::device::memory::Span;
use crate::device::names::Serial;
use crate::device::send::light::{LightId, Lights};
use crate::device::send::pending::Destination;

/// Slots that the pool grows by at a time.
pub const CHUNK_SLOTS: usize = 32;
/// Slots that are kept for calls that block, so that these go on when the heap is used up. There is one at
/// a time; the greediest sends and receives, and takes a slot for its destination, too.
pub const KEPT_SLOTS: u32 = 3;
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
        Self::new(MAX_SLOTS as u32 + place, generation)
    }

    /// The place of the light send, if it is the name of one.
    pub(crate) fn light_index(self) -> Option<u32> {
        self.index().checked_sub(MAX_SLOTS as u32)
    }

    fn new(index: u32, generation: u32) -> Self {
        RequestId((generation & GENERATION_MASK) << INDEX_BITS | index)
    }

    /// The slot's index.
    pub fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
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
    Free { next: u32 },
    Request(Request),
    Destination(Destination),
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
struct Slot {
    generation: u32,
    next: [u32; LISTS],
    prev: [u32; LISTS],
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
    chunks: Vec<Box<[Slot; CHUNK_SLOTS]>>,
    free: u32,
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
            free: NONE,
            free_slots: 0,
            aside: 0,
            live: 0,
            forgotten: 0,
            peak: 0,
            limit,
        }
    }

    /// Bytes of the program's heap that a slot takes.
    pub const SLOT_BYTES: usize = size_of::<Slot>();

    /// Live requests.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// A request in this context is live for whose end nobody will ask.
    pub(crate) fn has_forgotten(&self, context: Context) -> bool {
        let mut slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        self.forgotten > 0
            && slots.any(|slot| match &slot.body {
                Body::Request(request) => slot.forgotten && request.context == context,
                _ => false,
            })
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
                    (first + i + 1) as u32
                } else {
                    self.free
                };
                chunk.push(Slot {
                    generation: 0,
                    next: [NONE; LISTS],
                    prev: [NONE; LISTS],
                    forgotten: false,
                    body: Body::Free { next },
                });
            }
            let Ok(chunk) = chunk.into_boxed_slice().try_into() else {
                unreachable!("as many slots as a chunk has")
            };
            self.chunks.push(chunk);
            self.free = first as u32;
            self.free_slots += CHUNK_SLOTS as u32;
        }
        Ok(())
    }

    fn slot(&self, index: u32) -> Option<&Slot> {
        self.chunks
            .get(index as usize / CHUNK_SLOTS)
            .map(|chunk| &chunk[index as usize % CHUNK_SLOTS])
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.chunks
            .get_mut(index as usize / CHUNK_SLOTS)
            .map(|chunk| &mut chunk[index as usize % CHUNK_SLOTS])
    }

    /// Takes a free slot: its index and generation.
    fn take(&mut self, body: Body) -> Result<(u32, u32), Full> {
        let index = self.free;
        let slot = self.slot_mut(index).ok_or(Full)?;
        let Body::Free { next } = slot.body else {
            unreachable!("the free list holds free slots")
        };
        slot.body = body;
        let generation = slot.generation;
        self.free = next;
        self.free_slots -= 1;
        Ok((index, generation))
    }

    fn give_back(&mut self, index: u32) {
        let next = self.free;
        let slot = self.slot_mut(index).expect("a live slot");
        slot.body = Body::Free { next };
        slot.forgotten = false;
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        self.free = index;
        self.free_slots += 1;
    }

    /// Takes a free slot for `request`.
    #[inline]
    pub fn insert(&mut self, request: Request) -> Result<RequestId, Full> {
        let (index, generation) = self.take(Body::Request(request))?;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        Ok(RequestId::new(index, generation))
    }

    /// The name of the request in slot `index`.
    pub fn id(&self, index: u32) -> RequestId {
        RequestId::new(index, self.slot(index).map_or(0, |slot| slot.generation))
    }

    /// The request that `id` names; `None` when it names none (any more).
    pub fn get(&self, id: RequestId) -> Option<&Request> {
        match self.slot(id.index()) {
            Some(Slot {
                generation,
                body: Body::Request(request),
                ..
            }) if RequestId::new(id.index(), *generation) == id => Some(request),
            _ => None,
        }
    }

    /// The request that `id` names, to change it; `None` when it names none (any more).
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        match self.slot_mut(id.index()) {
            Some(Slot {
                generation,
                body: Body::Request(request),
                ..
            }) if RequestId::new(id.index(), *generation) == id => Some(request),
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
        self.free_request(id.index());
        Some(outcome)
    }

    /// Nobody will ask how the request ended that `id` names: frees it, now or when it has finished. One that
    /// is not there any more is left at that.
    pub fn forget(&mut self, id: RequestId) {
        match self.get(id).map(|request| request.state) {
            Some(State::Done { .. }) => self.free_request(id.index()),
            Some(_) => self.give_up(id.index()),
            None => {}
        }
    }

    fn give_up(&mut self, index: u32) {
        let slot = self.slot_mut(index).expect("a live slot");
        let first = !core::mem::replace(&mut slot.forgotten, true);
        self.forgotten += u32::from(first);
    }

    fn free_request(&mut self, index: u32) {
        self.give_back(index);
        self.live -= 1;
    }

    /// The request in slot `index` has finished; frees it if nobody will ask how it ended. Returns the light
    /// send that it was.
    #[inline]
    pub(crate) fn finish(&mut self, index: u32, cancelled: bool) -> Option<LightId> {
        let slot = self.slot_mut(index).expect("a live slot");
        let Body::Request(request) = &mut slot.body else {
            unreachable!("a queue names a slot that holds no request")
        };
        request.state = State::Done { cancelled };
        let light = request.light.take();
        if slot.forgotten {
            self.forgotten -= 1;
            self.free_request(index);
        }
        light
    }

    /// The request in slot `index`, to change it, and its name.
    pub(crate) fn named_mut(&mut self, index: u32) -> (RequestId, &mut Request) {
        match self.slot_mut(index) {
            Some(Slot {
                body: Body::Request(request),
                generation,
                ..
            }) => (RequestId::new(index, *generation), request),
            _ => unreachable!("a queue names a slot that holds no request"),
        }
    }

    /// The request in slot `index`, which one of the device's own queues names.
    pub(crate) fn at(&self, index: u32) -> &Request {
        match self.slot(index) {
            Some(Slot {
                body: Body::Request(request),
                ..
            }) => request,
            _ => unreachable!("a queue names a slot that holds no request"),
        }
    }

    /// As [`RequestPool::at`], to change it.
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut Request {
        match self.slot_mut(index) {
            Some(Slot {
                body: Body::Request(request),
                ..
            }) => request,
            _ => unreachable!("a queue names a slot that holds no request"),
        }
    }

    pub(crate) fn insert_destination(&mut self, destination: Destination) -> Result<u32, Full> {
        self.take(Body::Destination(destination))
            .map(|(index, _)| index)
    }

    pub(crate) fn remove_destination(&mut self, index: u32) {
        self.give_back(index);
    }

    pub(crate) fn destination(&self, index: u32) -> &Destination {
        match self.slot(index) {
            Some(Slot {
                body: Body::Destination(destination),
                ..
            }) => destination,
            _ => unreachable!("the index of destinations names a slot that holds none"),
        }
    }

    pub(crate) fn destination_mut(&mut self, index: u32) -> &mut Destination {
        match self.slot_mut(index) {
            Some(Slot {
                body: Body::Destination(destination),
                ..
            }) => destination,
            _ => unreachable!("the index of destinations names a slot that holds none"),
        }
    }
}

impl RequestPool {
    /// Hashes what the pool does from now on, up to the names that it gives to sends: that depends on its live
    /// slots only, so neither measures nor the free list are hashed. A finished request does nothing any
    /// more; how it ended is what the program has been told. Pending messages are hashed with their
    /// destination, and light ones are `lights`.
    pub(crate) fn hash<H: Hasher>(&self, lights: &Lights, state: &mut H) {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        // Sends that are in no queue stand anywhere.
        let mut sends: Vec<&Request> = Vec::new();
        for (slot, index) in slots.zip(0u32..) {
            let request = match &slot.body {
                Body::Free { .. } => continue,
                Body::Destination(destination) => {
                    destination.hash(self, lights, state);
                    continue;
                }
                Body::Request(request) => request,
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
            (index, slot.generation, slot.forgotten).hash(state);
            request.hash(lights, state);
            if is_queued {
                (slot.next, slot.prev).hash(state);
            }
        }
        let data = |request: &Request| request.light.map(|light| lights.bytes(light));
        sends.sort_by_key(|request| (request.span.address(), data(request)));
        for request in sends {
            request.hash(lights, state);
        }
    }

    /// Hashes the requests of a queue that begins with the slot `head`.
    pub(crate) fn hash_queue<H: Hasher>(&self, head: u32, lights: &Lights, state: &mut H) {
        let mut slot = head;
        while slot != NONE {
            self.at(slot).hash(lights, state);
            slot = self.next_in::<QUEUE>(slot);
        }
        NONE.hash(state);
    }
}

impl RequestPool {
    /// The pool's links of list `LIST`.
    pub(crate) fn links<const LIST: usize>(&mut self) -> ListLinks<'_, LIST> {
        ListLinks(self)
    }

    /// The slot after `index` in list `LIST`.
    pub(crate) fn next_in<const LIST: usize>(&self, index: u32) -> u32 {
        self.slot(index).expect("a listed slot").next[LIST]
    }

    /// The slot before `index` in list `LIST`.
    pub(crate) fn prev_in<const LIST: usize>(&self, index: u32) -> u32 {
        self.slot(index).expect("a listed slot").prev[LIST]
    }
}

/// The pool's slots as members of one kind of list.
pub(crate) struct ListLinks<'a, const LIST: usize>(&'a mut RequestPool);

impl<const LIST: usize> Links for ListLinks<'_, LIST> {
    fn next(&self, index: u32) -> u32 {
        self.0.next_in::<LIST>(index)
    }
    fn prev(&self, index: u32) -> u32 {
        self.0.prev_in::<LIST>(index)
    }
    fn set_next(&mut self, index: u32, next: u32) {
        self.0.slot_mut(index).expect("a listed slot").next[LIST] = next;
    }
    fn set_prev(&mut self, index: u32, prev: u32) {
        self.0.slot_mut(index).expect("a listed slot").prev[LIST] = prev;
    }
    fn neighbours(&self, index: u32) -> (u32, u32) {
        let slot = self.0.slot(index).expect("a listed slot");
        (slot.prev[LIST], slot.next[LIST])
    }
    fn set_neighbours(&mut self, index: u32, prev: u32, next: u32) {
        let slot = self.0.slot_mut(index).expect("a listed slot");
        (slot.prev[LIST], slot.next[LIST]) = (prev, next);
    }
}

impl Links for RequestPool {
    fn next(&self, index: u32) -> u32 {
        self.next_in::<QUEUE>(index)
    }
    fn prev(&self, index: u32) -> u32 {
        self.prev_in::<QUEUE>(index)
    }
    fn set_next(&mut self, index: u32, next: u32) {
        self.links::<QUEUE>().set_next(index, next);
    }
    fn set_prev(&mut self, index: u32, prev: u32) {
        self.links::<QUEUE>().set_prev(index, prev);
    }
    fn neighbours(&self, index: u32) -> (u32, u32) {
        let slot = self.slot(index).expect("a listed slot");
        (slot.prev[QUEUE], slot.next[QUEUE])
    }
    fn set_neighbours(&mut self, index: u32, prev: u32, next: u32) {
        self.links::<QUEUE>().set_neighbours(index, prev, next);
    }
}
