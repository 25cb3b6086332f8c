//! Messages that no process has received when all have called MPI_Finalize: a program must complete all communication
//! before (MPI-3.1 section 8.7).

use super::findings::{FindingClass, FindingList};
use super::job::{CallAt, CheckedJob};
use crate::operations::{Operation, OperationKind};

pub(super) fn check(job: &CheckedJob<'_>, findings: &mut FindingList) {
    if !(0..job.job.ranks.len()).all(|rank| job.has_finalized(rank)) {
        return;
    }
    for send in &job.messages.unmatched_sends {
        let operation = job.operations.get(*send);
        let comm = operation.comm.as_ref();
        let Some(destination) = comm.and_then(|comm| comm.partner(operation.partner)) else {
            continue;
        };
        if job.operations.ranks[destination].list.iter().any(is_unknown) {
            continue;
        }
        let at = CallAt {
            rank: send.rank,
            index: operation.started,
        };
        findings.add(FindingClass::UnreceivedMessage, &[job.site(at)], || {
            format!(
                "rank {destination} has not received the message of {} with tag {}",
                job.describe(at),
                operation.tag
            )
        });
    }
}

/// Checks whether the message of a receive is unknown: the program has freed its request.
fn is_unknown(operation: &Operation) -> bool {
    operation.kind == OperationKind::Receive && operation.is_freed && operation.status.is_none()
}
