//! Several worker processes, each with a block of the nodes and its own location of the programs' data.
//!
//! ```text
//!   the process that was started: output, in order            no nodes; it ends like the first worker that dies
//!      ^  ^
//!      |  |  output with its times; "no more output before this time"
//!   worker 0 <--> worker 1 ..   a block each; frames and times in memory that they share (`MachineBlock`)
//! ```
//! The workers are forked before any initialization. A worker sends its output to the first process, which forwards it
//! to the tool in the order of virtual time and, for equal times, of ranks: the order of a single process. A failing
//! worker synchronizes with the others before it reports the failure, so that the earliest failure counts.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel_rt::board::linux::process_id;
use kernel_rt::board::linux::sim_nodes::before_end;
use midplane_cluster::{BlockDivision, FailureTime, MachineBlock};

use crate::socket::{MAX_PRINTED, hand_on};
use crate::system::{__sigaction, duplicate};

/// A time and a rank. An earlier event has a lower time, or the same time and a lower rank.
pub type EventTime = (u64, u32);

/// After all events.
pub const END: EventTime = (u64::MAX, u32::MAX);

/// Type of a worker's message, in the field of the stream's number.
const MARK: u32 = 0;
/// A rank waits forever.
const WAITS: u32 = 3;
/// Size of the moment and of the stream or message type, in bytes.
const HEAD_BYTES: usize = 16;
/// Maximum message size: a mark and a rank precede the output.
const MESSAGE_BYTES: usize = HEAD_BYTES + MAX_PRINTED + 64;

/// Interval of polls for messages of other processes, in nanoseconds.
const LOOK_NS: i64 = 50_000;

unsafe extern "C" {
    /// The C library's `fork`, even if the program defines that name.
    fn __fork() -> libc::pid_t;
}

/// This process, if it is a worker. It is set before the ranks' data is captured, so that all of them have it.
static WORKER: OnceLock<&'static WorkerProcess> = OnceLock::new();

/// Returns the worker of this process; `None` if it has all nodes.
pub fn worker() -> Option<&'static WorkerProcess> {
    WORKER.get().copied()
}

/// A process with a block of the nodes.
pub struct WorkerProcess {
    pub block: MachineBlock<'static>,
    first: OwnedFd,
    /// Number of marks of all workers that the first process has handled.
    heeded: &'static AtomicU64,
    /// Number of marks of this worker.
    marks: Cell<u64>,
    /// The current event.
    now: Cell<EventTime>,
    has_printed: Cell<bool>,
    is_failing: Cell<bool>,
}

// SAFETY: the process has one thread.
unsafe impl Sync for WorkerProcess {}

/// Role of a process after the division.
pub enum ProcessRole {
    Worker(&'static WorkerProcess),
    First(FirstProcess),
}

/// Divides the process.
pub fn divide(division: BlockDivision) -> io::Result<ProcessRole> {
    let words = shared_words(division.words() + 1)?;
    let (heeded, words) = words.split_last().expect("one word at least");
    let mut workers = Vec::new();
    let us = process_id() as libc::pid_t;
    for own in 0..division.count() {
        let (ours, its) = messages()?;
        // The program may close small descriptors.
        let its = duplicate(its.as_raw_fd())?;
        match fork() {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                die_with(us);
                let worker = Box::leak(Box::new(WorkerProcess {
                    block: MachineBlock::new(division, own, words, rest),
                    first: its,
                    heeded,
                    marks: Cell::new(0),
                    now: Cell::new((0, 0)),
                    has_printed: Cell::new(false),
                    is_failing: Cell::new(false),
                }));
                let _ = WORKER.set(worker);
                before_end(about_to_fail);
                return Ok(ProcessRole::Worker(worker));
            }
            number => workers.push(WorkerState::new(number, ours)),
        }
    }
    Ok(ProcessRole::First(FirstProcess { workers, heeded }))
}

fn about_to_fail() {
    if let Some(worker) = worker() {
        worker.about_to_fail();
    }
}

/// Allocates zeroed memory that later forked processes share.
fn shared_words(count: usize) -> io::Result<&'static [AtomicU64]> {
    // SAFETY: a new mapping, at an address that the system selects; it stays forever, and zeros are valid words.
    unsafe {
        let words = libc::mmap(
            ptr::null_mut(),
            count * size_of::<AtomicU64>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if words == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(std::slice::from_raw_parts(words.cast(), count))
    }
}

/// Creates two ends of a socket that preserves message boundaries.
fn messages() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: writes two descriptors to `ends`, without another owner.
    unsafe {
        match libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) {
            0 => Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Forks the process; returns 0 in the child, -1 on failure.
pub fn fork() -> libc::pid_t {
    // SAFETY: the process has one thread, so the child has all of it.
    unsafe { __fork() }
}

/// Makes a worker die with the first process.
pub fn die_with(first: libc::pid_t) {
    // SAFETY: system calls that access no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may have ended before the line above took effect.
        if libc::getppid() != first {
            libc::syscall(libc::SYS_exit_group, 1);
        }
    }
}

/// Sleeps for a short host time: the C library's functions for it belong to the programs.
fn rest() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: LOOK_NS,
    };
    // SAFETY: reads `time`.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, 0) };
}

impl WorkerProcess {
    /// Records that the program of this rank runs at this time.
    pub fn set_running(&self, rank: usize, now_ns: u64) {
        self.now.set((now_ns, rank as u32));
    }

    /// Returns whether there was output since the last mark.
    pub fn is_unsettled(&self) -> bool {
        self.has_printed.get()
    }

    /// Sends output of the current moment; `message` has the tool's format.
    pub fn print(&self, stream: c_int, message: &[u8]) {
        self.has_printed.set(true);
        self.tell(self.now.get(), stream as u32, message);
    }

    /// Announces that this worker sends no more output before this moment.
    pub fn mark(&self, moment: EventTime) {
        self.has_printed.set(self.now.get() >= moment);
        self.marks.set(self.marks.get() + 1);
        self.tell(moment, MARK, &[]);
    }

    /// Reports, at the end of a job without progress, that this rank waits.
    pub fn waits(&self, rank: u32) {
        self.tell((u64::MAX, rank), WAITS, &[]);
    }

    /// Waits until all output of all workers before their last marks was forwarded.
    pub fn wait_for_the_prints(&self) {
        while self.heeded.load(Ordering::Acquire) < self.marks.get() {
            rest();
        }
    }

    /// Prepares the running program to end the job. Does not return if another program has done so at an earlier
    /// virtual time. Neither allocates nor takes locks.
    fn about_to_fail(&self) {
        if self.is_failing.replace(true) {
            return;
        }
        let (now_ns, rank) = self.now.get();
        let own = FailureTime { now_ns, rank };
        let first = self.block.fail(own);
        self.mark((first.now_ns, first.rank + 1));
        if first != own {
            // The tool ends the process because of the other's report.
            loop {
                rest();
            }
        }
        self.wait_for_the_prints();
    }

    fn tell(&self, (time, rank): EventTime, what: u32, text: &[u8]) {
        let mut message = [0; MESSAGE_BYTES];
        message[..8].copy_from_slice(&time.to_ne_bytes());
        message[8..12].copy_from_slice(&rank.to_ne_bytes());
        message[12..HEAD_BYTES].copy_from_slice(&what.to_ne_bytes());
        let end = HEAD_BYTES + text.len();
        message[HEAD_BYTES..end].copy_from_slice(text);
        hand_on(self.first.as_raw_fd(), &message[..end]);
    }
}

/// State of a worker, as received by the first process.
struct WorkerState {
    number: libc::pid_t,
    socket: OwnedFd,
    /// Output to forward: its moment, the stream, the message.
    prints: VecDeque<(EventTime, c_int, Vec<u8>)>,
    marked: EventTime,
    marks: u64,
}

impl WorkerState {
    fn new(number: libc::pid_t, socket: OwnedFd) -> WorkerState {
        WorkerState {
            number,
            socket,
            prints: VecDeque::new(),
            marked: (0, 0),
            marks: 0,
        }
    }
}

/// The process that was started.
pub struct FirstProcess {
    workers: Vec<WorkerState>,
    heeded: &'static AtomicU64,
}

impl FirstProcess {
    /// Forwards output until a worker ends, and then ends the process like it; or until nothing makes progress any
    /// more: then returns a rank that waits forever.
    pub fn hand_on(mut self) -> u32 {
        let mut waiting = Vec::new();
        loop {
            let at = self.next_to_speak();
            self.hear(at, &mut waiting);
            let marked = { self.workers.iter() }.map(|worker| worker.marked).min();
            let marked = marked.unwrap_or(END);
            self.hand_on_before(marked);
            let heeded = { self.workers.iter() }.map(|worker| worker.marks).min();
            self.heeded.store(heeded.unwrap_or(0), Ordering::Release);
            if marked == END
                && let Some(first) = waiting.iter().min()
            {
                return *first;
            }
        }
    }

    /// Waits for a worker that has sent a message, or has ended.
    fn next_to_speak(&self) -> usize {
        let event = |worker: &WorkerState| libc::pollfd {
            fd: worker.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut events: Vec<_> = self.workers.iter().map(event).collect();
        loop {
            let count = events.len() as libc::nfds_t;
            // SAFETY: that many events. Not by `poll`, which is the programs'.
            unsafe { libc::ppoll(events.as_mut_ptr(), count, ptr::null(), ptr::null()) };
            if let Some(at) = events.iter().position(|event| event.revents != 0) {
                return at;
            }
        }
    }

    fn hear(&mut self, at: usize, waiting: &mut Vec<u32>) {
        let worker = &mut self.workers[at];
        let mut message = [0; MESSAGE_BYTES];
        // SAFETY: the buffer has that many bytes.
        let bytes = unsafe { libc::recv(worker.socket.as_raw_fd(), message.as_mut_ptr().cast(), message.len(), 0) };
        let Some((head, text)) = usize::try_from(bytes)
            .ok()
            .and_then(|bytes| message[..bytes].split_at_checked(HEAD_BYTES))
        else {
            let number = worker.number;
            let all: Vec<_> = self.workers.iter().map(|worker| worker.number).collect();
            end_as(number, &all);
        };
        let word = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let time = u64::from_ne_bytes(head[..8].try_into().expect("8 bytes"));
        let moment = (time, word(8));
        match word(12) {
            MARK => {
                worker.marked = moment;
                worker.marks += 1;
            }
            WAITS => waiting.push(moment.1),
            stream => {
                let print = (moment, stream as c_int, text.to_vec());
                worker.prints.push_back(print);
            }
        }
    }

    fn hand_on_before(&mut self, marked: EventTime) {
        loop {
            let first = |worker: &&mut WorkerState| worker.prints.front().map(|print| print.0);
            let heads = self.workers.iter_mut().filter(|worker| {
                let head = worker.prints.front();
                head.is_some_and(|print| print.0 < marked)
            });
            let Some(worker) = heads.min_by_key(first) else {
                return;
            };
            if let Some((_, stream, message)) = worker.prints.pop_front() {
                hand_on(stream, &message);
            }
        }
    }
}

/// Ends the process as this child has ended, after all others.
fn end_as(number: libc::pid_t, all: &[libc::pid_t]) -> ! {
    let mut status = 0;
    // SAFETY: our own children, one of whose statuses is written to `status`; the rest ends the process, regardless of
    // the program's own `signal` and `raise`.
    unsafe {
        libc::waitpid(number, &raw mut status, 0);
        for other in all.iter().filter(|&&other| other != number) {
            libc::syscall(libc::SYS_kill, *other, libc::SIGKILL);
            libc::waitpid(*other, ptr::null_mut(), 0);
        }
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let default: libc::sigaction = mem::zeroed();
            __sigaction(signal, &raw const default, ptr::null_mut());
            libc::syscall(libc::SYS_kill, process_id(), signal);
        }
        libc::syscall(libc::SYS_exit_group, libc::WEXITSTATUS(status).max(1));
    }
    unreachable!("exit_group does not return")
}
