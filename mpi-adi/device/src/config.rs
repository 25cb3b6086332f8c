//! Configuration of a device: limits, identity, and the memory passed in.
#![forbid(unsafe_code)]

use bytemuck::allocation::try_zeroed_slice_box;
use net_torus::coord::Shape;

use crate::barrier::values::ValueStore;
use crate::envelope::{Context, Rank};
use crate::matching::{EngineKind, SelectedEngine};
use crate::memory::region::{self, BLOCK_BYTES, Block, BlockArray};
use crate::peers::PeerTable;
use crate::send::bcopy;
use crate::try_box::try_boxed_slice;

/// Whether this is the build profile `micro`.
pub const MICRO: bool = cfg!(feature = "micro");
/// Minimum MPI memory in bytes with which a job runs: one unexpected record.
pub const MIN_MPI_MEMORY: usize = BLOCK_BYTES;
/// Maximum MPI memory in bytes: the range of a record's ID.
pub const MAX_MPI_MEMORY: usize = BLOCK_BYTES * region::MAX_BLOCKS;
/// Packets that one step of [`Adi::progress`](crate::Adi::progress) receives, and the maximum that it injects.
pub const STEP_PACKETS: usize = 32;
/// Default eager limit in bytes: the data of a message up to this size follows its RTS without waiting for the CTS.
/// Changed by [`Adi::set_eager_limit`](crate::Adi::set_eager_limit).
pub const DEFAULT_EAGER_LIMIT: usize = 8192;
/// Maximum eager limit in bytes: an eager message delays the RTSs behind it.
pub const MAX_EAGER_LIMIT: usize = 64 << 10;
/// Sources with a delayed acknowledgement at the same time: all neighbours, for a long broadcast.
pub const MAX_DELAYED_ACKS: usize = WAYS;
/// Maximum number of messages of one source covered by one acknowledgement. Smaller than the number of bcopies, so that
/// the sender never waits for a delayed acknowledgement.
pub const MAX_SHARED_ACKS: u8 = bcopy::BCOPIES as u8 / 2;
const _: () = assert!((MAX_SHARED_ACKS as usize) < bcopy::BCOPIES);
/// Sources from which a receiver accepts eager data at the same time; data of other sources is requested again.
pub const EAGER_SOURCES: usize = if cfg!(feature = "micro") { 8 } else { 16 };
/// Contexts in use from the start, each with the collectives' context after it: MPI_COMM_WORLD and MPI_COMM_SELF.
pub const FIRST_CONTEXTS: [Context; 2] = [0, 2];
/// Maximum bytes of a self-send that one step copies; a longer message is copied in several steps.
pub const COPY_BYTES: usize = 16 << 10;
/// Round-robin quantum: data packets that one transfer sends before the next one.
pub(crate) const QUANTUM_PACKETS: usize = 8;
/// Outgoing links of a node: a step tries this many transfers before it finds none that can advance.
pub(crate) const WAYS: usize = net_torus::Direction::ALL.len();

/// Out of memory: the purpose and the amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfMemory {
    /// The program's heap has no space for another request.
    Requests {
        /// Live requests.
        live: u32,
    },
    /// The program's heap has no space for the record of an unsuccessful probe.
    ProbeRecord,
    /// The node's memory cannot hold the MPI memory and the peer table.
    Start {
        /// Bytes requested.
        bytes: usize,
    },
}

/// Memory that the device is built from, provided by the caller.
#[derive(Clone, Debug)]
pub struct DeviceMemory {
    pub(super) engine: SelectedEngine,
    pub(super) initial_region: BlockArray,
    pub(super) peers: PeerTable,
    pub(super) values: ValueStore,
}

/// Heap memory that [`DeviceMemory::allocate`] allocates, term by term, in bytes. Nothing else in the device grows with
/// incoming messages or with the job, except the peer table in machines of more than
/// [`PAGE_PEERS`](crate::peers::PAGE_PEERS) nodes, up to [`MemoryBudget::most_peers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryBudget {
    /// The region for unexpected messages, in whole blocks.
    pub region: usize,
    /// The bitmap of its blocks.
    pub map: usize,
    /// The initial peer table.
    pub peers: usize,
    /// The maximum peer table: the worst case, with rejected messages from or to nodes everywhere.
    pub most_peers: usize,
    /// The matching engine's memory: see [`crate::matching`].
    pub matching: usize,
    /// Barrier values, with [`DeviceMemory::with_values`]: see [`crate::barrier`].
    pub values: usize,
}

impl MemoryBudget {
    /// Returns the budget of a device with `mpi_memory` bytes of MPI memory in a job of `peers` processes.
    pub fn for_job(mpi_memory: usize, peers: usize) -> MemoryBudget {
        Self::with_engine(&EngineKind::STANDARD, mpi_memory, peers)
    }

    /// Returns the budget of a device with this kind of matching engine.
    pub fn with_engine(kind: &EngineKind, mpi_memory: usize, peers: usize) -> MemoryBudget {
        let blocks = Self::blocks(mpi_memory);
        MemoryBudget {
            region: blocks * BLOCK_BYTES,
            map: BlockArray::map_words(blocks) * size_of::<usize>(),
            peers: PeerTable::bytes(peers),
            most_peers: PeerTable::max_bytes(peers),
            matching: (kind.fixed_bytes)(blocks, peers),
            values: 0,
        }
    }

    /// Adds the memory that [`DeviceMemory::with_values`] allocates.
    pub fn with_values(self, shape: &Shape) -> MemoryBudget {
        let values = ValueStore::bytes(shape);
        MemoryBudget { values, ..self }
    }

    /// Adds the maximum of [`DeviceMemory::with_values`] over all shapes of `nodes` nodes.
    pub fn with_max_values(self, nodes: usize) -> MemoryBudget {
        let values = ValueStore::max_bytes(nodes);
        MemoryBudget { values, ..self }
    }

    const fn blocks(mpi_memory: usize) -> usize {
        let blocks = mpi_memory / BLOCK_BYTES;
        if blocks < region::MAX_BLOCKS {
            blocks
        } else {
            region::MAX_BLOCKS
        }
    }

    /// Returns the sum of the initial allocations.
    pub const fn total(&self) -> usize {
        self.region + self.map + self.peers + self.matching + self.values
    }
}

impl DeviceMemory {
    /// Allocates `mpi_memory` bytes (rounded down to whole blocks of 32), the table of `peers` peers and the memory of
    /// the standard matching engine in the heap. The sum is [`MemoryBudget::total`].
    pub fn allocate(mpi_memory: usize, peers: usize) -> Result<DeviceMemory, OutOfMemory> {
        DeviceMemory::with_engine(&EngineKind::STANDARD, mpi_memory, peers)
    }

    /// Allocates the memory of a device with this kind of matching engine.
    pub fn with_engine(kind: &EngineKind, mpi_memory: usize, peers: usize) -> Result<DeviceMemory, OutOfMemory> {
        let blocks = MemoryBudget::blocks(mpi_memory);
        let none = OutOfMemory::Start {
            bytes: MemoryBudget::with_engine(kind, mpi_memory, peers).total(),
        };
        Ok(DeviceMemory {
            engine: (kind.make)(blocks, peers).ok_or(none)?,
            initial_region: BlockArray::new(
                // Untouched zeroed memory may cost nothing; filled memory always costs.
                try_zeroed_slice_box::<Block>(blocks).map_err(|()| none)?,
                try_boxed_slice(0, BlockArray::map_words(blocks)).ok_or(none)?,
            ),
            peers: PeerTable::allocate(peers).ok_or(none)?,
            values: ValueStore::default(),
        })
    }

    /// Allocates memory for barrier values in a machine of this shape ([`MemoryBudget::values`]) in the heap. An allreduce of
    /// up to [`VALUE_BYTES`](crate::barrier::VALUE_BYTES) over all processes then requires no messages. Either all
    /// processes of a job use it, or none.
    pub fn with_values(self, shape: &Shape) -> Result<DeviceMemory, OutOfMemory> {
        let bytes = ValueStore::bytes(shape);
        let values = ValueStore::allocate(shape).ok_or(OutOfMemory::Start { bytes })?;
        Ok(DeviceMemory { values, ..self })
    }
}

/// Identity and limits of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceConfig {
    /// The machine's shape.
    pub shape: Shape,
    /// This process's rank.
    pub rank: Rank,
    /// Maximum number of request slots (see [`MAX_SLOTS`](crate::request::MAX_SLOTS)); the heap usually ends first.
    pub request_slots: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The allocated memory equals the budget.
    #[test]
    fn the_budget_is_what_is_allocated() {
        for (bytes, peers) in [(0, 1), (31, 2), (32, 3), (100, 8), (1 << 20, 1000)] {
            let memory = DeviceMemory::allocate(bytes, peers).expect("room");
            let budget = MemoryBudget::for_job(bytes, peers);
            assert_eq!(budget.region, memory.initial_region.len() * BLOCK_BYTES);
            assert!(budget.region <= bytes && bytes < budget.region + BLOCK_BYTES);
            // Whole machine words, one bit per block.
            assert!(budget.map * 8 >= memory.initial_region.len());
            assert!(budget.map * 8 < memory.initial_region.len() + usize::BITS as usize);
            assert_eq!(budget.map % size_of::<usize>(), 0);
            let table = memory.peers.bytes_now();
            assert_eq!((budget.peers, memory.peers.size()), (table, peers));
            if peers < 100 {
                let bits = peers.div_ceil(16) * size_of::<u64>();
                assert_eq!(budget.peers, 2 * peers + bits, "2.5 bytes a peer");
            }
            assert_eq!(
                budget.matching,
                (EngineKind::STANDARD.fixed_bytes)(bytes / BLOCK_BYTES, peers)
            );
            let MemoryBudget {
                region,
                map,
                peers,
                matching,
                ..
            } = budget;
            assert_eq!(budget.total(), region + map + peers + matching);
            let shape = Shape::new([4, 2, 1], [true; 3]).expect("a machine");
            let more = budget.with_values(&shape);
            // Lines of four: one of the group and one of the other, for this barrier and the next; a pair.
            assert_eq!(more.values, (2 * 2 + 1) * 33);
            assert_eq!(more.total(), budget.total() + more.values);
        }
        // No more blocks than IDs.
        assert_eq!(MAX_MPI_MEMORY, 256 << 20);
        for more in [0, 1, 1 << 30] {
            assert_eq!(MemoryBudget::for_job(MAX_MPI_MEMORY + more, 1).region, 256 << 20);
        }
        assert_eq!(MemoryBudget::for_job(MAX_MPI_MEMORY - 1, 1).region, (256 << 20) - 32);
    }
}
