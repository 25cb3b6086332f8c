//! The message whose data is leaving eagerly: one at a time.
#![forbid(unsafe_code)]

use msg_layer::Transfer;

use crate::names::Slot;

/// A message whose data leaves right behind its RTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stream {
    pub(crate) slot: Slot,
    /// Its target is the sender's own name for the message.
    pub(crate) transfer: Transfer,
}
