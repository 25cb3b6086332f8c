//! `midplane test`: all tests of the workspace, and a line of counts.

use crate::host::setup;
use crate::host::signals::Signals;
use crate::host::stop::{self, Doing, Stop};
use crate::host::sys;
use crate::show::say;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_process_group};
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Sums of what the test programs report.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Adds a line of output if it is a test program's result.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim().strip_prefix("test result: ") else {
            return;
        };
        let fields = result.split_once(". ").map_or("", |(_, fields)| fields);
        for field in fields.split(';') {
            let mut words = field.split_whitespace();
            let number = words.next().and_then(|n| n.parse::<u64>().ok());
            let (Some(number), Some(word)) = (number, words.next()) else {
                continue;
            };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skipped {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

/// Starts `cargo test` with these arguments in this workspace: the process and what it prints. It does not
/// outlive us.
pub fn cargo_test(arguments: &[&str]) -> Result<(Child, ChildStdout), Stop> {
    let mut command = Command::new(setup::own_cargo());
    command
        .arg("test")
        .args(arguments)
        .current_dir(crate::host::folders::root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A group of its own, so that a signal can be passed on to all that the tests have started.
        .process_group(0);
    sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
    let mut child = command.spawn().doing("run cargo test")?;
    let output = child
        .stdout
        .take()
        .ok_or_else(|| Stop::failure("cargo test has no output"))?;
    Ok((child, output))
}

/// Runs everything; the exit status is 0 when all passed.
pub fn run() -> Result<u8, Stop> {
    setup::ensure()?;
    let signals = Signals::catch()?;
    let (mut child, mut output) = cargo_test(&["--workspace", "--no-fail-fast"])?;
    let group = sys::pid_of(&child);
    let mut counts = Counts::default();
    let mut line = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let mut fds: Vec<PollFd<'_>> = vec![PollFd::new(&output, PollFlags::IN)];
        fds.extend(
            signals
                .fds()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        // Interrupted by a signal or not, the loop looks again.
        let _ = poll(&mut fds, None);
        let has_output = !fds[0].revents().is_empty();
        if let Some(stop) = signals.pending() {
            let _ = kill_process_group(group, Signal::TERM);
            let _ = child.wait();
            return Err(stop);
        }
        if !has_output {
            continue;
        }
        let bytes = output.read(&mut buffer).doing("read what the tests say")?;
        if bytes == 0 {
            break;
        }
        if let Err(stop) = say::pass_on(&buffer[..bytes]) {
            let _ = kill_process_group(group, Signal::TERM);
            let _ = child.wait();
            return Err(stop);
        }
        for &byte in &buffer[..bytes] {
            if byte == b'\n' {
                counts.add(&String::from_utf8_lossy(&line));
                line.clear();
            } else {
                line.push(byte);
            }
        }
    }
    let status = child.wait().doing("wait for cargo test")?;
    if !status.success() && counts.failed == 0 {
        say::complain("midplane: tests did not compile, or a test program broke off; see above");
        counts.failed = 1;
    }
    say::say(counts)?;
    Ok(if counts.failed == 0 { 0 } else { stop::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed() {
        let mut counts = Counts::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.2s",
            "test result: nonsense",
        ] {
            counts.add(line);
        }
        assert_eq!(
            counts,
            Counts {
                passed: 14,
                failed: 1,
                skipped: 1
            }
        );
        assert_eq!(counts.to_string(), "14 passed, 1 failed, 1 skipped");
        assert_eq!(Counts::default().to_string(), "0 passed, 0 failed");
    }
}
