//! How a job is run, and the heaps of its programs.
#![forbid(unsafe_code)]

use midplane_device::envelope::Rank;
use midplane_device::matching::Choice;

use super::net::{Capacity, Order};

/// How a job is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The matching engine of all ranks.
    pub matching: Choice,
    /// Bytes of MPI memory of each rank.
    pub mpi_memory: usize,
    /// Greatest number of request slots of each rank.
    pub request_slots: usize,
    /// The programs' heaps lend MPI up to so many blocks, now more and now less.
    pub lends: u32,
    /// Greatest message that is sent eagerly, in bytes.
    pub eager: usize,
    /// Real routers and bad links in place of the network that the next two describe.
    pub bad_links: bool,
    /// The network's FIFOs.
    pub capacity: Capacity,
    /// The network's order.
    pub order: Order,
    /// A defect, for a test of the tests: collectives of one communicator have tags alike.
    pub numbers_alike: bool,
    /// The seed of every choice.
    pub seed: u64,
}

/// The heaps of the programs, from which devices allocate during calls.
pub trait Heap {
    /// `rank` makes a call that may allocate.
    fn enter(&self, rank: Rank);
    /// The call has returned.
    fn leave(&self, rank: Rank);
    /// Nothing can move for want of memory. True: there is more now, go on.
    fn extend(&self) -> bool;
}

/// Heaps without a bound.
#[derive(Clone, Copy, Debug)]
pub struct Plenty;

impl Heap for Plenty {
    fn enter(&self, _: Rank) {}
    fn leave(&self, _: Rank) {}
    fn extend(&self) -> bool {
        false
    }
}
