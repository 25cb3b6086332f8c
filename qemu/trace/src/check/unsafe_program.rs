//! Programs that are not safe (MPI-3.1 section 3.5): they end only because a standard send completes before its receive is
//! posted, or because a process leaves a collective operation before the others enter it (section 5.14).
//!
//! The recorded calls are repeated with strict rules: a send waits for its receive, and a collective operation for all
//! processes. The matches remain those of the job. If the repetition cannot end, the job has depended on buffers.

use super::causality::MAX_RANKS;
use super::findings::{FindingClass, FindingList};
use super::job::{CallAt, CheckedJob};
use crate::operations::{OperationId, OperationKind, SendMode};
use std::collections::HashMap;

/// Calls that a call must wait for: they must have begun.
type Conditions = HashMap<CallAt, Vec<CallAt>>;

pub(super) fn check(job: &CheckedJob<'_>, findings: &mut FindingList) {
    let ranks = job.job.ranks.len();
    if ranks > MAX_RANKS || !(0..ranks).all(|rank| job.has_finalized(rank)) {
        return;
    }
    let conditions = conditions(job);
    // Number of calls that each rank has begun.
    let mut begun: Vec<usize> = { job.job.ranks.iter() }
        .map(|rank| usize::from(!rank.calls.is_empty()))
        .collect();
    let mut has_moved = true;
    while has_moved {
        has_moved = false;
        for rank in 0..ranks {
            while begun[rank] < job.job.ranks[rank].calls.len() && can_end(&conditions, &begun, rank) {
                begun[rank] += 1;
                has_moved = true;
            }
        }
    }
    report(job, &conditions, &begun, findings);
}

/// Checks whether the current call of a rank can end.
fn can_end(conditions: &Conditions, begun: &[usize], rank: usize) -> bool {
    let current = CallAt {
        rank,
        index: begun[rank].saturating_sub(1),
    };
    let needed = conditions.get(&current).map_or(&[][..], Vec::as_slice);
    needed.iter().all(|needed| needed.index < begun[needed.rank])
}

fn report(job: &CheckedJob<'_>, conditions: &Conditions, begun: &[usize], findings: &mut FindingList) {
    let is_stuck = |rank: &usize| begun[*rank] < job.job.ranks[*rank].calls.len();
    let stuck: Vec<usize> = (0..begun.len()).filter(is_stuck).collect();
    // A rank that the others wait for: the first one that waits for a call of a stuck rank.
    let pair = stuck.iter().find_map(|&rank| {
        let call = CallAt {
            rank,
            index: begun[rank].saturating_sub(1),
        };
        let needed = conditions
            .get(&call)?
            .iter()
            .find(|needed| needed.index >= begun[needed.rank])?;
        Some([call, *needed])
    });
    let Some([call, needed]) = pair else {
        return;
    };
    findings.add(FindingClass::UnsafeProgram, &[job.site(call), job.site(needed)], || {
        let current = CallAt {
            rank: needed.rank,
            index: begun[needed.rank].saturating_sub(1),
        };
        format!(
            "{} may wait for {}, which rank {} calls only after {}: the program depends on buffers of the library",
            job.describe(call),
            job.describe(needed),
            needed.rank,
            job.describe(current)
        )
    });
}

fn conditions(job: &CheckedJob<'_>) -> Conditions {
    let mut conditions = Conditions::new();
    let mut add = |rank: usize, completed: Option<usize>, needed: CallAt| {
        if let Some(index) = completed.filter(|_| rank != needed.rank || completed != Some(needed.index)) {
            conditions.entry(CallAt { rank, index }).or_default().push(needed);
        }
    };
    let start = |id: OperationId| CallAt {
        rank: id.rank,
        index: job.operations.get(id).started,
    };
    for message in &job.messages.matched {
        let (send, receive) = (job.operations.get(message.send), job.operations.get(message.receive));
        add(message.receive.rank, receive.completed, start(message.send));
        if send.kind != OperationKind::Send(SendMode::Buffered) {
            add(message.send.rank, send.completed, start(message.receive));
        }
    }
    for ranks in job.operations.collectives().values() {
        let longest = ranks.values().map(Vec::len).max().unwrap_or(0);
        for number in 0..longest {
            let members: Vec<OperationId> = ranks.values().filter_map(|list| list.get(number)).copied().collect();
            for member in &members {
                for other in members.iter().filter(|other| other.rank != member.rank) {
                    add(member.rank, job.operations.get(*member).completed, start(*other));
                }
            }
        }
    }
    conditions
}
