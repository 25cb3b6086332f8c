//! A job with native processes as nodes. They share a memory file with each other and with the tool; see
//! [`kernel_rt::board::linux::share`].

pub mod names;
pub mod requests;
mod soft;
mod spawn;
pub mod supervisor;
pub mod universe;
pub mod universe_state;

use crate::host::error::{CliError, ErrorContext};
use crate::host::shared::SharedMemory;
use crate::host::sys;
use crate::run::debug;
use crate::run::instance::{ControlPipes, Instance, InstancePool, OutputChannels, output_channel};
use crate::run::linux::universe_state::{ProcessPipes, Universe};
use crate::run::node::Node;
use crate::run::outcome::FailureLocation;
use crate::run::plan::{JobPlan, coord, record_file};
use kernel_rt::board::linux::VARIABLE;
use kernel_rt::board::linux::outside::OutsideView;
use kernel_rt::board::linux::share::{AT_ANSWERED, AT_ASKED, AT_ENDS, AT_TRACE, FRAMES, ShareLayout, StackTrace};
use kernel_rt::board::linux::world::WorldView;
use midplane_abi::boot_parameters::InstanceNodes;
use net_torus::coord::Coord;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

/// Starts all nodes; see [`boot`](super::boot::boot).
pub fn boot(plan: &JobPlan<'_>, mut going_on: impl FnMut() -> Result<(), CliError>) -> Result<InstancePool, CliError> {
    let layout = ShareLayout::new(plan.shape.nodes());
    let shared = Rc::new(SharedMemory::new("midplane-job", layout.total())?);
    let mut pool = InstancePool::new(&plan.shape);
    let (pipes, theirs) = create_pipes()?;
    pool.pipes = Some(pipes);
    pool.debugger = plan.debug.map(|debug| debug.rank as usize);
    for rank in 0..plan.ranks() {
        let coord = coord(&plan.shape, rank)?;
        pool.nodes.push(Node::from_process(
            rank,
            coord,
            pool.instances.len(),
            &shared,
            layout.account(rank),
        ));
        let program = app_program(plan, rank)?;
        let world = first_view(plan, rank);
        pool.instances
            .push(start(plan, rank, &program, world, &shared, &theirs)?);
        going_on()?;
    }
    pool.universe = Some(Universe::new(shared, theirs, layout));
    Ok(pool)
}

/// Creates the pipes between the tool and the processes; returns both ends.
pub fn create_pipes() -> Result<(ControlPipes, ProcessPipes), CliError> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).context("create a pipe for the processes");
    let ((their_life, life), (their_asks, asks)) = (pipe()?, pipe()?);
    let theirs = ProcessPipes {
        life: their_life,
        asks: their_asks,
    };
    Ok((ControlPipes::new(life, asks), theirs))
}

/// Descriptors and parameters that a process inherits.
pub struct InheritedDescriptors {
    file: OwnedFd,
    life: OwnedFd,
    asks: OwnedFd,
    record: OwnedFd,
    bytes: u64,
    world: Option<WorldView>,
    outside: Option<OutsideView>,
    /// The descriptors in that view.
    links: Vec<OwnedFd>,
}

impl InheritedDescriptors {
    /// Collects the job's memory and pipes, the boot parameters of a process with its first node at `coord`, and a
    /// number of bytes.
    pub fn new(
        plan: &JobPlan<'_>,
        coord: Coord,
        shared: &SharedMemory,
        theirs: &ProcessPipes,
        bytes: u64,
    ) -> Result<Self, CliError> {
        let record = record_file(plan, InstanceNodes::One(coord))?;
        Self::from_record(record.into(), shared, theirs, bytes)
    }

    /// Collects the same from the file with the boot parameters.
    pub fn from_record(
        record: OwnedFd,
        shared: &SharedMemory,
        theirs: &ProcessPipes,
        bytes: u64,
    ) -> Result<Self, CliError> {
        let file = shared.file().try_clone().context("share the job's memory")?;
        let [life, asks] = [&theirs.life, &theirs.asks].map(OwnedFd::try_clone);
        Ok(Self {
            file: file.into(),
            life: life.context("share a pipe")?,
            asks: asks.context("share a pipe")?,
            record,
            bytes,
            world: None,
            outside: None,
            links: Vec::new(),
        })
    }

    /// Adds the view of the rank in a job over several hosts, and the descriptors in it.
    #[must_use]
    pub fn with_view(mut self, outside: OutsideView, links: Vec<OwnedFd>) -> Self {
        self.outside = Some(outside);
        self.links = links;
        self
    }

    fn words(&self) -> String {
        let descriptors = [&self.file, &self.life, &self.asks, &self.record];
        let [file, life, asks, record] = descriptors.map(AsRawFd::as_raw_fd);
        let words = format!("{file} {life} {asks} {record} {}", self.bytes);
        let world = self.world.map(WorldView::to_word);
        match world.or(self.outside.map(OutsideView::to_word)) {
            Some(view) => words + " " + &view,
            None => words,
        }
    }

    /// Returns the command line to run the process of `rank`, or of all, under; see [`supervisor`].
    pub fn wrapper_command(
        &self,
        plan: &JobPlan<'_>,
        image: &Path,
        rank: u32,
        limits: [Option<u64>; 2],
    ) -> Result<Vec<String>, CliError> {
        supervisor::supervisor_command(plan.under, image, &self.life, rank, limits)
    }

    /// Returns the descriptors to inherit.
    pub fn descriptors(self) -> Vec<OwnedFd> {
        let job = [self.file, self.life, self.asks, self.record];
        job.into_iter().chain(self.links).collect()
    }
}

/// Returns the view of a rank that the tool starts by itself; `None` in a job of one world.
fn first_view(plan: &JobPlan<'_>, rank: u32) -> Option<WorldView> {
    let universe = plan.universe?;
    Some(WorldView {
        first: 0,
        size: universe.world,
        universe: universe.size,
        appnum: plan.app(rank).0,
        parent: None,
    })
}

/// Starts the process of a rank.
fn start(
    plan: &JobPlan<'_>,
    rank: u32,
    program: &ProcessProgram<'_>,
    world: Option<WorldView>,
    shared: &SharedMemory,
    theirs: &ProcessPipes,
) -> Result<Instance, CliError> {
    let (stdout, node_stdout) = output_channel()?;
    let (stderr, node_stderr) = output_channel()?;
    let coord = coord(&plan.shape, rank)?;
    let mut inherited = InheritedDescriptors::new(plan, coord, shared, theirs, plan.node_memory)?;
    inherited.world = world;
    let prints: [OwnedFd; 2] = [node_stdout.into(), node_stderr.into()];
    let limits = [plan.stack, plan.limits_memory.then_some(plan.node_memory)];
    let debug = plan.debug.filter(|debug| debug.rank == rank);
    let (command, descriptors) = match debug {
        Some(debug) => {
            let under = debug.debugger_command(limits, [&prints[0], &prints[1]].map(AsRawFd::as_raw_fd))?;
            let mut command = program_command(program, &inherited, &under)?;
            let mut descriptors = inherited.descriptors();
            descriptors.extend(prints);
            debug::configure_terminal(&mut command, true);
            (command, descriptors)
        }
        None => {
            let under = inherited.wrapper_command(plan, &program.image, rank, limits)?;
            let mut command = program_command(program, &inherited, &under)?;
            connect_streams(&mut command, prints, rank == 0 && plan.debug.is_none());
            if under.is_empty() {
                supervisor::limit(&mut command, limits);
            }
            (command, inherited.descriptors())
        }
    };
    let mut command = command;
    let is_supervised = debug.is_none() && !plan.under.is_empty();
    sys::bind_to_this_process(&mut command, end_signal(is_supervised), descriptors);
    let child = command.spawn().context(format_args!(
        "start {} for rank {rank}",
        command.get_program().display()
    ))?;
    // All output of a native process is its program's.
    let channels = OutputChannels {
        prints: [Some(stdout), Some(stderr)],
        ..OutputChannels::default()
    };
    let mut instance = Instance::new(vec![rank], channels, child)?;
    instance.is_supervised = is_supervised;
    Ok(instance)
}

/// Returns the signal for a child when the tool ends. A [`supervisor`] must kill its descendants first.
pub fn end_signal(is_supervised: bool) -> Signal {
    if is_supervised { Signal::TERM } else { Signal::KILL }
}

/// Creates the command for a process of the program, run by the command `under` if it is not empty. Its first node is
/// at `coord`.
pub fn process(
    plan: &JobPlan<'_>,
    coord: Coord,
    inherited: &InheritedDescriptors,
    under: &[String],
) -> Result<Command, CliError> {
    let program = app_program(plan, plan.shape.rank(coord).unwrap_or(0))?;
    program_command(&program, inherited, under)
}

/// Returns the program of a rank that the tool starts by itself.
fn app_program<'a>(plan: &'a JobPlan<'_>, rank: u32) -> Result<ProcessProgram<'a>, CliError> {
    let (_, app) = plan.app(rank);
    // The process changes to its working directory before it starts.
    let path = app.directory.map(|_| std::path::absolute(&app.image.path));
    let path = path.transpose().context("find the program's directory")?;
    Ok(ProcessProgram {
        image: path.unwrap_or_else(|| app.image.path.clone()),
        argv: app.argv,
        environment: app.environment,
        directory: app.directory,
    })
}

/// A program of native processes.
pub struct ProcessProgram<'a> {
    /// Path of its executable, valid in `directory`.
    pub image: PathBuf,
    /// Arguments, with its name.
    pub argv: &'a [Vec<u8>],
    /// Additional variables, each as NAME=VALUE.
    pub environment: &'a [Vec<u8>],
    /// Working directory, if it is not this command's.
    pub directory: Option<&'a Path>,
}

/// Creates the command for a process of a program, run by the command `under` if it is not empty.
///
/// # Errors
/// Returns an error for a program without a name.
pub fn program_command(
    program: &ProcessProgram<'_>,
    inherited: &InheritedDescriptors,
    under: &[String],
) -> Result<Command, CliError> {
    let image = &program.image;
    let (name, arguments) =
        { program.argv.split_first() }.ok_or_else(|| CliError::failure("a program without a name"))?;
    let mut command = match under.split_first() {
        None => {
            let mut command = Command::new(image);
            command.arg0(OsStr::from_bytes(name));
            command
        }
        Some((under, words)) => {
            let mut command = Command::new(under);
            command.args(words).arg(image);
            command
        }
    };
    command
        .args(arguments.iter().map(|word| OsStr::from_bytes(word)))
        .envs(variables(program.environment))
        .env(VARIABLE, inherited.words());
    if let Some(directory) = program.directory {
        command.current_dir(directory);
    }
    Ok(command)
}

/// Notifies a rank whose program has ended that the job is over. Must be repeated until its process has ended, because
/// the process may just fall asleep.
pub fn allow_end(plan: &JobPlan<'_>, node: &Node) {
    node.set_control_word(AT_ENDS, 1);
    node.ring(ShareLayout::new(plan.shape.nodes()).word(node.rank));
}

/// Requests the processes' counters, with the sequence number `time` starting at 1. Must be repeated until they [have
/// answered](has_published), because a process may just fall asleep.
pub fn request_counters(pool: &InstancePool, time: u32) {
    for node in &pool.nodes {
        node.set_control_word(AT_ASKED, time);
    }
    if let Some(pipes) = &pool.pipes {
        // The pipe may have no readers any more.
        let _ = rustix::io::write(&pipes.asks, b"?");
    }
}

/// Checks whether a node has published its counters since the request.
pub fn has_published(node: &Node) -> bool {
    node.control_word(AT_ANSWERED) == node.control_word(AT_ASKED)
}

/// Connects a process's output to these files. `reads` specifies whether it uses the tool's stdin.
pub fn connect_streams(command: &mut Command, [stdout, stderr]: [OwnedFd; 2], reads: bool) {
    command.stdout(stdout).stderr(stderr);
    command.stdin(if reads { Stdio::inherit() } else { Stdio::null() });
    debug::configure_terminal(command, reads);
}

/// Returns the program's environment variables as name and value.
fn variables(environment: &[Vec<u8>]) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    environment.iter().filter_map(|variable| {
        let at = variable.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&variable[..at], &variable[at + 1..]);
        Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
    })
}

/// Returns the return addresses that a process has shown.
pub fn trace(plan: &JobPlan<'_>, node: &Node) -> Option<[u8; 8 * FRAMES]> {
    let mut bytes = [0; 8 * FRAMES];
    let trace = ShareLayout::new(plan.shape.nodes()).account(node.rank) + AT_TRACE;
    node.read_ram(trace, &mut bytes)?;
    Some(bytes)
}

/// Returns the functions and lines of a failed node's location, innermost first.
pub fn describe(plan: &JobPlan<'_>, node: &Node, stands: FailureLocation) -> Vec<String> {
    let calls = match trace(plan, node) {
        Some(bytes) => StackTrace::read(&bytes).collect(),
        None => Vec::new(),
    };
    let pc = match stands {
        FailureLocation::At(pc) => Some(pc),
        _ => None,
    };
    if node.has_own_program {
        return Vec::new();
    }
    plan.image(node.rank).describe_process(pc, &calls)
}
