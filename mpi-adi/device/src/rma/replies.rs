//! Replies to an origin: their slots are allocated with the requests.
#![forbid(unsafe_code)]

use msg_layer::handler::{MalformedPacket, REPLY_BYTES};
use msg_layer::header::TargetOffset;

use crate::envelope::{Context, Rank};
use crate::memory::{Span, UserMemory};
use crate::rma::epochs::WindowSequence;
use crate::rma::one_sided::OneSided;
use crate::rma::origin_requests::{ReplyPurpose, ReplySlot};
use crate::rma::peers::PeerFlags;
use crate::rma::rules::EpochRules;
use crate::rma::wire::{ReplyKind, RmaRequest};

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
        let is_remote = target != self.here;
        let name = self.origin_requests.allocate(ReplySlot {
            awaited: Some(awaited),
            is_to_ask: matches!(awaited, ReplyPurpose::Data { .. }) && is_remote,
            window,
            target,
            span,
            offset,
            operation,
            ..ReplySlot::FREE
        })?;
        self.outgoing.is_held = false;
        // Only a flush reports whether it was in bounds of a window whose extent is unknown here.
        let has_place = matches!(awaited, ReplyPurpose::Data { .. } | ReplyPurpose::Result(_));
        if has_place
            && is_remote
            && let Some(window) = self.window(window)
            && window.exposure.is_dynamic
        {
            window.peers.set(target, PeerFlags::TOUCHED);
        }
        Some(name)
    }

    /// Returns whether replies of this window, from `target` if specified, are outstanding.
    pub fn awaits(&self, window: Context, target: Option<Rank>) -> bool {
        self.origin_requests.awaits(window, target)
    }

    /// Handles a reply of another process or of this one.
    pub(super) fn match_reply(
        &mut self,
        memory: &mut dyn UserMemory,
        answer: RmaRequest<'_>,
    ) -> Result<(), MalformedPacket> {
        let (said, name) = ReplyKind::from_argument(answer.argument);
        let requests = &mut self.origin_requests;
        let (index, awaited) = requests.slot(name, answer.source)?;
        let bytes = answer.bytes.first_chunk::<REPLY_BYTES>().ok_or(MalformedPacket)?;
        let is_refused = said == ReplyKind::Rejected;
        match awaited {
            ReplyPurpose::Data { .. } if is_refused => return requests.request_again(index),
            ReplyPurpose::Result(_) if is_refused => {}
            ReplyPurpose::Result(len) | ReplyPurpose::Data { len, .. } => {
                // A get that is out of bounds receives no other reply.
                let len = (len as usize).min(REPLY_BYTES);
                requests.write_result(memory, index, &bytes[..len]);
            }
            ReplyPurpose::Done if is_refused => return Err(MalformedPacket),
            ReplyPurpose::Done => {
                let window = requests.slots[index].window;
                if let Some(window) = self.window(window) {
                    window.is_faulty |= bytes[0] != 0;
                }
            }
        }
        self.free(index, is_refused);
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
        if let Some(index) = self.origin_requests.write_data(memory, source, place, bytes)? {
            self.free(index, false);
        }
        Ok(())
    }

    /// Frees the slot of an arrived reply.
    fn free(&mut self, index: usize, is_refused: bool) {
        let slot = &mut self.origin_requests.slots[index];
        let (operation, context) = (slot.operation, slot.window);
        let awaited = slot.awaited.take();
        if operation == 0 {
            self.origin_requests.is_refused |= is_refused;
        }
        let Some(at) = self.place(context) else {
            return;
        };
        let window = &mut self.windows[at];
        self.is_due |= !window.epochs.is_empty();
        if operation != 0
            && let Some(ReplyPurpose::Result(len)) = awaited
        {
            window.handle_deferred_reply(operation, if is_refused { 0 } else { len as usize });
            self.is_due = true;
        }
    }

    /// Returns and clears whether the last fetch of a long result was rejected and must be repeated.
    pub fn reset_rejected(&mut self) -> bool {
        core::mem::take(&mut self.origin_requests.is_refused)
    }
}
