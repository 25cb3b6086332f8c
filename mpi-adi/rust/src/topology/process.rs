//! Processes of a communicator.

use super::{AsCommunicator, Context, Rank, SimpleCommunicator};

/// An end of messages in a communicator: a [`Process`] or [`AnyProcess`].
pub struct End<'a, C, R> {
    comm: &'a C,
    rank: R,
}

/// Whichever rank.
#[derive(Clone, Copy)]
pub struct Any;

/// A process of a communicator: what messages go to and come from, and the root of collectives; or one of the remote group
/// of an [`InterCommunicator`](super::InterCommunicator).
pub type Process<'a, C = SimpleCommunicator> = End<'a, C, Rank>;

/// Whichever process of a communicator, or of the remote group of an
/// [`InterCommunicator`](super::InterCommunicator): what messages can come from (MPI_ANY_SOURCE).
pub type AnyProcess<'a, C = SimpleCommunicator> = End<'a, C, Any>;

impl<C, R: Copy> Clone for End<'_, C, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C, R: Copy> Copy for End<'_, C, R> {}

impl<'a, C, R> End<'a, C, R> {
    pub(super) fn new(comm: &'a C, rank: R) -> Self {
        End { comm, rank }
    }
}

impl<C> Process<'_, C> {
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

impl<C: Context, R> AsCommunicator for End<'_, C, R> {
    type Out = C;
    fn as_communicator(&self) -> &C {
        self.comm
    }
}
