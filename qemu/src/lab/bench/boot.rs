//! Jobs in QEMU, run as users run them.

use crate::host::folders;
use crate::host::signals::Signals;
use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_process_group};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Runs a program of `tests/programs` by `midplane run` and says what it has written.
///
/// # Errors
/// When it cannot be run, when it fails, and when a signal comes, which ends it.
pub fn run(
    options: &[&str],
    program: &str,
    arguments: &[&str],
    signals: &Signals,
) -> Result<String, Stop> {
    let path = folders::root().join("tests/programs").join(program);
    let output = wait(start(options, &path, arguments)?, signals)?;
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.success() {
        true => Ok(said.into_owned()),
        false => {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(Stop::failure(format!(
                "{program} in QEMU failed:\n{said}{errors}"
            )))
        }
    }
}

fn start(options: &[&str], program: &Path, arguments: &[&str]) -> Result<Child, Stop> {
    let exe = std::env::current_exe().doing("find this command")?;
    let mut command = Command::new(exe);
    command
        .args(["run", "--quiet"])
        .args(options)
        .arg(program)
        .arg("--")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
    command.spawn().doing("start `midplane run`")
}

/// Waits for its end, or ends it when a signal comes.
fn wait(child: Child, signals: &Signals) -> Result<Output, Stop> {
    let group = sys::pid_of(&child);
    let (ended, ends) = UnixStream::pair().doing("wait for `midplane run`")?;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let output = child.wait_with_output();
            // Ends the wait below.
            drop(ends);
            output
        });
        let mut fds = vec![PollFd::new(&ended, PollFlags::IN)];
        fds.extend(
            signals
                .fds()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        // A signal interrupts it; what it was is looked at below.
        let _ = poll(&mut fds, None);
        let stop = signals.pending();
        if stop.is_some() {
            let _ = kill_process_group(group, Signal::TERM);
        }
        let output = match waiter.join() {
            Ok(output) => output.doing("wait for `midplane run`"),
            Err(panic) => std::panic::resume_unwind(panic),
        };
        stop.map_or(output, Err)
    })
}
