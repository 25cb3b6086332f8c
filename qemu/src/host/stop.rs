//! Why the command stops before its work is done: a message for the user and the exit status.

use std::fmt;

/// Exit status for a command line, a program or a machine that cannot be used as asked.
pub const USAGE: u8 = 2;
/// Exit status for work that was begun and failed.
pub const FAILURE: u8 = 1;

/// An early end of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Exit status of the command.
    pub status: u8,
    /// What to tell the user; empty when all has been said.
    pub message: String,
}

impl Stop {
    /// The user asked for something that cannot be done; the message says what can.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            status: USAGE,
            message: message.into(),
        }
    }

    /// Something went wrong on the way.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            status: FAILURE,
            message: message.into(),
        }
    }

    /// Nothing more to say: another program, such as the compiler, has said it.
    pub fn silent(status: u8) -> Self {
        Self {
            status,
            message: String::new(),
        }
    }

    /// A signal asked the command to end; by convention the status is 128 and its number.
    pub fn signal(number: i32) -> Self {
        Self::silent(128u8.wrapping_add(number as u8))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Adds to an operating system's error what was being done.
pub trait Doing<T> {
    /// `what` completes "cannot ...", for example "create a socket".
    fn doing(self, what: impl fmt::Display) -> Result<T, Stop>;
}

impl<T, E: fmt::Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl fmt::Display) -> Result<T, Stop> {
        self.map_err(|error| Stop::failure(format!("cannot {what}: {error}")))
    }
}
