//! What a receiver keeps of a message whose data comes eagerly.
#![forbid(unsafe_code)]

use crate::envelope::Rank;

/// A message whose data comes eagerly and is being taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Eager {
    pub(super) source: Rank,
    /// The sender's name for the message.
    pub(super) request: u32,
    /// Our name for its place.
    pub(super) target: u32,
}
