//! Requests of both kinds, and the lists of a slot.
#![forbid(unsafe_code)]

use super::receive::Receive;
use super::send::Send;
use crate::envelope::Pattern;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// A send.
    Send(Send),
    /// A receive.
    Receive(Receive),
}

impl Request {
    /// Returns the request's pattern: a send's destination, tag and context; a receive's matching criteria, or the
    /// envelope of its matched message.
    pub fn pattern(&self) -> Pattern {
        match self {
            Request::Send(send) => Pattern::new(Some(send.dest), Some(send.tag), send.context),
            Request::Receive(receive) => receive.pattern(),
        }
    }
}

/// Index of a slot's list links: its queue.
pub(crate) const QUEUE: usize = 0;
/// Hash chain: posted receives in one bucket of the table; messages to one destination with the same context and tag.
pub(crate) const KEYED: usize = 1;
/// Sends: messages whose RTS is to be sent.
pub(crate) const OFFERS: usize = 2;
/// Receives: those that no restart has listed yet.
pub(crate) const TO_NAME: usize = 2;
/// Error: no free slot. The caller grows the pool or reports that memory is exhausted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;
