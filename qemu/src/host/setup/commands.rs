//! Commands that are run on the user's behalf: each is printed first, with its output on stderr.

use crate::host::error::{CliError, ErrorContext};
use crate::host::signals::SignalGuard;
use crate::host::sys;
use crate::show::console::{print_error_bytes, print_error_line};
use midplane_setup::query::line;
use rustix::fs::MemfdFlags;
use rustix::process::Signal;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Interval between checks of a command's output.
const LOOK: Duration = Duration::from_millis(50);

/// Prints a message to the user. Continues if stderr is closed or full.
pub fn print_message(text: &str) {
    print_error_line(format_args!("midplane: {text}"));
}

/// Runs a command that can be interrupted at any time. It ends with this process.
pub fn run_shown(mut command: Command) -> Result<(), CliError> {
    sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
    let (mut child, output) = start(&mut command)?;
    let status = follow(&mut child, &output, || {})?;
    check_status(&command, status)
}

/// Runs a command that must not be interrupted, such as a package manager. It runs in a session of its own, out of
/// reach of the terminal's signals and hang-up. A signal received meanwhile is returned as an error after the command
/// completes.
pub fn run_uninterrupted(mut command: Command) -> Result<(), CliError> {
    let hold = SignalGuard::begin()?;
    sys::start_session(&mut command);
    let (mut child, output) = start(&mut command)?;
    let mut said = false;
    let status = follow(&mut child, &output, || {
        if hold.has_received() && !said {
            said = true;
            let program = command.get_program().display();
            print_message(&format!(
                "ending after {program} completes, to avoid an incomplete installation"
            ));
        }
    });
    match hold.end() {
        Some(stop) => Err(stop),
        None => check_status(&command, status?),
    }
}

/// Starts a command with its output in a memory file. Unlike a pipe, the file accepts output even if this process's
/// stderr is closed or the process has ended.
fn start(command: &mut Command) -> Result<(Child, File), CliError> {
    let line = line(command);
    print_error_line(format_args!("+ {line}"));
    let output = rustix::fs::memfd_create("midplane-output", MemfdFlags::CLOEXEC)
        .map(File::from)
        .context("create a file in memory")?;
    let (out, err) = output
        .try_clone()
        .and_then(|out| Ok((out.try_clone()?, out)))
        .context("share a file in memory")?;
    let child = command
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|error| CliError::unusable(format!("cannot run `{line}`: {error}")))?;
    Ok((child, output))
}

/// Copies a child's output until the child has ended. Calls `between` periodically.
fn follow(child: &mut Child, output: &File, mut between: impl FnMut()) -> Result<ExitStatus, CliError> {
    let mut shown = 0;
    loop {
        // The status is read before the last check of the output.
        let ended = child.try_wait().context("wait for a command")?;
        let mut buffer = [0; 8192];
        while let Ok(bytes @ 1..) = output.read_at(&mut buffer, shown) {
            print_error_bytes(&buffer[..bytes]);
            shown += bytes as u64;
        }
        if let Some(status) = ended {
            return Ok(status);
        }
        between();
        sleep(LOOK);
    }
}

fn check_status(command: &Command, status: ExitStatus) -> Result<(), CliError> {
    if status.success() {
        Ok(())
    } else {
        Err(CliError::unusable(format!("`{}` failed ({status})", line(command))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_that_fails_is_named_with_its_status() {
        assert_eq!(run_shown(shell("true")), Ok(()));
        let stop = run_shown(shell("exit 7")).unwrap_err();
        assert!(stop.message.contains("exit 7") && stop.message.contains("status: 7"));
        assert_eq!(stop.status, crate::host::error::USAGE);
        assert!(run_shown(Command::new("/nonexistent/program")).is_err());
    }

    #[test]
    fn all_output_is_followed_to_the_end() {
        let mut command = shell("echo one; echo two >&2; printf three");
        let (mut child, output) = start(&mut command).unwrap();
        assert!(follow(&mut child, &output, || {}).unwrap().success());
        let mut text = [0; 64];
        let bytes = output.read_at(&mut text, 0).unwrap();
        assert_eq!(&text[..bytes], b"one\ntwo\nthree");
    }

    #[test]
    fn a_command_that_must_not_be_broken_off_has_a_session_of_its_own() {
        let mut command = shell("cut -d' ' -f6 /proc/$$/stat; echo $$");
        sys::start_session(&mut command);
        let (mut child, output) = start(&mut command).unwrap();
        follow(&mut child, &output, || {}).unwrap();
        let mut text = [0; 64];
        let bytes = output.read_at(&mut text, 0).unwrap();
        let text = String::from_utf8_lossy(&text[..bytes]).into_owned();
        let (session, process) = text.trim().split_once('\n').unwrap();
        assert_eq!(session, process);
    }
}
