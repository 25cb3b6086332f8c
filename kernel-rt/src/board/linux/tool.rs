//! What a process and the tool that has started it are to each other, beside the [shared file](super::share).
//!
//! A tracer or a shell may stand between them, so that the process is not the tool's child. Of two pipes whose other ends
//! only the tool has, the system itself sends signals: SIGKILL when the first one has no writer any more, however the tool
//! has ended and whatever the program does, and SIGURG when the tool has written into the second one. SIGURG does nothing
//! where it has no handler, so that a process that is not ready, or runs another program by then, does not heed it.

use core::ffi::{c_int, c_void};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{env, io, mem, ptr};

use midplane_abi::boot_parameters::MAX_BYTES;

use super::held::try_node;
use super::platform::LinuxNode;
use super::{VARIABLE, process};
use crate::dev::ring::Asleep;

/// fcntl(2), of which the C library's header for other languages lacks it.
const F_SETSIG: c_int = 10;
const F_SETOWN: c_int = 8;

/// What the tool has told the process.
pub struct Told {
    /// The shared file.
    pub file: File,
    life: OwnedFd,
    asks: OwnedFd,
    /// A number of bytes.
    pub bytes: u64,
    /// The record of the boot parameters.
    pub record: Vec<u8>,
}

impl Told {
    /// Reads the variable, and takes it from the environment. `None`: it was not the tool that started the process. To be
    /// called once, by the only thread.
    ///
    /// # Errors
    /// The variable makes no sense; its text.
    pub fn read() -> Result<Option<Told>, String> {
        let Ok(told) = env::var(VARIABLE) else {
            return Ok(None);
        };
        // SAFETY: there is one thread.
        unsafe { env::remove_var(VARIABLE) };
        let read = || {
            let mut words = told.split(' ');
            let mut number = || words.next()?.parse::<RawFd>().ok();
            let [file, life, asks, record] = [number()?, number()?, number()?, number()?];
            let bytes = words.next()?.parse().ok()?;
            // SAFETY: the tool hands us these descriptors, and nothing else has them.
            let ([file, record], [life, asks]) = unsafe {
                (
                    [file, record].map(|number| File::from_raw_fd(number)),
                    [life, asks].map(|number| OwnedFd::from_raw_fd(number)),
                )
            };
            Some(Told {
                file,
                life,
                asks,
                bytes,
                record: contents(&record).ok()?,
            })
        };
        read()
            .map(Some)
            .ok_or_else(|| format!("{VARIABLE} makes no sense: {told:?}"))
    }

    /// From now on the process dies when the tool closes the pipe, which its death does.
    ///
    /// # Errors
    /// Those of the system.
    pub fn die_with_tool(&self) -> io::Result<()> {
        signal_from(&self.life, libc::SIGKILL)?;
        let mut poll = libc::pollfd {
            fd: self.life.as_raw_fd(),
            events: 0,
            revents: 0,
        };
        // SAFETY: one structure, which is there.
        unsafe { libc::syscall(libc::SYS_poll, &raw mut poll, 1, 0) };
        if poll.revents & libc::POLLHUP != 0 {
            // It has died before.
            // SAFETY: ends the process.
            unsafe { libc::syscall(libc::SYS_exit_group, 1) };
        }
        Ok(())
    }

    /// From now on `answer` is called when the tool asks for the counters, by a signal's handler: it must neither allocate
    /// nor take locks.
    ///
    /// # Errors
    /// Those of the system.
    pub fn answer_by(&self, answer: fn()) -> io::Result<()> {
        ANSWER.store(answer as *mut c_void, Ordering::Relaxed);
        // SAFETY: the structure is C's, for which zeros are valid; the handler is of the type that goes without SA_SIGINFO.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGURG, &action, ptr::null_mut());
        }
        signal_from(&self.asks, libc::SIGURG)
    }
}

/// What is in a file, as far as a node reads it. Its position is shared with others that inherit it, and is left alone.
fn contents(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; MAX_BYTES];
    let mut size = 0;
    while let count @ 1.. = file.read_at(&mut bytes[size..], size as u64)? {
        size += count;
    }
    bytes.truncate(size);
    Ok(bytes)
}

/// The process has this signal when a pipe's other end is written to, or has gone. The signal belongs to what is opened, which
/// a descriptor that was inherited shares with the other ranks: so it is opened anew, and stays open.
fn signal_from(pipe: &OwnedFd, signal: c_int) -> io::Result<()> {
    let own = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(format!("/proc/self/fd/{}", pipe.as_raw_fd()))?;
    let own = mem::ManuallyDrop::new(own).as_raw_fd();
    let flags = libc::O_ASYNC | libc::O_NONBLOCK;
    for (command, argument) in [
        (F_SETOWN, std::process::id() as c_int),
        (F_SETSIG, signal),
        (libc::F_SETFL, flags),
    ] {
        // SAFETY: these commands take a number. By the system call: a program may have its own `fcntl`.
        if unsafe { libc::syscall(libc::SYS_fcntl, own, command, argument) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

static ANSWER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

extern "C" fn handle(_: c_int) {
    // SAFETY: this thread's own number.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    let answer = ANSWER.load(Ordering::Relaxed);
    if !answer.is_null() {
        // SAFETY: such functions alone are stored there.
        let answer = unsafe { mem::transmute::<*mut c_void, fn()>(answer) };
        answer();
    }
    *errno = before;
}

/// The word on which the node sleeps.
static WORD: OnceLock<&'static Asleep> = OnceLock::new();

/// From now on [`answer_now`] wakes the node that sleeps on this word.
pub fn set_word(word: &'static Asleep) {
    // Said once.
    let _ = WORD.set(word);
}

/// The answer of a process that is one node: now, if no call has the node; else the call gives it. A call that sleeps does
/// so when it looks at its links next: it is woken, as its sleep would go on behind the handler.
pub fn answer_now() {
    if try_node(answer).is_none()
        && let Some(word) = WORD.get()
    {
        let order = Ordering::Relaxed;
        let _ = { word.word() }.compare_exchange(Asleep::ARMED, Asleep::RUNG, order, order);
    }
}

/// Publishes the counters if the tool waits for them.
pub fn answer(node: &mut LinuxNode) {
    if let Some(process) = process()
        && process.account.orders.wants_counters()
    {
        node.publish();
        process.account.orders.answer();
    }
}
