//! Misuse of MPI in the calls of a job.
//!
//! | module | misuse |
//! |---|---|
//! | [`signatures`] | datatypes of a send and its receive that differ |
//! | [`collectives`] | collective calls of a communicator that differ in function, root, operation or datatypes |
//! | [`buffers_in_use`] | memory that two operations, or an operation and the program, use at the same time |
//! | [`windows`] | one-sided operations that conflict |
//! | [`unreceived`] | messages that no process has received |
//! | [`leaks`] | requests and objects that exist at MPI_Finalize |
//! | [`races`] | receives with MPI_ANY_SOURCE whose message depends on the time |
//!
//! A finding is certain, apart from the values of the program that lead to it: all checks use the calls that were made.

mod buffers_in_use;
mod causality;
mod collectives;
mod leaks;
mod races;
mod signatures;
mod unreceived;
mod windows;

use crate::datatypes::RankDatatypes;
use crate::job::{Call, JobTrace};
use crate::messages::Messages;
use crate::operations::JobOperations;
use crate::perfetto::CallLocation;
use std::collections::HashMap;

/// Maximum number of findings; the rest is counted.
pub const MAX_FINDINGS: usize = 100;

/// Class of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FindingClass {
    /// Datatypes or counts of a message differ.
    DatatypeMismatch,
    /// Collective calls differ.
    CollectiveMismatch,
    /// A buffer is used while an operation uses it.
    BufferInUse,
    /// One-sided operations conflict.
    WindowConflict,
    /// A message is not received.
    UnreceivedMessage,
    /// A request is not completed.
    RequestLeak,
    /// An object is not freed.
    ObjectLeak,
    /// The match of a receive depends on the time.
    MessageRace,
}

impl FindingClass {
    /// Returns its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DatatypeMismatch => "datatype mismatch",
            Self::CollectiveMismatch => "collective mismatch",
            Self::BufferInUse => "buffer in use",
            Self::WindowConflict => "window conflict",
            Self::UnreceivedMessage => "message not received",
            Self::RequestLeak => "request leak",
            Self::ObjectLeak => "object leak",
            Self::MessageRace => "message race",
        }
    }
}

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Class.
    pub class: FindingClass,
    /// Statement with the calls and their source lines.
    pub text: String,
    /// Number of times that the same calls of the source have caused it.
    pub times: usize,
}

/// A call in the program's source, for the comparison of findings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct CallSite {
    address: u64,
}

/// Everything that the checks use.
pub struct CheckedJob<'j> {
    job: &'j JobTrace,
    operations: &'j JobOperations,
    messages: &'j Messages,
    datatypes: Vec<RankDatatypes>,
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

    /// Finds misuse, sorted by class.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = FindingList::default();
        signatures::check(self, &mut findings);
        collectives::check(self, &mut findings);
        buffers_in_use::check(self, &mut findings);
        windows::check(self, &mut findings);
        unreceived::check(self, &mut findings);
        leaks::check(self, &mut findings);
        races::check(self, &mut findings);
        findings.list.sort_by_key(|finding| finding.class);
        findings.list
    }

    fn call(&self, at: CallAt) -> &'j Call {
        &self.job.ranks[at.rank].calls[at.index]
    }

    /// Describes a call with its line, for example `MPI_Send of rank 1 (main at ring.c:12)`.
    fn describe(&self, at: CallAt) -> String {
        let call = self.call(at);
        let line = (self.locate)(at.rank, call.address);
        let line = line.map_or(String::new(), |line| format!(" ({line})"));
        format!("{} of rank {}{line}", call.function.name, at.rank)
    }

    /// Checks whether a rank has called MPI_Finalize.
    fn has_finalized(&self, rank: usize) -> bool {
        let calls = self.job.ranks.get(rank).map_or(&[][..], |rank| &rank.calls);
        calls.iter().rev().any(|call| call.function.name == "MPI_Finalize")
    }

    /// Describes an instruction of the program.
    fn line(&self, rank: usize, address: u64) -> String {
        (self.locate)(rank, address).unwrap_or_else(|| format!("the instruction at {address:#x}"))
    }

    fn site(&self, at: CallAt) -> CallSite {
        CallSite {
            address: self.call(at).address,
        }
    }
}

/// Position of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct CallAt {
    rank: usize,
    index: usize,
}

/// Findings, each once for the same calls of the source.
#[derive(Default)]
struct FindingList {
    list: Vec<Finding>,
    known: HashMap<FindingKey, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct FindingKey {
    class: FindingClass,
    sites: Vec<CallSite>,
}

impl FindingList {
    /// Adds a finding; `text` is called for the first one at these calls.
    fn add(&mut self, class: FindingClass, sites: &[CallSite], text: impl FnOnce() -> String) {
        let mut sites = sites.to_vec();
        sites.sort_unstable();
        let next = self.list.len();
        let at = *self.known.entry(FindingKey { class, sites }).or_insert(next);
        match self.list.get_mut(at) {
            Some(finding) => finding.times += 1,
            None => self.list.push(Finding {
                class,
                text: text(),
                times: 1,
            }),
        }
    }
}
