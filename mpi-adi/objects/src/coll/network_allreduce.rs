//! In-network collectives: the barrier of all processes and their allreduces of few bytes, in the packets of the
//! torus's barrier ([`midplane_device::barrier`]).
//!
//! They are not schedules, and require no messages. Their state is in the device. It reports their progress without
//! blocking.
//!
//! There is one network barrier, and many communicators may contain all processes. They can share it, because these
//! calls block and a process runs one at a time. In a program that may request MPI_THREAD_MULTIPLE only MPI_COMM_WORLD
//! uses it. A program whose processes call them in different orders, on one
//! communicator or on several, is erroneous (MPI-3.1 section 5.13). Nonblocking collectives always use messages.
#![forbid(unsafe_code)]

use crate::coll::run::ReduceElements;
use crate::coll::run::{CombineFn, ReduceAreas};
use crate::comm::Communicator;
use crate::error::{Error, ErrorClass};
use midplane_device::barrier::call::{AllreduceProgress, BarrierAllreduce};
use midplane_device::barrier::{BarrierMismatch, VALUE_BYTES};
use midplane_device::interface::NetworkCollectives;

/// Runs the barrier of all processes; `is_last` marks the final one. Returns false without effect if the communicator
/// does not contain all, or if the network does not provide a barrier. All processes get the same result. Fails with
/// [`Error::Wrong`] if they do not all call a barrier, or disagree on `is_last`.
pub fn barrier(comm: Communicator<'_>, function: &'static str, is_last: bool) -> Result<bool, Error> {
    if !comm.shares_network_barrier() {
        return Ok(false);
    }
    match comm.env().barrier(function, is_last) {
        Ok(is_offered) => Ok(is_offered),
        Err(_) if is_last => Err(LEFT_OUT),
        Err(differ) => Err(error_of(differ)),
    }
}

/// Runs an allreduce of all processes. Returns `None` at all processes, without effect, if it is not suitable. `data`
/// must be as long as `result`. Fails with [`Error::Wrong`] if the lengths of the processes differ.
pub(super) fn allreduce(
    comm: Communicator<'_>,
    function: &'static str,
    ReduceAreas { data, result }: ReduceAreas,
    elements: ReduceElements,
    combine: &mut CombineFn<'_>,
) -> Option<Result<(), Error>> {
    let bytes = data.len();
    let is_short = (1..=VALUE_BYTES).contains(&bytes);
    if !(is_short && elements.commute && comm.shares_network_barrier()) {
        return None;
    }
    let mut call = BarrierAllreduce::new(data, result, elements.predefined);
    loop {
        match comm.env().allreduce(function, &mut call, combine) {
            AllreduceProgress::Unsupported => return None,
            AllreduceProgress::Combine => call.combine(combine),
            AllreduceProgress::Done => return Some(Ok(())),
            AllreduceProgress::Mismatch(differ) => return Some(Err(error_of(differ))),
        }
    }
}

const DIFFER: Error = Error::Wrong {
    class: ErrorClass::Truncate,
    what: "the processes gave different counts, or not all of them are in this collective (MPI-3.1 section 5.1)",
};
const TOO_MANY: Error = Error::Wrong {
    class: ErrorClass::Other,
    what: "other processes are in MPI_Finalize; they have left out this collective, or this process has called one \
           too many (MPI-3.1 section 5.1)",
};
const LEFT_OUT: Error = Error::Wrong {
    class: ErrorClass::Other,
    what: "other processes are in another collective; this process has left it out, or they have called one too \
           many (MPI-3.1 section 5.1)",
};

/// Returns the error of a collective other than MPI_Finalize.
fn error_of(differ: BarrierMismatch) -> Error {
    match differ {
        BarrierMismatch::Last => TOO_MANY,
        BarrierMismatch::Values => DIFFER,
    }
}
