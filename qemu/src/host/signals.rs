//! Termination signals as file descriptors to poll.

use crate::host::error::{CliError, ErrorContext};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Hang-up, interrupt (Ctrl-C), quit (Ctrl-\\) and terminate. The handlers stay registered until the process exits.
pub struct Signals(Vec<(i32, UnixStream)>);

impl Signals {
    /// Catches these signals; they no longer end the process by themselves.
    pub fn catch() -> Result<Self, CliError> {
        Self::catch_these(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])
    }

    /// Catches hang-up and terminate; ignores Ctrl-C and Ctrl-\\, because another process reads from the terminal.
    pub fn catch_but_keys() -> Result<Self, CliError> {
        let signals = Self::catch_these(&[SIGHUP, SIGTERM])?;
        // Uses a handler, because child processes inherit ignored signals but not handlers.
        for signal in [SIGINT, SIGQUIT] {
            flag::register(signal, Arc::default()).context("catch signals")?;
        }
        Ok(signals)
    }

    fn catch_these(signals: &[i32]) -> Result<Self, CliError> {
        if let Some(held) = HELD.get() {
            held.ends_us.store(false, Ordering::SeqCst);
        }
        let catch = |&signal| {
            let (ours, handlers) = UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(signal, handlers)?;
            Ok((signal, ours))
        };
        signals
            .iter()
            .map(catch)
            .collect::<std::io::Result<_>>()
            .map(Self)
            .context("catch signals")
    }

    /// Returns the descriptors to poll for reading.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|(_, stream)| stream.as_fd())
    }

    /// Returns the stop that a received signal requested.
    pub fn pending(&self) -> Option<CliError> {
        self.0
            .iter()
            .find(|(_, stream)| matches!((&*stream).read(&mut [0; 16]), Ok(n) if n > 0))
            .map(|(signal, _)| CliError::signal(*signal))
    }
}

/// The handlers of [`SignalGuard`], registered until the process exits.
struct DeferredSignals {
    /// Whether these signals end the process, as they do by default.
    ends_us: Arc<AtomicBool>,
    /// The last received signal, or 0.
    last: Arc<AtomicUsize>,
}

static HELD: OnceLock<DeferredSignals> = OnceLock::new();

/// Guard that defers the termination signals: while it exists, they are recorded and do not end the process.
pub struct SignalGuard(&'static DeferredSignals);

impl SignalGuard {
    /// Creates the guard. At most one may exist.
    pub fn begin() -> Result<Self, CliError> {
        if HELD.get().is_none() {
            let held = DeferredSignals {
                ends_us: Arc::default(),
                last: Arc::default(),
            };
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                let number = signal as usize;
                flag::register_usize(signal, Arc::clone(&held.last), number)
                    .and_then(|_| flag::register_conditional_default(signal, Arc::clone(&held.ends_us)))
                    .context("catch signals")?;
            }
            let _ = HELD.set(held);
        }
        let held = HELD.get().ok_or_else(|| CliError::failure("cannot catch signals"))?;
        held.ends_us.store(false, Ordering::SeqCst);
        Ok(Self(held))
    }

    /// Checks whether a signal was received.
    pub fn has_received(&self) -> bool {
        self.0.last.load(Ordering::SeqCst) != 0
    }

    /// Re-enables termination by these signals. Returns the stop that a signal requested meanwhile.
    pub fn end(self) -> Option<CliError> {
        self.0.ends_us.store(true, Ordering::SeqCst);
        match self.0.last.swap(0, Ordering::SeqCst) {
            0 => None,
            signal => Some(CliError::signal(signal as i32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_is_remembered() {
        let hold = SignalGuard::begin().unwrap();
        assert!(!hold.has_received());
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(hold.has_received());
        assert_eq!(hold.end(), Some(CliError::signal(SIGTERM)));
        let again = SignalGuard::begin().unwrap();
        assert!(!again.has_received());
        assert_eq!(again.end(), None);
    }
}
