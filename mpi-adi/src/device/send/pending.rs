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
//! constant time, however long the queue; a notice takes constant time for each receive that it names and
//! each record that it has room for. The first notice that names a tag enters the queue's messages into
//! chains by context and tag, each message once: what is never refused pays nothing for being found.
//!
//! The rules by which messages are offered are in [`crate::device::protocol`].
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::device::envelope::{Context, Rank, Tag};
use crate::device::list::{Links, List, NONE};
use crate::device::names::{Horizon, Serial};
use crate::device::protocol::{Rules, may_offer};
use crate::device::request::{
    Asked, CHAIN, Full, OFFERS, Offer, QUEUE, Request, RequestId, RequestPool, State,
};
use crate::device::send::light::Lights;
use crate::device::wire::{ROOM_FOR_ALL, ResendAll};

/// Messages to one destination that may be unanswered at once while others to it stand refused: what each
/// notice makes stale and has to be offered again is bounded by this.
pub const WINDOW: u32 = 16;

/// Bytes of the greater of the two index entries that lead to pending messages; the index is at least 7/16
/// full once it has grown.
pub const INDEX_BYTES: usize = size_of::<(Key, List)>() + 1;

/// One destination's pending send queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Destination {
    rank: Rank,
    queue: List,
    /// Messages to be offered again.
    offers: List,
    /// The first message that was never offered; none behind it was.
    fresh: u32,
    /// Every message of the queue is in the chain of its context and tag.
    chained: bool,
    /// Where the last message was put back among the offers: the next one usually goes behind it.
    finger: u32,
    unanswered: u32,
    refused: u32,
    /// The next message's place in the order.
    serial: Serial,
    /// The horizon of the notice that was carried out last.
    horizon: Horizon,
    /// The receiver's last answer said that its memory runs low.
    throttled: bool,
    notice: Notice,
    /// In the list of destinations that may have something to offer.
    listed: bool,
}

impl Destination {
    fn new(rank: Rank) -> Destination {
        Destination {
            rank,
            queue: List::default(),
            offers: List::default(),
            fresh: NONE,
            chained: false,
            finger: NONE,
            unanswered: 0,
            refused: 0,
            serial: 0,
            horizon: 0,
            throttled: false,
            notice: Notice::Closed,
            listed: false,
        }
    }

    /// The next message to be offered: what has been offered before comes first, as in the queue.
    fn next_offer(&self) -> u32 {
        match self.offers.head() {
            NONE => self.fresh,
            again => again,
        }
    }

    fn is_ready(&self, rules: impl Rules) -> bool {
        match self.notice {
            Notice::Waiting { .. } => self.unanswered == 0 || !rules.waits(),
            Notice::Closing => true,
            Notice::Expected if rules.waits() => false,
            Notice::Expected | Notice::Closed => {
                let open = self.refused == 0 || self.unanswered < WINDOW;
                self.next_offer() != NONE && open
            }
        }
    }

    /// Nothing is pending and no notice is to be carried out: it might as well not be there.
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.notice == Notice::Closed
    }

    /// Notices have asked for messages that are still in the queue.
    fn asks(&self, requests: &RequestPool) -> bool {
        let mut at = self.queue.head();
        while at != NONE && requests.at(at).asked.is_none() {
            at = requests.next_in::<QUEUE>(at);
        }
        at != NONE
    }

    /// Hashes the queue and what becomes of it; not what only saves steps, and no serial numbers, which say no
    /// more than its order does.
    pub(crate) fn hash<H: Hasher>(&self, requests: &RequestPool, lights: &Lights, state: &mut H) {
        if self.is_idle() {
            return;
        }
        (self.rank, self.unanswered, self.refused).hash(state);
        (self.throttled, self.notice, self.listed).hash(state);
        // Offers bring it back that were asked for.
        self.asks(requests).then_some(self.horizon).hash(state);
        requests.hash_queue(self.queue.head(), lights, state);
        requests.hash_queue(self.fresh, lights, state);
    }
}

/// How far the receiver's notice has been carried out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Notice {
    /// There is none, or it has been closed.
    Closed,
    /// An offer was not judged, so a notice is on its way: it would be no use to offer anything before it.
    Expected,
    /// It has come: nothing is offered before every offer under way has its answer.
    Waiting {
        /// Messages from the head of the queue that there is room for.
        room: u32,
    },
    /// What is to be offered is known; the first offer, or DONE, closes the notice.
    Closing,
}

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
    Offer(u32, Standing),
    /// The notice has been carried out and asks for nothing that is here.
    Done {
        /// Messages to the destination stand refused.
        more: bool,
    },
}

/// What an offer says of the queue it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Standing {
    /// Everything before it has been accepted, or offered in order under the same age.
    pub in_order: bool,
    /// Other messages stand refused.
    pub more: bool,
    /// Another message is to be offered.
    pub follows: bool,
    /// Its data may follow without waiting for the answer, as far as the receiver's memory goes.
    pub eager: bool,
    /// A notice asks for it: that notice's horizon.
    pub asked: Option<Horizon>,
}

type Key = (Rank, Context, Tag);

/// All destinations with pending messages.
#[derive(Clone, Debug)]
pub struct Pending {
    by_rank: HashMap<Rank, u32, FxBuildHasher>,
    chains: HashMap<Key, List, FxBuildHasher>,
    /// Messages that are in no chain, each of which may need a new one.
    unchained: usize,
    /// Messages that may enter at any moment, for which there is room.
    expected: usize,
    /// The destination that was last looked for, and its slot: most often it is the next one, too.
    last: (Rank, u32),
    /// The destination whose queue has last become empty, kept for the next message to it.
    idle: u32,
    ready: List,
    steps: u64,
}

impl Default for Pending {
    fn default() -> Self {
        Pending {
            by_rank: HashMap::default(),
            chains: HashMap::default(),
            unchained: 0,
            expected: 0,
            last: (0, NONE),
            idle: NONE,
            ready: List::default(),
            steps: 0,
        }
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.by_rank == other.by_rank && self.chains == other.chains && self.ready == other.ready
    }
}

impl Eq for Pending {}

impl Pending {
    /// Hashes the order of turns. The maps say no more than the destinations and requests that they lead to,
    /// which are hashed with the pool; and which destination was last looked for changes nothing but the work.
    pub(crate) fn hash<H: Hasher>(&self, requests: &RequestPool, state: &mut H) {
        let mut at = self.ready.head();
        while at != NONE {
            requests.destination(at).rank.hash(state);
            at = requests.next_in::<QUEUE>(at);
        }
    }
}

fn key(requests: &RequestPool, dest: Rank, slot: u32) -> Key {
    let request = requests.at(slot);
    (dest, request.context, request.tag.unwrap_or(0))
}

impl Pending {
    /// Makes sure that so many messages can be entered, out of the heap, beside those that are expected.
    pub fn reserve(&mut self, messages: usize) -> Result<(), Full> {
        let messages = messages + self.expected;
        let chains = self.unchained + messages;
        self.chains.try_reserve(chains).map_err(|_| Full)?;
        self.by_rank.try_reserve(messages).map_err(|_| Full)
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
    pub(crate) fn has(&self, dest: Rank) -> bool {
        self.destinations() > 0 && self.by_rank.get(&dest).is_some_and(|&at| at != self.idle)
    }

    /// Destinations with pending messages, or whose notice has still to be carried out.
    pub fn destinations(&self) -> usize {
        self.by_rank.len() - usize::from(self.idle != NONE)
    }

    /// The slot of the destination `dest`.
    #[inline]
    fn find(&mut self, dest: Rank) -> Option<u32> {
        if self.last.0 != dest || self.last.1 == NONE {
            self.last = (dest, *self.by_rank.get(&dest)?);
        }
        Some(self.last.1)
    }

    /// Forgets the destination that is kept though nothing is pending to it.
    fn drop_idle(&mut self, requests: &mut RequestPool) {
        if self.idle != NONE {
            self.by_rank.remove(&requests.destination(self.idle).rank);
            requests.remove_destination(self.idle);
            if self.last.1 == self.idle {
                self.last.1 = NONE;
            }
            self.idle = NONE;
        }
    }

    /// Nothing is pending any more to the destination at `at`, which is in no list.
    fn set_idle(&mut self, requests: &mut RequestPool, at: u32) {
        self.drop_idle(requests);
        let rank = requests.destination(at).rank;
        *requests.destination_mut(at) = Destination::new(rank);
        self.idle = at;
    }

    /// Messages looked at one after the other, by everything that has to search.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Appends an unsent message to the queue of `dest`, out of the heap: the only call here that allocates.
    /// So many slots besides, and room for as many messages, are kept for others; when there is not so
    /// much, nothing has changed.
    pub fn push(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        mut request: Request,
        keep: u32,
        rules: impl Rules,
    ) -> Result<RequestId, Full> {
        let is_new = self.find(dest).is_none();
        if is_new {
            self.drop_idle(requests);
        }
        requests.grow(1 + u32::from(is_new) + keep)?;
        self.reserve(1 + keep as usize)?;
        let at = self.queue_of(requests, dest);
        request.serial = requests.destination(at).serial;
        let id = requests.insert(request).expect("there is a free slot");
        self.append(requests, at, id.index());
        self.list_if_ready(requests, at, rules);
        Ok(id)
    }

    /// A light send, whose request is in `slot`, enters the queue of its destination `dest`: it has been
    /// offered or is unsent. There is a free slot for the destination.
    pub fn enter_light(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: u32,
        rules: impl Rules,
    ) {
        let at = self.queue_of(requests, dest);
        let destination = requests.destination(at);
        let (serial, fresh) = (destination.serial, destination.fresh);
        requests.at_mut(slot).serial = serial;
        self.append(requests, at, slot);
        if requests.at(slot).state == State::Pending(Offer::Unanswered) {
            let destination = requests.destination_mut(at);
            destination.unanswered += 1;
            destination.fresh = fresh;
        }
        self.list_if_ready(requests, at, rules);
    }

    /// The destination's slot; it takes a free one when the destination is new.
    fn queue_of(&mut self, requests: &mut RequestPool, dest: Rank) -> u32 {
        let at = match self.find(dest) {
            Some(at) => at,
            None => {
                let at = requests
                    .insert_destination(Destination::new(dest))
                    .expect("there is a free slot");
                self.by_rank.insert(dest, at);
                self.last = (dest, at);
                at
            }
        };
        if self.idle == at {
            self.idle = NONE;
        }
        at
    }

    fn append(&mut self, requests: &mut RequestPool, at: u32, slot: u32) {
        let mut queue = requests.destination(at).queue;
        queue.push(requests, slot);
        let destination = requests.destination_mut(at);
        destination.queue = queue;
        destination.serial += 1;
        if destination.fresh == NONE {
            destination.fresh = slot;
        }
        self.unchained += 1;
        let (dest, chained) = (destination.rank, destination.chained);
        if chained {
            self.enter(requests, dest, slot);
        }
    }

    /// Enters a message into the chain of its context and tag.
    fn enter(&mut self, requests: &mut RequestPool, dest: Rank, slot: u32) {
        let key = key(requests, dest, slot);
        self.chains
            .entry(key)
            .or_default()
            .push(&mut requests.links::<CHAIN>(), slot);
        self.unchained -= 1;
    }

    /// A notice names a tag: from now on the destination's messages are in chains.
    fn enter_all(&mut self, requests: &mut RequestPool, at: u32) {
        let destination = requests.destination_mut(at);
        let (dest, mut slot) = (destination.rank, destination.queue.head());
        destination.chained = true;
        while slot != NONE {
            self.enter(requests, dest, slot);
            slot = requests.next_in::<QUEUE>(slot);
        }
    }

    /// The message in `slot` to `dest`, which was offered, has been answered, and whether the receiver's
    /// memory is `scarce`.
    pub fn answered(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: u32,
        answered: Answered,
        scarce: bool,
        rules: impl Rules,
    ) {
        let Some(at) = self.find(dest) else {
            return;
        };
        let destination = requests.destination_mut(at);
        destination.unanswered -= 1;
        destination.throttled = scarce;
        if answered == Answered::Stale && destination.notice == Notice::Closed {
            destination.notice = Notice::Expected;
        }
        let asked = requests.at(slot).asked;
        let told = asked.is_none_or(|asked| asked.told);
        match answered {
            Answered::Taken => self.take_out(requests, at, slot),
            Answered::Stale if !rules.goes_on() => self.settle(requests, at, slot),
            Answered::Refused if told => self.settle(requests, at, slot),
            // Refused, but asked for while its answer was on the way; or never judged.
            Answered::Refused | Answered::Stale => self.put_back(requests, at, slot),
        }
        self.list_if_ready(requests, at, rules);
    }

    /// The `total` messages in the queue of `dest` that end with that in the slot `last`, all of them offered,
    /// have been taken with their data. Calls `taken` for each. False when there are not so many: then
    /// nothing is changed.
    #[must_use]
    pub fn all_taken(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        last: u32,
        total: u32,
        rules: impl Rules,
        mut taken: impl FnMut(&mut RequestPool, u32),
    ) -> bool {
        let Some(at) = self.find(dest).filter(|_| total > 0) else {
            return total == 0;
        };
        let (mut slot, mut before) = (NONE, last);
        for _ in 0..total {
            if before == NONE || requests.at(before).state != State::Pending(Offer::Unanswered) {
                return false;
            }
            (slot, before) = (before, requests.prev_in::<QUEUE>(before));
        }
        for _ in 0..total {
            let next = requests.next_in::<QUEUE>(slot);
            requests.destination_mut(at).unanswered -= 1;
            self.take_out(requests, at, slot);
            taken(requests, slot);
            slot = next;
        }
        self.list_if_ready(requests, at, rules);
        true
    }

    /// The message in `slot` to `dest`, which is not under way, is withdrawn by its sender.
    pub fn withdraw(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        slot: u32,
        rules: impl Rules,
    ) {
        let Some(at) = self.find(dest) else {
            return;
        };
        let is_refused = requests.at(slot).state == State::Pending(Offer::Refused);
        let destination = requests.destination_mut(at);
        let fresh = destination.fresh;
        if is_refused {
            destination.refused -= 1;
        } else if fresh != NONE && requests.at(slot).serial >= requests.at(fresh).serial {
            if fresh == slot {
                requests.destination_mut(at).fresh = requests.next_in::<QUEUE>(slot);
            }
        } else {
            let destination = requests.destination_mut(at);
            if destination.finger == slot {
                destination.finger = NONE;
            }
            let mut offers = destination.offers;
            offers.remove(&mut requests.links::<OFFERS>(), slot);
            requests.destination_mut(at).offers = offers;
        }
        self.take_out(requests, at, slot);
        self.list_if_ready(requests, at, rules);
    }

    /// A message stands refused until a notice asks for it or has room for it.
    fn settle(&self, requests: &mut RequestPool, at: u32, slot: u32) {
        let request = requests.at_mut(slot);
        request.state = State::Pending(Offer::Refused);
        request.asked = None;
        requests.destination_mut(at).refused += 1;
    }

    /// Takes a message that has been accepted, or withdrawn, out of everything.
    fn take_out(&mut self, requests: &mut RequestPool, at: u32, slot: u32) {
        let destination = requests.destination(at);
        let (dest, mut queue, chained) = (destination.rank, destination.queue, destination.chained);
        if let Some(asked) = requests
            .at_mut(slot)
            .asked
            .take()
            .filter(|asked| !asked.told)
        {
            // It was asked for, but accepted before that: the request passes to the next that fits.
            let next = match asked.any_tag {
                true => self.next_unasked(requests, slot, |requests, slot| {
                    requests.next_in::<QUEUE>(slot)
                }),
                false => self.next_unasked(requests, slot, |requests, slot| {
                    requests.next_in::<CHAIN>(slot)
                }),
            };
            if next != NONE {
                self.ask(requests, at, next, asked);
            }
        }
        if chained {
            let key = key(requests, dest, slot);
            if let Some(chain) = self.chains.get_mut(&key) {
                chain.remove(&mut requests.links::<CHAIN>(), slot);
                if chain.is_empty() {
                    self.chains.remove(&key);
                }
            }
        } else {
            self.unchained -= 1;
        }
        queue.remove(requests, slot);
        let destination = requests.destination_mut(at);
        destination.queue = queue;
        if queue.is_empty() && destination.notice == Notice::Closed {
            if destination.listed {
                self.ready.remove(requests, at);
            }
            self.set_idle(requests, at);
        }
    }

    /// The next message behind `slot`, along `next`, of the same context and not asked for yet.
    fn next_unasked(
        &mut self,
        requests: &RequestPool,
        slot: u32,
        next: fn(&RequestPool, u32) -> u32,
    ) -> u32 {
        let context = requests.at(slot).context;
        let mut at = next(requests, slot);
        while at != NONE && (requests.at(at).context != context || requests.at(at).asked.is_some())
        {
            self.steps += 1;
            at = next(requests, at);
        }
        at
    }

    /// Puts a message among those to be offered, in its place.
    fn put_back(&mut self, requests: &mut RequestPool, at: u32, slot: u32) {
        let request = requests.at_mut(slot);
        request.state = State::Pending(Offer::Unsent);
        if let Some(asked) = &mut request.asked {
            asked.told = false;
        }
        let destination = requests.destination(at);
        let (mut offers, finger) = (destination.offers, destination.finger);
        let serial = requests.at(slot).serial;
        let before = |requests: &RequestPool, other: u32| requests.at(other).serial < serial;
        let mut after = if finger != NONE && before(requests, finger) {
            finger
        } else {
            NONE
        };
        let mut next = if after == NONE {
            offers.head()
        } else {
            requests.next_in::<OFFERS>(after)
        };
        while next != NONE && before(requests, next) {
            self.steps += 1;
            after = next;
            next = requests.next_in::<OFFERS>(next);
        }
        offers.insert_after(&mut requests.links::<OFFERS>(), after, slot);
        let destination = requests.destination_mut(at);
        destination.offers = offers;
        destination.finger = slot;
    }

    /// A notice of `dest` has come: it asks for a message for each of its entries, in the order of posting, and
    /// has room for so many messages from the head of the queue. False when nothing is pending to `dest`: the
    /// notice is done.
    #[must_use]
    pub fn notice(
        &mut self,
        requests: &mut RequestPool,
        dest: Rank,
        notice: &ResendAll,
        rules: impl Rules,
    ) -> bool {
        let Some(at) = self.find(dest).filter(|&at| at != self.idle) else {
            return false;
        };
        let destination = requests.destination_mut(at);
        let room = match notice.room {
            ROOM_FOR_ALL => u32::MAX,
            room => room.into(),
        };
        destination.notice = Notice::Waiting { room };
        destination.horizon = notice.horizon;
        for entry in &notice.entries {
            let asked = Asked {
                any_tag: entry.tag.is_none(),
                exact: entry.exact,
                told: false,
            };
            let first = match entry.tag {
                Some(tag) => {
                    if !requests.destination(at).chained {
                        self.enter_all(requests, at);
                    }
                    let chain = self.chains.get(&(dest, entry.context, tag));
                    chain.map_or(NONE, List::head)
                }
                None => requests.destination(at).queue.head(),
            };
            let fits = |requests: &RequestPool, slot: u32| {
                requests.at(slot).context == entry.context && requests.at(slot).asked.is_none()
            };
            let slot = if first == NONE || fits(requests, first) {
                first
            } else if entry.tag.is_some() {
                self.next_unasked(requests, first, |requests, slot| {
                    requests.next_in::<CHAIN>(slot)
                })
            } else {
                let mut slot = first;
                while slot != NONE && !fits(requests, slot) {
                    self.steps += 1;
                    slot = requests.next_in::<QUEUE>(slot);
                }
                slot
            };
            if slot != NONE {
                self.ask(requests, at, slot, asked);
            }
        }
        self.list_if_ready(requests, at, rules);
        true
    }

    /// Notes that a notice asks for the message in `slot`, and sees to it that it is offered.
    fn ask(&mut self, requests: &mut RequestPool, at: u32, slot: u32, asked: Asked) {
        let request = requests.at_mut(slot);
        request.asked = Some(asked);
        if request.state == State::Pending(Offer::Refused) {
            requests.destination_mut(at).refused -= 1;
            self.put_back(requests, at, slot);
        }
    }

    /// Nothing is under way any more: what there is room for joins what is to be offered.
    fn begin_pass(&mut self, requests: &mut RequestPool, at: u32, room: u32) {
        let destination = requests.destination_mut(at);
        destination.notice = Notice::Closing;
        destination.finger = NONE;
        let mut slot = destination.queue.head();
        for _ in 0..room {
            // From here on everything is unsent and in its place already.
            if slot == NONE || requests.destination(at).refused == 0 {
                break;
            }
            self.steps += 1;
            if requests.at(slot).state == State::Pending(Offer::Refused) {
                requests.destination_mut(at).refused -= 1;
                self.put_back(requests, at, slot);
            }
            slot = requests.next_in::<QUEUE>(slot);
        }
    }

    fn list_if_ready(&mut self, requests: &mut RequestPool, at: u32, rules: impl Rules) {
        let destination = requests.destination_mut(at);
        if !destination.listed && destination.is_ready(rules) {
            destination.listed = true;
            self.ready.push(requests, at);
        }
    }

    /// What is to be said next, and to whom: destinations take turns. `None` when nothing may be said. The
    /// caller says it at once.
    pub fn next(&mut self, requests: &mut RequestPool, rules: impl Rules) -> Option<(Rank, Next)> {
        loop {
            let at = self.ready.head();
            if at == NONE {
                return None;
            }
            let destination = requests.destination_mut(at);
            if destination.is_ready(rules) {
                if let Notice::Waiting { room } = destination.notice {
                    self.begin_pass(requests, at, room);
                }
                return Some(self.take_turn(requests, at));
            }
            destination.listed = false;
            self.ready.remove(requests, at);
        }
    }

    fn take_turn(&mut self, requests: &mut RequestPool, at: u32) -> (Rank, Next) {
        let destination = requests.destination_mut(at);
        let (rank, throttled, fresh) = (destination.rank, destination.throttled, destination.fresh);
        let horizon = destination.horizon;
        let more = destination.refused > 0;
        destination.notice = Notice::Closed;
        let slot = destination.next_offer();
        if slot == NONE {
            destination.listed = false;
            let is_empty = destination.queue.is_empty();
            self.ready.remove(requests, at);
            if is_empty {
                self.set_idle(requests, at);
            }
            return (rank, Next::Done { more });
        }
        destination.unanswered += 1;
        if destination.finger == slot {
            destination.finger = NONE;
        }
        let mut offers = destination.offers;
        let (prev, next) = requests.neighbours(slot);
        let follows = if slot == fresh {
            requests.destination_mut(at).fresh = next;
            next != NONE
        } else {
            offers.remove(&mut requests.links::<OFFERS>(), slot);
            requests.destination_mut(at).offers = offers;
            !offers.is_empty() || fresh != NONE
        };
        let in_order = prev == NONE || {
            let prev = requests.at(prev);
            prev.in_order && prev.state == State::Pending(Offer::Unanswered)
        };
        let request = requests.at_mut(slot);
        debug_assert!(matches!(request.state, State::Pending(offer) if may_offer(offer)));
        request.state = State::Pending(Offer::Unanswered);
        request.in_order = in_order;
        if let Some(asked) = &mut request.asked {
            asked.told = true;
        }
        let asked = request.asked.map(|_| horizon);
        self.ready.rotate(requests);
        let standing = Standing {
            in_order,
            more,
            follows,
            eager: in_order && !more && !throttled,
            asked,
        };
        (rank, Next::Offer(slot, standing))
    }
}
