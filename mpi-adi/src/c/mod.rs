//! The C binding: `include/mpi.h` as a thin shell over what the Rust binding rests on.
//!
//! Each function turns C's arguments into checked Rust ones, calls, and gives the result or the error
//! back; an error goes to the communicator's error handler first (MPI-3.1 section 8.3). Handles are numbers,
//! a request's with a generation; no pointer of ours is ever given out as one.
//!
//! The carrier calls [`install`] once before the program's `main`, and asks [`phase`] when it has ended.
//!
//! # Safety
//! The functions trust what MPI trusts: that a non-null pointer points to as much memory as the other
//! arguments say, valid for as long as the standard says. Everything else is checked.

mod args;
mod buffered;
mod collectives;
mod communicators;
mod completion;
mod environment;
mod errors;
mod groups;
mod handles;
mod persistent;
mod point_to_point;
mod several;
pub mod signatures;
mod topologies;

use core::ffi::{c_int, c_longlong};
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use crate::mpi::comm::Communicator;
use crate::mpi::error::{Class, Error};
use crate::mpi::process::Env;

pub use buffered::*;
pub use collectives::*;
pub use communicators::*;
pub use completion::*;
pub use environment::*;
pub use errors::*;
pub use groups::*;
pub use persistent::*;
pub use point_to_point::*;
pub use several::*;
pub use topologies::*;

/// `MPI_Status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
#[allow(non_snake_case, non_camel_case_types)] // The names are the standard's.
pub struct MPI_Status {
    /// The sender.
    pub MPI_SOURCE: c_int,
    /// The tag.
    pub MPI_TAG: c_int,
    /// The error, where several requests complete at once.
    pub MPI_ERROR: c_int,
    /// Not zero: the request was cancelled.
    pub midplane_cancelled: c_int,
    /// Bytes received.
    pub midplane_bytes: c_longlong,
}

/// Values of `mpi.h`.
#[allow(missing_docs)]
pub mod constants {
    use core::ffi::c_int;

    pub const MPI_SUCCESS: c_int = 0;
    pub const MPI_ANY_SOURCE: c_int = -2;
    pub const MPI_PROC_NULL: c_int = -1;
    pub const MPI_ANY_TAG: c_int = -1;
    pub const MPI_UNDEFINED: c_int = -32766;
    pub const MPI_COMM_NULL: c_int = 0x0400_0000;
    pub const MPI_COMM_WORLD: c_int = 0x4400_0000;
    pub const MPI_COMM_SELF: c_int = 0x4400_0001;
    pub const MPI_GROUP_NULL: c_int = 0x0800_0000;
    pub const MPI_GROUP_EMPTY: c_int = 0x4800_0000;
    pub const MPI_REQUEST_NULL: c_int = 0;
    pub const MPI_OP_NULL: c_int = 0x1800_0000;
    pub const MPI_ERRHANDLER_NULL: c_int = 0x1400_0000;
    pub const MPI_ERRORS_ARE_FATAL: c_int = 0x5400_0000;
    pub const MPI_ERRORS_RETURN: c_int = 0x5400_0001;
    pub const MPI_MAX_PROCESSOR_NAME: usize = 64;
    pub const MPI_MAX_ERROR_STRING: usize = 512;
    pub const MPI_MAX_OBJECT_NAME: usize = 64;
    pub const MPI_MAX_LIBRARY_VERSION_STRING: usize = 128;
    pub const MPI_THREAD_SINGLE: c_int = 0;
    pub const MPI_THREAD_SERIALIZED: c_int = 2;
    pub const MPI_THREAD_MULTIPLE: c_int = 3;
    pub const MPI_IDENT: c_int = 0;
    pub const MPI_CONGRUENT: c_int = 1;
    pub const MPI_SIMILAR: c_int = 2;
    pub const MPI_UNEQUAL: c_int = 3;
    pub const MPI_CART: c_int = 2;
    pub const MPI_COMM_TYPE_SHARED: c_int = 1;
    pub const MPI_TAG_UB: c_int = 0x6440_0001;
    pub const MPI_HOST: c_int = 0x6440_0003;
    pub const MPI_IO: c_int = 0x6440_0005;
    pub const MPI_WTIME_IS_GLOBAL: c_int = 0x6440_0007;
}

use constants::{MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL};
use errors::{Blame, end, end_under};

/// Operations that a program can have created at one time (MPI_Op_create).
pub const USER_OPS: usize = 32;

/// Where the program stands between MPI_Init and MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// MPI_Init has not been called.
    Before = 0,
    /// MPI_Init has been called, MPI_Finalize has not ended.
    Running = 1,
    /// MPI_Finalize has ended.
    After = 2,
}

/// The one process that C functions, which get no context, work for.
struct Binding {
    env: spin::Once<&'static (dyn Env + Sync)>,
    phase: AtomicU8,
    /// This process's number and the number of processes, from MPI_Init on.
    place: [AtomicU32; 2],
    /// The error handlers of MPI_COMM_WORLD and MPI_COMM_SELF.
    handlers: [AtomicI32; 2],
    thread_level: AtomicI32,
    /// The functions of the operations that the program has created; 0: free.
    ops: [AtomicUsize; USER_OPS],
}

static BINDING: Binding = Binding {
    env: spin::Once::new(),
    phase: AtomicU8::new(Phase::Before as u8),
    place: [const { AtomicU32::new(0) }; 2],
    handlers: [const { AtomicI32::new(MPI_ERRORS_ARE_FATAL) }; 2],
    thread_level: AtomicI32::new(constants::MPI_THREAD_SINGLE),
    ops: [const { AtomicUsize::new(0) }; USER_OPS],
};

/// Gives the C functions their device. To be called once, before the program's `main`; later calls change
/// nothing.
pub fn install(env: &'static (dyn Env + Sync)) {
    BINDING.env.call_once(|| env);
}

/// Where the program stands.
pub fn phase() -> Phase {
    match BINDING.phase.load(Ordering::Relaxed) {
        0 => Phase::Before,
        1 => Phase::Running,
        _ => Phase::After,
    }
}

fn set_phase(phase: Phase) {
    BINDING.phase.store(phase as u8, Ordering::Relaxed);
}

/// The device, whatever the phase.
fn any_env() -> Result<&'static dyn Env, Error> {
    match BINDING.env.get() {
        Some(env) => Ok(*env),
        None => Err(Error::Order {
            what: "called before the runtime has started",
        }),
    }
}

/// The device, between MPI_Init and MPI_Finalize.
fn env() -> Result<&'static dyn Env, Error> {
    match phase() {
        Phase::Before => Err(Error::Order {
            what: "called before MPI_Init",
        }),
        Phase::Running => any_env(),
        Phase::After => Err(Error::Order {
            what: "called after MPI_Finalize",
        }),
    }
}

/// A call that belongs to a communicator.
fn on_comm(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Communicator<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env()
            .and_then(|env| communicators::communicator(env, comm))
            .and_then(call),
    )
}

/// A call that belongs to none.
fn on_process(
    function: &'static str,
    call: impl FnOnce(&'static dyn Env) -> Result<(), Error>,
) -> c_int {
    end(function, MPI_COMM_WORLD, env().and_then(call))
}

/// An error's code as calls return it: its class.
fn code(class: Class) -> c_int {
    class as c_int
}
