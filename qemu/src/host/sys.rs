//! The host tool's only unsafe Rust: code of a child between fork and exec, and resource accounting.

use crate::host::resource_usage::ResourceUsage;
use rustix::io::FdFlags;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal, setrlimit, setsid,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the parent process closed stdout.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's runtime, whose initialization would replace a closed stdout by `/dev/null` and so lose all output
/// silently. On `/dev/full` each write fails, both of this process and of the compilers that it runs.
extern "C" fn replace_closed_stdout() {
    const STDOUT: libc::c_int = libc::STDOUT_FILENO;
    // SAFETY: the calls use integers and a constant string, and no memory of this process. No other thread exists yet,
    // and a descriptor that is not open has no owner.
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

/// Checks whether the parent process closed stdout.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// Makes the child end with this process, however that ends, and lets the child inherit `keep` under the same
/// descriptor numbers. The descriptors stay open here for as long as `command` exists.
///
/// The signal is sent when the *thread* that started the child ends: start children from the main thread.
pub fn bind_to_this_process(command: &mut Command, signal: Signal, keep: Vec<OwnedFd>) {
    let us = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(signal))?;
        // The parent may have ended before the line above took effect.
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

/// Puts the child into a session of its own without a terminal, so that it receives no keyboard signals.
pub fn start_session(command: &mut Command) {
    // SAFETY: between fork and exec the closure only makes a system call through rustix, which neither
    // allocates nor takes locks; the error value is made without allocation.
    unsafe {
        command.pre_exec(|| setsid().map(|_| ()).map_err(Into::into));
    }
}

/// Duplicates a descriptor that was inherited from the parent process, specified by its number.
///
/// # Errors
/// Returns an error if the descriptor is not open.
pub fn inherit_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is only checked, and duplicated if it is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number.max(0)) };
    borrowed.try_clone_to_owned()
}

/// Sets the child's limit of a resource, in bytes.
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

/// Returns a child's process ID as rustix's type.
pub fn process_id(child: &std::process::Child) -> Pid {
    Pid::from_child(child)
}

/// Waits for a child's end. Returns its status and the resources used by it and by those of its children that it has
/// waited for. Nothing else may wait for it.
///
/// # Errors
/// Returns an error if the child was already waited for.
pub fn wait_and_account(child: &Child) -> io::Result<(ExitStatus, ResourceUsage)> {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::uninit());
    loop {
        // SAFETY: both locations are valid for writes. The child's process ID is not reused before this wait.
        let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: the successful call has initialized it.
    let usage = unsafe { usage.assume_init() };
    let time =
        |time: libc::timeval| Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64);
    let used = ResourceUsage {
        processor: time(usage.ru_utime) + time(usage.ru_stime),
        peak_bytes: (usage.ru_maxrss as u64) << 10,
    };
    Ok((ExitStatus::from_raw(status), used))
}
