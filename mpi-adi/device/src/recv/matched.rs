//! Matched probes: a probe that takes the message it finds, so that nothing else can receive it (MPI-3.1 section
//! 3.8.2).
//!
//! The message that a matched probe takes is a receive whose buffer is not known yet. It *holds* the message where that
//! is until the program says where it goes:
//!
//! ```text
//!   improbe --+-- a record without data -----------> Stopped: the sender keeps the data, the record is freed
//!             +-- a record with a buffer ----------> Kept: in its record, which may still be filling
//!             +-- a refused message is noted ------> Posted, for exactly that envelope ("fetching")
//!                                                       | RTS; the answer is NCTSD
//!                                                       +--> Stopped
//!   mrecv   --+-- Stopped ----> CtsDue --> ...         +-- Kept ----> Bound, or Done at once
//! ```
//! So a message that is held takes MPI memory only if it has had it before, and any number of them can be held with room
//! for a single record.
//!
//! # Fetching
//! A message that a probe has only noted is still in its sender's pending send queue, and its sender may take it back
//! ([`super::probe`]). Before the program is told that it has the message, the message must be its own: a receive for
//! exactly that envelope is posted, which is what a receive behind a probe does, too. By the argument of the notes, the
//! message that it matches is the one noted. A sender that takes a refused message back ends the receive; then the probe
//! looks anew. The probe's call lasts for as long as this takes, one answer of the sender: nothing else is started
//! meanwhile that could get between.
//!
//! The data of a message that is held stays with its sender, whose request completes when the program receives it, also
//! when the sender asks to cancel it.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::NoMemory;
use crate::envelope::{Pattern, Rank};
use crate::matching::Matching;
use crate::memory::region::Holding;
use crate::memory::{Span, UserMemory};
use crate::names::{RequestId, Slot};
use crate::protocol::Rules;
use crate::recv::Probed;
use crate::request::{Coming, KEPT_SLOTS, Matched, Posted, Receive, ReceiveState, Request};

impl<R: Rules> Adi<R> {
    /// As [`Adi::iprobe`], but takes the message: its name, by which alone it can be received ([`Adi::mrecv`]). While
    /// [`Adi::is_fetching`], the caller repeats the call, with the same pattern, and starts nothing else before it has
    /// given a message or is fetching no longer. Does not block. Fails when the program's heap has no room for a request or for a single
    /// armed probe.
    pub fn improbe<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
    ) -> Result<Option<(RequestId, Probed)>, NoMemory> {
        if let Some(id) = self.receiver.fetching {
            if !self.fetched(id) {
                return Ok(None);
            }
            self.receiver.fetching = None;
            if let Some(found) = self.held(id) {
                return Ok(Some((id, found)));
            }
            // Its sender has taken it back.
            self.forget(id);
        }
        let none = NoMemory::Requests {
            live: self.requests.named(),
        };
        self.requests.grow(1 + KEPT_SLOTS).map_err(|_| none)?;
        self.matching
            .reserve(self.requests.slots())
            .map_err(|_| none)?;
        if let Some(at) = self.matching.probe(&mut self.region, &pattern) {
            let record = self
                .region
                .record(at)
                .expect("the unexpected queue holds records");
            let matched = Matched {
                envelope: record.envelope,
                length: record.length,
            };
            let (coming, is_free) = match record.holding {
                Holding::Nothing { sender } => (Coming::Stopped { sender }, true),
                Holding::Buffer { .. } => (Coming::Kept { at }, false),
                Holding::Bound { .. } => unreachable!("a bound record is in no queue"),
            };
            let state = ReceiveState::Matched(matched, coming);
            let id = self.insert_held(state).map_err(|_| none)?;
            self.matching.unrecord(&mut self.region, at);
            if is_free {
                self.release(memory, at);
            }
            return Ok(self.held(id).map(|found| (id, found)));
        }
        if let Some(noted) = self.receiver.probes.noted(&pattern) {
            let exact = noted.envelope.pattern();
            let state = ReceiveState::Posted(Posted {
                pattern: exact,
                serial: self.receiver.posts,
                to_name: false,
            });
            let id = self.insert_held(state).map_err(|_| none)?;
            self.receiver.posts += 1;
            self.receiver.probes.posted(&exact);
            self.post(id.slot(), &exact);
            self.receiver.fetching = Some(id);
            return Ok(None);
        }
        self.arm(pattern).map(|()| None)
    }

    /// A matched probe has found a message and waits for its sender's answer.
    pub fn is_fetching(&self) -> bool {
        self.receiver.fetching.is_some()
    }

    /// The message that a matched probe has taken under this name and that has not been received yet.
    pub fn held(&self, id: RequestId) -> Option<Probed> {
        let Matched { envelope, length } = self.requests.get_receive(id)?.held()?;
        Some(Probed { envelope, length })
    }

    /// Receives the message of this name into `span`: from now on the name is that of a receive.
    ///
    /// # Panics
    /// When it is not [held](Adi::held): the bindings check that first.
    pub fn mrecv<M: UserMemory + ?Sized>(&mut self, memory: &mut M, id: RequestId, span: Span) {
        let slot = id.slot();
        let ReceiveState::Matched(matched, coming) = self.requests.receive(slot).state else {
            unreachable!("a message that is held has matched")
        };
        self.requests.aim(slot, span);
        match coming {
            Coming::Kept { at } => self.match_record(memory, id, at),
            Coming::Stopped { sender } => {
                if let Some(send) = self.held_here(matched.envelope.source, sender) {
                    return self.take_held(memory, send, slot, matched);
                }
                let due = Coming::CtsDue { sender };
                self.requests
                    .set_receive_state(slot, ReceiveState::Matched(matched, due));
                self.receiver.cts_due.push(&mut self.requests, slot);
            }
            _ => unreachable!("a message that is received is not held"),
        }
    }

    /// A receive that holds what it matches.
    fn insert_held(&mut self, state: ReceiveState) -> Result<RequestId, crate::request::Full> {
        let span = Span::EMPTY;
        let id = self
            .requests
            .insert(Request::Receive(Receive { span, state }))?;
        self.requests.hold(id.slot());
        Ok(id)
    }

    /// The receive that fetches has matched, or has been given up.
    fn fetched(&self, id: RequestId) -> bool {
        let receive = self.requests.get_receive(id);
        receive.is_none_or(|receive| !matches!(receive.state, ReceiveState::Posted(_)))
    }

    /// The posted receive in `slot`, which holds, has matched a message that its sender calls `sender` and keeps.
    pub(crate) fn hold_back(&mut self, slot: Slot, matched: Matched, sender: u32) {
        self.unpost(slot);
        self.receiver.probes.taken(&matched.envelope);
        let stopped = Coming::Stopped { sender };
        self.requests
            .set_receive_state(slot, ReceiveState::Matched(matched, stopped));
    }

    /// A refused message of `source` has been taken back, which may be the one that is being fetched.
    pub(crate) fn give_up_fetching(&mut self, source: Rank) {
        let Some(id) = self.receiver.fetching.filter(|id| !self.fetched(*id)) else {
            return;
        };
        if self.requests.posted(id.slot()).pattern.source() == Some(source) {
            self.unpost(id.slot());
            self.requests.cancel_receive(id.slot());
        }
    }
}
