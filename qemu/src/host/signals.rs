//! The signals that ask the command to end, as file descriptors to poll.

use crate::host::stop::{Doing, Stop};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Hang-up, interrupt (Ctrl-C), quit (Ctrl-\\) and terminate. Registered for the rest of the process's life.
pub struct Signals(Vec<(i32, UnixStream)>);

impl Signals {
    /// From now on these signals no longer end the process by themselves.
    pub fn catch() -> Result<Self, Stop> {
        let catch = |signal| {
            let (ours, handlers) = UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(signal, handlers)?;
            Ok((signal, ours))
        };
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
            .into_iter()
            .map(catch)
            .collect::<std::io::Result<_>>()
            .map(Self)
            .doing("catch signals")
    }

    /// What to poll for reading.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|(_, stream)| stream.as_fd())
    }

    /// The stop that a signal asked for, if one came.
    pub fn pending(&self) -> Option<Stop> {
        self.0
            .iter()
            .find(|(_, stream)| matches!((&*stream).read(&mut [0; 16]), Ok(n) if n > 0))
            .map(|(signal, _)| Stop::signal(*signal))
    }
}
