//! What a device is made of: its limits, who it is, and the memory that is handed in.
#![forbid(unsafe_code)]

use bytemuck::allocation::try_zeroed_slice_box;
use net_torus::coord::Shape;

use crate::barrier::values::Values;
use crate::boxed::boxed;
use crate::envelope::{Context, Rank};
use crate::matching::{Engine, EngineKind};
use crate::memory::region::{self, BLOCK_BYTES, Block, Blocks};
use crate::peers::Peers;
use crate::send::bcopy;

/// The least MPI memory in bytes with which a job runs: one unexpected record.
pub const LEAST_MPI_MEMORY: usize = BLOCK_BYTES;
/// The greatest MPI memory in bytes: what a record's name has room for.
pub const GREATEST_MPI_MEMORY: usize = BLOCK_BYTES * region::MAX_BLOCKS;
/// Packets that one step of [`Adi::progress`](crate::Adi::progress) takes out of the network, and the most it puts in.
pub const STEP_PACKETS: usize = 32;
/// Greatest message in bytes whose data follows its RTS without waiting for the answer, when
/// [`Adi::set_eager_limit`](crate::Adi::set_eager_limit) does not say otherwise.
pub const DEFAULT_EAGER_LIMIT: usize = 8192;
/// The highest such limit: a message that leaves eagerly holds up the offers behind it.
pub const GREATEST_EAGER_LIMIT: usize = 64 << 10;
/// Sources to which an answer may be deferred at the same time: in a long broadcast, all neighbours.
pub const DEFERRED_SOURCES: usize = WAYS;
/// Messages of one source that share an answer, at most; fewer than there are bcopies, so that the sender
/// need not wait for an answer that is deferred.
pub const SHARED_ANSWER: u8 = bcopy::BCOPIES as u8 / 2;
const _: () = assert!((SHARED_ANSWER as usize) < bcopy::BCOPIES);
/// Sources whose eager data a receiver takes at the same time; that of others is asked for once more.
pub const EAGER_SOURCES: usize = if cfg!(feature = "micro") { 8 } else { 16 };
/// Contexts in use from the start, each with the one for collectives after it: those of MPI_COMM_WORLD and
/// MPI_COMM_SELF.
pub const FIRST_CONTEXTS: [Context; 2] = [0, 2];
/// Bytes of a message to oneself that are copied at once, at most; of a longer one, in one turn.
pub const COPY_BYTES: usize = 16 << 10;
/// Data packets that one transfer sends before the next one has its turn.
pub(crate) const TURN_PACKETS: usize = 8;
/// Ways out of a node: so many transfers are asked in a step before none is found that can go on.
pub(crate) const WAYS: usize = net_torus::Direction::ALL.len();

/// Memory is used up: what for, and how much there was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoMemory {
    /// The program's heap has no room for another request; so many were live.
    Requests {
        /// Live requests.
        live: u32,
    },
    /// The program's heap has no room for what is kept of a probe that found nothing.
    ProbeRecord,
    /// The node's memory cannot hold the MPI memory and the peer table.
    Start {
        /// Bytes asked for.
        bytes: usize,
    },
}

/// What the device is built from; the caller hands it in.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(super) engine: Engine,
    pub(super) reserve: Blocks,
    pub(super) peers: Peers,
    pub(super) values: Values,
}

/// What [`Memory::allocate`] takes from the heap, term by term, in bytes. Nothing else that the device has
/// grows with incoming messages or with the job but the table of peers, in machines of more than
/// [`PAGE_PEERS`](crate::peers::PAGE_PEERS) nodes, up to [`Budget::most_peers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The region for unexpected messages, in whole blocks.
    pub region: usize,
    /// The bit map of its blocks.
    pub map: usize,
    /// The table of peers, as it is at the start.
    pub peers: usize,
    /// The table of peers of a node that has had messages refused of nodes everywhere, or by them: the worst case.
    pub most_peers: usize,
    /// The matching engine's own memory: see [`crate::matching`].
    pub matching: usize,
    /// Values that a barrier carries, where [`Memory::with_values`] is asked for them: see [`crate::barrier`].
    pub values: usize,
}

impl Budget {
    /// The budget of a device with `mpi_memory` bytes of MPI memory in a job of `peers` processes.
    pub fn of(mpi_memory: usize, peers: usize) -> Budget {
        Self::with_engine(&EngineKind::STANDARD, mpi_memory, peers)
    }

    /// As [`Budget::of`], of a device with this kind of matching engine.
    pub fn with_engine(kind: &EngineKind, mpi_memory: usize, peers: usize) -> Budget {
        let blocks = Self::blocks(mpi_memory);
        Budget {
            region: blocks * BLOCK_BYTES,
            map: Blocks::map_words(blocks) * size_of::<usize>(),
            peers: Peers::bytes(peers),
            most_peers: Peers::most_bytes(peers),
            matching: (kind.fixed_bytes)(blocks, peers),
            values: 0,
        }
    }

    /// The budget with what [`Memory::with_values`] takes.
    pub fn with_values(self, shape: &Shape) -> Budget {
        let values = Values::bytes(shape);
        Budget { values, ..self }
    }

    /// As [`Budget::with_values`], where nothing but the number of nodes is known: of that shape of so many which takes most.
    pub fn with_values_of(self, nodes: usize) -> Budget {
        let values = Values::most_bytes(nodes);
        Budget { values, ..self }
    }

    const fn blocks(mpi_memory: usize) -> usize {
        let blocks = mpi_memory / BLOCK_BYTES;
        if blocks < region::MAX_BLOCKS {
            blocks
        } else {
            region::MAX_BLOCKS
        }
    }

    /// The sum of what is taken at the start.
    pub const fn total(&self) -> usize {
        self.region + self.map + self.peers + self.matching + self.values
    }
}

impl Memory {
    /// Takes `mpi_memory` bytes (rounded down to whole blocks of 32), the table of `peers` peers and the memory of the
    /// standard matching engine from the heap: the sum is [`Budget::total`].
    pub fn allocate(mpi_memory: usize, peers: usize) -> Result<Memory, NoMemory> {
        Memory::with_engine(&EngineKind::STANDARD, mpi_memory, peers)
    }

    /// As [`Memory::allocate`], for a device with this kind of matching engine.
    pub fn with_engine(
        kind: &EngineKind,
        mpi_memory: usize,
        peers: usize,
    ) -> Result<Memory, NoMemory> {
        let blocks = Budget::blocks(mpi_memory);
        let none = NoMemory::Start {
            bytes: Budget::with_engine(kind, mpi_memory, peers).total(),
        };
        Ok(Memory {
            engine: (kind.make)(blocks, peers).ok_or(none)?,
            reserve: Blocks::new(
                // Zeroed memory that is not touched may cost nothing; what it was filled with would.
                try_zeroed_slice_box::<Block>(blocks).map_err(|()| none)?,
                boxed(0, Blocks::map_words(blocks)).ok_or(none)?,
            ),
            peers: Peers::allocate(peers).ok_or(none)?,
            values: Values::default(),
        })
    }

    /// With room for the values of a barrier in a machine of this shape ([`Budget::values`]), taken from the heap: an
    /// allreduce of up to [`VALUE_BYTES`](crate::barrier::VALUE_BYTES) by all processes then takes no messages.
    /// All processes of a job have it, or none.
    pub fn with_values(self, shape: &Shape) -> Result<Memory, NoMemory> {
        let bytes = Values::bytes(shape);
        let values = Values::allocate(shape).ok_or(NoMemory::Start { bytes })?;
        Ok(Memory { values, ..self })
    }
}

/// Who the device is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The machine.
    pub shape: Shape,
    /// This process's number.
    pub rank: Rank,
    /// Greatest number of request slots (see [`MAX_SLOTS`](crate::request::MAX_SLOTS)); the heap
    /// usually ends sooner.
    pub request_slots: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken from the heap is what the budget says.
    #[test]
    fn the_budget_is_what_is_allocated() {
        for (bytes, peers) in [(0, 1), (31, 2), (32, 3), (100, 8), (1 << 20, 1000)] {
            let memory = Memory::allocate(bytes, peers).expect("room");
            let budget = Budget::of(bytes, peers);
            assert_eq!(budget.region, memory.reserve.len() * BLOCK_BYTES);
            assert!(budget.region <= bytes && bytes < budget.region + BLOCK_BYTES);
            // Whole words, a bit a block.
            assert!(budget.map * 8 >= memory.reserve.len());
            assert!(budget.map * 8 < memory.reserve.len() + usize::BITS as usize);
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
            let Budget {
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
        // No more blocks than have names.
        assert_eq!(GREATEST_MPI_MEMORY, 256 << 20);
        for more in [0, 1, 1 << 30] {
            assert_eq!(Budget::of(GREATEST_MPI_MEMORY + more, 1).region, 256 << 20);
        }
        assert_eq!(
            Budget::of(GREATEST_MPI_MEMORY - 1, 1).region,
            (256 << 20) - 32
        );
    }
}
