//! Cancelled receives that are still posted ([`cancel`](super::cancel)).
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::envelope::Rank;
use crate::ids::RequestId;

/// The cancelled receives, and the sources that they wait for.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CancelledReceives {
    /// The waiting receives; some may have matched in the meantime.
    pub waiting: Vec<RequestId>,
    /// Sources whose replies the receives from any source wait for.
    pub awaited: Vec<Rank>,
}
