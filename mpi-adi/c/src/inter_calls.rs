//! Implementations of calls on intercommunicators.
//!
//! A function that supports both kinds of communicators delegates a call on an intercommunicator to these. It finds
//! them with the intercommunicator, and MPI_Intercomm_create creates the first of those: a program that does not call
//! it links none of this code.
//!
//! A collective's entry creates its plan from the arguments of the MPI function of its name up to the communicator. The
//! blocking function runs the plan ([`InterCalls::block`]), the nonblocking one starts it. So only programs that call a
//! nonblocking one link the code to advance it.

use core::ffi::{c_int, c_void};

use super::counts::IntArray;
use super::types::Handle;
use midplane_device::envelope::Context;
use midplane_objects::coll::CollectiveSchedule;
use midplane_objects::error::Error;
use midplane_objects::inter_groups::{GroupRanges, InterGroups};
use midplane_objects::process::Env;

type ScheduleResult = Result<CollectiveSchedule, Error>;

/// Elements in a buffer: address, count and datatype.
#[derive(Clone, Copy)]
pub(super) struct BufferArgs {
    pub buffer: *const c_void,
    pub count: isize,
    pub datatype: c_int,
}

/// Blocks in a buffer: address, counts, displacements and datatype.
#[derive(Clone, Copy)]
pub(super) struct VectorArgs {
    pub buffer: *const c_void,
    pub counts: IntArray,
    pub displs: IntArray,
    pub datatype: c_int,
}

/// Blocks with individual datatypes: address, counts, displacements in bytes and datatypes.
#[derive(Clone, Copy)]
pub(super) struct MixedTypeArgs {
    pub buffer: *const c_void,
    pub counts: IntArray,
    pub displs: IntArray,
    pub types: *const Handle,
}

/// A datatype and an operation.
#[derive(Clone, Copy)]
pub(super) struct OpArgs {
    pub datatype: c_int,
    pub op: c_int,
}

/// Call table. Parameters are in the order: send arguments, receive arguments, root. A function other than a collective
/// takes the name for errors first, and its result is the new handle.
pub(super) struct InterCalls {
    pub duplicate: fn(&'static str, c_int) -> Result<c_int, Error>,
    /// Creates the duplicate of a communicator with this handle, in a context on which its processes have agreed.
    pub duplicate_in: fn(&'static dyn Env, InterGroups<'static>, Context, c_int) -> Result<c_int, Error>,
    /// Splits by color and key; MPI_COMM_NULL for a process that is in no part.
    pub split: fn(&'static str, c_int, Option<u32>, i32) -> Result<c_int, Error>,
    /// Runs the plan in a call of this function on this communicator.
    pub block: fn(&'static str, c_int, &mut dyn FnMut(GroupRanges) -> ScheduleResult) -> c_int,
    pub bcast: unsafe fn(GroupRanges, BufferArgs, c_int) -> ScheduleResult,
    pub gather: unsafe fn(GroupRanges, BufferArgs, BufferArgs, c_int) -> ScheduleResult,
    pub gatherv: unsafe fn(GroupRanges, BufferArgs, VectorArgs, c_int) -> ScheduleResult,
    pub scatter: unsafe fn(GroupRanges, BufferArgs, BufferArgs, c_int) -> ScheduleResult,
    pub scatterv: unsafe fn(GroupRanges, VectorArgs, BufferArgs, c_int) -> ScheduleResult,
    pub allgather: unsafe fn(GroupRanges, BufferArgs, BufferArgs) -> ScheduleResult,
    pub allgatherv: unsafe fn(GroupRanges, BufferArgs, VectorArgs) -> ScheduleResult,
    pub alltoall: unsafe fn(GroupRanges, BufferArgs, BufferArgs) -> ScheduleResult,
    pub alltoallv: unsafe fn(GroupRanges, VectorArgs, VectorArgs) -> ScheduleResult,
    pub alltoallw: unsafe fn(GroupRanges, MixedTypeArgs, MixedTypeArgs) -> ScheduleResult,
    /// Reduces elements of one buffer into the other; the integer is the count.
    pub reduce: unsafe fn(GroupRanges, [*const c_void; 2], isize, OpArgs, c_int) -> ScheduleResult,
    pub allreduce: unsafe fn(GroupRanges, [*const c_void; 2], isize, OpArgs) -> ScheduleResult,
    pub reduce_scatter: unsafe fn(GroupRanges, [*const c_void; 2], IntArray, OpArgs) -> ScheduleResult,
    pub reduce_scatter_block: unsafe fn(GroupRanges, [*const c_void; 2], isize, OpArgs) -> ScheduleResult,
}
