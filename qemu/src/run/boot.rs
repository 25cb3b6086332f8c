//! Start of a job's nodes on any back end.

use crate::host::shared::Shared;
use crate::host::stop::Stop;
use crate::run::instance::Fleet;
use crate::run::node::{Node, OwnMemory};
use crate::run::plan::{Backend, Plan, coord};
use crate::run::{cluster, linux, machines};
use midplane_abi::stm32f405::WINDOW_BYTES;
use std::rc::Rc;

/// Starts all nodes. Calls `going_on` after each process; if it returns an error, all processes are ended again. Call
/// from the main thread (see [`sys::bind_to_us`](crate::host::sys::bind_to_us)).
pub fn boot(
    plan: &Plan<'_>,
    mut going_on: impl FnMut() -> Result<(), Stop>,
) -> Result<Fleet, Stop> {
    match plan.backend {
        Backend::Qemu(qemu) | Backend::Boards(qemu) => machines::boot(plan, qemu, &mut going_on),
        Backend::Linux => linux::boot(plan, going_on),
        Backend::Cluster => cluster::boot(plan),
        Backend::Attached(_) => of_boards(plan),
    }
}

/// Creates nodes for boards that were started by others: memory windows that receive the boards' records.
fn of_boards(plan: &Plan<'_>) -> Result<Fleet, Stop> {
    let mut fleet = Fleet::new(&plan.shape);
    for rank in 0..plan.shape.nodes() {
        let who = (rank, coord(&plan.shape, rank)?);
        let window = Rc::new(Shared::new("midplane-window", WINDOW_BYTES)?);
        let node = Node::new(who, plan.image(rank), 0, &window, OwnMemory::Whole);
        fleet.nodes.push(node);
    }
    Ok(fleet)
}
