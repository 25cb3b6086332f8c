//! Broadcast (MPI-3.1 section 5.4): in a box of the torus along its lines or, if it is long, by its trees; otherwise by
//! the binomial tree of the ranks.
#![forbid(unsafe_code)]

use crate::coll::lines::Spread;
use crate::coll::running::run_side_by_side;
use crate::coll::schedule::{BCAST, Buffer, Chosen, Ranks, Schedule, Step};
use crate::coll::tree;
use crate::coll::trees::Trees;
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::wire::INLINE_BYTES;

/// Copies the root's span to that of every process.
pub fn bcast(
    comm: Communicator<'_>,
    function: &'static str,
    span: BufferSlice,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    let mut schedule = Bcast::new(Ranks::placed(comm), span, root);
    run_side_by_side(comm, function, &mut schedule, (1, 0), &mut |_, _| ())
}

/// Longer broadcasts use the trees of the torus.
const SHORT_BCAST: usize = INLINE_BYTES;

/// A broadcast algorithm, selected by the rules of docs/collectives.md.
// Stored inline, so that a blocking call needs no heap memory.
#[allow(clippy::large_enum_variant)]
pub(super) enum Bcast {
    Binomial(Binomial),
    Lines(Spread),
    Trees(Trees),
}

impl Bcast {
    pub(super) fn new(ranks: Ranks, span: BufferSlice, root: CommRank) -> Bcast {
        match ranks.grid {
            Some(grid) if span.len() > SHORT_BCAST => {
                Bcast::Trees(Trees::new(ranks, grid, span, root))
            }
            Some(grid) => Bcast::Lines(Spread::new(ranks, grid, span, root)),
            None => Bcast::Binomial(Binomial::new(ranks, span, root)),
        }
    }
}

impl Chosen for Bcast {
    fn chosen(&mut self) -> &mut dyn Schedule {
        match self {
            Bcast::Binomial(schedule) => schedule,
            Bcast::Lines(schedule) => schedule,
            Bcast::Trees(schedule) => schedule,
        }
    }
}

/// Binomial tree: receives from the parent, then sends to the children, largest subtree first.
pub(super) struct Binomial {
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

impl Binomial {
    pub(super) fn new(ranks: Ranks, span: BufferSlice, root: CommRank) -> Binomial {
        let relative = ranks.before(root.0).0;
        Binomial {
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

impl Schedule for Binomial {
    fn next(&mut self) -> Option<Step> {
        let (tag, data) = (BCAST, Buffer::User(self.span));
        if let Some(parent) = self.parent.take() {
            let source = self.absolute(parent);
            return Some(Step::Receive { source, tag, data });
        }
        while self.bit > 1 {
            self.bit /= 2;
            let child = self.relative + self.bit;
            if child < self.size {
                let dest = self.absolute(child);
                return Some(Step::Send { dest, tag, data });
            }
        }
        None
    }
}
