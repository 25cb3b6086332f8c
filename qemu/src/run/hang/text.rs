//! Names and lists in the explanation of a hang. Free of side effects.

use crate::run::hang::calls::{AwaitedEvent, BlockedCall, CollectiveScope, EventKind, RankState};
use crate::run::hang::wait_graph::{Wait, WaitGraph};
use crate::run::outcome::{describe_call, ranges};
use midplane_device::config::FIRST_CONTEXTS;
use std::collections::HashMap;

/// Maximum number of statements of one kind.
const MAX_STATEMENTS: usize = 8;
/// Maximum number of items in a statement.
const MAX_ITEMS: usize = 8;

/// Returns the name of the communicator with this context.
pub fn communicator(context: u16) -> String {
    match context & !1 {
        world if world == FIRST_CONTEXTS[0] => "MPI_COMM_WORLD".into(),
        own if own == FIRST_CONTEXTS[1] => "MPI_COMM_SELF".into(),
        other => format!("the communicator with context {other}"),
    }
}

/// Returns the name of the communicator or window of an event, if it is known.
pub fn place(event: &AwaitedEvent) -> Option<String> {
    let context = event.context?;
    Some(match event.kind {
        EventKind::Grant | EventKind::Complete => format!("the window with context {context}"),
        _ => communicator(context),
    })
}

/// Returns the name of the communicator of a collective.
pub fn scope(scope: CollectiveScope) -> String {
    match scope {
        CollectiveScope::AllRanks => "all ranks".into(),
        CollectiveScope::Communicator(context) => communicator(context),
    }
}

/// Formats a call with its peer, tag and communicator or window, as far as they are known.
pub fn call(call: &BlockedCall<'_>) -> String {
    let text = describe_call(call.call);
    match call.common_event().and_then(place) {
        Some(place) => format!("{text} on {place}"),
        None => text,
    }
}

/// Formats a tag.
pub fn tag(tag: Option<i32>) -> String {
    tag.map_or("any tag".into(), |tag| format!("tag {tag}"))
}

/// Formats ranks with the form of the verb that agrees with their number.
pub fn ranks(ranks: &[u32], singular: &str, plural: &str) -> String {
    match ranks {
        [rank] => format!("rank {rank} {singular}"),
        _ => format!("{} {plural}", names(ranks)),
    }
}

/// Formats ranks.
pub fn names(ranks: &[u32]) -> String {
    match ranks {
        [rank] => format!("rank {rank}"),
        _ => format!("ranks {}", ranges(ranks.iter().copied())),
    }
}

/// Returns the state of a rank as a predicate.
pub fn state(graph: &WaitGraph<'_>, index: usize) -> String {
    match &graph.states[index] {
        RankState::Active => "is running".into(),
        RankState::Ended(status) => format!("has ended with status {status}"),
        RankState::Finalizing => "is in MPI_Finalize".into(),
        RankState::Blocked(blocked) => format!("is in {}", call(blocked)),
    }
}

/// Changes the predicate of one rank to that of `count` ranks.
pub fn predicate(singular: String, count: usize) -> String {
    let plural = match singular.split_once(' ') {
        Some(("is", rest)) => format!("are {rest}"),
        Some(("has", rest)) => format!("have {rest}"),
        _ => singular.clone(),
    };
    if count == 1 { singular } else { plural }
}

/// Formats the reason of a wait: the function, and the tag and communicator or the lock.
pub fn reason(graph: &WaitGraph<'_>, wait: &Wait) -> String {
    let Some(call) = graph.blocked_call(wait.from) else {
        return String::new();
    };
    let mut items = vec![call.call.function.to_string()];
    if let Some(event) = &wait.event {
        let target = event.peer.and_then(|target| graph.index(target));
        let is_holder = |target: &usize| graph.lock_holders(*target, event).contains(&wait.to);
        items.extend(event.tag.map(|tag| format!("tag {tag}")));
        match target.filter(is_holder) {
            Some(target) => items.push(lock(graph, target, event)),
            None => items.extend(place(event)),
        }
    }
    items.join(", ")
}

/// Returns the name of the lock of a window at the rank with index `target`.
pub fn lock(graph: &WaitGraph<'_>, target: usize, event: &AwaitedEvent) -> String {
    let window = place(event).unwrap_or_else(|| "the window".into());
    format!("the lock of rank {} of {window}", graph.nodes[target].rank)
}

/// Joins items; those beyond a limit are counted.
pub fn join_items(items: &[String]) -> String {
    let shown = items.get(..MAX_ITEMS).unwrap_or(items);
    let mut text = shown.join(", ");
    if items.len() > shown.len() {
        text.push_str(&format!(" and {} more", items.len() - shown.len()));
    }
    text
}

/// Omits statements beyond a limit; counts them in a last one, as `noun`.
pub fn limit_statements(mut statements: Vec<String>, noun: &str) -> Vec<String> {
    let omitted = statements.len().saturating_sub(MAX_STATEMENTS);
    if omitted > 0 {
        statements.truncate(MAX_STATEMENTS);
        statements.push(format!("and {omitted} more {noun}"));
    }
    statements
}

/// Groups ranks by a text, in the order of the first rank of each group.
pub fn group_ranks(items: impl IntoIterator<Item = (String, u32)>) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    let mut known = HashMap::<String, usize>::new();
    for (text, rank) in items {
        match known.get(&text) {
            Some(group) => groups[*group].1.push(rank),
            None => {
                known.insert(text.clone(), groups.len());
                groups.push((text, vec![rank]));
            }
        }
    }
    groups
}
