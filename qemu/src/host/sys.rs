//! The one place where the host tool leaves safe Rust: what a child does between fork and exec, and what it has used.

use crate::host::used::Used;
use rustix::io::FdFlags;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal,
    setrlimit, setsid,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether whoever started us had closed stdout.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's own start, which would put `/dev/null` in the place of a closed stdout: all output would be lost
/// without a word. On `/dev/full` each write fails, ours and those of the compilers that we run.
extern "C" fn replace_closed_stdout() {
    const STDOUT: libc::c_int = libc::STDOUT_FILENO;
    // SAFETY: the calls take numbers and a constant string, no memory of ours. No other thread is there, and a number that
    // is not open belongs to nobody.
    unsafe {
        if libc::fcntl(STDOUT, libc::F_GETFD) >= 0 {
            return;
        }
        let full = libc::open(c"/dev/full".as_ptr(), libc::O_WRONLY);
        if full >= 0 && full != STDOUT {
            libc::dup2(full, STDOUT);
            libc::close(full);
        }
    }
    STDOUT_WAS_CLOSED.store(true, Ordering::Relaxed);
}

// SAFETY: the C library calls each address of this section once, as a function that may ignore its arguments.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = replace_closed_stdout;

/// Whether whoever started us had closed stdout.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// Makes the child end when this process does, by whatever means it ends, and lets the child inherit
/// `keep` under the same numbers. The descriptors stay open here for as long as `command` exists.
///
/// The signal comes when the *thread* that starts the child ends: start children from the main thread.
pub fn bind_to_us(command: &mut Command, signal: Signal, keep: Vec<OwnedFd>) {
    let us = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(signal))?;
        // We may have died before the line above took effect.
        if getppid() != Some(us) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        for fd in &keep {
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls through rustix, which neither
    // allocates nor takes locks; the error values are made without allocation.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Puts the child into a session of its own, without a terminal: no key pressed there reaches it.
pub fn own_session(command: &mut Command) {
    // SAFETY: between fork and exec the closure only makes a system call through rustix, which neither
    // allocates nor takes locks; the error value is made without allocation.
    unsafe {
        command.pre_exec(|| setsid().map(|_| ()).map_err(Into::into));
    }
}

/// A descriptor that whoever started us has left open for us, named by its number.
///
/// # Errors
/// There is none of this number.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: it is looked at only, and copied if it is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number.max(0)) };
    borrowed.try_clone_to_owned()
}

/// Limits what the child may have of a resource, in bytes.
pub fn limit(command: &mut Command, resource: Resource, bytes: u64) {
    let limit = Rlimit {
        current: Some(bytes),
        maximum: getrlimit(resource).maximum,
    };
    // SAFETY: between fork and exec the closure only makes a system call through rustix, which neither
    // allocates nor takes locks; the error value is made without allocation.
    unsafe {
        command.pre_exec(move || setrlimit(resource, limit).map_err(Into::into));
    }
}

/// The process number of a child as rustix wants it.
pub fn pid_of(child: &std::process::Child) -> Pid {
    Pid::from_child(child)
}

/// Waits for a child's end: its status, and what it and those of its children have used that it has waited for. Nothing
/// else may wait for it.
///
/// # Errors
/// When something else has waited for it.
pub fn wait_and_account(child: &Child) -> io::Result<(ExitStatus, Used)> {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::uninit());
    loop {
        // SAFETY: both places are there to be written. It waits for a child, whose number nobody else has before that.
        let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: the call that has succeeded has written it.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    let used = Used {
        processor: time(usage.ru_utime) + time(usage.ru_stime),
        peak_bytes: (usage.ru_maxrss as u64) << 10,
    };
    Ok((ExitStatus::from_raw(status), used))
}
