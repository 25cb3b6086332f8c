//! Bytes that go to a target without an answer: those of puts and accumulates.
//!
//! An operation of few bytes does not fill a packet. Its packet is held, and takes the bytes of the next operations of the
//! same kind on the same target: a stream of puts of 8 bytes needs one packet for each 13 of them. A packet leaves
//!
//! * when it has no room for as much as it got last,
//! * with the next step of progress that is made anyway: in a call that waits or looks, or for a packet that has come,
//! * before whatever else its process has to say about windows: epochs, flushes and fetches come behind it.
//!
//! The program sees none of this: an operation is complete at its target after a synchronization only (MPI-3.1 section
//! 11.3), and that sends the packet first. Its buffer is free at once, as the bytes have been copied.
#![forbid(unsafe_code)]

use msg_layer::header::SHORT_BYTES;

use crate::envelope::Rank;
use crate::memory::{Span, UserMemory};
use crate::parts::Due;
use crate::rma::OneSided;
use crate::rma::epochs::Rules;
use crate::rma::origin::Packet;
use crate::rma::wire::{HEAD_BYTES, Head, MOST_BYTES, PIECE_BYTES, emit_piece};

/// Bytes on their way to a target.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// The target.
    pub target: Rank,
    /// Head of their packets: that of a put or an accumulate.
    pub head: Head,
    /// Bytes that stay together, at least 1 and at most [`MOST_BYTES`].
    pub unit: usize,
    /// Where they come from.
    pub from: Span,
    /// Where in it they begin.
    pub offset: usize,
    /// How many they are: whole units.
    pub len: usize,
    /// Where in the window the first of them goes.
    pub place: u64,
}

impl Pieces {
    /// The first `bytes` are on their way.
    fn advance(&mut self, bytes: usize) {
        self.place += bytes as u64;
        self.offset += bytes;
        self.len -= bytes;
    }

    /// Bytes of the next piece, in a packet that has `len` already; 0: none fits.
    fn next_bytes(&self, len: usize) -> usize {
        let room = (SHORT_BYTES - len).saturating_sub(PIECE_BYTES);
        let most = self.len.min(room).min(MOST_BYTES);
        most - most % self.unit
    }

    /// Adds the next piece to a packet; its bytes. 0: it has no room.
    fn add_to(&mut self, packet: &mut Packet, memory: &dyn UserMemory) -> usize {
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

impl<R: Rules> OneSided<R> {
    /// Puts the pieces into packets: the last one if it is held for such, and more. False: there is no room for what is left
    /// of them, try again later. Of this process itself they are done at once.
    pub fn push_pieces(&mut self, memory: &mut dyn UserMemory, pieces: &mut Pieces) -> bool {
        let mut head = [0; HEAD_BYTES];
        pieces.head.emit(&mut head);
        if pieces.target == self.here {
            self.act_on_pieces(memory, pieces, &head);
            return true;
        }
        if self.outbox.is_held
            && let Some(last) = self.outbox.ring.back_mut()
            && (last.dest == pieces.target && last.bytes.starts_with(&head))
        {
            let added = pieces.add_to(last, memory);
            // It takes as much once more, or leaves.
            self.outbox.is_held =
                added > 0 && usize::from(last.len) + PIECE_BYTES + added <= SHORT_BYTES;
        } else {
            self.outbox.is_held = false;
        }
        while pieces.len > 0 {
            let mut packet = Packet::new(pieces.target, 0, &head);
            if self.outbox.ring.is_full() {
                return false;
            }
            let added = pieces.add_to(&mut packet, memory);
            self.outbox.is_held = usize::from(packet.len) + PIECE_BYTES + added <= SHORT_BYTES;
            // There is room for it.
            let _ = self.outbox.ring.push_back(packet);
        }
        if let Some(window) = self.window(pieces.head.window) {
            window.touch(pieces.target);
        }
        true
    }

    /// Does what the pieces are for at this process.
    fn act_on_pieces(
        &mut self,
        memory: &mut dyn UserMemory,
        pieces: &mut Pieces,
        head: &[u8; HEAD_BYTES],
    ) {
        while pieces.len > 0 {
            let mut packet = Packet::new(pieces.target, 0, head);
            pieces.add_to(&mut packet, memory);
            // It has been checked what it says.
            let _ = self.act_here(memory, 0, &packet.bytes[..usize::from(packet.len)]);
        }
    }

    /// Whether something is to leave.
    #[inline]
    pub(crate) fn due(&self) -> Due {
        if !self.has_to_send() {
            Due::Nothing
        } else if self.outbox.is_held
            && self.outbox.ring.len() == 1
            && !self.has_more_than_packets()
        {
            Due::Held
        } else {
            Due::Now
        }
    }
}
