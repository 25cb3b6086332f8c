//! Processes that contain nodes: their state and end. All of them end with this process.

use crate::host::error::{CliError, ErrorContext};
use crate::host::resource_usage::{self, ResourceUsage};
use crate::host::sys;
use crate::run::doorbell::Doorbells;
use crate::run::node::Node;
use net_torus::coord::Shape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};

/// A process that contains nodes: QEMU, or a native program.
pub struct Instance {
    /// Its ranks, in the order of the nodes' indices in it.
    pub ranks: Vec<u32>,
    /// Its output channels.
    pub channels: OutputChannels,
    /// Process descriptor, readable after the process has ended.
    pub pidfd: OwnedFd,
    /// Exit status, set by [`Instance::reap`].
    pub gone: Option<ExitStatus>,
    /// Whether it is a [supervisor](crate::run::linux::supervisor) that ends together with all its descendants when the
    /// [pipes](ControlPipes) are closed.
    pub is_supervised: bool,
    child: Child,
}

/// Output channels of a process: non-blocking sockets. Each is used by one kind of process only.
#[derive(Default)]
pub struct OutputChannels {
    /// The nodes' doorbell: one byte per notification, the node's index modulo 256.
    pub bell: Option<UnixStream>,
    /// QEMU's stderr.
    pub complaints: Option<UnixStream>,
    /// Stdout and stderr of a native program.
    pub prints: [Option<UnixStream>; 2],
    /// Whether its nodes are in forked processes that end with it.
    pub is_several: bool,
}

impl Instance {
    /// Creates the instance of a started process.
    pub fn new(ranks: Vec<u32>, channels: OutputChannels, child: Child) -> Result<Self, CliError> {
        let mut child = UnclaimedChild(Some(child));
        let first = ranks.first().copied().unwrap_or(0);
        let pidfd = pidfd_open(sys::process_id(child.as_ref()), PidfdFlags::empty())
            .context(format_args!("watch the process of rank {first}"))?;
        Ok(Self {
            ranks,
            channels,
            pidfd,
            gone: None,
            is_supervised: false,
            child: child.claim(),
        })
    }

    /// Records the process's exit status if it has ended.
    pub fn reap(&mut self) {
        if self.gone.is_none() {
            self.gone = self.child.try_wait().ok().flatten();
        }
    }

    /// Returns its resource usage; `None` if it has ended.
    pub fn used(&self) -> Option<ResourceUsage> {
        ResourceUsage::for_family(self.child.id())
    }

    /// Returns its process, or a child of it, that a signal has stopped.
    pub fn stopped(&self) -> Option<u32> {
        let own = self.child.id();
        let others = if self.channels.is_several {
            // The assignment of nodes to processes is unknown here.
            Vec::new()
        } else {
            resource_usage::children(own)
        };
        let mut all = [own].into_iter().chain(others);
        all.find(|process| resource_usage::is_stopped(*process))
    }

    /// Checks whether all its threads sleep. True where the system does not tell.
    pub fn is_asleep(&self) -> bool {
        resource_usage::is_asleep(self.child.id())
    }

    fn signal(&self, signal: Signal) {
        if self.gone.is_none() {
            // The descriptor identifies this child only; it may have ended meanwhile.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }

    /// Kills the process; returns descriptors of the processes that end with it.
    fn kill(&self) -> Vec<OwnedFd> {
        if self.gone.is_some() {
            return Vec::new();
        }
        if self.is_supervised {
            // It is about to end by itself.
            let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&KEPT_WITHIN));
            self.signal(Signal::KILL);
            return Vec::new();
        }
        let others = if self.channels.is_several {
            self.children()
        } else {
            Vec::new()
        };
        self.signal(Signal::KILL);
        others
    }

    /// Returns descriptors of its child processes.
    fn children(&self) -> Vec<OwnedFd> {
        let open = |pid: u32| pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok();
        let children = resource_usage::children(self.child.id());
        children.into_iter().filter_map(open).collect()
    }
}

/// Maximum wait for a supervisor after it was asked to end.
const KEPT_WITHIN: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// The tool's ends of the native processes' pipes: see [`VARIABLE`](kernel_rt::board::linux::VARIABLE).
pub struct ControlPipes {
    /// The processes end when this is closed, explicitly or by the end of the tool.
    _life: OwnedFd,
    /// The processes publish their counters after a write to it.
    pub asks: OwnedFd,
}

impl ControlPipes {
    /// Creates the bonds from the tool's ends of both pipes.
    pub fn new(life: OwnedFd, asks: OwnedFd) -> Self {
        Self { _life: life, asks }
    }
}

/// All processes of a job. Dropping it kills them.
pub struct InstancePool {
    pub instances: Vec<Instance>,
    /// Nodes in rank order.
    pub nodes: Vec<Node>,
    /// Doorbells between instances with boxes.
    pub doorbells: Option<Doorbells>,
    /// Other end of the boards' serial console.
    pub console: Option<OwnedFd>,
    /// Pipes to native processes.
    pub pipes: Option<ControlPipes>,
    /// Index of the process that is the debugger, or contains the debugged rank.
    pub debugger: Option<usize>,
    /// Children of the debugger when it was asked to end: its rank ends shortly after it.
    pub ending_processes: Vec<OwnedFd>,
}

/// Maximum wait for the debugger's children. By then they have been killed; other children of a debugger are its own.
const LEAVES_WITHIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

impl InstancePool {
    /// Creates the pool for a machine of this shape, without processes.
    pub fn new(shape: &Shape) -> Self {
        Self {
            instances: Vec::new(),
            nodes: Vec::with_capacity(shape.nodes() as usize),
            doorbells: None,
            console: None,
            pipes: None,
            debugger: None,
            ending_processes: Vec::new(),
        }
    }

    /// Checks whether a debugger is running.
    pub fn is_debugged(&self) -> bool {
        self.debugger.is_some_and(|at| self.instances[at].gone.is_none())
    }

    /// Asks the debugger to end, so that it restores the terminal.
    pub fn end_debugger(&mut self) {
        if let Some(at) = self.debugger {
            self.ending_processes = self.instances[at].children();
            self.instances[at].signal(Signal::HUP);
        }
    }

    /// Aborts all native processes, so that they leave core files.
    pub fn abort(&self) {
        for instance in &self.instances {
            instance.signal(Signal::ABORT);
        }
    }

    /// Kills all nodes and waits for their end. Their output remains readable.
    pub fn kill(&mut self) {
        self.pipes = None;
        let others: Vec<OwnedFd> = self.instances.iter().flat_map(Instance::kill).collect();
        for instance in &mut self.instances {
            if instance.gone.is_none() {
                instance.gone = instance.child.wait().ok();
            }
        }
        for other in &others {
            let _ = poll(&mut [PollFd::new(other, PollFlags::IN)], None);
        }
        for other in self.ending_processes.drain(..) {
            let _ = poll(&mut [PollFd::new(&other, PollFlags::IN)], Some(&LEAVES_WITHIN));
        }
    }
}

impl Drop for InstancePool {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A child process that is killed unless it is claimed.
struct UnclaimedChild(Option<Child>);

impl UnclaimedChild {
    fn as_ref(&self) -> &Child {
        self.0.as_ref().expect("claimed only once")
    }
    fn claim(&mut self) -> Child {
        self.0.take().expect("claimed only once")
    }
}

impl Drop for UnclaimedChild {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Creates a socket for an instance's output: the tool's non-blocking end, and the other.
pub fn output_channel() -> Result<(UnixStream, UnixStream), CliError> {
    let (ours, theirs) = UnixStream::pair().context("create a socket for an instance")?;
    ours.set_nonblocking(true).context("set up a socket for an instance")?;
    Ok((ours, theirs))
}
