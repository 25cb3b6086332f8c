//! The sending side: the program's sends, offers to receivers, and what comes of the answers.
#![forbid(unsafe_code)]

pub mod bcopy;
pub mod pending;
pub(super) mod stream;

use msg_layer::header::{Header, SHORT_BYTES};
use msg_layer::{Arrival, Class, Malformed, Port, Transfer, tx};
use net_torus::coord::Coord;

use crate::device::adi::Adi;
use crate::device::config::{NoMemory, STEP_PACKETS, TURN_PACKETS};
use crate::device::envelope::{Context, Rank, Tag};
use crate::device::matching::Matching;
use crate::device::memory::{Span, UserMemory};
use crate::device::names::{BcopyId, RequestId, Slot};
use crate::device::protocol::{Offer, Reply, Rules, Step, on_answer};
use crate::device::request::{
    Asked, Data, Full, KEPT_SLOTS, Mode, PendingSend, QUEUE, Request, RequestPool, Send, SendState,
    Withdrawal,
};
use crate::device::send::bcopy::{BCOPY_BYTES, BcopyState};
use crate::device::send::pending::{Answered, Next, OfferFlags};
use crate::device::send::stream::Stream;
use crate::device::wire::{self, Done, Fields, INLINE_BYTES, MERGED_BYTES, Rts};

/// Where a message goes and under which name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTo {
    /// The destination, below the number of processes.
    pub dest: Rank,
    /// The tag, not negative.
    pub tag: Tag,
    /// The communicator's context.
    pub context: Context,
    /// Standard or synchronous.
    pub mode: Mode,
}

impl SendTo {
    /// The send of the `length` bytes in `span`.
    #[inline]
    pub(crate) fn send(&self, span: Span, length: u32, state: SendState) -> Send {
        Send {
            dest: self.dest,
            tag: self.tag,
            context: self.context,
            mode: self.mode,
            length,
            data: Data::User(span),
            state,
        }
    }
}

impl<R: Rules, E: Matching> Adi<R, E> {
    /// Starts sending the bytes of `span` (below 4 GiB). Never waits for another process: the message
    /// joins the destination's pending send queue and leaves in later steps. Fails only when the
    /// program's heap has no room for the request.
    ///
    /// # Panics
    /// When there is no process `to.dest`, the tag is negative or the message is 4 GiB or longer: the
    /// bindings check their arguments.
    pub fn isend(&mut self, to: SendTo, span: Span) -> Result<RequestId, NoMemory> {
        self.start_send(to, span, KEPT_SLOTS)
    }

    /// As [`Adi::isend`], for a call that blocks until the request has finished: it takes what is kept for
    /// such calls, and so goes on when the heap is used up.
    ///
    /// # Panics
    /// As [`Adi::isend`].
    pub fn send_within_call(&mut self, to: SendTo, span: Span) -> Result<RequestId, NoMemory> {
        self.start_send(to, span, 0)
    }

    #[inline]
    fn start_send(&mut self, to: SendTo, span: Span, keep: u32) -> Result<RequestId, NoMemory> {
        assert!(to.dest < self.size() && to.tag >= 0);
        let length = u32::try_from(span.len()).expect("a message below 4 GiB");
        let none = NoMemory::Requests {
            live: self.requests.named(),
        };
        let send = to.send(span, length, SendState::Bcopy);
        let rules = self.rules();
        let can_be_bcopy = rules.bcopy() && to.mode == Mode::Standard && span.len() <= BCOPY_BYTES;
        if can_be_bcopy
            && !self.bcopies.is_full()
            && !self.pending.has(to.dest)
            && self.reserve_slots(keep).is_ok()
        {
            let send = Request::Send(send);
            let id = self.requests.insert(send).map_err(|_| none)?;
            self.bcopies
                .start(to.dest, to.tag, to.context, id.slot(), span);
            self.stats.messages_sent += 1;
            return Ok(id);
        }
        self.enter_bcopies(to.dest);
        let id = self
            .pending
            .push(&mut self.requests, to.dest, send, keep, rules)
            .map_err(|_| none)?;
        self.stats.messages_sent += 1;
        Ok(id)
    }

    /// Finds a slot for a bcopy, and reserves what it needs should it not stay one: another slot, and
    /// a place in the pending send queue of its destination.
    #[inline]
    fn reserve_slots(&mut self, keep: u32) -> Result<(), Full> {
        self.requests.grow(2 + keep)?;
        self.pending.reserve(1 + keep as usize)?;
        self.requests.reserve_slots(1);
        self.pending.expect(1);
        Ok(())
    }

    /// What was reserved for `count` bcopies is not needed any more, or is to be used.
    fn release_reserved(&mut self, count: u32) {
        self.requests.put_back(count);
        self.pending.expect_no_more(count as usize);
    }

    /// The bcopies to `dest` enter its pending send queue, as if they had been there from the start.
    pub(in crate::device) fn enter_bcopies(&mut self, dest: Rank) {
        if self.bcopies.is_empty() {
            return;
        }
        let rules = self.rules();
        for bcopy in self.bcopies.to(dest) {
            let slot = match self.bcopies.at(bcopy).state {
                BcopyState::Unsent { slot, .. } => {
                    let unsent = PendingSend::new(Offer::Unsent);
                    self.requests.send_mut(slot).state = SendState::Pending(unsent);
                    self.bcopies.free(bcopy);
                    slot
                }
                _ => {
                    let slot = self.insert_offered(bcopy);
                    self.bcopies.queued(bcopy, slot);
                    slot
                }
            };
            self.release_reserved(1);
            self.pending
                .enter_bcopy(&mut self.requests, dest, slot, rules);
        }
    }

    /// The request of a bcopy that has left, which the program has been told is complete.
    fn insert_offered(&mut self, bcopy: BcopyId) -> Slot {
        let from = self.bcopies.at(bcopy);
        let send = Request::Send(Send {
            dest: from.dest,
            tag: from.tag,
            context: from.context,
            mode: Mode::Standard,
            length: from.length.into(),
            data: Data::Bcopy(bcopy),
            state: SendState::Pending(PendingSend::new(Offer::Unanswered)),
        });
        let id = self.requests.insert(send).expect("reserved for it");
        self.requests.forget(id);
        id.slot()
    }

    /// Priority packets that are owed: restarts, and CTSs for receives that matched a record without a
    /// buffer. Returns how many were sent.
    #[inline]
    pub(crate) fn send_due<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
    ) -> usize {
        match self.peers.owes_restarts() || !self.cts_due.is_empty() {
            true => self.send_due_now(port, memory),
            false => 0,
        }
    }

    #[inline(never)]
    fn send_due_now<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> usize {
        let mut sent = 0;
        while sent < STEP_PACKETS && port.can_inject(Class::Priority) {
            if let Some((source, age)) = self.peers.take_due_restart() {
                let restart = self.make_restart(memory, source, age);
                let (class, bytes) = (Class::Priority, restart.bytes());
                let header = self.header(wire::RESTART);
                self.send_now(port, class, source, header, bytes, |out| restart.emit(out));
                self.stats.restarts_sent += 1;
            } else if let Some((dest, fields)) = self.next_due_cts() {
                self.send_cts(port, dest, &fields);
                self.stats.cts_sent += 1;
            } else {
                break;
            }
            sent += 1;
        }
        sent
    }

    /// Deferred acknowledgements: called when nothing comes that they could leave with. Returns how
    /// many were sent.
    pub(crate) fn send_deferred<P: Port>(&mut self, port: &mut P) -> usize {
        let mut sent = 0;
        while !self.deferred.is_empty()
            && port.can_inject(Class::Priority)
            && let Some(deferred) = self.deferred.pop()
        {
            self.send_cts(port, deferred.source, &deferred.fields());
            self.stats.cts_merged += u64::from(deferred.count) - 1;
            sent += 1;
        }
        sent
    }

    fn send_cts<P: Port>(&self, port: &mut P, dest: Rank, fields: &Fields) {
        let cts = fields.emit(wire::CTS).bytes;
        let header = self.header(wire::CTS);
        self.send_now(port, Class::Priority, dest, header, cts.len(), |out| {
            out.copy_from_slice(&cts)
        });
    }

    #[inline]
    pub(crate) fn header(&self, handler: u8) -> Header {
        Header {
            handler,
            source: self.here,
            argument: 0,
            place: None,
        }
    }

    /// Sends a packet that there is room for: the caller has looked before it took what it sends off its list.
    fn send_now<P: Port>(
        &self,
        port: &mut P,
        class: Class,
        dest: Rank,
        header: Header,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let dest = self.coord(dest);
        let sent = tx::short(port, class, dest, header, bytes, fill);
        assert!(sent, "room was there before it was chosen");
    }

    fn coord(&self, rank: Rank) -> Coord {
        self.shape.coord(rank).expect("a rank of this job")
    }

    /// Offers and data, by turns, while the injection FIFO has room. Returns the packets sent.
    pub(crate) fn send_pending<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
    ) -> usize {
        let mut sent = 0;
        while sent < STEP_PACKETS {
            let before = sent;
            if self.stream.is_some() {
                sent += self.push_stream(port, memory);
            }
            if self.stream.is_none() {
                sent += usize::from(self.offer_next(port, memory));
            }
            sent += self.push_next_transfer(port, memory);
            if sent == before {
                break;
            }
        }
        sent
    }

    fn offer_next<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> bool {
        if !port.can_inject(Class::Normal) {
            return false;
        }
        if let Some((dest, age)) = self.peers.take_due_done() {
            self.send_done(port, dest, Done { age, more: false });
            return true;
        }
        if self.bcopies.next_unsent().is_some() {
            self.send_bcopy(port, memory);
            return true;
        }
        if self.send_cancel(port) {
            return true;
        }
        let rules = self.rules();
        match self.pending.next(&mut self.requests, rules) {
            None => return false,
            Some((dest, Next::Offer(slot, flags))) => {
                self.offer(port, memory, dest, slot, flags);
            }
            Some((dest, Next::Done { more })) => {
                let age = self.peers.ages(dest).to;
                self.send_done(port, dest, Done { age, more });
            }
        }
        true
    }

    /// Offers the pending send in `slot` to `dest`, with its data if that is to go along or to follow.
    fn offer<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
        dest: Rank,
        slot: Slot,
        flags: OfferFlags,
    ) {
        let id = self.requests.id(slot);
        let eager_limit = self.eager_limit;
        let send = self.requests.send_mut(slot);
        let SendState::Pending(pending) = &mut send.state else {
            unreachable!("what is offered is pending")
        };
        let length = send.length as usize;
        let is_standard = send.mode == Mode::Standard;
        // A posted receive that takes no other source's messages is sure to take what it has asked for; and
        // two trips have been spent already.
        let limit = match pending.asked {
            Some(Asked { exact: true, .. }) => 2 * eager_limit,
            _ if flags.eager && is_standard => eager_limit,
            _ => 0,
        };
        let eager = length > INLINE_BYTES && length <= limit;
        pending.eager = eager;
        let data = send.data;
        let rts = Rts {
            context: send.context,
            tag: send.tag,
            length: send.length,
            request: id.0,
            age: self.peers.ages(dest).to,
            synchronous: !is_standard,
            inline: length <= INLINE_BYTES,
            eager,
            in_order: flags.in_order,
            more: flags.more,
            follows: flags.follows,
            patient: matches!(data, Data::Bcopy(_)),
            asked: flags.asked,
        };
        let bytes = if rts.inline { length } else { 0 };
        self.send_rts(port, dest, &rts, bytes, |adi, out| {
            adi.read(memory, data, 0, out)
        });
        if eager {
            let transfer = Transfer {
                target: id.0,
                offset: 0,
                end: length as u32,
                in_order: true,
            };
            self.stream = Some(Stream { slot, transfer });
            self.stats.eager_sent += 1;
        }
    }

    /// The next bcopy leaves, and its request is complete.
    #[inline]
    fn send_bcopy<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) {
        let Some(id) = self.bcopies.next_unsent() else {
            return;
        };
        let bcopy = *self.bcopies.at(id);
        let BcopyState::Unsent { slot, .. } = bcopy.state else {
            unreachable!("it is still to leave")
        };
        self.bcopies.leave(|span, out| memory.read(span, 0, out));
        let rts = Rts {
            context: bcopy.context,
            tag: bcopy.tag,
            length: bcopy.length.into(),
            request: self.bcopies.name(id).0,
            age: self.peers.ages(bcopy.dest).to,
            synchronous: false,
            inline: true,
            eager: false,
            // There is no queue: everything before it has been accepted, or is a bcopy, too.
            in_order: true,
            more: false,
            follows: false,
            patient: true,
            asked: None,
        };
        let bytes = bcopy.length.into();
        self.send_rts(port, bcopy.dest, &rts, bytes, |adi, out| {
            out.copy_from_slice(adi.bcopies.bytes(id))
        });
        self.finish_send(slot, false);
    }

    /// Sends an RTS with so many bytes of data, which `read` writes; and with it an answer that is deferred.
    fn send_rts<P: Port>(
        &mut self,
        port: &mut P,
        dest: Rank,
        rts: &Rts,
        data: usize,
        read: impl FnOnce(&Self, &mut [u8]),
    ) {
        let mut bytes = rts.bytes() + data;
        let deferred = match bytes + MERGED_BYTES <= SHORT_BYTES {
            true => self.take_deferred(dest),
            false => None,
        };
        let mut header = self.header(wire::RTS);
        if let Some(deferred) = deferred {
            header.argument = deferred.count.into();
            bytes += MERGED_BYTES;
            self.stats.cts_merged += u64::from(deferred.count);
        }
        self.stats.rts_sent += 1;
        self.send_now(port, Class::Normal, dest, header, bytes, |out| {
            let rest = rts.emit(out);
            let Some(deferred) = deferred else {
                return read(self, rest);
            };
            let (data, merged) = rest.split_at_mut(data);
            read(self, data);
            merged.copy_from_slice(&deferred.request.to_le_bytes());
        });
    }

    /// Reads a message's data.
    fn read<M: UserMemory + ?Sized>(&self, memory: &M, data: Data, offset: usize, out: &mut [u8]) {
        match data {
            Data::Bcopy(bcopy) => {
                out.copy_from_slice(&self.bcopies.bytes(bcopy)[offset..][..out.len()]);
            }
            Data::User(span) => memory.read(span, offset, out),
        }
    }

    /// Goes on with the message whose data follows its RTS. It goes out before anything else is offered, so
    /// that a receiver never has more than one such message of a source to find a place for.
    fn push_stream<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> usize {
        let Some(Stream { slot, mut transfer }) = self.stream else {
            return 0;
        };
        let &Send {
            dest, data, state, ..
        } = self.requests.send(slot);
        let sent = transfer.push(
            port,
            self.here,
            self.coord(dest),
            wire::EAGER,
            TURN_PACKETS,
            |offset, out| self.read(memory, data, offset as usize, out),
        );
        self.stream = (!transfer.is_out()).then_some(Stream { slot, transfer });
        if transfer.is_out() && state == SendState::Streaming {
            self.finish_send(slot, false);
        }
        sent
    }

    /// The program cancels the send in `slot`: true when that ends it at once.
    pub(crate) fn withdraw(&mut self, slot: Slot) -> bool {
        let &Send { dest, state, .. } = self.requests.send(slot);
        if state == SendState::Bcopy {
            self.enter_bcopies(dest);
        }
        match &mut self.requests.send_mut(slot).state {
            SendState::Pending(pending) if pending.offer == Offer::Unanswered => {
                pending.cancelled = true;
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
                self.requests.send_mut(slot).state = SendState::Held(Withdrawal::Refused);
                self.cancels.push(&mut self.requests, slot);
            }
            SendState::Held(withdrawal @ Withdrawal::None) => {
                *withdrawal = Withdrawal::Unasked;
                self.cancels.push(&mut self.requests, slot);
            }
            _ => {}
        }
        false
    }

    /// Asks the receiver of one message that it knows of, and whose sender wants it back, to forget it.
    fn send_cancel<P: Port>(&mut self, port: &mut P) -> bool {
        let Some(slot) = self.cancels.head() else {
            return false;
        };
        self.cancels.remove(&mut self.requests, slot);
        let send = self.requests.send_mut(slot);
        let refused = send.state == SendState::Held(Withdrawal::Refused);
        send.state = SendState::Held(Withdrawal::Asked);
        let dest = send.dest;
        let [a, b, c, d] = self.requests.id(slot).0.to_le_bytes();
        let (bytes, header) = (wire::CANCEL_BYTES, self.header(wire::CANCEL));
        self.send_now(port, Class::Normal, dest, header, bytes, |out| {
            out.copy_from_slice(&[a, b, c, d, refused.into()])
        });
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

    fn send_done<P: Port>(&mut self, port: &mut P, dest: Rank, done: Done) {
        let header = self.header(wire::DONE);
        self.send_now(port, Class::Normal, dest, header, Done::BYTES, |out| {
            out.copy_from_slice(&done.emit());
        });
        self.stats.done_sent += 1;
    }

    fn push_next_transfer<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
    ) -> usize {
        let Some(slot) = self.transfers.head() else {
            return 0;
        };
        let &Send {
            dest, data, state, ..
        } = self.requests.send(slot);
        let SendState::Sending(mut transfer) = state else {
            unreachable!("the list of transfers names a send whose data does not leave")
        };
        let sent = transfer.push(
            port,
            self.here,
            self.coord(dest),
            wire::DATA,
            TURN_PACKETS,
            |offset, out| self.read(memory, data, offset as usize, out),
        );
        if transfer.is_out() {
            self.transfers.remove(&mut self.requests, slot);
            self.finish_send(slot, false);
        } else {
            self.requests.send_mut(slot).state = SendState::Sending(transfer);
            if sent > 0 {
                self.transfers.rotate(&mut self.requests);
            }
        }
        sent
    }

    /// The pending or held send that an answer from `source` names; malformed when it names none.
    fn answered(&self, arrival: &Arrival<'_>) -> Result<(Rank, Slot, Fields), Malformed> {
        let fields = Fields::parse(arrival.bytes).ok_or(Malformed)?;
        let source = self.shape.rank(arrival.source).ok_or(Malformed)?;
        let slot = self.named_by(source, fields.request).ok_or(Malformed)?;
        Ok((source, slot, fields))
    }

    /// The slot of the pending or held send that `dest` names so, one that was a bcopy included.
    fn named_by(&self, dest: Rank, name: u32) -> Option<Slot> {
        let id = RequestId(name);
        if let Some(bcopy) = self.bcopies.find(id, dest) {
            let BcopyState::Queued { slot } = self.bcopies.at(bcopy).state else {
                return None;
            };
            return Some(slot);
        }
        let send = self.requests.get_send(id)?;
        let waits = matches!(send.state, SendState::Pending(_) | SendState::Held(_));
        (waits && send.dest == dest).then_some(id.slot())
    }

    /// A bcopy to `dest` that has left and has no other answer has been taken, with the `before` ones
    /// before it. False when it is none, or not so many have left.
    fn bcopy_taken(&mut self, dest: Rank, name: u32, before: u8) -> bool {
        let bcopy = self.bcopies.find(RequestId(name), dest);
        let taken = bcopy.is_some_and(|bcopy| self.bcopies.taken(bcopy, before));
        if taken {
            let count = u32::from(before) + 1;
            self.release_reserved(count);
            self.stats.cts_received += u64::from(count);
        }
        taken
    }

    pub(in crate::device) fn take_reply(
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
        match self.requests.send(slot).state {
            SendState::Pending(pending) => {
                let step = on_answer(pending.offer, reply).ok_or(Malformed)?;
                self.leave_queue(dest, slot, step, &fields);
                self.do_step(slot, pending, step, &fields);
            }
            SendState::Held(withdrawal) if reply == Reply::Cts => {
                if let Withdrawal::Unasked | Withdrawal::Refused = withdrawal {
                    // A receive has matched it before its receiver could be asked.
                    self.cancels.remove(&mut self.requests, slot);
                }
                self.begin_transfer(slot, &fields);
            }
            _ => return Err(Malformed),
        }
        Ok(())
    }

    /// An answer to a message that is a bcopy: true when that is all. Otherwise those to its destination have
    /// entered the pending send queue, where the answer finds it.
    fn take_reply_to_bcopy(&mut self, arrival: &Arrival<'_>, reply: Reply) -> bool {
        if let Some(dest) = self.shape.rank(arrival.source)
            && let Some(fields) = Fields::parse(arrival.bytes)
            && let Some(bcopy) = self.bcopies.find(RequestId(fields.request), dest)
            && !matches!(self.bcopies.at(bcopy).state, BcopyState::Queued { .. })
        {
            let taken = reply == Reply::Cts && fields.complete;
            if taken && self.bcopy_taken(dest, fields.request, fields.before) {
                return true;
            }
            self.enter_bcopies(dest);
        }
        false
    }

    /// The answer to the send in `slot` says that `count` offers directly before it have been taken.
    fn take_those_before(&mut self, dest: Rank, slot: Slot, count: u8) -> Result<(), Malformed> {
        if count == 0 {
            return Ok(());
        }
        let is_offered = self.requests.send(slot).is_offered_to(dest);
        let before = self.requests.prev_in::<QUEUE>(slot);
        let before = before.filter(|_| is_offered).ok_or(Malformed)?;
        match self.all_taken(dest, before, count.into()) {
            true => Ok(()),
            false => Err(Malformed),
        }
    }

    /// The pending send in `slot` has its answer: it leaves the queue, or takes its place there.
    fn leave_queue(&mut self, dest: Rank, slot: Slot, step: Step, fields: &Fields) {
        let answered = match step {
            Step::Send | Step::Hold => Answered::Taken,
            Step::Stay if fields.stale => Answered::Stale,
            Step::Stay => Answered::Refused,
        };
        let rules = self.rules();
        self.pending.answered(
            &mut self.requests,
            dest,
            slot,
            answered,
            fields.scarce,
            rules,
        );
    }

    /// Does what the protocol says for a send that was pending, and whose data may be leaving already.
    fn do_step(&mut self, slot: Slot, pending: PendingSend, step: Step, fields: &Fields) {
        let streams = self.stream.is_some_and(|stream| stream.slot == slot);
        if step == Step::Send && fields.stream && pending.eager {
            match streams {
                true => self.requests.send_mut(slot).state = SendState::Streaming,
                false => self.finish_send(slot, false),
            }
            return;
        }
        if streams {
            // The receiver had no place for it.
            self.stream = None;
        }
        match step {
            // It is not taken back any more.
            Step::Send => return self.begin_transfer(slot, fields),
            Step::Hold => self.requests.send_mut(slot).state = SendState::Held(Withdrawal::None),
            Step::Stay => {}
        }
        if pending.cancelled {
            self.withdraw(slot);
        }
    }

    /// The `total` offers to `dest` that end with that in the slot `last` have been taken, data and all. False
    /// when there are no such offers.
    fn all_taken(&mut self, dest: Rank, last: Slot, total: u32) -> bool {
        let rules = self.rules();
        let Adi {
            pending,
            requests,
            bcopies,
            ..
        } = self;
        let finish = |requests: &mut RequestPool, slot| {
            if let Some(bcopy) = requests.finish_send(slot, false) {
                bcopies.free(bcopy);
            }
        };
        let all = pending.all_taken(requests, dest, last, total, rules, finish);
        if all {
            self.stats.cts_received += u64::from(total);
        }
        all
    }

    /// An RTS of `dest` says that our message `request` and those offered directly before it, `count` in all,
    /// have been taken. Malformed when there are no such messages.
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
        let slot = self.named_by(dest, request);
        let slot = slot.filter(|&slot| self.requests.send(slot).is_offered_to(dest));
        match self.all_taken(dest, slot.ok_or(Malformed)?, count.into()) {
            true => Ok(()),
            false => Err(Malformed),
        }
    }

    fn begin_transfer(&mut self, slot: Slot, fields: &Fields) {
        let send = self.requests.send_mut(slot);
        if fields.complete || fields.wanted == 0 {
            self.finish_send(slot, false);
        } else {
            // A receiver cannot want more than there is; if one does, it gets what there is.
            let end = fields.wanted.min(send.length);
            send.state = SendState::Sending(Transfer {
                target: fields.target,
                offset: 0,
                end,
                in_order: false,
            });
            self.transfers.push(&mut self.requests, slot);
        }
    }
}
