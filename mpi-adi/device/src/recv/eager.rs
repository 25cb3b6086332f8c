//! State of an incoming eager message at its receiver.
#![forbid(unsafe_code)]

use crate::envelope::Rank;

/// A message whose eager data is being received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct EagerReceive {
    pub(super) source: Rank,
    /// The sender's ID of the message.
    pub(super) request: u32,
    /// Our handle of its target.
    pub(super) target: u32,
}
