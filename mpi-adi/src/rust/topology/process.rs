//! Processes of a communicator.
#![forbid(unsafe_code)]

use super::{AsCommunicator, Rank, SimpleCommunicator};

/// A process of a communicator: what messages go to and come from, and the root of collectives.
#[derive(Clone, Copy)]
pub struct Process<'a> {
    comm: &'a SimpleCommunicator,
    rank: Rank,
}

impl<'a> Process<'a> {
    pub(super) fn new(comm: &'a SimpleCommunicator, rank: Rank) -> Self {
        Process { comm, rank }
    }

    /// Its rank; that of the null process is -1 (MPI_PROC_NULL).
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Whether it is the process that asks.
    pub fn is_self(&self) -> bool {
        self.rank == super::Communicator::rank(self.comm)
    }
}

impl AsCommunicator for Process<'_> {
    type Out = SimpleCommunicator;
    fn as_communicator(&self) -> &SimpleCommunicator {
        self.comm
    }
}

/// Whichever process of a communicator: what messages can come from (MPI_ANY_SOURCE).
#[derive(Clone, Copy)]
pub struct AnyProcess<'a>(pub(super) &'a SimpleCommunicator);

impl AsCommunicator for AnyProcess<'_> {
    type Out = SimpleCommunicator;
    fn as_communicator(&self) -> &SimpleCommunicator {
        self.0
    }
}
