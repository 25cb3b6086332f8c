//! The one place where the host tool leaves safe Rust: what a child does between fork and exec.

use rustix::io::FdFlags;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal,
    setrlimit, setsid,
};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

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
