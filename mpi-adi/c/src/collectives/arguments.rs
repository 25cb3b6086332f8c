//! Arguments of collectives as data, and the persistent collectives that keep them.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};

use crate::counts::{IntArray, KeptInts};
use crate::types::Handle;
use crate::types::constants::{MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_OP_NULL};

/// Arguments of a collective, by their names in the standard; a collective uses a part of them.
#[derive(Clone, Copy)]
pub(crate) struct CollectiveArgs {
    pub buffer: *mut c_void,
    pub count: isize,
    pub datatype: c_int,
    pub sendbuf: *const c_void,
    pub sendcount: isize,
    pub sendcounts: IntArray,
    pub sdispls: IntArray,
    pub sendtype: c_int,
    pub sendtypes: *const Handle,
    pub recvbuf: *mut c_void,
    pub recvcount: isize,
    pub recvcounts: IntArray,
    pub rdispls: IntArray,
    pub recvtype: c_int,
    pub recvtypes: *const Handle,
    pub displs: IntArray,
    pub op: c_int,
    pub root: c_int,
    pub comm: c_int,
}

impl CollectiveArgs {
    /// No arguments.
    pub const NONE: CollectiveArgs = CollectiveArgs {
        buffer: null_mut(),
        count: 0,
        datatype: MPI_DATATYPE_NULL,
        sendbuf: null(),
        sendcount: 0,
        sendcounts: IntArray::Int(null()),
        sdispls: IntArray::Int(null()),
        sendtype: MPI_DATATYPE_NULL,
        sendtypes: null(),
        recvbuf: null_mut(),
        recvcount: 0,
        recvcounts: IntArray::Int(null()),
        rdispls: IntArray::Int(null()),
        recvtype: MPI_DATATYPE_NULL,
        recvtypes: null(),
        displs: IntArray::Int(null()),
        op: MPI_OP_NULL,
        root: 0,
        comm: MPI_COMM_NULL,
    };
}

/// Starts a collective in a call of this function, or only checks its arguments.
///
/// # Safety
/// The standard's requirements on the arguments and the request.
pub(crate) type StartFn = unsafe fn(&'static str, &CollectiveArgs, RequestTarget) -> c_int;

/// Request of a collective.
#[derive(Clone, Copy)]
pub(crate) enum RequestTarget {
    /// A nonblocking one starts, and its request is stored here.
    Start(*mut Handle),
    /// A persistent one starts with this sequence number, and its active request is stored here.
    Restart { number: u32, request: *mut Handle },
    /// Nothing starts: the arguments are checked.
    Check,
}

/// A persistent collective.
pub(crate) struct PersistentCollective {
    pub(super) function: &'static str,
    pub(super) start: StartFn,
    pub(super) args: CollectiveArgs,
    /// Its sequence number, by which its messages differ from those of other collectives on the communicator.
    pub(super) number: u32,
    /// Its own handles of datatypes, the first of which may be the arrays of `args`.
    pub(super) datatypes: Vec<c_int>,
    pub(super) arrays: [Vec<Handle>; 2],
    /// Its own copies of counts and displacements, the arrays of `args`.
    pub(super) counts: Vec<KeptInts>,
    /// Its own handle of an operation, or MPI_OP_NULL.
    pub(super) op: c_int,
    // By pointers, so that programs with other persistent requests only do not contain the functions.
    pub(super) restart: fn(&PersistentCollective, &mut Handle) -> c_int,
    pub(super) release: fn(&PersistentCollective),
}

// SAFETY: the addresses are the program's; only the collectives that it starts use them.
unsafe impl Send for PersistentCollective {}
// SAFETY: as above, and nothing changes after the creation.
unsafe impl Sync for PersistentCollective {}

impl Drop for PersistentCollective {
    fn drop(&mut self) {
        (self.release)(self);
    }
}

impl PersistentCollective {
    /// Starts it, stores the handle of the active request, and returns the result of the call.
    pub(crate) fn start(&self, active: &mut Handle) -> c_int {
        (self.restart)(self, active)
    }
}
