//! C programs in the in-process cluster: one process of the host, in which each rank is a coroutine.
//!
//! ```text
//! kernel-rt/ld/cluster.ld  where the program's constructors, destructors and thread-local variables lie
//! kernel-rt/ld/cluster.c   a rank's begin and end, and its streams; what ranks cannot call
//! kernel-rt/ld/cluster_library.c, cluster_system.c   what of the C library and of the system has to be each rank's own
//! boot        from the process's start to the job's end
//! rank        a rank's way to its node: MPI, output, time, exit
//! data        the program's data: each rank's is in place while the rank goes on
//! thread      the same of `errno` and the floating-point environment
//! system      the same of what the system keeps, as the umask, and of the locale, where a rank has changed it
//! socket      messages to the tool
//! several     processes that have a block of the ranks each, where more than one processor is to be used
//! ```
//! The program is compiled by the host's compiler, for one fixed address, and linked with this and `cluster.c`: one
//! executable, as with `--on linux`. All that it writes to in its file (its variables, those of the C binding and of
//! `cluster.c`, and what the C library has there: `stdout`, `environ`, `optind`) is *the data*. There is one place for it,
//! which has the data of the rank that goes on. The cluster itself, its nodes and routers, are on the heap, on stacks and
//! in variables of the thread, which no rank's data has.
//!
//! What ranks share with each other is the heap's addresses, open files and the working folder. It is as on nodes
//! otherwise: a rank that ends leaves its node, which goes on forwarding.
#![cfg(target_os = "linux")]

mod boot;
mod data;
mod rank;
mod several;
mod socket;
mod system;
mod thread;
