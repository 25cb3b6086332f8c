//! What a receiver keeps of answers that are deferred.
#![forbid(unsafe_code)]

use crate::envelope::Rank;
use crate::wire::Fields;

/// An answer for which its sender does not wait: a source's messages that have been taken with their data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DeferredAck {
    pub(crate) source: Rank,
    /// The sender's name for the last of them.
    pub(crate) request: u32,
    /// How many there are: it and those offered directly before it.
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
