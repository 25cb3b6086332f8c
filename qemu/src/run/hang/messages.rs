//! Messages that no receive has matched, and the receives that they nearly match. Free of side effects.

use crate::run::hang::calls::{EventKind, RankState};
use crate::run::hang::text::{self, communicator};
use crate::run::hang::wait_graph::WaitGraph;
use midplane_abi::message_queues::QueueKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Envelope of a message; ordered by its destination.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Envelope {
    dest: usize,
    source: u32,
    context: u16,
    tag: i32,
}

/// Messages with the same envelope.
#[derive(Clone, Copy, Default, Debug)]
struct MessageCount {
    /// Number of unexpected messages at the receiver.
    arrived: u32,
    /// Number of pending sends at the sender.
    pending: u32,
    /// Length of the first one.
    bytes: u64,
    /// A send blocks its rank.
    is_open: bool,
}

/// Pattern of a receive. Without `context` the communicator is not known.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    source: Option<u32>,
    tag: Option<i32>,
    context: Option<u16>,
}

/// Criterion of matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Criterion {
    Source,
    Tag,
    Communicator,
}

/// Returns the messages that wait at ranks that can never proceed: first those that differ from a receive in one
/// criterion.
pub fn describe_unmatched(graph: &WaitGraph<'_>) -> Vec<String> {
    let mut statements: Vec<_> = collect_messages(graph)
        .into_iter()
        .filter_map(|(envelope, count)| describe_message(graph, envelope, count))
        .collect();
    statements.sort_by_key(|(is_near, _)| Reverse(*is_near));
    statements.into_iter().map(|(_, statement)| statement).collect()
}

/// Collects the messages from both sides: a message whose receiver has recorded it is in a queue of each.
fn collect_messages(graph: &WaitGraph<'_>) -> BTreeMap<Envelope, MessageCount> {
    let mut messages = BTreeMap::<Envelope, MessageCount>::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let entries = node.queues.iter().flat_map(|queues| &queues.entries);
        for entry in entries.filter(|entry| entry.context.is_multiple_of(2)) {
            let (Some(peer), Some(tag)) = (entry.peer, entry.tag) else {
                continue;
            };
            let has_arrived = match entry.kind {
                QueueKind::UnexpectedMessage => true,
                QueueKind::PendingSend => false,
                _ => continue,
            };
            let (source, dest) = if has_arrived {
                (peer, Some(index))
            } else {
                (node.rank, graph.index(peer))
            };
            let Some(dest) = dest else {
                continue;
            };
            let context = entry.context;
            let count = messages
                .entry(Envelope {
                    dest,
                    source,
                    context,
                    tag,
                })
                .or_default();
            if has_arrived {
                count.arrived += 1;
            } else {
                count.pending += 1;
                count.is_open |= !entry.is_complete;
            }
            count.bytes = count.bytes.max(entry.bytes);
        }
    }
    messages
}

/// Returns the statement about a message, and whether it nearly matches a receive; `None` for a message that does not
/// concern a blocked rank, or is in transit.
fn describe_message(graph: &WaitGraph<'_>, envelope: Envelope, count: MessageCount) -> Option<(bool, String)> {
    let Envelope {
        dest,
        source,
        context,
        tag,
    } = envelope;
    let rank = graph.nodes[dest].rank;
    let is_final = matches!(graph.states[dest], RankState::Finalizing | RankState::Ended(_));
    if !(graph.blocked_call(dest).is_some() || is_final && count.is_open) {
        return None;
    }
    let messages = match count.arrived.max(count.pending) {
        1 => "a message".into(),
        number => format!("{number} messages"),
    };
    let sent = format!(
        "rank {source} sent {messages} with tag {tag} to rank {rank} ({}, {} bytes)",
        communicator(context),
        count.bytes
    );
    let patterns = patterns(graph, dest);
    let compared = patterns
        .iter()
        .map(|pattern| (pattern, differences(&envelope, pattern)));
    let nearest = compared.min_by_key(|(_, differences)| differences.len());
    Some(match nearest {
        Some((_, differences)) if differences.is_empty() => return None,
        Some((pattern, differences)) if differences.len() == 1 => (
            true,
            format!("{sent}, which waits for {}", describe_near(pattern, differences[0])),
        ),
        _ => (
            false,
            format!("{sent}, which {}: no receive matches", text::state(graph, dest)),
        ),
    })
}

fn describe_near(pattern: &Pattern, difference: Criterion) -> String {
    let mut text = text::tag(pattern.tag);
    match pattern.source {
        Some(source) => text.push_str(&format!(" from rank {source}")),
        None => text.push_str(" from any rank"),
    }
    match (difference, pattern.source) {
        (Criterion::Tag, _) => text.push_str(": the tags differ"),
        (Criterion::Communicator, _) => {
            let other = pattern.context.map_or("another communicator".into(), communicator);
            text.push_str(&format!(" in {other}: the communicators differ"));
        }
        (Criterion::Source, source) => text.push_str(&format!(
            ": the sources differ; an earlier receive with MPI_ANY_SOURCE may have taken the message of rank {}",
            source.unwrap_or_default()
        )),
    }
    text
}

/// Returns the receives of a rank that no message has matched.
fn patterns(graph: &WaitGraph<'_>, index: usize) -> Vec<Pattern> {
    let queues = graph.nodes[index].queues.as_ref();
    let posted = queues
        .into_iter()
        .flat_map(|queues| queues.queue(QueueKind::PostedReceive));
    let posted = posted
        .filter(|entry| entry.context.is_multiple_of(2))
        .map(|entry| Pattern {
            source: entry.peer,
            tag: entry.tag,
            context: Some(entry.context),
        });
    // A probe posts no receive.
    let awaited = graph.blocked_call(index).into_iter().flat_map(|call| &call.events);
    let awaited = awaited.filter(|event| event.kind == EventKind::Send && event.context.is_none());
    let awaited = awaited.map(|event| Pattern {
        source: event.peer,
        tag: event.tag,
        context: None,
    });
    posted.chain(awaited).collect()
}

fn differences(envelope: &Envelope, pattern: &Pattern) -> Vec<Criterion> {
    let mut found = Vec::new();
    if pattern.source.is_some_and(|source| source != envelope.source) {
        found.push(Criterion::Source);
    }
    if pattern.tag.is_some_and(|tag| tag != envelope.tag) {
        found.push(Criterion::Tag);
    }
    match pattern.context {
        Some(context) if context != envelope.context => found.push(Criterion::Communicator),
        // The probe would have found the message on its own communicator.
        None if found.is_empty() => found.push(Criterion::Communicator),
        _ => {}
    }
    found
}
