//! Sleep of the process's node until a neighbour rings, and its wake.
//!
//! A node sleeps on its word, by futex(2). A rank with [connections](super::socket_link) to other hosts sleeps in ppoll(2) on
//! them and on its eventfd; who changes its word also writes to the eventfd. The eventfd is read only when the word is
//! armed next, so that it ends the sleep of each thread that waits. A late write to it ends one sleep too early, which is
//! harmless.

use std::os::fd::RawFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use net_torus::coord::Direction;

use super::clock::timespec_of;
use super::futex::{futex_wait, futex_wake};
use super::outside::OutsideView;
use crate::dev::ring::{Doorbell, SleepFlag};

/// State of a connection that decides what the sleep waits for. Written by the link.
#[derive(Default)]
pub struct SocketState {
    /// The connection has not ended.
    pub is_open: AtomicBool,
    /// Data waits for space in the connection.
    pub wants_space: AtomicBool,
    /// Data waits for a write that the link has delayed.
    pub has_delayed: AtomicBool,
}

/// What a rank with links to other hosts sleeps on.
struct OutsideWaits {
    event: RawFd,
    sockets: [Option<RawFd>; 6],
}

static OUTSIDE: OnceLock<OutsideWaits> = OnceLock::new();
static SOCKETS: [SocketState; 6] = [const {
    SocketState {
        is_open: AtomicBool::new(false),
        wants_space: AtomicBool::new(false),
        has_delayed: AtomicBool::new(false),
    }
}; 6];

/// Registers the connections of this process. Must be called once, before the first sleep.
pub fn set_outside(view: &OutsideView) {
    if let Some(event) = view.event {
        let _ = OUTSIDE.set(OutsideWaits {
            event,
            sockets: view.sockets(),
        });
    }
}

/// Returns the state of the connection in a direction.
pub fn socket_state(direction: Direction) -> &'static SocketState {
    &SOCKETS[direction as usize]
}

/// Returns whether the process has connections to other hosts.
pub fn has_sockets() -> bool {
    OUTSIDE.get().is_some()
}

/// Returns whether the link in a direction is a connection to another host.
pub fn is_socket(direction: Direction) -> bool {
    OUTSIDE
        .get()
        .is_some_and(|outside| outside.sockets[direction as usize].is_some())
}

/// A link has delayed a write since the last call of [`take_delayed`].
static HAS_DELAYED: AtomicBool = AtomicBool::new(false);

/// Records that a link has delayed a write.
pub fn note_delayed() {
    HAS_DELAYED.store(true, Ordering::Relaxed);
}

/// Returns whether a link has delayed a write since the last call. By the holder of the node.
#[inline]
pub fn take_delayed() -> bool {
    let has_delayed = HAS_DELAYED.load(Ordering::Relaxed);
    if has_delayed {
        HAS_DELAYED.store(false, Ordering::Relaxed);
    }
    has_delayed
}

/// Returns whether data waits for a write, delayed or in vain, although the node is in no call.
pub fn has_output() -> bool {
    let order = Ordering::Relaxed;
    SOCKETS
        .iter()
        .any(|socket| socket.has_delayed.load(order) || socket.wants_space.load(order))
}

/// Bell of a neighbour of this host.
pub struct ProcessDoorbell {
    flag: &'static SleepFlag,
    event: Option<RawFd>,
}

impl ProcessDoorbell {
    /// Creates the bell of the process with this word and eventfd.
    pub fn new(flag: &'static SleepFlag, event: Option<RawFd>) -> Self {
        Self { flag, event }
    }
}

impl Doorbell for ProcessDoorbell {
    fn ring(&self) {
        wake(self.flag, self.event);
    }
}

fn wake(flag: &SleepFlag, event: Option<RawFd>) {
    match event {
        None => futex_wake(flag.word()),
        Some(event) => {
            let one = 1_u64;
            // SAFETY: reads the number. A full counter ends the sleep too.
            unsafe { libc::syscall(libc::SYS_write, event, &raw const one, size_of::<u64>()) };
        }
    }
}

/// Wakes the threads of this process that sleep on its node's word.
pub fn wake_node(flag: &SleepFlag) {
    wake(flag, OUTSIDE.get().map(|outside| outside.event));
}

/// Arms the word of this process's node for a sleep. Returns false if a neighbour has rung already.
pub fn arm(flag: &SleepFlag) -> bool {
    if let Some(outside) = OUTSIDE.get()
        && !flag.is_armed()
    {
        let mut count = 0_u64;
        // SAFETY: writes the count, if there is one.
        unsafe { libc::syscall(libc::SYS_read, outside.event, &raw mut count, size_of::<u64>()) };
    }
    flag.arm()
}

/// Sleeps while the word of this process's node is armed and no connection has work, with an optional limit in
/// nanoseconds. It may return earlier.
pub fn wait_for_ring(flag: &SleepFlag, limit_ns: Option<u64>) {
    match OUTSIDE.get() {
        None => futex_wait(flag.word(), SleepFlag::ARMED, limit_ns),
        Some(outside) => {
            if flag.is_armed() {
                outside.poll(limit_ns);
            }
        }
    }
}

/// Returns whether a connection has work.
pub fn have_sockets_news() -> bool {
    OUTSIDE.get().is_some_and(|outside| outside.poll(Some(0)))
}

impl OutsideWaits {
    /// Calls ppoll(2). Returns whether a descriptor is ready.
    fn poll(&self, limit_ns: Option<u64>) -> bool {
        // Negative descriptors are ignored.
        let unused = libc::pollfd {
            fd: -1,
            events: 0,
            revents: 0,
        };
        let mut fds = [unused; 7];
        for ((fd, socket), state) in fds.iter_mut().zip(self.sockets).zip(&SOCKETS) {
            if let Some(socket) = socket.filter(|_| state.is_open.load(Ordering::Relaxed)) {
                fd.fd = socket;
                fd.events = libc::POLLIN;
                if state.wants_space.load(Ordering::Relaxed) {
                    fd.events |= libc::POLLOUT;
                }
            }
        }
        fds[6].fd = self.event;
        fds[6].events = libc::POLLIN;
        let limit = limit_ns.map(timespec_of);
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the structures outlive the call. The system call itself: a program may define a function `ppoll`.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_ppoll,
                fds.as_mut_ptr(),
                fds.len(),
                limit,
                ptr::null::<u8>(),
                0,
            )
        };
        ready > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_sleep_ends_with_data_or_the_event() {
        let (own, mut other) = UnixStream::pair().unwrap();
        // A pipe serves as the event: readable until it is read.
        let (event, mut ring) = UnixStream::pair().unwrap();
        let mut sockets = [None; 6];
        sockets[2] = Some(own.as_raw_fd());
        let waits = OutsideWaits {
            event: event.as_raw_fd(),
            sockets,
        };
        SOCKETS[2].is_open.store(true, Ordering::Relaxed);
        assert!(!waits.poll(Some(0)));
        ring.write_all(b"1").unwrap();
        assert!(waits.poll(None) && waits.poll(None), "each thread that waits");
        let waits = OutsideWaits {
            event: other.as_raw_fd(),
            ..waits
        };
        assert!(!waits.poll(Some(1_000)));
        other.write_all(b"data").unwrap();
        assert!(waits.poll(None));
        SOCKETS[2].is_open.store(false, Ordering::Relaxed);
        assert!(!waits.poll(Some(0)), "a closed connection is no work");
    }
}
