//! The process between us and a command under which ranks run: a tracer, a checker, a shell. Such a command may start the rank
//! as a child of its own, or leave it behind, where no signal that follows our end reaches it. All that comes of the
//! command becomes a child of this process at last, which kills it when the job is over or we have ended.

use crate::host::signals::Signals;
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::host::used::{children, has_ended};
use clap::Args;
use midplane_setup::ask::in_path;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait,
};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The hidden command.
const KEPT: &str = "kept";
/// How often it is looked whether what the command has left behind has ended.
const LOOK: Duration = Duration::from_millis(20);
/// It has, when it is not there so often, one look after the other: what /proc tells of processes that are being made, handed
/// on or executing another program is not of one moment.
const LOOKS: u32 = 3;
/// What is killed has this long to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// The words to run a rank under, for those that the user gave. The process ends when `life` has no writer any more. Stack
/// and data have these limits in bytes, if any.
///
/// # Errors
/// There is no such command.
pub fn under(
    (words, image): (&[String], &Path),
    (life, rank): (&OwnedFd, u32),
    [stack, data]: [Option<u64>; 2],
) -> Result<Vec<String>, Stop> {
    let Some(command) = words.first() else {
        return Ok(Vec::new());
    };
    if in_path(command).is_none() {
        return Err(Stop::failure(format!(
            "cannot start {command} for rank {rank}: it is not there, or cannot be executed"
        )));
    }
    let us = std::env::current_exe().doing("find this command's own file")?;
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
pub struct Kept {
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

/// Runs the command, and ends as it has, after the program that it may have left behind. What else it leaves is killed.
///
/// # Errors
/// It cannot be started.
pub fn keep(options: &Kept) -> Result<u8, Stop> {
    // What asks for our end comes by the pipe; a key is for the command, which has the same terminal.
    let signals = Signals::catch_but_keys()?;
    let life = sys::inherited(options.life).doing("take over the pipe")?;
    set_child_subreaper(Some(getpid())).doing("keep what the command leaves behind")?;
    let mut command = Command::new(&options.words[0]);
    command.args(&options.words[1..]);
    super::limit(&mut command, [options.stack, options.data]);
    sys::bind_to_us(&mut command, Signal::KILL, Vec::new());
    let child = command
        .spawn()
        .doing(format_args!("start {}", options.words[0].display()))?;
    let child = sys::pid_of(&child);
    let pidfd = rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty())
        .doing("watch the command")?;
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
        // An interruption is a signal, which is looked for in any case.
        let _ = poll(&mut fds, ended.and(look.as_ref()));
        if fds[..asks].iter().any(|fd| !fd.revents().is_empty()) {
            kill_all();
            return Ok(status(ended));
        }
        reap(child, &mut ended);
        absent = match ended.is_some() && !is_there(std::process::id(), options.image.as_bytes()) {
            true => absent + 1,
            false => 0,
        };
        if absent == LOOKS {
            kill_all();
            return Ok(status(ended));
        }
    }
}

/// Takes note of ends.
fn reap(child: Pid, ended: &mut Option<WaitStatus>) {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => *ended = Some(status),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// Whether what has come of this process has one with this word in its command line, or one that is about to have one: while
/// a process executes another program its line is empty for a moment, as that of one that has ended is for good.
fn is_there(process: u32, word: &[u8]) -> bool {
    children(process).into_iter().any(|child| {
        let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let is_it = match line.is_empty() {
            true => !has_ended(child),
            false => line.split(|byte| *byte == 0).any(|other| other == word),
        };
        is_it || is_there(child, word)
    })
}

/// Kills what there is, until nothing is left: what a child leaves behind is ours next.
fn kill_all() {
    let until = Instant::now() + GONE_WITHIN;
    while Instant::now() < until {
        // Nobody else waits for our children, so that no other process can have such a number.
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

/// The status that tells how the command has ended; where a signal has ended it, that ends us.
fn status(ended: Option<WaitStatus>) -> u8 {
    let Some(ended) = ended else {
        return crate::host::stop::FAILURE;
    };
    if let Some(signal) = ended.terminating_signal() {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return 128_u8.wrapping_add(signal as u8);
    }
    ended.exit_status().map_or(0, |status| status as u8)
}
