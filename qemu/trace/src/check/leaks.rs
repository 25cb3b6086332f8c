//! Requests that the program has not completed, and objects that it has not freed, when it calls MPI_Finalize. A rank
//! that has not called it is not checked.

use super::causality::{LazyCausality, Moment};
use super::findings::{FindingClass, FindingList};
use super::job::{CallAt, CheckedJob};
use crate::job::{Call, RankTrace};
use crate::operations::{Operation, OperationKind, RankOperations, each};
use midplane_api::Kind;
use std::collections::HashMap;

/// A kind of object.
struct ObjectKind {
    /// Name in messages.
    name: &'static str,
    /// Kind of the parameter with a new handle.
    created: Kind,
    /// Functions that free it.
    freed: &'static [&'static str],
    /// Their parameter.
    parameter: &'static str,
}

const KINDS: [ObjectKind; 5] = [
    ObjectKind {
        name: "communicator",
        created: Kind::CommOut,
        freed: &["MPI_Comm_free", "MPI_Comm_disconnect"],
        parameter: "comm",
    },
    ObjectKind {
        name: "group",
        created: Kind::GroupOut,
        freed: &["MPI_Group_free"],
        parameter: "group",
    },
    ObjectKind {
        name: "datatype",
        created: Kind::DatatypeOut,
        freed: &["MPI_Type_free"],
        parameter: "datatype",
    },
    ObjectKind {
        name: "operation",
        created: Kind::OpOut,
        freed: &["MPI_Op_free"],
        parameter: "op",
    },
    ObjectKind {
        name: "window",
        created: Kind::WinOut,
        freed: &["MPI_Win_free"],
        parameter: "win",
    },
];

pub(super) fn check(job: &CheckedJob<'_>, causality: &LazyCausality<'_>, findings: &mut FindingList) {
    check_freed(job, causality, findings);
    for (rank, trace) in job.job.ranks.iter().enumerate() {
        if job.has_finalized(rank) {
            check_requests(job, rank, &job.operations.ranks[rank], findings);
            if !trace.is_rust() {
                // Their drop frees the objects of a Rust program.
                check_objects(job, rank, trace, findings);
            }
        }
    }
}

fn check_requests(job: &CheckedJob<'_>, rank: usize, operations: &RankOperations, findings: &mut FindingList) {
    let is_pending =
        |operation: &&Operation| operation.request != 0 && operation.completed.is_none() && !operation.is_freed;
    for operation in operations.list.iter().filter(is_pending) {
        let at = CallAt {
            rank,
            index: operation.call,
        };
        findings.add(FindingClass::RequestLeak, &[job.site(at)], || {
            format!(
                "the request of {} is not completed: call MPI_Wait or a similar function before MPI_Finalize",
                job.describe(at)
            )
        });
    }
    for &index in &operations.persistent {
        let at = CallAt { rank, index };
        let is_started = operations.list.iter().any(|operation| operation.call == index);
        findings.add(FindingClass::RequestLeak, &[job.site(at)], || {
            let started = if is_started { "" } else { " was never started, and" };
            format!(
                "the persistent request of {}{started} is not freed: call MPI_Request_free",
                job.describe(at)
            )
        });
    }
    check_unstarted(job, rank, operations, findings);
}

/// Finds requests that the program has freed while they were active, if it does not learn by a message that the operation
/// is complete (MPI-3.1 section 3.7.3).
fn check_freed(job: &CheckedJob<'_>, causality: &LazyCausality<'_>, findings: &mut FindingList) {
    let is_freed = |operation: &Operation| operation.is_freed && operation.request != 0;
    if !each(job.operations).any(|(_, operation)| is_freed(operation)) {
        return;
    }
    let Some(causality) = &**causality else {
        return;
    };
    for (id, operation) in each(job.operations).filter(|(_, operation)| is_freed(operation)) {
        let calls = &job.job.ranks[id.rank].calls;
        let message = job.messages.matched.iter().find(|message| message.send == id);
        let received = message.and_then(|message| {
            let index = job.operations.get(message.receive).completed?;
            let rank = message.receive.rank;
            Some(Moment::Leave(CallAt { rank, index }))
        });
        let finalize = calls.iter().position(|call| call.function.name == "MPI_Finalize");
        let (Some(index), OperationKind::Send(_) | OperationKind::Receive) = (finalize, operation.kind) else {
            continue;
        };
        let end = Moment::Enter(CallAt { rank: id.rank, index });
        if !received.is_some_and(|received| causality.is_before(received, end)) {
            let at = CallAt {
                rank: id.rank,
                index: operation.started,
            };
            findings.add(FindingClass::RequestLeak, &[job.site(at)], || {
                format!(
                    "the program frees the active request of {} and does not learn that the operation is complete",
                    job.describe(at)
                )
            });
        }
    }
}

/// Finds persistent requests that the program has freed without a start.
fn check_unstarted(job: &CheckedJob<'_>, rank: usize, operations: &RankOperations, findings: &mut FindingList) {
    for (index, call) in job.job.ranks[rank].calls.iter().enumerate() {
        let is_request = call.output("request").is_some();
        let is_persistent = is_request && call.function.name.ends_with("_init") && call.has_succeeded();
        let is_used = operations.list.iter().any(|operation| operation.call == index);
        if is_persistent && !is_used && !operations.persistent.contains(&index) {
            let at = CallAt { rank, index };
            findings.add(FindingClass::RequestLeak, &[job.site(at)], || {
                format!(
                    "the persistent request of {} was never started: call MPI_Start",
                    job.describe(at)
                )
            });
        }
    }
}

fn check_objects(job: &CheckedJob<'_>, rank: usize, trace: &RankTrace, findings: &mut FindingList) {
    for kind in &KINDS {
        let mut existing: HashMap<i64, usize> = HashMap::new();
        for (index, call) in trace.calls.iter().enumerate().filter(|(_, call)| call.has_succeeded()) {
            let name = call.function.name;
            if kind.freed.contains(&name) {
                existing.remove(&call.input(kind.parameter));
            } else if let Some(handle) = new_handle(call, kind) {
                existing.insert(handle, index);
            }
        }
        let mut left: Vec<usize> = existing.into_values().collect();
        left.sort_unstable();
        for index in left {
            let at = CallAt { rank, index };
            findings.add(FindingClass::ObjectLeak, &[job.site(at)], || {
                format!(
                    "the {} of {} is not freed: call {} before MPI_Finalize",
                    kind.name,
                    job.describe(at),
                    kind.freed[0]
                )
            });
        }
    }
}

/// Highest value that the standard reserves for handles of predefined objects and null handles (MPI-5.0 chapter 20).
const LAST_PREDEFINED: i64 = 0xfff;

/// Returns the handle of a new object of a kind.
fn new_handle(call: &Call, kind: &ObjectKind) -> Option<i64> {
    let parameter = call
        .function
        .parameters
        .iter()
        .find(|parameter| parameter.kind == kind.created)?;
    let handle = call.output(parameter.name)?;
    (handle > LAST_PREDEFINED).then_some(handle)
}
