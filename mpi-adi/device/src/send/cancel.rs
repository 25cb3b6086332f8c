//! Cancellation of sends (MPI-3.1 section 3.8.4).
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::extensions::{ActiveExtension, ExtensionId, OutgoingPacket, PendingPackets, TransmitStep};
use crate::ids::Slot;
use crate::memory::UserMemory;
use crate::protocol::{ProtocolRules, RtsState};
use crate::request::{CANCELLED, CancelState, SendRequest, SendState};
use crate::wire;
use msg_layer::header::SHORT_BYTES;
use msg_layer::{HandlerResult, MalformedPacket, ReceivedPacket, TrafficClass};

impl<R: ProtocolRules> Adi<R> {
    /// Cancels the send in `slot`; returns whether that completes it immediately.
    pub(crate) fn cancel_send(&mut self, slot: Slot) -> bool {
        let SendRequest { dest, state, .. } = self.requests.send(slot);
        if state == SendState::Bcopy {
            self.enter_bcopies(dest);
        }
        match self.requests.send(slot).state {
            SendState::Pending(pending) if pending.rts_state == RtsState::Unanswered => {
                self.requests.pending_mut(slot).set_mark(CANCELLED, true);
                self.extensions.active.enable_cancel_send(Self::cancel_send);
            }
            SendState::Pending(pending) => {
                // A restart requests rejected messages.
                let is_known = pending.rts_state == RtsState::Rejected || pending.requested().is_some();
                let rules = self.rules();
                self.sender
                    .pending
                    .remove_cancelled(&mut self.requests, dest, slot, rules);
                if !is_known {
                    self.finish_send(slot, true);
                    return true;
                }
                // A probe at the receiver may have found it, and must not find it any more.
                self.requests
                    .set_send_state(slot, SendState::Held(CancelState::Rejected));
                self.push_cancel(slot);
            }
            SendState::Held(CancelState::None) => {
                self.requests
                    .set_send_state(slot, SendState::Held(CancelState::Unrequested));
                self.push_cancel(slot);
            }
            _ => {}
        }
        false
    }

    /// Queues a CANCEL to the message's receiver.
    fn push_cancel(&mut self, slot: Slot) {
        self.sender.cancels.push(&mut self.requests, slot);
        let part = ActiveExtension {
            take: Self::handle_cancelled,
            next: Self::next_cancel,
        };
        self.extensions.active.enable(ExtensionId::Cancels, part);
        self.set_cancels_pending();
    }

    /// Updates the pending state after each change of the list.
    pub(crate) fn set_cancels_pending(&mut self) {
        let due = if self.sender.cancels.is_empty() {
            PendingPackets::None
        } else {
            PendingPackets::Now
        };
        self.extensions.active.set_pending(ExtensionId::Cancels, due);
    }

    /// Writes the next CANCEL, to the receiver of a cancelled message that it knows.
    fn next_cancel(&mut self, _: Option<&mut dyn UserMemory>, out: &mut [u8; SHORT_BYTES]) -> TransmitStep {
        let Some(slot) = self.sender.cancels.head() else {
            return TransmitStep::Idle;
        };
        self.sender.cancels.remove(&mut self.requests, slot);
        self.set_cancels_pending();
        let SendRequest { dest, state, .. } = self.requests.send(slot);
        let refused = state == SendState::Held(CancelState::Rejected);
        self.requests
            .set_send_state(slot, SendState::Held(CancelState::Requested));
        let [a, b, c, d] = self.requests.id(slot).0.to_le_bytes();
        let cancel: [u8; wire::CANCEL_BYTES] = [a, b, c, d, refused.into()];
        out[..cancel.len()].copy_from_slice(&cancel);
        let leaving = OutgoingPacket {
            dest,
            argument: 0,
            place: None,
            len: cancel.len(),
        };
        TransmitStep::Packet(wire::CANCEL, leaving)
    }

    fn handle_cancelled(
        &mut self,
        _: Option<&mut dyn UserMemory>,
        class: TrafficClass,
        arrival: &ReceivedPacket<'_>,
    ) -> HandlerResult {
        if class != TrafficClass::Priority {
            return Err(MalformedPacket);
        }
        let (_, slot, _) = self.replied_send(arrival)?;
        if self.requests.send(slot).state != SendState::Held(CancelState::Requested) {
            return Err(MalformedPacket);
        }
        self.finish_send(slot, true);
        Ok(None)
    }
}
