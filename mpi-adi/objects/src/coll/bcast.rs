//! Broadcast (MPI-3.1 section 5.4): in a box of the torus along its lines or, if it is long, by its trees; otherwise by
//! the binomial tree of the ranks.
#![forbid(unsafe_code)]

use crate::coll::lines::LineBcast;
use crate::coll::run::SegmentSizes;
use crate::coll::running::run_side_by_side;
use crate::coll::schedule::{BCAST, RankInfo, Schedule, ScheduleStep, SelectedSchedule, StepBuffer};
use crate::coll::tree;
use crate::coll::trees::TreeBcast;
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::wire::INLINE_BYTES;

/// Copies the root's span to that of every process.
pub fn bcast(comm: Communicator<'_>, function: &'static str, span: BufferSlice, root: CommRank) -> Result<(), Error> {
    comm.check_root(root)?;
    let mut schedule = BcastSchedule::new(RankInfo::placed(comm), span, root);
    run_side_by_side(
        comm,
        function,
        &mut schedule,
        SegmentSizes {
            element: 1,
            max_bytes: 0,
        },
        &mut |_, _| (),
    )
}

/// Longer broadcasts use the trees of the torus.
const SHORT_BCAST: usize = INLINE_BYTES;

/// A broadcast algorithm, selected by the rules of docs/collectives.md.
// Stored inline, so that a blocking call needs no heap memory.
#[allow(clippy::large_enum_variant)]
pub(super) enum BcastSchedule {
    Binomial(BinomialBcast),
    Lines(LineBcast),
    Trees(TreeBcast),
}

impl BcastSchedule {
    pub(super) fn new(ranks: RankInfo, span: BufferSlice, root: CommRank) -> BcastSchedule {
        match ranks.grid {
            Some(grid) if span.len() > SHORT_BCAST => BcastSchedule::Trees(TreeBcast::new(ranks, grid, span, root)),
            Some(grid) => BcastSchedule::Lines(LineBcast::new(ranks, grid, span, root)),
            None => BcastSchedule::Binomial(BinomialBcast::new(ranks, span, root)),
        }
    }
}

impl SelectedSchedule for BcastSchedule {
    fn selected(&mut self) -> &mut dyn Schedule {
        match self {
            BcastSchedule::Binomial(schedule) => schedule,
            BcastSchedule::Lines(schedule) => schedule,
            BcastSchedule::Trees(schedule) => schedule,
        }
    }
}

/// Binomial tree: receives from the parent, then sends to the children, largest subtree first.
pub(super) struct BinomialBcast {
    span: BufferSlice,
    root: CommRank,
    size: u32,
    /// Rank relative to the root.
    relative: u32,
    /// Parent, the source of the first receive.
    parent: Option<u32>,
    /// Twice the distance of the next child.
    bit: u32,
}

impl BinomialBcast {
    pub(super) fn new(ranks: RankInfo, span: BufferSlice, root: CommRank) -> BinomialBcast {
        let relative = ranks.before(root.0).0;
        BinomialBcast {
            span,
            root,
            size: ranks.size,
            relative,
            parent: tree::parent(relative),
            bit: tree::above_branches(relative, ranks.size),
        }
    }

    fn absolute(&self, relative: u32) -> CommRank {
        CommRank((relative + self.root.0) % self.size)
    }
}

impl Schedule for BinomialBcast {
    fn next(&mut self) -> Option<ScheduleStep> {
        let (tag, data) = (BCAST, StepBuffer::User(self.span));
        if let Some(parent) = self.parent.take() {
            let source = self.absolute(parent);
            return Some(ScheduleStep::Receive { source, tag, data });
        }
        while self.bit > 1 {
            self.bit /= 2;
            let child = self.relative + self.bit;
            if child < self.size {
                let dest = self.absolute(child);
                return Some(ScheduleStep::Send { dest, tag, data });
            }
        }
        None
    }
}
