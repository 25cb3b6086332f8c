//! What goes along the lines of the torus in the packets of the network's own barrier ([`midplane_device::barrier`]): the
//! barrier of all processes, and their allreduces of few bytes.
//!
//! Neither is a schedule of messages, and neither needs any: their state is in the device, which tells without blocking
//! how far they are.
//!
//! There is one network, and many communicators may be of all processes. They can share it, since these calls block and a
//! process makes one at a time: a program whose processes make them in different orders, on one communicator or on several,
//! is wrong (MPI-3.1 section 5.13). Collectives that do not block go by messages, whatever they are of.
#![forbid(unsafe_code)]

use crate::coll::run::Combine;
use crate::coll::run::Elements;
use crate::comm::Communicator;
use crate::error::{Class, Error};
use midplane_device::barrier::call::{Allreduce, Turn};
use midplane_device::barrier::{Differ, VALUE_BYTES};
use midplane_device::interface::NetworkCollectives;
use midplane_device::memory::area::Area;

/// The barrier of all processes, the last one if so said; false, and nothing done, when the communicator is not of all, or the network does not offer it: to all of them or to none. Fails with [`Error::Wrong`] where not all processes
/// are in a barrier, or not for all it is the last one.
pub fn barrier(
    comm: Communicator<'_>,
    function: &'static str,
    is_last: bool,
) -> Result<bool, Error> {
    if !comm.is_of_all() {
        return Ok(false);
    }
    match comm.env().barrier(function, is_last) {
        Ok(is_offered) => Ok(is_offered),
        Err(_) if is_last => Err(LEFT_OUT),
        Err(differ) => Err(error_of(differ)),
    }
}

/// An allreduce of all processes; `None`, and nothing done, when it is not of this kind: to none of them. `data` is as
/// long as `result`. Fails with [`Error::Wrong`] when the processes' lengths differ.
pub(super) fn allreduce(
    comm: Communicator<'_>,
    function: &'static str,
    (data, result): (Area, Area),
    elements: Elements,
    combine: &mut Combine<'_>,
) -> Option<Result<(), Error>> {
    let bytes = data.len();
    let is_short = (1..=VALUE_BYTES).contains(&bytes);
    if !(is_short && elements.commute && comm.is_of_all()) {
        return None;
    }
    let mut call = Allreduce::new(data, result, elements.predefined);
    loop {
        match comm.env().allreduce(function, &mut call, combine) {
            Turn::NotOffered => return None,
            Turn::Combine => call.combine(combine),
            Turn::Over => return Some(Ok(())),
            Turn::Differ(differ) => return Some(Err(error_of(differ))),
        }
    }
}

const DIFFER: Error = Error::Wrong {
    class: Class::Truncate,
    what: "the processes gave different counts, or not all of them are in this collective (MPI-3.1 section 5.1)",
};
const TOO_MANY: Error = Error::Wrong {
    class: Class::Other,
    what: "other processes have called MPI_Finalize, and not this collective; either they have left it out, or this \
           process has called one too many (MPI-3.1 section 5.1)",
};
const LEFT_OUT: Error = Error::Wrong {
    class: Class::Other,
    what: "other processes are in MPI_Barrier or another collective on MPI_COMM_WORLD; either this process has left it \
           out, or they have called one too many (MPI-3.1 section 5.1)",
};

/// What a collective that is not MPI_Finalize says.
fn error_of(differ: Differ) -> Error {
    match differ {
        Differ::Last => TOO_MANY,
        Differ::Values => DIFFER,
    }
}
