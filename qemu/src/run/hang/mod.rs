//! Explanation of a hang: the wait-for graph of the ranks, and the messages and calls that do not match. Free of side
//! effects.
//!
//! ```text
//! calls         events that a blocked rank waits for, from its call and its message queues
//! graph         AND-OR graph: deadlocked vertices, a short cycle
//! wait_graph    that graph for the ranks of a job
//! waits  messages  collectives     statements
//! text          names and lists in statements
//! ```

pub mod calls;
mod collectives;
mod graph;
mod messages;
#[cfg(test)]
mod tests;
pub mod text;
mod wait_graph;
mod waits;

use crate::run::outcome::ObservedNode;
use text::limit_statements;
use wait_graph::WaitGraph;

/// Explains why these nodes wait for each other, one statement per line. Empty if each blocked rank may still proceed.
/// Takes time proportional to the number of nodes.
pub fn explain(nodes: &[ObservedNode]) -> Vec<String> {
    let graph = &WaitGraph::new(nodes);
    let mut statements: Vec<String> = waits::describe_cycle(graph).into_iter().collect();
    for (group, noun) in [
        (waits::describe_ended(graph), "waits for ranks that have ended"),
        (messages::describe_unmatched(graph), "unmatched messages"),
        (collectives::describe_collectives(graph), "collectives"),
        (waits::describe_wildcards(graph), "waits for any rank"),
        (waits::describe_requests(graph), "waits for requests"),
        (waits::describe_windows(graph), "waits for windows"),
    ] {
        statements.extend(limit_statements(group, noun));
    }
    statements
}
