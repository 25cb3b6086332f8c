//! Cycles in a graph of names.

use std::collections::{BTreeMap, BTreeSet};

/// Successors of each name.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Returns the names that are reachable from `from`.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_string()];
    while let Some(name) = open.pop() {
        for next in graph.get(&name).into_iter().flatten() {
            if reached.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    reached
}

/// Returns the cycles: maximal sets of names that are reachable from each other.
pub fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|name| (name, reached(graph, name))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (name, to) in &reached {
        let is_new = circles.iter().all(|circle| !circle.contains(*name));
        if is_new && to.contains(*name) {
            let back = |other: &&String| reached.get(other).is_some_and(|there| there.contains(*name));
            circles.push(to.iter().filter(back).cloned().collect());
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new();
        for (from, to) in edges {
            let entry = graph.entry(from.to_string()).or_default();
            entry.insert(to.to_string());
        }
        graph
    }

    #[test]
    fn circles_are_found_and_nothing_else() {
        assert!(circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
        let two = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c")];
        let found = circles(&graph(&two));
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        assert_eq!(found, [names(&["a", "b"]), names(&["c", "d", "e"])]);
    }
}
