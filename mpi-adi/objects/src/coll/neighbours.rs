//! Neighbourhood collectives (MPI-3.1 sections 7.6 and 7.7). The topology determines the messages.
#![forbid(unsafe_code)]

use alloc::vec::{IntoIter, Vec};

use crate::coll::schedule::{Buffer, NEIGHBOURS, Schedule, Step};
use crate::comm::CommRank;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Starts all receives, then all sends. They must run concurrently; in sequence, a ring of processes would deadlock.
pub(super) struct Neighbours {
    from: IntoIter<(CommRank, BufferSlice)>,
    to: IntoIter<(CommRank, BufferSlice)>,
}

impl Neighbours {
    pub(super) fn new(from: Vec<(CommRank, BufferSlice)>, to: Vec<(CommRank, BufferSlice)>) -> Neighbours {
        let (from, to) = (from.into_iter(), to.into_iter());
        Neighbours { from, to }
    }
}

impl Schedule for Neighbours {
    fn next(&mut self) -> Option<Step> {
        let tag = NEIGHBOURS;
        if let Some((source, area)) = self.from.next() {
            let data = Buffer::User(area);
            return Some(Step::Receive { source, tag, data });
        }
        let (dest, area) = self.to.next()?;
        let data = Buffer::User(area);
        Some(Step::Send { dest, tag, data })
    }
}
