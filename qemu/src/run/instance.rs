//! QEMU instances: start, see how they fare, kill. All of them end when this process does.

use crate::build::image::Image;
use crate::host::setup::Tool;
use crate::host::shared::{Shared, memory_file};
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::host::used::{self, Used};
use crate::run::boxes::Boxes;
use crate::run::cluster;
use crate::run::debug::Debug;
use crate::run::doorbell::{self, Doorbells};
use crate::run::line::Port;
use crate::run::linux;
use crate::run::node::{self, Node};
use crate::run::stm32f405;
use crate::run::topology::{self, End};
use crate::run::wiring::{Carries, Wiring};
use kernel_rt::board::stm32f405::memory::WINDOW_BYTES;
use kernel_rt::personality::{Auto, BootArgs, Boxed, Console, Nodes, Output};
use mpi_adi::matching::Choice;
use net_torus::coord::{Coord, Direction, Shape};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::rc::Rc;

/// What to boot.
pub struct Plan<'a> {
    /// What the nodes are.
    pub backend: Backend<'a>,
    /// What every node runs.
    pub image: &'a Image,
    /// The machine.
    pub shape: Shape,
    /// How nodes share instances; without it each has one to itself.
    pub boxes: Option<Boxes>,
    /// RAM of a node in bytes.
    pub node_memory: u64,
    /// Whether the user said how much memory a node has: a process is given more otherwise.
    pub limits_memory: bool,
    /// Stack of the program in bytes, when said; images have theirs built in.
    pub stack: Option<u64>,
    /// Processes that are to have the nodes of a cluster.
    pub processors: usize,
    /// What starts each node's process; empty: nothing. For processes of this machine only.
    pub under: &'a [String],
    /// The rank that has a debugger. In QEMU each node is then an instance of its own.
    pub debug: Option<&'a Debug>,
    /// Region for incoming MPI traffic in bytes.
    pub mpi_memory: u64,
    /// Greatest message in bytes that is sent eagerly, when said.
    pub eager: Option<u64>,
    /// How many percent of a processor interrupts take at most while the program computes, when said.
    pub interrupts: Option<u8>,
    /// Whether the program's heap lends to MPI what it can spare.
    pub mpi_borrow: bool,
    /// The matching engine that the image was built for, when it is known: the nodes check it.
    pub matching: Option<Choice>,
    /// The word that orders faults of the links, when they are to have some.
    pub faults: Option<&'a str>,
    /// Whether the nodes find their places out from the wires.
    pub auto: bool,
    /// Where the nodes, which are boards, have their serial console, if that is what is shown of them.
    pub console: Option<Console>,
    /// The program's environment, NAME=VALUE each.
    pub environment: &'a [Vec<u8>],
    /// The program's argv.
    pub argv: &'a [Vec<u8>],
    /// Whether the kernels' logs are wanted.
    pub log: bool,
    /// Whether the processors' counters of instructions are exact.
    pub counted: bool,
    /// Whether the emulator can lock itself in.
    pub sandbox: bool,
}

/// What the nodes of a job are.
#[derive(Clone, Copy)]
pub enum Backend<'a> {
    /// Machines that this emulator emulates.
    Qemu(&'a Tool),
    /// Boards that this emulator emulates, each an STM32F405.
    Boards(&'a Tool),
    /// Processes of this machine.
    Linux,
    /// Coroutines in one process of this machine, in virtual time.
    Cluster,
    /// Boards that have been started already, whose console this port is at.
    Attached(&'a Port),
}

impl<'a> Plan<'a> {
    /// For a machine of this shape, of nodes with so much RAM; all else is as little as can be.
    pub fn of_machine(
        backend: Backend<'a>,
        image: &'a Image,
        shape: Shape,
        node_memory: u64,
    ) -> Self {
        Self {
            backend,
            image,
            shape,
            boxes: None,
            node_memory,
            limits_memory: false,
            stack: None,
            processors: 1,
            under: &[],
            debug: None,
            mpi_memory: 0,
            eager: None,
            interrupts: None,
            mpi_borrow: false,
            matching: None,
            faults: None,
            auto: false,
            console: None,
            environment: &[],
            argv: &[],
            log: false,
            counted: false,
            sandbox: false,
        }
    }
}

impl Backend<'_> {
    /// What a process that carries nodes is called.
    pub fn process(self) -> &'static str {
        match self {
            Backend::Qemu(_) | Backend::Boards(_) => "QEMU process",
            Backend::Linux | Backend::Cluster => "process",
            Backend::Attached(_) => "board",
        }
    }
}

/// One process, which carries nodes: QEMU, or a program of this machine, which is one node.
pub struct Instance {
    /// The ranks that it carries, in the order of their numbers in it.
    pub ranks: Vec<u32>,
    /// What we hear of it.
    pub ears: Ears,
    /// Readable when the process has ended.
    pub pidfd: OwnedFd,
    /// How the process ended, once [`Instance::reap`] has found out.
    pub gone: Option<ExitStatus>,
    child: Child,
}

/// What is heard of a process: our ends of sockets, which do not block. Each is there for one kind of process only.
#[derive(Default)]
pub struct Ears {
    /// The nodes' bell: a byte for each ring, the node's number modulo 256.
    pub bell: Option<UnixStream>,
    /// What QEMU itself has to say.
    pub complaints: Option<UnixStream>,
    /// What the program of a process that is a node prints: stdout and stderr.
    pub prints: [Option<UnixStream>; 2],
    /// It has forked others that have its nodes, and die with it.
    pub is_several: bool,
}

impl Instance {
    /// A process that has been started.
    pub fn new(ranks: Vec<u32>, ears: Ears, child: Child) -> Result<Self, Stop> {
        let mut child = Unclaimed(Some(child));
        let first = ranks.first().copied().unwrap_or(0);
        let pidfd = pidfd_open(sys::pid_of(child.as_ref()), PidfdFlags::empty())
            .doing(format_args!("watch the process of rank {first}"))?;
        Ok(Self {
            ranks,
            ears,
            pidfd,
            gone: None,
            child: child.claim(),
        })
    }

    /// Takes note of the process's end, if it has ended.
    pub fn reap(&mut self) {
        if self.gone.is_none() {
            self.gone = self.child.try_wait().ok().flatten();
        }
    }

    /// What it has used so far; `None`: it has ended.
    pub fn used(&self) -> Option<Used> {
        Used::by_family(self.child.id())
    }

    fn signal(&self, signal: Signal) {
        if self.gone.is_none() {
            // The descriptor names our child and no other process; it may have ended meanwhile.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }

    /// Kills the process; those that die with it.
    fn kill(&self) -> Vec<OwnedFd> {
        if self.gone.is_some() {
            return Vec::new();
        }
        let others = match self.ears.is_several {
            true => self.children(),
            false => Vec::new(),
        };
        self.signal(Signal::KILL);
        others
    }

    /// The processes that it has started.
    fn children(&self) -> Vec<OwnedFd> {
        let open = |pid: u32| pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok();
        let children = used::children(self.child.id());
        children.into_iter().filter_map(open).collect()
    }
}

/// All of a job. Dropping it kills the processes.
pub struct Fleet {
    /// The processes.
    pub instances: Vec<Instance>,
    /// The nodes, in the order of their ranks.
    pub nodes: Vec<Node>,
    /// The bells between instances that carry boxes.
    pub doorbells: Option<Doorbells>,
    /// The other end of the boards' serial console.
    pub console: Option<OwnedFd>,
    /// The process that is the debugger, or carries the debugged rank within it.
    pub debugger: Option<usize>,
    /// What the debugger had started when it was asked to end: its rank dies with it, a moment later.
    pub leaving: Vec<OwnedFd>,
}

/// How long what leaves with the debugger is waited for. It has been killed by then; what a debugger has started besides
/// is its own.
const LEAVES_WITHIN: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

impl Fleet {
    /// Starts all nodes. `going_on` is called after each process; when it returns an error, everything is taken
    /// down again. Call from the main thread (see [`sys::bind_to_us`]).
    pub fn boot(
        plan: &Plan<'_>,
        mut going_on: impl FnMut() -> Result<(), Stop>,
    ) -> Result<Self, Stop> {
        let qemu = match plan.backend {
            Backend::Qemu(qemu) | Backend::Boards(qemu) => qemu,
            Backend::Linux => return linux::boot(plan, going_on),
            Backend::Cluster => return cluster::boot(plan),
            Backend::Attached(_) => return Self::of_boards(plan),
        };
        let image = memory_file("midplane-image")?;
        (&image)
            .write_all(&plan.image.bytes)
            .doing("copy the image into memory")?;
        let mut fleet = Self {
            instances: Vec::new(),
            nodes: Vec::with_capacity(plan.shape.nodes() as usize),
            doorbells: None,
            console: None,
            debugger: None,
            leaving: Vec::new(),
        };
        if let Backend::Boards(_) = plan.backend {
            fleet.boot_boards(plan, qemu, &image, &mut going_on)?;
            return Ok(fleet);
        }
        match &plan.boxes {
            None => fleet.boot_singly(plan, qemu, &image, &mut going_on)?,
            Some(boxes) => fleet.boot_boxes(plan, qemu, (boxes, &image), &mut going_on)?,
        }
        Ok(fleet)
    }

    /// Boards that have been started by others: windows, into which the records go that come.
    fn of_boards(plan: &Plan<'_>) -> Result<Self, Stop> {
        let nodes = (0..plan.shape.nodes()).map(|rank| {
            let who = (rank, coord(&plan.shape, rank)?);
            let window = Rc::new(Shared::new("midplane-window", WINDOW_BYTES)?);
            let place = node::OwnMemory::Whole;
            Ok(Node::new(who, plan.image, 0, &window, place))
        });
        Ok(Self {
            instances: Vec::new(),
            nodes: nodes.collect::<Result<_, Stop>>()?,
            doorbells: None,
            console: None,
            debugger: None,
            leaving: Vec::new(),
        })
    }

    fn boot_singly(
        &mut self,
        plan: &Plan<'_>,
        qemu: &Tool,
        image: &File,
        going_on: &mut impl FnMut() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut sockets = Sockets::new(&plan.shape, frame_link);
        // Where a machine waits for its debugger.
        let mut waiting = None;
        for rank in 0..plan.shape.nodes() {
            let coord = coord(&plan.shape, rank)?;
            let ram = Rc::new(Shared::new("midplane-ram", plan.node_memory)?);
            let links = sockets.of(rank)?;
            let numbers: Vec<(Direction, i32)> = links
                .iter()
                .map(|(direction, socket)| (*direction, socket.as_raw_fd()))
                .collect();
            let mut inherited: Vec<OwnedFd> = links.into_iter().map(|(_, socket)| socket).collect();
            let mut debugger = None;
            if plan.debug.is_some_and(|debug| debug.rank == rank) {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                    .doing("create a socket for the debugger (TCP on 127.0.0.1)")?;
                waiting = Some(listener.local_addr().doing("name the debugger's socket")?);
                debugger = Some(listener.as_raw_fd());
                inherited.push(listener.into());
            }
            let carries = Carries::One {
                links: &numbers,
                debugger,
            };
            let instance = self.start(
                (plan, qemu),
                Nodes::One(coord),
                (image, &ram),
                carries,
                inherited,
                vec![rank],
            )?;
            let who = (rank, coord);
            self.nodes.push(Node::new(
                who,
                plan.image,
                instance,
                &ram,
                node::OwnMemory::Whole,
            ));
            going_on()?;
        }
        if let (Some(debug), Some(at)) = (plan.debug, waiting) {
            let child = debug.attach(plan.image, at)?;
            self.debugger = Some(self.instances.len());
            self.instances
                .push(Instance::new(Vec::new(), Ears::default(), child)?);
        }
        Ok(())
    }

    fn boot_boards(
        &mut self,
        plan: &Plan<'_>,
        qemu: &Tool,
        image: &File,
        going_on: &mut impl FnMut() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut sockets = Sockets::new(&plan.shape, serial_line);
        for rank in 0..plan.shape.nodes() {
            let coord = coord(&plan.shape, rank)?;
            let window = Rc::new(Shared::new("midplane-window", WINDOW_BYTES)?);
            let mut lines = sockets.of(rank)?;
            if let Some(console) = plan.console.filter(|console| console.at == coord) {
                let (ours, theirs) = serial_line()?;
                rustix::fs::fcntl_setfl(&ours, OFlags::NONBLOCK).doing("set up the console")?;
                lines.push((console.direction, theirs));
                self.console = Some(ours);
            }
            let instance =
                self.start_board((plan, qemu), (rank, coord), (image, &window), lines)?;
            let who = (rank, coord);
            let place = node::OwnMemory::Whole;
            self.nodes
                .push(Node::new(who, plan.image, instance, &window, place));
            going_on()?;
        }
        Ok(())
    }

    /// Starts the board of a node; its number.
    fn start_board(
        &mut self,
        (plan, qemu): (&Plan<'_>, &Tool),
        (rank, coord): (u32, Coord),
        (image, window): (&File, &Shared),
        links: Vec<(Direction, OwnedFd)>,
    ) -> Result<usize, Stop> {
        let personality = memory_file("midplane-personality")?;
        // Ended by a zero, as strings are.
        let text = boot_arguments(plan, Nodes::One(coord))? + "\0";
        (&personality)
            .write_all(text.as_bytes())
            .doing("copy a personality into memory")?;
        let (bell, node_bell) = stream()?;
        let (complaints, node_complaints) = stream()?;
        let image = image.try_clone().doing("share the image")?;
        let window = window.file().try_clone().doing("share a node's window")?;
        let numbers: Vec<(Direction, i32)> = links
            .iter()
            .map(|(direction, socket)| (*direction, socket.as_raw_fd()))
            .collect();
        let arguments = stm32f405::Wiring {
            image: image.as_raw_fd(),
            personality: personality.as_raw_fd(),
            window: window.as_raw_fd(),
            links: &numbers,
            bell: node_bell.as_raw_fd(),
            sandbox: plan.sandbox,
        }
        .arguments();
        let mut inherited: Vec<OwnedFd> = vec![
            image.into(),
            personality.into(),
            window.into(),
            node_bell.into(),
        ];
        inherited.extend(links.into_iter().map(|(_, socket)| socket));
        let child = spawn(qemu, arguments, inherited, node_complaints.into(), rank)?;
        let ears = Ears {
            bell: Some(bell),
            complaints: Some(complaints),
            ..Ears::default()
        };
        self.instances.push(Instance::new(vec![rank], ears, child)?);
        Ok(self.instances.len() - 1)
    }

    fn boot_boxes(
        &mut self,
        plan: &Plan<'_>,
        qemu: &Tool,
        (boxes, image): (&Boxes, &File),
        going_on: &mut impl FnMut() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let division = boxes.division;
        if division.instances() > 1 {
            self.doorbells = Some(Doorbells::new(&division)?);
        }
        for number in 0..division.instances() {
            let layout = boxes.layout(number)?;
            let nodes = Boxed {
                division,
                instance: number,
                node_memory: layout.node_memory,
            };
            let within = nodes.nodes();
            let coords: Vec<Coord> = (0..layout.nodes).filter_map(|k| within.coord(k)).collect();
            let ranks: Vec<u32> = coords.iter().filter_map(|c| plan.shape.rank(*c)).collect();
            let ram = Rc::new(Shared::new("midplane-ram", layout.total())?);
            let socket = self
                .doorbells
                .as_mut()
                .map(Doorbells::connect)
                .transpose()?;
            let carries = Carries::Box {
                nodes: layout.nodes,
                doorbell: { socket.as_ref() }
                    .map(|socket| (socket.as_raw_fd(), doorbell::vectors(&division))),
            };
            let sockets = socket.into_iter().map(OwnedFd::from).collect();
            let files = (image, &*ram);
            let nodes = Nodes::Box(nodes);
            let instance =
                self.start((plan, qemu), nodes, files, carries, sockets, ranks.clone())?;
            for (index, who) in (0..).zip(ranks.into_iter().zip(coords)) {
                let code = plan.image.code;
                let place = node::OwnMemory::InBox {
                    layout,
                    index,
                    code,
                };
                self.nodes
                    .push(Node::new(who, plan.image, instance, &ram, place));
            }
            going_on()?;
        }
        self.nodes.sort_by_key(|node| node.rank);
        Ok(())
    }

    /// Whether there is a debugger that has not ended.
    pub fn is_debugged(&self) -> bool {
        self.debugger
            .is_some_and(|at| self.instances[at].gone.is_none())
    }

    /// Asks the debugger to end, which then leaves the terminal as it was.
    pub fn end_debugger(&mut self) {
        if let Some(at) = self.debugger {
            self.leaving = self.instances[at].children();
            self.instances[at].signal(Signal::HUP);
        }
    }

    /// Kills all nodes and waits until they are gone. What they have written can still be read.
    pub fn kill(&mut self) {
        let others: Vec<OwnedFd> = self.instances.iter().flat_map(Instance::kill).collect();
        for instance in &mut self.instances {
            if instance.gone.is_none() {
                instance.gone = instance.child.wait().ok();
            }
        }
        for other in &others {
            let _ = poll(&mut [PollFd::new(other, PollFlags::IN)], None);
        }
        for other in self.leaving.drain(..) {
            let _ = poll(
                &mut [PollFd::new(&other, PollFlags::IN)],
                Some(&LEAVES_WITHIN),
            );
        }
    }

    /// Starts a process that carries `nodes`, which have these `ranks`; its number. It inherits `sockets`, too.
    fn start(
        &mut self,
        (plan, qemu): (&Plan<'_>, &Tool),
        nodes: Nodes,
        (image, ram): (&File, &Shared),
        carries: Carries<'_>,
        sockets: Vec<OwnedFd>,
        ranks: Vec<u32>,
    ) -> Result<usize, Stop> {
        let bootargs = boot_arguments(plan, nodes)?;
        let (bell, node_bell) = stream()?;
        let (complaints, node_complaints) = stream()?;
        let image = image.try_clone().doing("share the image")?;
        let memory = ram.file().try_clone().doing("share an instance's memory")?;
        let arguments = Wiring {
            memory: ram.bytes(),
            ram: memory.as_raw_fd(),
            image: image.as_raw_fd(),
            bootargs: &bootargs,
            carries,
            bell: node_bell.as_raw_fd(),
            sandbox: plan.sandbox,
            counted: plan.counted,
        }
        .arguments();
        let mut inherited: Vec<OwnedFd> = vec![image.into(), memory.into(), node_bell.into()];
        inherited.extend(sockets);
        let first = ranks.first().copied().unwrap_or(0);
        let child = spawn(qemu, arguments, inherited, node_complaints.into(), first)?;
        let ears = Ears {
            bell: Some(bell),
            complaints: Some(complaints),
            ..Ears::default()
        };
        self.instances.push(Instance::new(ranks, ears, child)?);
        Ok(self.instances.len() - 1)
    }
}

/// The place of a rank.
pub fn coord(shape: &Shape, rank: u32) -> Result<Coord, Stop> {
    let coord = shape.coord(rank);
    coord.ok_or_else(|| Stop::failure(format!("no rank {rank} in the machine")))
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The boot arguments of an instance with these nodes.
pub fn boot_arguments(plan: &Plan<'_>, nodes: Nodes) -> Result<String, Stop> {
    let mut text = String::new();
    // Numbers are such that the places are those that the tool knows: the least is where rings begin.
    let auto = match nodes {
        Nodes::One(coord) if plan.auto => Some(Auto {
            nodes: plan.shape.nodes(),
            number: plan.shape.rank(coord).map(|rank| rank + 1),
            has_console: plan.console.is_some(),
        }),
        _ => None,
    };
    let settings = BootArgs {
        shape: plan.shape,
        nodes,
        auto,
        console: plan.console.filter(|_| !plan.auto),
        mpi_memory: Some(plan.mpi_memory),
        mpi_borrow: plan.mpi_borrow,
        eager: plan.eager,
        interrupts: plan.interrupts,
        matching: plan.matching.map(Choice::name),
        faults: plan.faults,
        output: match plan.backend {
            // As without a tool.
            Backend::Boards(_) if plan.console.is_some() => Output::Uart,
            Backend::Qemu(_) | Backend::Boards(_) => Output::Rings { log: plan.log },
            // The process has streams of its own.
            Backend::Linux | Backend::Cluster | Backend::Attached(_) => Output::default(),
        },
        exit: kernel_rt::personality::Exit::Stay,
        environment: Default::default(),
        args: Default::default(),
    };
    // A process has an environment of its own.
    let environment = match plan.backend {
        Backend::Qemu(_) | Backend::Boards(_) => plan.environment,
        Backend::Linux | Backend::Cluster | Backend::Attached(_) => &[],
    };
    settings
        .encode(
            environment.iter().map(Vec::as_slice),
            plan.argv.iter().map(Vec::as_slice),
            &mut text,
        )
        .doing("write boot arguments")?;
    // The node reads with the same code and the same limits: better refused here than there.
    match BootArgs::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Stop::usage(format!(
            "the program's arguments or environment: {error}"
        ))),
    }
}

/// Starts QEMU, which inherits these descriptors and complains to that one.
fn spawn(
    qemu: &Tool,
    arguments: Vec<String>,
    inherited: Vec<OwnedFd>,
    complaints: OwnedFd,
    rank: u32,
) -> Result<Child, Stop> {
    let mut command = qemu.command();
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(complaints)
        // Signals from the terminal are for us alone: we end the nodes in good order.
        .process_group(0);
    sys::bind_to_us(&mut command, Signal::KILL, inherited);
    command.spawn().doing(format_args!(
        "start {} for rank {rank}",
        qemu.path.display()
    ))
}

/// A child that is killed unless it is claimed.
struct Unclaimed(Option<Child>);

impl Unclaimed {
    fn as_ref(&self) -> &Child {
        self.0.as_ref().expect("claimed only once")
    }
    fn claim(&mut self) -> Child {
        self.0.take().expect("claimed only once")
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The two ends of a link.
type Ends = (OwnedFd, OwnedFd);

/// The ends of a link that carries frames.
fn frame_link() -> Result<Ends, Stop> {
    let (one, other) = UnixStream::pair().doing("create the sockets of a link")?;
    Ok((one.into(), other.into()))
}

/// The ends of a serial line. QEMU writes to it byte by byte, and its processor stands still while there is no room. A
/// Unix socket has room for no more than 300 such writes, so that nodes that send to each other in a ring would stand
/// still for ever. TCP puts bytes together.
fn serial_line() -> Result<Ends, Stop> {
    let make = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        // Others on this machine may connect, too.
        let other = loop {
            match listener.accept()? {
                (other, from) if from == one.local_addr()? => break other,
                _ => {}
            }
        };
        one.set_nodelay(true)?;
        other.set_nodelay(true)?;
        std::io::Result::Ok((one.into(), other.into()))
    };
    make().doing("create the sockets of a serial line (TCP on 127.0.0.1)")
}

/// The sockets of links, made when their first end is wanted.
struct Sockets {
    links: Vec<[End; 2]>,
    pair: fn() -> Result<Ends, Stop>,
    /// Ends whose other end has been handed out.
    waiting: HashMap<End, OwnedFd>,
}

impl Sockets {
    fn new(shape: &Shape, pair: fn() -> Result<Ends, Stop>) -> Self {
        Self {
            links: topology::links(shape),
            pair,
            waiting: HashMap::new(),
        }
    }

    /// The ends at `rank`, in the order of the directions.
    fn of(&mut self, rank: u32) -> Result<Vec<(Direction, OwnedFd)>, Stop> {
        let mut ends = Vec::new();
        for link in &self.links {
            for (end, other) in [(link[0], link[1]), (link[1], link[0])] {
                if end.rank != rank {
                    continue;
                }
                let socket = match self.waiting.remove(&end) {
                    Some(socket) => socket,
                    None => {
                        let (ours, theirs) = (self.pair)()?;
                        self.waiting.insert(other, theirs);
                        ours
                    }
                };
                ends.push((end.side, socket));
            }
        }
        ends.sort_by_key(|(direction, _)| *direction as u8);
        Ok(ends)
    }
}

/// A socket for what an instance says: our end, which does not block, and the other.
pub fn stream() -> Result<(UnixStream, UnixStream), Stop> {
    let (ours, theirs) = UnixStream::pair().doing("create a socket for an instance")?;
    ours.set_nonblocking(true)
        .doing("set up a socket for an instance")?;
    Ok((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn both_ends_of_a_link_are_one_socket_pair() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        for pair in [frame_link as fn() -> _, serial_line] {
            let mut sockets = Sockets::new(&shape, pair);
            let a = sockets.of(0).unwrap();
            let b = sockets.of(1).unwrap();
            assert!(sockets.waiting.is_empty());
            assert_eq!(a[0].0, Direction::XPlus);
            assert_eq!(b[1].0, Direction::XMinus);
            let end = |end: &OwnedFd| File::from(end.try_clone().unwrap());
            end(&a[0].1).write_all(b"x").unwrap();
            let mut byte = [0];
            end(&b[1].1).read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
        }
    }

    /// What two nodes may have under way at once, and much more, byte by byte.
    #[test]
    fn a_line_has_room_for_many_bytes_that_are_written_one_by_one() {
        let (one, _other) = serial_line().unwrap();
        let mut one = TcpStream::from(one);
        one.set_nonblocking(true).unwrap();
        for _ in 0..8 * 1024 {
            one.write_all(b"x").unwrap();
        }
    }

    #[test]
    fn a_node_of_a_single_node_machine_has_no_links() {
        let shape = Shape::new([1, 1, 1], [true; 3]).unwrap();
        assert!(Sockets::new(&shape, frame_link).of(0).unwrap().is_empty());
    }
}
