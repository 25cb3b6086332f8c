//! A node as a process of Linux: the same stack over links in memory that the job's processes share.
//!
//! ```text
//! boot        from the process's start to the program, and the program's end
//! carried     nodes that are several to a process, for the cluster
//! end         a node that fails: by a call, a panic, a signal
//! held        the node, which one thread has at a time
//! own_start   start and end of a program in Rust, which cargo has linked
//! platform    clock, sleep and heap, as a node asks for them
//! heap        what the process's own heap could lend
//! share       the file in memory that the processes and the tool share
//! stand_in    what goes on while the program computes
//! tool        the process ends with the tool, and publishes its counters when the tool asks
//! ```
//! A program in C is compiled by the host's compiler, and linked with this and `ld/linux.c`, which calls it. Streams,
//! files, malloc and threads are the host's own.
//!
//! There are no interrupts. While a request, a window or an answer that waits is there, a thread stands in for them when the
//! program computes or sleeps. Else messages make progress in the program's calls of MPI, in MPI_Finalize and after its end: a rank that
//! computes for long without a call, and has nothing under way itself, holds up those whose messages pass its node.

mod boot;
pub mod carried;
mod end;
pub mod heap;
mod held;
mod own_start;
mod platform;
pub mod share;
mod stand_in;
mod tool;

use midplane_abi::address::Bytes;
use midplane_abi::personality::Personality;
#[doc(hidden)]
pub use own_start::{ended, start};

use std::sync::OnceLock;

/// The variable in which the tool tells a process who it is: the numbers of four inherited descriptors (the shared file;
/// a pipe that the tool closes when the process is to die, as it does when it dies itself; a pipe into which it writes when
/// it asks for the counters; a file with the record of [`boot_parameters`](midplane_abi::boot_parameters)) and the node's
/// memory in bytes, with spaces between them. Without it the process is the only one of its job.
pub const VARIABLE: &str = "MIDPLANE_NODE";

/// What the process knows of itself.
struct Process {
    who: Personality,
    /// Whether the tool looks after the job.
    is_tended: bool,
    /// Children of a fork are no nodes.
    number: u32,
    account: &'static share::Account,
    stack: Bytes,
}

static PROCESS: OnceLock<Process> = OnceLock::new();

/// This process, once it is set up; `None` in a child that it has forked, too.
fn process() -> Option<&'static Process> {
    PROCESS.get().filter(|p| p.number == std::process::id())
}

/// From now on forks are noted.
fn note_forks() {
    extern "C" fn forked() {
        held::leave();
    }
    // SAFETY: the function only stores a word. Where there is no memory to note it, a child that calls MPI harms the job,
    // as it may under any MPI. So do children that share our memory until they run another program (vfork).
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}
