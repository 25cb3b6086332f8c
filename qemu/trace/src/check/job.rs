//! A job to check, and descriptions of its calls.

use super::findings::CallSite;
use crate::datatypes::RankDatatypes;
use crate::job::{Call, JobTrace};
use crate::messages::Messages;
use crate::operations::JobOperations;
use crate::perfetto::CallLocation;

/// Everything that the checks use.
pub struct CheckedJob<'j> {
    pub(super) job: &'j JobTrace,
    pub(super) operations: &'j JobOperations,
    pub(super) messages: &'j Messages,
    pub(super) datatypes: Vec<RankDatatypes>,
    locate: CallLocation<'j>,
}

impl<'j> CheckedJob<'j> {
    /// Prepares the checks of a job. `locate` returns the source line of a return address in a rank's program.
    #[must_use]
    pub fn new(
        job: &'j JobTrace,
        operations: &'j JobOperations,
        messages: &'j Messages,
        locate: CallLocation<'j>,
    ) -> Self {
        Self {
            job,
            operations,
            messages,
            datatypes: job.ranks.iter().map(RankDatatypes::collect).collect(),
            locate,
        }
    }

    pub(super) fn call(&self, at: CallAt) -> &'j Call {
        &self.job.ranks[at.rank].calls[at.index]
    }

    /// Describes a call with its line, for example `MPI_Send of rank 1 (main at ring.c:12)`.
    pub(super) fn describe(&self, at: CallAt) -> String {
        let call = self.call(at);
        let line = (self.locate)(at.rank, call.address);
        let line = line.map_or(String::new(), |line| format!(" ({line})"));
        format!("{} of rank {}{line}", call.function.name, at.rank)
    }

    /// Checks whether a rank has called MPI_Finalize.
    pub(super) fn has_finalized(&self, rank: usize) -> bool {
        let calls = self.job.ranks.get(rank).map_or(&[][..], |rank| &rank.calls);
        calls.iter().rev().any(|call| call.function.name == "MPI_Finalize")
    }

    /// Describes an instruction of the program.
    pub(super) fn line(&self, rank: usize, address: u64) -> String {
        (self.locate)(rank, address).unwrap_or_else(|| format!("the instruction at {address:#x}"))
    }

    pub(super) fn site(&self, at: CallAt) -> CallSite {
        CallSite {
            address: self.call(at).address,
        }
    }
}

/// Position of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct CallAt {
    pub(super) rank: usize,
    pub(super) index: usize,
}
