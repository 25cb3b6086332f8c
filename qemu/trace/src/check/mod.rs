//! Misuse of MPI in the calls of a job.
//!
//! | module | misuse |
//! |---|---|
//! | `signatures` | datatypes of a send and its receive that differ |
//! | `collectives` | collective calls of a communicator that differ in function, root, operation or datatypes |
//! | `buffers_in_use` | memory that two operations, or an operation and the program, use at the same time |
//! | `windows` | one-sided operations that conflict |
//! | `unsafe_program` | sends and collectives that complete only by buffers of the library |
//! | `unreceived` | messages that no process has received |
//! | `leaks` | requests and objects that exist at MPI_Finalize |
//! | `races` | receives with MPI_ANY_SOURCE whose message depends on the time |
//!
//! A finding is certain, apart from the values of the program that lead to it: all checks use the calls that were made.

mod buffers_in_use;
mod causality;
mod collectives;
mod findings;
mod job;
mod leaks;
mod races;
mod signatures;
#[cfg(test)]
mod tests;
mod unreceived;
mod unsafe_program;
mod window_list;
mod windows;

pub use findings::{Finding, FindingClass, MAX_FINDINGS};
pub use job::CheckedJob;

use causality::{Causality, LazyCausality};
use findings::FindingList;
use std::cell::LazyCell;

/// Finds misuse, sorted by class.
#[must_use]
pub fn findings(job: &CheckedJob<'_>) -> Vec<Finding> {
    let mut findings = FindingList::default();
    // Three checks use it, and few jobs need it.
    let causality: LazyCausality<'_> = LazyCell::new(Box::new(|| Causality::of_job(job)));
    signatures::check(job, &mut findings);
    collectives::check(job, &mut findings);
    buffers_in_use::check(job, &mut findings);
    windows::check(job, &causality, &mut findings);
    unsafe_program::check(job, &mut findings);
    unreceived::check(job, &mut findings);
    leaks::check(job, &causality, &mut findings);
    races::check(job, &causality, &mut findings);
    findings.list.sort_by_key(|finding| finding.class);
    findings.list
}
