//! State of delayed acknowledgements at a receiver.
#![forbid(unsafe_code)]

use crate::envelope::Rank;
use crate::wire::Fields;

/// A delayed acknowledgement for messages of one source received with their data; the sender does not wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DeferredAck {
    pub(crate) source: Rank,
    /// The sender's ID of the last message.
    pub(crate) request: u32,
    /// Number of messages: the last one and the RTSs directly before it.
    pub(crate) count: u8,
}

impl DeferredAck {
    pub(crate) fn fields(&self) -> Fields {
        Fields {
            request: self.request,
            flags: Fields::COMPLETE,
            before: self.count - 1,
            ..Fields::default()
        }
    }
}
