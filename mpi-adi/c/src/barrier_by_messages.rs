//! Barrier by messages, for communicators whose barrier the network does not support.

use super::lazy_callback::LazyCallback;
use midplane_objects::coll;
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;

type BarrierFn = fn(Communicator<'static>, &'static str) -> Result<(), Error>;

/// Barrier by messages. Installed with the first communicator that may need it, so that the image of a program without
/// one does not contain this code.
static BY_MESSAGES: LazyCallback<BarrierFn> = LazyCallback::new();

/// Installs the barrier by messages.
pub(super) fn allow_barriers_by_messages() {
    BY_MESSAGES.set(coll::barrier_by_messages);
}

/// Runs a barrier that the network does not support. MPI_COMM_SELF needs none.
pub(super) fn background_barrier(comm: Communicator<'static>, function: &'static str) -> Result<(), Error> {
    let by_messages = BY_MESSAGES.get();
    match by_messages {
        Some(barrier) => barrier(comm, function),
        None => {
            assert!(comm.size() == 1, "C programs run where the network has a barrier");
            Ok(())
        }
    }
}
