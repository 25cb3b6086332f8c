//! Instruction counts, from valgrind's callgrind.

use crate::host::error::{CliError, ErrorContext};
use crate::host::sys;
use rustix::process::Signal;
use std::process::{Command, Stdio};

/// Returns the instructions of a complete run of this command's `bench` with these arguments, on the host's processor.
///
/// # Errors
/// Returns an error if valgrind cannot be run or the run fails.
pub fn instructions(arguments: &[&str]) -> Result<u64, CliError> {
    let exe = std::env::current_exe().context("find this command")?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .arg("bench")
        .args(arguments)
        .stdin(Stdio::null());
    sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
    let output = command.output().context("run valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| {
        let (_, number) = line.split_once("Collected :")?;
        number.trim().parse().ok()
    });
    collected
        .filter(|_| output.status.success())
        .ok_or_else(|| CliError::failure(format!("valgrind did not count:\n{said}")))
}
