//! The signals that ask the command to end, as file descriptors to poll.

use crate::host::stop::{Doing, Stop};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Hang-up, interrupt (Ctrl-C), quit (Ctrl-\\) and terminate. Registered for the rest of the process's life.
pub struct Signals(Vec<(i32, UnixStream)>);

impl Signals {
    /// From now on these signals no longer end the process by themselves.
    pub fn catch() -> Result<Self, Stop> {
        Self::catch_these(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])
    }

    /// The same, but Ctrl-C and Ctrl-\\ do nothing: they are for another who reads from our terminal.
    pub fn catch_but_keys() -> Result<Self, Stop> {
        let signals = Self::catch_these(&[SIGHUP, SIGTERM])?;
        // A handler, unlike a signal that is ignored, is not passed on to those whom we start.
        for signal in [SIGINT, SIGQUIT] {
            flag::register(signal, Arc::default()).doing("catch signals")?;
        }
        Ok(signals)
    }

    fn catch_these(signals: &[i32]) -> Result<Self, Stop> {
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

/// The handlers of [`Hold`], registered once for the rest of the process's life.
struct Held {
    /// Whether these signals end the process, as they do where they are not caught.
    ends_us: Arc<AtomicBool>,
    /// The last one that came, or 0.
    last: Arc<AtomicUsize>,
}

static HELD: OnceLock<Held> = OnceLock::new();

/// While it is there, the signals that ask the command to end do not end it, but are remembered.
pub struct Hold(&'static Held);

impl Hold {
    /// Begins. At most one at a time.
    pub fn begin() -> Result<Self, Stop> {
        if HELD.get().is_none() {
            let held = Held {
                ends_us: Arc::default(),
                last: Arc::default(),
            };
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                let number = signal as usize;
                flag::register_usize(signal, Arc::clone(&held.last), number)
                    .and_then(|_| {
                        flag::register_conditional_default(signal, Arc::clone(&held.ends_us))
                    })
                    .doing("catch signals")?;
            }
            let _ = HELD.set(held);
        }
        let held = HELD
            .get()
            .ok_or_else(|| Stop::failure("cannot catch signals"))?;
        held.ends_us.store(false, Ordering::SeqCst);
        Ok(Self(held))
    }

    /// Whether a signal has come.
    pub fn came(&self) -> bool {
        self.0.last.load(Ordering::SeqCst) != 0
    }

    /// From now on these signals end the process again. The stop that one has asked for meanwhile, if one
    /// came.
    pub fn end(self) -> Option<Stop> {
        self.0.ends_us.store(true, Ordering::SeqCst);
        match self.0.last.swap(0, Ordering::SeqCst) {
            0 => None,
            signal => Some(Stop::signal(signal as i32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_held_is_remembered() {
        let hold = Hold::begin().unwrap();
        assert!(!hold.came());
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(hold.came());
        assert_eq!(hold.end(), Some(Stop::signal(SIGTERM)));
        let again = Hold::begin().unwrap();
        assert!(!again.came());
        assert_eq!(again.end(), None);
    }
}
