//! The eager message in transmission: one at a time.
#![forbid(unsafe_code)]

use msg_layer::MessageTransfer;

use crate::ids::Slot;

/// A message whose data is transmitted right behind its RTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EagerStream {
    pub(crate) slot: Slot,
    /// Its target is the sender's own ID of the message.
    pub(crate) transfer: MessageTransfer,
}
