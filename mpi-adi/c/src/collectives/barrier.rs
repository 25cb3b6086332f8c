//! Barrier (section 5.3).

use core::ffi::c_int;

use crate::barrier_by_messages::background_barrier;
use crate::error_dispatch::on_everyone;
use midplane_objects::coll;
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;

/// Runs the barrier of these processes. That of MPI_COMM_WORLD is the network's own.
fn barrier_of(comm: Communicator<'static>, function: &'static str) -> Result<(), Error> {
    if coll::network_barrier(comm, function, false)? {
        Ok(())
    } else {
        background_barrier(comm, function)
    }
}

pub unsafe fn MPI_Barrier(comm: c_int) -> c_int {
    // On an intercommunicator, the barrier includes both groups.
    on_everyone("MPI_Barrier", comm, |comm| barrier_of(comm, "MPI_Barrier"))
}
