//! The personality (a term from Blue Gene): a node's identity and resources, after it has read its [boot
//! parameters](super::boot_parameters).

use net_torus::coord::{Coord, Rank, Shape};

/// Action of a node after its program's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ExitAction {
    /// It continues to forward for other nodes until the host stops it.
    #[default]
    Stay,
    /// It exits the emulator through its exit device, with the program's status.
    Test,
}

/// Whether an image supports the log.
pub const LOGS: bool = cfg!(any(feature = "options", not(target_os = "none")));

/// Everything that a node knows about itself when its program starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Personality {
    /// Extents of the machine, and which dimensions wrap.
    pub shape: Shape,
    /// This node's coordinates.
    pub coord: Coord,
    /// This node's rank.
    pub rank: Rank,
    /// Ticks per second of the node's clock.
    pub clock_hz: u64,
    /// Size of the node's memory in bytes, the image and everything else included.
    pub memory: u64,
    /// Size in bytes of the region for incoming MPI traffic.
    pub mpi_memory: u64,
    /// Whether the program's heap lends its free part to the MPI device.
    pub mpi_borrow: bool,
    /// Maximum size in bytes of a message that is sent eagerly, if specified.
    pub eager: Option<u64>,
    /// Maximum CPU share of interrupts while the program computes, in percent; 0 disables them.
    pub interrupts: u8,
    /// Action at the program's end.
    pub exit: ExitAction,
}
