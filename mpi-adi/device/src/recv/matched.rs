//! Matched probes: a matched probe dequeues the message it finds, exclusively (MPI-3.1 section 3.8.2).
//!
//! A message of a matched probe is a receive without a buffer yet. It *holds* the message in place until `mrecv`:
//!
//! ```text
//!   improbe --+-- a record without data -----------> MprobeHeld: the sender keeps the data, the record is freed
//!             +-- a record with a buffer ----------> MprobeBuffered: in its record, which may still be filling
//!             +-- a rejected message is noted -----> Posted, for exactly that envelope ("fetching")
//!                                                       | RTS; the reply is NCTSD
//!                                                       +--> MprobeHeld
//!   mrecv   --+-- MprobeHeld --> CtsPending --> ...    +-- MprobeBuffered --> Buffering, or Done immediately
//! ```
//! NCTSD is "not clear to send data". So a held message uses MPI memory only if it did before, and memory for a single
//! record is enough to hold any number of messages.
//!
//! # Fetching
//! A message that a probe has only noted is still in its sender's pending send queue, and the sender may cancel it
//! ([`super::probe`]). Before the program gets the message handle, the message must be reserved for it. So a receive
//! for exactly that envelope is posted, as a receive after a probe would be. By the argument for notes in
//! [`super::probe`], it matches the noted message. A sender that cancels a rejected message ends the receive; then the
//! probe searches again. The probe's call lasts until then, one reply of the sender, and nothing that could interfere
//! starts meanwhile.
//!
//! The data of a held message stays with its sender. The sender's request completes when the program receives the
//! message, even if the sender tries to cancel it.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::OutOfMemory;
use crate::envelope::{MatchPattern, Rank};
use crate::ids::{RequestId, Slot};
use crate::matching::Matching;
use crate::memory::region::RecordData;
use crate::memory::{Span, UserMemory};
use crate::protocol::ProtocolRules;
use crate::recv::ProbedMessage;
use crate::request::{MatchedMessage, PostedReceive, RESERVED_SLOTS, ReceiveRequest, ReceiveState, RecvData, Request};

impl<R: ProtocolRules> Adi<R> {
    /// Performs a matched probe: returns the message handle, which is required to receive it ([`Adi::mrecv`]), and its
    /// envelope. While [`Adi::is_fetching`] is true, the caller repeats the call with the same pattern, and starts
    /// nothing else before the call returns a message or stops fetching. Does not block. Fails when the program's heap
    /// has no space for a request or for a single armed probe.
    pub fn improbe<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: MatchPattern,
    ) -> Result<Option<(RequestId, ProbedMessage)>, OutOfMemory> {
        if let Some(id) = self.receiver.fetching {
            if !self.fetched(id) {
                return Ok(None);
            }
            self.receiver.fetching = None;
            if let Some(found) = self.held_message(id) {
                return Ok(Some((id, found)));
            }
            // Its sender has cancelled it.
            self.forget(id);
        }
        let none = OutOfMemory::Requests {
            live: self.requests.handle_count(),
        };
        self.requests.grow(1 + RESERVED_SLOTS).map_err(|_| none)?;
        self.matching.reserve(self.requests.slots()).map_err(|_| none)?;
        if let Some(at) = self.matching.probe(&mut self.region, &pattern) {
            let record = self.region.record(at).expect("a queued record");
            let matched = MatchedMessage {
                envelope: record.envelope,
                length: record.length,
            };
            let (coming, is_free) = match record.holding {
                RecordData::None { sender } => (RecvData::MprobeHeld { sender }, true),
                RecordData::Buffer { .. } => (RecvData::MprobeBuffered { at }, false),
                RecordData::MatchedBuffer { .. } => unreachable!("a bound record is in no queue"),
            };
            let state = ReceiveState::Matched(matched, coming);
            let id = self.insert_held(state).map_err(|_| none)?;
            self.matching.unrecord(&mut self.region, at);
            if is_free {
                self.release(memory, at);
            }
            return Ok(self.held_message(id).map(|found| (id, found)));
        }
        if let Some(noted) = self.receiver.probes.noted_message(&pattern) {
            let exact = noted.envelope.pattern();
            let state = ReceiveState::Posted(PostedReceive {
                pattern: exact,
                serial: self.receiver.posts,
                needs_listing: false,
            });
            let id = self.insert_held(state).map_err(|_| none)?;
            self.receiver.posts += 1;
            self.receiver.probes.note_posted(&exact);
            self.post(id.slot(), &exact);
            self.receiver.fetching = Some(id);
            return Ok(None);
        }
        self.arm(pattern).map(|()| None)
    }

    /// Returns whether a matched probe has found a message and waits for its sender's reply.
    pub fn is_fetching(&self) -> bool {
        self.receiver.fetching.is_some()
    }

    /// Returns the message of a matched probe with this handle that has not been received yet.
    pub fn held_message(&self, id: RequestId) -> Option<ProbedMessage> {
        let MatchedMessage { envelope, length } = self.requests.get_receive(id)?.held()?;
        Some(ProbedMessage { envelope, length })
    }

    /// Receives the message with this handle into `span`: the handle becomes that of a receive.
    ///
    /// # Panics
    /// When it is not [held](Adi::held_message): the bindings check that first.
    pub fn mrecv<M: UserMemory + ?Sized>(&mut self, memory: &mut M, id: RequestId, span: Span) {
        let slot = id.slot();
        let ReceiveState::Matched(matched, coming) = self.requests.receive(slot).state else {
            unreachable!("a message that is held has matched")
        };
        self.requests.set_target_buffer(slot, span);
        match coming {
            RecvData::MprobeBuffered { at } => self.match_record(memory, id, at),
            RecvData::MprobeHeld { sender } => {
                if let Some((send, data)) = self.find_held_self_send(matched.envelope.source, sender) {
                    return self.receive_held(memory, send, data, slot, matched);
                }
                let due = RecvData::CtsPending { sender };
                self.requests
                    .set_receive_state(slot, ReceiveState::Matched(matched, due));
                self.receiver.pending_cts.push(&mut self.requests, slot);
            }
            _ => unreachable!("a message that is received is not held"),
        }
    }

    /// Inserts a receive that holds the message it matches.
    fn insert_held(&mut self, state: ReceiveState) -> Result<RequestId, crate::request::PoolFull> {
        let span = Span::EMPTY;
        let id = self.requests.insert(Request::Receive(ReceiveRequest { span, state }))?;
        self.requests.mark_mprobe(id.slot());
        Ok(id)
    }

    /// Returns whether the fetching receive has matched or has been given up.
    fn fetched(&self, id: RequestId) -> bool {
        let receive = self.requests.get_receive(id);
        receive.is_none_or(|receive| !matches!(receive.state, ReceiveState::Posted(_)))
    }

    /// Handles the match of the posted, holding receive in `slot` with a message that its sender keeps; `sender` is its
    /// ID there.
    pub(crate) fn defer_with_nctsd(&mut self, slot: Slot, matched: MatchedMessage, sender: u32) {
        self.unpost(slot);
        self.receiver.probes.disarm_matching(&matched.envelope);
        let stopped = RecvData::MprobeHeld { sender };
        self.requests
            .set_receive_state(slot, ReceiveState::Matched(matched, stopped));
    }

    /// Ends the fetching receive if a rejected message of `source`, possibly the fetched one, has been cancelled.
    pub(crate) fn end_fetching(&mut self, source: Rank) {
        let Some(id) = self.receiver.fetching.filter(|id| !self.fetched(*id)) else {
            return;
        };
        if self.requests.posted(id.slot()).pattern.source() == Some(source) {
            self.unpost(id.slot());
            self.requests.cancel_receive(id.slot());
        }
    }
}
