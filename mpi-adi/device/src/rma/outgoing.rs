//! Packets of an origin that the network has not accepted yet.
#![forbid(unsafe_code)]

use msg_layer::header::SHORT_BYTES;

use crate::envelope::Rank;
use crate::extensions::OutgoingPacket;

/// Size of the ring buffer of outgoing packets.
pub const RING_PACKETS: usize = 8;

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

/// Outgoing packets.
#[derive(Clone, Debug)]
pub(super) struct OutgoingPackets {
    pub(super) ring: heapless::Deque<RmaPacket, RING_PACKETS>,
    /// The last packet accepts more pieces.
    pub(super) is_held: bool,
}

impl OutgoingPackets {
    pub(super) fn new() -> OutgoingPackets {
        OutgoingPackets {
            ring: heapless::Deque::new(),
            is_held: false,
        }
    }

    /// Emits the next packet.
    pub(super) fn next_packet(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        let packet = self.ring.front()?;
        let len = packet.len as usize;
        out[..len].copy_from_slice(&packet.bytes[..len]);
        let leaving = OutgoingPacket {
            dest: packet.dest,
            argument: packet.argument,
            place: None,
            len,
        };
        // Already copied; the value is not used.
        let _ = self.ring.pop_front();
        self.is_held &= !self.ring.is_empty();
        Some(leaving)
    }
}
