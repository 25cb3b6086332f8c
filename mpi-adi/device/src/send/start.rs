//! The program sends: a message is copied, or joins the pending send queue. Nothing leaves here.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::{NoMemory, SHARED_ANSWER};
use crate::envelope::{Pattern, Rank};
use crate::memory::{Span, UserMemory};
use crate::names::{BcopyId, RequestId, Slot};
use crate::protocol::{Offer, Rules};
use crate::request::{Data, Full, KEPT_SLOTS, Mode, PendingSend, Request, Send, SendState};
use crate::send::SendTo;
use crate::send::bcopy::{BCOPY_BYTES, BcopyState};
use crate::send::oneself::Here;

impl<R: Rules> Adi<R> {
    /// Starts sending the bytes of `span` (below 4 GiB). Never waits for another process: the message
    /// joins the destination's pending send queue and leaves in later steps; one to this process itself is matched
    /// or recorded at once where it can be, and may be complete when this returns. Fails only when the
    /// program's heap has no room for the request.
    ///
    /// # Panics
    /// When there is no process `to.dest`, the tag is negative or the message is 4 GiB or longer: the
    /// bindings check their arguments.
    pub fn isend<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        let length = self.check(&to, span);
        if self.may_match_here(to.dest) {
            match self.send_here(memory, &to, (span, length), KEPT_SLOTS, false) {
                Ok(Here::Started(id)) => return Ok(id),
                Ok(Here::Complete | Here::NoRecord) => {}
                Err(Full) => return Err(self.no_memory()),
            }
        }
        self.start_send(to, (span, length), KEPT_SLOTS)
    }

    /// A call that sends and blocks had better wait before it starts: all bcopies are in use, and so many of them are on
    /// their way to this destination that it answers some without waiting for more.
    #[inline]
    pub fn awaits_copies(&self, to: &SendTo) -> bool {
        self.sender.bcopies.is_full()
            && self.sender.bcopies.offered_to(to.dest) >= SHARED_ANSWER.into()
    }

    /// All that was copied for calls that block has left.
    #[inline]
    pub fn have_copies_left(&self) -> bool {
        self.sender.bcopies.next_unsent().is_none()
    }

    /// The message can be copied, as far as it and its destination are concerned.
    #[inline]
    fn can_be_copied(&self, to: &SendTo, span: Span) -> bool {
        self.rules().bcopy()
            && to.dest != self.identity.rank
            && to.mode == Mode::Standard
            && span.len() <= BCOPY_BYTES
            && !self.sender.bcopies.is_full()
    }

    /// As [`Adi::isend`], for a call that blocks until the request has finished: it takes what is kept for
    /// such calls, and so goes on when the heap is used up. `None`: it is complete already, if only because it is copied
    /// and leaves in a later step.
    ///
    /// # Panics
    /// As [`Adi::isend`].
    #[inline]
    pub fn send_within_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<Option<RequestId>, NoMemory> {
        let length = self.check(&to, span);
        if self.may_match_here(to.dest) {
            match self.send_here(memory, &to, (span, length), 0, true) {
                Ok(Here::Complete) => return Ok(None),
                Ok(Here::Started(id)) => return Ok(Some(id)),
                Ok(Here::NoRecord) => {}
                Err(Full) => return Err(self.no_memory()),
            }
        }
        if self.copy_for_call(memory, &to, span) {
            return Ok(None);
        }
        self.start_send(to, (span, length), 0).map(Some)
    }

    /// Copies a message of a call that blocks, which is over then. False: it does not go as a bcopy, and nothing has changed.
    ///
    /// Behind others in the pending send queue it is copied, too, and enters that queue at once. Else a short message would
    /// be complete or not by how early the answer to the one before it has come, and two processes that send each other
    /// one before they receive would now and then wait for each other.
    #[inline]
    pub(crate) fn copy_for_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        span: Span,
    ) -> bool {
        // A copy is under way when the call is over: it takes nothing of what is kept for such calls.
        if !self.can_be_copied(to, span) || self.reserve_for_bcopy(KEPT_SLOTS).is_err() {
            return false;
        }
        let SendTo {
            dest, tag, context, ..
        } = *to;
        let copy = self
            .sender
            .bcopies
            .start_copied(dest, tag, context, span.len());
        memory.read(span, 0, copy);
        self.stats.messages_sent += 1;
        if self.sender.pending.has(&self.requests, dest) {
            self.enter_bcopies_to(dest);
        }
        true
    }

    /// The arguments are what the bindings have checked; the message's length.
    #[inline]
    fn check(&self, to: &SendTo, span: Span) -> u32 {
        assert!(to.dest.index() < self.size() && to.tag >= 0);
        u32::try_from(span.len()).expect("a message below 4 GiB")
    }

    /// Reserves what one message needs, whichever way it goes, for [`Adi::send_reserved`] or
    /// [`Adi::recv_reserved`]; beside that so many slots are kept for others. Fails only when the program's heap has no
    /// room for it.
    pub fn reserve_message(&mut self, keep: u32) -> Result<(), NoMemory> {
        let none = self.no_memory();
        self.reserve_for_recv(keep)?;
        self.sender
            .pending
            .reserve(1 + keep as usize)
            .map_err(|_| none)?;
        self.requests.reserve_slots(1);
        self.sender.pending.expect(1);
        Ok(())
    }

    /// What was reserved for one message is not needed.
    pub fn release_message(&mut self) {
        self.release_reserved(1);
    }

    /// As [`Adi::reserve_message`], of what is free already: takes nothing of the heap. False: there is not enough, and nothing
    /// is reserved.
    pub fn reserve_free(&mut self) -> bool {
        let is_there = self.has_free(1);
        if is_there {
            self.requests.reserve_slots(1);
            self.sender.pending.expect(1);
        }
        is_there
    }

    /// What so many messages need is free, beside what is reserved.
    fn has_free(&self, messages: u32) -> bool {
        self.requests.has_free(messages)
            && self.sender.pending.has_room(messages as usize)
            && self.is_reserved_for_receives()
    }

    /// As [`Adi::send_reserved`], outside of calls: takes nothing of the heap. It is copied only where as much can be
    /// [reserved again](Adi::reserve_free), so that the one that sends does not run out of it.
    ///
    /// # Panics
    /// As [`Adi::send_reserved`].
    pub fn send_meanwhile<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<Option<RequestId>, NoMemory> {
        if self.has_free(1 + KEPT_SLOTS) || self.may_match_here(to.dest) {
            return self.send_reserved(memory, to, span);
        }
        let length = self.check(&to, span);
        self.release_reserved(1);
        let send = to.send(span, length, SendState::Bcopy);
        self.enqueue(to.dest, send, 0).map(Some)
    }

    /// As [`Adi::send_within_call`], with what was reserved for one message.
    ///
    /// # Panics
    /// As [`Adi::isend`], and when nothing was reserved.
    pub fn send_reserved<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: SendTo,
        span: Span,
    ) -> Result<Option<RequestId>, NoMemory> {
        self.release_reserved(1);
        self.send_within_call(memory, to, span)
    }

    /// As [`Adi::recv_within_call`], with what was reserved for one message.
    ///
    /// # Panics
    /// When nothing was reserved.
    pub fn recv_reserved<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        self.release_reserved(1);
        self.recv_within_call(memory, pattern, span)
    }

    #[cold]
    pub(crate) fn no_memory(&self) -> NoMemory {
        NoMemory::Requests {
            live: self.requests.named(),
        }
    }

    /// Starts a send by the network.
    #[inline]
    fn start_send(
        &mut self,
        to: SendTo,
        (span, length): (Span, u32),
        keep: u32,
    ) -> Result<RequestId, NoMemory> {
        let send = to.send(span, length, SendState::Bcopy);
        // Its slot is in use when it has left and a call that waits for it is over, as a copy's is.
        let can_be_bcopy =
            self.can_be_copied(&to, span) && !self.sender.pending.has(&self.requests, to.dest);
        if can_be_bcopy && self.reserve_for_bcopy(1 + KEPT_SLOTS).is_ok() {
            let Ok(id) = self.requests.insert(Request::Send(send)) else {
                return Err(self.no_memory());
            };
            self.sender
                .bcopies
                .start(to.dest, to.tag, to.context, id.slot(), span);
            self.stats.messages_sent += 1;
            return Ok(id);
        }
        self.enqueue(to.dest, send, keep)
    }

    /// A send joins the pending send queue of its destination.
    #[inline]
    fn enqueue(&mut self, dest: Rank, send: Send, keep: u32) -> Result<RequestId, NoMemory> {
        self.enter_bcopies(dest);
        let rules = self.rules();
        let pushed = self
            .sender
            .pending
            .push(&mut self.requests, dest, send, keep, rules);
        let Ok(id) = pushed else {
            return Err(self.no_memory());
        };
        self.stats.messages_sent += 1;
        Ok(id)
    }

    /// Reserves what a bcopy needs should it not stay one: a slot and a place in the pending send queue of its
    /// destination. So many slots are free besides.
    #[inline]
    fn reserve_for_bcopy(&mut self, others: u32) -> Result<(), Full> {
        self.requests.grow(1 + others)?;
        self.sender.pending.reserve(1 + others as usize)?;
        self.requests.reserve_slots(1);
        self.sender.pending.expect(1);
        Ok(())
    }

    /// What was reserved for `count` bcopies is not needed any more, or is to be used.
    pub(crate) fn release_reserved(&mut self, count: u32) {
        self.requests.put_back(count);
        self.sender.pending.expect_no_more(count as usize);
    }

    /// The bcopies to `dest` enter its pending send queue, as if they had been there from the start.
    #[inline]
    pub(crate) fn enter_bcopies(&mut self, dest: Rank) {
        if !self.sender.bcopies.is_empty() {
            self.enter_bcopies_to(dest);
        }
    }

    // Rare, and asked for in several places: once in the image.
    #[inline(never)]
    fn enter_bcopies_to(&mut self, dest: Rank) {
        let rules = self.rules();
        for bcopy in self.sender.bcopies.to(dest) {
            let slot = match self.sender.bcopies.at(bcopy).state {
                BcopyState::Unsent { slot, .. } => {
                    let unsent = PendingSend::new(Offer::Unsent);
                    self.requests
                        .set_send_state(slot, SendState::Pending(unsent));
                    self.sender.bcopies.free(bcopy);
                    slot
                }
                state => {
                    let offer = match state {
                        BcopyState::Copied => Offer::Unsent,
                        _ => Offer::Unanswered,
                    };
                    let slot = self.insert_copied(bcopy, offer);
                    self.sender.bcopies.queued(bcopy, slot);
                    slot
                }
            };
            self.release_reserved(1);
            self.sender
                .pending
                .enter_bcopy(&mut self.requests, dest, slot, rules);
        }
    }

    /// The request of a bcopy that is copied, which the program has been told is complete.
    pub(crate) fn insert_copied(&mut self, bcopy: BcopyId, offer: Offer) -> Slot {
        let from = self.sender.bcopies.at(bcopy);
        let send = Request::Send(Send {
            dest: from.dest,
            tag: from.tag,
            context: from.context,
            mode: Mode::Standard,
            length: from.length.into(),
            data: Data::Bcopy(bcopy),
            state: SendState::Pending(PendingSend::new(offer)),
        });
        let id = self.requests.insert(send).expect("reserved for it");
        self.requests.forget(id);
        id.slot()
    }
}
