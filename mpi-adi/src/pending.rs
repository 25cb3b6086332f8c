//! The pending send queues: per destination, in order, the messages that the receiver has not yet
//! recorded or matched.
//!
//! A destination's queue exists only while a message to it is pending, so nothing here grows with the
//! job. Adding, answering and removing a message take constant time, however long the queue; a restart
//! only moves the cursor.
#![forbid(unsafe_code)]

use hashbrown::HashMap;

use crate::envelope::Rank;
use crate::list::{Links, List, NONE};
use crate::protocol::{Rules, may_offer};
use crate::request::{Full, Offer, RequestPool, State};

/// One destination's pending send queue. See [`crate::protocol`] for the cursor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Destination {
    rank: Rank,
    queue: List,
    /// First message that has not been offered since the last restart; [`NONE`]: all have.
    cursor: u32,
    /// In the list of destinations that may have something to offer.
    listed: bool,
}

impl Destination {
    /// In the list of destinations that may have something to offer.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }
}

/// All destinations with pending messages.
#[derive(Clone, Default, Debug)]
pub struct Pending {
    by_rank: HashMap<Rank, u32, rustc_hash::FxBuildHasher>,
    ready: List,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.by_rank == other.by_rank && self.ready == other.ready
    }
}

impl Eq for Pending {}

impl core::hash::Hash for Pending {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        // The map says no more than the destinations that it leads to, which are hashed with the pool.
        self.ready.hash(state);
    }
}

impl Pending {
    /// Prepares for one more message to `dest`, out of the heap: afterwards [`Pending::push`] cannot fail.
    pub fn prepare(&mut self, requests: &mut RequestPool, dest: Rank) -> Result<(), Full> {
        // One slot for the message and one for the destination, should it be new.
        requests.grow(if self.by_rank.contains_key(&dest) {
            1
        } else {
            2
        })?;
        self.by_rank.try_reserve(1).map_err(|_| Full)
    }

    /// Appends the unsent message in `slot` to the queue of `dest`.
    ///
    /// # Panics
    /// When [`Pending::prepare`] was not called before.
    pub fn push(&mut self, requests: &mut RequestPool, dest: Rank, slot: u32, rules: Rules) {
        let at = match self.by_rank.get(&dest) {
            Some(&at) => at,
            None => {
                let new = Destination {
                    rank: dest,
                    queue: List::default(),
                    cursor: NONE,
                    listed: false,
                };
                let at = requests.insert_destination(new).expect("prepared for");
                self.by_rank.insert(dest, at);
                at
            }
        };
        let mut queue = requests.destination(at).queue;
        queue.push(requests, slot);
        let destination = requests.destination_mut(at);
        destination.queue = queue;
        if destination.cursor == NONE {
            destination.cursor = slot;
        }
        self.list_if_ready(requests, at, rules);
    }

    /// Takes the message in `slot` out of the queue of `dest`: it has been recorded or matched.
    pub fn remove(&mut self, requests: &mut RequestPool, dest: Rank, slot: u32, rules: Rules) {
        let Some(&at) = self.by_rank.get(&dest) else {
            return;
        };
        let next = requests.next(slot);
        let mut queue = requests.destination(at).queue;
        queue.remove(requests, slot);
        let destination = requests.destination_mut(at);
        destination.queue = queue;
        if destination.cursor == slot {
            destination.cursor = next;
        }
        if queue.is_empty() {
            if destination.listed {
                self.ready.remove(requests, at);
            }
            self.by_rank.remove(&dest);
            requests.remove_destination(at);
        } else {
            self.list_if_ready(requests, at, rules);
        }
    }

    /// The message in `slot` to `dest` was refused: if a restart waits for it, the restart goes on.
    pub fn refused(&mut self, requests: &mut RequestPool, dest: Rank, rules: Rules) {
        if let Some(&at) = self.by_rank.get(&dest) {
            self.list_if_ready(requests, at, rules);
        }
    }

    /// A restart: every message pending to `dest` is to be offered again, in order.
    pub fn restart(&mut self, requests: &mut RequestPool, dest: Rank, rules: Rules) {
        if let Some(&at) = self.by_rank.get(&dest) {
            let destination = requests.destination_mut(at);
            destination.cursor = destination.queue.head();
            self.give_up_if_broken(requests, at, rules);
            self.list_if_ready(requests, at, rules);
        }
    }

    fn list_if_ready(&mut self, requests: &mut RequestPool, at: u32, rules: Rules) {
        let destination = requests.destination(at);
        if !destination.listed && self.offerable(requests, at, rules).is_some() {
            requests.destination_mut(at).listed = true;
            self.ready.push(requests, at);
        }
    }

    fn offerable(&self, requests: &RequestPool, at: u32, rules: Rules) -> Option<u32> {
        let cursor = requests.destination(at).cursor;
        if cursor == NONE {
            return None;
        }
        match requests.at(cursor).state {
            State::Pending(offer) if may_offer(offer) => Some(cursor),
            _ if !rules.waits => first_unsent(requests, cursor),
            _ => None,
        }
    }

    /// The next message to offer, and to whom: destinations take turns. `None` when nothing may be offered.
    /// The caller offers it and says so with [`Pending::offered`].
    pub fn next(&mut self, requests: &mut RequestPool, rules: Rules) -> Option<(Rank, u32)> {
        loop {
            let at = self.ready.head();
            if at == NONE {
                return None;
            }
            if let Some(slot) = self.offerable(requests, at, rules) {
                return Some((requests.destination(at).rank, slot));
            }
            self.ready.remove(requests, at);
            requests.destination_mut(at).listed = false;
        }
    }

    /// The message in `slot`, which [`Pending::next`] named, has left: the cursor moves on, and the next
    /// destination has its turn.
    pub fn offered(&mut self, requests: &mut RequestPool, slot: u32, rules: Rules) {
        let at = self.ready.head();
        if requests.destination(at).cursor == slot {
            requests.destination_mut(at).cursor = requests.next(slot);
            self.give_up_if_broken(requests, at, rules);
        }
        self.ready.rotate(requests);
    }

    /// What [`Rules::goes_on`] forbids: a restart that meets an unanswered message ends there.
    fn give_up_if_broken(&self, requests: &mut RequestPool, at: u32, rules: Rules) {
        let cursor = requests.destination(at).cursor;
        if !rules.goes_on
            && cursor != NONE
            && requests.at(cursor).state == State::Pending(Offer::Unanswered)
        {
            requests.destination_mut(at).cursor = NONE;
        }
    }

    /// Destinations with pending messages.
    pub fn destinations(&self) -> usize {
        self.by_rank.len()
    }
}

/// What [`Rules::waits`] forbids: a message that leaves before its turn.
fn first_unsent(requests: &RequestPool, mut slot: u32) -> Option<u32> {
    while slot != NONE {
        if requests.at(slot).state == State::Pending(Offer::Unsent) {
            return Some(slot);
        }
        slot = requests.next(slot);
    }
    None
}
