//! The sending side: the program's sends, offers to receivers, and what comes of the answers.
#![forbid(unsafe_code)]

use msg_layer::header::{Header, SHORT_BYTES};
use msg_layer::{Arrival, Class, Port, Transfer, tx};
use net_torus::coord::Coord;

use crate::copies::{COPY_BYTES, CopyId};
use crate::envelope::{Context, Pattern, Rank, Tag};
use crate::memory::{Span, UserMemory};
use crate::pending::{Answered, Next};
use crate::protocol::{Reply, Step, on_answer};
use crate::request::{
    Asked, KEPT_SLOTS, Mode, Offer, Request, RequestId, RequestPool, State, Withdrawal,
};
use crate::wire::{self, Done, Fields, INLINE_BYTES, MERGED_BYTES, ROOM_FOR_ALL, ResendAll, Rts};
use crate::{Adi, Handling, NoMemory, STEP_PACKETS, TURN_PACKETS};

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
    /// Peer, tag and context, as a request holds them: for a send the peer is the destination.
    pub(crate) fn pattern(&self) -> Pattern {
        Pattern {
            source: Some(self.dest),
            tag: Some(self.tag),
            context: self.context,
        }
    }
}

/// A message whose data leaves right behind its RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Stream {
    slot: u32,
    /// Its target is the sender's own name for the message.
    transfer: Transfer,
}

impl Adi {
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

    fn start_send(&mut self, to: SendTo, span: Span, keep: u32) -> Result<RequestId, NoMemory> {
        assert!(to.dest < self.size() && to.tag >= 0);
        let length = u32::try_from(span.len()).expect("a message below 4 GiB");
        let none = NoMemory::Requests {
            live: self.requests.named(),
        };
        let request = Request {
            mode: to.mode,
            length,
            ..Request::new(State::Pending(Offer::Unsent), to.pattern(), span)
        };
        let rules = self.rules();
        let id = self
            .pending
            .push(&mut self.requests, to.dest, request, keep, rules)
            .map_err(|_| none)?;
        self.stats.messages_sent += 1;
        Ok(id)
    }

    /// Priority packets that are owed: notices, and CTSs for receives that matched a record without a
    /// buffer. Returns how many were sent.
    pub(crate) fn send_owed<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
    ) -> usize {
        let mut sent = 0;
        while sent < STEP_PACKETS && port.can_inject(Class::Priority) {
            if let Some((source, age)) = self.peers.pay() {
                let notice = self.notice(memory, source, age);
                let (class, bytes) = (Class::Priority, notice.bytes());
                let header = self.header(wire::RESEND_ALL);
                self.send_now(port, class, source, header, bytes, |out| notice.emit(out));
                self.stats.resend_all_sent += 1;
            } else if let Some((dest, fields)) = self.next_owed_cts() {
                self.send_cts(port, dest, &fields);
                self.stats.cts_sent += 1;
            } else {
                break;
            }
            sent += 1;
        }
        sent
    }

    /// Answers for which nobody waits: called when nothing comes that they could leave with. Returns how
    /// many were sent.
    pub(crate) fn send_late<P: Port>(&mut self, port: &mut P) -> usize {
        let mut sent = 0;
        while port.can_inject(Class::Priority)
            && let Some(late) = self.late.pop()
        {
            self.send_cts(port, late.source, &late.fields());
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

    pub(crate) fn header(&self, handler: u8) -> Header {
        Header {
            handler,
            source: self.here,
            argument: 0,
            place: None,
        }
    }

    /// Sends a packet that there is room for: whoever takes a debt off its list, or chooses an offer, has
    /// looked before.
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
            if !self.transfers.is_empty() {
                sent += self.push_next_transfer(port, memory);
            }
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
        if let Some((dest, age)) = self.peers.pay_done() {
            self.send_done(port, dest, Done { age, more: false });
            return true;
        }
        if self.send_cancel(port) {
            return true;
        }
        let rules = self.rules();
        let (dest, slot, standing) = match self.pending.next(&mut self.requests, rules) {
            None => return false,
            Some((dest, Next::Offer(slot, standing))) => (dest, slot, standing),
            Some((dest, Next::Done { more })) => {
                self.send_done(
                    port,
                    dest,
                    Done {
                        age: self.peers.ages(dest).to,
                        more,
                    },
                );
                return true;
            }
        };
        // Blocking calls go on when the heap is used up: theirs is the slot then, and the wait.
        let may_keep_slot = self.requests.free_slots() >= KEPT_SLOTS;
        let (id, request) = self.requests.named_mut(slot);
        let (span, length) = (request.span, request.length as usize);
        let is_standard = request.mode == Mode::Standard;
        // A posted receive that takes no other source's messages is sure to take what it has asked for; and
        // two trips have been spent already.
        let limit = match request.asked {
            Some(Asked { exact: true, .. }) => 2 * self.eager_limit,
            _ if standing.eager && is_standard => self.eager_limit,
            _ => 0,
        };
        let eager = length > INLINE_BYTES && length <= limit;
        request.eager = eager;
        if is_standard && length <= COPY_BYTES && may_keep_slot && request.copy.is_none() {
            request.copy = self
                .copies
                .make(length, |out| memory.read(span, 0, out));
        }
        let copy = request.copy;
        let rts = Rts {
            context: request.context,
            tag: request.tag.unwrap_or(0),
            length: request.length,
            request: id.0,
            age: self.peers.ages(dest).to,
            synchronous: !is_standard,
            inline: length <= INLINE_BYTES,
            eager,
            in_order: standing.in_order,
            more: standing.more,
            follows: standing.follows,
            patient: copy.is_some(),
            asked: request.asked.map(|asked| asked.receive),
        };
        let bytes = rts.bytes() + if rts.inline { length } else { 0 };
        let late = match bytes + MERGED_BYTES <= SHORT_BYTES {
            true => self.take_late(dest),
            false => None,
        };
        let header = Header {
            argument: late.map_or(0, |late| late.count.into()),
            ..self.header(wire::RTS)
        };
        let merged = late.map(|late| late.request.to_le_bytes());
        let bytes = bytes + if late.is_some() { MERGED_BYTES } else { 0 };
        self.send_now(port, Class::Normal, dest, header, bytes, |out| {
            let (out, tail) = out.split_at_mut(bytes - merged.map_or(0, |m| m.len()));
            self.read(memory, copy, span, 0, rts.emit(out));
            if let Some(merged) = merged {
                tail.copy_from_slice(&merged);
            }
        });
        self.stats.cts_merged += u64::from(header.argument);
        self.stats.rts_sent += 1;
        if eager {
            self.stream = Some(Stream {
                slot,
                transfer: Transfer {
                    target: id.0,
                    offset: 0,
                    end: length as u32,
                    in_order: true,
                },
            });
            self.stats.eager_sent += 1;
        }
        true
    }

    /// Reads a message's data: out of its copy, or of the program's buffer.
    fn read<M: UserMemory + ?Sized>(
        &self,
        memory: &M,
        copy: Option<CopyId>,
        span: Span,
        offset: usize,
        out: &mut [u8],
    ) {
        match copy {
            Some(copy) => out.copy_from_slice(&self.copies.bytes(copy)[offset..][..out.len()]),
            None => memory.read(span, offset, out),
        }
    }

    /// Goes on with the message whose data follows its RTS. It goes out before anything else is offered, so
    /// that a receiver never has more than one such message of a source to find a place for.
    fn push_stream<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> usize {
        let Some(Stream { slot, mut transfer }) = self.stream else {
            return 0;
        };
        let request = self.requests.at(slot);
        let (span, dest, state) = (request.span, request.peer, request.state);
        let dest = self.coord(dest.expect("a send has a destination"));
        let sent = transfer.push(
            port,
            self.here,
            dest,
            wire::EAGER,
            TURN_PACKETS,
            |offset, out| memory.read(span, offset as usize, out),
        );
        self.stream = (!transfer.is_out()).then_some(Stream { slot, transfer });
        if transfer.is_out() && state == State::Streaming {
            self.finish(slot, false);
        }
        sent
    }

    /// The program cancels the send in `slot`: true when that ends it at once.
    pub(crate) fn withdraw(&mut self, slot: u32) -> bool {
        let request = self.requests.at_mut(slot);
        if request.copy.is_some() {
            // It is complete.
            return false;
        }
        match (request.state, request.withdrawal) {
            (State::Pending(Offer::Unanswered), _) => request.withdrawal = Withdrawal::Wanted,
            (State::Pending(offer), _) => {
                let dest = request.peer.expect("a send has a destination");
                // A notice asks for what has been refused.
                let is_known = offer == Offer::Refused || request.asked.is_some();
                let rules = self.rules();
                self.pending.withdraw(&mut self.requests, dest, slot, rules);
                if !is_known {
                    self.finish(slot, true);
                    return true;
                }
                // A probe there may have seen it, and must not see it any more.
                let request = self.requests.at_mut(slot);
                request.state = State::Held;
                request.withdrawal = Withdrawal::Refused;
                self.cancels.push(&mut self.requests, slot);
            }
            (State::Held, Withdrawal::None | Withdrawal::Wanted) => {
                request.withdrawal = Withdrawal::Unasked;
                self.cancels.push(&mut self.requests, slot);
            }
            _ => {}
        }
        false
    }

    /// Asks the receiver of one message that it knows of, and whose sender wants it back, to forget it.
    fn send_cancel<P: Port>(&mut self, port: &mut P) -> bool {
        if self.cancels.is_empty() {
            return false;
        }
        let slot = self.cancels.head();
        self.cancels.remove(&mut self.requests, slot);
        let request = self.requests.at_mut(slot);
        let refused = request.withdrawal == Withdrawal::Refused;
        request.withdrawal = Withdrawal::Asked;
        let dest = request.peer.expect("a send has a destination");
        let [a, b, c, d] = self.requests.id(slot).0.to_le_bytes();
        let (bytes, header) = (wire::CANCEL_BYTES, self.header(wire::CANCEL));
        self.send_now(port, Class::Normal, dest, header, bytes, |out| {
            out.copy_from_slice(&[a, b, c, d, refused.into()])
        });
        true
    }

    fn take_cancelled(&mut self, arrival: &Arrival<'_>) {
        let Some((_, slot, _)) = self.answered(arrival) else {
            return;
        };
        let request = self.requests.at(slot);
        if (request.state, request.withdrawal) == (State::Held, Withdrawal::Asked) {
            self.finish(slot, true);
        } else {
            self.stats.malformed += 1;
        }
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
        let slot = self.transfers.head();
        let request = self.requests.at(slot);
        let (State::Sending(mut transfer), span, copy, Some(dest)) =
            (request.state, request.span, request.copy, request.peer)
        else {
            unreachable!("the list of transfers holds sends under way")
        };
        let dest = self.coord(dest);
        let sent = transfer.push(
            port,
            self.here,
            dest,
            wire::DATA,
            TURN_PACKETS,
            |offset, out| {
                self.read(memory, copy, span, offset as usize, out);
            },
        );
        if transfer.is_out() {
            self.transfers.remove(&mut self.requests, slot);
            self.finish(slot, false);
        } else {
            self.requests.at_mut(slot).state = State::Sending(transfer);
            if sent > 0 {
                self.transfers.rotate(&mut self.requests);
            }
        }
        sent
    }

    /// The pending or held send that an answer from `source` names; `None`, and counted, when it names
    /// none.
    fn answered(&mut self, arrival: &Arrival<'_>) -> Option<(Rank, u32, Fields)> {
        let named = Fields::parse(arrival.bytes).and_then(|fields| {
            let source = self.shape.rank(arrival.source)?;
            let id = RequestId(fields.request);
            let request = self.requests.get(id)?;
            let ours = matches!(request.state, State::Pending(_) | State::Held)
                && request.peer == Some(source);
            ours.then_some((source, id.index(), fields))
        });
        if named.is_none() {
            self.stats.malformed += 1;
        }
        named
    }

    /// Takes the protocol's step for the pending send in `slot`; `None`, and counted, when no such answer
    /// was due.
    fn step(&mut self, slot: u32, reply: Reply) -> Option<Step> {
        let step = match (self.requests.at(slot).state, reply) {
            (State::Pending(offer), reply) => on_answer(offer, reply),
            (State::Held, Reply::Cts) => Some(Step::Send),
            _ => None,
        };
        if step.is_none() {
            self.stats.malformed += 1;
        }
        step
    }

    fn take_reply(&mut self, arrival: &Arrival<'_>, reply: Reply) {
        let Some((dest, slot, fields)) = self.answered(arrival) else {
            return;
        };
        if fields.before > 0 {
            let is_offered = self.requests.at(slot).is_offered_to(dest);
            if !is_offered || !self.all_taken(dest, slot, fields.before, false) {
                self.stats.malformed += 1;
            }
        }
        let Some(step) = self.step(slot, reply) else {
            return;
        };
        if matches!(self.requests.at(slot).state, State::Pending(_)) {
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
        let streams = self.stream.is_some_and(|stream| stream.slot == slot);
        let withdrawal = self.requests.at(slot).withdrawal;
        if matches!(withdrawal, Withdrawal::Unasked | Withdrawal::Refused) {
            // A receive has matched it before its receiver could be asked.
            self.cancels.remove(&mut self.requests, slot);
            self.requests.at_mut(slot).withdrawal = Withdrawal::Asked;
        }
        if step == Step::Send && fields.stream && self.requests.at(slot).eager {
            match streams {
                true => self.requests.at_mut(slot).state = State::Streaming,
                false => self.finish(slot, false),
            }
            return;
        }
        if streams {
            // The receiver had no place for it.
            self.stream = None;
        }
        match step {
            Step::Send => {
                // It is not taken back any more; and when it has finished, nobody may be asking for it.
                self.begin_transfer(slot, &fields);
                return;
            }
            Step::Hold => self.requests.at_mut(slot).state = State::Held,
            Step::Stay => {}
        }
        if self.requests.at(slot).withdrawal == Withdrawal::Wanted {
            self.withdraw(slot);
        }
    }

    /// The message in `slot` to `dest`, or one behind it, has been answered, and with it the `count` offers
    /// directly before `slot`, and `slot` if it is `included`: they have been taken, data and all. False when
    /// there are no such offers.
    fn all_taken(&mut self, dest: Rank, slot: u32, count: u8, included: bool) -> bool {
        let rules = self.rules();
        let Adi {
            pending,
            requests,
            copies,
            ..
        } = self;
        let finish = |requests: &mut RequestPool, slot| {
            if let Some(copy) = requests.finish(slot, false) {
                copies.free(copy);
            }
        };
        let all = pending.all_taken(requests, dest, slot, count, included, rules, finish);
        if all {
            self.stats.cts_received += u64::from(count) + u64::from(included);
        }
        all
    }

    /// An RTS of `dest` says that our message `request` and those offered directly before it, `count` in all,
    /// have been taken. False when there are no such messages.
    pub(crate) fn take_merged(&mut self, dest: Rank, request: u32, count: u16) -> bool {
        let Ok(before) = u8::try_from(count.saturating_sub(1)) else {
            return false;
        };
        let id = RequestId(request);
        let ours = self.requests.get(id).is_some_and(|r| r.is_offered_to(dest));
        ours && self.all_taken(dest, id.index(), before, true)
    }

    fn begin_transfer(&mut self, slot: u32, fields: &Fields) {
        let length = self.requests.at(slot).length;
        if fields.complete || fields.wanted == 0 {
            self.finish(slot, false);
        } else {
            // A receiver cannot want more than there is; if one does, it gets what there is.
            let end = fields.wanted.min(length);
            let transfer = Transfer {
                target: fields.target,
                offset: 0,
                end,
                in_order: false,
            };
            self.requests.at_mut(slot).state = State::Sending(transfer);
            self.transfers.push(&mut self.requests, slot);
        }
    }
}

pub(crate) fn on_cts<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.stats.cts_received += 1;
    on.adi.take_reply(arrival, Reply::Cts);
}

pub(crate) fn on_cancelled<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.take_cancelled(arrival);
}

pub(crate) fn on_nctsd<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.stats.nctsd_received += 1;
    on.adi.take_reply(arrival, Reply::Nctsd);
}

pub(crate) fn on_ncts<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.stats.ncts_received += 1;
    on.adi.take_reply(arrival, Reply::Ncts);
}

pub(crate) fn on_resend_all<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    let adi = &mut *on.adi;
    let Some((source, notice)) = adi
        .shape
        .rank(arrival.source)
        .zip(ResendAll::parse(arrival.bytes))
    else {
        adi.stats.malformed += 1;
        return;
    };
    adi.stats.resend_all_received += 1;
    let rules = adi.rules();
    adi.peers.take_age(source, notice.age);
    let room = if notice.room == ROOM_FOR_ALL {
        u32::MAX
    } else {
        notice.room.into()
    };
    if !adi.pending.notice(
        &mut adi.requests,
        source,
        notice.entries.into_iter(),
        room,
        rules,
    ) {
        adi.peers.owe_done(source);
    }
}
