//! The program's sends: copies a message, or enqueues it in the pending send queue. Transmits nothing.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::{MAX_SHARED_ACKS, OutOfMemory};
use crate::envelope::{MatchPattern, Rank};
use crate::ids::{BcopyId, RequestId, Slot};
use crate::memory::{Span, UserMemory};
use crate::protocol::{ProtocolRules, RtsState};
use crate::request::{PendingSend, PoolFull, RESERVED_SLOTS, Request, SendData, SendMode, SendRequest, SendState};
use crate::send::SendTo;
use crate::send::bcopy::{BCOPY_BYTES, BcopyState};
use crate::send::self_send::SelfSend;

impl<R: ProtocolRules> Adi<R> {
    /// Starts sending the bytes of `span` (below 4 GiB). Never waits for another process: the message enters the
    /// destination's pending send queue, and later steps transmit it. A self-send is matched or recorded immediately
    /// where possible, and may be complete on return. Fails only when the program's heap has no space for the request.
    ///
    /// # Panics
    /// When process `to.dest` does not exist, the tag is negative or the message is 4 GiB or longer: the bindings check
    /// their arguments.
    pub fn isend<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<RequestId, OutOfMemory> {
        let length = self.check(&to, span);
        if self.may_send_to_self(to.dest) {
            match self.send_to_self(memory, &to, span, length, RESERVED_SLOTS, false) {
                Ok(SelfSend::Started(id)) => return Ok(id),
                Ok(SelfSend::Complete | SelfSend::NoRecord) => {}
                Err(PoolFull) => return Err(self.no_memory()),
            }
        }
        self.start_send(to, span, length, RESERVED_SLOTS)
    }

    /// Returns whether a blocking send should wait before it starts: all bcopies are in use, and enough of them are in
    /// flight to this destination that it acknowledges some without further messages.
    #[inline]
    pub fn awaits_copies(&self, to: &SendTo) -> bool {
        self.sender.bcopies.is_full() && self.sender.bcopies.unanswered_to(to.dest) >= MAX_SHARED_ACKS.into()
    }

    /// Returns whether all messages copied for blocking calls have been transmitted.
    #[inline]
    pub fn are_copies_sent(&self) -> bool {
        self.sender.bcopies.next_unsent().is_none()
    }

    /// Returns whether the message and its destination allow a bcopy.
    #[inline]
    fn can_be_copied(&self, to: &SendTo, span: Span) -> bool {
        self.rules().bcopy()
            && to.dest != self.identity.rank
            && to.mode == SendMode::Standard
            && span.len() <= BCOPY_BYTES
            && !self.sender.bcopies.is_full()
    }

    /// Starts a send for a call that blocks until the request has completed. Uses the slots reserved for such calls, so
    /// it succeeds with a full heap. Returns `None` when the message is complete, possibly as a copy to transmit later.
    ///
    /// # Panics
    /// See [`Adi::isend`].
    #[inline]
    pub fn send_within_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<Option<RequestId>, OutOfMemory> {
        let length = self.check(&to, span);
        if self.may_send_to_self(to.dest) {
            match self.send_to_self(memory, &to, span, length, 0, true) {
                Ok(SelfSend::Complete) => return Ok(None),
                Ok(SelfSend::Started(id)) => return Ok(Some(id)),
                Ok(SelfSend::NoRecord) => {}
                Err(PoolFull) => return Err(self.no_memory()),
            }
        }
        if self.copy_for_call(memory, &to, span) {
            return Ok(None);
        }
        self.start_send(to, span, length, 0).map(Some)
    }

    /// Copies a message of a blocking call, which then completes. Returns false, without changes, if that is
    /// impossible.
    ///
    /// Behind others in the pending send queue it is copied, too, and enters that queue immediately. Otherwise
    /// completion of a short message would depend on the arrival of the previous reply. Two processes that send each
    /// other a message before they receive would then occasionally deadlock.
    #[inline]
    pub(crate) fn copy_for_call<M: UserMemory + ?Sized>(&mut self, memory: &mut M, to: &SendTo, span: Span) -> bool {
        // A copy outlives the call: it uses none of the slots reserved for blocking calls.
        if !self.can_be_copied(to, span) || self.reserve_for_bcopy(RESERVED_SLOTS).is_err() {
            return false;
        }
        let SendTo { dest, tag, context, .. } = *to;
        let copy = self.sender.bcopies.start_copied(dest, tag, context, span.len());
        memory.read(span, 0, copy);
        self.stats.messages_sent += 1;
        if self.sender.pending.has(&self.requests, dest) {
            self.enter_bcopies_to(dest);
        }
        true
    }

    /// Checks the arguments again after the bindings, and returns the message's length.
    #[inline]
    fn check(&self, to: &SendTo, span: Span) -> u32 {
        assert!(to.dest.index() < self.size() && to.tag >= 0);
        u32::try_from(span.len()).expect("a message below 4 GiB")
    }

    /// Reserves the memory of one message on any path, for [`Adi::send_reserved`] or [`Adi::recv_reserved`], and keeps
    /// `keep` slots free for others. Fails only when the program's heap has no space for it.
    pub fn reserve_message(&mut self, keep: u32) -> Result<(), OutOfMemory> {
        let none = self.no_memory();
        self.reserve_for_recv(keep)?;
        self.sender.pending.reserve(1 + keep as usize).map_err(|_| none)?;
        self.requests.reserve_slots(1);
        self.sender.pending.reserve_entry(1);
        Ok(())
    }

    /// Releases the reservation of one message.
    pub fn release_message(&mut self) {
        self.release_reserved(1);
    }

    /// Reserves the memory of one message from free memory: allocates nothing in the heap. Returns false, without
    /// changes, when not enough is free.
    pub fn reserve_free(&mut self) -> bool {
        let is_there = self.has_free(1);
        if is_there {
            self.requests.reserve_slots(1);
            self.sender.pending.reserve_entry(1);
        }
        is_there
    }

    /// Returns whether the memory of `messages` messages is free, in addition to the reservations.
    fn has_free(&self, messages: u32) -> bool {
        self.requests.has_free(messages)
            && self.sender.pending.has_space(messages as usize)
            && self.is_reserved_for_receives()
    }

    /// Sends with the reservation of one message, outside of calls: allocates nothing in the heap. The message becomes
    /// a bcopy only where as much can be [reserved again](Adi::reserve_free), to save free memory.
    ///
    /// # Panics
    /// See [`Adi::send_reserved`].
    pub fn send_outside_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<Option<RequestId>, OutOfMemory> {
        if self.has_free(1 + RESERVED_SLOTS) || self.may_send_to_self(to.dest) {
            return self.send_reserved(memory, to, span);
        }
        let length = self.check(&to, span);
        self.release_reserved(1);
        let send = to.send(span, length, SendState::Bcopy);
        self.enqueue(to.dest, send, 0).map(Some)
    }

    /// Sends as [`Adi::send_within_call`] does, with the reservation of one message.
    ///
    /// # Panics
    /// See [`Adi::isend`]; also when nothing was reserved.
    pub fn send_reserved<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<Option<RequestId>, OutOfMemory> {
        self.release_reserved(1);
        self.send_within_call(memory, to, span)
    }

    /// Receives as [`Adi::recv_within_call`] does, with the reservation of one message.
    ///
    /// # Panics
    /// When nothing was reserved.
    pub fn recv_reserved<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: MatchPattern,
        span: Span,
    ) -> Result<RequestId, OutOfMemory> {
        self.release_reserved(1);
        self.recv_within_call(memory, pattern, span)
    }

    #[cold]
    pub(crate) fn no_memory(&self) -> OutOfMemory {
        OutOfMemory::Requests {
            live: self.requests.handle_count(),
        }
    }

    /// Starts a send through the network.
    #[inline]
    fn start_send(&mut self, to: SendTo, span: Span, length: u32, keep: u32) -> Result<RequestId, OutOfMemory> {
        let send = to.send(span, length, SendState::Bcopy);
        // Like a copy, it uses its slot after transmission, when a waiting call has returned.
        let can_be_bcopy = self.can_be_copied(&to, span) && !self.sender.pending.has(&self.requests, to.dest);
        if can_be_bcopy && self.reserve_for_bcopy(1 + RESERVED_SLOTS).is_ok() {
            let Ok(id) = self.requests.insert(Request::Send(send)) else {
                return Err(self.no_memory());
            };
            self.sender.bcopies.start(to.dest, to.tag, to.context, id.slot(), span);
            self.stats.messages_sent += 1;
            return Ok(id);
        }
        self.enqueue(to.dest, send, keep)
    }

    /// Enqueues a send in the pending send queue of its destination.
    #[inline]
    fn enqueue(&mut self, dest: Rank, send: SendRequest, keep: u32) -> Result<RequestId, OutOfMemory> {
        self.enter_bcopies(dest);
        let rules = self.rules();
        let pushed = self.sender.pending.push(&mut self.requests, dest, send, keep, rules);
        let Ok(id) = pushed else {
            return Err(self.no_memory());
        };
        self.stats.messages_sent += 1;
        Ok(id)
    }

    /// Reserves the memory that a bcopy requires when it enters the pending send queue: a slot and an entry for its
    /// destination. Leaves `others` slots free.
    #[inline]
    fn reserve_for_bcopy(&mut self, others: u32) -> Result<(), PoolFull> {
        self.requests.grow(1 + others)?;
        self.sender.pending.reserve(1 + others as usize)?;
        self.requests.reserve_slots(1);
        self.sender.pending.reserve_entry(1);
        Ok(())
    }

    /// Releases the reservations of `count` bcopies, unneeded or about to be used.
    pub(crate) fn release_reserved(&mut self, count: u32) {
        self.requests.put_back(count);
        self.sender.pending.release_entry(count as usize);
    }

    /// Moves the bcopies to `dest` into its pending send queue, as if they had been there from the start.
    #[inline]
    pub(crate) fn enter_bcopies(&mut self, dest: Rank) {
        if !self.sender.bcopies.is_empty() {
            self.enter_bcopies_to(dest);
        }
    }

    // Rare, and used in several places: one copy in the image.
    #[inline(never)]
    fn enter_bcopies_to(&mut self, dest: Rank) {
        let rules = self.rules();
        for bcopy in self.sender.bcopies.to(dest) {
            let slot = match self.sender.bcopies.at(bcopy).state {
                BcopyState::Unsent { slot, .. } => {
                    let unsent = PendingSend::new(RtsState::Unsent);
                    self.requests.set_send_state(slot, SendState::Pending(unsent));
                    self.sender.bcopies.free(bcopy);
                    slot
                }
                state => {
                    let offer = match state {
                        BcopyState::Copied => RtsState::Unsent,
                        _ => RtsState::Unanswered,
                    };
                    let slot = self.insert_copied(bcopy, offer);
                    self.sender.bcopies.mark_queued(bcopy, slot);
                    slot
                }
            };
            self.release_reserved(1);
            self.sender.pending.enter_bcopy(&mut self.requests, dest, slot, rules);
        }
    }

    /// Creates the request of a copied bcopy, which is complete for the program.
    pub(crate) fn insert_copied(&mut self, bcopy: BcopyId, offer: RtsState) -> Slot {
        let from = self.sender.bcopies.at(bcopy);
        let send = Request::Send(SendRequest {
            dest: from.dest,
            tag: from.tag,
            context: from.context,
            mode: SendMode::Standard,
            length: from.length.into(),
            data: SendData::Bcopy(bcopy),
            state: SendState::Pending(PendingSend::new(offer)),
        });
        let id = self.requests.insert(send).expect("reserved for it");
        self.requests.forget(id);
        id.slot()
    }
}
