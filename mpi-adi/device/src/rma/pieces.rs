//! Data to a target without a reply: the pieces of puts and accumulates.
//!
//! A small operation does not fill a packet. Its packet is held for coalescing with the next operations of the same
//! kind on the same target: a stream of puts of 8 bytes requires one packet for each 13 of them. A packet is
//! transmitted
//!
//! * when it has no space for a piece as large as the last,
//! * with the next regular progress step: in a call that waits or polls, or for a received packet,
//! * before any other packet about windows: epochs, flushes and fetches are sent behind it.
//!
//! The program cannot observe this: an operation is complete at its target only after a synchronization (MPI-3.1
//! section 11.3), which transmits the packet first. Its buffer can be reused immediately.
#![forbid(unsafe_code)]

use msg_layer::header::SHORT_BYTES;

use crate::envelope::Rank;
use crate::extensions::PendingPackets;
use crate::memory::{Span, UserMemory};
use crate::rma::one_sided::OneSided;
use crate::rma::outgoing::RmaPacket;
use crate::rma::peers::PeerFlags;
use crate::rma::rules::EpochRules;
use crate::rma::wire::{HEAD_BYTES, MAX_BYTES, PIECE_BYTES, RequestHead, emit_piece};

/// Data on its way to a target.
#[derive(Clone, Copy, Debug)]
pub struct DataPieces {
    /// The target.
    pub target: Rank,
    /// Head of the packets: that of a put or an accumulate.
    pub head: RequestHead,
    /// Bytes that must not be split, from 1 to [`MAX_BYTES`].
    pub unit: usize,
    /// The source buffer.
    pub from: Span,
    /// Offset in it.
    pub offset: usize,
    /// Length in bytes: whole units.
    pub len: usize,
    /// Displacement of the first byte in the window.
    pub place: u64,
}

impl DataPieces {
    /// Advances past the first `bytes`, which have been copied.
    fn advance(&mut self, bytes: usize) {
        self.place += bytes as u64;
        self.offset += bytes;
        self.len -= bytes;
    }

    /// Returns the bytes of the next piece in a packet that already contains `len`; 0: none fits.
    fn next_bytes(&self, len: usize) -> usize {
        let room = (SHORT_BYTES - len).saturating_sub(PIECE_BYTES);
        let most = self.len.min(room).min(MAX_BYTES);
        most - most % self.unit
    }

    /// Appends the next piece to a packet; returns its bytes, 0 when the packet is full.
    fn add_to(&mut self, packet: &mut RmaPacket, memory: &dyn UserMemory) -> usize {
        let len = usize::from(packet.len);
        let bytes = self.next_bytes(len);
        if bytes > 0 {
            let out = emit_piece(&mut packet.bytes[len..], self.place, bytes);
            memory.read(self.from, self.offset, out);
            packet.len += (PIECE_BYTES + bytes) as u8;
            self.advance(bytes);
        }
        bytes
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Copies the pieces into packets: the held packet of the same kind first, then new ones. Returns false when the
    /// ring buffer fills up: the caller retries later. Applies pieces for this process itself immediately.
    pub fn push_pieces(&mut self, memory: &mut dyn UserMemory, pieces: &mut DataPieces) -> bool {
        let mut head = [0; HEAD_BYTES];
        pieces.head.emit(&mut head);
        if pieces.target == self.here {
            self.act_on_pieces(memory, pieces, &head);
            return true;
        }
        if self.outgoing.is_held
            && let Some(last) = self.outgoing.ring.back_mut()
            && (last.dest == pieces.target && last.bytes.starts_with(&head))
        {
            let added = pieces.add_to(last, memory);
            // Held only if it has space for a piece of the same size.
            self.outgoing.is_held = added > 0 && usize::from(last.len) + PIECE_BYTES + added <= SHORT_BYTES;
        } else {
            self.outgoing.is_held = false;
        }
        while pieces.len > 0 {
            let mut packet = RmaPacket::new(pieces.target, 0, &head);
            if self.outgoing.ring.is_full() {
                return false;
            }
            let added = pieces.add_to(&mut packet, memory);
            self.outgoing.is_held = usize::from(packet.len) + PIECE_BYTES + added <= SHORT_BYTES;
            // Cannot fail: the ring buffer is not full.
            let _ = self.outgoing.ring.push_back(packet);
        }
        if let Some(window) = self.window(pieces.head.window) {
            window.peers.set(pieces.target, PeerFlags::TOUCHED);
        }
        true
    }

    /// Applies pieces for this process itself.
    fn act_on_pieces(&mut self, memory: &mut dyn UserMemory, pieces: &mut DataPieces, head: &[u8; HEAD_BYTES]) {
        while pieces.len > 0 {
            let mut packet = RmaPacket::new(pieces.target, 0, head);
            pieces.add_to(&mut packet, memory);
            // Cannot fail: the packet has been checked.
            let _ = self.act_on_self(memory, 0, &packet.bytes[..usize::from(packet.len)]);
        }
    }

    /// Returns the state of pending packets.
    #[inline]
    pub(crate) fn pending_packets(&self) -> PendingPackets {
        if !self.has_pending_tx() {
            PendingPackets::None
        } else if self.outgoing.is_held && self.outgoing.ring.len() == 1 && !self.has_more_than_packets() {
            PendingPackets::Coalescing
        } else {
            PendingPackets::Now
        }
    }
}
