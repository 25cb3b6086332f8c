//! State of delayed acknowledgements at a receiver.
#![forbid(unsafe_code)]

use crate::envelope::Rank;
use crate::wire::ReplyFields;

/// A delayed acknowledgement for messages of one source received with their data; the sender does not wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DelayedAck {
    pub(crate) source: Rank,
    /// The sender's ID of the last message.
    pub(crate) request: u32,
    /// Number of messages: the last one and the RTSs directly before it.
    pub(crate) count: u8,
}

impl DelayedAck {
    pub(crate) fn fields(&self) -> ReplyFields {
        ReplyFields {
            request: self.request,
            flags: ReplyFields::COMPLETE,
            before: self.count - 1,
            ..ReplyFields::default()
        }
    }
}
