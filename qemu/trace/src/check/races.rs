//! Message races: a receive with MPI_ANY_SOURCE for which two processes have sent messages that no order separates. A race
//! is reported if the other order has consequences: if the other message was received by another call of the program, by
//! none at all, or with other datatypes. A loop that receives from all processes in any order has none.

use super::causality::{Causality, LazyCausality, Moment};
use super::findings::{FindingClass, FindingList};
use super::job::{CallAt, CheckedJob};
use crate::messages::Message;
use crate::objects::CommId;
use crate::operations::{ANY_SOURCE, ANY_TAG, Operation, OperationId, OperationKind};
use std::collections::HashMap;

/// Maximum number of receives with MPI_ANY_SOURCE that are checked.
const MAX_RECEIVES: usize = 10_000;

/// A message to a process, possibly without a receive.
#[derive(Clone, Copy)]
struct Arrival {
    send: OperationId,
    receive: Option<OperationId>,
}

pub(super) fn check(job: &CheckedJob<'_>, causality: &LazyCausality<'_>, findings: &mut FindingList) {
    let is_wildcard = |message: &&Message| job.operations.get(message.receive).partner == ANY_SOURCE;
    let wildcards: Vec<&Message> = job
        .messages
        .matched
        .iter()
        .filter(is_wildcard)
        .take(MAX_RECEIVES)
        .collect();
    if wildcards.is_empty() {
        return;
    }
    let Some(causality) = &**causality else {
        return;
    };
    let arrivals = arrivals(job);
    for message in wildcards {
        let receive = job.operations.get(message.receive);
        let Some(comm) = &receive.comm else { continue };
        let others = arrivals
            .get(&(comm.id, message.receive.rank))
            .map_or(&[][..], Vec::as_slice);
        let other = others
            .iter()
            .find(|other| other.send.rank != message.send.rank && is_race(job, causality, message, receive, other));
        if let Some(other) = other {
            report(job, message, other, findings);
        }
    }
}

/// Collects the messages to each process of each communicator.
fn arrivals(job: &CheckedJob<'_>) -> HashMap<(CommId, usize), Vec<Arrival>> {
    let mut arrivals: HashMap<(CommId, usize), Vec<Arrival>> = HashMap::new();
    let matched = job.messages.matched.iter().map(|message| Arrival {
        send: message.send,
        receive: Some(message.receive),
    });
    let unmatched = job.messages.unmatched_sends.iter().map(|send| Arrival {
        send: *send,
        receive: None,
    });
    for arrival in matched.chain(unmatched) {
        let send = job.operations.get(arrival.send);
        let to = send
            .comm
            .as_ref()
            .and_then(|comm| Some((comm.id, comm.partner(send.partner)?)));
        if let Some(to) = to {
            arrivals.entry(to).or_default().push(arrival);
        }
    }
    arrivals
}

fn is_race(
    job: &CheckedJob<'_>,
    causality: &Causality,
    message: &Message,
    receive: &Operation,
    other: &Arrival,
) -> bool {
    let send = job.operations.get(other.send);
    let matches = receive.tag == ANY_TAG || receive.tag == send.tag;
    let was_there = other.receive.is_some_and(|earlier| earlier < message.receive);
    let Some(completed) = receive.completed else {
        return false;
    };
    let end = Moment::Leave(CallAt {
        rank: message.receive.rank,
        index: completed,
    });
    let begin = Moment::Enter(CallAt {
        rank: other.send.rank,
        index: send.started,
    });
    matches && !was_there && !causality.is_before(end, begin) && has_consequences(job, message, receive, other)
}

fn has_consequences(job: &CheckedJob<'_>, message: &Message, receive: &Operation, other: &Arrival) -> bool {
    let Some(other_receive) = other.receive.map(|id| job.operations.get(id)) else {
        return job.operations.get(other.send).kind != OperationKind::Other;
    };
    let address = |receive: &Operation| job.job.ranks[message.receive.rank].calls[receive.call].address;
    let is_alike = other_receive.partner == ANY_SOURCE
        && other_receive.tag == receive.tag
        && address(other_receive) == address(receive);
    let signature = |id: OperationId| {
        let operation = job.operations.get(id);
        let buffer = operation.buffer;
        job.datatypes[id.rank].signature_of(buffer.datatype, buffer.count, operation.call)
    };
    !is_alike || signature(message.send) != signature(other.send)
}

fn report(job: &CheckedJob<'_>, message: &Message, other: &Arrival, findings: &mut FindingList) {
    let at = |id: OperationId| CallAt {
        rank: id.rank,
        index: job.operations.get(id).started,
    };
    let [receive, send, other] = [at(message.receive), at(message.send), at(other.send)];
    let sites = [job.site(receive), job.site(send), job.site(other)];
    findings.add(FindingClass::MessageRace, &sites, || {
        format!(
            "{} has received the message of {}, but in another order it receives that of {}, and the program continues \
             differently",
            job.describe(receive),
            job.describe(send),
            job.describe(other)
        )
    });
}
