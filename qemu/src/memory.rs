//! `midplane memory`: what a node's memory is used for, by the constants that the node's code uses.

use std::io::{self, Write};

use clap::Args;
use kernel_rt::{blackboard, mem};
use mpi_adi::request::{CHUNK_SLOTS, KEPT_SLOTS, RequestPool};
use mpi_adi::{Adi, Budget, GREATEST_MPI_MEMORY};
use net_torus::Router;
use net_torus::wire::{CHUNK_BYTES, PACKET_BYTES};

use crate::size;
use crate::stop::Stop;

/// Nodes of the greatest machine: 256 along each dimension.
const MOST_NODES: u64 = 1 << 24;

/// Options of `midplane memory`.
#[derive(Args, Debug)]
#[command(after_help = "Example: cargo midplane memory --nodes 65536 --mpi-memory 64K")]
pub struct MemoryArgs {
    /// Nodes of the machine
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=MOST_NODES))]
    nodes: u64,

    /// Region in each node for everything that grows with incoming messages
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_mpi_memory)]
    mpi_memory: u64,

    /// Links of the node
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(0..=6))]
    links: u64,
}

fn parse_mpi_memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    match bytes <= GREATEST_MPI_MEMORY as u64 {
        true => Ok(bytes),
        false => Err(format!(
            "at most {}",
            size::exact(GREATEST_MPI_MEMORY as u64)
        )),
    }
}

/// What the device keeps for calls that block: whole chunks of slots, an index and a list of destinations that
/// are at least half full.
const KEPT_BYTES: usize =
    (KEPT_SLOTS as usize).div_ceil(CHUNK_SLOTS) * CHUNK_SLOTS * RequestPool::SLOT_BYTES
        + KEPT_SLOTS as usize
            * (4 * mpi_adi::pending::INDEX_BYTES + 2 * mpi_adi::pending::DESTINATION_BYTES);

/// One term of the sum.
struct Term {
    name: &'static str,
    bytes: u64,
    why: String,
}

/// What is taken at start and never grows.
fn terms(options: &MemoryArgs) -> Vec<Term> {
    let nodes = options.nodes;
    let budget = Budget::of(options.mpi_memory as usize, nodes as usize);
    let blocks = budget.region / mpi_adi::region::BLOCK_BYTES;
    let term = |name, bytes: usize, why: String| Term {
        name,
        bytes: bytes as u64,
        why,
    };
    vec![
        term(
            "MPI memory",
            budget.region,
            format!("{blocks} blocks of 32: records and buffers of unexpected messages"),
        ),
        term(
            "its bit map",
            budget.map,
            "a bit a block, in whole words".into(),
        ),
        term(
            "table of peers",
            budget.peers,
            format!("{nodes} x 2.5: an age each way, four bits"),
        ),
        term(
            "matching engine",
            budget.matching,
            "its own; lists keep their links in requests and records".into(),
        ),
        term(
            "MPI device",
            size_of::<Adi>(),
            format!(
                "queues' ends, counters, {} light sends of {} bytes, up to {} eager messages that are coming",
                mpi_adi::bcopy::BCOPIES,
                mpi_adi::bcopy::BCOPY_BYTES,
                mpi_adi::EAGER_SOURCES
            ),
        ),
        term(
            "kept requests",
            KEPT_BYTES,
            format!(
                "{KEPT_SLOTS} slots, destinations and their index entries: a call that blocks can begin"
            ),
        ),
        term(
            "emergency answers",
            0,
            format!("the {PACKET_BYTES} bytes of one packet, in the router's buffers"),
        ),
        term(
            "message layer",
            0,
            "none of its own: packets stay in the router's buffers".into(),
        ),
        term(
            "router's buffers",
            mem::ROUTER.chunks() * CHUNK_BYTES,
            "all virtual channels and FIFOs".into(),
        ),
        term("router", size_of::<Router<'_>>(), "its state".into()),
        Term {
            name: "links",
            bytes: options.links * mem::LINK_BYTES,
            why: format!(
                "{} x {}: {} + {} frames of {} and two queues",
                options.links,
                mem::LINK_BYTES,
                mem::RECEIVE_FRAMES,
                mem::TRANSMIT_FRAMES,
                mem::FRAME_BYTES
            ),
        },
        Term {
            name: "consoles",
            bytes: 2 * mem::CONSOLE_BYTES,
            why: "stdout and stderr: their queues".into(),
        },
        term(
            "blackboard",
            blackboard::BYTES,
            "what the host reads of the node".into(),
        ),
    ]
}

/// Prints the sum; the exit status.
pub fn run(options: &MemoryArgs) -> Result<u8, Stop> {
    // A reader who goes away has seen enough.
    let _ = io::stdout().write_all(table(options).as_bytes());
    Ok(0)
}

fn table(options: &MemoryArgs) -> String {
    let terms = terms(options);
    let total: u64 = terms.iter().map(|term| term.bytes).sum();
    let mut text = format!(
        "A node of {} with {} of MPI memory and {} links, in bytes:\n",
        options.nodes,
        size::exact(options.mpi_memory),
        options.links
    );
    for Term { name, bytes, why } in &terms {
        text += &format!("{bytes:>12}  {name:<18} {why}\n");
    }
    text += &format!(
        "{total:>12}  in all, besides the image, the stack and the program's heap\n\n\
         Out of the program's heap, as its own calls need it, and nothing else:\n\
         {:>12}  a request under way, in chunks of {CHUNK_SLOTS}\n\
         {:>12}  a destination with messages pending\n\
         {:>12}  about, for each such destination, and each context and tag to it: an index entry\n",
        RequestPool::SLOT_BYTES,
        mpi_adi::pending::DESTINATION_BYTES,
        mpi_adi::pending::INDEX_BYTES
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_its_terms_and_the_peers_take_two_and_a_half_bytes_each() {
        let options = MemoryArgs {
            nodes: 65_536,
            mpi_memory: 64 << 10,
            links: 6,
        };
        let terms = terms(&options);
        let named = |name: &str| {
            let term = terms.iter().find(|term| term.name == name);
            term.expect("a term").bytes
        };
        assert_eq!(named("MPI memory"), 64 << 10);
        assert_eq!(named("its bit map"), (64 << 10) / 32 / 8);
        assert_eq!(named("table of peers"), 65_536 * 5 / 2);
        let table = table(&options);
        let numbers: Vec<u64> = table
            .lines()
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_whitespace().next()?.parse().ok())
            .collect();
        let (total, parts) = numbers.split_last().expect("numbers");
        assert_eq!(parts.iter().sum::<u64>(), *total);
    }
}
