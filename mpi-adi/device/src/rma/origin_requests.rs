//! Requests of this process that targets reply to: a slot for each outstanding reply.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::handler::MalformedPacket;
use msg_layer::header::{SHORT_BYTES, TargetOffset};

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::epochs::WindowSequence;
use crate::rma::wire::get_request;

/// Maximum number of outstanding replies at an origin; further calls wait.
pub const SLOTS: usize = 64;

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
    pub(super) awaited: Option<ReplyPurpose>,
    pub(super) generation: u8,
    pub(super) is_to_ask: bool,
    pub(super) window: Context,
    pub(super) target: Rank,
    /// The result buffer, and the offset in it.
    pub(super) span: Span,
    pub(super) offset: usize,
    /// Bytes of it that have arrived.
    pub(super) come: u32,
    /// Sequence number among awaited replies.
    pub(super) number: u64,
    /// The deferred operation that it belongs to, or 0.
    pub(super) operation: WindowSequence,
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

    fn is_in_use(&self) -> bool {
        self.awaited.is_some()
    }
}

/// Requests of this process that targets reply to.
#[derive(Clone, Debug)]
pub(super) struct OriginRequests {
    pub(super) slots: [ReplySlot; SLOTS],
    /// Slots whose request is still to be sent.
    pub(super) to_ask: u32,
    /// Replies awaited so far.
    pub(super) asked: u64,
    /// The last fetch of a long result was rejected.
    pub(super) is_refused: bool,
}

impl OriginRequests {
    pub(super) fn new() -> OriginRequests {
        OriginRequests {
            slots: [ReplySlot::FREE; SLOTS],
            to_ask: 0,
            asked: 0,
            is_refused: false,
        }
    }

    /// Allocates a slot for the reply to a request; returns its ID. `None`: no free slot.
    pub(super) fn allocate(&mut self, request: ReplySlot) -> Option<u16> {
        let index = self.slots.iter().position(|slot| !slot.is_in_use())?;
        let slot = &mut self.slots[index];
        *slot = ReplySlot {
            generation: slot.generation.wrapping_add(1),
            number: self.asked,
            ..request
        };
        self.asked += 1;
        self.to_ask += u32::from(request.is_to_ask);
        Some(self.name(index))
    }

    pub(super) fn used_slots(&self) -> impl Iterator<Item = &ReplySlot> {
        self.slots.iter().filter(|slot| slot.is_in_use())
    }

    /// Requests a rejected get again.
    pub(super) fn request_again(&mut self, index: usize) -> Result<(), MalformedPacket> {
        let slot = &mut self.slots[index];
        if slot.come > 0 || slot.is_to_ask {
            return Err(MalformedPacket);
        }
        slot.is_to_ask = true;
        self.to_ask += 1;
        Ok(())
    }

    /// Writes the result of the request at `index`.
    pub(super) fn write_result(&self, memory: &mut dyn UserMemory, index: usize, bytes: &[u8]) {
        let slot = &self.slots[index];
        memory.write(slot.span, slot.offset, bytes);
    }

    /// Writes the data of a get; returns its slot when it is complete.
    pub(super) fn write_data(
        &mut self,
        memory: &mut dyn UserMemory,
        source: Rank,
        place: TargetOffset,
        bytes: &[u8],
    ) -> Result<Option<usize>, MalformedPacket> {
        let name = u16::try_from(place.target).map_err(|_| MalformedPacket)?;
        let (index, awaited) = self.slot(name, source)?;
        let (ReplyPurpose::Data { len, .. } | ReplyPurpose::Result(len)) = awaited else {
            return Err(MalformedPacket);
        };
        let slot = &mut self.slots[index];
        // The channel keeps the order.
        let more = u32::try_from(bytes.len()).map_err(|_| MalformedPacket)?;
        if place.offset != slot.come || more > len - slot.come {
            return Err(MalformedPacket);
        }
        memory.write(slot.span, slot.offset + slot.come as usize, bytes);
        slot.come += more;
        Ok((slot.come == len).then_some(index))
    }

    fn name(&self, index: usize) -> u16 {
        u16::from(self.slots[index].generation) << INDEX_BITS | index as u16
    }

    fn index_of(name: u16) -> usize {
        (name & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// Returns the slot with this ID, which waits for a reply of `target`.
    pub(super) fn slot(&self, name: u16, target: Rank) -> Result<(usize, ReplyPurpose), MalformedPacket> {
        let index = Self::index_of(name);
        let slot = &self.slots[index];
        match slot.awaited {
            Some(awaited) if self.name(index) == name && slot.target == target => Ok((index, awaited)),
            _ => Err(MalformedPacket),
        }
    }

    /// Returns whether replies of this window, from `target` if specified, are outstanding.
    pub(super) fn awaits(&self, window: Context, target: Option<Rank>) -> bool {
        self.slots.iter().any(|slot| {
            slot.awaited.is_some() && slot.window == window && target.is_none_or(|target| slot.target == target)
        })
    }

    /// Returns whether replies of this window below `number`, from `target` if specified, are outstanding.
    pub(super) fn awaits_before(&self, number: u64, window: Context, target: Option<Rank>) -> bool {
        self.slots.iter().any(|slot| {
            slot.awaited.is_some()
                && slot.number < number
                && slot.window == window
                && target.is_none_or(|target| slot.target == target)
        })
    }

    /// Returns whether replies for this deferred operation are outstanding.
    pub(super) fn awaits_for(&self, window: Context, operation: WindowSequence) -> bool {
        let is_for = |slot: &ReplySlot| slot.awaited.is_some() && slot.window == window && slot.operation == operation;
        self.slots.iter().any(is_for)
    }

    /// Emits the request of a get that has not been sent, or was rejected.
    pub(super) fn next_requested(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        if self.to_ask == 0 {
            return None;
        }
        let index = self.slots.iter().position(|slot| slot.is_to_ask)?;
        self.request(index, out)
    }

    /// Emits the request of the get with this ID, which has not been sent.
    pub(super) fn request_now(&mut self, name: u16, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        self.request(Self::index_of(name), out)
    }

    fn request(&mut self, index: usize, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        self.to_ask -= 1;
        let name = self.name(index);
        let slot = &mut self.slots[index];
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
}
