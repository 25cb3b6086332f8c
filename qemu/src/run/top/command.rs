//! The command: selects the job, and prints its state once or once a second.

use super::directory::{private_directory, request_state, running_jobs};
use super::snapshot::JobSnapshot;
use super::view::{JobInterval, SortKey};
use crate::host::error::{CliError, ErrorContext};
use crate::show::console::{print_bytes, print_line};
use clap::Args;
use rustix::process::getuid;
use rustix::termios::tcgetwinsize;
use std::fs;
use std::io::{IsTerminal, stdout};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Time between two states.
const INTERVAL: Duration = Duration::from_secs(1);
/// Lines of the terminal besides the ranks: heading, title, note, and one for the cursor.
const OTHER_LINES: usize = 4;
/// Moves the cursor to the top left corner and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[J";
/// Prevents the wrapping of long lines, and permits it again.
const NO_WRAP: [&str; 2] = ["\x1b[?7l", "\x1b[?7h"];

/// Options of `midplane top`.
#[derive(Args, Debug)]
#[command(
    after_help = "Columns: calls: calls that have waited; posted, unexp.: receives and messages without a match, of a rank \
                  that is blocked; records: unexpected messages in MPI memory; NCTS: rejected messages; MPI peak, heap \
                  peak: maximum since the start. Linux processes update their counters when they enter a call."
)]
pub struct TopArgs {
    /// Process ID of the `run` or `mpiexec` command [default: the only running job]
    #[arg(value_name = "PID")]
    pid: Option<u32>,

    /// Print one table and end
    #[arg(long, help_heading = "Output")]
    once: bool,

    /// Print the state as JSON and end
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Order of the ranks
    #[arg(long, value_name = "KEY", value_enum, default_value_t, help_heading = "Output")]
    sort: SortKey,
}

/// Shows the state of a job; returns the exit status.
///
/// # Errors
/// Returns an error if no job, or another user's process, is selected.
pub fn run(options: &TopArgs) -> Result<u8, CliError> {
    let directory = private_directory().ok_or_else(|| {
        CliError::unusable("no private directory for the sockets of jobs: XDG_RUNTIME_DIR or /tmp must be writable")
    })?;
    let pid = select(&directory, options.pid)?;
    let state = || request_state(&directory, pid);
    let first = state().map_err(|error| CliError::failure(format!("job {pid} does not answer: {error}")))?;
    if options.json {
        return print_bytes(first.as_bytes()).map(|()| 0);
    }
    let mut before = parse(&first)?;
    if !options.once {
        show(
            &JobInterval {
                before: None,
                now: &before,
            },
            options.sort,
        )?;
    }
    loop {
        std::thread::sleep(INTERVAL);
        let Ok(text) = state() else {
            // It has ended in the meantime.
            if options.once {
                print(
                    &JobInterval {
                        before: None,
                        now: &before,
                    },
                    options.sort,
                )?;
            } else {
                print_line(format_args!("job {pid} has ended"))?;
            }
            return Ok(0);
        };
        let now = parse(&text)?;
        let interval = JobInterval {
            before: Some(&before),
            now: &now,
        };
        if options.once {
            return print(&interval, options.sort).map(|()| 0);
        }
        show(&interval, options.sort)?;
        before = now;
    }
}

fn parse(text: &str) -> Result<JobSnapshot, CliError> {
    serde_json::from_str(text).context("read the state of the job, which another version of this command may run")
}

/// Returns the process ID of the job.
fn select(directory: &Path, pid: Option<u32>) -> Result<u32, CliError> {
    let jobs = running_jobs(directory);
    match (pid, &jobs[..]) {
        (Some(pid), _) if jobs.contains(&pid) => Ok(pid),
        (Some(pid), _) => Err(CliError::failure(explain_missing(pid, &jobs))),
        (None, [pid]) => Ok(*pid),
        (None, []) => Err(CliError::failure(
            "no job of this user runs; a job exists once its program is compiled",
        )),
        (None, jobs) => Err(CliError::unusable(format!(
            "several jobs run; specify the process ID of one:{}",
            list(directory, jobs)
        ))),
    }
}

fn explain_missing(pid: u32, jobs: &[u32]) -> String {
    let owner = fs::metadata(format!("/proc/{pid}")).map(|process| process.uid());
    let reason = match owner {
        Err(_) => format!("process {pid} does not exist; its job may have ended"),
        Ok(owner) if owner != getuid().as_raw() => {
            format!("process {pid} belongs to another user; a user can observe own jobs only")
        }
        Ok(_) => format!("process {pid} is no running job"),
    };
    let jobs: Vec<String> = jobs.iter().map(u32::to_string).collect();
    if jobs.is_empty() {
        reason
    } else {
        format!("{reason}; running jobs: {}", jobs.join(", "))
    }
}

/// Returns a line for each job.
fn list(directory: &Path, jobs: &[u32]) -> String {
    let line = |pid: &u32| {
        let state = request_state(directory, *pid).ok().and_then(|text| parse(&text).ok());
        let about = state.map_or(String::new(), |job| {
            let [x, y, z] = job.torus;
            format!("  {} on {x}x{y}x{z} nodes, {:.1} s", job.program, job.seconds)
        });
        format!("\n  {pid}{about}")
    };
    jobs.iter().map(line).collect()
}

fn print(interval: &JobInterval<'_>, key: SortKey) -> Result<(), CliError> {
    interval.lines(key, usize::MAX).iter().try_for_each(print_line)
}

/// Shows a table in place of the former one, as far as the terminal has lines.
fn show(interval: &JobInterval<'_>, key: SortKey) -> Result<(), CliError> {
    if !stdout().is_terminal() {
        print(interval, key)?;
        return print_line("");
    }
    let rows = tcgetwinsize(stdout()).map_or(24, |size| usize::from(size.ws_row));
    let lines = interval.lines(key, rows.saturating_sub(OTHER_LINES).max(1));
    let [no_wrap, wrap] = NO_WRAP;
    print_bytes(format!("{CLEAR}{no_wrap}{}{wrap}\n", lines.join("\n")).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_a_job_is_explained() {
        let own = explain_missing(std::process::id(), &[3, 5]);
        assert!(own.ends_with("is no running job; running jobs: 3, 5"), "{own}");
        let missing = explain_missing(u32::MAX, &[]);
        assert!(missing.ends_with("does not exist; its job may have ended"), "{missing}");
    }
}
