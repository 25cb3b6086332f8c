//! The head of a job over several hosts: starts the agents and, by them, the ranks.

use crate::host::error::{CliError, ErrorContext};
use crate::host::shared::SharedMemory;
use crate::run::hosts::batch::MAX_DATA;
use crate::run::hosts::division::HostPlan;
use crate::run::hosts::hub::{AgentStage, HostHub};
use crate::run::hosts::message::{HostJob, HostProgram, PeerAddresses, to_agent};
use crate::run::instance::{Instance, InstancePool};
use crate::run::node::Node;
use crate::run::plan::{JobPlan, PlannedApp, boot_record, coord};
use kernel_rt::board::linux::share::ShareLayout;
use midplane_abi::boot_parameters::InstanceNodes;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

/// Starts the agents of all hosts, and their ranks; see [`boot`](crate::run::boot::boot).
pub fn boot(
    plan: &JobPlan<'_>,
    hosts: &HostPlan,
    mut going_on: impl FnMut() -> Result<(), CliError>,
) -> Result<InstancePool, CliError> {
    let layout = ShareLayout::new(plan.shape.nodes());
    let shared = Rc::new(SharedMemory::new("midplane-job", layout.total())?);
    let mut hub = HostHub::start(hosts, &shared, layout, &mut going_on)?;
    send_job(&mut hub, plan, hosts, &mut going_on)?;
    hub.reach(AgentStage::Listening, &mut going_on)?;
    let addresses: Option<Vec<_>> = hub.hosts.iter().map(|host| host.address.clone()).collect();
    let addresses = addresses.ok_or_else(|| CliError::failure("an agent has sent no address"))?;
    let addresses = serde_json::to_vec(&PeerAddresses(addresses)).context("describe the addresses")?;
    hub.send_all(to_agent::PEERS, 0, &addresses);
    hub.reach(AgentStage::Linked, &mut going_on)?;
    hub.send_all(to_agent::START, 0, &[]);
    let mut pool = InstancePool::new(&plan.shape);
    for rank in 0..plan.shape.nodes() {
        let coord = coord(&plan.shape, rank)?;
        let at = pool.instances.len();
        pool.nodes
            .push(Node::from_process(rank, coord, at, &shared, layout.account(rank)));
        pool.instances.push(Instance::remote(rank));
    }
    pool.hosts = Some(hub);
    Ok(pool)
}

/// Sends the job and the images of its programs to all hosts.
fn send_job(
    hub: &mut HostHub,
    plan: &JobPlan<'_>,
    hosts: &HostPlan,
    going_on: &mut impl FnMut() -> Result<(), CliError>,
) -> Result<(), CliError> {
    let directory = std::env::current_dir().ok();
    let program = |app: &PlannedApp<'_>| HostProgram {
        first: app.first,
        arguments: app.argv.to_vec(),
        environment: app.environment.to_vec(),
        directory: { app.directory.or(directory.as_deref()) }.map(|path| path.as_os_str().as_bytes().to_vec()),
        requires_directory: app.directory.is_some(),
        image_bytes: app.image.bytes.len() as u64,
    };
    for at in 0..hub.hosts.len() {
        let ranks = hub.hosts[at].ranks.iter();
        let records = ranks.map(|rank| boot_record(plan, InstanceNodes::One(coord(&plan.shape, *rank)?)));
        let job = HostJob {
            hosts: hosts.names.clone(),
            extents: plan.shape.extents(),
            wraps: plan.shape.wraps(),
            parts: hosts.division.parts(),
            programs: plan.apps.iter().map(program).collect(),
            records: records.collect::<Result<_, CliError>>()?,
            node_memory: plan.node_memory,
            limits: [plan.stack, plan.limits_memory.then_some(plan.node_memory)],
            seal: plan.seal,
        };
        let job = serde_json::to_vec(&job).context("describe the job")?;
        hub.send_pieces(at, to_agent::JOB, &job);
    }
    for (number, app) in plan.apps.iter().enumerate() {
        for part in app.image.bytes.chunks(MAX_DATA / 2) {
            hub.send_all(to_agent::IMAGE, number as u32, part);
            hub.flush(going_on)?;
        }
    }
    hub.send_all(to_agent::COMPLETE, 0, &[]);
    Ok(())
}
