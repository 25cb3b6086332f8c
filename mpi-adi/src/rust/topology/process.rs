//! Processes of a communicator.
#![forbid(unsafe_code)]

use super::{AsCommunicator, Context, Rank, SimpleCommunicator};

/// A process of a communicator: what messages go to and come from, and the root of collectives; or one of the remote group
/// of an [`InterCommunicator`](super::InterCommunicator).
pub struct Process<'a, C = SimpleCommunicator> {
    comm: &'a C,
    rank: Rank,
}

impl<C> Clone for Process<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Process<'_, C> {}

impl<'a, C> Process<'a, C> {
    pub(super) fn new(comm: &'a C, rank: Rank) -> Self {
        Process { comm, rank }
    }

    /// Its rank; that of the null process is -1 (MPI_PROC_NULL).
    pub fn rank(&self) -> Rank {
        self.rank
    }
}

impl Process<'_> {
    /// Whether it is the process that asks.
    pub fn is_self(&self) -> bool {
        self.rank == super::Communicator::rank(self.comm)
    }
}

impl<C: Context> AsCommunicator for Process<'_, C> {
    type Out = C;
    fn as_communicator(&self) -> &C {
        self.comm
    }
}

/// Whichever process of a communicator, or of the remote group of an
/// [`InterCommunicator`](super::InterCommunicator): what messages can come from (MPI_ANY_SOURCE).
pub struct AnyProcess<'a, C = SimpleCommunicator>(pub(super) &'a C);

impl<C> Clone for AnyProcess<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for AnyProcess<'_, C> {}

impl<C: Context> AsCommunicator for AnyProcess<'_, C> {
    type Out = C;
    fn as_communicator(&self) -> &C {
        self.0
    }
}
