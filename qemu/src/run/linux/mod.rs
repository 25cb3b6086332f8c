//! A job whose nodes are processes of this machine. They share a file in memory with each other and with us; see
//! [`kernel_rt::board::linux::share`].

use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::run::instance::{self, Fleet, Instance, Memory, Plan, Streams};
use crate::run::verdict::Stands;
use kernel_rt::board::linux::VARIABLE;
use kernel_rt::board::linux::share::{AT_TRACE, FRAMES, Layout, Trace};
use rustix::process::{Resource, Signal};
use std::ffi::OsStr;
use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Starts all nodes; see [`Fleet::boot`].
pub fn boot(
    plan: &Plan<'_>,
    mut started: impl FnMut(usize) -> Result<(), Stop>,
) -> Result<Fleet, Stop> {
    let nodes = plan.shape.nodes();
    let shared = instance::memory_file("midplane-job", Some(Layout::new(nodes).total()))?;
    let mut fleet = Fleet {
        nodes: Vec::with_capacity(nodes as usize),
    };
    for rank in 0..nodes {
        fleet.nodes.push(start(plan, rank, &shared)?);
        started(fleet.nodes.len())?;
    }
    Ok(fleet)
}

fn start(plan: &Plan<'_>, rank: u32, shared: &File) -> Result<Instance, Stop> {
    let coord = plan
        .shape
        .coord(rank)
        .ok_or_else(|| Stop::failure(format!("no rank {rank} in the machine")))?;
    let (streams, node) = instance::streams(false)?;
    let inherited = shared.try_clone().doing("share the job's memory")?;
    let bootargs = instance::boot_arguments(plan, coord)?;
    let settings = bootargs.split(" -- ").next().unwrap_or_default();
    let (program, arguments) = plan
        .argv
        .split_first()
        .ok_or_else(|| Stop::failure("a program without a name"))?;
    let mut command = match plan.under.split_first() {
        None => {
            let mut command = Command::new(&plan.image.path);
            command.arg0(OsStr::from_bytes(program));
            command
        }
        Some((under, words)) => {
            let mut command = Command::new(under);
            command.args(words).arg(&plan.image.path);
            command
        }
    };
    command
        .args(arguments.iter().map(|word| OsStr::from_bytes(word)))
        .env(
            VARIABLE,
            format!("{} {} {settings}", inherited.as_raw_fd(), plan.node_memory),
        )
        .stdout(std::os::fd::OwnedFd::from(node.stdout))
        .stderr(std::os::fd::OwnedFd::from(node.stderr));
    let reads = rank == 0;
    command.stdin(if reads {
        Stdio::inherit()
    } else {
        Stdio::null()
    });
    if !(reads && std::io::stdin().is_terminal()) {
        // Signals from the terminal are for us alone: we end the nodes in good order. Only who reads from a terminal
        // must belong to those who may.
        command.process_group(0);
    }
    if let Some(bytes) = plan.stack {
        sys::limit(&mut command, Resource::Stack, bytes);
    }
    if plan.limits_memory {
        sys::limit(&mut command, Resource::Data, plan.node_memory);
    }
    sys::bind_to_us(&mut command, Signal::KILL, vec![inherited.into()]);
    let child = command.spawn().doing(format_args!(
        "start {} for rank {rank}",
        command.get_program().display()
    ))?;
    let memory = Memory {
        ram: shared.try_clone().doing("share the job's memory")?,
        blackboard: Layout::new(plan.shape.nodes()).account(rank),
        inbox: None,
    };
    // What the process itself has to say is what its program says.
    let streams = Streams {
        complaints: None,
        ..streams
    };
    Instance::new((rank, coord), streams, child, memory)
}

/// The functions and lines where a failed node stands, innermost first.
pub fn describe(plan: &Plan<'_>, node: &Instance, stands: Stands) -> Vec<String> {
    if let Stands::At(pc) = stands {
        let places = plan.image.describe(pc);
        if !places.is_empty() {
            return places;
        }
    }
    let mut bytes = [0; 8 * FRAMES];
    let trace = Layout::new(plan.shape.nodes()).account(node.rank) + AT_TRACE;
    match node.read_ram(trace, &mut bytes) {
        Some(()) => plan.image.describe_trace(Trace::read(&bytes)),
        None => Vec::new(),
    }
}
