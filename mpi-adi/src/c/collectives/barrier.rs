//! The barrier (section 5.3).

use core::ffi::c_int;

use crate::c::report::on_everyone;
use crate::mpi::coll;

#[unsafe(export_name = "PMPI_Barrier")]
pub unsafe extern "C" fn MPI_Barrier(comm: c_int) -> c_int {
    // On an intercommunicator it is one of both groups.
    on_everyone("MPI_Barrier", comm, |comm| {
        coll::barrier(comm, "MPI_Barrier")
    })
}
