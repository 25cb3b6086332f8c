//! Pending send queues: for each destination, in order, the messages that the receiver has not yet recorded or matched.
//!
//! ```text
//!   queue     m1 ------ m2 ------ m3 ------- m4 ----- m5 ---- m6       all, in the order of sending
//!             rejected  rejected  requested  unans-   unsent  unsent
//!                                            wered    |
//!   offers                        m3                  |                to send RTSs for again, in the same order
//!   fresh                                             m5               the first without an RTS so far
//! ```
//! A destination's queue exists only while a message to it is pending (except for the queue emptied last), so no memory
//! grows with the job. Adding a message, sending its RTS, handling its reply and removing it require constant time for
//! any queue length. A restart requires constant expected time for each receive that it lists and each message of its
//! `room`. The first restart that lists a tag inserts the queue's messages into the pool's hash table
//! ([`hash_table`](crate::request)) by destination, context and tag, each message once. So messages that are never rejected
//! pay nothing for the search.
//!
//! A pending message uses only its slot of the pool; `send/destinations.rs` lists the memory of a destination.
//!
//! [`crate::protocol`] specifies the rules for sending RTSs.
#![forbid(unsafe_code)]

use super::destinations::{CHAINED, Destination, DestinationTable, LISTED, THROTTLED};
use super::restart_progress::{RestartState, WireSpace};
use crate::config::MICRO;
use crate::envelope::{Context, Rank, Tag};
use crate::ids::{DestinationId, Horizon, RequestId, Slot};
use crate::list::{LinkStorage, List};
use crate::protocol::{ProtocolRules, RtsState, may_send_rts};
use crate::request::{
    ACK_DEFERRABLE, BcopyBytes, IN_ORDER, KEYED, PendingSend, PoolFull, QUEUE, RTS_QUEUED, Request, RequestPool,
    RequestedFlags, SendMode, SendRequest, SendState,
};
use crate::stats::Count;
use crate::wire::{RestartEntry, RestartRequest, Rts, flag_if};
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

pub use super::destinations::{CHUNK_DESTINATIONS, DESTINATION_BYTES};
pub use super::restart_progress::WINDOW;

/// The receiver's reply to an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RtsOutcome {
    /// Accepted (recorded or matched): it is dequeued.
    Accepted,
    /// Rejected (NCTS, not clear to send): no posted receive matched, and no memory was free, or an earlier message of this source was rejected.
    Rejected,
    /// Rejected as stale, without a decision: the RTS is repeated without a request.
    Stale,
}

/// Next packet to a destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NextPacket {
    /// Send an RTS for the message in this slot, with these flags of the queue.
    Rts(Slot, RtsFlags),
    /// DONE: the restart has been executed and requested none of the pending messages.
    Done {
        /// Messages to the destination are rejected.
        more: bool,
    },
}

/// State of the queue, for an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RtsFlags {
    /// Flags of the RTS: whether it is [in order](Rts::IN_ORDER), whether [more](Rts::MORE) messages are rejected, and
    /// whether another RTS [follows](Rts::FOLLOWS).
    pub flags: u8,
    /// Its data may be sent eagerly, as far as the receiver's memory is known.
    pub may_be_eager: bool,
    /// RTSs to the destination without a reply, including this one.
    pub unanswered: u32,
    /// Horizon (cut-off sequence number) of the restart that requested it.
    pub asked: Option<Horizon>,
}

/// All destinations with pending messages.
#[derive(Clone, Default, Debug)]
pub struct PendingQueues {
    destinations: DestinationTable,
    /// Reserved entries for messages that may enter at any time.
    expected: usize,
    /// The destination of the last search: most often also the next one.
    last: Option<(Rank, DestinationId)>,
    /// The destination whose queue was emptied last, kept for the next message to it.
    idle: Option<DestinationId>,
    ready: List<DestinationId>,
    steps: Count,
}

impl PendingQueues {
    /// Hashes the destinations, independently of their entries, and the round robin. Omits chains, which follow from
    /// those and the requests, and the last search, which affects only the run time.
    pub(crate) fn hash<'a, H: Hasher>(&self, requests: &RequestPool, copy: impl BcopyBytes<'a>, state: &mut H) {
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

/// Returns whether restarts have requested messages that are still in the queue.
fn asks(destination: &Destination, requests: &RequestPool) -> bool {
    let mut next = destination.queue.head();
    while let Some(slot) = next {
        if requests.pending(slot).requested().is_some() {
            return true;
        }
        next = requests.next_in::<QUEUE>(slot);
    }
    false
}

/// Hashes the queue and the state of its restart. Omits caches, and sequence numbers, which follow from its order.
fn hash_destination<'a, H: Hasher>(
    destination: &Destination,
    requests: &RequestPool,
    copy: impl BcopyBytes<'a>,
    state: &mut H,
) {
    (destination.rank, destination.unanswered).hash(state);
    (destination.refused, destination.restart).hash(state);
    (destination.is(THROTTLED), destination.is(LISTED)).hash(state);
    // RTSs that restarts requested repeat it.
    let horizon = asks(destination, requests).then(|| destination.horizon());
    horizon.hash(state);
    requests.hash_queue(destination.queue.head(), copy, state);
    requests.hash_queue(destination.fresh, copy, state);
}

/// Maximum number of patterns that a passed request distinguishes.
const LOST_REQUESTS: usize = 8;

/// Receives whose messages may have gone to earlier receives.
type LostRequests = heapless::Vec<RequestPattern, LOST_REQUESTS>;

/// Pattern of a receive for which a message is requested.
#[derive(Clone, Copy)]
struct RequestPattern {
    context: Context,
    /// Tag of the message, and of the receive unless that accepts any.
    tag: Tag,
    asked: RequestedFlags,
}

impl RequestPattern {
    /// Returns the pattern of the pending message in `slot`.
    fn of_message(requests: &RequestPool, slot: Slot, asked: RequestedFlags) -> Self {
        let send = requests.listed(slot);
        Self {
            context: send.context(),
            tag: send.tag(),
            asked,
        }
    }

    /// Checks whether the receive matches the message of another pattern.
    fn matches(&self, message: &RequestPattern) -> bool {
        self.context == message.context && (self.asked.any_tag() || self.tag == message.tag)
    }

    fn is_same(&self, other: &RequestPattern) -> bool {
        self.matches(other) && self.asked.any_tag() == other.asked.any_tag()
    }
}

/// Returns whether the pending message in `slot` is of this context and not requested by a restart.
fn is_unrequested(requests: &RequestPool, slot: Slot, context: Context) -> bool {
    requests.send(slot).context == context && requests.pending(slot).requested().is_none()
}

impl PendingQueues {
    /// Reduces the horizons of restarts by `by`, to no less than 0.
    pub(crate) fn reduce_horizons(&mut self, by: Horizon) {
        self.destinations.for_each_mut(|destination| {
            let horizon = destination.horizon().saturating_sub(by);
            destination.set_horizon(horizon);
        });
    }

    /// Allocates heap memory so that `messages` messages can be entered, in addition to the expected ones.
    pub fn reserve(&mut self, messages: usize) -> Result<(), PoolFull> {
        let messages = messages + self.expected;
        self.destinations.reserve(messages)
    }

    /// Returns whether `messages` messages can be entered, in addition to the expected ones.
    pub(crate) fn has_space(&self, messages: usize) -> bool {
        self.destinations.has_space(messages + self.expected)
    }

    /// Reserves entries for `count` more messages; [`PendingQueues::reserve`] has allocated the memory.
    pub(crate) fn reserve_entry(&mut self, count: usize) {
        self.expected += count;
    }

    /// Releases the reserved entries of `count` messages, which will not enter, or enter next.
    pub(crate) fn release_entry(&mut self, count: usize) {
        self.expected -= count;
    }

    /// Returns whether the destination has a queue.
    #[inline]
    pub(crate) fn has(&mut self, requests: &RequestPool, dest: Rank) -> bool {
        self.destinations() > 0 && self.has_queue(requests, dest)
    }

    // Separate from the common check whether any queue exists.
    #[inline(never)]
    fn has_queue(&mut self, requests: &RequestPool, dest: Rank) -> bool {
        self.find(requests, dest).is_some_and(|at| Some(at) != self.idle)
    }

    /// Returns the number of destinations with pending messages or an unexecuted restart.
    #[inline]
    pub fn destinations(&self) -> usize {
        self.destinations.len() - usize::from(self.idle.is_some())
    }

    /// Returns whether all pending messages are rejected and no restart has requested any: the state is stable until a
    /// receive is posted or memory is released at a destination. Checks each destination until one can send.
    pub fn are_all_rejected(&self) -> bool {
        self.destinations.iter().all(|destination| {
            destination.restart == RestartState::Closed
                && destination.unanswered == 0
                && destination.next_rts().is_none()
        })
    }

    /// Returns the entry of the destination `dest`, if it exists.
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

    /// Removes the destination that is kept with an empty queue.
    fn drop_idle(&mut self, requests: &RequestPool) {
        if let Some(idle) = self.idle.take() {
            self.destinations.remove(requests.hashes(), idle);
            self.last = self.last.filter(|&(_, at)| at != idle);
        }
    }

    /// Keeps the destination at `at`, now without pending messages and in no list.
    fn set_idle(&mut self, requests: &RequestPool, at: DestinationId) {
        self.drop_idle(requests);
        self.destinations[at].reset();
        self.idle = Some(at);
    }

    /// Returns the number of messages and destinations visited in sequential searches.
    pub fn steps(&self) -> Count {
        self.steps + self.destinations.steps()
    }

    /// Appends an unsent message to the queue of `dest`, with heap memory; no other function here allocates, except
    /// [`PendingQueues::reserve`]. Keeps `keep` slots and entries free for others. On an error, nothing has changed.
    pub fn push(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        mut send: SendRequest,
        keep: u32,
        rules: impl ProtocolRules,
    ) -> Result<RequestId, PoolFull> {
        if self.find(requests, dest).is_none() {
            self.drop_idle(requests);
        }
        requests.grow(1 + keep)?;
        self.reserve(1 + keep as usize)?;
        let at = self.queue_of(requests, dest);
        let mut pending = PendingSend::new(RtsState::Unsent);
        pending.set_serial(self.destinations[at].serial());
        pending.set_mark(ACK_DEFERRABLE, send.mode == SendMode::StandardDelayedAck);
        send.state = SendState::Pending(pending);
        let id = requests.insert(Request::Send(send)).expect("there is a free slot");
        self.append(requests, at, id.slot());
        self.list_if_ready(at, rules);
        Ok(id)
    }

    /// Appends a bcopy, whose request is in `slot`, to the queue of its destination `dest`: unanswered or unsent. It
    /// has a reserved entry.
    pub fn enter_bcopy(&mut self, requests: &mut RequestPool, dest: Rank, slot: Slot, rules: impl ProtocolRules) {
        let at = self.queue_of(requests, dest);
        let destination = &mut self.destinations[at];
        let fresh = destination.fresh;
        let serial = destination.serial();
        requests.pending_mut(slot).set_serial(serial);
        let is_offered = requests.pending(slot).rts_state == RtsState::Unanswered;
        self.append(requests, at, slot);
        if is_offered {
            let destination = &mut self.destinations[at];
            destination.unanswered += 1;
            destination.fresh = fresh;
        }
        self.list_if_ready(at, rules);
    }

    /// Returns the destination; allocates a reserved entry when it is new.
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
            requests.insert_entry(slot, requests.send_hash(slot));
        }
    }

    /// Inserts all messages of the destination into the hash table, because a restart lists a tag.
    fn enter_all(&mut self, requests: &mut RequestPool, at: DestinationId) {
        let destination = &mut self.destinations[at];
        destination.set(CHAINED, true);
        let mut next = destination.queue.head();
        while let Some(slot) = next {
            requests.insert_entry(slot, requests.send_hash(slot));
            next = requests.next_in::<QUEUE>(slot);
        }
    }

    /// Handles the reply to the RTS of the message in `slot` to `dest`; `scarce`: the receiver's memory is low.
    pub fn handle_reply(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: Slot,
        answered: RtsOutcome,
        scarce: bool,
        rules: impl ProtocolRules,
    ) {
        let Some(at) = self.find(requests, dest) else {
            return;
        };
        let destination = &mut self.destinations[at];
        destination.unanswered -= 1;
        destination.set(THROTTLED, scarce);
        if answered == RtsOutcome::Stale && destination.restart == RestartState::Closed {
            destination.restart = RestartState::Expected;
        }
        let asked = requests.pending(slot).requested();
        let told = asked.is_none_or(RequestedFlags::is_transmitted);
        match answered {
            RtsOutcome::Accepted => self.remove(requests, at, slot),
            RtsOutcome::Stale if !rules.repeats_stale() => self.mark_rejected(requests, at, slot),
            RtsOutcome::Rejected if told => self.mark_rejected(requests, at, slot),
            // Rejected, but requested while its reply was in flight; or stale.
            RtsOutcome::Rejected | RtsOutcome::Stale => self.requeue_rts(requests, at, slot),
        }
        self.list_if_ready(at, rules);
    }

    /// Dequeues the `total` (1 or more) messages to `dest` that end with slot `last`, all with an unanswered RTS: they
    /// were accepted with their data. Calls `taken` for each. Returns false, without changes, when fewer match.
    #[must_use]
    pub fn accept_all(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        last: Slot,
        total: u32,
        rules: impl ProtocolRules,
        mut taken: impl FnMut(&mut RequestPool, Slot),
    ) -> bool {
        let Some(at) = self.find(requests, dest) else {
            return false;
        };
        let (mut first, mut before) = (last, Some(last));
        for _ in 0..total {
            let Some(slot) = before.filter(|&slot| requests.pending(slot).rts_state == RtsState::Unanswered) else {
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
            self.remove(requests, at, slot);
            taken(requests, slot);
        }
        self.list_if_ready(at, rules);
        true
    }

    /// Removes the message in `slot` to `dest`, whose RTS is not in flight, because its sender cancels it.
    pub fn remove_cancelled(&mut self, requests: &mut RequestPool, dest: Rank, slot: Slot, rules: impl ProtocolRules) {
        let Some(at) = self.find(requests, dest) else {
            return;
        };
        let (offer, serial) = (requests.pending(slot).rts_state, requests.pending(slot).serial());
        let destination = &mut self.destinations[at];
        let is_fresh = |fresh| serial >= requests.pending(fresh).serial();
        if offer == RtsState::Rejected {
            destination.refused -= 1;
        } else if destination.fresh.is_some_and(is_fresh) {
            if destination.fresh == Some(slot) {
                destination.fresh = requests.next_in::<QUEUE>(slot);
            }
        } else {
            destination.finger = destination.finger.filter(|&finger| finger != slot);
            let links = &mut requests.links::<RTS_QUEUED>();
            destination.offers.remove(links, slot);
        }
        self.remove(requests, at, slot);
        self.list_if_ready(at, rules);
    }

    /// Marks a message as rejected until a restart requests it or has `room` for it.
    fn mark_rejected(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let send = requests.pending_mut(slot);
        send.rts_state = RtsState::Rejected;
        send.set_requested(None);
        self.destinations[at].refused += 1;
    }

    /// Removes an accepted or cancelled message from the queue and all lists.
    fn remove(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let send = requests.pending_mut(slot);
        let asked = send.requested();
        send.set_requested(None);
        if let Some(asked) = asked.filter(|asked| !asked.is_transmitted()) {
            self.pass_request(requests, at, slot, asked);
        }
        let destination = &mut self.destinations[at];
        if destination.is(CHAINED) {
            requests.remove_entry(slot, requests.send_hash(slot));
        }
        destination.queue.remove(requests, slot);
        if destination.is_idle() {
            if destination.is(LISTED) {
                self.ready.remove(&mut self.destinations, at);
            }
            self.set_idle(requests, at);
        }
    }

    /// Passes the request for the message in `slot` on, which is removed before its RTS.
    ///
    /// Its receive takes the next message that it matches, even one that was requested for a later receive. That receive
    /// then takes the next one, and so on, to a message that nobody has requested. The queue does not contain the order
    /// of the receives. So the first such message is requested for each receive that may have lost its own.
    fn pass_request(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot, asked: RequestedFlags) {
        let lost = RequestPattern::of_message(requests, slot, asked);
        if MICRO {
            return self.pass_one_request(requests, at, slot, lost);
        }
        let mut without = LostRequests::new();
        let _ = without.push(lost);
        let mut next = requests.next_in::<QUEUE>(slot);
        while let Some(behind) = next.filter(|_| !without.is_empty()) {
            self.steps += 1;
            next = requests.next_in::<QUEUE>(behind);
            let of = RequestPattern::of_message(requests, behind, asked);
            let Some(first) = without.iter().position(|pattern| pattern.matches(&of)) else {
                continue;
            };
            let Some(own) = requests.pending(behind).requested() else {
                let lost = without.remove(first);
                self.mark_requested(requests, at, behind, lost.asked);
                continue;
            };
            let own = RequestPattern { asked: own, ..of };
            if !without.iter().any(|pattern| pattern.is_same(&own)) && without.push(own).is_err() {
                // More patterns than are distinguished: each message may be the last of the chain.
                return self.request_behind(requests, at, behind);
            }
        }
    }

    /// Passes a request on to the next message that its receive matches. If that was requested for a receive with another
    /// pattern, each message behind it may be the last of the chain. The chain itself takes some hundred bytes of flash, and
    /// requested messages disappear rarely.
    fn pass_one_request(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot, lost: RequestPattern) {
        let mut next = requests.next_in::<QUEUE>(slot);
        while let Some(behind) = next {
            self.steps += 1;
            next = requests.next_in::<QUEUE>(behind);
            let of = RequestPattern::of_message(requests, behind, lost.asked);
            if !lost.matches(&of) {
                continue;
            }
            let Some(asked) = requests.pending(behind).requested() else {
                return self.mark_requested(requests, at, behind, lost.asked);
            };
            if !lost.is_same(&RequestPattern { asked, ..of }) {
                return self.request_behind(requests, at, behind);
            }
        }
    }

    /// Schedules the RTSs of all rejected messages behind the one in `slot`.
    #[cold]
    fn request_behind(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let mut next = requests.next_in::<QUEUE>(slot);
        while let Some(behind) = next.filter(|_| self.destinations[at].refused > 0) {
            self.steps += 1;
            if requests.pending(behind).rts_state == RtsState::Rejected {
                self.destinations[at].refused -= 1;
                self.requeue_rts(requests, at, behind);
            }
            next = requests.next_in::<QUEUE>(behind);
        }
    }

    /// Returns the first message from `next` on in its queue that is of this context and not requested yet.
    fn first_unrequested(&mut self, requests: &RequestPool, mut next: Option<Slot>, context: Context) -> Option<Slot> {
        while let Some(slot) = next.filter(|&slot| !is_unrequested(requests, slot, context)) {
            self.steps += 1;
            next = requests.next_in::<QUEUE>(slot);
        }
        next
    }

    /// Returns the first request from `next` on in its bucket that is a message of this key and not requested yet.
    fn first_unrequested_to(
        &mut self,
        requests: &RequestPool,
        mut next: Option<Slot>,
        dest: Rank,
        context: Context,
        tag: Tag,
    ) -> Option<Slot> {
        let fits = |&slot: &Slot| {
            requests.is_pending_to(slot, dest, context, tag) && requests.pending(slot).requested().is_none()
        };
        while let Some(slot) = next.filter(|slot| !fits(slot)) {
            self.steps += 1;
            next = requests.next_in::<KEYED>(slot);
        }
        next
    }

    /// Inserts a message into the list of messages to send RTSs for again, in order.
    fn requeue_rts(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot) {
        let send = requests.pending_mut(slot);
        send.rts_state = RtsState::Unsent;
        send.set_transmitted(false);
        let serial = send.serial();
        let destination = &mut self.destinations[at];
        let is_before = |requests: &RequestPool, other: Slot| requests.pending(other).serial() < serial;
        let mut after = destination.finger.filter(|&finger| is_before(requests, finger));
        let mut next = match after {
            Some(after) => requests.next_in::<RTS_QUEUED>(after),
            None => destination.offers.head(),
        };
        while let Some(other) = next.filter(|&other| is_before(requests, other)) {
            self.steps += 1;
            after = Some(other);
            next = requests.next_in::<RTS_QUEUED>(other);
        }
        let links = &mut requests.links::<RTS_QUEUED>();
        destination.offers.insert_after(links, after, slot);
        destination.finger = Some(slot);
    }

    /// Handles a restart of `dest`: requests a message for each of its entries, in the order of posting, and stores its
    /// `room`. Returns false when nothing is pending to `dest`: the restart is complete.
    #[must_use]
    pub fn restart(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        restart: &RestartRequest,
        rules: impl ProtocolRules,
    ) -> bool {
        let Some(at) = self.find(requests, dest).filter(|&at| Some(at) != self.idle) else {
            return false;
        };
        let destination = &mut self.destinations[at];
        let room = WireSpace::new(restart.room);
        destination.restart = RestartState::Waiting { room };
        destination.set_horizon(restart.horizon);
        for entry in &restart.entries {
            if let Some(slot) = self.first_for(requests, at, entry) {
                let asked = RequestedFlags::new(entry.tag().is_none(), entry.is_exact());
                self.mark_requested(requests, at, slot, asked);
            }
        }
        self.list_if_ready(at, rules);
        true
    }

    /// Returns the first message that matches a receive listed in a restart and is not requested yet.
    fn first_for(&mut self, requests: &mut RequestPool, at: DestinationId, entry: &RestartEntry) -> Option<Slot> {
        let Some(tag) = entry.tag() else {
            let head = self.destinations[at].queue.head();
            return self.first_unrequested(requests, head, entry.context());
        };
        if !self.destinations[at].is(CHAINED) {
            self.enter_all(requests, at);
        }
        let (dest, context) = (self.destinations[at].rank, entry.context());
        let first = requests.first_of(requests.hashes().hash_send(dest, context, tag));
        self.first_unrequested_to(requests, first, dest, context, tag)
    }

    /// Marks the message in `slot` as requested by a restart, and schedules its RTS.
    fn mark_requested(&mut self, requests: &mut RequestPool, at: DestinationId, slot: Slot, asked: RequestedFlags) {
        let send = requests.pending_mut(slot);
        send.set_requested(Some(asked));
        if send.rts_state == RtsState::Rejected {
            self.destinations[at].refused -= 1;
            self.requeue_rts(requests, at, slot);
        }
    }

    /// Executes a restart after all replies: schedules RTSs for the messages of its `room`.
    fn begin_pass(&mut self, requests: &mut RequestPool, at: DestinationId, room: WireSpace) {
        let destination = &mut self.destinations[at];
        destination.restart = RestartState::Closing;
        destination.finger = None;
        let mut next = destination.queue.head();
        for _ in 0..room.messages() {
            // All further messages are unsent and already in order.
            let Some(slot) = next.filter(|_| self.destinations[at].refused > 0) else {
                break;
            };
            self.steps += 1;
            if requests.pending(slot).rts_state == RtsState::Rejected {
                self.destinations[at].refused -= 1;
                self.requeue_rts(requests, at, slot);
            }
            next = requests.next_in::<QUEUE>(slot);
        }
    }

    fn list_if_ready(&mut self, at: DestinationId, rules: impl ProtocolRules) {
        let destination = &mut self.destinations[at];
        if !destination.is(LISTED) && destination.is_ready(rules) {
            destination.set(LISTED, true);
            self.ready.push(&mut self.destinations, at);
        }
    }

    /// Returns whether [`PendingQueues::next`] may have a packet to send.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the next packet and its destination, in round robin over the destinations; `None` when nothing may be
    /// sent. The caller sends it immediately.
    pub fn next(&mut self, requests: &mut RequestPool, rules: impl ProtocolRules) -> Option<(Rank, NextPacket)> {
        loop {
            let at = self.ready.head()?;
            let destination = &mut self.destinations[at];
            if destination.is_ready(rules) {
                if let RestartState::Waiting { room } = destination.restart {
                    self.begin_pass(requests, at, room);
                }
                return Some(self.next_turn(requests, at));
            }
            destination.set(LISTED, false);
            self.ready.remove(&mut self.destinations, at);
        }
    }

    fn next_turn(&mut self, requests: &mut RequestPool, at: DestinationId) -> (Rank, NextPacket) {
        let destination = &mut self.destinations[at];
        let (rank, throttled) = (destination.rank, destination.is(THROTTLED));
        let more = destination.refused > 0;
        destination.restart = RestartState::Closed;
        let Some(slot) = destination.next_rts() else {
            destination.set(LISTED, false);
            let is_empty = destination.queue.is_empty();
            self.ready.remove(&mut self.destinations, at);
            if is_empty {
                self.set_idle(requests, at);
            }
            return (rank, NextPacket::Done { more });
        };
        destination.unanswered += 1;
        let unanswered = destination.unanswered;
        destination.finger = destination.finger.filter(|&finger| finger != slot);
        let (prev, next) = requests.neighbours(slot);
        let follows = if destination.fresh == Some(slot) {
            destination.fresh = next;
            next.is_some()
        } else {
            let links = &mut requests.links::<RTS_QUEUED>();
            destination.offers.remove(links, slot);
            destination.next_rts().is_some()
        };
        let in_order = prev.is_none_or(|prev| {
            let prev = requests.pending(prev);
            prev.has_mark(IN_ORDER) && prev.rts_state == RtsState::Unanswered
        });
        let send = requests.pending_mut(slot);
        debug_assert!(may_send_rts(send.rts_state));
        send.rts_state = RtsState::Unanswered;
        send.set_mark(IN_ORDER, in_order);
        send.set_transmitted(true);
        let asked = send.requested();
        let flags = RtsFlags {
            flags: flag_if(in_order, Rts::IN_ORDER) | flag_if(more, Rts::MORE) | flag_if(follows, Rts::FOLLOWS),
            may_be_eager: in_order && !more && !throttled,
            unanswered,
            asked: asked.map(|_| destination.horizon()),
        };
        self.ready.rotate(&mut self.destinations);
        (rank, NextPacket::Rts(slot, flags))
    }
}

#[cfg(test)]
impl PendingQueues {
    /// Returns the number of reserved entries.
    pub(crate) fn reserved_entries(&self) -> usize {
        self.expected
    }
}
