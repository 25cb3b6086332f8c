//! A node as a Linux process: the same stack over links in memory that the job's processes share.
//!
//! ```text
//! boot        from the process's start to the program, and the program's end
//! sim_nodes   several nodes in one process, for the simulator
//! abort       abort path: by a call, a panic, a signal
//! node_lock   the node's lock: one thread at a time
//! own_start   start and end of a Rust program linked by cargo
//! platform    clock, sleep and heap of the node
//! heap        loan limit of the process's heap
//! share       the file in memory that the processes and the tool share
//! progress_thread  progress thread, for the time in which the program computes
//! tool        the process ends with the tool, and publishes its counters on request
//! ```
//! The host's compiler compiles a C program, and links it with this and `ld/linux.c`, which calls it. Streams, files,
//! malloc and threads are those of the host.
//!
//! There are no interrupts. While a request, a window or a delayed acknowledgement exists, a progress thread replaces
//! them when the program computes or sleeps. Otherwise messages make progress only in the program's MPI calls, in
//! MPI_Finalize and after its end. A rank that computes for long without a call, and has no pending work of its own,
//! delays the messages that are routed through its node.

mod abort;
mod boot;
pub mod heap;
mod node_lock;
mod own_start;
mod platform;
mod progress_thread;
pub mod share;
pub mod sim_nodes;
mod tool;

use midplane_abi::address::AddressRange;
use midplane_abi::personality::Personality;
#[doc(hidden)]
pub use own_start::{ended, start};

use std::sync::OnceLock;

/// Environment variable with the process's identity: four inherited file descriptors and the node's memory in bytes,
/// separated by spaces. The descriptors are the shared file, a pipe that the tool closes to end the process (or by its
/// own death), a pipe that it writes to when it requests the counters, and a file with the record of
/// [`boot_parameters`](midplane_abi::boot_parameters). Without it the process is the only one of its job.
pub const VARIABLE: &str = "MIDPLANE_NODE";

struct ProcessIdentity {
    who: Personality,
    /// Whether the host tool manages the job.
    is_tended: bool,
    /// Process ID: children of a fork are no nodes.
    number: u32,
    account: &'static share::NodeAccount,
    stack: AddressRange,
}

static PROCESS: OnceLock<ProcessIdentity> = OnceLock::new();

/// Returns this process after its setup, and `None` before it and in a forked child.
fn process() -> Option<&'static ProcessIdentity> {
    PROCESS.get().filter(|p| p.number == std::process::id())
}
