//! Statements about waits of ranks for each other: cycles, ranks that have ended, wildcards, requests and windows. Free
//! of side effects.

use crate::run::hang::calls::{AwaitedEvent, BlockedCall, CallCondition, EventKind, RankState};
use crate::run::hang::text::{self, group_ranks, join_items, place};
use crate::run::hang::wait_graph::WaitGraph;

/// Returns the statement about the shortest cycle of waits.
pub fn describe_cycle(graph: &WaitGraph<'_>) -> Option<String> {
    let waits = graph.cycle()?;
    let rank = |index: usize| graph.nodes[index].rank;
    let items: Vec<String> = waits
        .iter()
        .map(|wait| {
            let reason = text::reason(graph, wait);
            match wait {
                wait if wait.from == wait.to => format!("rank {} waits for itself ({reason})", rank(wait.from)),
                wait => format!("rank {} waits for rank {} ({reason})", rank(wait.from), rank(wait.to)),
            }
        })
        .collect();
    Some(format!("cycle: {}", join_items(&items)))
}

/// Returns the waits for ranks that send and receive no more messages. Collectives have statements of their own.
pub fn describe_ended(graph: &WaitGraph<'_>) -> Vec<String> {
    let waits = graph.blocked_calls().flat_map(|(index, _)| graph.waits(index));
    let waits = waits.filter(|wait| {
        let is_over = matches!(graph.states[wait.to], RankState::Ended(_) | RankState::Finalizing);
        is_over && wait.event.is_some_and(|event| event.kind != EventKind::Collective)
    });
    let items = waits.map(|wait| {
        let (rank, state) = (graph.nodes[wait.to].rank, text::state(graph, wait.to));
        let target = format!("for rank {rank} ({}), which {state}", text::reason(graph, &wait));
        (target, graph.nodes[wait.from].rank)
    });
    let groups = group_ranks(items).into_iter();
    groups
        .map(|(target, ranks)| format!("{} {target}", text::ranks(&ranks, "waits", "wait")))
        .collect()
}

/// Returns the waits for a message from any rank.
pub fn describe_wildcards(graph: &WaitGraph<'_>) -> Vec<String> {
    let calls = graph.blocked_calls().flat_map(|(index, call)| {
        let events = call.events.iter().filter(|event| event.peer.is_none());
        events.map(move |event| (index, call, event))
    });
    let items = calls.map(|(index, call, event)| {
        let place = place(event).map_or(String::new(), |place| format!(", {place}"));
        let text = format!(
            "for a message with {} from any rank ({}{place}): each rank is blocked or has ended",
            text::tag(event.tag),
            call.call.function
        );
        (text, graph.nodes[index].rank)
    });
    let groups = group_ranks(items).into_iter();
    groups
        .map(|(text, ranks)| format!("{} {text}", text::ranks(&ranks, "waits", "wait")))
        .collect()
}

/// Returns the open requests of the calls that wait for several.
pub fn describe_requests(graph: &WaitGraph<'_>) -> Vec<String> {
    let items = graph.blocked_calls().filter_map(|(index, call)| {
        let text = describe_open(call)?;
        Some((text, graph.nodes[index].rank))
    });
    let groups = group_ranks(items).into_iter();
    groups
        .map(|(text, ranks)| format!("{} in {text}", text::ranks(&ranks, "waits", "wait")))
        .collect()
}

fn describe_open(call: &BlockedCall<'_>) -> Option<String> {
    let (condition, events) = call.open_requests()?;
    let mut events: Vec<String> = events.iter().map(describe_request).collect();
    let omitted = call.omitted_entries();
    if omitted > 0 {
        events.push(format!("and {omitted} others"));
    }
    let quantity = match (condition, events.len()) {
        (_, 1) => "",
        (CallCondition::Any, _) => "one of: ",
        _ => "all of: ",
    };
    Some(format!("{} for {quantity}{}", call.call.function, join_items(&events)))
}

fn describe_request(event: &AwaitedEvent) -> String {
    let peer = event.peer.map_or("any rank".into(), |peer| format!("rank {peer}"));
    let tag = text::tag(event.tag);
    let text = match event.kind {
        EventKind::Send => format!("a message with {tag} from {peer}"),
        EventKind::Receive => format!("the receive of its message with {tag} by {peer}"),
        EventKind::Collective => format!("{peer} in a collective"),
        EventKind::Grant => format!("a grant of {peer}"),
        EventKind::Complete => format!("MPI_Win_complete of {peer}"),
    };
    match place(event) {
        Some(place) => format!("{text} ({place})"),
        None => text,
    }
}

/// Returns the waits for locks and epochs of windows.
pub fn describe_windows(graph: &WaitGraph<'_>) -> Vec<String> {
    let calls = graph.blocked_calls().flat_map(|(index, call)| {
        let events = call.events.iter();
        events.map(move |event| (index, call, event))
    });
    let items = calls.filter_map(|(index, call, event)| {
        let target = graph.index(event.peer?)?;
        let window = place(event).unwrap_or_default();
        let holders = graph.lock_holders(target, event);
        let holders: Vec<u32> = holders.into_iter().map(|holder| graph.nodes[holder].rank).collect();
        let rank = graph.nodes[target].rank;
        let awaited = match event.kind {
            EventKind::Grant if !holders.is_empty() => format!(
                "{}, which {}",
                text::lock(graph, target, event),
                text::ranks(&holders, "holds", "hold")
            ),
            EventKind::Grant if is_lock_call(&call.call.function) => text::lock(graph, target, event),
            EventKind::Grant => format!(
                "MPI_Win_post of rank {rank} ({window}): rank {rank} {}",
                text::state(graph, target)
            ),
            EventKind::Complete => {
                format!(
                    "MPI_Win_complete of rank {rank} ({window}): rank {rank} {}",
                    text::state(graph, target)
                )
            }
            _ => return None,
        };
        let text = format!("in {} for {awaited}", call.call.function);
        Some((text, graph.nodes[index].rank))
    });
    let groups = group_ranks(items).into_iter();
    groups
        .map(|(text, ranks)| format!("{} {text}", text::ranks(&ranks, "waits", "wait")))
        .collect()
}

/// Checks whether a function belongs to passive target communication (MPI-3.1 section 11.5.3).
fn is_lock_call(function: &str) -> bool {
    ["MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush"]
        .iter()
        .any(|begin| function.starts_with(begin))
}
