//! Error type of the command: a message for the user and the exit status.

use std::fmt;

/// Exit status for a command line, program or machine that does not meet the requirements.
pub const USAGE: u8 = 2;
/// Exit status for a failure during the work.
pub const FAILURE: u8 = 1;

/// Early end of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CliError {
    /// Exit status of the command.
    pub status: u8,
    /// Message for the user; empty if it was printed already.
    pub message: String,
    /// Help page that the message points to.
    pub help: HelpPage,
}

/// Help page that lists the option of a usage error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelpPage {
    /// No page: the command line is not the reason.
    None,
    /// Page of the command that the user called.
    Called,
    /// Page of `run`, whose options `mpiexec` accepts.
    Run,
}

impl CliError {
    /// Creates a usage error: the command line is not supported; the message contains a remedy.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            status: USAGE,
            message: message.into(),
            help: HelpPage::Called,
        }
    }

    /// Creates the error of a program or machine that does not meet the requirements; the message contains a remedy.
    pub fn unusable(message: impl Into<String>) -> Self {
        Self {
            status: USAGE,
            message: message.into(),
            help: HelpPage::None,
        }
    }

    /// Creates a run-time failure.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            status: FAILURE,
            message: message.into(),
            help: HelpPage::None,
        }
    }

    /// Creates a stop without a message: another program, such as the compiler, has printed it.
    pub fn silent(status: u8) -> Self {
        Self {
            status,
            message: String::new(),
            help: HelpPage::None,
        }
    }

    /// Creates the stop for a termination signal. By convention the status is 128 plus the signal number.
    pub fn signal(number: i32) -> Self {
        Self::silent(128u8.wrapping_add(number as u8))
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Adds the attempted action to an operating system error.
pub trait ErrorContext<T> {
    /// `what` completes "cannot ...", for example "create a socket".
    fn context(self, what: impl fmt::Display) -> Result<T, CliError>;
}

impl<T, E: fmt::Display> ErrorContext<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, CliError> {
        self.map_err(|error| CliError::failure(format!("cannot {what}: {error}")))
    }
}
