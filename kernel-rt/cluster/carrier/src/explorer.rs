//! Many runs of one program, each with a schedule from the tool (`midplane explore`).
//!
//! The process that the tool has started forks one process for each run, before any initialization: a run begins within
//! a millisecond and cannot affect the next one. Messages on the tool's socket are lines of text:
//!
//! ```text
//! from the tool        a decision for each line of the schedule, then `run`
//! from the run         each decision that it makes, `later INDEX` (`MatchDecision::has_later`), then one of `statuses`, `hang`, `redundant`, `foreign`
//! from this process    `exit STATUS` or `signal NUMBER` when the run's process has ended
//! ```

use std::ffi::c_int;
use std::fmt::Display;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::{mem, ptr};

use kernel_rt::board::linux::process_id;
use kernel_rt::board::linux::sim_nodes::{ToolParameters, boot_failed};
use midplane_cluster::match_orders::{DecisionObserver, MatchDecision, parse_schedule};
use midplane_cluster::{BlockOutcome, JobFailure};

use crate::socket::hand_on;
use crate::system::duplicate;
use crate::workers::{die_with, fork};

/// Maximum size of a message in bytes: a decision among all ranks of a large machine.
const MESSAGE_BYTES: usize = 64 << 10;
/// Maximum CPU time of a run in seconds; a program that computes without end is killed.
const MAX_RUN_SECONDS: u64 = 10;
/// Message that begins a run.
const BEGIN: &[u8] = b"run";

/// The tool's socket; negative without an exploration. It is set before the ranks' data is captured, so that all of them
/// have it.
static SOCKET: AtomicI32 = AtomicI32::new(-1);

/// Serves the tool's runs if it explores. Returns the schedule of a run in the process of each; `None` without an
/// exploration and without a schedule.
pub fn schedule(told: &ToolParameters) -> Option<Vec<MatchDecision>> {
    if let Some(path) = &told.schedule {
        let text = std::fs::read_to_string(path).unwrap_or_else(|why| boot_failed(format_args!("{path}: {why}")));
        let schedule = parse_schedule(&text);
        return Some(schedule.unwrap_or_else(|why| boot_failed(format_args!("{path}: {why}"))));
    }
    let socket = told.explore.as_ref()?;
    // The program may close small descriptors.
    let socket = duplicate(socket.as_raw_fd()).unwrap_or_else(|why| boot_failed(why));
    let socket = mem::ManuallyDrop::new(socket).as_raw_fd();
    SOCKET.store(socket, Ordering::Relaxed);
    Some(serve(socket))
}

/// Forks a process for each run. Returns in these only.
fn serve(socket: RawFd) -> Vec<MatchDecision> {
    let us = process_id() as libc::pid_t;
    let (mut text, mut buffer) = (String::new(), vec![0; MESSAGE_BYTES]);
    loop {
        match receive(socket, &mut buffer) {
            // The tool needs no more runs.
            [] => exit(0),
            BEGIN => match fork() {
                -1 => boot_failed("no process for a run"),
                0 => {
                    die_with(us);
                    limit_time();
                    return parse_schedule(&text).unwrap_or_else(|why| boot_failed(why));
                }
                number => {
                    hand_on(socket, end_of(number).as_bytes());
                    text.clear();
                }
            },
            line => {
                text.push_str(&String::from_utf8_lossy(line));
                text.push('\n');
            }
        }
    }
}

/// Receives a message; an empty one if the tool has closed the socket.
fn receive(socket: RawFd, buffer: &mut [u8]) -> &[u8] {
    // SAFETY: the buffer has that many bytes.
    let bytes = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    &buffer[..usize::try_from(bytes).unwrap_or(0)]
}

/// Waits for the end of a run's process, and describes it.
fn end_of(number: libc::pid_t) -> String {
    let mut status: c_int = 0;
    // SAFETY: our own child, whose status is written to `status`.
    unsafe { libc::waitpid(number, &raw mut status, 0) };
    if libc::WIFSIGNALED(status) {
        return format!("signal {}", libc::WTERMSIG(status));
    }
    format!("exit {}", libc::WEXITSTATUS(status))
}

/// Limits the CPU time of this process.
fn limit_time() {
    let limit = libc::rlimit64 {
        rlim_cur: MAX_RUN_SECONDS,
        rlim_max: MAX_RUN_SECONDS,
    };
    let none = ptr::null_mut::<libc::rlimit64>();
    // SAFETY: reads the limit. Uses the system call: `setrlimit` is the programs'.
    unsafe { libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_CPU, &raw const limit, none) };
}

fn exit(status: c_int) -> ! {
    // SAFETY: ends the process, regardless of the program's exit handlers.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    unreachable!("exit_group does not return")
}

/// Sends a line to the tool if it explores.
fn tell(line: impl Display) {
    let socket = SOCKET.load(Ordering::Relaxed);
    if socket >= 0 {
        hand_on(socket, line.to_string().as_bytes());
    }
}

/// Reports the decisions of the run.
pub const OBSERVER: DecisionObserver = DecisionObserver {
    record: |decision| tell(decision),
    note_later: |index| tell(format_args!("later {index}")),
};

/// Returns whether this process is a run of an exploration.
pub fn is_run() -> bool {
    SOCKET.load(Ordering::Relaxed) >= 0
}

/// Reports the result of a run, and ends its process.
pub fn end(ended: BlockOutcome) -> ! {
    match ended {
        Ok(statuses) => {
            let statuses: Vec<String> = statuses.iter().map(i32::to_string).collect();
            tell(format_args!("statuses {}", statuses.join(" ")));
        }
        Err(Some(JobFailure::Hang(calls))) => {
            let calls = (0..).zip(calls);
            let waiting = calls.filter_map(|(rank, call): (u32, _)| Some((rank, call?.function)));
            let waiting: Vec<String> = waiting.map(|(rank, function)| format!("{rank} {function}")).collect();
            tell(format_args!("hang {}", waiting.join(" ")));
        }
        Err(Some(JobFailure::Redundant)) => tell("redundant"),
        Err(Some(JobFailure::ForeignSchedule)) => tell("foreign"),
        Err(failure) => tell(format_args!("failed {failure:?}")),
    }
    exit(0)
}
