//! Cancellation of receives (MPI-3.1 section 3.8.4).
//!
//! A cancelled receive stays posted while a restart is in flight to a source that it may match: rule (f) of the
//! [protocol](crate::protocol). So a program that polls by posting and cancelling receives finds every message, even
//! where no memory is free for a record. Sources reply within their devices, independently of their programs. A receive
//! from one source waits for that source. A receive from any source waits for the sources that had a restart in flight
//! when it was cancelled, and requests nothing from others.
//!
//! The lists are in the program's heap, since receives are cancelled in calls of the program. When the heap has no
//! space for another entry, the receive completes immediately.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::envelope::{MatchPattern, Rank};
use crate::extensions::CancelEvent;
use crate::ids::RequestId;
use crate::protocol::ProtocolRules;
use crate::recv::cancelled::CancelledReceives;
use crate::request::{NEEDS_LISTING, SlotEntry};

impl<R: ProtocolRules> Adi<R> {
    /// Cancels a receive; ignores a send. Returns whether it is already known to be cancelled.
    pub fn cancel_receive(&mut self, id: RequestId) -> bool {
        let posted = self.requests.entry_by_id(id).and_then(SlotEntry::posted);
        let Some(posted) = posted else {
            return false;
        };
        if self.requests.is_cancelled(id.slot()) || self.defers_cancel(id, &posted.pattern) {
            return false;
        }
        self.end_receive_cancelled(id);
        true
    }

    /// Keeps a cancelled receive posted, if a source that it may match has yet to reply.
    fn defers_cancel(&mut self, id: RequestId, pattern: &MatchPattern) -> bool {
        let is_asked_for = match pattern.source() {
            Some(source) => self.peers.source_state(source).has_restart_in_flight(),
            None => self.peers.in_flight_count() > 0,
        };
        if !is_asked_for || !self.rules().holds_cancelled() {
            return false;
        }
        if self.receiver.cancelled.waiting.try_reserve(1).is_err() {
            return false;
        }
        if pattern.source().is_none() && !self.await_all() {
            return false;
        }
        self.receiver.cancelled.waiting.push(id);
        self.requests.mark_cancelled(id.slot());
        self.extensions.active.set_end_cancelled(Some(Self::on_cancel_event));
        true
    }

    /// Lists all sources with an unanswered restart, for receives from any source. Returns false when the heap is full.
    fn await_all(&mut self) -> bool {
        let awaited = &mut self.receiver.cancelled.awaited;
        awaited.clear();
        if awaited.try_reserve(self.peers.in_flight_count() as usize).is_err() {
            return false;
        }
        let mut next = self.peers.next_in_flight(0);
        while let Some(source) = next {
            awaited.push(source);
            next = self.peers.next_in_flight(source.index() + 1);
        }
        true
    }

    /// Handles a reply of this source to a restart.
    #[inline]
    pub(crate) fn end_cancelled(&mut self, source: Rank) {
        if let Some(end_cancelled) = self.extensions.active.end_cancelled() {
            end_cancelled(self, CancelEvent::Answered(source));
        }
    }

    fn on_cancel_event(&mut self, event: CancelEvent) {
        let CancelledReceives {
            mut waiting,
            mut awaited,
        } = core::mem::take(&mut self.receiver.cancelled);
        if let CancelEvent::Answered(source) = event
            && !self.peers.source_state(source).has_restart_in_flight()
        {
            awaited.retain(|&awaited| awaited != source);
        }
        waiting.retain(|&id| {
            let waits = self.is_waiting(id, event, awaited.is_empty());
            if waits == Some(false) {
                self.end_receive_cancelled(id);
            }
            waits == Some(true)
        });
        if waiting.is_empty() {
            awaited.clear();
            self.extensions.active.set_end_cancelled(None);
        }
        self.receiver.cancelled = CancelledReceives { waiting, awaited };
    }

    /// Returns whether the cancelled receive still waits after this event; `None` when it has matched.
    fn is_waiting(&self, id: RequestId, event: CancelEvent, all_answered: bool) -> Option<bool> {
        let posted = self.requests.entry_by_id(id)?.posted()?;
        if !self.requests.is_cancelled(id.slot()) {
            return None;
        }
        let is_over = match (event, posted.pattern.source()) {
            (CancelEvent::GivenUp(given_up), _) => given_up == id,
            (CancelEvent::Answered(_), None) => all_answered,
            // The answered restart listed this receive, unless another restart is in flight.
            (CancelEvent::Answered(source), Some(of)) => {
                source == of && !(posted.needs_listing && self.peers.source_state(source).has_restart_in_flight())
            }
        };
        Some(!is_over)
    }

    fn end_receive_cancelled(&mut self, id: RequestId) {
        self.unpost(id.slot());
        self.requests.cancel_receive(id.slot());
    }

    /// Returns whether a receive from any source that restarts list is posted and not cancelled.
    pub(crate) fn has_open_wildcard(&self) -> bool {
        let mut next = self.receiver.wildcards.head();
        while let Some(slot) = next {
            if !self.requests.is_cancelled(slot) {
                return true;
            }
            next = self.requests.next_in::<NEEDS_LISTING>(slot);
        }
        false
    }
}
