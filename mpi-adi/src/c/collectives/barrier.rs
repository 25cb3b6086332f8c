//! The barrier (section 5.3).

use core::ffi::c_int;

use crate::c::hook::Hook;
use crate::c::report::on_everyone;
use crate::mpi::coll;
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

type Barrier = fn(Communicator<'static>, &'static str) -> Result<(), Error>;

/// The barrier by messages, from the first communicator on that may need it: a program that makes none has nothing of
/// this in its image.
static BY_MESSAGES: Hook<Barrier> = Hook::new();

/// From now on there may be a barrier that the network does not offer.
pub(in crate::c) fn allow_barriers_by_messages() {
    BY_MESSAGES.set(coll::barrier_by_messages);
}

/// The barrier of these processes. That of MPI_COMM_WORLD is the network's own.
fn barrier_of(comm: Communicator<'static>, function: &'static str) -> Result<(), Error> {
    match coll::carried_barrier(comm, function, false)? {
        true => Ok(()),
        false => barrier_beside(comm, function),
    }
}

/// A barrier that the network does not offer. At MPI_COMM_SELF there is nobody to wait for.
pub(in crate::c) fn barrier_beside(
    comm: Communicator<'static>,
    function: &'static str,
) -> Result<(), Error> {
    let by_messages = BY_MESSAGES.get();
    match by_messages {
        Some(barrier) => barrier(comm, function),
        None => {
            assert!(
                comm.size() == 1,
                "C programs run where the network has a barrier"
            );
            Ok(())
        }
    }
}

pub unsafe fn MPI_Barrier(comm: c_int) -> c_int {
    // On an intercommunicator it is one of both groups.
    on_everyone("MPI_Barrier", comm, |comm| barrier_of(comm, "MPI_Barrier"))
}
