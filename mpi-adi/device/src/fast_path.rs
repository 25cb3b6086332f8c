//! The fast path: sends and receives that require no progress step. A send completes in its call; a receive completes
//! or is posted.
//!
//! ```text
//!   send_fast -------+-- to another process, short: buffered copy (bcopy) -----------> Complete
//!                    +-- self-send, its receive is posted: from buffer to buffer ----> Complete
//!                    +-- self-send, other: general self-send (send/self_send) -------> Complete, Started
//!                    +-- else -------------------------------------------------------> Unavailable: nothing has changed
//!   receive_fast ----+-- the first match is recorded with all data: frees record ----> Complete, without a request
//!                    +-- else: general receive --------------------------------------> Started
//! ```
//! The decisions are those of the general path (slow path): it searches the same queues in the same order, once, and
//! allocates and frees the same memory. The fast path omits the request of a blocking call.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::OutOfMemory;
use crate::envelope::MatchPattern;
use crate::ids::{BlockIndex, RequestId};
use crate::matching::Matching;
use crate::memory::region::RecordData;
use crate::memory::{Span, UserMemory};
use crate::protocol::ProtocolRules;
use crate::request::{MatchedMessage, PlainCompletion, RESERVED_SLOTS};
use crate::send::SendTo;
use crate::send::self_send::SelfSend;

/// Message to send.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage {
    /// Destination: an existing process, with a tag that is not negative.
    pub to: SendTo,
    /// Its bytes, below 4 GiB.
    pub span: Span,
}

/// Message to receive.
#[derive(Clone, Copy, Debug)]
pub struct IncomingMessage {
    /// Pattern of matching messages.
    pub pattern: MatchPattern,
    /// Receive buffer.
    pub span: Span,
}

/// Result of a send on the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastSend {
    /// Completed: the program may reuse its buffer.
    Complete,
    /// Completed once [all copies have been transmitted](Adi::are_copies_sent).
    Copied,
    /// Continues as this request.
    Started(RequestId),
    /// The fast path cannot handle it. Nothing has changed.
    Unavailable,
}

/// Result of a receive on the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastRecv {
    /// Completed with this message.
    Complete(PlainCompletion),
    /// Completed with a truncated message: the buffer contains only this part.
    Truncated(PlainCompletion),
    /// Continues as this request.
    Started(RequestId),
    /// The fast path cannot handle it, or no memory. Nothing has changed.
    Unavailable,
}

impl<R: ProtocolRules> Adi<R> {
    /// Sends the bytes of `span` for a blocking call, if that requires no request or no network. Copied messages are
    /// transmitted in later steps. Does not block. Process `to.dest` exists, the tag is not negative and the message is
    /// below 4 GiB: the bindings check their arguments.
    #[inline]
    pub fn send_fast<M: UserMemory + ?Sized>(&mut self, memory: &mut M, to: &SendTo, span: Span) -> FastSend {
        debug_assert!(to.dest.index() < self.size() && to.tag >= 0);
        let length = span.len() as u32;
        if to.dest != self.identity.rank {
            return if self.copy_for_call(memory, to, span) {
                FastSend::Complete
            } else {
                FastSend::Unavailable
            };
        }
        if !self.may_send_to_self(to.dest) {
            return FastSend::Unavailable;
        }
        match self.send_to_self(memory, to, span, length, RESERVED_SLOTS, true) {
            Ok(SelfSend::Complete) => FastSend::Complete,
            Ok(SelfSend::Started(id)) => FastSend::Started(id),
            Ok(SelfSend::NoRecord) | Err(_) => FastSend::Unavailable,
        }
    }

    /// Starts a receive as [`Adi::irecv`] does. Returns the request, and whether packets may be pending for it.
    #[inline]
    pub fn start_receive_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: &MatchPattern,
        span: Span,
    ) -> Result<(RequestId, bool), OutOfMemory> {
        self.reserve_for_recv(RESERVED_SLOTS)?;
        let found = self.matching.probe(&mut self.region, pattern);
        let id = self.start_recv_found(memory, pattern, span, found)?;
        // Otherwise it is posted, and no source waits for a restart.
        let may_send = found.is_some() || !self.peers.has_no_rejected();
        Ok((id, may_send))
    }

    /// Completes a blocking receive into `span` with a recorded message, or starts a receive. Does not block.
    #[inline]
    pub fn receive_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: &MatchPattern,
        span: Span,
    ) -> FastRecv {
        if self.reserve_for_recv(0).is_err() {
            return FastRecv::Unavailable;
        }
        let found = self.matching.probe(&mut self.region, pattern);
        if let Some(at) = found
            && let Some(received) = self.receive_recorded(memory, at, span)
        {
            return received;
        }
        match self.start_recv_found(memory, pattern, span, found) {
            Ok(id) => FastRecv::Started(id),
            Err(_) => FastRecv::Unavailable,
        }
    }

    /// Receives the message recorded at `at`, if its buffer contains all data.
    #[inline]
    fn receive_recorded<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        at: BlockIndex,
        span: Span,
    ) -> Option<FastRecv> {
        let record = self.region.record(at)?;
        let (envelope, length) = (record.envelope, record.length);
        if record.holding != (RecordData::Buffer { received: length }) {
            return None;
        }
        self.matching.unrecord(&mut self.region, at);
        let wanted = MatchedMessage { envelope, length }.wanted(span);
        memory.write(span, 0, self.region.read_buffer(at, wanted));
        self.stats.messages_received += 1;
        let freed = self.region.free_record(memory, at, &record);
        self.restart_for(freed);
        let whole = PlainCompletion {
            peer: envelope.source,
            tag: envelope.tag,
            bytes: wanted,
            context: envelope.context,
        };
        Some(if wanted >= length {
            FastRecv::Complete(whole)
        } else {
            FastRecv::Truncated(whole)
        })
    }
}
