//! Cancelled receives that are still posted ([`cancel`](super::cancel)).
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::envelope::Rank;
use crate::names::RequestId;

/// Which they are, and whom they wait for.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CancelledReceives {
    /// Those that wait; some may have matched in the meantime.
    pub waiting: Vec<RequestId>,
    /// Sources whose answers those from any source wait for.
    pub awaited: Vec<Rank>,
}
