//! Start of a job's nodes on any back end.

use crate::host::error::CliError;
use crate::host::shared::SharedMemory;
use crate::run::instance::InstancePool;
use crate::run::node::{MemoryLocation, Node};
use crate::run::plan::{Backend, JobPlan, coord};
use crate::run::{cluster, hosts, linux, machines};
use midplane_abi::stm32f405::WINDOW_BYTES;
use std::rc::Rc;

/// Starts all nodes. Calls `going_on` after each process; if it returns an error, all processes are ended again. Call
/// from the main thread (see [`sys::bind_to_this_process`](crate::host::sys::bind_to_this_process)).
pub fn boot(plan: &JobPlan<'_>, mut going_on: impl FnMut() -> Result<(), CliError>) -> Result<InstancePool, CliError> {
    match plan.backend {
        Backend::Qemu(qemu) | Backend::Boards(qemu) => machines::boot(plan, qemu, &mut going_on),
        Backend::Linux => match plan.hosts {
            Some(hosts) => hosts::head::boot(plan, hosts, going_on),
            None => linux::boot(plan, going_on),
        },
        Backend::Cluster => cluster::boot(plan),
        Backend::Attached(_) => boot_attached(plan),
    }
}

/// Creates nodes for boards that were started by others: memory windows that receive the boards' records.
fn boot_attached(plan: &JobPlan<'_>) -> Result<InstancePool, CliError> {
    let mut pool = InstancePool::new(&plan.shape);
    for rank in 0..plan.shape.nodes() {
        let coord = coord(&plan.shape, rank)?;
        let window = Rc::new(SharedMemory::new("midplane-window", WINDOW_BYTES)?);
        let node = Node::new(rank, coord, plan.image(rank), 0, &window, MemoryLocation::Entire);
        pool.nodes.push(node);
    }
    Ok(pool)
}
