//! Barriers (MPI-3.1 section 5.3).
#![forbid(unsafe_code)]

use crate::coll::network_allreduce;
use crate::coll::run::run_alone;
use crate::coll::schedule::{BARRIER, RankInfo, Schedule, ScheduleStep, StepBuffer};
use crate::comm::Communicator;
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Blocks until every process has called it. A barrier of all processes runs along the lines of the torus if the
/// network supports it ([`midplane_device::barrier`]); others use dissemination. Returns the errors of both.
pub fn barrier(comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
    if network_allreduce::barrier(comm, function, false)? {
        Ok(())
    } else {
        barrier_by_messages(comm, function)
    }
}

/// Runs a barrier like [`barrier`], but always by messages.
pub fn barrier_by_messages(comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
    run_alone(
        comm,
        function,
        &mut DisseminationBarrier::new(RankInfo::from_comm(comm)),
    )
}

/// Dissemination: in round k every process notifies the rank at distance 2^k that it, and all that have notified it,
/// have arrived.
pub(super) struct DisseminationBarrier {
    ranks: RankInfo,
    distance: u32,
}

impl DisseminationBarrier {
    pub(super) fn new(ranks: RankInfo) -> DisseminationBarrier {
        DisseminationBarrier { ranks, distance: 1 }
    }
}

impl Schedule for DisseminationBarrier {
    #[inline]
    fn next(&mut self) -> Option<ScheduleStep> {
        let DisseminationBarrier { ranks, distance } = *self;
        if distance >= ranks.size {
            return None;
        }
        self.distance = distance * 2;
        let nothing = StepBuffer::User(BufferSlice::EMPTY);
        Some(ScheduleStep::Exchange {
            tag: BARRIER,
            given: (nothing, ranks.after(distance)),
            taken: (nothing, ranks.before(distance)),
        })
    }
}
