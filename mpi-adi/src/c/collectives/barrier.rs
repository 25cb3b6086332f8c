//! Barrier (section 5.3).

use core::ffi::c_int;

use crate::c::barrier_by_messages::barrier_beside;
use crate::c::report::on_everyone;
use crate::mpi::coll;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

/// Runs the barrier of these processes. That of MPI_COMM_WORLD is the network's own.
fn barrier_of(comm: Communicator<'static>, function: &'static str) -> Result<(), Error> {
    match coll::carried_barrier(comm, function, false)? {
        true => Ok(()),
        false => barrier_beside(comm, function),
    }
}

pub unsafe fn MPI_Barrier(comm: c_int) -> c_int {
    // On an intercommunicator, the barrier includes both groups.
    on_everyone("MPI_Barrier", comm, |comm| barrier_of(comm, "MPI_Barrier"))
}
