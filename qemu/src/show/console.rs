//! Output lines of the command itself on its two streams.

use crate::host::error::CliError;
use crate::host::sys;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// Writes a line to stdout.
///
/// # Errors
/// Returns an error if the line cannot be written, for example on a full device. A closed pipe (`| head`) is no error:
/// its reader needs no more output, and the work and its files continue.
pub fn print_line(line: impl fmt::Display) -> Result<(), CliError> {
    ignore_broken_pipe(write_line(io::stdout(), line))
}

/// Writes text that contains its line ends to stdout.
///
/// # Errors
/// Returns the errors of [`print_line`].
pub fn print_bytes(text: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout();
    ignore_broken_pipe(stdout.write_all(text).and_then(|()| stdout.flush()))
}

/// Buffered output for stderr during [`with_buffered_stderr`].
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Runs `work`; buffers its stderr output and shows it only on failure.
///
/// # Errors
/// Returns the errors of the work.
pub fn with_buffered_stderr<T>(work: impl FnOnce() -> Result<T, CliError>) -> Result<T, CliError> {
    let held = || HELD.lock().unwrap_or_else(PoisonError::into_inner);
    *held() = Some(Vec::new());
    let result = work();
    let ignore_broken_pipe = held().take().unwrap_or_default();
    if result.is_err() {
        print_error_bytes(&ignore_broken_pipe);
    }
    result
}

/// Writes text that contains its line ends to stderr, like [`print_error_line`].
pub fn print_error_bytes(text: &[u8]) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *held {
        Some(held) => held.extend(text),
        None => {
            let mut stderr = io::stderr();
            let _ = stderr.write_all(text).and_then(|()| stderr.flush());
        }
    }
}

/// Writes a line to stderr. A failure to do so is visible only in the exit status.
pub fn print_error_line(line: impl fmt::Display) {
    print_error_bytes(format!("{line}\n").as_bytes());
}

fn write_line(mut to: impl Write, line: impl fmt::Display) -> io::Result<()> {
    writeln!(to, "{line}")?;
    to.flush()
}

fn ignore_broken_pipe(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(stdout_error(error)),
        _ => Ok(()),
    }
}

/// Returns the error for a failed write to stdout.
pub fn stdout_error(error: io::Error) -> CliError {
    if sys::stdout_was_closed() {
        CliError::failure("cannot write to stdout: it is closed")
    } else {
        CliError::failure(format!("cannot write to stdout: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::error::FAILURE;
    use std::fs::File;

    #[test]
    fn a_full_device_is_an_error_and_a_reader_that_has_gone_is_none() {
        let full = File::create("/dev/full").unwrap();
        let stop = ignore_broken_pipe(write_line(full, "x")).unwrap_err();
        assert_eq!(stop.status, FAILURE);
        assert!(stop.message.contains("cannot write to stdout"), "{stop}");
        let (read, write) = rustix::pipe::pipe().unwrap();
        drop(read);
        assert_eq!(ignore_broken_pipe(write_line(File::from(write), "x")), Ok(()));
    }

    #[test]
    fn what_is_held_is_dropped_where_all_goes_well() {
        let held = || HELD.lock().unwrap().clone();
        let seen = with_buffered_stderr(|| {
            print_error_line("a line");
            Ok(held())
        });
        // Other tests may print in the meantime.
        let seen = String::from_utf8(seen.unwrap().unwrap()).unwrap();
        assert!(seen.contains("a line\n"), "{seen}");
        assert_eq!(held(), None);
        assert!(with_buffered_stderr(|| Err::<(), _>(CliError::failure("x"))).is_err());
        assert_eq!(held(), None);
    }
}
