//! The personality: who a node is and what it may use, once it has read its
//! [boot parameters](super::boot_parameters).

use net_torus::coord::{Coord, Rank, Shape};

/// How a node ends once its program has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Exit {
    /// It goes on forwarding for others until the host stops it.
    #[default]
    Stay,
    /// It leaves the emulator through its exit device, with the program's status.
    Test,
}

/// Whether an image logs: where it is asked for.
pub const LOGS: bool = cfg!(any(feature = "options", not(target_os = "none")));

/// Everything a node knows about itself when its program starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Personality {
    /// Extents of the machine, and which dimensions wrap.
    pub shape: Shape,
    /// This node's place.
    pub coord: Coord,
    /// This node's number.
    pub rank: Rank,
    /// Ticks per second of the node's clock.
    pub clock_hz: u64,
    /// Size of the node's memory in bytes, the image and everything else included.
    pub memory: u64,
    /// Size in bytes of the region for incoming MPI traffic.
    pub mpi_memory: u64,
    /// Whether the program's heap lends to the MPI device what it can spare.
    pub mpi_borrow: bool,
    /// Greatest message in bytes that is sent eagerly, when said.
    pub eager: Option<u64>,
    /// How many percent of the processor interrupts take at most while the program computes; 0: there are none.
    pub interrupts: u8,
    /// What to do when the program has ended.
    pub exit: Exit,
}
