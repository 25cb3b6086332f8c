//! Memory layout of this board, and its sum. The host tool uses it, too.
//!
//! ```text
//! 0x0800_0000   flash: vectors, code, constants, the data's first contents
//! 0x080e_0000   the last sector: the personality, a record of `midplane_abi::boot_parameters`; erased, there is none
//! 0x2000_0000   the program's stack, growing down out of RAM when it is full
//!               guard
//!               trap stack
//!               data, zeroed data with the lines' rings
//!               MIDPLANE_IMAGE_END
//!               heap: windows of the links, router, MPI memory, then the program's own
//! 0x2002_0000   end of RAM; followed, in the memory of a tool that emulates the board, by additional records
//! ```
#![forbid(unsafe_code)]

use midplane_abi::address::AddressRange;
use midplane_abi::boot_error::InsufficientMemory;
use midplane_abi::stm32f405::{MIN_HEAP, RAM};
use midplane_device::MemoryBudget;
use midplane_device::matching::EngineKind;
use net_torus::Shape;
use net_torus::chunk::CHUNK_BYTES;
use net_torus::router::BufferSizes;

use crate::dev::serial::{self, ACK_LINE_BYTES, LINE_BYTES, MTU};

/// Bits per second of each line. Nine in ten boards reach it over 30 cm of wire, and every clock here divides to it
/// without an error.
pub const BAUD: u32 = 1_000_000;
/// Maximum number of outstanding frames of each link.
pub const WINDOW: usize = serial::window(BAUD);
/// Bytes of a line's receive ring. It holds all that the neighbour may send before this node polls: its window and its
/// acknowledgements of this node's window and, in an image that supports a console, a record of the relay.
pub const RECEIVE_RING: usize = ((WINDOW + CHAINED) * LINE_BYTES + WINDOW * ACK_LINE_BYTES + 1).next_multiple_of(WORD);
const CHAINED: usize = if cfg!(feature = "options") { 1 } else { 0 };
/// Bytes of a line's transmit ring: a frame, and the end of the previous one, transmitted while the node responds.
pub const SEND_RING: usize = (LINE_BYTES + serial::answer_bytes(BAUD)).next_multiple_of(WORD);
const WORD: usize = 4;

/// Capacity of the router's buffers in packets: the legal minimum. All packets use the bubble channels.
pub const ROUTER: BufferSizes = BufferSizes {
    dynamic: 0,
    ..BufferSizes::SMALLEST
};

/// Bytes of these buffers in a router built for this board. The host tool's packets are longer and require more.
pub const ROUTER_BYTES: usize = 3456;
/// Maximum size of the node itself, allocated in the heap. The smallest value is for a C program's default image;
/// options, heap loans and link faults require more.
pub const NODE_BYTES: usize = if cfg!(feature = "faults") {
    7168
} else if IS_MINIMAL || !IS_THE_BOARD {
    5376
} else {
    6016
};
const IS_MINIMAL: bool = cfg!(not(any(feature = "options", feature = "borrow")));
/// Maximum size of the first requests, allocated from the heap by a program's first call.
pub const REQUESTS_BYTES: usize = 960;
/// The stack of interrupts and faults: one bounded poll of the node, the urgent interrupts on top of it, and the report
/// of a failing node.
pub const TRAP_STACK_BYTES: u64 = 3584;
/// Default size of the program's stack. The kernel boots on both stacks and uses some 9 KiB.
pub const STACK_BYTES: u64 = 20480;

/// Maximum size of the node's part of the console relay: three records, and the received bytes. It is static data of
/// the images that contain it, in addition to the sum below.
pub const CHAIN_BYTES: usize = 1472;

/// Memory of a link's window in bytes, for this board's frames.
pub const WINDOW_MEMORY: usize = if cfg!(feature = "faults") { 860 } else { 320 };
/// Rerouted frames, in images with faults.
const MAIL: usize = if cfg!(feature = "faults") { 3 } else { 0 };

// The sum, term by term, as far as known at build time: the six lines' rings, the router, six windows, the stacks.
const LINES: u64 = 6 * (RECEIVE_RING + SEND_RING) as u64;
const LINKS: u64 = 6 * WINDOW_MEMORY as u64;
const STACKS: u64 = TRAP_STACK_BYTES + STACK_BYTES;
const IS_THE_BOARD: bool = cfg!(target_arch = "arm");
const _: () = assert!(
    LINES < 4 * 1024 || cfg!(any(feature = "options", feature = "faults")) || !IS_THE_BOARD,
    "the lines' rings"
);
const _: () = assert!(
    (WINDOW + MAIL) * MTU == WINDOW_MEMORY || !IS_THE_BOARD,
    "the links' windows"
);
const _: () = assert!(
    ROUTER.chunks() * CHUNK_BYTES == ROUTER_BYTES || !IS_THE_BOARD,
    "the router's packets"
);
const _: () = assert!(
    LINES + LINKS + (ROUTER_BYTES + NODE_BYTES) as u64 + STACKS < RAM.len() / 2 || cfg!(feature = "faults"),
    "half of the RAM is to be the program's and the MPI memory's"
);
// All frames that the neighbour may send before this node polls fit its ring.
const _: () = assert!(WINDOW * LINE_BYTES < RECEIVE_RING);

/// Heap memory that a node requires in addition to the program's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapNeeds {
    /// Number of links.
    pub links: usize,
    /// Bytes for incoming MPI traffic.
    pub mpi: u64,
    /// Bytes of the tables that grow with the number of nodes.
    pub tables: u64,
}

impl HeapNeeds {
    /// Returns the needs of a node with this matching engine and number of links, in a job of `nodes` nodes.
    pub fn for_node(kind: &EngineKind, links: usize, mpi: u64, nodes: u32) -> Self {
        let nodes = nodes as usize;
        Self::with(
            links,
            mpi,
            MemoryBudget::with_engine(kind, bytes(mpi), nodes).with_max_values(nodes),
        )
    }

    /// Returns the needs of a node with this matching engine and number of links in this machine: at most those of any
    /// machine with as many nodes.
    pub fn in_machine(kind: &EngineKind, links: usize, mpi: u64, shape: &Shape) -> Self {
        let nodes = shape.nodes() as usize;
        let budget = MemoryBudget::with_engine(kind, bytes(mpi), nodes);
        Self::with(links, mpi, budget.with_values(shape))
    }

    fn with(links: usize, mpi: u64, budget: MemoryBudget) -> Self {
        Self {
            links,
            mpi,
            // The complete peer table: with so little memory all of it is reserved.
            tables: (budget.total() - budget.region - budget.peers + budget.most_peers) as u64,
        }
    }

    /// Returns the maximum size of the node itself in bytes: device, router, links.
    pub fn kernel(&self) -> u64 {
        (self.links * WINDOW_MEMORY + ROUTER_BYTES + NODE_BYTES) as u64
    }
}

fn bytes(mpi: u64) -> usize {
    usize::try_from(mpi).unwrap_or(usize::MAX)
}

/// Returns the heap behind an image that ends at `image_end`.
///
/// # Errors
/// If the allocations before the program's start, plus [`MIN_HEAP`], do not fit.
pub fn heap(image_end: u64, needs: HeapNeeds) -> Result<AddressRange, InsufficientMemory> {
    let start = image_end.next_multiple_of(16);
    let taken = needs
        .kernel()
        .saturating_add(needs.mpi)
        .saturating_add(needs.tables)
        .saturating_add(MIN_HEAP);
    match RAM.end.checked_sub(start) {
        Some(room) if taken <= room => Ok(AddressRange { start, end: RAM.end }),
        _ => Err(InsufficientMemory {
            image: start.saturating_sub(RAM.start),
            kernel: needs.kernel(),
            mpi: needs.mpi,
            tables: needs.tables,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_fit_and_jobs_that_do_not() {
        let image_end = RAM.start + 48 * 1024;
        let room = |nodes| heap(image_end, HeapNeeds::for_node(&EngineKind::STANDARD, 6, 8192, nodes));
        assert_eq!(room(512).map(|heap| heap.end), Ok(RAM.end));
        let error = room(65_536).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the board has 131072"), "{text}");
        assert!(text.contains("8192 of MPI memory"), "{text}");
    }

    #[test]
    fn the_least_is_exact() {
        let needs = HeapNeeds {
            links: 6,
            mpi: 8192,
            tables: 100,
        };
        let taken = needs.kernel() + 8192 + 100 + MIN_HEAP;
        let last = (RAM.end - taken) & !15;
        assert!(heap(last, needs).is_ok());
        assert!(heap(last + 1, needs).is_err());
        let endless = HeapNeeds { mpi: u64::MAX, ..needs };
        assert!(heap(RAM.start, endless).is_err());
        assert!(heap(RAM.end + 1, needs).is_err());
    }
}
