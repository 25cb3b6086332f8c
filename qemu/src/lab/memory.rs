//! `midplane memory`: memory usage of a node, computed from the constants of the node's code.

use clap::Args;
use kernel_rt::memory_plan;
use midplane_abi::blackboard;
use midplane_abi::outbox;
use midplane_device::peers::{PAGE_PEERS, PREALLOCATED_PAGES};
use midplane_device::pending::{CHUNK_DESTINATIONS, DESTINATION_BYTES};
use midplane_device::region::BLOCK_BYTES;
use midplane_device::request::{CHUNK_SLOTS, RESERVED_SLOTS, RequestPool};
use midplane_device::rma::deferred_ops::DEFERRED_BYTES;
use midplane_device::rma::epochs::{EPOCH_BYTES, MEMBER_BYTES};
use midplane_device::rma::{self, CURSORS, OneSided, RESULTS, RING_PACKETS, SLOTS, WindowPeer};
use midplane_device::{Adi, MemoryBudget};
use midplane_engines::EngineChoice;
use net_torus::Router;
use net_torus::chunk::{CHUNK_BYTES, PACKET_BYTES};

use crate::host::error::CliError;
use crate::host::size;
use crate::run::limits;
use crate::show::console::print_line;
use crate::show::table::{CellText, Column, ColumnAlignment, Table};

/// Options of `midplane memory`.
#[derive(Args, Debug)]
#[command(after_help = "Example: cargo midplane memory --nodes 65536 --mpi-memory 64K")]
pub struct MemoryArgs {
    /// Number of nodes of the machine
    #[arg(long, default_value_t = 8, value_parser = limits::parse_nodes)]
    nodes: u64,

    /// Memory of each node for records and buffers of incoming messages
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = limits::parse_mpi_memory)]
    mpi_memory: u64,

    /// Matching engine of the node
    #[arg(long, value_name = "NAME", default_value = EngineChoice::Default.name(), value_parser = limits::matching())]
    matching: EngineChoice,

    /// Number of links of the node
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(0..=6))]
    links: u64,
}

/// Memory that the device reserves for blocking calls: complete chunks of slots and destinations.
const KEPT_BYTES: usize = (RESERVED_SLOTS as usize).next_multiple_of(CHUNK_SLOTS) * RequestPool::SLOT_BYTES
    + (RESERVED_SLOTS as usize).next_multiple_of(CHUNK_DESTINATIONS) * DESTINATION_BYTES;

/// Memory of a node's matching engine in bytes.
struct EngineBytes {
    budget: MemoryBudget,
    /// Device with the standard engine.
    device: usize,
    /// Heap memory per open context.
    context: usize,
    /// Heap memory per request, each of which may become a posted receive.
    receive: usize,
    /// Heap memory for all kinds of wildcards.
    wildcard: usize,
}

impl EngineBytes {
    fn from_options(options: &MemoryArgs) -> EngineBytes {
        let (nodes, mpi_memory) = (options.nodes as usize, options.mpi_memory as usize);
        let kind = options.matching.kind();
        EngineBytes {
            budget: MemoryBudget::with_engine(&kind, mpi_memory, nodes).with_max_values(nodes),
            device: size_of::<Adi>(),
            context: (kind.context_bytes)(nodes),
            receive: (kind.receive_bytes)(nodes),
            wildcard: (kind.wildcard_bytes)(mpi_memory / BLOCK_BYTES),
        }
    }
}

/// One term of the sum.
struct MemoryTerm {
    name: &'static str,
    bytes: u64,
    why: String,
}

const TABLE: Table<MemoryTerm> = Table {
    columns: &[
        Column {
            heading: "",
            cells: ColumnAlignment::Right(12),
            text: CellText::Of(|term| term.bytes.to_string()),
        },
        Column {
            heading: "",
            cells: ColumnAlignment::Left(17),
            text: CellText::Of(|term| term.name.into()),
        },
        Column {
            heading: "",
            cells: ColumnAlignment::Prose,
            text: CellText::Of(|term| term.why.clone()),
        },
    ],
    keys: 2,
    gap: 2,
};

/// Returns the terms that are allocated at start and never grow.
fn terms(options: &MemoryArgs) -> Vec<MemoryTerm> {
    let mut terms = mpi_terms(options);
    terms.extend(node_terms(options.links));
    terms
}

fn term(name: &'static str, bytes: usize, why: impl Into<String>) -> MemoryTerm {
    MemoryTerm {
        name,
        bytes: bytes as u64,
        why: why.into(),
    }
}

/// Returns the terms of the device and the message layer.
fn mpi_terms(options: &MemoryArgs) -> Vec<MemoryTerm> {
    let nodes = options.nodes;
    let EngineBytes { budget, device, .. } = EngineBytes::from_options(options);
    let blocks = budget.region / midplane_device::region::BLOCK_BYTES;
    vec![
        term(
            "MPI memory",
            budget.region,
            format!("{blocks} blocks of 32: records and buffers of unexpected messages"),
        ),
        term("its bit map", budget.map, "one bit per block, rounded up to words"),
        term("table of peers", budget.peers, peers_why(nodes, &budget)),
        term(
            "matching engine",
            budget.matching,
            format!(
                "`{}`: in addition to the links in requests and records",
                options.matching
            ),
        ),
        term(
            "barrier's values",
            budget.values,
            format!(
                "up to {} bytes from each process: short allreduces; the maximum depends on the machine's shape",
                midplane_device::barrier::VALUE_BYTES
            ),
        ),
        term(
            "MPI device",
            device,
            format!(
                "ends of queues, counters, {} copies of short sends of {} bytes, up to {} incoming eager messages",
                midplane_device::bcopy::BCOPIES,
                midplane_device::bcopy::BCOPY_BYTES,
                midplane_device::EAGER_SOURCES
            ),
        ),
        term(
            "kept requests",
            KEPT_BYTES,
            format!(
                "a chunk of {CHUNK_SLOTS} slots and one of {CHUNK_DESTINATIONS} destinations: a blocking call can \
                 always start"
            ),
        ),
        term(
            "emergency answers",
            0,
            format!("the {PACKET_BYTES} bytes of one packet, in the router's buffers"),
        ),
        term("message layer", 0, "none: packets remain in the router's buffers"),
    ]
}

/// Describes the memory of the peer table and its maximum.
fn peers_why(nodes: u64, budget: &MemoryBudget) -> String {
    let each = "2.5 each: one age per direction, four bits";
    if budget.most_peers <= budget.peers {
        format!("{nodes} x {each}, in pages of 16 peers")
    } else {
        format!(
            "{each}; {PREALLOCATED_PAGES} preallocated pages of {PAGE_PEERS} of {nodes} peers, more from the program's heap \
             when required; at most {}",
            budget.most_peers
        )
    }
}

/// Returns the terms of the router and the devices.
fn node_terms(links: u64) -> Vec<MemoryTerm> {
    vec![
        term(
            "router's buffers",
            memory_plan::ROUTER.chunks() * CHUNK_BYTES,
            "all virtual channels and FIFOs",
        ),
        term("router", size_of::<Router<'_>>(), "its state"),
        MemoryTerm {
            name: "links",
            bytes: links * memory_plan::LINK_BYTES,
            why: format!(
                "{} x {}: {} + {} frames of {} and two queues",
                links,
                memory_plan::LINK_BYTES,
                memory_plan::RECEIVE_FRAMES,
                memory_plan::TRANSMIT_FRAMES,
                memory_plan::FRAME_BYTES
            ),
        },
        term(
            "outbox",
            outbox::BYTES,
            format!("{} bytes each for stdout, stderr and the log", outbox::CAPACITY),
        ),
        term("blackboard", blackboard::BYTES, "status record for the host"),
    ]
}

/// Prints the sum; returns the exit status.
pub fn run(options: &MemoryArgs) -> Result<u8, CliError> {
    print_line(table(options).join("\n"))?;
    Ok(0)
}

/// Returns the heap memory of RMA windows, for programs that create them.
fn window_terms(nodes: usize) -> [MemoryTerm; 4] {
    [
        term(
            "windows",
            size_of::<OneSided>(),
            format!(
                "once: {SLOTS} pending replies, {RING_PACKETS} packets; {CURSORS} gets and {RESULTS} results in \
                 service"
            ),
        ),
        term(
            "a window",
            rma::window_bytes(nodes),
            format!(
                "{} for each of {nodes} processes; plus a communicator and the C handle",
                size_of::<WindowPeer>()
            ),
        ),
        term(
            "an epoch",
            EPOCH_BYTES,
            format!("until it completes; {MEMBER_BYTES} more for each process of a post or start"),
        ),
        term(
            "deferred",
            DEFERRED_BYTES,
            "an operation with a request or in an epoch that is not open yet, a flush; until it completes",
        ),
    ]
}

/// Returns the heap memory of the matching engine, if there is any.
fn engine_terms(options: &MemoryArgs) -> Vec<MemoryTerm> {
    let EngineBytes {
        context,
        receive,
        wildcard,
        ..
    } = EngineBytes::from_options(options);
    let terms = [
        term(
            "a context",
            context,
            "maximum, by matching engine: two per communicator, four per node at start",
        ),
        term(
            "a receive",
            receive,
            "approximately, by matching engine: for each request of the peak number in flight",
        ),
        term(
            "a wildcard index",
            wildcard,
            "by matching engine: for any source, any tag, or both, if such a search is long",
        ),
    ];
    terms.into_iter().filter(|term| term.bytes > 0).collect()
}

fn table(options: &MemoryArgs) -> Vec<String> {
    let mut terms = terms(options);
    terms.push(MemoryTerm {
        name: "in all",
        bytes: terms.iter().map(|term| term.bytes).sum(),
        why: "in addition to the image, the stack and the program's heap".into(),
    });
    let from_the_heap = [
        MemoryTerm {
            name: "a request",
            bytes: RequestPool::SLOT_BYTES as u64,
            why: format!("in flight, with its share of the queues' links and tables, in chunks of {CHUNK_SLOTS}"),
        },
        MemoryTerm {
            name: "a destination",
            bytes: DESTINATION_BYTES as u64,
            why: format!("with messages pending, in chunks of {CHUNK_DESTINATIONS}"),
        },
    ];
    let from_the_heap = from_the_heap.into_iter().chain(engine_terms(options));
    let from_the_heap = from_the_heap.chain(window_terms(options.nodes as usize));
    let from_the_heap: Vec<MemoryTerm> = from_the_heap.collect();
    let mut lines = vec![format!(
        "One node of {} with {} of MPI memory and {} links, in bytes:",
        options.nodes,
        size::exact(options.mpi_memory),
        options.links
    )];
    lines.extend(TABLE.lines(&terms));
    lines.push(String::new());
    lines.push("Allocated from the program's heap when calls require it:".into());
    lines.extend(TABLE.lines(&from_the_heap));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;
    use midplane_device::matching::ListEngine;
    use midplane_engines::{FourD, PerRank};

    #[test]
    fn the_sum_is_that_of_its_terms_and_the_peers_take_pages() {
        let options = MemoryArgs {
            nodes: 65_536,
            mpi_memory: 64 << 10,
            matching: EngineChoice::Default,
            links: 6,
        };
        let terms = terms(&options);
        let named = |name: &str| {
            let term = terms.iter().find(|term| term.name == name);
            term.expect("a term").bytes
        };
        assert_eq!(named("MPI memory"), 64 << 10);
        assert_eq!(named("its bit map"), (64 << 10) / 32 / 8);
        // The list of 256 pages, the words that locate peers, and 8 pages; the reason contains the maximum.
        let list = (256 * size_of::<usize>() + 65_536 / 16 / 64 * 5 * size_of::<u64>()) as u64;
        let pages = 8 * 256 * 5 / 2;
        assert_eq!(named("table of peers"), list + pages);
        let most = (list + 65_536 * 5 / 2).to_string();
        let why = &terms.iter().find(|term| term.name == "table of peers");
        assert!(why.expect("a term").why.ends_with(&most));
        let lines = table(&options);
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
        let sum: u64 = terms.iter().map(|term| term.bytes).sum();
        let total = lines.iter().find(|line| line.contains("  in all ")).expect("a sum");
        let total = total.split_whitespace().next().expect("a number");
        assert_eq!(total.parse(), Ok(sum));
        let window = format!("{:>12}  a window", rma::window_bytes(65_536));
        assert!(lines.iter().any(|line| line.starts_with(&window)));
        for term in &terms {
            let begin = format!("{:>12}  {}", term.bytes, term.name);
            assert!(lines.iter().any(|line| line.starts_with(&begin)), "{begin}");
        }
    }

    #[test]
    fn the_terms_are_those_of_the_engine() {
        let said = |matching, name: &str| {
            let options = MemoryArgs {
                nodes: 4096,
                mpi_memory: 64 << 10,
                matching,
                links: 6,
            };
            let lines = table(&options).into_iter();
            let number = |line: String| line.split_whitespace().next()?.parse().ok();
            let is_it = |line: &String| line.contains(&format!("  {name}  "));
            lines.filter(is_it).find_map(number).unwrap_or(0_usize)
        };
        let engine = |matching| said(matching, "matching engine");
        // An engine outside of the device adds its own size.
        let own = [size_of::<ListEngine>(), size_of::<PerRank>()];
        assert_eq!([EngineChoice::List, EngineChoice::Array].map(engine), own);
        let jump_points = (64 << 10) / 32 * 24;
        assert_eq!(engine(EngineChoice::FourD), jump_points + size_of::<FourD>());
        // Leads of 40 and 28 bytes or more, a table of 4096 heads, 8 cubes of 8 slots each.
        let context = |matching| said(matching, "a context");
        let expected = [0, 40 + 16 * 4096, 28 + 8 * (8 + 4 * 8)];
        let is = [EngineChoice::List, EngineChoice::Array, EngineChoice::FourD].map(context);
        assert!(
            is.iter()
                .zip(expected)
                .all(|(is, least)| (least..least + 16).contains(is)),
            "{is:?}"
        );
        let receive = |matching| said(matching, "a receive");
        assert_eq!([EngineChoice::Array, EngineChoice::FourD].map(receive), [0, 24]);
    }
}
