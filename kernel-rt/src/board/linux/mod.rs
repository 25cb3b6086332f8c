//! A node as a Linux process: the same stack over links in memory that the job's processes share.
//!
//! ```text
//! boot        from the process's start to the program, and the program's end
//! sim_nodes   several nodes in one process, for the simulator
//! abort       abort path: by a call, a panic, a signal
//! node_lock   the node's lock: one thread at a time
//! own_start   start and end of a Rust program linked by cargo
//! clock       clocks of the system
//! futex       waits on a word of memory
//! platform    clock, sleep and heap of the node
//! heap        loan limit of the process's heap
//! job_requests  requests of the process to the tool: start of processes, ports, names
//! handover    a process whose program has ended hands its node over to another process
//! world       which part of the torus MPI_COMM_WORLD is, in a job whose processes come and go
//! job_memory  creation and mapping of the shared file
//! outside     a rank's links that leave the host, in a job over several hosts
//! socket_link a link to a rank of another host
//! node_sleep  sleep of the node until a neighbour rings, and its wake
//! launcher    start by a launcher that is not the tool: PMI, PMIx, Slurm
//! share       the file in memory that the processes and the tool share
//! shared_memory    memory of windows that the processes share
//! progress_thread  progress thread, for the time in which the program computes
//! entry       entry of calls into the device
//! threads     lock of the MPI library, for a program whose threads call MPI at the same time
//! thread_state  the part of its state that others read
//! tool        the process ends with the tool, and publishes its counters on request
//! ```
//! The host's compiler compiles a C program, and links it with this and `ld/linux.c`, which calls it. Streams, files,
//! malloc and threads are those of the host.
//!
//! There are no interrupts. While a request, a window or a delayed acknowledgement exists, or if the rank may forward
//! packets of others, a progress thread replaces them when the program computes or sleeps. Otherwise messages make progress
//! only in the program's MPI calls, in MPI_Finalize and after its end.

mod abort;
mod boot;
mod clock;
mod entry;
mod futex;
mod handover;
pub mod heap;
mod job_memory;
mod job_requests;
mod launcher;
mod node_lock;
mod node_sleep;
pub mod outside;
mod own_start;
mod platform;
mod progress_thread;
pub mod share;
mod shared_memory;
pub mod sim_nodes;
mod socket_link;
mod thread_state;
mod threads;
mod tool;
pub mod world;

use midplane_abi::address::AddressRange;
use midplane_abi::personality::Personality;
#[doc(hidden)]
pub use own_start::{ended, start};

use std::sync::OnceLock;

/// Environment variable with the process's identity: four inherited file descriptors and the node's memory in bytes,
/// separated by spaces. The descriptors are the shared file, a pipe that the tool closes to end the process (or by its
/// own death), a pipe that it writes to when it requests the counters, and a file with the record of
/// [`boot_parameters`](midplane_abi::boot_parameters). A sixth word is present if the job runs on several hosts
/// ([`outside::OutsideView`]), or if its processes come and go ([`world::WorldView`]). Without the variable a launcher may have started the process (`launcher`);
/// otherwise it is the only one of its job.
pub const VARIABLE: &str = "MIDPLANE_NODE";

/// Process that manages the job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JobManager {
    /// None: the job has one process.
    None,
    /// The host tool, which prints the failures of the ranks and ends their processes.
    Tool,
    /// The keeper of a job of another launcher; a rank prints its own failure and exits.
    Keeper,
}

struct ProcessIdentity {
    who: Personality,
    manager: JobManager,
    /// Process ID: children of a fork are no nodes.
    number: u32,
    account: &'static share::NodeAccount,
    stack: AddressRange,
}

static PROCESS: OnceLock<ProcessIdentity> = OnceLock::new();

/// Returns the process's number in the system. Uses the system call: in the simulator `getpid` returns a rank's number.
pub fn process_id() -> u32 {
    // SAFETY: a system call that accesses no memory.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

/// Returns the calling thread's number in the system, in the same way.
fn thread_id() -> u32 {
    // SAFETY: a system call that accesses no memory.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Returns this process after its setup, and `None` before it and in a forked child.
fn process() -> Option<&'static ProcessIdentity> {
    PROCESS.get().filter(|p| p.number == process_id())
}
