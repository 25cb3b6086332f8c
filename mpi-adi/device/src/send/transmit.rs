//! Transmission of pending packets while the network has free injection slots: replies, RTSs and data.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::{QUANTUM_PACKETS, STEP_PACKETS, WAYS};
use crate::envelope::Rank;
use crate::extensions::TransmitStep;
use crate::ids::Slot;
use crate::memory::UserMemory;
use crate::memory::blocks::BLOCK_BYTES;
use crate::protocol::ProtocolRules;
use crate::request::{ACK_DEFERRABLE, EAGER, SendData, SendState};
use crate::send::bcopy::BcopyState;
use crate::send::pending::{NextPacket, RtsFlags};
use crate::send::stream::EagerStream;
use crate::stats::Count;
use crate::wire::{self, DoneMessage, INLINE_BYTES, MERGED_BYTES, ReplyFields, Rts, flag_if};
use msg_layer::header::{Header, PRIORITY_BYTES, SHORT_BYTES};
use msg_layer::tx;
use msg_layer::{MessageTransfer, Port, TrafficClass};
use net_torus::coord::Coord;

impl<R: ProtocolRules> Adi<R> {
    /// Transmits pending priority packets: restarts, and CTSs for receives that matched a record without a buffer.
    /// Returns the number of packets sent.
    #[inline]
    pub(crate) fn send_priority<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> usize {
        if self.peers.has_pending_restarts() || !self.receiver.pending_cts.is_empty() {
            self.send_priority_now(port, memory)
        } else {
            0
        }
    }

    #[inline(never)]
    pub(crate) fn send_priority_now<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> usize {
        let mut sent = 0;
        while sent < STEP_PACKETS && port.can_inject(TrafficClass::Priority) {
            if let Some((source, age)) = self.peers.next_pending_restart() {
                let restart = self.make_restart(memory, source, age);
                let mut bytes = [0; PRIORITY_BYTES];
                let bytes = &mut bytes[..restart.bytes()];
                restart.emit(bytes);
                let header = self.header(wire::RESTART);
                self.send_bytes(port, TrafficClass::Priority, source, header, bytes);
                self.stats.restarts_sent += 1;
            } else if let Some((dest, fields)) = self.next_pending_cts() {
                self.send_cts(port, dest, &fields);
                self.stats.cts_sent += 1;
            } else {
                break;
            }
            sent += 1;
        }
        sent
    }

    /// Transmits delayed acknowledgements; used when no arrival promises a piggyback carrier. Returns the number sent.
    pub(crate) fn send_delayed_acks<P: Port>(&mut self, port: &mut P) -> usize {
        let mut sent = 0;
        while !self.receiver.delayed_acks.is_empty()
            && port.can_inject(TrafficClass::Priority)
            && let Some(deferred) = self.receiver.delayed_acks.pop()
        {
            self.send_cts(port, deferred.source, &deferred.fields());
            self.stats.cts_merged += deferred.count as Count - 1;
            sent += 1;
        }
        sent
    }

    pub(crate) fn send_cts<P: Port>(&self, port: &mut P, dest: Rank, fields: &ReplyFields) {
        let cts = fields.emit(wire::CTS).bytes;
        let header = self.header(wire::CTS);
        self.send_bytes(port, TrafficClass::Priority, dest, header, &cts);
    }

    #[inline]
    pub(crate) fn header(&self, handler: u8) -> Header {
        Header {
            handler,
            source: self.identity.here,
            argument: 0,
            place: None,
        }
    }

    /// Transmits a packet for which the network has space: the caller checks that before it dequeues the packet. A
    /// small device copies the packet, so that the image contains injection only once.
    pub(crate) fn send_filled<P: Port>(
        &self,
        port: &mut P,
        class: TrafficClass,
        dest: Rank,
        header: Header,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        if cfg!(feature = "micro") {
            let mut out = [0; SHORT_BYTES];
            let out = &mut out[..bytes];
            fill(out);
            return self.send_bytes(port, class, dest, header, out);
        }
        let sent = tx::send_short(port, class, self.coord(dest), header, bytes, fill);
        assert!(sent, "room was there before it was chosen");
    }

    /// Transmits a packet from a byte slice: one copy for all rare packets.
    #[inline(never)]
    pub(crate) fn send_bytes<P: Port>(
        &self,
        port: &mut P,
        class: TrafficClass,
        dest: Rank,
        header: Header,
        bytes: &[u8],
    ) {
        let len = header.bytes() + bytes.len();
        let sent = port.inject(class, self.coord(dest), len, |body| {
            header.emit(body, bytes.len()).copy_from_slice(bytes)
        });
        assert!(sent, "room was there before it was chosen");
    }

    pub(crate) fn coord(&self, rank: Rank) -> Coord {
        self.identity.shape.coord(rank.index()).expect("a rank of this job")
    }

    /// Returns whether packets are pending that should not wait: the next progress step sends even without arrivals.
    #[inline]
    pub fn has_pending_tx(&self) -> bool {
        self.has_unsent_copies() || self.has_other_tx()
    }

    #[inline]
    fn has_unsent_copies(&self) -> bool {
        self.sender.bcopies.next_unsent().is_some()
    }

    #[inline]
    fn has_other_tx(&self) -> bool {
        self.has_other_requests()
            || self.peers.has_pending_restarts()
            || !self.receiver.pending_cts.is_empty()
            || self.can_advance_barrier()
            || self.extensions.active.has_urgent()
    }

    /// Transmits the packets of extensions while the injection FIFO has space. Returns the number sent, counting other
    /// work.
    #[inline]
    pub(crate) fn send_extensions<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> usize {
        if self.extensions.active.is_idle() {
            0
        } else {
            self.send_extensions_now(port, memory)
        }
    }

    #[inline(never)]
    fn send_extensions_now<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> usize {
        let mut out = [0; SHORT_BYTES];
        let mut sent = 0;
        while sent < STEP_PACKETS
            && port.can_inject(TrafficClass::Normal)
            && let Some(next) = self.extensions.active.packet_writer()
        {
            match next(self, memory.full_access(), &mut out) {
                TransmitStep::Idle => break,
                TransmitStep::Moved => {}
                TransmitStep::Packet(handler, leaving) => {
                    let header = Header {
                        argument: leaving.argument,
                        place: leaving.place,
                        ..self.header(handler)
                    };
                    let bytes = &out[..leaving.len];
                    self.send_bytes(port, TrafficClass::Normal, leaving.dest, header, bytes);
                }
            }
            sent += 1;
        }
        sent
    }

    /// Returns whether the device has packets to send now. Excludes a few copied messages to one process for which
    /// `is_held` is true: their senders do not wait, so they may be coalesced. Use after each call.
    #[inline(always)]
    pub fn has_urgent_tx(&self, is_held: impl FnOnce(Rank) -> bool) -> bool {
        let gathered = || self.sender.bcopies.coalescing_dest().is_some_and(is_held);
        self.has_unsent_copies() && !gathered() || self.has_other_tx()
    }

    /// Returns the process whose messages are held for coalescing, if nothing else is to be transmitted.
    #[inline]
    pub fn coalescing_dest(&self) -> Option<Rank> {
        if self.has_other_tx() {
            None
        } else {
            self.sender.bcopies.coalescing_dest()
        }
    }

    /// Returns whether the message just copied to `dest` may wait for coalescing with [others](Adi::coalescing_dest).
    #[inline]
    pub fn is_coalescing_dest(&self, dest: Rank) -> bool {
        self.sender.bcopies.coalescing_dest() == Some(dest)
    }

    /// Transmits RTSs and data while the network has free injection slots: the part of a [progress step](Adi::progress)
    /// that requires no arrival. Does not block and does not allocate.
    pub fn transmit_pending<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) {
        self.send_pending(port, memory);
    }

    /// Returns the coordinates of a process.
    #[inline]
    pub fn torus_coord(&self, rank: Rank) -> Coord {
        self.coord(rank)
    }

    /// Returns whether delayed acknowledgements are pending, which can be piggybacked on the program's next message. A
    /// progress step without any arrival sends them, unless [they wait](Adi::delay_acks).
    #[inline]
    pub fn has_delayed_acks(&self) -> bool {
        !self.receiver.delayed_acks.is_empty()
    }

    /// Sets whether progress steps without arrivals keep delayed acknowledgements for piggybacking; initially they do
    /// not. The host ensures that such acknowledgements do not wait for long.
    #[inline]
    pub fn delay_acks(&mut self, wait: bool) {
        self.receiver.delays_acks = wait;
    }

    /// Returns whether any packet other than a reply is to be transmitted by [`Adi::send_pending`].
    #[inline]
    fn has_pending_requests(&self) -> bool {
        self.has_unsent_copies() || self.has_other_requests()
    }

    #[inline]
    fn has_other_requests(&self) -> bool {
        self.sender.pending.is_ready()
            || self.sender.stream.is_some()
            || !self.sender.transfers.is_empty()
            || self.peers.has_pending_done()
    }

    /// Transmits RTSs and data in round robin while the injection FIFO has space. Returns the number of packets sent.
    #[inline]
    pub(crate) fn send_pending<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> usize {
        if self.has_pending_requests() {
            self.send_pending_now(port, memory)
        } else {
            0
        }
    }

    #[inline(never)]
    fn send_pending_now<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> usize {
        let mut sent = 0;
        while sent < STEP_PACKETS && self.has_pending_requests() {
            let before = sent;
            if self.sender.stream.is_some() {
                sent += self.push_stream(port, memory);
            }
            if self.sender.stream.is_none() {
                sent += usize::from(self.send_next(port, memory));
            }
            if !self.sender.transfers.is_empty() {
                sent += self.push_transfers(port, memory);
            }
            if sent == before {
                break;
            }
        }
        sent
    }

    pub(crate) fn send_next<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> bool {
        if !port.can_inject(TrafficClass::Normal) {
            return false;
        }
        if let Some((dest, age)) = self.peers.next_pending_done() {
            self.send_done(port, dest, DoneMessage { age, more: false });
            return true;
        }
        if self.sender.bcopies.next_unsent().is_some() {
            self.send_bcopy(port, memory);
            return true;
        }
        let rules = self.rules();
        match self.sender.pending.next(&mut self.requests, rules) {
            None => return false,
            Some((dest, NextPacket::Rts(slot, flags))) => {
                self.send_pending_rts(port, memory, dest, slot, flags);
            }
            Some((dest, NextPacket::Done { more })) => {
                let age = self.peers.ages(dest).to;
                self.send_done(port, dest, DoneMessage { age, more });
            }
        }
        true
    }

    /// Sends an RTS for the pending send in `slot` to `dest`, with inline data, or with eager data to follow.
    pub(crate) fn send_pending_rts<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
        dest: Rank,
        slot: Slot,
        flags: RtsFlags,
    ) {
        let id = self.requests.id(slot);
        let eager_limit = self.sender.eager_limit;
        let send = self.requests.listed(slot);
        let pending = *send.pending().expect("a pending send");
        let length = send.length() as usize;
        let is_standard = !send.is_synchronous();
        let (context, tag, data) = (send.context(), send.tag(), send.send_data());
        // A posted receive that specifies this source is certain to receive the message that it has requested, and two
        // round trips have been spent already.
        let limit = match pending.requested() {
            Some(asked) if asked.is_exact() => 2 * eager_limit,
            _ if flags.may_be_eager && is_standard && self.may_fit(memory, flags.unanswered, length) => eager_limit,
            _ => 0,
        };
        let eager = length > INLINE_BYTES && length <= limit;
        self.requests.pending_mut(slot).set_mark(EAGER, eager);
        let is_patient = matches!(data, SendData::Bcopy(_)) || pending.has_mark(ACK_DEFERRABLE);
        let rts = Rts {
            context,
            tag,
            length: length as u32,
            request: id.0,
            age: self.peers.ages(dest).to,
            flags: flags.flags
                | flag_if(!is_standard, Rts::SYNCHRONOUS)
                | flag_if(length <= INLINE_BYTES, Rts::INLINE)
                | flag_if(eager, Rts::EAGER)
                | flag_if(is_patient, Rts::ACK_DEFERRABLE),
            asked: flags.asked,
        };
        let bytes = if rts.has_flag(Rts::INLINE) { length } else { 0 };
        self.send_rts(port, memory, dest, &rts, data, bytes);
        if eager {
            let transfer = MessageTransfer {
                target: id.0,
                offset: 0,
                end: length as u32,
                in_order: true,
            };
            self.sender.stream = Some(EagerStream { slot, transfer });
            self.stats.eager_sent += 1;
        }
    }

    /// Estimates whether the receiver's memory, if equal to this node's, could hold `unanswered` unexpected messages of
    /// `length` bytes. Eager data beyond that would be dropped. One is always tried: its receive may be posted.
    fn may_fit<M: UserMemory + ?Sized>(&self, memory: &M, unanswered: u32, length: usize) -> bool {
        let room = self.region.bytes() + memory.spare_blocks() as usize * BLOCK_BYTES;
        unanswered <= 1 || u64::from(unanswered) * length as u64 <= room as u64
    }

    /// Transmits the next bcopy, and completes its request, if it has one.
    #[inline]
    pub(crate) fn send_bcopy<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) {
        let Some(id) = self.sender.bcopies.next_unsent() else {
            return;
        };
        let bcopy = *self.sender.bcopies.at(id);
        self.sender.bcopies.transmit_next(|span, out| memory.read(span, 0, out));
        let rts = Rts {
            context: bcopy.context,
            tag: bcopy.tag,
            length: bcopy.length.into(),
            request: self.sender.bcopies.name(id).0,
            age: self.peers.ages(bcopy.dest).to,
            // No queue exists: every earlier message was accepted, or is a bcopy, too.
            flags: Rts::INLINE | Rts::IN_ORDER | Rts::ACK_DEFERRABLE,
            asked: None,
        };
        let bytes = bcopy.length.into();
        self.send_rts(port, memory, bcopy.dest, &rts, SendData::Bcopy(id), bytes);
        if let BcopyState::Unsent { slot, .. } = bcopy.state {
            self.finish_send(slot, false);
        }
    }

    /// Sends an RTS with the first `len` bytes of its data, and piggybacks a delayed acknowledgement.
    // One copy for bcopies and others.
    #[inline(never)]
    fn send_rts<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &M,
        dest: Rank,
        rts: &Rts,
        data: SendData,
        len: usize,
    ) {
        let mut bytes = rts.bytes() + len;
        let deferred = if bytes + MERGED_BYTES <= SHORT_BYTES {
            self.take_delayed_ack(dest)
        } else {
            None
        };
        let mut header = self.header(wire::RTS);
        if let Some(deferred) = deferred {
            header.argument = deferred.count.into();
            bytes += MERGED_BYTES;
            self.stats.cts_merged += deferred.count as Count;
        }
        self.stats.rts_sent += 1;
        self.send_filled(port, TrafficClass::Normal, dest, header, bytes, |out| {
            let (read, merged) = rts.emit(out).split_at_mut(len);
            self.read_data(memory, data, 0, read);
            if let Some(deferred) = deferred {
                merged.copy_from_slice(&deferred.request.to_le_bytes());
            }
        });
    }

    /// Reads a message's data.
    pub(crate) fn read_data<M: UserMemory + ?Sized>(&self, memory: &M, data: SendData, offset: usize, out: &mut [u8]) {
        match data {
            SendData::Bcopy(bcopy) => {
                out.copy_from_slice(&self.sender.bcopies.bytes(bcopy)[offset..][..out.len()]);
            }
            SendData::User(span) => memory.read(span, offset, out),
        }
    }

    /// Transmits packets of the eager message. It is completed before another RTS, so that a receiver never needs a
    /// target for more than one such message of a source.
    // A call, as most steps transmit no long message.
    #[inline(never)]
    pub(crate) fn push_stream<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M) -> usize {
        let Some(EagerStream { slot, mut transfer }) = self.sender.stream else {
            return 0;
        };
        let send = self.requests.listed(slot);
        let (dest, data, is_accepted) = (send.dest(), send.send_data(), send.is_streaming());
        let sent = self.push_packets(port, memory, dest, data, &mut transfer);
        self.sender.stream = (!transfer.is_complete()).then_some(EagerStream { slot, transfer });
        if transfer.is_complete() && is_accepted {
            self.finish_send(slot, false);
        }
        sent
    }

    pub(crate) fn send_done<P: Port>(&mut self, port: &mut P, dest: Rank, done: DoneMessage) {
        let header = self.header(wire::DONE);
        self.send_bytes(port, TrafficClass::Normal, dest, header, &done.emit());
        self.stats.done_sent += 1;
    }

    /// Transmits packets of a requested long message: the first of [`WAYS`] whose packets the network accepts.
    // A call, as most steps transmit no long message.
    #[inline(never)]
    fn push_transfers<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> usize {
        // At most one cycle: if none can advance, their order is unchanged.
        for _ in 0..self.sender.transfers.len().min(WAYS) {
            let sent = self.push_next_transfer(port, memory);
            if sent > 0 {
                return sent;
            }
        }
        0
    }

    /// Transmits packets of the next long message, and rotates the round robin.
    #[inline]
    fn push_next_transfer<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> usize {
        let Some(slot) = self.sender.transfers.head() else {
            return 0;
        };
        let send = self.requests.listed(slot);
        let (dest, data) = (send.dest(), send.send_data());
        let Some(mut transfer) = send.transfer() else {
            unreachable!("the list of transfers names a send whose data does not leave")
        };
        let sent = if dest == self.identity.rank {
            self.copy_next_part(memory, data, &mut transfer);
            QUANTUM_PACKETS
        } else {
            self.push_packets(port, memory, dest, data, &mut transfer)
        };
        if transfer.is_complete() {
            self.sender.transfers.remove(&mut self.requests, slot);
            self.finish_send(slot, false);
        } else {
            self.requests.set_send_state(slot, SendState::Sending(transfer));
            self.sender.transfers.rotate(&mut self.requests);
        }
        sent
    }

    /// Transmits one quantum of packets of a long message, while the network has free injection slots: eager data in
    /// order, requested data by any free link. Returns the number of packets.
    // One copy for both.
    #[inline(never)]
    fn push_packets<P: Port, M: UserMemory + ?Sized>(
        &self,
        port: &mut P,
        memory: &M,
        dest: Rank,
        data: SendData,
        transfer: &mut MessageTransfer,
    ) -> usize {
        let handler = if transfer.in_order { wire::EAGER } else { wire::DATA };
        let (here, dest) = (self.identity.here, self.coord(dest));
        transfer.push(port, here, dest, handler, QUANTUM_PACKETS, |offset, out| {
            self.read_data(memory, data, offset as usize, out)
        })
    }
}
