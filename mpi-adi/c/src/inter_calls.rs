//! Implementations of calls on intercommunicators.
//!
//! A function that supports both kinds of communicators delegates a call on an intercommunicator to these. It finds
//! them with the intercommunicator, and MPI_Intercomm_create creates the first of those: a program that does not call
//! it links none of this code.
//!
//! A collective's entry creates its plan from the arguments of the MPI function of its name up to the communicator. The
//! blocking function runs the plan ([`Calls::block`]), the nonblocking one starts it. So only programs that call a
//! nonblocking one link the code to advance it.

use core::ffi::{c_int, c_void};

use midplane_device::envelope::Context;
use midplane_objects::coll::Plan;
use midplane_objects::error::Error;
use midplane_objects::process::Env;
use midplane_objects::sides::{Halves, Sides};

type Planned = Result<Plan, Error>;

/// Elements in a buffer: address, count and datatype.
pub(super) type Given = (*const c_void, c_int, c_int);
/// Blocks in a buffer: address, counts, displacements and datatype.
pub(super) type GivenV = (*const c_void, *const c_int, *const c_int, c_int);
/// Blocks with individual datatypes: address, counts, displacements in bytes and datatypes.
pub(super) type GivenW = (*const c_void, *const c_int, *const c_int, *const c_int);
/// A datatype and an operation.
pub(super) type Operation = (c_int, c_int);

/// Call table. Parameters are in the order: send arguments, receive arguments, root. A function other than a collective
/// takes the name for errors first, and its result is the new handle.
pub(super) struct Calls {
    pub duplicate: fn(&'static str, c_int) -> Result<c_int, Error>,
    /// Creates the duplicate of a communicator with this handle, in a context on which its processes have agreed.
    pub duplicate_in: fn(&'static dyn Env, Sides<'static>, Context, c_int) -> Result<c_int, Error>,
    /// Splits by color and key; MPI_COMM_NULL for a process that is in no part.
    pub split: fn(&'static str, c_int, Option<u32>, i32) -> Result<c_int, Error>,
    /// Runs the plan in a call of this function on this communicator.
    pub block: fn(&'static str, c_int, &mut dyn FnMut(Halves) -> Planned) -> c_int,
    pub bcast: unsafe fn(Halves, Given, c_int) -> Planned,
    pub gather: unsafe fn(Halves, Given, Given, c_int) -> Planned,
    pub gatherv: unsafe fn(Halves, Given, GivenV, c_int) -> Planned,
    pub scatter: unsafe fn(Halves, Given, Given, c_int) -> Planned,
    pub scatterv: unsafe fn(Halves, GivenV, Given, c_int) -> Planned,
    pub allgather: unsafe fn(Halves, Given, Given) -> Planned,
    pub allgatherv: unsafe fn(Halves, Given, GivenV) -> Planned,
    pub alltoall: unsafe fn(Halves, Given, Given) -> Planned,
    pub alltoallv: unsafe fn(Halves, GivenV, GivenV) -> Planned,
    pub alltoallw: unsafe fn(Halves, GivenW, GivenW) -> Planned,
    /// Reduces elements of one buffer into the other; the integer is the count.
    pub reduce: unsafe fn(Halves, [*const c_void; 2], c_int, Operation, c_int) -> Planned,
    pub allreduce: unsafe fn(Halves, [*const c_void; 2], c_int, Operation) -> Planned,
    pub reduce_scatter: unsafe fn(Halves, [*const c_void; 2], *const c_int, Operation) -> Planned,
    pub reduce_scatter_block: unsafe fn(Halves, [*const c_void; 2], c_int, Operation) -> Planned,
}
