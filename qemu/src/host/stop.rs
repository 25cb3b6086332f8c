//! Error type of the command: a message for the user and the exit status.

use std::fmt;

/// Exit status for a command line, program or machine that does not meet the requirements.
pub const USAGE: u8 = 2;
/// Exit status for a failure during the work.
pub const FAILURE: u8 = 1;

/// Early end of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Exit status of the command.
    pub status: u8,
    /// Message for the user; empty if it was printed already.
    pub message: String,
}

impl Stop {
    /// Creates a usage error: the request is not supported; the message contains a remedy.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            status: USAGE,
            message: message.into(),
        }
    }

    /// Creates a run-time failure.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            status: FAILURE,
            message: message.into(),
        }
    }

    /// Creates a stop without a message: another program, such as the compiler, has printed it.
    pub fn silent(status: u8) -> Self {
        Self {
            status,
            message: String::new(),
        }
    }

    /// Creates the stop for a termination signal. By convention the status is 128 plus the signal number.
    pub fn signal(number: i32) -> Self {
        Self::silent(128u8.wrapping_add(number as u8))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Adds the attempted action to an operating system error.
pub trait Doing<T> {
    /// `what` completes "cannot ...", for example "create a socket".
    fn doing(self, what: impl fmt::Display) -> Result<T, Stop>;
}

impl<T, E: fmt::Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl fmt::Display) -> Result<T, Stop> {
        self.map_err(|error| Stop::failure(format!("cannot {what}: {error}")))
    }
}
