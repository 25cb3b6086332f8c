//! Processes of a communicator.

use super::Rank;
use super::context::{AsCommunicator, Context};
use super::simple::SimpleCommunicator;

/// Source or destination of messages in a communicator: a [`Process`] or [`AnyProcess`].
pub struct ProcessRef<'a, C, R> {
    comm: &'a C,
    rank: R,
}

/// Wildcard rank.
#[derive(Clone, Copy)]
pub struct AnyRank;

/// A process of a communicator, or of the remote group of an [`InterCommunicator`](super::InterCommunicator): the
/// source or destination of messages, and the root of collectives.
pub type Process<'a, C = SimpleCommunicator> = ProcessRef<'a, C, Rank>;

/// Wildcard source of a communicator, or of the remote group of an [`InterCommunicator`](super::InterCommunicator)
/// (MPI_ANY_SOURCE).
pub type AnyProcess<'a, C = SimpleCommunicator> = ProcessRef<'a, C, AnyRank>;

impl<C, R: Copy> Clone for ProcessRef<'_, C, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, R: Copy> Copy for ProcessRef<'_, C, R> {}

impl<'a, C, R> ProcessRef<'a, C, R> {
    pub(super) fn new(comm: &'a C, rank: R) -> Self {
        ProcessRef { comm, rank }
    }
}

impl<C> Process<'_, C> {
    /// Returns its rank; that of the null process is -3 (MPI_PROC_NULL).
    pub fn rank(&self) -> Rank {
        self.rank
    }
}

impl Process<'_> {
    /// Checks whether it is the calling process.
    pub fn is_self(&self) -> bool {
        self.rank == self.comm.record.rank()
    }
}

impl<C: Context, R> AsCommunicator for ProcessRef<'_, C, R> {
    type Out = C;
    fn as_communicator(&self) -> &C {
        self.comm
    }
}
