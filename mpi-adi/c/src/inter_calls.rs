//! The calls that differ on intercommunicators.
//!
//! A function that works on both kinds of communicators hands a call on an intercommunicator over to these. It finds
//! them with the intercommunicator, and the first of those comes from MPI_Intercomm_create: in a program that does
//! not call that, none of this is linked.
//!
//! A collective's entry makes its plan, from the arguments of the MPI function of its name up to the communicator.
//! The function that blocks runs the plan ([`Calls::block`]), the one that does not starts it; so only programs that
//! call such a one have what lets collectives go on.

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
/// Blocks of datatypes of their own: address, counts, displacements in bytes and datatypes.
pub(super) type GivenW = (*const c_void, *const c_int, *const c_int, *const c_int);
/// A datatype and an operation.
pub(super) type Operation = (c_int, c_int);

/// The calls; what is given comes first, then what is taken, then a root. A function of the library's own has its name
/// in errors first, and ends with the new handle.
pub(super) struct Calls {
    pub duplicate: fn(&'static str, c_int) -> Result<c_int, Error>,
    /// The duplicate, of a communicator with this handle, in a context that its processes have agreed on.
    pub duplicate_in: fn(&'static dyn Env, Sides<'static>, Context, c_int) -> Result<c_int, Error>,
    /// By color and key; MPI_COMM_NULL for a process that is in no part.
    pub split: fn(&'static str, c_int, Option<u32>, i32) -> Result<c_int, Error>,
    /// A call of this function on this communicator that runs the plan that is made.
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
    /// Of so many elements from one buffer to the other.
    pub reduce: unsafe fn(Halves, [*const c_void; 2], c_int, Operation, c_int) -> Planned,
    pub allreduce: unsafe fn(Halves, [*const c_void; 2], c_int, Operation) -> Planned,
    pub reduce_scatter: unsafe fn(Halves, [*const c_void; 2], *const c_int, Operation) -> Planned,
    pub reduce_scatter_block: unsafe fn(Halves, [*const c_void; 2], c_int, Operation) -> Planned,
}
