//! Broadcast (section 5.4).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::comm_objects::inter_calls;
use crate::error_dispatch::on_comm;
use crate::inter_calls::BufferArgs;
use midplane_objects::coll;

#[inline(always)]
pub unsafe fn MPI_Bcast(buffer: *mut c_void, count: isize, datatype: c_int, root: c_int, comm: c_int) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.bcast)(
                halves,
                BufferArgs {
                    buffer,
                    count,
                    datatype,
                },
                root,
            )
        };
        return (calls.block)("MPI_Bcast", comm, &mut plan);
    }
    on_comm("MPI_Bcast", comm, |comm| {
        // SAFETY: the standard's requirements on `buffer` (section 5.4).
        let data = unsafe { args::buffer(buffer, count, datatype) }?;
        let root = args::root(&comm, root)?;
        coll::bcast(comm, "MPI_Bcast", data.span().into(), root)
    })
}
