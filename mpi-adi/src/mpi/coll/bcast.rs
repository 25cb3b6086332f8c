//! Broadcast (MPI-3.1 section 5.4).
#![forbid(unsafe_code)]

use crate::device::matching::Matching;
use crate::device::memory::area::Area;
use crate::mpi::coll::run::run;
use crate::mpi::coll::schedule::{BCAST, Buffer, Ranks, Schedule, Step};
use crate::mpi::coll::tree;
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// The root's span to every process's.
pub(crate) fn bcast<E: Matching>(
    comm: Communicator<'_, E>,
    function: &'static str,
    span: Area,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    run(comm, function, &mut Bcast::new(Ranks::of(comm), span, root))
}

/// Down the tree: from the parent, then to the children, the one with the most ranks below it first.
pub(super) struct Bcast {
    span: Area,
    root: CommRank,
    size: u32,
    /// The rank in the tree: the root's is 0.
    relative: u32,
    /// From whom to receive first.
    parent: Option<u32>,
    /// Twice the next child's distance.
    bit: u32,
}

impl Bcast {
    pub(super) fn new(ranks: Ranks, span: Area, root: CommRank) -> Bcast {
        let relative = ranks.before(root.0).0;
        Bcast {
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

impl Schedule for Bcast {
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
