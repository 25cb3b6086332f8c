//! Setup of a job, and the heaps of its programs.
#![forbid(unsafe_code)]

use midplane_device::envelope::Rank;
use midplane_engines::EngineChoice;

use super::net::{FifoCapacity, OrderRules};

/// Setup of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobSetup {
    /// The matching engine of all ranks.
    pub matching: EngineChoice,
    /// MPI memory of each rank in bytes.
    pub mpi_memory: usize,
    /// Maximum number of request slots of each rank.
    pub request_slots: usize,
    /// Maximum number of blocks that a program's heap loans to MPI; the actual number varies.
    pub lends: u32,
    /// Maximum eager message size in bytes.
    pub eager: usize,
    /// Uses real routers and bad links instead of the network that the next two fields configure.
    pub bad_links: bool,
    /// The network's FIFOs.
    pub capacity: FifoCapacity,
    /// The network's order.
    pub order: OrderRules,
    /// An injected fault, for a test of the tests: all collectives of one communicator use the same tags.
    pub numbers_alike: bool,
    /// The seed of every choice.
    pub seed: u64,
}

/// Heaps of the programs, from which devices allocate during calls.
pub trait ProgramHeaps {
    /// Called before a call of `rank` that may allocate.
    fn enter(&self, rank: Rank);
    /// Called after that call.
    fn exit(&self, rank: Rank);
    /// Called when nothing can move for lack of memory; returns whether more memory is available now.
    fn extend(&self) -> bool;
}

/// Unlimited heaps.
#[derive(Clone, Copy, Debug)]
pub struct UnlimitedHeaps;

impl ProgramHeaps for UnlimitedHeaps {
    fn enter(&self, _: Rank) {}
    fn exit(&self, _: Rank) {}
    fn extend(&self) -> bool {
        false
    }
}
