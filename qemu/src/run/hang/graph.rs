//! Wait-for graph: the vertices that can never proceed, and a short cycle among them. Free of side effects.
//!
//! A vertex waits for all of its targets (AND) or for one of them (OR). A cycle is therefore no sufficient condition of a
//! deadlock: the other target of an OR vertex on it may proceed. [`find_blocked`] removes every vertex that can proceed
//! (G. Bracha, S. Toueg, "Distributed deadlock detection", 1987); the rest is deadlocked.

/// Maximum number of edges that the search for a shorter cycle follows: its time is bounded for each graph.
const SEARCH_EDGES: usize = 1 << 22;

/// Condition under which a vertex proceeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitCondition {
    /// The vertex does not wait.
    Satisfied,
    /// The vertex never proceeds.
    Unsatisfiable,
    /// Each of these vertices proceeds.
    All(Vec<usize>),
    /// At least one of these vertices proceeds.
    Any(Vec<usize>),
}

impl WaitCondition {
    fn targets(&self) -> &[usize] {
        match self {
            Self::Satisfied | Self::Unsatisfiable => &[],
            Self::All(targets) | Self::Any(targets) => targets,
        }
    }
}

/// Returns for each vertex whether it can never proceed. Targets must be vertices. Takes time proportional to the
/// number of edges.
pub fn find_blocked(vertices: &[WaitCondition]) -> Vec<bool> {
    let mut waiting_for = vec![Vec::new(); vertices.len()];
    for (vertex, condition) in vertices.iter().enumerate() {
        for target in condition.targets() {
            waiting_for[*target].push(vertex);
        }
    }
    // Number of further targets that must proceed.
    let mut missing: Vec<usize> = vertices
        .iter()
        .map(|condition| match condition {
            WaitCondition::Satisfied => 0,
            WaitCondition::Unsatisfiable => 1,
            WaitCondition::All(targets) => targets.len(),
            WaitCondition::Any(_) => 1,
        })
        .collect();
    let mut proceeding: Vec<usize> = (0..vertices.len()).filter(|vertex| missing[*vertex] == 0).collect();
    while let Some(vertex) = proceeding.pop() {
        for waiting in &waiting_for[vertex] {
            let missing = &mut missing[*waiting];
            if *missing > 0 {
                *missing -= 1;
                if *missing == 0 {
                    proceeding.push(*waiting);
                }
            }
        }
    }
    missing.into_iter().map(|missing| missing > 0).collect()
}

/// Returns a cycle, from its lowest vertex; `None` if there is none. It is the shortest one, unless the graph is too
/// large for a complete search. The result depends only on the graph.
pub fn find_cycle(successors: &[Vec<usize>]) -> Option<Vec<usize>> {
    let successors = &remove_dead_ends(successors);
    let mut best = walk_to_cycle(successors)?;
    let mut search = CycleSearch {
        successors,
        reached_from: vec![None; successors.len()],
        reached: Vec::new(),
        edges: SEARCH_EDGES,
    };
    for start in 0..successors.len() {
        if best.len() == 1 || search.edges == 0 {
            break;
        }
        if let Some(shorter) = search.find_shorter(start, best.len()) {
            best = shorter;
        }
    }
    Some(best)
}

/// Removes the edges to vertices from which no cycle can be reached.
fn remove_dead_ends(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let conditions: Vec<WaitCondition> = successors.iter().cloned().map(WaitCondition::All).collect();
    let reaches_cycle = find_blocked(&conditions);
    let kept = |targets: &Vec<usize>| {
        let mut targets: Vec<usize> = targets.iter().copied().filter(|to| reaches_cycle[*to]).collect();
        targets.sort_unstable();
        targets
    };
    successors.iter().map(kept).collect()
}

/// Follows the first edges from the lowest vertex that has one, until a vertex repeats.
fn walk_to_cycle(successors: &[Vec<usize>]) -> Option<Vec<usize>> {
    let start = successors.iter().position(|targets| !targets.is_empty())?;
    let mut position = vec![None; successors.len()];
    let mut walk = Vec::new();
    let mut vertex = start;
    while position[vertex].is_none() {
        position[vertex] = Some(walk.len());
        walk.push(vertex);
        vertex = *successors[vertex].first()?;
    }
    let mut cycle = walk.split_off(position[vertex]?);
    let lowest = (0..cycle.len()).min_by_key(|at| cycle[*at])?;
    cycle.rotate_left(lowest);
    Some(cycle)
}

/// Breadth-first searches for cycles.
struct CycleSearch<'g> {
    successors: &'g [Vec<usize>],
    reached_from: Vec<Option<usize>>,
    reached: Vec<usize>,
    /// Edges that may still be followed.
    edges: usize,
}

impl CycleSearch<'_> {
    /// Returns a cycle of fewer than `limit` vertices whose lowest one is `start`.
    fn find_shorter(&mut self, start: usize, limit: usize) -> Option<Vec<usize>> {
        for vertex in self.reached.drain(..) {
            self.reached_from[vertex] = None;
        }
        let mut level = vec![start];
        for _ in 1..limit {
            let mut next = Vec::new();
            for from in level {
                for to in &self.successors[from] {
                    self.edges = self.edges.checked_sub(1)?;
                    if *to == start {
                        return Some(self.path(start, from));
                    }
                    if *to > start && self.reached_from[*to].is_none() {
                        self.reached_from[*to] = Some(from);
                        self.reached.push(*to);
                        next.push(*to);
                    }
                }
            }
            level = next;
        }
        None
    }

    fn path(&self, start: usize, end: usize) -> Vec<usize> {
        let mut path = vec![end];
        let mut vertex = end;
        while vertex != start {
            let Some(before) = self.reached_from[vertex] else {
                break;
            };
            path.push(before);
            vertex = before;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oorandom::Rand32;

    /// Returns the blocked vertices by definition: no set of events lets them proceed, in rounds over all vertices.
    fn find_blocked_slowly(vertices: &[WaitCondition]) -> Vec<bool> {
        let mut proceeds = vec![false; vertices.len()];
        for _ in 0..=vertices.len() {
            let before = proceeds.clone();
            for (vertex, condition) in vertices.iter().enumerate() {
                proceeds[vertex] = match condition {
                    WaitCondition::Satisfied => true,
                    WaitCondition::Unsatisfiable => false,
                    WaitCondition::All(targets) => targets.iter().all(|to| before[*to]),
                    WaitCondition::Any(targets) => targets.iter().any(|to| before[*to]),
                };
            }
        }
        proceeds.into_iter().map(|proceeds| !proceeds).collect()
    }

    /// Returns the length of the shortest cycle: the lowest power of the adjacency matrix with an entry in its diagonal.
    fn shortest_length(successors: &[Vec<usize>]) -> Option<usize> {
        let count = successors.len();
        let mut reached: Vec<Vec<bool>> = (0..count)
            .map(|from| (0..count).map(|to| from == to).collect())
            .collect();
        (1..=count).find(|_| {
            for row in &mut reached {
                let mut next = vec![false; count];
                for from in (0..count).filter(|from| row[*from]) {
                    successors[from].iter().for_each(|to| next[*to] = true);
                }
                *row = next;
            }
            (0..count).any(|vertex| reached[vertex][vertex])
        })
    }

    fn random_targets(random: &mut Rand32, count: usize) -> Vec<usize> {
        let length = random.rand_range(0..4);
        (0..length)
            .map(|_| random.rand_range(0..count as u32) as usize)
            .collect()
    }

    fn random_condition(random: &mut Rand32, count: usize) -> WaitCondition {
        match random.rand_range(0..10) {
            0 => WaitCondition::Satisfied,
            1 => WaitCondition::Unsatisfiable,
            2..6 => WaitCondition::All(random_targets(random, count)),
            _ => WaitCondition::Any(random_targets(random, count)),
        }
    }

    #[test]
    fn blocked_vertices_of_random_graphs_are_those_of_the_definition() {
        let mut random = Rand32::new(1);
        let mut blocked = 0;
        for _ in 0..4000 {
            let count = random.rand_range(1..9) as usize;
            let vertices: Vec<_> = (0..count).map(|_| random_condition(&mut random, count)).collect();
            let found = find_blocked(&vertices);
            assert_eq!(found, find_blocked_slowly(&vertices), "{vertices:?}");
            blocked += found.iter().filter(|is_blocked| **is_blocked).count();
        }
        assert!(blocked > 1000, "{blocked}");
    }

    #[test]
    fn cycles_of_random_graphs_are_shortest_ones() {
        let mut random = Rand32::new(2);
        let mut lengths = [0; 10];
        for _ in 0..4000 {
            let count = random.rand_range(1..10) as usize;
            let successors: Vec<_> = (0..count)
                .map(|_| match random.rand_range(0..2) {
                    0 => random_targets(&mut random, count),
                    _ => vec![random.rand_range(0..count as u32) as usize],
                })
                .collect();
            let cycle = find_cycle(&successors);
            assert_eq!(
                cycle.as_ref().map(Vec::len),
                shortest_length(&successors),
                "{successors:?}"
            );
            let Some(cycle) = cycle else {
                continue;
            };
            lengths[cycle.len()] += 1;
            for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                assert!(successors[*from].contains(to), "{successors:?}: {cycle:?}");
            }
            assert_eq!(cycle.iter().min(), cycle.first());
        }
        assert!(lengths[1..6].iter().all(|graphs| *graphs > 0), "{lengths:?}");
    }

    #[test]
    fn a_cycle_through_an_or_vertex_with_another_way_is_no_deadlock() {
        let all = |target| WaitCondition::All(vec![target]);
        let or = WaitCondition::Any(vec![1, 2]);
        let computes = [or.clone(), all(0), WaitCondition::Satisfied];
        assert_eq!(find_blocked(&computes), [false, false, false]);
        let ended = [or, all(0), WaitCondition::Unsatisfiable];
        assert_eq!(find_blocked(&ended), [true, true, true]);
    }

    #[test]
    fn a_graph_that_is_too_large_to_search_still_has_a_cycle() {
        const COUNT: usize = 1 << 16;
        let ring: Vec<Vec<usize>> = (0..COUNT).map(|from| vec![(from + 1) % COUNT]).collect();
        let cycle = find_cycle(&ring).expect("a cycle");
        assert_eq!((cycle.len(), cycle[0], cycle[1]), (COUNT, 0, 1));
        let two = (0..COUNT)
            .map(|from| vec![from ^ 1, (from + 2) % COUNT])
            .collect::<Vec<_>>();
        assert_eq!(find_cycle(&two), Some(vec![0, 1]));
    }
}
