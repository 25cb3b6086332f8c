//! The fast path: sends and receives that require no progress step. A send completes in its call; a receive completes
//! or is posted.
//!
//! ```text
//!   send_fast -------+-- to another process, short: buffered copy (bcopy) -----------> Complete
//!                    +-- self-send, its receive is posted: from buffer to buffer ----> Complete
//!                    +-- self-send, other: general self-send (send/oneself) ---------> Complete, Started
//!                    +-- else -------------------------------------------------------> Not: nothing has changed
//!   receive_fast ----+-- the first match is recorded with all data: frees record ----> Complete, without a request
//!                    +-- else: general receive --------------------------------------> Started
//! ```
//! The decisions are those of the general path (slow path): it searches the same queues in the same order, once, and
//! allocates and frees the same memory. The fast path omits the request of a blocking call.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::NoMemory;
use crate::envelope::Pattern;
use crate::matching::Matching;
use crate::memory::region::Holding;
use crate::memory::{Span, UserMemory};
use crate::names::{BlockIndex, RequestId};
use crate::protocol::Rules;
use crate::request::{KEPT_SLOTS, Matched, Whole};
use crate::send::SendTo;
use crate::send::oneself::Here;

/// Message to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Destination: an existing process, with a tag that is not negative.
    pub to: SendTo,
    /// Its bytes, below 4 GiB.
    pub span: Span,
}

/// Message to receive.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Pattern of matching messages.
    pub pattern: Pattern,
    /// Receive buffer.
    pub span: Span,
}

/// Result of a send on the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Completed: the program may reuse its buffer.
    Complete,
    /// Completed once [all copies have been transmitted](Adi::have_copies_left).
    Copied,
    /// Continues as this request.
    Started(RequestId),
    /// The fast path cannot handle it. Nothing has changed.
    Not,
}

/// Result of a receive on the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// Completed with this message.
    Complete(Whole),
    /// Completed with a truncated message: the buffer contains only this part.
    Truncated(Whole),
    /// Continues as this request.
    Started(RequestId),
    /// The fast path cannot handle it, or no memory. Nothing has changed.
    Not,
}

impl<R: Rules> Adi<R> {
    /// Sends the bytes of `span` for a blocking call, if that requires no request or no network. Copied messages are
    /// transmitted in later steps. Does not block. Process `to.dest` exists, the tag is not negative and the message is
    /// below 4 GiB: the bindings check their arguments.
    #[inline]
    pub fn send_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        to: &SendTo,
        span: Span,
    ) -> Sent {
        debug_assert!(to.dest.index() < self.size() && to.tag >= 0);
        let length = span.len() as u32;
        if to.dest != self.identity.rank {
            return if self.copy_for_call(memory, to, span) {
                Sent::Complete
            } else {
                Sent::Not
            };
        }
        if !self.may_match_here(to.dest) {
            return Sent::Not;
        }
        match self.send_here(memory, to, (span, length), KEPT_SLOTS, true) {
            Ok(Here::Complete) => Sent::Complete,
            Ok(Here::Started(id)) => Sent::Started(id),
            Ok(Here::NoRecord) | Err(_) => Sent::Not,
        }
    }

    /// Starts a receive as [`Adi::irecv`] does. Returns the request, and whether packets may be pending for it.
    #[inline]
    pub fn start_receive_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: &Pattern,
        span: Span,
    ) -> Result<(RequestId, bool), NoMemory> {
        self.reserve_for_recv(KEPT_SLOTS)?;
        let found = self.matching.probe(&mut self.region, pattern);
        let id = self.start_recv_of(memory, pattern, span, found)?;
        // Otherwise it is posted, and no source waits for a restart.
        let may_send = found.is_some() || !self.peers.are_all_clear();
        Ok((id, may_send))
    }

    /// Completes a blocking receive into `span` with a recorded message, or starts a receive. Does not block.
    #[inline]
    pub fn receive_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: &Pattern,
        span: Span,
    ) -> Received {
        if self.reserve_for_recv(0).is_err() {
            return Received::Not;
        }
        let found = self.matching.probe(&mut self.region, pattern);
        if let Some(at) = found
            && let Some(received) = self.take_whole(memory, at, span)
        {
            return received;
        }
        match self.start_recv_of(memory, pattern, span, found) {
            Ok(id) => Received::Started(id),
            Err(_) => Received::Not,
        }
    }

    /// Receives the message recorded at `at`, if its buffer contains all data.
    #[inline]
    fn take_whole<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        at: BlockIndex,
        span: Span,
    ) -> Option<Received> {
        let record = self.region.record(at)?;
        let (envelope, length) = (record.envelope, record.length);
        if record.holding != (Holding::Buffer { received: length }) {
            return None;
        }
        self.matching.unrecord(&mut self.region, at);
        let wanted = Matched { envelope, length }.wanted(span);
        memory.write(span, 0, self.region.read_buffer(at, wanted));
        self.stats.messages_received += 1;
        let freed = self.region.free_record(memory, at, &record);
        self.restart_for(freed);
        let whole = Whole {
            peer: envelope.source,
            tag: envelope.tag,
            bytes: wanted,
            context: envelope.context,
        };
        Some(if wanted >= length {
            Received::Complete(whole)
        } else {
            Received::Truncated(whole)
        })
    }
}
