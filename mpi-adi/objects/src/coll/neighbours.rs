//! Neighbourhood collectives (MPI-3.1 sections 7.6 and 7.7). The topology determines the messages.
#![forbid(unsafe_code)]

use alloc::vec::{IntoIter, Vec};

use crate::coll::schedule::{StepBuffer, NEIGHBOURS, Schedule, ScheduleStep};
use crate::comm::CommRank;
use midplane_device::memory::area::Area;

/// Starts all receives, then all sends. They must run concurrently; in sequence, a ring of processes would deadlock.
pub(super) struct NeighbourExchange {
    from: IntoIter<(CommRank, Area)>,
    to: IntoIter<(CommRank, Area)>,
}

impl NeighbourExchange {
    pub(super) fn new(from: Vec<(CommRank, Area)>, to: Vec<(CommRank, Area)>) -> NeighbourExchange {
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
