//! A job whose nodes are coroutines of one native process, in virtual time (`kernel-rt/cluster/carrier`). Like native
//! nodes, it shares the nodes' status records with the tool. Output arrives in messages that contain the rank.

use crate::host::error::{CliError, ErrorContext};
use crate::host::shared::SharedMemory;
use crate::host::sys;
use crate::run::instance::{ControlPipes, Instance, InstancePool, OutputChannels};
use crate::run::linux::{InheritedDescriptors, connect_streams, create_pipes, end_signal, process};
use crate::run::node::Node;
use crate::run::plan::{JobPlan, coord};
use kernel_rt::board::linux::share::{NO_RANK, PRINT_MARK, ShareLayout};
use kernel_rt::board::linux::sim_nodes::{CAPTURE, COSTS, EXPLORE, PROCESSORS, SCHEDULE};
use midplane_lab::timed::CostChange;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::rc::Rc;

/// Default stack size of a program in bytes, as on nodes.
const STACK_BYTES: u64 = 512 << 10;

/// A started process with all nodes.
pub struct ClusterProcess {
    /// The process.
    pub child: Child,
    /// Its output and error output, in messages.
    pub streams: [UnixStream; 2],
    /// The pipes by which it ends with the tool.
    pub pipes: ControlPipes,
    /// The nodes' status records.
    pub shared: Rc<SharedMemory>,
}

/// Starts all nodes; see [`boot`](super::boot::boot).
pub fn boot(plan: &JobPlan<'_>) -> Result<InstancePool, CliError> {
    let nodes = plan.shape.nodes();
    let layout = ShareLayout::new(nodes);
    let ClusterProcess {
        child,
        streams,
        pipes,
        shared,
    } = start(plan, None)?;
    let channels = OutputChannels {
        prints: streams.map(Some),
        is_several: plan.processors > 1,
        ..OutputChannels::default()
    };
    let mut instance = Instance::new((0..nodes).collect(), channels, child)?;
    instance.is_supervised = !plan.under.is_empty();
    let mut pool = InstancePool::new(&plan.shape);
    pool.pipes = Some(pipes);
    pool.instances.push(instance);
    for rank in 0..nodes {
        let coord = coord(&plan.shape, rank)?;
        let account = layout.account(rank);
        pool.nodes.push(Node::from_process(rank, coord, 0, &shared, account));
    }
    Ok(pool)
}

/// Starts the process with all nodes. With a socket it makes the runs of an exploration, without standard input.
pub fn start(plan: &JobPlan<'_>, explore: Option<OwnedFd>) -> Result<ClusterProcess, CliError> {
    let nodes = plan.shape.nodes();
    // Of the shared layout only the first part, the status records, is required.
    let layout = ShareLayout::new(nodes);
    let shared = Rc::new(SharedMemory::new("midplane-cluster", layout.words())?);
    let (stdout, its_stdout) = messages()?;
    let (stderr, its_stderr) = messages()?;
    let (pipes, theirs) = create_pipes()?;
    let first = coord(&plan.shape, 0)?;
    let stack = plan.stack.unwrap_or(STACK_BYTES);
    let inherited = InheritedDescriptors::new(plan, first, &shared, &theirs, stack)?;
    let under = inherited.wrapper_command(plan, &plan.image(0).path, 0, [None; 2])?;
    let mut command = process(plan, first, &inherited, &under)?;
    connect_streams(&mut command, [its_stdout, its_stderr], explore.is_none());
    if plan.processors > 1 {
        command.env(PROCESSORS, plan.processors.to_string());
    }
    if !plan.costs.is_empty() {
        let words: Vec<String> = plan.costs.iter().map(CostChange::to_string).collect();
        command.env(COSTS, words.join(","));
    }
    if let Some(file) = plan.schedule {
        command.env(SCHEDULE, file);
    }
    let mut descriptors = inherited.descriptors();
    if let Some(capture) = plan.capture {
        let file = capture.share()?;
        command.env(CAPTURE, file.as_raw_fd().to_string());
        descriptors.push(file);
    }
    if let Some(socket) = explore {
        command.env(EXPLORE, socket.as_raw_fd().to_string());
        descriptors.push(socket);
    }
    let is_supervised = !plan.under.is_empty();
    sys::bind_to_this_process(&mut command, end_signal(is_supervised), descriptors);
    let child = command
        .spawn()
        .context(format_args!("start {}", plan.image(0).path.display()))?;
    Ok(ClusterProcess {
        child,
        streams: [stdout, stderr],
        pipes,
        shared,
    })
}

/// Creates a socket that preserves message boundaries: the tool's non-blocking end, and the other.
pub fn messages() -> Result<(UnixStream, OwnedFd), CliError> {
    let kind = SocketType::SEQPACKET;
    let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.context("create a socket for output")?;
    let ours = UnixStream::from(ours);
    ours.set_nonblocking(true).context("set up a socket for output")?;
    Ok((ours, theirs))
}

/// Splits a message into rank and output. The rank is `None` for output of the process itself or of a library.
pub fn split_message(message: &[u8]) -> (Option<u32>, &[u8]) {
    let whose = message.strip_prefix(&PRINT_MARK).and_then(<[u8]>::split_first_chunk);
    match whose {
        Some((rank, bytes)) => {
            let rank = u32::from_ne_bytes(*rank);
            ((rank != NO_RANK).then_some(rank), bytes)
        }
        None => (None, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_has_the_rank_in_front() {
        let message = [&PRINT_MARK[..], &7_u32.to_ne_bytes(), b"hello\n"].concat();
        assert_eq!(split_message(&message), (Some(7), &b"hello\n"[..]));
        let own = [&PRINT_MARK[..], &NO_RANK.to_ne_bytes(), b"so far"].concat();
        assert_eq!(split_message(&own), (None, &b"so far"[..]));
        assert_eq!(split_message(b"MPR1abc"), (None, &b"MPR1abc"[..]));
        assert_eq!(split_message(b""), (None, &b""[..]));
    }
}
