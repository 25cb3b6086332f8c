//! The program takes a send back (MPI-3.1 section 3.8.4).
#![forbid(unsafe_code)]

use crate::device::adi::Adi;
use crate::device::matching::Matching;
use crate::device::names::Slot;
use crate::device::protocol::{Offer, Rules};
use crate::device::request::{Send, SendState, Withdrawal};
use crate::device::wire::{self};
use msg_layer::{Arrival, Class, Malformed, Port};

impl<R: Rules, E: Matching> Adi<R, E> {
    /// The program cancels the send in `slot`: true when that ends it at once.
    pub(in crate::device) fn withdraw(&mut self, slot: Slot) -> bool {
        let Send { dest, state, .. } = self.requests.send(slot);
        if state == SendState::Bcopy {
            self.enter_bcopies(dest);
        }
        match self.requests.send(slot).state {
            SendState::Pending(pending) if pending.offer == Offer::Unanswered => {
                self.requests
                    .change_pending(slot, |pending| pending.cancelled = true);
            }
            SendState::Pending(pending) => {
                // A restart asks for what has been refused.
                let is_known = pending.offer == Offer::Refused || pending.asked.is_some();
                let rules = self.rules();
                self.pending.withdraw(&mut self.requests, dest, slot, rules);
                if !is_known {
                    self.finish_send(slot, true);
                    return true;
                }
                // A probe there may have seen it, and must not see it any more.
                self.requests
                    .set_send_state(slot, SendState::Held(Withdrawal::Refused));
                self.cancels.push(&mut self.requests, slot);
            }
            SendState::Held(Withdrawal::None) => {
                self.requests
                    .set_send_state(slot, SendState::Held(Withdrawal::Unasked));
                self.cancels.push(&mut self.requests, slot);
            }
            _ => {}
        }
        false
    }

    /// Asks the receiver of one message that it knows of, and whose sender wants it back, to forget it.
    pub(in crate::device) fn send_cancel<P: Port>(&mut self, port: &mut P) -> bool {
        let Some(slot) = self.cancels.head() else {
            return false;
        };
        self.cancels.remove(&mut self.requests, slot);
        let Send { dest, state, .. } = self.requests.send(slot);
        let refused = state == SendState::Held(Withdrawal::Refused);
        self.requests
            .set_send_state(slot, SendState::Held(Withdrawal::Asked));
        let [a, b, c, d] = self.requests.id(slot).0.to_le_bytes();
        let cancel: [u8; wire::CANCEL_BYTES] = [a, b, c, d, refused.into()];
        let header = self.header(wire::CANCEL);
        self.send_bytes(port, Class::Normal, dest, header, &cancel);
        true
    }

    pub(in crate::device) fn take_cancelled(
        &mut self,
        arrival: &Arrival<'_>,
    ) -> Result<(), Malformed> {
        let (_, slot, _) = self.answered(arrival)?;
        if self.requests.send(slot).state != SendState::Held(Withdrawal::Asked) {
            return Err(Malformed);
        }
        self.finish_send(slot, true);
        Ok(())
    }
}
