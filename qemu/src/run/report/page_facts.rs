//! Facts of a job for the HTML page.

use super::{JobFacts, NodeCounters, links_of};
use crate::run::job_result::JobResult;
use crate::run::outcome::ObservedNode;
use crate::run::plan::Backend;
use midplane_abi::counters::ChannelCounter;
use midplane_trace::page;
use net_torus::{Direction, Shape};

/// Collects the facts.
pub fn collect(shape: &Shape, job: &JobFacts, backend: &Backend<'_>, end: &JobResult) -> page::JobFacts {
    page::JobFacts {
        program: job.program.clone(),
        arguments: job.arguments.clone(),
        platform: platform(backend),
        extents: job.torus,
        wraps: job.wraps,
        outcome: format!("{:?}", end.outcome).to_lowercase(),
        status: end.status,
        message: end.message.clone(),
        elapsed: end.elapsed,
        virtual_time: end.virtual_time,
        mpi_memory: job.mpi_memory,
        matching: job.matching.clone(),
        nodes: end.nodes.iter().map(|node| node_facts(shape, node)).collect(),
    }
}

fn platform(backend: &Backend<'_>) -> &'static str {
    match backend {
        Backend::Qemu(_) => "nodes in QEMU",
        Backend::Boards(_) => "boards in QEMU",
        Backend::Linux => "Linux processes",
        Backend::Cluster => "simulator",
        Backend::Attached(_) => "attached boards",
    }
}

fn node_facts(shape: &Shape, node: &ObservedNode) -> page::NodeFacts {
    let counters = NodeCounters::from_node(node);
    let mut links = [None; Direction::ALL.len()];
    for (direction, _, counters) in links_of(shape, node) {
        links[direction as usize] = Some(counters.all_channels_counter(ChannelCounter::PacketsSent));
    }
    page::NodeFacts {
        coordinates: [node.coord.x, node.coord.y, node.coord.z],
        counters: counters.0.to_vec(),
        idle_share: counters.idle_share(),
        links,
    }
}
