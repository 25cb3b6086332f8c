//! Boot of emulated machines, with one or several nodes per instance.

use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::SystemTool;
use crate::host::shared::{SharedMemory, memory_file};
use crate::host::sys;
use crate::run::boxes::InstanceBoxes;
use crate::run::doorbell::{self, Doorbells};
use crate::run::instance::{Instance, InstancePool, OutputChannels, output_channel};
use crate::run::node::{self, Node};
use crate::run::packets::filter_dump::DumpPipe;
use crate::run::plan::{Backend, JobPlan, coord, record_file};
use crate::run::sockets::{LinkSockets, frame_link, serial_line};
use crate::run::stm32f405;
use crate::run::wiring::{InstanceContent, Wiring};
use midplane_abi::boot_parameters::{BoxParameters, InstanceNodes};
use midplane_abi::stm32f405::WINDOW_BYTES;
use net_torus::coord::{Coord, Direction};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::rc::Rc;
use std::time::Instant;

/// Starts all nodes of the plan with this emulator; see [`boot`](super::boot::boot).
pub fn boot(
    plan: &JobPlan<'_>,
    qemu: &SystemTool,
    going_on: &mut impl FnMut() -> Result<(), CliError>,
) -> Result<InstancePool, CliError> {
    let files = ImageFiles::new(plan)?;
    let mut pool = InstancePool::new(&plan.shape);
    match (plan.backend, &plan.boxes) {
        (Backend::Boards(_), _) => pool.boot_boards(plan, qemu, &files, going_on)?,
        (_, None) => pool.boot_singly(plan, qemu, &files, going_on)?,
        (_, Some(boxes)) => pool.boot_boxes(plan, qemu, boxes, &files, going_on)?,
    }
    Ok(pool)
}

/// The programs' images in memory files for QEMU.
struct ImageFiles(Vec<File>);

impl ImageFiles {
    fn new(plan: &JobPlan<'_>) -> Result<Self, CliError> {
        let files = plan.apps.iter().map(|app| {
            let mut file = memory_file("midplane-image")?;
            file.write_all(&app.image.bytes).context("copy the image into memory")?;
            Ok(file)
        });
        files.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the image of a rank's program.
    fn rank_file(&self, plan: &JobPlan<'_>, rank: u32) -> &File {
        &self.0[plan.app(rank).0 as usize]
    }
}

/// Adds a pipe for each link of a node whose frames are captured. Returns QEMU's ends.
fn add_dumps(
    plan: &JobPlan<'_>,
    rank: u32,
    links: &[(Direction, i32)],
    pipes: &mut Vec<DumpPipe>,
) -> Result<Vec<(Direction, OwnedFd)>, CliError> {
    let Some(capture) = plan.capture else {
        return Ok(Vec::new());
    };
    let mut ends = Vec::new();
    for (direction, _) in links {
        let direction = *direction;
        if capture.links().has(rank, direction) {
            let (pipe, end) = pipe_with(PipeFlags::CLOEXEC).context("create a pipe for captured packets")?;
            fcntl_setfl(&pipe, OFlags::NONBLOCK).context("set up a pipe for captured packets")?;
            pipes.push(DumpPipe { rank, direction, pipe });
            ends.push((direction, end));
        }
    }
    Ok(ends)
}

impl InstancePool {
    fn boot_singly(
        &mut self,
        plan: &JobPlan<'_>,
        qemu: &SystemTool,
        files: &ImageFiles,
        going_on: &mut impl FnMut() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut sockets = LinkSockets::new(&plan.shape, frame_link);
        // Address of the machine that waits for its debugger.
        let mut waiting = None;
        let (started, mut pipes) = (Instant::now(), Vec::new());
        for rank in 0..plan.shape.nodes() {
            let coord = coord(&plan.shape, rank)?;
            let ram = Rc::new(SharedMemory::new("midplane-ram", plan.node_memory)?);
            let links = sockets.take_ends(rank)?;
            let numbers = numbers(&links);
            let mut inherited: Vec<OwnedFd> = links.into_iter().map(|(_, socket)| socket).collect();
            let mut dumps = Vec::new();
            for (direction, pipe) in add_dumps(plan, rank, &numbers, &mut pipes)? {
                dumps.push((direction, pipe.as_raw_fd()));
                inherited.push(pipe);
            }
            let mut debugger = None;
            if plan.debug.is_some_and(|debug| debug.rank == rank) {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                    .context("create a socket for the debugger (TCP on 127.0.0.1)")?;
                waiting = Some(listener.local_addr().context("query the debugger's socket")?);
                debugger = Some(listener.as_raw_fd());
                inherited.push(listener.into());
            }
            let carries = InstanceContent::One {
                links: &numbers,
                dumps: &dumps,
                debugger,
            };
            let instance = self.start(
                (plan, qemu),
                InstanceNodes::One(coord),
                (files.rank_file(plan, rank), &ram),
                carries,
                inherited,
                vec![rank],
            )?;
            self.nodes.push(Node::new(
                rank,
                coord,
                plan.image(rank),
                instance,
                &ram,
                node::MemoryLocation::Entire,
            ));
            going_on()?;
        }
        if let Some(capture) = plan.capture {
            capture.read_dumps(pipes, started)?;
        }
        if let (Some(debug), Some(at)) = (plan.debug, waiting) {
            let child = debug.attach(plan.image(debug.rank), at)?;
            self.debugger = Some(self.instances.len());
            self.instances
                .push(Instance::new(Vec::new(), OutputChannels::default(), child)?);
        }
        Ok(())
    }

    fn boot_boards(
        &mut self,
        plan: &JobPlan<'_>,
        qemu: &SystemTool,
        files: &ImageFiles,
        going_on: &mut impl FnMut() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut sockets = LinkSockets::new(&plan.shape, serial_line);
        for rank in 0..plan.shape.nodes() {
            let coord = coord(&plan.shape, rank)?;
            let window = Rc::new(SharedMemory::new("midplane-window", WINDOW_BYTES)?);
            let mut lines = sockets.take_ends(rank)?;
            if let Some(console) = plan.console.filter(|console| console.at == coord) {
                let (ours, theirs) = serial_line()?;
                fcntl_setfl(&ours, OFlags::NONBLOCK).context("set up the console")?;
                lines.push((console.direction, theirs));
                self.console = Some(ours);
            }
            let image = files.rank_file(plan, rank);
            let instance = self.start_board(plan, qemu, rank, image, &window, lines)?;
            let place = node::MemoryLocation::Entire;
            self.nodes
                .push(Node::new(rank, coord, plan.image(rank), instance, &window, place));
            going_on()?;
        }
        Ok(())
    }

    /// Starts the board of a node; returns the instance's index.
    fn start_board(
        &mut self,
        plan: &JobPlan<'_>,
        qemu: &SystemTool,
        rank: u32,
        image: &File,
        window: &SharedMemory,
        links: Vec<(Direction, OwnedFd)>,
    ) -> Result<usize, CliError> {
        let coord = coord(&plan.shape, rank)?;
        let personality = record_file(plan, InstanceNodes::One(coord))?;
        let (bell, node_bell) = output_channel()?;
        let (complaints, node_complaints) = output_channel()?;
        let image = image.try_clone().context("share the image")?;
        let window = window.file().try_clone().context("share a node's window")?;
        let numbers = numbers(&links);
        let arguments = stm32f405::Wiring {
            image: image.as_raw_fd(),
            personality: personality.as_raw_fd(),
            window: window.as_raw_fd(),
            links: &numbers,
            bell: node_bell.as_raw_fd(),
            sandbox: plan.sandbox,
        }
        .arguments();
        let mut inherited: Vec<OwnedFd> = vec![image.into(), personality.into(), window.into(), node_bell.into()];
        inherited.extend(links.into_iter().map(|(_, socket)| socket));
        let child = spawn(qemu, arguments, inherited, node_complaints.into(), rank)?;
        let channels = OutputChannels {
            bell: Some(bell),
            complaints: Some(complaints),
            ..OutputChannels::default()
        };
        self.instances.push(Instance::new(vec![rank], channels, child)?);
        Ok(self.instances.len() - 1)
    }

    fn boot_boxes(
        &mut self,
        plan: &JobPlan<'_>,
        qemu: &SystemTool,
        boxes: &InstanceBoxes,
        files: &ImageFiles,
        going_on: &mut impl FnMut() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let division = boxes.division;
        if division.instances() > 1 {
            self.doorbells = Some(Doorbells::new(&division)?);
        }
        for number in 0..division.instances() {
            let within = division.node_box(number);
            let first = within.and_then(|within| plan.shape.rank(within.origin));
            let first = first.unwrap_or(0);
            let image = plan.image(first);
            let layout = boxes.layout(number, image.end)?;
            let nodes = BoxParameters {
                division,
                instance: number,
                node_memory: layout.node_memory,
            };
            let within = nodes.nodes();
            let coords: Vec<Coord> = (0..layout.nodes).filter_map(|k| within.coord(k)).collect();
            let ranks: Vec<u32> = coords.iter().filter_map(|c| plan.shape.rank(*c)).collect();
            let ram = Rc::new(SharedMemory::new("midplane-ram", layout.total())?);
            let socket = self.doorbells.as_mut().map(Doorbells::connect).transpose()?;
            let carries = InstanceContent::Box {
                nodes: layout.nodes,
                doorbell: { socket.as_ref() }.map(|socket| (socket.as_raw_fd(), doorbell::vectors(&division))),
            };
            let sockets = socket.into_iter().map(OwnedFd::from).collect();
            let files = (files.rank_file(plan, first), &*ram);
            let nodes = InstanceNodes::Box(nodes);
            let instance = self.start((plan, qemu), nodes, files, carries, sockets, ranks.clone())?;
            for (index, (rank, coord)) in (0..).zip(ranks.into_iter().zip(coords)) {
                let code = image.code;
                let place = node::MemoryLocation::InBox { layout, index, code };
                self.nodes.push(Node::new(rank, coord, image, instance, &ram, place));
            }
            going_on()?;
        }
        self.nodes.sort_by_key(|node| node.rank);
        Ok(())
    }

    /// Starts a process for `nodes` with these `ranks`; returns the instance's index. The process also inherits
    /// `sockets`.
    fn start(
        &mut self,
        (plan, qemu): (&JobPlan<'_>, &SystemTool),
        nodes: InstanceNodes,
        (image, ram): (&File, &SharedMemory),
        carries: InstanceContent<'_>,
        sockets: Vec<OwnedFd>,
        ranks: Vec<u32>,
    ) -> Result<usize, CliError> {
        let record = record_file(plan, nodes)?;
        let (bell, node_bell) = output_channel()?;
        let (complaints, node_complaints) = output_channel()?;
        let image = image.try_clone().context("share the image")?;
        let memory = ram.file().try_clone().context("share an instance's memory")?;
        let arguments = Wiring {
            memory: ram.bytes(),
            ram: memory.as_raw_fd(),
            image: image.as_raw_fd(),
            record: record.as_raw_fd(),
            carries,
            bell: node_bell.as_raw_fd(),
            sandbox: plan.sandbox,
            counted: plan.counted,
        }
        .arguments();
        let mut inherited: Vec<OwnedFd> = vec![image.into(), memory.into(), record.into(), node_bell.into()];
        inherited.extend(sockets);
        let first = ranks.first().copied().unwrap_or(0);
        let child = spawn(qemu, arguments, inherited, node_complaints.into(), first)?;
        let channels = OutputChannels {
            bell: Some(bell),
            complaints: Some(complaints),
            ..OutputChannels::default()
        };
        self.instances.push(Instance::new(ranks, channels, child)?);
        Ok(self.instances.len() - 1)
    }
}

/// Returns the numbers of the inherited link descriptors.
fn numbers(links: &[(Direction, OwnedFd)]) -> Vec<(Direction, i32)> {
    let number = |(direction, socket): &(Direction, OwnedFd)| (*direction, socket.as_raw_fd());
    links.iter().map(number).collect()
}

/// Starts QEMU with these inherited descriptors and `complaints` as stderr.
fn spawn(
    qemu: &SystemTool,
    arguments: Vec<String>,
    inherited: Vec<OwnedFd>,
    complaints: OwnedFd,
    rank: u32,
) -> Result<Child, CliError> {
    let mut command = qemu.command();
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(complaints)
        // Terminal signals are for this process only; it ends the nodes in order.
        .process_group(0);
    sys::bind_to_this_process(&mut command, Signal::KILL, inherited);
    command
        .spawn()
        .context(format_args!("start {} for rank {rank}", qemu.path.display()))
}
