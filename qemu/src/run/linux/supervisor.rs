//! Supervisor process between the tool and a command that runs ranks: a tracer, a checker, a shell. Such a command may
//! start the rank as its own child, or end before it, out of reach of the parent-death signal. All orphaned descendants
//! become children of this process. It kills them when the job is over or the tool has ended.

use crate::host::error::{CliError, ErrorContext};
use crate::host::resource_usage::{children, has_ended};
use crate::host::signals::Signals;
use crate::host::sys;
use clap::Args;
use midplane_setup::query::in_path;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The hidden command.
const KEPT: &str = "kept";
/// Interval between checks for remaining descendants.
const LOOK: Duration = Duration::from_millis(20);
/// Consecutive checks without a descendant that confirm its end. The contents of /proc are not an atomic snapshot of
/// processes that fork, are reparented or execute another program.
const LOOKS: u32 = 3;
/// Time limit for killed processes to disappear.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Returns the command line of the supervisor for a rank's command. The process ends when `life` has no writer. The
/// optional limits of stack and data are in bytes.
///
/// # Errors
/// Returns an error if the command is not found.
pub fn supervisor_command(
    words: &[String],
    image: &Path,
    life: &OwnedFd,
    rank: u32,
    [stack, data]: [Option<u64>; 2],
) -> Result<Vec<String>, CliError> {
    let Some(command) = words.first() else {
        return Ok(Vec::new());
    };
    if in_path(command).is_none() {
        return Err(CliError::failure(format!(
            "cannot start {command} for rank {rank}: it does not exist or is not executable"
        )));
    }
    let us = std::env::current_exe().context("find this command's executable")?;
    let life = life.as_raw_fd().to_string();
    let mut under = vec![us.to_string_lossy().into_owned(), KEPT.into()];
    under.extend(["--life".into(), life, "--image".into()]);
    under.push(image.to_string_lossy().into_owned());
    for (option, limit) in [("--stack", stack), ("--data", data)] {
        if let Some(bytes) = limit {
            under.extend([option.into(), bytes.to_string()]);
        }
    }
    under.push("--".into());
    under.extend_from_slice(words);
    Ok(under)
}

/// Options of the hidden command that keeps another one.
#[derive(Args, Debug)]
pub struct SupervisedArgs {
    /// Descriptor of a pipe that has a writer for as long as the job lasts
    #[arg(long)]
    life: RawFd,
    /// The program, as it is named to the command
    #[arg(long)]
    image: OsString,
    /// Limit of the stack in bytes
    #[arg(long)]
    stack: Option<u64>,
    /// Limit of the data in bytes
    #[arg(long)]
    data: Option<u64>,
    /// The command and its arguments
    #[arg(required = true, last = true)]
    words: Vec<OsString>,
}

/// Runs the command, and returns its status after its end and that of a program that it has left running. Kills all
/// other remaining processes.
///
/// # Errors
/// Returns an error if the command cannot be started.
pub fn supervise(options: &SupervisedArgs) -> Result<u8, CliError> {
    // The pipe requests the end; keyboard signals are for the command on the same terminal.
    let signals = Signals::catch_but_keys()?;
    let life = sys::inherit_descriptor(options.life).context("redirect the pipe")?;
    set_child_subreaper(Some(getpid())).context("preserve the state of the command")?;
    let mut command = Command::new(&options.words[0]);
    command.args(&options.words[1..]);
    limit(&mut command, [options.stack, options.data]);
    sys::bind_to_this_process(&mut command, Signal::KILL, Vec::new());
    let child = command
        .spawn()
        .context(format_args!("start {}", options.words[0].display()))?;
    let child = sys::process_id(&child);
    let pidfd =
        rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty()).context("watch the command")?;
    let look = Timespec::try_from(LOOK).ok();
    let mut ended = None;
    let mut absent = 0;
    loop {
        let mut fds = vec![PollFd::new(&life, PollFlags::empty())];
        fds.extend({ signals.fds() }.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let asks = fds.len();
        if ended.is_none() {
            fds.push(PollFd::new(&pidfd, PollFlags::IN));
        }
        // An interruption is a signal; signals are checked in any case.
        let _ = poll(&mut fds, ended.and(look.as_ref()));
        if fds[..asks].iter().any(|fd| !fd.revents().is_empty()) {
            kill_all();
            return Ok(status(ended));
        }
        reap(child, &mut ended);
        absent = if ended.is_some() && !is_running(std::process::id(), options.image.as_bytes()) {
            absent + 1
        } else {
            0
        };
        if absent == LOOKS {
            kill_all();
            return Ok(status(ended));
        }
    }
}

/// Records the status of ended children.
fn reap(child: Pid, ended: &mut Option<WaitStatus>) {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => *ended = Some(status),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// Checks whether a descendant of this process contains this word in its command line, or is about to. While a process
/// executes another program, its command line is empty for a moment; that of an ended process stays empty.
fn is_running(process: u32, word: &[u8]) -> bool {
    children(process).into_iter().any(|child| {
        let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let is_it = if line.is_empty() {
            !has_ended(child)
        } else {
            line.split(|byte| *byte == 0).any(|other| other == word)
        };
        is_it || is_running(child, word)
    })
}

/// Kills all children until none is left; orphans of a child become children next.
fn kill_all() {
    let until = Instant::now() + GONE_WITHIN;
    while Instant::now() < until {
        // Only this process waits for its children, so their IDs are not reused.
        for child in children(std::process::id()) {
            if let Some(pid) = Pid::from_raw(child as i32) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the command's exit status. If a signal has ended it, ends this process with the same signal.
fn status(ended: Option<WaitStatus>) -> u8 {
    let Some(ended) = ended else {
        return crate::host::error::FAILURE;
    };
    if let Some(signal) = ended.terminating_signal() {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return 128_u8.wrapping_add(signal as u8);
    }
    ended.exit_status().map_or(0, |status| status as u8)
}

/// Limits a process's stack and data, in bytes.
pub fn limit(command: &mut Command, limits: [Option<u64>; 2]) {
    for (resource, limit) in [Resource::Stack, Resource::Data].into_iter().zip(limits) {
        if let Some(bytes) = limit {
            sys::limit(command, resource, bytes);
        }
    }
}
