//! A debugger on one rank. In a job of native processes, it starts that rank's process, so that the rank has not run
//! any code before. In QEMU, the rank's machine is halted until the attached debugger continues it. The other ranks run
//! and wait for this one as for any slow rank.

use crate::build::image::Image;
use crate::host::error::{CliError, ErrorContext};
use crate::host::sys;
use clap::Args;
use midplane_setup::query::in_path;
use rustix::process::{Resource, Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Debuggers for native processes, in order of preference.
const OF_PROCESSES: [&str; 1] = ["gdb"];
/// Debuggers for emulated machines, in order of preference.
const OF_MACHINES: [&str; 3] = ["gdb-multiarch", "riscv64-unknown-elf-gdb", "riscv64-elf-gdb"];

/// Hidden command with which the debugger starts the process.
const DEBUGGED: &str = "debugged";
/// Debugger command that stops the rank at its program's first line.
const FIRST: &str = "tbreak main";

/// The debugged rank and its debugger.
pub struct DebugSession {
    pub rank: u32,
    /// A debugger that accepts gdb's commands, and its arguments.
    command: Vec<String>,
}

impl DebugSession {
    /// Finds a debugger for this rank: the specified one, or the first that is available.
    ///
    /// # Errors
    /// Returns an error if none is available.
    pub fn find(rank: u32, given: &[String], is_process: bool) -> Result<Self, CliError> {
        let known: &[&str] = if is_process { &OF_PROCESSES } else { &OF_MACHINES };
        let found = || known.iter().find(|name| in_path(name).is_some());
        let command = match given {
            [] => vec![found().map(|name| (*name).into()).ok_or_else(|| {
                CliError::usage(format!(
                    "--debug: {} is not installed; install it (apt-get install {}), or specify another one with \
                     --debugger COMMAND",
                    known.join(", no "),
                    known[0]
                ))
            })?],
            given => given.to_vec(),
        };
        Ok(Self { rank, command })
    }

    /// Returns the command that starts the debugger with the rank's process; the caller appends the program and its
    /// arguments. The process must inherit these descriptors for its output, has no input, and ends with the debugger.
    /// The optional limits of its stack and data are in bytes.
    ///
    /// # Errors
    /// Returns an error if this executable is not found; the debugger uses it to start the process.
    pub fn debugger_command(
        &self,
        [stack, data]: [Option<u64>; 2],
        [stdout, stderr]: [RawFd; 2],
    ) -> Result<Vec<String>, CliError> {
        let us = std::env::current_exe().context("find this command's executable")?;
        let mut wrapper = format!(
            "set exec-wrapper {} {DEBUGGED} --stdout {stdout} --stderr {stderr}",
            shell_words::quote(&us.to_string_lossy())
        );
        if let Some(bytes) = stack {
            wrapper += &format!(" --stack {bytes}");
        }
        if let Some(bytes) = data {
            wrapper += &format!(" --data {bytes}");
        }
        wrapper += " --";
        let mut words = self.command.clone();
        for command in [&*wrapper, "set startup-with-shell on", FIRST, "run"] {
            words.extend(["-ex".into(), command.into()]);
        }
        words.push("--args".into());
        Ok(words)
    }

    /// Starts the debugger for a machine that waits for it at this address.
    pub fn attach(&self, image: &Image, at: SocketAddr) -> Result<Child, CliError> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(&image.path);
        let target = format!("target remote {at}");
        for words in [&*target, FIRST, "continue"] {
            command.args(["-ex", words]);
        }
        configure_terminal(&mut command, true);
        sys::bind_to_this_process(&mut command, Signal::KILL, Vec::new());
        command.spawn().context(format_args!("start {}", self.command[0]))
    }
}

/// Options of the hidden command by which a debugger starts a rank's process.
#[derive(Args, Debug)]
pub struct DebuggedArgs {
    /// Descriptor to print to
    #[arg(long)]
    stdout: RawFd,
    /// Descriptor to complain to
    #[arg(long)]
    stderr: RawFd,
    /// Limit of the stack in bytes
    #[arg(long)]
    stack: Option<u64>,
    /// Limit of the data in bytes
    #[arg(long)]
    data: Option<u64>,
    /// The program and its arguments
    #[arg(required = true, last = true)]
    words: Vec<OsString>,
}

/// Replaces this process with the rank's, which ends with the debugger; returns only on failure.
///
/// # Errors
/// Returns an error if the descriptors are invalid or the program cannot be started.
pub fn become_process(options: &DebuggedArgs) -> Result<u8, CliError> {
    let mut command = Command::new(&options.words[0]);
    command.args(&options.words[1..]).stdin(Stdio::null());
    command.stdout(sys::inherit_descriptor(options.stdout).context("redirect stdout")?);
    command.stderr(sys::inherit_descriptor(options.stderr).context("redirect stderr")?);
    for (resource, limit) in [(Resource::Stack, options.stack), (Resource::Data, options.data)] {
        if let Some(bytes) = limit {
            sys::limit(&mut command, resource, bytes);
        }
    }
    set_parent_process_death_signal(Some(Signal::KILL)).context("end with the debugger")?;
    Err(command.exec()).context(format_args!("start {}", options.words[0].display()))
}

/// Reserves the terminal's signals for this process, so that it can end the nodes in order. A child that reads from the
/// terminal must stay in the foreground process group.
pub fn configure_terminal(command: &mut Command, reads: bool) {
    if !(reads && std::io::stdin().is_terminal()) {
        command.process_group(0);
    }
}
