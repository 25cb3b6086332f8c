//! Handlers of the receivers' replies.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::names::{RequestId, Slot};
use crate::protocol::{Reply, Rules, Step, on_answer};
use crate::request::{CANCELLED, EAGER, PendingSend, QUEUE, RequestPool, SendState, Withdrawal};
use crate::send::Sender;
use crate::send::bcopy::BcopyState;
use crate::send::pending::Answered;
use crate::stats::Count;
use crate::wire::Fields;
use msg_layer::{Arrival, Malformed, Transfer};

impl<R: Rules> Adi<R> {
    /// Returns the pending or held send that a reply from `source` identifies; malformed when it identifies none.
    pub(crate) fn answered(
        &self,
        arrival: &Arrival<'_>,
    ) -> Result<(Rank, Slot, Fields), Malformed> {
        let fields = Fields::parse(arrival.bytes).ok_or(Malformed)?;
        let source = Rank::new(arrival.rank);
        let slot = self.named_by(source, fields.request).ok_or(Malformed)?;
        Ok((source, slot, fields))
    }

    /// Returns the slot of the pending or held send with this ID at `dest`, including a former bcopy.
    pub(crate) fn named_by(&self, dest: Rank, name: u32) -> Option<Slot> {
        let id = RequestId(name);
        if let Some(bcopy) = self.sender.bcopies.find(id, dest) {
            let BcopyState::Queued { slot } = self.sender.bcopies.at(bcopy).state else {
                return None;
            };
            return Some(slot);
        }
        let send = self.requests.named_entry(id)?;
        let waits = send.pending().is_some() || send.withdrawal().is_some();
        (waits && send.dest() == dest).then_some(id.slot())
    }

    /// Completes a transmitted bcopy to `dest` without another reply, and the `before` ones before it: the receiver has
    /// accepted them. Returns false when it is no bcopy, or fewer have been transmitted.
    pub(crate) fn bcopy_taken(&mut self, dest: Rank, name: u32, before: u8) -> bool {
        let bcopy = self.sender.bcopies.find(RequestId(name), dest);
        let taken = bcopy.is_some_and(|bcopy| self.sender.bcopies.taken(bcopy, before));
        if taken {
            let count = u32::from(before) + 1;
            self.release_reserved(count);
            self.stats.cts_received += count as Count;
        }
        taken
    }

    pub(crate) fn take_reply(
        &mut self,
        arrival: &Arrival<'_>,
        reply: Reply,
    ) -> Result<(), Malformed> {
        if self.take_reply_to_bcopy(arrival, reply) {
            return Ok(());
        }
        let (dest, slot, fields) = self.answered(arrival)?;
        if reply == Reply::Cts {
            self.stats.cts_received += 1;
        }
        self.take_those_before(dest, slot, fields.before)?;
        let send = self.requests.listed(slot);
        match (send.pending().copied(), send.withdrawal()) {
            (Some(pending), _) => {
                let step = on_answer(pending.offer, reply).ok_or(Malformed)?;
                self.leave_queue(dest, slot, step, &fields);
                self.do_step(slot, pending, step, &fields);
            }
            (_, Some(withdrawal)) if reply == Reply::Cts => {
                if let Withdrawal::Unasked | Withdrawal::Refused = withdrawal {
                    // A receive matched it before CANCEL was sent to the receiver.
                    self.sender.cancels.remove(&mut self.requests, slot);
                    self.set_cancels_due();
                }
                self.begin_transfer(slot, &fields);
            }
            _ => return Err(Malformed),
        }
        Ok(())
    }

    /// Handles a reply to a bcopy; returns true when that completes it. Otherwise the bcopies to its destination have
    /// entered the pending send queue, where the reply is handled.
    pub(crate) fn take_reply_to_bcopy(&mut self, arrival: &Arrival<'_>, reply: Reply) -> bool {
        let dest = Rank::new(arrival.rank);
        if let Some(fields) = Fields::parse(arrival.bytes)
            && let Some(bcopy) = self.sender.bcopies.find(RequestId(fields.request), dest)
            && !matches!(
                self.sender.bcopies.at(bcopy).state,
                BcopyState::Queued { .. }
            )
        {
            let taken = reply == Reply::Cts && fields.is(Fields::COMPLETE);
            if taken && self.bcopy_taken(dest, fields.request, fields.before) {
                return true;
            }
            self.enter_bcopies(dest);
        }
        false
    }

    /// Handles a reply to the send in `slot` which states that `count` RTSs directly before it were accepted.
    pub(crate) fn take_those_before(
        &mut self,
        dest: Rank,
        slot: Slot,
        count: u8,
    ) -> Result<(), Malformed> {
        if count == 0 {
            return Ok(());
        }
        let is_offered = self.requests.listed(slot).is_offered_to(dest);
        let before = self.requests.prev_in::<QUEUE>(slot);
        let before = before.filter(|_| is_offered).ok_or(Malformed)?;
        if self.all_taken(dest, before, count.into()) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// Updates the queue with the reply to the pending send in `slot`: dequeues it, or reinserts it.
    pub(crate) fn leave_queue(&mut self, dest: Rank, slot: Slot, step: Step, fields: &Fields) {
        let answered = match step {
            Step::Send | Step::Hold => Answered::Taken,
            Step::Stay if fields.is(Fields::STALE) => Answered::Stale,
            Step::Stay => Answered::Refused,
        };
        let rules = self.rules();
        self.sender.pending.answered(
            &mut self.requests,
            dest,
            slot,
            answered,
            fields.is(Fields::SCARCE),
            rules,
        );
    }

    /// Performs the protocol's action for a formerly pending send, whose data may be in transmission already.
    pub(crate) fn do_step(
        &mut self,
        slot: Slot,
        pending: PendingSend,
        step: Step,
        fields: &Fields,
    ) {
        let streams = self.sender.stream.is_some_and(|stream| stream.slot == slot);
        if step == Step::Send && fields.is(Fields::STREAM) && pending.is(EAGER) {
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
            Step::Send => return self.begin_transfer(slot, fields),
            Step::Hold => self
                .requests
                .set_send_state(slot, SendState::Held(Withdrawal::None)),
            Step::Stay => {}
        }
        if pending.is(CANCELLED)
            && let Some(take_back) = self.extras.parts.take_back()
        {
            take_back(self, slot);
        }
    }

    /// Completes the `total` sends to `dest` that end with slot `last`: their RTSs were accepted with all data. Returns
    /// false without such RTSs.
    pub(crate) fn all_taken(&mut self, dest: Rank, last: Slot, total: u32) -> bool {
        let rules = self.rules();
        let Adi {
            sender, requests, ..
        } = self;
        let Sender {
            pending, bcopies, ..
        } = sender;
        let finish = |requests: &mut RequestPool, slot| {
            if let Some(bcopy) = requests.finish_send(slot, false) {
                bcopies.free(bcopy);
            }
        };
        let all = pending.all_taken(requests, dest, last, total, rules, finish);
        if all {
            self.stats.cts_received += total as Count;
        }
        all
    }

    /// Handles a piggybacked acknowledgement in an RTS of `dest`: it covers our message `request` and the RTSs directly
    /// before it, `count` in all. Malformed when no such messages exist.
    pub(crate) fn take_merged(
        &mut self,
        dest: Rank,
        request: u32,
        count: u16,
    ) -> Result<(), Malformed> {
        let before = u8::try_from(count.saturating_sub(1)).map_err(|_| Malformed)?;
        if self.bcopy_taken(dest, request, before) {
            return Ok(());
        }
        let slot = self.named_by(dest, request).ok_or(Malformed)?;
        if self.all_taken(dest, slot, count.into()) {
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    // One copy in the image: for replies, and for self-sends.
    #[inline(never)]
    pub(crate) fn begin_transfer(&mut self, slot: Slot, fields: &Fields) {
        if fields.wanted == 0 {
            self.finish_send(slot, false);
        } else {
            // A receiver cannot want more than the message's length; a larger value is clamped.
            let end = fields.wanted.min(self.requests.listed(slot).length());
            let state = SendState::Sending(Transfer {
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
