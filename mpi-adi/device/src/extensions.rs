//! Extensions of the device that few programs use, linked on first use.
//!
//! Code that every program runs never refers to an extension before its first use, so an image without it pays neither
//! its code size nor its run time. An extension handles the packets, requests and replies, of its handler ID; only its
//! users receive them. It also reports pending packets, which are transmitted after those of messages.
#![forbid(unsafe_code)]

use msg_layer::header::{SHORT_BYTES, TargetOffset};
use msg_layer::{HandlerResult, ReceivedPacket, TrafficClass};

use crate::envelope::Rank;
use crate::ids::{RequestId, Slot};
use crate::memory::UserMemory;

/// The extensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExtensionId {
    /// Cancelled sends.
    Cancels,
    /// One-sided communication.
    OneSided,
}

const EXTENSIONS: usize = 2;
/// Bits of the extensions with packets to transmit now.
const NOW: u8 = (1 << EXTENSIONS) - 1;
const _: () = assert!(2 * EXTENSIONS <= u8::BITS as usize);
/// Handler ID of the first extension's packets.
const FIRST_HANDLER: u8 = 7;

impl ExtensionId {
    /// Returns the handler ID of the extension's packets.
    pub const fn handler(self) -> u8 {
        FIRST_HANDLER + self as u8
    }
}

/// Packet handler of an extension of device `A`. The memory is the program's, if [all accessible](UserMemory::full_access).
pub(super) type PacketHandler<A> =
    fn(&mut A, Option<&mut dyn UserMemory>, TrafficClass, &ReceivedPacket<'_>) -> HandlerResult;

/// Writes the extension's next packet.
pub(super) type PacketWriter<A> = fn(&mut A, Option<&mut dyn UserMemory>, &mut [u8; SHORT_BYTES]) -> TransmitStep;

/// Cancels the send in this slot, whose reply has arrived.
pub(super) type CancelSend<A> = fn(&mut A, Slot) -> bool;

/// Event that a cancelled, still posted receive may wait for.
#[derive(Clone, Copy, Debug)]
pub(super) enum CancelEvent {
    /// This source has replied to a restart.
    Answered(Rank),
    /// The program has given up this request.
    GivenUp(RequestId),
}

/// Completes the cancelled receives that have waited for this event.
pub(super) type EndCancelled<A> = fn(&mut A, CancelEvent);

/// Outgoing packet of an extension.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingPacket {
    pub(crate) dest: Rank,
    pub(crate) argument: u16,
    pub(crate) place: Option<TargetOffset>,
    pub(crate) len: usize,
}

/// Pending packets of an extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PendingPackets {
    /// None.
    None,
    /// A packet that is held for coalescing: transmitted with the next regular step, and before a call waits.
    Coalescing,
    /// A packet to transmit now.
    Now,
}

/// Result of an extension's turn to transmit.
#[derive(Clone, Copy, Debug)]
pub(super) enum TransmitStep {
    /// Nothing was pending.
    Idle,
    /// Work without a packet was done.
    Moved,
    /// A packet of this handler.
    Packet(u8, OutgoingPacket),
}

/// An extension in use.
#[derive(Clone, Debug)]
pub(super) struct ActiveExtension<A> {
    pub take: PacketHandler<A>,
    pub next: PacketWriter<A>,
}

/// The extensions in use, and their pending packets.
#[derive(Clone, Debug)]
pub(super) struct ActiveExtensions<A> {
    in_use: [Option<ActiveExtension<A>>; EXTENSIONS],
    /// One bit for each extension with packets to transmit. The next higher bits mark packets held for coalescing.
    due: u8,
    /// Set from the first cancelled send without a reply.
    take_back: Option<CancelSend<A>>,
    /// Set while cancelled receives are still posted.
    end_cancelled: Option<EndCancelled<A>>,
}

impl<A> ActiveExtensions<A> {
    /// Creates the set with no extension in use.
    pub const fn new() -> Self {
        ActiveExtensions {
            in_use: [const { None }; EXTENSIONS],
            due: 0,
            take_back: None,
            end_cancelled: None,
        }
    }

    /// Enables cancellation of sends on their replies.
    pub fn enable_cancel_send(&mut self, take_back: CancelSend<A>) {
        self.take_back = Some(take_back);
    }

    /// Returns the function that cancels a send on its reply.
    pub fn cancel_send(&self) -> Option<CancelSend<A>> {
        self.take_back
    }

    /// Sets the function that completes cancelled, still posted receives; `None`: there are none.
    pub fn set_end_cancelled(&mut self, end: Option<EndCancelled<A>>) {
        self.end_cancelled = end;
    }

    /// Returns the function that completes cancelled, still posted receives, if there are any.
    #[inline]
    pub fn end_cancelled(&self) -> Option<EndCancelled<A>> {
        self.end_cancelled
    }

    /// Enables an extension.
    pub fn enable(&mut self, name: ExtensionId, part: ActiveExtension<A>) {
        self.in_use[name as usize] = Some(part);
    }

    /// Updates the pending state of an extension.
    pub fn set_pending(&mut self, name: ExtensionId, due: PendingPackets) {
        let bit = 1 << name as u8;
        self.due &= !(bit | bit << EXTENSIONS);
        self.due |= match due {
            PendingPackets::None => 0,
            PendingPackets::Coalescing => bit << EXTENSIONS,
            PendingPackets::Now => bit,
        };
    }

    /// Releases the packets held for coalescing.
    #[inline]
    pub fn release(&mut self) {
        if self.due > NOW {
            self.due = self.due & NOW | self.due >> EXTENSIONS;
        }
    }

    /// Returns whether any extension has a packet to transmit now.
    #[inline]
    pub fn has_urgent(&self) -> bool {
        self.due & NOW != 0
    }

    /// Returns whether no extension has a pending packet, held ones included.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.due == 0
    }

    /// Returns the transmit function of an extension with a pending packet, held ones included.
    pub fn packet_writer(&self) -> Option<PacketWriter<A>> {
        let due = self.due | self.due >> EXTENSIONS;
        let part = self.in_use.get(due.trailing_zeros() as usize)?;
        part.as_ref().map(|part| part.next)
    }

    /// Returns the packet handler for this handler ID.
    pub fn packet_handler(&self, handler: u8) -> Option<PacketHandler<A>> {
        let place = handler.checked_sub(FIRST_HANDLER)?;
        let part = self.in_use.get(usize::from(place))?;
        part.as_ref().map(|part| part.take)
    }
}
