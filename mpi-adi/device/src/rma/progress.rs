//! Progress of one-sided communication: handles received packets and emits pending ones.
#![forbid(unsafe_code)]

use msg_layer::handler::{MalformedPacket, ReplyPacket};
use msg_layer::header::{SHORT_BYTES, TargetOffset};

use crate::envelope::Rank;
use crate::extensions::OutgoingPacket;
use crate::memory::UserMemory;
use crate::rma::epoch_steps::{EpochAction, PendingHead, RmaTxResult};
use crate::rma::one_sided::OneSided;
use crate::rma::rules::EpochRules;
use crate::rma::wire::{PacketKind, RmaRequest};

impl<R: EpochRules> OneSided<R> {
    /// Emits the next packet: first the program's packets, then its requests, then replies to other processes. Work
    /// that epochs and deferred operations prepare for earlier stages is sent in the same step, so a step without a
    /// packet means that nothing remains.
    pub(super) fn next_packet(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<OutgoingPacket> {
        let mut leaving = None;
        while leaving.is_none() && self.has_pending_tx() {
            leaving = self
                .outgoing
                .next_packet(out)
                .or_else(|| self.origin_requests.next_requested(out))
                .or_else(|| self.target_replies.next_fetched(out))
                .or_else(|| self.target_replies.next_from_cursors(memory, out))
                .or_else(|| self.next_grant(out))
                .or_else(|| self.next_epoch_packet(memory, out));
        }
        leaving
    }

    /// Handles a request of another process, and advances local state that it enables.
    pub(super) fn dispatch_request(
        &mut self,
        memory: &mut dyn UserMemory,
        request: RmaRequest<'_>,
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let answer = self.serve(memory, request)?;
        if self.is_due {
            self.advance_local(memory);
        }
        Ok(answer)
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

    /// Emits the next packet of epochs and deferred operations. Local work that it enables is done immediately, so no
    /// work remains for a progress step that moves no packet.
    fn next_epoch_packet(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<OutgoingPacket> {
        while core::mem::take(&mut self.is_due) {
            for at in 0..self.windows.len() {
                if let Some(leaving) = self.next_of_window(at, memory, out, false) {
                    self.advance_local(memory);
                    self.is_due = true;
                    return Some(leaving);
                }
            }
        }
        None
    }

    /// Advances everything that requires no packet to another process.
    pub fn advance_local(&mut self, memory: &mut dyn UserMemory) {
        let was_due = self.is_due;
        let mut out = [0; SHORT_BYTES];
        self.is_due = true;
        while core::mem::take(&mut self.is_due) {
            for at in 0..self.windows.len() {
                let _ = self.next_of_window(at, memory, &mut out, true);
            }
        }
        // Packets to other processes may be pending.
        self.is_due = was_due;
    }

    /// Advances a window up to one packet to another process; with `only_here`, without packets.
    fn next_of_window(
        &mut self,
        at: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> Option<OutgoingPacket> {
        let mut moved = true;
        while core::mem::take(&mut moved) {
            self.advance_epochs(at);
            if !only_here && let Some(child) = self.windows[at].tree.next_to_release() {
                let due = PendingHead::one_way(child, PacketKind::Released);
                if let RmaTxResult::Packet(leaving) = self.send_head(at, due, memory, out) {
                    return Some(leaving);
                }
            }
            let mut place = 0;
            while place < self.windows[at].epochs.len() {
                let sent = match self.next_step(at, place) {
                    EpochAction::Send(due) if !only_here || due.target == self.here => {
                        let sent = self.send_head(at, due, memory, out);
                        if !matches!(sent, RmaTxResult::NoSpace) {
                            self.note_sent(at, place, due);
                        }
                        sent
                    }
                    _ => RmaTxResult::NoSpace,
                };
                match sent {
                    RmaTxResult::NoSpace => place += 1,
                    RmaTxResult::Local => (moved, self.has_moved) = (true, true),
                    RmaTxResult::Packet(leaving) => return Some(leaving),
                }
            }
            match self.replay(at, memory, out, only_here) {
                RmaTxResult::Packet(leaving) => return Some(leaving),
                RmaTxResult::Local => (moved, self.has_moved) = (true, true),
                RmaTxResult::NoSpace => {}
            }
        }
        None
    }
}

/// One-sided communication without a device around it, for models and tests.
#[doc(hidden)]
impl<R: EpochRules> OneSided<R> {
    /// Emits the next packet: returns its destination, argument and target, and its length in `out`.
    pub fn emit_packet(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<(Rank, u16, Option<TargetOffset>, usize)> {
        let leaving = self.next_packet(memory, out)?;
        Some((leaving.dest, leaving.argument, leaving.place, leaving.len))
    }

    /// Handles a request of `source`; returns the reply.
    pub fn handle_request(
        &mut self,
        memory: &mut dyn UserMemory,
        source: Rank,
        argument: u16,
        place: Option<TargetOffset>,
        bytes: &[u8],
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let request = RmaRequest {
            source,
            argument,
            place,
            bytes,
        };
        self.dispatch_request(memory, request)
    }

    /// Handles a reply of `source`.
    pub fn handle_reply(
        &mut self,
        memory: &mut dyn UserMemory,
        source: Rank,
        argument: u16,
        bytes: &[u8],
    ) -> Result<(), MalformedPacket> {
        let answer = RmaRequest {
            source,
            argument,
            place: None,
            bytes,
        };
        self.dispatch_reply(memory, answer)
    }

    /// Returns this process's rank.
    pub fn own_rank(&self) -> Rank {
        self.here
    }

    /// Returns whether anything is to be sent.
    pub fn is_busy(&self) -> bool {
        self.has_pending_tx()
    }
}
