//! Jobs that benchmarks run as a user would.

use crate::host::directories;
use crate::host::error::{CliError, ErrorContext, USAGE};
use crate::host::resource_usage::ResourceUsage;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::host::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::str::FromStr;

/// Returns the path of a program in `tests/programs`.
///
/// # Errors
/// Returns an error for the sources of an installed command, which contain no such programs.
pub fn program(name: &str) -> Result<PathBuf, CliError> {
    let path = directories::root().join("tests/programs").join(name);
    if path.exists() {
        return Ok(path);
    }
    Err(CliError::unusable(format!(
        "this measurement uses tests/programs/{name} of a checkout of Midplane; run `cargo midplane bench` there"
    )))
}

/// Runs a program of `tests/programs` with `midplane run` and returns its output.
///
/// # Errors
/// Returns an error if it cannot be run or fails, or when a signal ends it.
pub fn run(options: &[&str], name: &str, arguments: &[&str], signals: &Signals) -> Result<String, CliError> {
    run_with_usage(options, name, arguments, signals).map(|(said, _)| said)
}

/// Runs a program like [`run`], and also returns the job's resource usage.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_with_usage(
    options: &[&str],
    name: &str,
    arguments: &[&str],
    signals: &Signals,
) -> Result<(String, ResourceUsage), CliError> {
    let exe = std::env::current_exe().context("find this command")?;
    let mut command = Command::new(exe);
    command
        .args(["run", "--quiet"])
        .args(options)
        .arg(program(name)?)
        .arg("--")
        .args(arguments);
    match capture_output_and_usage(command, None, signals)? {
        Some(ended) => Ok(ended),
        None => unreachable!("there is no limit"),
    }
}

/// Runs a command and returns its output; `None` if it did not end within the limit in seconds.
///
/// # Errors
/// Returns an error if it cannot be run or fails, or when a signal ends it.
pub fn capture_output(command: Command, limit_s: Option<u32>, signals: &Signals) -> Result<Option<String>, CliError> {
    let ended = capture_output_and_usage(command, limit_s, signals)?;
    Ok(ended.map(|(said, _)| said))
}

/// Runs a command like [`capture_output`], and also returns the resource usage of it and its children.
///
/// # Errors
/// Returns the errors of [`capture_output`].
pub fn capture_output_and_usage(
    mut command: Command,
    limit_s: Option<u32>,
    signals: &Signals,
) -> Result<Option<(String, ResourceUsage)>, CliError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
    let name = command.get_program().display().to_string();
    let child = command.spawn().context(format_args!("start {name}"))?;
    let Some((output, used)) = wait(child, limit_s, signals)? else {
        return Ok(None);
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        Ok(Some((said.into_owned(), used)))
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = command.get_args().map(|word| word.display().to_string());
        let words: Vec<String> = last.collect();
        let message = format!("{name} {} failed:\n{said}{errors}", words.join(" "));
        // A tool that the machine lacks is a usage error of the measurement, too.
        if output.status.code() == Some(USAGE.into()) {
            return Err(CliError::unusable(message));
        }
        Err(CliError::failure(message))
    }
}

/// Waits for the child's end. Ends it when a signal arrives or when the limit expires. Returns the signal as an error.
fn wait(child: Child, limit_s: Option<u32>, signals: &Signals) -> Result<Option<(Output, ResourceUsage)>, CliError> {
    let group = sys::process_id(&child);
    let (ended, ends) = UnixStream::pair().context("wait for a job")?;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let output = wait_with_output(child);
            // Completes the wait below.
            drop(ends);
            output
        });
        let mut fds = vec![PollFd::new(&ended, PollFlags::IN)];
        fds.extend(signals.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let limit = limit_s.map(|seconds| Timespec {
            tv_sec: seconds.into(),
            tv_nsec: 0,
        });
        // A signal interrupts the wait; it is checked below.
        let is_late = poll(&mut fds, limit.as_ref()) == Ok(0);
        let stop = signals.pending();
        if stop.is_some() || is_late {
            let _ = kill_process_group(group, Signal::TERM);
        }
        let output = match waiter.join() {
            Ok(output) => output.context("wait for a job"),
            Err(panic) => std::panic::resume_unwind(panic),
        };
        match stop {
            Some(stop) => Err(stop),
            None if is_late => Ok(None),
            None => output.map(Some),
        }
    })
}

/// Returns a process's output and resource usage after its end.
fn wait_with_output(mut child: Child) -> io::Result<(Output, ResourceUsage)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(|| read_all(stderr));
    let stdout = read_all(stdout);
    let stderr = match errors.join() {
        Ok(stderr) => stderr,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let (status, used) = sys::wait_and_account(&child)?;
    let output = Output {
        status,
        stdout: stdout?,
        stderr: stderr?,
    };
    Ok((output, used))
}

fn read_all(stream: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut all)?;
    }
    Ok(all)
}

/// Compiles a program of `tests/programs` with the compiler of another MPI.
///
/// # Errors
/// Returns the errors of [`capture_output`].
pub fn compile(compiler: &Path, name: &str, to: &Path, signals: &Signals) -> Result<(), CliError> {
    let mut command = Command::new(compiler);
    command.args(["-O2", "-w"]);
    command.arg(program(&format!("{name}.c"))?);
    command.arg("-o").arg(to).arg("-lm");
    capture_output(command, None, signals).map(drop)
}

/// Returns the error of a command that requires QEMU.
pub fn no_qemu(command: &str) -> CliError {
    CliError::unusable(format!("{command}: {}", setup::no_qemu()))
}

/// Parses the run time in seconds that a program prints, such as `tests/programs/killer.c`.
pub fn seconds(said: &str) -> Option<f64> {
    let (before, _) = said.split_once(" seconds, ")?;
    before.rsplit(' ').next()?.parse().ok()
}

/// Parses the number after `PROGRAM: NAME` in a program's output.
pub(super) fn number<T: FromStr>(said: &str, program: &str, name: &str) -> Option<T> {
    let (_, rest) = said.split_once(&format!("{program}: {name} "))?;
    rest.lines().next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_killer_says_is_read() {
        let said = "[0] killer: 8 processes, 5 messages of 16 bytes from each, 0.250000 seconds, 0 errors\n";
        assert_eq!(seconds(said), Some(0.25));
        assert_eq!(seconds("[0] killer: no\n"), None);
        let said = "steps: halo, 8 processes, 1 times, 0.000093 seconds, 0 errors\n";
        assert_eq!(seconds(said), Some(0.000_093));
        assert_eq!(seconds("steps: no\n"), None);
    }

    #[test]
    fn a_missing_tool_of_a_job_is_no_failure_of_the_measurement() {
        let signals = Signals::catch().expect("signals");
        for (status, expected) in [(2, USAGE), (1, crate::host::error::FAILURE), (3, 1)] {
            let mut job = Command::new("sh");
            job.args(["-c", &format!("echo missing >&2; exit {status}")]);
            let stop = capture_output(job, None, &signals).expect_err("a failed job");
            assert_eq!(stop.status, expected);
            assert!(stop.message.ends_with("failed:\nmissing\n"), "{stop}");
        }
    }
}
