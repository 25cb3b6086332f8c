//! The barrier by messages, for communicators whose barrier the network does not offer.

use super::hook::Hook;
use midplane_objects::coll;
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;

type Barrier = fn(Communicator<'static>, &'static str) -> Result<(), Error>;

/// The barrier by messages, from the first communicator on that may need it: a program that makes none has nothing of
/// this in its image.
static BY_MESSAGES: Hook<Barrier> = Hook::new();

/// From now on there may be a barrier that the network does not offer.
pub(super) fn allow_barriers_by_messages() {
    BY_MESSAGES.set(coll::barrier_by_messages);
}

/// A barrier that the network does not offer. At MPI_COMM_SELF there is nobody to wait for.
pub(super) fn barrier_beside(
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
