//! The fast path: sends and receives that need no step of progress. A send completes within its call; a receive completes or is
//! posted.
//!
//! ```text
//!   send_fast -------+-- to another process, short: copied (bcopy) ------------------------> Complete
//!                    +-- to itself, its receive is posted: from buffer to buffer ----------> Complete
//!                    +-- to itself: as any message to oneself (send/oneself) --------------> Complete, Started
//!                    +-- else -------------------------------------------------------------> Not, and nothing has changed
//!   receive_fast ----+-- the first message that matches is here, whole: its record goes ---> Complete, without a request
//!                    +-- else: as any receive ---------------------------------------------> Started
//! ```
//! The decisions are those of the general path: the same queues are asked in the same order, once, and the same memory is
//! allocated and freed. The fast path omits the request of a call that blocks.
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

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Where it goes. There is such a process, the tag is not negative.
    pub to: SendTo,
    /// Its bytes, below 4 GiB.
    pub span: Span,
}

/// What is to be received.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Which messages.
    pub pattern: Pattern,
    /// Where it goes.
    pub span: Span,
}

/// What has become of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It is over for the program, which may use its buffer again.
    Complete,
    /// So it is once [all copies have left](Adi::have_copies_left).
    Copied,
    /// It goes on as this request.
    Started(RequestId),
    /// It takes more than can be had at once. Nothing has changed.
    Not,
}

/// What has become of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// It is over, with this message.
    Complete(Whole),
    /// It is over, and had room for no more of the message than this.
    Truncated(Whole),
    /// It goes on as this request.
    Started(RequestId),
    /// There is no memory for it, or no such way. Nothing has changed.
    Not,
}

impl<R: Rules> Adi<R> {
    /// Sends the bytes of `span` for a call that blocks, if that takes no request or no network. What has been copied leaves
    /// in later steps. Does not block.
    /// There is a process `to.dest`, the tag is not negative and the message is below 4 GiB: the bindings check their
    /// arguments.
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
            return match self.copy_for_call(memory, to, span) {
                true => Sent::Complete,
                false => Sent::Not,
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

    /// [`Adi::irecv`]; beside the request, whether the device may have something to send for it.
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
        // Else it is posted, and no source waits to hear of it.
        let may_send = found.is_some() || !self.peers.are_all_clear();
        Ok((id, may_send))
    }

    /// Receives into `span` for a call that blocks: takes a message that is here, or starts a receive. Does not block.
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

    /// Takes the message recorded at `at`, if all of it is in its buffer.
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
        Some(match wanted < length {
            false => Received::Complete(whole),
            true => Received::Truncated(whole),
        })
    }
}
