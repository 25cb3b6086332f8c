//! Handlers of the receivers' replies.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::ids::{RequestId, Slot};
use crate::protocol::{ProtocolRules, ReplyAction, RtsReply, on_reply};
use crate::request::{CANCELLED, CancelState, EAGER, PendingSend, QUEUE, RequestPool, SendState};
use crate::send::Sender;
use crate::send::bcopy::BcopyState;
use crate::send::pending::RtsOutcome;
use crate::stats::Count;
use crate::wire::ReplyFields;
use msg_layer::{MalformedPacket, MessageTransfer, ReceivedPacket};

impl<R: ProtocolRules> Adi<R> {
    /// Returns the pending or held send that a reply from `source` identifies; malformed when it identifies none.
    pub(crate) fn replied_send(
        &self,
        arrival: &ReceivedPacket<'_>,
    ) -> Result<(Rank, Slot, ReplyFields), MalformedPacket> {
        let fields = ReplyFields::parse(arrival.bytes).ok_or(MalformedPacket)?;
        let source = Rank::new(arrival.rank);
        let slot = self.send_by_id(source, fields.request).ok_or(MalformedPacket)?;
        Ok((source, slot, fields))
    }

    /// Returns the slot of the pending or held send with this ID at `dest`, including a former bcopy.
    pub(crate) fn send_by_id(&self, dest: Rank, name: u32) -> Option<Slot> {
        let id = RequestId(name);
        if let Some(bcopy) = self.sender.bcopies.find(id, dest) {
            let BcopyState::Queued { slot } = self.sender.bcopies.at(bcopy).state else {
                return None;
            };
            return Some(slot);
        }
        let send = self.requests.entry_by_id(id)?;
        let waits = send.pending().is_some() || send.cancel_state().is_some();
        (waits && send.dest() == dest).then_some(id.slot())
    }

    /// Completes a transmitted bcopy to `dest` without another reply, and the `before` ones before it: the receiver has
    /// accepted them. Returns false when it is no bcopy, or fewer have been transmitted.
    pub(crate) fn accept_bcopy(&mut self, dest: Rank, name: u32, before: u8) -> bool {
        let bcopy = self.sender.bcopies.find(RequestId(name), dest);
        let taken = bcopy.is_some_and(|bcopy| self.sender.bcopies.accept_earlier(bcopy, before));
        if taken {
            let count = u32::from(before) + 1;
            self.release_reserved(count);
            self.stats.cts_received += count as Count;
        }
        taken
    }

    pub(crate) fn handle_reply(
        &mut self,
        arrival: &ReceivedPacket<'_>,
        reply: RtsReply,
    ) -> Result<(), MalformedPacket> {
        if self.handle_bcopy_reply(arrival, reply) {
            return Ok(());
        }
        let (dest, slot, fields) = self.replied_send(arrival)?;
        if reply == RtsReply::Cts {
            self.stats.cts_received += 1;
        }
        self.accept_earlier(dest, slot, fields.before)?;
        let send = self.requests.listed(slot);
        match (send.pending().copied(), send.cancel_state()) {
            (Some(pending), _) => {
                let step = on_reply(pending.rts_state, reply).ok_or(MalformedPacket)?;
                self.update_queue(dest, slot, step, &fields);
                self.apply_action(slot, pending, step, &fields);
            }
            (_, Some(withdrawal)) if reply == RtsReply::Cts => {
                if let CancelState::Unrequested | CancelState::Rejected = withdrawal {
                    // A receive matched it before CANCEL was sent to the receiver.
                    self.sender.cancels.remove(&mut self.requests, slot);
                    self.set_cancels_pending();
                }
                self.begin_transfer(slot, &fields);
            }
            _ => return Err(MalformedPacket),
        }
        Ok(())
    }

    /// Handles a reply to a bcopy; returns true when that completes it. Otherwise the bcopies to its destination have
    /// entered the pending send queue, where the reply is handled.
    pub(crate) fn handle_bcopy_reply(&mut self, arrival: &ReceivedPacket<'_>, reply: RtsReply) -> bool {
        let dest = Rank::new(arrival.rank);
        if let Some(fields) = ReplyFields::parse(arrival.bytes)
            && let Some(bcopy) = self.sender.bcopies.find(RequestId(fields.request), dest)
            && !matches!(self.sender.bcopies.at(bcopy).state, BcopyState::Queued { .. })
        {
            let taken = reply == RtsReply::Cts && fields.is(ReplyFields::COMPLETE);
            if taken && self.accept_bcopy(dest, fields.request, fields.before) {
                return true;
            }
            self.enter_bcopies(dest);
        }
        false
    }

    /// Handles a reply to the send in `slot` which states that `count` RTSs directly before it were accepted.
    pub(crate) fn accept_earlier(&mut self, dest: Rank, slot: Slot, count: u8) -> Result<(), MalformedPacket> {
        if count == 0 {
            return Ok(());
        }
        let is_offered = self.requests.listed(slot).has_rts_in_flight_to(dest);
        let before = self.requests.prev_in::<QUEUE>(slot);
        let before = before.filter(|_| is_offered).ok_or(MalformedPacket)?;
        if self.accept_all(dest, before, count.into()) {
            Ok(())
        } else {
            Err(MalformedPacket)
        }
    }

    /// Updates the queue with the reply to the pending send in `slot`: dequeues it, or reinserts it.
    pub(crate) fn update_queue(&mut self, dest: Rank, slot: Slot, step: ReplyAction, fields: &ReplyFields) {
        let answered = match step {
            ReplyAction::Send | ReplyAction::AwaitCts => RtsOutcome::Accepted,
            ReplyAction::RemainQueued if fields.is(ReplyFields::STALE) => RtsOutcome::Stale,
            ReplyAction::RemainQueued => RtsOutcome::Rejected,
        };
        let rules = self.rules();
        self.sender.pending.handle_reply(
            &mut self.requests,
            dest,
            slot,
            answered,
            fields.is(ReplyFields::SCARCE),
            rules,
        );
    }

    /// Performs the protocol's action for a formerly pending send, whose data may be in transmission already.
    pub(crate) fn apply_action(&mut self, slot: Slot, pending: PendingSend, step: ReplyAction, fields: &ReplyFields) {
        let streams = self.sender.stream.is_some_and(|stream| stream.slot == slot);
        if step == ReplyAction::Send && fields.is(ReplyFields::STREAM) && pending.has_mark(EAGER) {
            if streams {
                self.requests.set_send_state(slot, SendState::Streaming)
            } else {
                self.finish_send(slot, false)
            }
            return;
        }
        if streams {
            // The receiver had no target for it.
            self.sender.stream = None;
        }
        match step {
            // It cannot be cancelled any more.
            ReplyAction::Send => return self.begin_transfer(slot, fields),
            ReplyAction::AwaitCts => self.requests.set_send_state(slot, SendState::Held(CancelState::None)),
            ReplyAction::RemainQueued => {}
        }
        if pending.has_mark(CANCELLED)
            && let Some(take_back) = self.extensions.active.cancel_send()
        {
            take_back(self, slot);
        }
    }

    /// Completes the `total` sends to `dest` that end with slot `last`: their RTSs were accepted with all data. Returns
    /// false without such RTSs.
    pub(crate) fn accept_all(&mut self, dest: Rank, last: Slot, total: u32) -> bool {
        let rules = self.rules();
        let Adi { sender, requests, .. } = self;
        let Sender { pending, bcopies, .. } = sender;
        let finish = |requests: &mut RequestPool, slot| {
            if let Some(bcopy) = requests.finish_send(slot, false) {
                bcopies.free(bcopy);
            }
        };
        let all = pending.accept_all(requests, dest, last, total, rules, finish);
        if all {
            self.stats.cts_received += total as Count;
        }
        all
    }

    /// Handles a piggybacked acknowledgement in an RTS of `dest`: it covers our message `request` and the RTSs directly
    /// before it, `count` in all. Malformed when no such messages exist.
    pub(crate) fn handle_merged_cts(&mut self, dest: Rank, request: u32, count: u16) -> Result<(), MalformedPacket> {
        let before = u8::try_from(count.saturating_sub(1)).map_err(|_| MalformedPacket)?;
        if self.accept_bcopy(dest, request, before) {
            return Ok(());
        }
        let slot = self.send_by_id(dest, request).ok_or(MalformedPacket)?;
        if self.accept_all(dest, slot, count.into()) {
            Ok(())
        } else {
            Err(MalformedPacket)
        }
    }

    // One copy in the image: for replies, and for self-sends.
    #[inline(never)]
    pub(crate) fn begin_transfer(&mut self, slot: Slot, fields: &ReplyFields) {
        if fields.wanted == 0 {
            self.finish_send(slot, false);
        } else {
            // A receiver cannot want more than the message's length; a larger value is clamped.
            let end = fields.wanted.min(self.requests.listed(slot).length());
            let state = SendState::Sending(MessageTransfer {
                target: fields.target,
                offset: 0,
                end,
                in_order: false,
            });
            self.requests.set_send_state(slot, state);
            self.sender.transfers.push(&mut self.requests, slot);
        }
    }
}
