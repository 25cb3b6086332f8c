//! QEMU instances: start, see how they fare, kill. All of them end when this process does.

use crate::build::image::Image;
use crate::host::setup::Tool;
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::run::linux;
use crate::run::topology::{self, End};
use crate::run::wiring::Wiring;
use kernel_rt::blackboard::{self, ReadError, Snapshot};
use kernel_rt::inbox::{self, Head};
use kernel_rt::personality::BootArgs;
use mpi_adi::matching::Choice;
use net_torus::coord::{Coord, Direction, Shape};
use rustix::fs::MemfdFlags;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};

/// What to boot.
pub struct Plan<'a> {
    /// What the nodes are.
    pub place: Place<'a>,
    /// What every node runs.
    pub image: &'a Image,
    /// The machine.
    pub shape: Shape,
    /// RAM of a node in bytes.
    pub node_memory: u64,
    /// Whether the user said how much memory a node has: a process is given more otherwise.
    pub limits_memory: bool,
    /// Stack of the program in bytes, when said; images have theirs built in.
    pub stack: Option<u64>,
    /// What starts each node's process; empty: nothing. For processes of this machine only.
    pub under: &'a [String],
    /// Region for incoming MPI traffic in bytes.
    pub mpi_memory: u64,
    /// Greatest message in bytes that is sent eagerly, when said.
    pub eager: Option<u64>,
    /// Whether the program's heap lends to MPI what it can spare.
    pub mpi_borrow: bool,
    /// The matching engine that the image was built for, when it is known: the nodes check it.
    pub matching: Option<Choice>,
    /// The program's argv.
    pub argv: &'a [Vec<u8>],
    /// Whether the kernels' logs are wanted.
    pub log: bool,
}

/// What the nodes of a job are.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// Machines that this emulator emulates.
    Qemu(&'a Tool),
    /// Processes of this machine.
    Linux,
}

impl Place<'_> {
    /// What a node's process is called.
    pub fn process(self) -> &'static str {
        match self {
            Place::Qemu(_) => "QEMU process",
            Place::Linux => "process",
        }
    }
}

/// What a node writes, each the host's end of a socket that does not block.
pub struct Streams {
    /// The program's stdout.
    pub stdout: Option<UnixStream>,
    /// The program's stderr.
    pub stderr: Option<UnixStream>,
    /// The kernel's log.
    pub log: Option<UnixStream>,
    /// What QEMU itself has to say.
    pub complaints: Option<UnixStream>,
}

/// One node.
pub struct Instance {
    /// Its rank.
    pub rank: u32,
    /// Its place.
    pub coord: Coord,
    /// Its output.
    pub streams: Streams,
    /// Readable when the process has ended.
    pub pidfd: OwnedFd,
    /// How the process ended, once [`Instance::reap`] has found out.
    pub gone: Option<ExitStatus>,
    child: Child,
    ram: File,
    blackboard: u64,
    inbox: Option<u64>,
}

/// Where a node's memory shows what the tool looks at.
pub struct Memory {
    /// The file that holds it.
    pub ram: File,
    /// Offset of the blackboard.
    pub blackboard: u64,
    /// Offset of the inbox, where there is one.
    pub inbox: Option<u64>,
}

impl Instance {
    /// A node that has been started.
    pub fn new(
        (rank, coord): (u32, Coord),
        streams: Streams,
        child: Child,
        memory: Memory,
    ) -> Result<Self, Stop> {
        let mut child = Unclaimed(Some(child));
        let pidfd = pidfd_open(sys::pid_of(child.as_ref()), PidfdFlags::empty())
            .doing(format_args!("watch the process of rank {rank}"))?;
        let Memory {
            ram,
            blackboard,
            inbox,
        } = memory;
        Ok(Self {
            rank,
            coord,
            streams,
            pidfd,
            gone: None,
            child: child.claim(),
            ram,
            blackboard,
            inbox,
        })
    }

    /// How the node fares, by its own account.
    pub fn snapshot(&self) -> Result<Snapshot, ReadError> {
        let mut bytes = [0; blackboard::BYTES];
        match self.ram.read_exact_at(&mut bytes, self.blackboard) {
            Ok(()) => Snapshot::read(&bytes),
            Err(_) => Err(ReadError::TooShort(0)),
        }
    }

    /// Reads the node's RAM from an offset on. `None`: it has no such place.
    pub fn read_ram(&self, offset: u64, out: &mut [u8]) -> Option<()> {
        self.ram.read_exact_at(out, offset).ok()
    }

    /// What the program's inbox has room for; `None` while it has not asked for input.
    pub fn inbox(&self) -> Option<Head> {
        let mut head = [0; inbox::HEAD_BYTES];
        self.ram.read_exact_at(&mut head, self.inbox?).ok()?;
        Head::read(&head)
    }

    /// Puts input into the program's inbox, no more than it has room for. The file is the node's memory:
    /// nothing can go wrong but that it has no inbox.
    pub fn give(&self, head: Head, bytes: &[u8]) {
        let Some(inbox) = self.inbox else { return };
        let (at, first) = head.place(bytes.len());
        let (first, rest) = bytes.split_at(first);
        let ring = inbox + inbox::AT_RING;
        let written = head.written.wrapping_add(bytes.len() as u32);
        // The count last: what it counts is there.
        let _ = self.ram.write_all_at(first, ring + at);
        let _ = self.ram.write_all_at(rest, ring);
        let _ = self
            .ram
            .write_all_at(&written.to_le_bytes(), inbox + inbox::AT_WRITTEN);
    }

    /// Tells the program that no more input comes.
    pub fn close_inbox(&self) {
        if let Some(inbox) = self.inbox {
            let closed = 1u32.to_le_bytes();
            let _ = self.ram.write_all_at(&closed, inbox + inbox::AT_CLOSED);
        }
    }

    /// Takes note of the process's end, if it has ended.
    pub fn reap(&mut self) {
        if self.gone.is_none() {
            self.gone = self.child.try_wait().ok().flatten();
        }
    }

    fn kill(&self) {
        if self.gone.is_none() {
            // The descriptor names our child and no other process; it may have ended meanwhile.
            let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        }
    }
}

/// All nodes of a job, in the order of their ranks. Dropping it kills them.
pub struct Fleet {
    /// The nodes.
    pub nodes: Vec<Instance>,
}

impl Fleet {
    /// Starts all nodes. `started` is called after each with how many run; when it returns an error,
    /// everything is taken down again. Call from the main thread (see [`sys::bind_to_us`]).
    pub fn boot(
        plan: &Plan<'_>,
        mut started: impl FnMut(usize) -> Result<(), Stop>,
    ) -> Result<Self, Stop> {
        let qemu = match plan.place {
            Place::Qemu(qemu) => qemu,
            Place::Linux => return linux::boot(plan, started),
        };
        let image = memory_file("midplane-image", None)?;
        (&image)
            .write_all(&plan.image.bytes)
            .doing("copy the image into memory")?;
        let mut sockets = Sockets::new(&plan.shape);
        let mut fleet = Self {
            nodes: Vec::with_capacity(plan.shape.nodes() as usize),
        };
        for rank in 0..plan.shape.nodes() {
            let links = sockets.of(rank)?;
            fleet.nodes.push(start(plan, qemu, rank, &image, links)?);
            started(fleet.nodes.len())?;
        }
        Ok(fleet)
    }

    /// Kills all nodes and waits until they are gone. What they have written can still be read.
    pub fn kill(&mut self) {
        for node in &self.nodes {
            node.kill();
        }
        for node in &mut self.nodes {
            if node.gone.is_none() {
                node.gone = node.child.wait().ok();
            }
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The boot arguments of one node.
pub fn boot_arguments(plan: &Plan<'_>, coord: Coord) -> Result<String, Stop> {
    let mut text = String::new();
    let settings = BootArgs {
        shape: plan.shape,
        coord,
        mpi_memory: Some(plan.mpi_memory),
        mpi_borrow: plan.mpi_borrow,
        eager: plan.eager,
        matching: plan.matching.map(Choice::name),
        exit: kernel_rt::personality::Exit::Stay,
        args: Default::default(),
    };
    settings
        .encode(plan.argv.iter().map(Vec::as_slice), &mut text)
        .doing("write boot arguments")?;
    // The node reads with the same code and the same limits: better refused here than there.
    match BootArgs::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Stop::usage(format!("the program's arguments: {error}"))),
    }
}

fn start(
    plan: &Plan<'_>,
    qemu: &Tool,
    rank: u32,
    image: &File,
    links: Vec<(Direction, UnixStream)>,
) -> Result<Instance, Stop> {
    let coord = plan
        .shape
        .coord(rank)
        .ok_or_else(|| Stop::failure(format!("no rank {rank} in the machine")))?;
    let bootargs = boot_arguments(plan, coord)?;
    let ram = memory_file("midplane-ram", Some(plan.node_memory))?;
    let (streams, node) = streams(plan.log)?;
    let node_image = image.try_clone().doing("share the image")?;
    let node_ram = ram.try_clone().doing("share the node's memory")?;

    let numbers: Vec<(Direction, i32)> = links
        .iter()
        .map(|(direction, socket)| (*direction, socket.as_raw_fd()))
        .collect();
    let arguments = Wiring {
        memory: plan.node_memory,
        ram: node_ram.as_raw_fd(),
        image: node_image.as_raw_fd(),
        bootargs: &bootargs,
        links: &numbers,
        stdout: node.stdout.as_raw_fd(),
        stderr: node.stderr.as_raw_fd(),
        log: node.log.as_ref().map(AsRawFd::as_raw_fd),
    }
    .arguments();

    let mut inherited: Vec<OwnedFd> = vec![
        node_image.into(),
        node_ram.into(),
        node.stdout.into(),
        node.stderr.into(),
    ];
    inherited.extend(node.log.map(OwnedFd::from));
    inherited.extend(links.into_iter().map(|(_, socket)| OwnedFd::from(socket)));

    let child = spawn(qemu, arguments, inherited, node.complaints.into(), rank)?;
    let memory = Memory {
        ram,
        blackboard: plan.image.blackboard,
        inbox: plan.image.inbox,
    };
    Instance::new((rank, coord), streams, child, memory)
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

/// The sockets of links, made when their first end is wanted.
struct Sockets {
    links: Vec<[End; 2]>,
    /// Ends whose other end has been handed out.
    waiting: HashMap<End, UnixStream>,
}

impl Sockets {
    fn new(shape: &Shape) -> Self {
        Self {
            links: topology::links(shape),
            waiting: HashMap::new(),
        }
    }

    /// The ends at `rank`, in the order of the directions.
    fn of(&mut self, rank: u32) -> Result<Vec<(Direction, UnixStream)>, Stop> {
        let mut ends = Vec::new();
        for link in &self.links {
            for (end, other) in [(link[0], link[1]), (link[1], link[0])] {
                if end.rank != rank {
                    continue;
                }
                let socket = match self.waiting.remove(&end) {
                    Some(socket) => socket,
                    None => {
                        let (ours, theirs) =
                            UnixStream::pair().doing("create the sockets of a link")?;
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

/// The node's ends of its [`Streams`].
pub struct NodeStreams {
    /// For the program's stdout.
    pub stdout: UnixStream,
    /// For the program's stderr.
    pub stderr: UnixStream,
    log: Option<UnixStream>,
    complaints: UnixStream,
}

/// A node's streams, with or without its log.
pub fn streams(log: bool) -> Result<(Streams, NodeStreams), Stop> {
    let (stdout, node_stdout) = stream()?;
    let (stderr, node_stderr) = stream()?;
    let (complaints, node_complaints) = stream()?;
    let (log, node_log) = match log {
        true => stream().map(|(ours, theirs)| (Some(ours), Some(theirs)))?,
        false => (None, None),
    };
    let ours = Streams {
        stdout: Some(stdout),
        stderr: Some(stderr),
        log,
        complaints: Some(complaints),
    };
    let theirs = NodeStreams {
        stdout: node_stdout,
        stderr: node_stderr,
        log: node_log,
        complaints: node_complaints,
    };
    Ok((ours, theirs))
}

/// A socket for a node's output: our end, which does not block, and the node's.
fn stream() -> Result<(UnixStream, UnixStream), Stop> {
    let (ours, theirs) = UnixStream::pair().doing("create a socket for a node's output")?;
    ours.set_nonblocking(true)
        .doing("set up a socket for a node's output")?;
    Ok((ours, theirs))
}

/// A file in memory that has no name in the file system; zeros where nothing was written.
pub fn memory_file(name: &str, bytes: Option<u64>) -> Result<File, Stop> {
    let file = File::from(
        rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)
            .doing("create a file in memory for a node")?,
    );
    if let Some(bytes) = bytes {
        file.set_len(bytes).doing("size a node's memory")?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn both_ends_of_a_link_are_one_socket_pair() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let mut sockets = Sockets::new(&shape);
        let a = sockets.of(0).unwrap();
        let b = sockets.of(1).unwrap();
        assert!(sockets.waiting.is_empty());
        assert_eq!(a[0].0, Direction::XPlus);
        assert_eq!(b[1].0, Direction::XMinus);
        (&a[0].1).write_all(b"x").unwrap();
        let mut byte = [0];
        (&b[1].1).read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn a_node_of_a_single_node_machine_has_no_links() {
        let shape = Shape::new([1, 1, 1], [true; 3]).unwrap();
        assert!(Sockets::new(&shape).of(0).unwrap().is_empty());
    }
}
