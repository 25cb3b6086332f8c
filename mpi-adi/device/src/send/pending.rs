//! The pending send queues: per destination, in order, the messages that the receiver has not yet
//! recorded or matched.
//!
//! ```text
//!   queue     m1 ---- m2 ---- m3 ---- m4 ---- m5 ---- m6       all, in the order of sending
//!             refused refused asked   unans-  unsent  unsent
//!                             for     wered   |
//!   offers                    m3              |                to be offered again, in the same order
//!   fresh                                     m5               the first that was never offered
//! ```
//! A destination's queue exists only while a message to it is pending (but for the one that has last become
//! empty), so nothing here grows with the job. Adding, offering, answering and removing a message take
//! constant time, however long the queue; a restart takes constant expected time for each receive that it names
//! and each record that it has room for. The first restart that names a tag enters the queue's messages into the
//! pool's table ([`keyed`](crate::request)) by destination, context and tag, each message once: what is
//! never refused pays nothing for being found.
//!
//! A pending message takes its slot of the pool and nothing else; what a destination takes is told in
//! `send/destinations.rs`.
//!
//! The rules by which messages are offered are in [`crate::protocol`].
#![forbid(unsafe_code)]

use super::carried_out::{RestartState, WireRoom};
use super::destinations::{CHAINED, Destination, Destinations, LISTED, THROTTLED};
use crate::envelope::{Context, Rank, Tag};
use crate::list::{Links, List};
use crate::names::{DestinationId, Horizon, RequestId, Slot};
use crate::protocol::{Offer, Rules, may_offer};
use crate::request::{
    Asked, Copies, Full, IN_ORDER, KEYED, Mode, OFFERS, PATIENT, PendingSend, QUEUE, Request,
    RequestPool, Send, SendState,
};
use crate::stats::Count;
use crate::wire::{Entry, Restart, Rts, flag_if};
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

pub use super::carried_out::WINDOW;
pub use super::destinations::{CHUNK_DESTINATIONS, DESTINATION_BYTES};

/// How the receiver answered an offer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answered {
    /// Recorded or matched: it leaves the queue.
    Taken,
    /// Refused: it matches no receive that was posted then, and there was no memory.
    Refused,
    /// Refused because it came too late or too early to be judged: to be offered again without being asked for.
    Stale,
}

/// What a destination has to say next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Next {
    /// Offer the message in this slot, and say this of the queue.
    Offer(Slot, OfferFlags),
    /// The restart has been carried out and asks for nothing that is here.
    Done {
        /// Messages to the destination stand refused.
        more: bool,
    },
}

/// What an offer says of the queue it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OfferFlags {
    /// As its RTS says it: whether it is [in order](Rts::IN_ORDER), whether [more](Rts::MORE) stand refused, and whether
    /// another one [follows](Rts::FOLLOWS).
    pub flags: u8,
    /// Its data may follow without waiting for the answer, as far as the receiver's memory is known.
    pub may_be_eager: bool,
    /// Offers to the destination that have no answer yet, this one among them.
    pub unanswered: u32,
    /// A restart asks for it: that restart's horizon.
    pub asked: Option<Horizon>,
}

/// All destinations with pending messages.
#[derive(Clone, Default, Debug)]
pub struct Pending {
    destinations: Destinations,
    /// Messages that may enter at any moment, for which there is room.
    expected: usize,
    /// The destination that was last looked for: most often it is the next one, too.
    last: Option<(Rank, DestinationId)>,
    /// The destination whose queue has last become empty, kept for the next message to it.
    idle: Option<DestinationId>,
    ready: List<DestinationId>,
    steps: Count,
}

impl Pending {
    /// Hashes the destinations, wherever they stand, and the order of turns. Chains lead to no more than those
    /// and their requests; and which destination was last looked for changes nothing but the work.
    pub(crate) fn hash<'a, H: Hasher>(
        &self,
        requests: &RequestPool,
        copy: impl Copies<'a>,
        state: &mut H,
    ) {
        let mut busy: Vec<&Destination> = self.destinations.iter().collect();
        busy.retain(|destination| !destination.is_idle());
        busy.sort_by_key(|destination| destination.rank);
        for destination in busy {
            hash_destination(destination, requests, copy, state);
        }
        let mut next = self.ready.head();
        while let Some(at) = next {
            self.destinations[at].rank.hash(state);
            next = self.destinations.next(at);
        }
    }
}

/// Restarts have asked for messages that are still in its queue.
fn asks(destination: &Destination, requests: &RequestPool) -> bool {
    let mut next = destination.queue.head();
    while let Some(slot) = next {
        if requests.pending(slot).asked().is_some() {
            return true;
        }
        next = requests.next_in::<QUEUE>(slot);
    }
    false
}

/// Hashes the queue and what becomes of it; not what only saves steps, and no serial numbers, which say no
/// more than its order does.
fn hash_destination<'a, H: Hasher>(
    destination: &Destination,
    requests: &RequestPool,
    copy: impl Copies<'a>,
    state: &mut H,
) {
    (destination.rank, destination.unanswered).hash(state);
    (destination.refused, destination.restart).hash(state);
    (destination.is(THROTTLED), destination.is(LISTED)).hash(state);
    // Offers bring it back that were asked for.
    let horizon = asks(destination, requests).then(|| destination.horizon());
    horizon.hash(state);
    requests.hash_queue(destination.queue.head(), copy, state);
    requests.hash_queue(destination.fresh, copy, state);
}

/// The pending message in `slot` is of this context, and no restart asks for it.
fn is_unasked(requests: &RequestPool, slot: Slot, context: Context) -> bool {
    requests.send(slot).context == context && requests.pending(slot).asked().is_none()
}

impl Pending {
    /// Makes the horizons of restarts less by so much, 0 at least.
    pub(crate) fn turn_back_horizons(&mut self, by: Horizon) {
        self.destinations.for_each_mut(|destination| {
            let horizon = destination.horizon().saturating_sub(by);
            destination.set_horizon(horizon);
        });
    }

    /// Makes sure that so many messages can be entered, out of the heap, beside those that are expected.
    pub fn reserve(&mut self, messages: usize) -> Result<(), Full> {
        let messages = messages + self.expected;
        self.destinations.reserve(messages)
    }

    /// There is room for so many messages beside those expected.
    pub(crate) fn has_room(&self, messages: usize) -> bool {
        self.destinations.has_room(messages + self.expected)
    }

    /// `count` messages more may enter, for which [`Pending::reserve`] has made room.
    pub(crate) fn expect(&mut self, count: usize) {
        self.expected += count;
    }

    /// `count` messages that were expected will not enter, or are about to.
    pub(crate) fn expect_no_more(&mut self, count: usize) {
        self.expected -= count;
    }

    /// The destination has a queue.
    #[inline]
    pub(crate) fn has(&mut self, requests: &RequestPool, dest: Rank) -> bool {
        self.destinations() > 0 && self.has_queue(requests, dest)
    }

    // Apart from what most calls ask, whether there is any.
    #[inline(never)]
    fn has_queue(&mut self, requests: &RequestPool, dest: Rank) -> bool {
        self.find(requests, dest)
            .is_some_and(|at| Some(at) != self.idle)
    }

    /// Destinations with pending messages, or whose restart has still to be carried out.
    #[inline]
    pub fn destinations(&self) -> usize {
        self.destinations.len() - usize::from(self.idle.is_some())
    }

    /// All that is pending stands refused, and no restart has come that asks for some of it: it stays as it is until a
    /// receive is posted or memory is released where it goes. Looks at each destination until one has more to say.
    pub fn all_refused(&self) -> bool {
        self.destinations.iter().all(|destination| {
            destination.restart == RestartState::Closed
                && destination.unanswered == 0
                && destination.next_offer().is_none()
        })
    }

    /// The destination `dest`, if there is something of it.
    #[inline]
    fn find(&mut self, requests: &RequestPool, dest: Rank) -> Option<DestinationId> {
        match self.last {
            Some((rank, at)) if rank == dest => Some(at),
            _ => {
                let at = self.destinations.find(requests.hashes(), dest)?;
                self.last = Some((dest, at));
                Some(at)
            }
        }
    }

    /// Forgets the destination that is kept though nothing is pending to it.
    fn drop_idle(&mut self, requests: &RequestPool) {
        if let Some(idle) = self.idle.take() {
            self.destinations.remove(requests.hashes(), idle);
            self.last = self.last.filter(|&(_, at)| at != idle);
        }
    }

    /// Nothing is pending any more to the destination at `at`, which is in no list.
    fn set_idle(&mut self, requests: &RequestPool, at: DestinationId) {
        self.drop_idle(requests);
        self.destinations[at].reset();
        self.idle = Some(at);
    }

    /// Messages and destinations looked at one after the other, by everything that has to search.
    pub fn steps(&self) -> Count {
        self.steps + self.destinations.steps()
    }

    /// Appends a message, which becomes unsent, to the queue of `dest`, out of the heap: the only call here that
    /// allocates.
    /// So many slots besides, and room for as many messages, are kept for others; when there is not so
    /// much, nothing has changed.
    pub fn push(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        mut send: Send,
        keep: u32,
        rules: impl Rules,
    ) -> Result<RequestId, Full> {
        if self.find(requests, dest).is_none() {
            self.drop_idle(requests);
        }
        requests.grow(1 + keep)?;
        self.reserve(1 + keep as usize)?;
        let at = self.queue_of(requests, dest);
        let mut pending = PendingSend::new(Offer::Unsent);
        pending.set_serial(self.destinations[at].serial());
        pending.set(PATIENT, send.mode == Mode::Followed);
        send.state = SendState::Pending(pending);
        let id = requests
            .insert(Request::Send(send))
            .expect("there is a free slot");
        self.append(requests, at, id.slot());
        self.list_if_ready(at, rules);
        Ok(id)
    }

    /// A bcopy, whose request is in `slot`, enters the queue of its destination `dest`: it has been
    /// offered or is unsent. There is a free place for the destination.
    pub fn enter_bcopy(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: Slot,
        rules: impl Rules,
    ) {
        let at = self.queue_of(requests, dest);
        let destination = &mut self.destinations[at];
        let fresh = destination.fresh;
        let serial = destination.serial();
        requests.pending_mut(slot).set_serial(serial);
        let is_offered = requests.pending(slot).offer == Offer::Unanswered;
        self.append(requests, at, slot);
        if is_offered {
            let destination = &mut self.destinations[at];
            destination.unanswered += 1;
            destination.fresh = fresh;
        }
        self.list_if_ready(at, rules);
    }

    /// The destination; it takes a free place when it is new.
    fn queue_of(&mut self, requests: &RequestPool, dest: Rank) -> DestinationId {
        let at = match self.find(requests, dest) {
            Some(at) => at,
            None => {
                let at = self.destinations.insert(requests.hashes(), dest);
                self.last = Some((dest, at));
                at
            }
        };
        if self.idle == Some(at) {
            self.idle = None;
        }
        at
    }

    fn append(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let destination = &mut self.destinations[at];
        destination.queue.push(requests, slot);
        destination.count();
        destination.fresh = destination.fresh.or(Some(slot));
        if destination.is(CHAINED) {
            requests.enter(slot, requests.send_hash(slot));
        }
    }

    /// A restart names a tag: from now on the destination's messages are in the table.
    fn enter_all(&mut self, requests: &mut RequestPool, at: DestinationId) {
        let destination = &mut self.destinations[at];
        destination.set(CHAINED, true);
        let mut next = destination.queue.head();
        while let Some(slot) = next {
            requests.enter(slot, requests.send_hash(slot));
            next = requests.next_in::<QUEUE>(slot);
        }
    }

    /// The message in `slot` to `dest`, which was offered, has been answered, and whether the receiver's
    /// memory is `scarce`.
    pub fn answered(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: Slot,
        answered: Answered,
        scarce: bool,
        rules: impl Rules,
    ) {
        let Some(at) = self.find(requests, dest) else {
            return;
        };
        let destination = &mut self.destinations[at];
        destination.unanswered -= 1;
        destination.set(THROTTLED, scarce);
        if answered == Answered::Stale && destination.restart == RestartState::Closed {
            destination.restart = RestartState::Expected;
        }
        let asked = requests.pending(slot).asked();
        let told = asked.is_none_or(Asked::is_told);
        match answered {
            Answered::Taken => self.take_out(requests, at, slot),
            Answered::Stale if !rules.goes_on() => self.settle(requests, at, slot),
            Answered::Refused if told => self.settle(requests, at, slot),
            // Refused, but asked for while its answer was on the way; or never judged.
            Answered::Refused | Answered::Stale => self.put_back(requests, at, slot),
        }
        self.list_if_ready(at, rules);
    }

    /// The `total` messages (at least one) in the queue of `dest` that end with that in the slot `last`, all of them offered,
    /// have been taken with their data. Calls `taken` for each. False when there are not so many: then
    /// nothing is changed.
    #[must_use]
    pub fn all_taken(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        last: Slot,
        total: u32,
        rules: impl Rules,
        mut taken: impl FnMut(&mut RequestPool, Slot),
    ) -> bool {
        let Some(at) = self.find(requests, dest) else {
            return false;
        };
        let (mut first, mut before) = (last, Some(last));
        for _ in 0..total {
            let Some(slot) =
                before.filter(|&slot| requests.pending(slot).offer == Offer::Unanswered)
            else {
                return false;
            };
            (first, before) = (slot, requests.prev_in::<QUEUE>(slot));
        }
        let mut next = Some(first);
        for _ in 0..total {
            let Some(slot) = next else {
                unreachable!("as many as were found before the last one")
            };
            next = requests.next_in::<QUEUE>(slot);
            self.destinations[at].unanswered -= 1;
            self.take_out(requests, at, slot);
            taken(requests, slot);
        }
        self.list_if_ready(at, rules);
        true
    }

    /// The message in `slot` to `dest`, which is not under way, is withdrawn by its sender.
    pub fn withdraw(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: Slot,
        rules: impl Rules,
    ) {
        let Some(at) = self.find(requests, dest) else {
            return;
        };
        let (offer, serial) = (
            requests.pending(slot).offer,
            requests.pending(slot).serial(),
        );
        let destination = &mut self.destinations[at];
        let is_fresh = |fresh| serial >= requests.pending(fresh).serial();
        if offer == Offer::Refused {
            destination.refused -= 1;
        } else if destination.fresh.is_some_and(is_fresh) {
            if destination.fresh == Some(slot) {
                destination.fresh = requests.next_in::<QUEUE>(slot);
            }
        } else {
            destination.finger = destination.finger.filter(|&finger| finger != slot);
            let links = &mut requests.links::<OFFERS>();
            destination.offers.remove(links, slot);
        }
        self.take_out(requests, at, slot);
        self.list_if_ready(at, rules);
    }

    /// A message stands refused until a restart asks for it or has room for it.
    fn settle(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let send = requests.pending_mut(slot);
        send.offer = Offer::Refused;
        send.set_asked(None);
        self.destinations[at].refused += 1;
    }

    /// Takes a message that has been accepted, or withdrawn, out of everything.
    fn take_out(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let send = requests.pending_mut(slot);
        let asked = send.asked();
        send.set_asked(None);
        if let Some(asked) = asked.filter(|asked| !asked.is_told()) {
            // It was asked for, but accepted before that: the request passes to the next that fits.
            let send = requests.listed(slot);
            let (dest, context, tag) = (send.dest(), send.context(), send.tag());
            let next = match asked.any_tag() {
                true => {
                    let next = requests.next_in::<QUEUE>(slot);
                    self.first_unasked(requests, next, context)
                }
                false => {
                    let next = requests.next_in::<KEYED>(slot);
                    self.first_unasked_to(requests, next, (dest, context, tag))
                }
            };
            if let Some(next) = next {
                self.ask(requests, at, next, asked);
            }
        }
        let destination = &mut self.destinations[at];
        if destination.is(CHAINED) {
            requests.withdraw(slot, requests.send_hash(slot));
        }
        destination.queue.remove(requests, slot);
        if destination.is_idle() {
            if destination.is(LISTED) {
                self.ready.remove(&mut self.destinations, at);
            }
            self.set_idle(requests, at);
        }
    }

    /// The first message from `next` on in its queue that is of this context and not asked for yet.
    fn first_unasked(
        &mut self,
        requests: &RequestPool,
        mut next: Option<Slot>,
        context: Context,
    ) -> Option<Slot> {
        while let Some(slot) = next.filter(|&slot| !is_unasked(requests, slot, context)) {
            self.steps += 1;
            next = requests.next_in::<QUEUE>(slot);
        }
        next
    }

    /// The first request from `next` on in its bucket that is a message to this destination, of this context and
    /// tag, and not asked for yet.
    fn first_unasked_to(
        &mut self,
        requests: &RequestPool,
        mut next: Option<Slot>,
        (dest, context, tag): (Rank, Context, Tag),
    ) -> Option<Slot> {
        let fits = |&slot: &Slot| {
            requests.is_pending_to(slot, dest, context, tag)
                && requests.pending(slot).asked().is_none()
        };
        while let Some(slot) = next.filter(|slot| !fits(slot)) {
            self.steps += 1;
            next = requests.next_in::<KEYED>(slot);
        }
        next
    }

    /// Puts a message among those to be offered, in its place.
    fn put_back(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let send = requests.pending_mut(slot);
        send.offer = Offer::Unsent;
        send.set_told(false);
        let serial = send.serial();
        let destination = &mut self.destinations[at];
        let is_before =
            |requests: &RequestPool, other: Slot| requests.pending(other).serial() < serial;
        let mut after = destination
            .finger
            .filter(|&finger| is_before(requests, finger));
        let mut next = match after {
            Some(after) => requests.next_in::<OFFERS>(after),
            None => destination.offers.head(),
        };
        while let Some(other) = next.filter(|&other| is_before(requests, other)) {
            self.steps += 1;
            after = Some(other);
            next = requests.next_in::<OFFERS>(other);
        }
        let links = &mut requests.links::<OFFERS>();
        destination.offers.insert_after(links, after, slot);
        destination.finger = Some(slot);
    }

    /// A restart of `dest` has come: it asks for a message for each of its entries, in the order of posting, and
    /// has room for so many messages from the head of the queue. False when nothing is pending to `dest`: the
    /// restart is done.
    #[must_use]
    pub fn restart(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        restart: &Restart,
        rules: impl Rules,
    ) -> bool {
        let Some(at) = self
            .find(requests, dest)
            .filter(|&at| Some(at) != self.idle)
        else {
            return false;
        };
        let destination = &mut self.destinations[at];
        let room = WireRoom::new(restart.room);
        destination.restart = RestartState::Waiting { room };
        destination.set_horizon(restart.horizon);
        for entry in &restart.entries {
            if let Some(slot) = self.first_for(requests, at, entry) {
                let asked = Asked::new(entry.tag().is_none(), entry.is_exact());
                self.ask(requests, at, slot, asked);
            }
        }
        self.list_if_ready(at, rules);
        true
    }

    /// The first message that the receive would take which a restart names so, and that is not asked for yet.
    fn first_for(
        &mut self,
        requests: &mut RequestPool,
        at: DestinationId,
        entry: &Entry,
    ) -> Option<Slot> {
        let Some(tag) = entry.tag() else {
            let head = self.destinations[at].queue.head();
            return self.first_unasked(requests, head, entry.context());
        };
        if !self.destinations[at].is(CHAINED) {
            self.enter_all(requests, at);
        }
        let key @ (dest, context, tag) = (self.destinations[at].rank, entry.context(), tag);
        let first = requests.first_of(requests.hashes().of_send(dest, context, tag));
        self.first_unasked_to(requests, first, key)
    }

    /// Notes that a restart asks for the message in `slot`, and puts it among those to be offered.
    fn ask(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot, asked: Asked) {
        let send = requests.pending_mut(slot);
        send.set_asked(Some(asked));
        if send.offer == Offer::Refused {
            self.destinations[at].refused -= 1;
            self.put_back(requests, at, slot);
        }
    }

    /// Nothing is under way any more: what there is room for joins what is to be offered.
    fn begin_pass(&mut self, requests: &mut RequestPool, at: DestinationId, room: WireRoom) {
        let destination = &mut self.destinations[at];
        destination.restart = RestartState::Closing;
        destination.finger = None;
        let mut next = destination.queue.head();
        for _ in 0..room.messages() {
            // From here on everything is unsent and in its place already.
            let Some(slot) = next.filter(|_| self.destinations[at].refused > 0) else {
                break;
            };
            self.steps += 1;
            if requests.pending(slot).offer == Offer::Refused {
                self.destinations[at].refused -= 1;
                self.put_back(requests, at, slot);
            }
            next = requests.next_in::<QUEUE>(slot);
        }
    }

    fn list_if_ready(&mut self, at: DestinationId, rules: impl Rules) {
        let destination = &mut self.destinations[at];
        if !destination.is(LISTED) && destination.is_ready(rules) {
            destination.set(LISTED, true);
            self.ready.push(&mut self.destinations, at);
        }
    }

    /// Something may be said to a destination: [`Pending::next`] looks what.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What is to be said next, and to whom: destinations take turns. `None` when nothing may be said. The
    /// caller says it at once.
    pub fn next(&mut self, requests: &mut RequestPool, rules: impl Rules) -> Option<(Rank, Next)> {
        loop {
            let at = self.ready.head()?;
            let destination = &mut self.destinations[at];
            if destination.is_ready(rules) {
                if let RestartState::Waiting { room } = destination.restart {
                    self.begin_pass(requests, at, room);
                }
                return Some(self.take_turn(requests, at));
            }
            destination.set(LISTED, false);
            self.ready.remove(&mut self.destinations, at);
        }
    }

    fn take_turn(&mut self, requests: &mut RequestPool, at: DestinationId) -> (Rank, Next) {
        let destination = &mut self.destinations[at];
        let (rank, throttled) = (destination.rank, destination.is(THROTTLED));
        let more = destination.refused > 0;
        destination.restart = RestartState::Closed;
        let Some(slot) = destination.next_offer() else {
            destination.set(LISTED, false);
            let is_empty = destination.queue.is_empty();
            self.ready.remove(&mut self.destinations, at);
            if is_empty {
                self.set_idle(requests, at);
            }
            return (rank, Next::Done { more });
        };
        destination.unanswered += 1;
        let unanswered = destination.unanswered;
        destination.finger = destination.finger.filter(|&finger| finger != slot);
        let (prev, next) = requests.neighbours(slot);
        let follows = if destination.fresh == Some(slot) {
            destination.fresh = next;
            next.is_some()
        } else {
            let links = &mut requests.links::<OFFERS>();
            destination.offers.remove(links, slot);
            destination.next_offer().is_some()
        };
        let in_order = prev.is_none_or(|prev| {
            let prev = requests.pending(prev);
            prev.is(IN_ORDER) && prev.offer == Offer::Unanswered
        });
        let send = requests.pending_mut(slot);
        debug_assert!(may_offer(send.offer));
        send.offer = Offer::Unanswered;
        send.set(IN_ORDER, in_order);
        send.set_told(true);
        let asked = send.asked();
        let flags = OfferFlags {
            flags: flag_if(in_order, Rts::IN_ORDER)
                | flag_if(more, Rts::MORE)
                | flag_if(follows, Rts::FOLLOWS),
            may_be_eager: in_order && !more && !throttled,
            unanswered,
            asked: asked.map(|_| destination.horizon()),
        };
        self.ready.rotate(&mut self.destinations);
        (rank, Next::Offer(slot, flags))
    }
}

#[cfg(test)]
impl Pending {
    /// Messages for which room is kept.
    pub(crate) fn expected(&self) -> usize {
        self.expected
    }
}
