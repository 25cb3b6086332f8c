//! Processes that carry nodes: how they fare, and their end. All of them end when this process does.

use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::host::used::{self, Used};
use crate::run::doorbell::Doorbells;
use crate::run::node::Node;
use net_torus::coord::Shape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};

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
    /// It is [one](crate::run::linux::keep) that ends with all that it has started, when the [bonds](Bonds) are cut.
    pub is_kept: bool,
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
            is_kept: false,
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

    /// Its process, or one that it has started, which a signal has stopped.
    pub fn stopped(&self) -> Option<u32> {
        let own = self.child.id();
        let others = match self.ears.is_several {
            // Which nodes which of them has is not known here.
            true => Vec::new(),
            false => used::children(own),
        };
        let mut all = [own].into_iter().chain(others);
        all.find(|process| used::is_stopped(*process))
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
        if self.is_kept {
            // It is about to end by itself.
            let _ = poll(
                &mut [PollFd::new(&self.pidfd, PollFlags::IN)],
                Some(&KEPT_WITHIN),
            );
            self.signal(Signal::KILL);
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

/// How long one that is kept is waited for, after it has been told to end.
const KEPT_WITHIN: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

/// Our ends of the pipes of which the processes of this machine have the others: see
/// [`VARIABLE`](kernel_rt::board::linux::VARIABLE).
pub struct Bonds {
    /// The processes die when it is closed, which our end does, too.
    _life: OwnedFd,
    /// They publish their counters when something is written into it.
    pub asks: OwnedFd,
}

impl Bonds {
    /// Of both pipes' ends.
    pub fn new(life: OwnedFd, asks: OwnedFd) -> Self {
        Self { _life: life, asks }
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
    /// What binds processes of this machine to us.
    pub bonds: Option<Bonds>,
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
    /// Of a machine of this shape, of which nothing has been started.
    pub fn new(shape: &Shape) -> Self {
        Self {
            instances: Vec::new(),
            nodes: Vec::with_capacity(shape.nodes() as usize),
            doorbells: None,
            console: None,
            bonds: None,
            debugger: None,
            leaving: Vec::new(),
        }
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
        self.bonds = None;
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
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kill();
    }
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

/// A socket for what an instance says: our end, which does not block, and the other.
pub fn stream() -> Result<(UnixStream, UnixStream), Stop> {
    let (ours, theirs) = UnixStream::pair().doing("create a socket for an instance")?;
    ours.set_nonblocking(true)
        .doing("set up a socket for an instance")?;
    Ok((ours, theirs))
}
