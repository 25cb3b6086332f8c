//! Requests of both kinds, and the lists of a slot.
#![forbid(unsafe_code)]

use super::receive::ReceiveRequest;
use super::send::SendRequest;
use crate::envelope::MatchPattern;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A send.
    Send(SendRequest),
    /// A receive.
    Receive(ReceiveRequest),
}

impl Request {
    /// Returns the request's pattern: a send's destination, tag and context; a receive's matching criteria, or the
    /// envelope of its matched message.
    pub fn pattern(&self) -> MatchPattern {
        match self {
            Request::Send(send) => MatchPattern::new(Some(send.dest), Some(send.tag), send.context),
            Request::Receive(receive) => receive.pattern(),
        }
    }
}

/// Index of a slot's list links: its queue.
pub(crate) const QUEUE: usize = 0;
/// Hash chain: posted receives in one bucket of the table; messages to one destination with the same context and tag.
pub(crate) const KEYED: usize = 1;
/// Sends: messages whose RTS is to be sent.
pub(crate) const RTS_QUEUED: usize = 2;
/// Receives: those that no restart has listed yet.
pub(crate) const NEEDS_LISTING: usize = 2;
/// Error: no free slot. The caller grows the pool or reports that memory is exhausted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolFull;
