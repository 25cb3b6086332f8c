//! Neighbourhood collectives (MPI-3.1 sections 7.6 and 7.7). The topology determines the messages.
#![forbid(unsafe_code)]

use alloc::vec::{IntoIter, Vec};

use crate::coll::schedule::{NEIGHBOURS, Schedule, ScheduleStep, StepBuffer};
use crate::comm::CommRank;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Starts all receives, then all sends. They must run concurrently; in sequence, a ring of processes would deadlock.
pub(super) struct NeighbourExchange {
    from: IntoIter<(CommRank, BufferSlice)>,
    to: IntoIter<(CommRank, BufferSlice)>,
}

impl NeighbourExchange {
    pub(super) fn new(from: Vec<(CommRank, BufferSlice)>, to: Vec<(CommRank, BufferSlice)>) -> NeighbourExchange {
        let (from, to) = (from.into_iter(), to.into_iter());
        NeighbourExchange { from, to }
    }
}

impl Schedule for NeighbourExchange {
    fn next(&mut self) -> Option<ScheduleStep> {
        let tag = NEIGHBOURS;
        if let Some((source, area)) = self.from.next() {
            let data = StepBuffer::User(area);
            return Some(ScheduleStep::Receive { source, tag, data });
        }
        let (dest, area) = self.to.next()?;
        let data = StepBuffer::User(area);
        Some(ScheduleStep::Send { dest, tag, data })
    }
}
