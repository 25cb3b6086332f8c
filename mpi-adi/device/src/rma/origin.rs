//! Requests of an origin, to other processes and to itself.
#![forbid(unsafe_code)]

use msg_layer::handler::MalformedPacket;

use crate::envelope::{Context, Rank};
use crate::memory::UserMemory;
use crate::rma::one_sided::OneSided;
use crate::rma::origin_requests::{ReplyPurpose, TargetRequest};
use crate::rma::outgoing::RmaPacket;
use crate::rma::peers::PeerFlags;
use crate::rma::rules::EpochRules;
use crate::rma::wire::{PacketKind, RequestHead, RmaRequest};

impl<R: EpochRules> OneSided<R> {
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
            window.peers.set(target, PeerFlags::TOUCHED);
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
            && window.peers.has(here, PeerFlags::FAULT)
        {
            window.peers.clear(here, PeerFlags::FAULT);
            window.is_faulty = true;
        }
        Ok(())
    }
}
