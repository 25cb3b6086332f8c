//! C programs in the discrete-event simulator: one process of the host, in which each rank is a coroutine.
//!
//! ```text
//! kernel-rt/ld/cluster.ld  locations of the program's constructors, destructors and thread-local variables
//! kernel-rt/ld/cluster.c   a rank's begin and end, and its streams; functions that ranks cannot call
//! kernel-rt/ld/cluster_library.c, cluster_system.c   the ranks' separate C library and system state
//! boot        from the process's start to the job's end
//! rank        interface of a rank to its node: MPI, output, time, exit
//! data        the program's data: each rank's is in place while the rank runs
//! thread      the same for `errno` and the floating-point environment
//! system      the same for system state, such as the umask, and for the locale, if a rank has changed it
//! socket      messages to the tool
//! capture     captured frames of the links, for the tool
//! explorer    many runs of one program, with the tool's schedules
//! workers     processes with a block of the ranks each, for more than one processor
//! ```
//! The host's compiler compiles the program, for one fixed address, and links it with this and `cluster.c`: one
//! executable, as with `--on linux`. All variables in its file (its own, those of the C binding and of `cluster.c`, and
//! those of the C library there: `stdout`, `environ`, `optind`) are *the data*. It has one location, which contains the
//! data of the running rank. The simulator itself, its nodes and routers, use the heap, stacks and thread variables,
//! which are not part of any rank's data.
//!
//! Ranks share the heap's addresses, open files and the working directory. Everything else is as on nodes: a rank that
//! ends exits its node, which continues to forward.
#![cfg(target_os = "linux")]

// The program calls it, and nothing here names it.
extern crate midplane_c as _;

mod boot;
mod capture;
mod data;
mod explorer;
mod rank;
mod socket;
mod system;
mod thread;
mod workers;
