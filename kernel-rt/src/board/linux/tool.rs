//! Connection between a process and the tool that has started it, in addition to the [shared file](super::share).
//!
//! A tracer or a shell may run between them, so the process need not be the tool's child. The connection uses two pipes
//! whose other ends only the tool has, and for which the operating system sends signals. SIGKILL is sent when the first
//! pipe has no writer any more, regardless of how the tool has ended and of the program's state. SIGURG is sent when
//! the tool has written to the second pipe. Without a handler SIGURG has no effect, so a process that is not ready, or
//! already runs another program, ignores it.

use core::ffi::{c_int, c_void};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{env, io, mem, ptr};

use midplane_abi::boot_parameters::MAX_BYTES;

use super::futex::futex_wake;
use super::node_lock::try_node;
use super::outside::OutsideView;
use super::platform::LinuxNode;
use super::world::WorldView;
use super::{VARIABLE, process};
use crate::dev::ring::SleepFlag;

/// fcntl(2) command, missing in the C library's bindings.
const F_SETSIG: c_int = 10;
const F_SETOWN: c_int = 8;

/// Parameters from the tool.
pub struct ToolParameters {
    /// The shared file.
    pub file: File,
    life: OwnedFd,
    asks: OwnedFd,
    /// Memory size in bytes.
    pub bytes: u64,
    /// The record of the boot parameters.
    pub record: Vec<u8>,
    /// View of a job over several hosts; `None`: all ranks of the job are on this host.
    pub outside: Option<OutsideView>,
    /// View of a job whose processes come and go; `None`: all ranks of the job are its one world.
    pub world: Option<WorldView>,
}

impl ToolParameters {
    /// Creates the parameters of a process that the tool has not started, from the job's file, the pipes `[life, asks]`,
    /// the memory size in bytes, and the record.
    pub fn new(file: File, [life, asks]: [OwnedFd; 2], bytes: u64, record: Vec<u8>) -> Self {
        Self {
            file,
            life,
            asks,
            bytes,
            record,
            outside: None,
            world: None,
        }
    }

    /// Reads the variable and removes it from the environment. Returns `None` if the tool did not start the process.
    /// Must be called once, by the only thread.
    ///
    /// # Errors
    /// If the variable is invalid; returns its text.
    pub fn read() -> Result<Option<ToolParameters>, String> {
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
            let last = words.next();
            let world = last.and_then(|word| word.parse().ok());
            let outside = last.filter(|_| world.is_none()).map(str::parse).transpose().ok()?;
            // SAFETY: the tool passes us these descriptors, and nothing else owns them.
            let ([file, record], [life, asks]) = unsafe {
                (
                    [file, record].map(|number| File::from_raw_fd(number)),
                    [life, asks].map(|number| OwnedFd::from_raw_fd(number)),
                )
            };
            Some(ToolParameters {
                file,
                life,
                asks,
                bytes,
                record: contents(&record).ok()?,
                outside,
                world,
            })
        };
        read()
            .map(Some)
            .ok_or_else(|| format!("{VARIABLE} makes no sense: {told:?}"))
    }

    /// Makes the process die when the tool closes the pipe, also by its own death.
    ///
    /// # Errors
    /// Those of the operating system.
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
            // The tool has died before.
            // SAFETY: ends the process.
            unsafe { libc::syscall(libc::SYS_exit_group, 1) };
        }
        Ok(())
    }

    /// Registers `answer`, called when the tool requests the counters. It runs in a signal handler, so it must neither
    /// allocate nor take locks.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn answer_by(&self, answer: fn()) -> io::Result<()> {
        ANSWER.store(answer as *mut c_void, Ordering::Relaxed);
        // SAFETY: the structure is C's, for which zeros are valid; the handler has the type required without
        // SA_SIGINFO.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGURG, &action, ptr::null_mut());
        }
        signal_from(&self.asks, libc::SIGURG)
    }
}

/// Reads a file's contents up to the maximum size of a record. Uses no file position, because other processes share it.
fn contents(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; MAX_BYTES];
    let mut size = 0;
    while let count @ 1.. = file.read_at(&mut bytes[size..], size as u64)? {
        size += count;
    }
    bytes.truncate(size);
    Ok(bytes)
}

/// Makes the process receive this signal when a pipe's other end is written to or closed. The signal is a property of
/// the open file description, shared with the other ranks by inheritance: so the pipe is opened again, and stays open.
fn signal_from(pipe: &OwnedFd, signal: c_int) -> io::Result<()> {
    let own = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(format!("/proc/self/fd/{}", pipe.as_raw_fd()))?;
    let own = mem::ManuallyDrop::new(own).as_raw_fd();
    let flags = libc::O_ASYNC | libc::O_NONBLOCK;
    for (command, argument) in [
        (F_SETOWN, super::process_id() as c_int),
        (F_SETSIG, signal),
        (libc::F_SETFL, flags),
    ] {
        // SAFETY: these commands take a number. Uses the system call: a program may define its own `fcntl`.
        if unsafe { libc::syscall(libc::SYS_fcntl, own, command, argument) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

static ANSWER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

extern "C" fn handle(_: c_int) {
    // SAFETY: this thread's own errno.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    let answer = ANSWER.load(Ordering::Relaxed);
    if !answer.is_null() {
        // SAFETY: only such functions are stored there.
        let answer = unsafe { mem::transmute::<*mut c_void, fn()>(answer) };
        answer();
    }
    *errno = before;
}

/// The word that the node sleeps on.
static WORD: OnceLock<&'static SleepFlag> = OnceLock::new();

/// Registers the word that [`answer_now`] uses to wake the sleeping node.
pub fn set_word(word: &'static SleepFlag) {
    // Called once.
    let _ = WORD.set(word);
}

/// Publishes the counters of a process with one node: now, if no call holds the node; otherwise that call does it when
/// it polls its links next. A sleeping call is woken, since its sleep would continue after the handler.
pub fn answer_now() {
    if try_node(answer).is_none()
        && let Some(word) = WORD.get()
    {
        ring(word);
    }
}

fn ring(word: &SleepFlag) {
    let order = Ordering::Relaxed;
    let _ = { word.word() }.compare_exchange(SleepFlag::ARMED, SleepFlag::RUNG, order, order);
}

/// Wakes a node of another process that sleeps on this word. It may just fall asleep and miss it.
pub fn wake(word: &SleepFlag) {
    ring(word);
    futex_wake(word.word());
}

/// Publishes the counters if the tool has requested them.
pub fn answer(node: &mut LinuxNode) {
    if let Some(process) = process()
        && process.account.orders.wants_counters()
    {
        node.publish();
        process.account.orders.answer();
    }
}
