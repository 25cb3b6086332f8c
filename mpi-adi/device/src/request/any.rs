//! A request of either kind, and the lists that its slot stands in.
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
    /// Whom and what it is for: a send's destination, tag and context; what a receive asks for, or from when it
    /// has matched what it has.
    pub fn pattern(&self) -> Pattern {
        match self {
            Request::Send(send) => Pattern::new(Some(send.dest), Some(send.tag), send.context),
            Request::Receive(receive) => receive.pattern(),
        }
    }
}

/// Which of a slot's lists a link belongs to: the queue it stands in.
pub(crate) const QUEUE: usize = 0;
/// What is found by its key: posted receives in one bucket of the table; messages to one destination with the
/// same context and tag.
pub(crate) const KEYED: usize = 1;
/// Sends: messages to be offered.
pub(crate) const OFFERS: usize = 2;
/// Receives: those that no restart has named yet.
pub(crate) const TO_NAME: usize = 2;
/// The pool has no free slot: grow it, or tell the program that its memory is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;
