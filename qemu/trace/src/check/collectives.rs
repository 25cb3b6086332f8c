//! Collective calls: all processes of a communicator must make the same calls in the same order, with the same root and
//! operation, and with matching datatypes (MPI-3.1 chapter 5).

use super::findings::{FindingClass, FindingList, count_phrase};
use super::job::{CallAt, CheckedJob};
use crate::datatypes::{Signature, SignatureDifference, name as datatype_name};
use crate::job::{Call, RankTrace};
use crate::objects::{Communicator, handle_name};
use crate::operations::{OperationId, collective_of};
use std::collections::BTreeMap;

/// Maximum size of a communicator for the comparison of each pair of processes.
const MAX_PAIRS_SIZE: usize = 64;
/// MPI_IN_PLACE.
const IN_PLACE: i64 = 1;

pub(super) fn check(job: &CheckedJob<'_>, findings: &mut FindingList) {
    for sequences in job.operations.collectives().values() {
        let first = sequences.values().flatten().next();
        let communicator = first.and_then(|id| job.operations.get(*id).comm.as_ref());
        if let Some(communicator) = communicator {
            compare(job, communicator, sequences, findings);
        }
    }
}

/// Collective operations of a communicator by rank in MPI_COMM_WORLD.
type Sequences = BTreeMap<usize, Vec<OperationId>>;

/// Compares the calls of all members, up to the first difference: later calls differ as a consequence.
fn compare(job: &CheckedJob<'_>, communicator: &Communicator, sequences: &Sequences, findings: &mut FindingList) {
    let members: Vec<usize> = { communicator.members.iter().chain(&communicator.remote) }
        .filter_map(|member| usize::try_from(*member).ok())
        .collect();
    let is_rust = |rank: &usize| job.job.ranks.get(*rank).is_some_and(RankTrace::is_rust);
    if communicator.is_inter() && members.iter().any(is_rust) {
        // Of the group of a root, only the root calls a collective in Rust.
        return;
    }
    let longest = sequences.values().map(Vec::len).max().unwrap_or(0);
    for number in 0..longest {
        let call_of = |rank: &usize| {
            let id = sequences.get(rank)?.get(number)?;
            Some(CallAt {
                rank: id.rank,
                index: job.operations.get(*id).started,
            })
        };
        let calls: Vec<CallAt> = members.iter().filter_map(call_of).collect();
        let Some((&first, others)) = calls.split_first() else {
            return;
        };
        if let Some(&other) = others
            .iter()
            .find(|other| job.call(**other).function != job.call(first).function)
        {
            findings.add(
                FindingClass::CollectiveMismatch,
                &[job.site(first), job.site(other)],
                || {
                    format!(
                        "{} and {} are both collective call {} of a communicator",
                        job.describe(first),
                        job.describe(other),
                        number + 1
                    )
                },
            );
            return;
        }
        if calls.len() < members.len() {
            report_missing(job, &members, &calls, first, findings);
            return;
        }
        if !communicator.is_inter() && !compare_arguments(job, &calls, findings) {
            return;
        }
    }
}

/// Reports a member that has called MPI_Finalize instead.
fn report_missing(
    job: &CheckedJob<'_>,
    members: &[usize],
    calls: &[CallAt],
    first: CallAt,
    findings: &mut FindingList,
) {
    let missing = members
        .iter()
        .filter(|rank| calls.iter().all(|call| call.rank != **rank));
    if let Some(missing) = { missing }.find(|rank| job.has_finalized(**rank)) {
        findings.add(FindingClass::CollectiveMismatch, &[job.site(first)], || {
            format!(
                "rank {missing} has not made the collective call {}",
                job.describe(first)
            )
        });
    }
}

/// Compares root, operation and datatypes; returns false after a difference.
fn compare_arguments(job: &CheckedJob<'_>, calls: &[CallAt], findings: &mut FindingList) -> bool {
    let first = calls[0];
    for (name, what) in [("root", "root"), ("op", "operation")] {
        let value = |at: &CallAt| {
            job.call(*at)
                .try_input(name)
                .filter(|value| is_comparable(name, *value))
        };
        let wanted = value(&first);
        if let Some(&other) = calls
            .iter()
            .find(|at| wanted.is_some() && value(at).is_some() && value(at) != wanted)
        {
            findings.add(
                FindingClass::CollectiveMismatch,
                &[job.site(first), job.site(other)],
                || {
                    let shown = |at: CallAt| show(name, job.call(at).input(name));
                    format!(
                        "the {what} is {} in {}, but {} in {}",
                        shown(first),
                        job.describe(first),
                        shown(other),
                        job.describe(other)
                    )
                },
            );
            return false;
        }
    }
    for pair in pairs(calls, job) {
        let (Some(one), Some(other)) = (pair.one.signature(job), pair.other.signature(job)) else {
            continue;
        };
        if one != other {
            let sites = [job.site(pair.one.call), job.site(pair.other.call)];
            findings.add(FindingClass::DatatypeMismatch, &sites, || {
                describe_pair(job, &pair, &one, &other)
            });
            return false;
        }
    }
    true
}

/// Handles of operations that a program has created differ between the processes.
fn is_comparable(name: &str, value: i64) -> bool {
    name != "op" || operation_name(value).is_some()
}

fn show(name: &str, value: i64) -> String {
    match name {
        "op" => operation_name(value).map_or_else(|| value.to_string(), String::from),
        _ => value.to_string(),
    }
}

/// Returns the name of a predefined operation.
fn operation_name(handle: i64) -> Option<&'static str> {
    handle_name("MPI_Op", handle).filter(|name| *name != "MPI_OP_NULL")
}

/// Elements that a call sends or receives.
#[derive(Clone, Copy)]
struct Elements {
    call: CallAt,
    datatype: i64,
    count: i64,
}

impl Elements {
    fn signature(&self, job: &CheckedJob<'_>) -> Option<Signature> {
        job.datatypes[self.call.rank].signature_of(self.datatype, self.count, self.call.index)
    }
}

/// Elements of two calls that must be equal.
struct Pair {
    one: Elements,
    other: Elements,
}

fn describe_pair(job: &CheckedJob<'_>, pair: &Pair, one: &Signature, other: &Signature) -> String {
    let (from, to) = (job.describe(pair.one.call), job.describe(pair.other.call));
    match one.difference(other).or_else(|| other.difference(one)) {
        Some(SignatureDifference::Element { index, sent, received }) => format!(
            "element {index} has datatype {} in one of {from} and {to}, but {} in the other",
            datatype_name(sent),
            datatype_name(received)
        ),
        _ => format!(
            "{from} transfers {}, but {to} transfers {}",
            count_phrase(one.elements()),
            count_phrase(other.elements())
        ),
    }
}

/// Returns the pairs of elements that a collective operation transfers.
fn pairs(calls: &[CallAt], job: &CheckedJob<'_>) -> Vec<Pair> {
    let call = |at: CallAt| job.call(at);
    let Some(collective) = collective_of(call(calls[0]).function.name) else {
        return Vec::new();
    };
    let root = usize::try_from(call(calls[0]).input("root"))
        .ok()
        .and_then(|root| calls.get(root))
        .copied();
    let uniform = |count: &str, datatype: &str| {
        let elements = |at: CallAt| {
            Some(Elements {
                call: at,
                datatype: call(at).try_input(datatype)?,
                count: call(at).try_input(count)?,
            })
        };
        same(calls, elements)
    };
    let side = |at: CallAt, of: Side, index: usize| of.elements(call(at), at, index);
    match (collective, root) {
        ("bcast", _) => uniform("count", "datatype"),
        ("reduce" | "allreduce" | "scan" | "exscan", _) => uniform("count", "datatype"),
        ("reduce_scatter_block", _) => uniform("recvcount", "datatype"),
        ("gather" | "gatherv", Some(root)) => transfers(calls, &[root], |from, to, index, _| {
            Some((side(from, Side::Sent, 0)?, side(to, Side::Received, index)?))
        }),
        ("scatter" | "scatterv", Some(root)) => transfers(&[root], calls, |from, to, _, index| {
            Some((side(from, Side::Sent, index)?, side(to, Side::Received, 0)?))
        }),
        ("allgather" | "allgatherv", _) if calls.len() <= MAX_PAIRS_SIZE => {
            transfers(calls, calls, |from, to, index, _| {
                Some((side(from, Side::Sent, 0)?, side(to, Side::Received, index)?))
            })
        }
        ("alltoall" | "alltoallv" | "alltoallw", _) if calls.len() <= MAX_PAIRS_SIZE => {
            transfers(calls, calls, |from, to, index, other| {
                Some((side(from, Side::Sent, other)?, side(to, Side::Received, index)?))
            })
        }
        _ => Vec::new(),
    }
}

/// Pairs the first call with each other one.
fn same(calls: &[CallAt], elements: impl Fn(CallAt) -> Option<Elements>) -> Vec<Pair> {
    let first = elements(calls[0]);
    let others = calls.iter().skip(1).filter_map(|at| elements(*at));
    let pair = |other| Some(Pair { one: first?, other });
    others.filter_map(pair).collect()
}

/// Pairs the elements that each call sends to each other one. The function receives both calls and their indices.
fn transfers(
    senders: &[CallAt],
    receivers: &[CallAt],
    elements: impl Fn(CallAt, CallAt, usize, usize) -> Option<(Elements, Elements)>,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (index, from) in senders.iter().enumerate() {
        for (other, to) in receivers.iter().enumerate() {
            if let Some((one, other)) = elements(*from, *to, index, other) {
                pairs.push(Pair { one, other });
            }
        }
    }
    pairs
}

/// Buffer of a call.
#[derive(Clone, Copy)]
enum Side {
    Sent,
    Received,
}

impl Side {
    /// Returns the elements for the process with this index. `None` for MPI_IN_PLACE.
    fn elements(self, call: &Call, at: CallAt, index: usize) -> Option<Elements> {
        let [buffer, count, counts, datatype, datatypes] = match self {
            Side::Sent => ["sendbuf", "sendcount", "sendcounts", "sendtype", "sendtypes"],
            Side::Received => ["recvbuf", "recvcount", "recvcounts", "recvtype", "recvtypes"],
        };
        // A process that sends in place uses the parameters of its receive buffer.
        if call.input(buffer) == IN_PLACE {
            return None;
        }
        let list = call.input_list(datatypes);
        let datatype = list.get(index).copied().or_else(|| call.try_input(datatype))?;
        let counts = call.input_list(counts);
        let count = if counts.is_empty() {
            call.try_input(count)?
        } else {
            *counts.get(index)?
        };
        Some(Elements {
            call: at,
            datatype,
            count,
        })
    }
}
