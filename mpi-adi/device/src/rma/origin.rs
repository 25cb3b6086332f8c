//! State of an origin: outgoing packets, and outstanding replies.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::handler::{MalformedPacket, REPLY_BYTES};
use msg_layer::header::{SHORT_BYTES, TargetOffset};

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::epochs::{EpochRules, WindowSequence};
use crate::rma::wire::{HEAD_BYTES, PacketKind, ReplyKind, RequestHead};
use crate::rma::{OneSided, PeerFlags, RmaRequest, SLOTS, Window};

/// An outgoing packet.
#[derive(Clone, Hash, Debug)]
pub(super) struct RmaPacket {
    pub dest: Rank,
    pub argument: u16,
    pub len: u8,
    pub bytes: [u8; SHORT_BYTES],
}

impl RmaPacket {
    /// Creates a packet with these bytes.
    ///
    /// # Panics
    /// When they exceed a packet.
    pub fn new(dest: Rank, argument: u16, bytes: &[u8]) -> RmaPacket {
        let mut packet = RmaPacket {
            dest,
            argument,
            len: bytes.len() as u8,
            bytes: [0; SHORT_BYTES],
        };
        packet.bytes[..bytes.len()].copy_from_slice(bytes);
        packet
    }
}

/// Purpose of an outstanding reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReplyPurpose {
    /// A result of this length in bytes. When longer than a reply, at most a packet's, and the call waits for it.
    Result(u32),
    /// Data of a get from this displacement of the target's window; the slot sends the request itself.
    Data {
        /// The displacement.
        place: u64,
        /// The length in bytes.
        len: u32,
    },
    /// Confirmation of completion.
    Done,
}

/// A request to a target.
#[derive(Clone, Copy, Debug)]
pub struct TargetRequest<'a> {
    /// The target.
    pub target: Rank,
    /// Purpose of its reply.
    pub awaited: ReplyPurpose,
    /// The result buffer: a span, and an offset in it.
    pub into: (Span, usize),
    /// The packet: its head and body, except for the operands.
    pub packet: &'a [u8],
    /// Bytes of the program at the end of the packet: span, offset and length.
    pub operands: &'a [(Span, usize, usize)],
}

/// A slot for an outstanding reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplySlot {
    awaited: Option<ReplyPurpose>,
    generation: u8,
    is_to_ask: bool,
    window: Context,
    target: Rank,
    /// The result buffer, and the offset in it.
    span: Span,
    offset: usize,
    /// Bytes of it that have arrived.
    come: u32,
    /// Sequence number among awaited replies.
    number: u64,
    /// The deferred operation that it belongs to, or 0.
    operation: WindowSequence,
}

/// Omits its generation and number.
impl Hash for ReplySlot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.awaited, self.is_to_ask, self.window, self.target).hash(state);
        (self.span, self.offset, self.come, self.operation != 0).hash(state);
    }
}

/// Bits of an ID that are the slot's index.
const INDEX_BITS: u32 = SLOTS.trailing_zeros();
const _: () = assert!(SLOTS.is_power_of_two());

impl ReplySlot {
    pub(super) const FREE: ReplySlot = ReplySlot {
        awaited: None,
        generation: 0,
        is_to_ask: false,
        window: 0,
        target: Rank::new(0),
        span: Span::EMPTY,
        offset: 0,
        come: 0,
        number: 0,
        operation: 0,
    };

    pub(super) fn is_in_use(&self) -> bool {
        self.awaited.is_some()
    }
}

impl Window {
    pub(super) fn touch(&mut self, target: Rank) {
        if let Some(flags) = self.flags(target) {
            flags.set(PeerFlags::TOUCHED, true);
        }
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Allocates a slot for a reply of `target`, with its result to `offset` of `span`; returns its ID. `None`: no free
    /// slot.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn await_reply(&mut self, of: (Context, Rank), awaited: ReplyPurpose, into: (Span, usize)) -> Option<u16> {
        let ((window, target), (span, offset)) = (of, into);
        self.await_reply_for(0, window, target, awaited, span, offset)
    }

    /// Allocates a slot for a reply, for a deferred operation.
    pub(super) fn await_reply_for(
        &mut self,
        operation: WindowSequence,
        window: Context,
        target: Rank,
        awaited: ReplyPurpose,
        span: Span,
        offset: usize,
    ) -> Option<u16> {
        let index = self
            .origin_requests
            .slots
            .iter()
            .position(|slot| slot.awaited.is_none())?;
        self.outgoing.is_held = false;
        let is_to_ask = matches!(awaited, ReplyPurpose::Data { .. }) && target != self.here;
        // Only a flush reports whether it was in bounds of a window whose extent is unknown here.
        let has_place = matches!(awaited, ReplyPurpose::Data { .. } | ReplyPurpose::Result(_));
        if has_place
            && target != self.here
            && let Some(window) = self.window(window)
            && window.exposure.is_dynamic
        {
            window.touch(target);
        }
        let slot = &mut self.origin_requests.slots[index];
        *slot = ReplySlot {
            awaited: Some(awaited),
            generation: slot.generation.wrapping_add(1),
            is_to_ask,
            window,
            target,
            span,
            offset,
            come: 0,
            number: self.origin_requests.asked,
            operation,
        };
        self.origin_requests.asked += 1;
        self.origin_requests.to_ask += u32::from(is_to_ask);
        Some(self.name(index))
    }

    pub(super) fn name(&self, index: usize) -> u16 {
        u16::from(self.origin_requests.slots[index].generation) << INDEX_BITS | index as u16
    }

    fn index_of(name: u16) -> usize {
        (name & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// Returns the slot with this ID, which waits for a reply of `target`.
    fn slot(&self, name: u16, target: Rank) -> Result<(usize, ReplyPurpose), MalformedPacket> {
        let index = Self::index_of(name);
        let slot = &self.origin_requests.slots[index];
        match slot.awaited {
            Some(awaited) if self.name(index) == name && slot.target == target => Ok((index, awaited)),
            _ => Err(MalformedPacket),
        }
    }

    /// Returns whether replies of this window, from `target` if specified, are outstanding.
    pub fn awaits(&self, window: Context, target: Option<Rank>) -> bool {
        self.origin_requests.slots.iter().any(|slot| {
            slot.awaited.is_some() && slot.window == window && target.is_none_or(|target| slot.target == target)
        })
    }

    /// Returns whether replies of this window below `number`, from `target` if specified, are outstanding.
    pub(super) fn awaits_before(&self, number: u64, window: Context, target: Option<Rank>) -> bool {
        self.origin_requests.slots.iter().any(|slot| {
            slot.awaited.is_some()
                && slot.number < number
                && slot.window == window
                && target.is_none_or(|target| slot.target == target)
        })
    }

    /// Returns whether replies for this deferred operation are outstanding.
    pub(super) fn awaits_for(&self, window: Context, operation: WindowSequence) -> bool {
        let is_for = |slot: &ReplySlot| slot.awaited.is_some() && slot.window == window && slot.operation == operation;
        self.origin_requests.slots.iter().any(is_for)
    }

    /// Frees the slot of an arrived reply.
    fn free(&mut self, index: usize, is_refused: bool) {
        let ReplySlot {
            window,
            operation,
            awaited,
            ..
        } = self.origin_requests.slots[index];
        self.origin_requests.slots[index].awaited = None;
        self.is_due |= self.window(window).is_some_and(|window| !window.epochs.is_empty());
        if operation == 0 {
            self.origin_requests.is_refused |= is_refused;
        } else if let Some(ReplyPurpose::Result(len)) = awaited {
            let len = if is_refused { 0 } else { len as usize };
            self.handle_deferred_reply(window, operation, len);
        }
    }

    /// Sends a packet for `window` that has a reply. Returns false when no slot is free: the caller retries later.
    ///
    /// # Panics
    /// When the window does not exist, or packet and operands exceed a packet.
    pub fn emit_request(&mut self, memory: &mut dyn UserMemory, window: Context, question: &TargetRequest<'_>) -> bool {
        let target = question.target;
        // The slot emits the request packet itself.
        let is_data = matches!(question.awaited, ReplyPurpose::Data { .. });
        if target != self.here && !is_data && self.outgoing.ring.is_full() {
            return false;
        }
        let of = (window, target);
        let Some(name) = self.await_reply(of, question.awaited, question.into) else {
            return false;
        };
        if is_data && target != self.here {
            return true;
        }
        let mut packet = RmaPacket::new(target, name, question.packet);
        for &(from, offset, bytes) in question.operands {
            let len = usize::from(packet.len);
            memory.read(from, offset, &mut packet.bytes[len..][..bytes]);
            packet.len += bytes as u8;
        }
        let bytes = &packet.bytes[..usize::from(packet.len)];
        if target == self.here {
            // Cannot fail: the packet has been checked.
            let _ = self.act_on_self(memory, name, bytes);
            return true;
        }
        // Cannot fail: the ring buffer is not full.
        self.outgoing.is_held = false;
        let _ = self.outgoing.ring.push_back(packet);
        true
    }

    /// Sends a packet for `window` to `target`, which is another process; `name` identifies its reply. Returns false
    /// when the ring buffer is full: the caller retries later.
    ///
    /// # Panics
    /// When it exceeds a packet.
    pub fn push(&mut self, (window, target): (Context, Rank), name: u16, bytes: &[u8]) -> bool {
        let packet = RmaPacket::new(target, name, bytes);
        if self.outgoing.ring.push_back(packet).is_err() {
            return false;
        }
        self.outgoing.is_held = false;
        // Packets with a reply require no flush.
        let is_silent = bytes.first().is_some_and(|kind| {
            [PacketKind::Put, PacketKind::Accumulate]
                .map(|kind| kind as u8)
                .contains(kind)
        });
        if is_silent && let Some(window) = self.window(window) {
            window.touch(target);
        }
        true
    }

    /// Performs a request of this process to itself.
    ///
    /// # Errors
    /// [`MalformedPacket`]: like a request from another process.
    pub fn act_on_self(&mut self, memory: &mut dyn UserMemory, name: u16, bytes: &[u8]) -> Result<(), MalformedPacket> {
        let request = |argument, bytes| RmaRequest {
            source: self.here,
            argument,
            place: None,
            bytes,
        };
        let (asked, here) = (request(name, bytes), self.here);
        if let Some(answer) = self.serve(memory, asked)? {
            let answer = RmaRequest {
                source: here,
                argument: answer.argument,
                place: None,
                bytes: &answer.bytes,
            };
            self.match_reply(memory, answer)?;
        }
        // No flush is sent to this process.
        let window = RequestHead::parse(bytes).and_then(|(head, _)| self.window(head.window));
        if let Some(window) = window
            && window.has(here, PeerFlags::FAULT)
        {
            window.clear(here, PeerFlags::FAULT);
            window.is_faulty = true;
        }
        Ok(())
    }

    /// Returns and clears whether the last fetch of a long result was rejected and must be repeated.
    pub fn reset_rejected(&mut self) -> bool {
        core::mem::take(&mut self.origin_requests.is_refused)
    }

    pub(super) fn next_from_ring(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        let packet = self.outgoing.ring.front()?;
        let len = packet.len as usize;
        out[..len].copy_from_slice(&packet.bytes[..len]);
        let leaving = OutgoingPacket {
            dest: packet.dest,
            argument: packet.argument,
            place: None,
            len,
        };
        // Already copied; the value is not used.
        let _ = self.outgoing.ring.pop_front();
        self.outgoing.is_held &= !self.outgoing.ring.is_empty();
        Some(leaving)
    }

    /// Emits the request of a get that has not been sent, or was rejected.
    pub(super) fn next_requested(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        if self.origin_requests.to_ask == 0 {
            return None;
        }
        let index = self.origin_requests.slots.iter().position(|slot| slot.is_to_ask)?;
        self.request(index, out)
    }

    /// Emits the request of the get with this ID, which has not been sent.
    pub(super) fn request_now(&mut self, name: u16, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        self.request(Self::index_of(name), out)
    }

    fn request(&mut self, index: usize, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        self.origin_requests.to_ask -= 1;
        let name = self.name(index);
        let slot = &mut self.origin_requests.slots[index];
        slot.is_to_ask = false;
        let Some(ReplyPurpose::Data { place, len }) = slot.awaited else {
            return None;
        };
        let (dest, window) = (slot.target, slot.window);
        Some(OutgoingPacket {
            dest,
            argument: name,
            place: None,
            len: get_request(out, window, place, len),
        })
    }

    /// Handles a reply of another process, and advances local state that it enables.
    pub(super) fn dispatch_reply(
        &mut self,
        memory: &mut dyn UserMemory,
        answer: RmaRequest<'_>,
    ) -> Result<(), MalformedPacket> {
        self.match_reply(memory, answer)?;
        if self.is_due {
            self.advance_local(memory);
        }
        Ok(())
    }

    /// Handles a reply of another process or of this one.
    fn match_reply(&mut self, memory: &mut dyn UserMemory, answer: RmaRequest<'_>) -> Result<(), MalformedPacket> {
        let (said, name) = ReplyKind::from_argument(answer.argument);
        let (index, awaited) = self.slot(name, answer.source)?;
        let bytes = answer.bytes.first_chunk::<REPLY_BYTES>().ok_or(MalformedPacket)?;
        let slot = &mut self.origin_requests.slots[index];
        match (said, awaited) {
            (ReplyKind::Rejected, ReplyPurpose::Data { .. }) if slot.come == 0 && !slot.is_to_ask => {
                slot.is_to_ask = true;
                self.origin_requests.to_ask += 1;
                return Ok(());
            }
            (ReplyKind::Rejected, ReplyPurpose::Result(_)) => {
                self.free(index, true);
                return Ok(());
            }
            (ReplyKind::Result, ReplyPurpose::Result(len) | ReplyPurpose::Data { len, .. }) => {
                // A get that is out of bounds receives no other reply.
                let len = (len as usize).min(REPLY_BYTES);
                memory.write(slot.span, slot.offset, &bytes[..len]);
            }
            (ReplyKind::Result, ReplyPurpose::Done) => {
                let (window, fault) = (slot.window, bytes[0] != 0);
                if let Some(window) = self.window(window) {
                    window.is_faulty |= fault;
                }
            }
            _ => return Err(MalformedPacket),
        }
        self.free(index, false);
        Ok(())
    }

    /// Handles a data packet of a get.
    pub(super) fn handle_data(
        &mut self,
        memory: &mut dyn UserMemory,
        source: Rank,
        place: TargetOffset,
        bytes: &[u8],
    ) -> Result<(), MalformedPacket> {
        let name = u16::try_from(place.target).map_err(|_| MalformedPacket)?;
        let (index, awaited) = self.slot(name, source)?;
        let (ReplyPurpose::Data { len, .. } | ReplyPurpose::Result(len)) = awaited else {
            return Err(MalformedPacket);
        };
        let slot = &mut self.origin_requests.slots[index];
        // The channel keeps the order.
        let more = u32::try_from(bytes.len()).map_err(|_| MalformedPacket)?;
        if place.offset != slot.come || more > len - slot.come {
            return Err(MalformedPacket);
        }
        memory.write(slot.span, slot.offset + slot.come as usize, bytes);
        slot.come += more;
        if slot.come == len {
            self.free(index, false);
        }
        Ok(())
    }
}

/// Writes the request of a get; returns its length.
pub fn get_request(out: &mut [u8], window: Context, place: u64, len: u32) -> usize {
    RequestHead::new(PacketKind::Get, window).emit(out);
    out[HEAD_BYTES..][..8].copy_from_slice(&place.to_le_bytes());
    out[HEAD_BYTES + 8..][..4].copy_from_slice(&len.to_le_bytes());
    HEAD_BYTES + 12
}
