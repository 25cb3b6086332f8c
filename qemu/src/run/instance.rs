//! Processes that contain nodes: their state and end. All of them end with this process.

use crate::host::error::{CliError, ErrorContext};
use crate::host::resource_usage::{self, ResourceUsage};
use crate::host::sys;
use crate::run::doorbell::Doorbells;
use crate::run::hosts::hub::HostHub;
use crate::run::linux::universe_state::Universe;
use crate::run::node::Node;
use net_torus::coord::Shape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// A process that contains nodes: QEMU, or a native program.
pub struct Instance {
    /// Its ranks, in the order of the nodes' indices in it.
    pub ranks: Vec<u32>,
    /// Its output channels.
    pub channels: OutputChannels,
    /// Exit status, set by [`Instance::reap`].
    pub gone: Option<ExitStatus>,
    /// Whether it is a [supervisor](crate::run::linux::supervisor) that ends together with all its descendants when the
    /// [pipes](ControlPipes) are closed.
    pub is_supervised: bool,
    /// Its process; `None` if it is on another host.
    process: Option<LocalProcess>,
}

/// A process of this host.
struct LocalProcess {
    child: Child,
    /// Process descriptor, readable after the process has ended.
    pidfd: OwnedFd,
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
            gone: None,
            is_supervised: false,
            process: Some(LocalProcess {
                child: child.claim(),
                pidfd,
            }),
        })
    }

    /// Creates the instance of a process on another host, which [`InstancePool::hosts`] represents.
    pub fn remote(rank: u32) -> Self {
        Self {
            ranks: vec![rank],
            channels: OutputChannels::default(),
            gone: None,
            is_supervised: false,
            process: None,
        }
    }

    /// Returns the descriptor to poll for the end of a process of this host that has not ended.
    pub fn poll_descriptor(&self) -> Option<PollFd<'_>> {
        let process = self.process.as_ref().filter(|_| self.gone.is_none())?;
        Some(PollFd::new(&process.pidfd, PollFlags::IN))
    }

    /// Releases the descriptors of a process that has ended, whose ranks have another one. Its output remains readable.
    pub fn retire(&mut self) {
        self.process = None;
    }

    /// Records the process's exit status if it has ended.
    pub fn reap(&mut self) {
        if self.gone.is_none()
            && let Some(process) = &mut self.process
        {
            self.gone = process.child.try_wait().ok().flatten();
        }
    }

    /// Returns its resource usage; `None` if it has ended.
    pub fn used(&self) -> Option<ResourceUsage> {
        ResourceUsage::for_family(self.id()?)
    }

    /// Returns its process, or a child of it, that a signal has stopped.
    pub fn stopped(&self) -> Option<u32> {
        let own = self.id()?;
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
        self.id().is_none_or(resource_usage::is_asleep)
    }

    /// Returns the time that its threads have waited for a processor: that of the thread which waited longest.
    pub fn processor_wait(&self) -> Duration {
        self.id().map(resource_usage::processor_wait).unwrap_or_default()
    }

    /// Returns its process ID on this host.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    fn signal(&self, signal: Signal) {
        if self.gone.is_none()
            && let Some(process) = &self.process
        {
            // The descriptor identifies this child only; it may have ended meanwhile.
            let _ = pidfd_send_signal(&process.pidfd, signal);
        }
    }

    /// Kills the process; returns descriptors of the processes that end with it.
    fn kill(&self) -> Vec<OwnedFd> {
        if self.gone.is_some() {
            return Vec::new();
        }
        if self.is_supervised {
            // It is about to end by itself.
            let _ = poll(&mut Vec::from_iter(self.poll_descriptor()), Some(&KEPT_WITHIN));
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
        let children = self.id().map(resource_usage::children).unwrap_or_default();
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
    /// Hosts of native processes that are not on this host.
    pub hosts: Option<HostHub>,
    /// Index of the process that is the debugger, or contains the debugged rank.
    pub debugger: Option<usize>,
    /// Parts of the job for processes that are started later.
    pub universe: Option<Universe>,
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
            hosts: None,
            debugger: None,
            universe: None,
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
    pub fn abort(&mut self) {
        if let Some(hosts) = &mut self.hosts {
            hosts.abort();
        }
        for instance in &self.instances {
            instance.signal(Signal::ABORT);
        }
    }

    /// Kills all nodes and waits for their end. Their output remains readable.
    pub fn kill(&mut self) {
        self.pipes = None;
        if let Some(hosts) = &mut self.hosts {
            hosts.end();
        }
        let others: Vec<OwnedFd> = self.instances.iter().flat_map(Instance::kill).collect();
        for instance in &mut self.instances {
            if instance.gone.is_none()
                && let Some(process) = &mut instance.process
            {
                instance.gone = process.child.wait().ok();
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
