//! Cancellation of sends (MPI-3.1 section 3.8.4).
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::memory::UserMemory;
use crate::names::Slot;
use crate::parts::{Due, Leaving, Name, Part, Step};
use crate::protocol::{Offer, Rules};
use crate::request::{CANCELLED, Send, SendState, Withdrawal};
use crate::wire;
use msg_layer::header::SHORT_BYTES;
use msg_layer::{Arrival, Class, Malformed, Taken};

impl<R: Rules> Adi<R> {
    /// Cancels the send in `slot`; returns whether that completes it immediately.
    pub(crate) fn withdraw(&mut self, slot: Slot) -> bool {
        let Send { dest, state, .. } = self.requests.send(slot);
        if state == SendState::Bcopy {
            self.enter_bcopies(dest);
        }
        match self.requests.send(slot).state {
            SendState::Pending(pending) if pending.offer == Offer::Unanswered => {
                self.requests.pending_mut(slot).set(CANCELLED, true);
                self.extras.parts.begin_taking_back(Self::withdraw);
            }
            SendState::Pending(pending) => {
                // A restart requests rejected messages.
                let is_known = pending.offer == Offer::Refused || pending.asked().is_some();
                let rules = self.rules();
                self.sender
                    .pending
                    .withdraw(&mut self.requests, dest, slot, rules);
                if !is_known {
                    self.finish_send(slot, true);
                    return true;
                }
                // A probe at the receiver may have found it, and must not find it any more.
                self.requests
                    .set_send_state(slot, SendState::Held(Withdrawal::Refused));
                self.push_cancel(slot);
            }
            SendState::Held(Withdrawal::None) => {
                self.requests
                    .set_send_state(slot, SendState::Held(Withdrawal::Unasked));
                self.push_cancel(slot);
            }
            _ => {}
        }
        false
    }

    /// Queues a CANCEL to the message's receiver.
    fn push_cancel(&mut self, slot: Slot) {
        self.sender.cancels.push(&mut self.requests, slot);
        let part = Part {
            take: Self::take_cancelled,
            next: Self::next_cancel,
        };
        self.extras.parts.begin(Name::Cancels, part);
        self.set_cancels_due();
    }

    /// Updates the pending state after each change of the list.
    pub(crate) fn set_cancels_due(&mut self) {
        let due = if self.sender.cancels.is_empty() {
            Due::Nothing
        } else {
            Due::Now
        };
        self.extras.parts.set_due(Name::Cancels, due);
    }

    /// Writes the next CANCEL, to the receiver of a cancelled message that it knows.
    fn next_cancel(&mut self, _: Option<&mut dyn UserMemory>, out: &mut [u8; SHORT_BYTES]) -> Step {
        let Some(slot) = self.sender.cancels.head() else {
            return Step::Nothing;
        };
        self.sender.cancels.remove(&mut self.requests, slot);
        self.set_cancels_due();
        let Send { dest, state, .. } = self.requests.send(slot);
        let refused = state == SendState::Held(Withdrawal::Refused);
        self.requests
            .set_send_state(slot, SendState::Held(Withdrawal::Asked));
        let [a, b, c, d] = self.requests.id(slot).0.to_le_bytes();
        let cancel: [u8; wire::CANCEL_BYTES] = [a, b, c, d, refused.into()];
        out[..cancel.len()].copy_from_slice(&cancel);
        let leaving = Leaving {
            dest,
            argument: 0,
            place: None,
            len: cancel.len(),
        };
        Step::Packet(wire::CANCEL, leaving)
    }

    fn take_cancelled(
        &mut self,
        _: Option<&mut dyn UserMemory>,
        class: Class,
        arrival: &Arrival<'_>,
    ) -> Taken {
        if class != Class::Priority {
            return Err(Malformed);
        }
        let (_, slot, _) = self.answered(arrival)?;
        if self.requests.send(slot).state != SendState::Held(Withdrawal::Asked) {
            return Err(Malformed);
        }
        self.finish_send(slot, true);
        Ok(None)
    }
}
