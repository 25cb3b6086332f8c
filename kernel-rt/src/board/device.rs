//! The MPI device that a personality asks for.
#![forbid(unsafe_code)]

use core::fmt;

use mpi_adi::envelope::Rank;
use mpi_adi::{Adi, Config, Memory};

use crate::host::personality::Personality;

/// Why a node has no MPI device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDevice {
    /// The heap has no room for so many bytes of MPI memory.
    Memory(u64),
    /// The device refuses its place in the job.
    Place {
        /// The node's.
        rank: u32,
        /// How many nodes the job has.
        peers: u32,
    },
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDevice::Memory(bytes) => write!(
                f,
                "{bytes} bytes of MPI memory do not fit this node's memory; lower --mpi-memory or raise --node-memory"
            ),
            NoDevice::Place { rank, peers } => {
                write!(f, "no MPI device for rank {rank} of {peers}")
            }
        }
    }
}

/// Makes the device of the node `who`, in memory of the heap; `seed` is for its tables.
pub fn device(who: &Personality, seed: u64) -> Result<Adi, NoDevice> {
    let peers = who.shape.nodes();
    let memory = Memory::allocate(who.mpi_memory as usize, peers as usize)
        .map_err(|_| NoDevice::Memory(who.mpi_memory))?;
    let config = Config {
        shape: who.shape,
        rank: Rank::new(who.rank),
        // The heap ends sooner.
        request_slots: mpi_adi::request::MAX_SLOTS,
    };
    let place = NoDevice::Place {
        rank: who.rank,
        peers,
    };
    let mut adi = Adi::new(config, memory).ok_or(place)?;
    adi.seed(seed);
    if let Some(bytes) = who.eager {
        adi.set_eager_limit(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    Ok(adi)
}
