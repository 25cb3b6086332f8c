//! A job whose nodes are processes of this machine. They share a file in memory with each other and with us; see
//! [`kernel_rt::board::linux::share`].

use crate::host::shared::Shared;
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::run::debug;
use crate::run::instance::{Ears, Fleet, Instance, stream};
use crate::run::node::Node;
use crate::run::plan::{Plan, boot_arguments, coord};
use crate::run::verdict::Stands;
use kernel_rt::board::linux::VARIABLE;
use kernel_rt::board::linux::share::{AT_TRACE, FRAMES, Layout, Trace};
use kernel_rt::personality::Nodes;
use net_torus::coord::Coord;
use rustix::process::{Resource, Signal};
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::rc::Rc;

/// Starts all nodes; see [`boot`](super::boot::boot).
pub fn boot(
    plan: &Plan<'_>,
    mut going_on: impl FnMut() -> Result<(), Stop>,
) -> Result<Fleet, Stop> {
    let nodes = plan.shape.nodes();
    let layout = Layout::new(nodes);
    let shared = Rc::new(Shared::new("midplane-job", layout.total())?);
    let mut fleet = Fleet::new(&plan.shape);
    fleet.debugger = plan.debug.map(|debug| debug.rank as usize);
    for rank in 0..nodes {
        let who = (rank, coord(&plan.shape, rank)?);
        fleet.nodes.push(Node::of_process(
            who,
            fleet.instances.len(),
            &shared,
            layout.account(rank),
        ));
        fleet.instances.push(start(plan, who, &shared)?);
        going_on()?;
    }
    Ok(fleet)
}

fn start(plan: &Plan<'_>, (rank, coord): (u32, Coord), shared: &Shared) -> Result<Instance, Stop> {
    let (stdout, node_stdout) = stream()?;
    let (stderr, node_stderr) = stream()?;
    let inherited = shared.file().try_clone().doing("share the job's memory")?;
    let told = (inherited.as_raw_fd(), plan.node_memory);
    let mut inherited: Vec<OwnedFd> = vec![inherited.into()];
    let prints: [OwnedFd; 2] = [node_stdout.into(), node_stderr.into()];
    let limits = [plan.stack, plan.limits_memory.then_some(plan.node_memory)];
    let mut command = match plan.debug.filter(|debug| debug.rank == rank) {
        Some(debug) => {
            let under = debug.under(limits, [&prints[0], &prints[1]].map(AsRawFd::as_raw_fd))?;
            inherited.extend(prints);
            let mut command = process(plan, coord, told, &under)?;
            debug::heed_terminal(&mut command, true);
            command
        }
        None => {
            let mut command = process(plan, coord, told, plan.under)?;
            give_streams(&mut command, prints, rank == 0 && plan.debug.is_none());
            for (resource, limit) in [Resource::Stack, Resource::Data].into_iter().zip(limits) {
                if let Some(bytes) = limit {
                    sys::limit(&mut command, resource, bytes);
                }
            }
            command
        }
    };
    sys::bind_to_us(&mut command, Signal::KILL, inherited);
    let child = command.spawn().doing(format_args!(
        "start {} for rank {rank}",
        command.get_program().display()
    ))?;
    // What the process itself has to say is what its program says.
    let ears = Ears {
        prints: [Some(stdout), Some(stderr)],
        ..Ears::default()
    };
    Instance::new(vec![rank], ears, child)
}

/// What starts a process of the program, `under` another command where that is not empty, and whose first node is at
/// `coord`. It is told a descriptor, which it is still to inherit, and a number of bytes.
pub fn process(
    plan: &Plan<'_>,
    coord: Coord,
    (descriptor, bytes): (RawFd, u64),
    under: &[String],
) -> Result<Command, Stop> {
    let bootargs = boot_arguments(plan, Nodes::One(coord))?;
    let settings = bootargs.split(" -- ").next().unwrap_or_default();
    let (program, arguments) = plan
        .argv
        .split_first()
        .ok_or_else(|| Stop::failure("a program without a name"))?;
    let mut command = match under.split_first() {
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
        .envs(variables(plan))
        .env(VARIABLE, format!("{descriptor} {bytes} {settings}"));
    Ok(command)
}

/// A process that prints to these files. Whether it `reads` our input.
pub fn give_streams(command: &mut Command, [stdout, stderr]: [OwnedFd; 2], reads: bool) {
    command.stdout(stdout).stderr(stderr);
    command.stdin(match reads {
        true => Stdio::inherit(),
        false => Stdio::null(),
    });
    debug::heed_terminal(command, reads);
}

/// The program's variables, name and value.
fn variables<'a>(plan: &Plan<'a>) -> impl Iterator<Item = (&'a OsStr, &'a OsStr)> {
    plan.environment.iter().filter_map(|variable| {
        let at = variable.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&variable[..at], &variable[at + 1..]);
        Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
    })
}

/// The functions and lines where a failed node stands, innermost first.
pub fn describe(plan: &Plan<'_>, node: &Node, stands: Stands) -> Vec<String> {
    let mut bytes = [0; 8 * FRAMES];
    let trace = Layout::new(plan.shape.nodes()).account(node.rank) + AT_TRACE;
    let calls = match node.read_ram(trace, &mut bytes) {
        Some(()) => Trace::read(&bytes).collect(),
        None => Vec::new(),
    };
    let pc = match stands {
        Stands::At(pc) => Some(pc),
        _ => None,
    };
    plan.image.describe_process(pc, &calls)
}
