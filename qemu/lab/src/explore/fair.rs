//! Search for livelocks of programs that poll.
//!
//! A program that polls may poll for ever before the network moves: such a run comes back to a state that it has been
//! through, and is no fault. It is one if nobody is left out: a run is *fair* when no kind of step can be made in all its
//! states from some point on and is never made (weak fairness; a kind is what one rank does, or the packets of one
//! channel). A fair run without end stays in one strongly connected component of the states in the end, and may as well go
//! through all of it. So there is one if, and only if, a component has a step of each kind that can be made in all of its
//! states.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::search::{Counterexample, Explored, Unfinished};
use super::state::{END, ENOUGH, Global, Step};
use super::system::System;

/// A set of kinds of steps, a bit each.
type Kinds = u32;

fn kind(step: Step) -> Kinds {
    1 << match step {
        Step::Call(rank) => rank,
        Step::Cancel => 4,
        Step::Take {
            priority: false,
            source,
            ..
        } => 4 + source,
        Step::Take { dest, .. } => 7 + dest,
        Step::Inject { rank, priority } => 11 + 2 * rank + u8::from(priority),
        Step::TakeOwn { priority } => 19 + u8::from(priority),
    }
}

/// All states, and the steps between them.
#[derive(Default)]
struct Graph {
    numbers: HashMap<Global, u32, FxBuildHasher>,
    states: Vec<Global>,
    /// By state: from where it was found first, and by which step.
    found: Vec<Option<(u32, Step)>>,
    /// By state: where its steps begin.
    begin: Vec<u32>,
    /// Of all states: where a step leads, and its kind.
    steps: Vec<(u32, Kinds)>,
}

impl Graph {
    fn number(&mut self, state: Global, found: Option<(u32, Step)>) -> u32 {
        let number = self.states.len() as u32;
        let Graph {
            states, found: all, ..
        } = self;
        *self.numbers.entry(state).or_insert_with(|| {
            states.push(state);
            all.push(found);
            number
        })
    }

    fn steps_of(&self, state: u32) -> &[(u32, Kinds)] {
        let at = state as usize;
        let end = self
            .begin
            .get(at + 1)
            .map_or(self.steps.len(), |&end| end as usize);
        &self.steps[self.begin[at] as usize..end]
    }

    fn kinds_of(&self, state: u32) -> Kinds {
        self.steps_of(state)
            .iter()
            .fold(0, |kinds, (_, kind)| kinds | kind)
    }

    fn path_to(&self, state: u32) -> Vec<Step> {
        let mut path = Vec::new();
        let mut at = state;
        while let Some((before, step)) = self.found[at as usize] {
            path.push(step);
            at = before;
        }
        path.reverse();
        path
    }

    fn explored(&self, system: &System) -> Explored {
        Explored {
            states: self.states.len() as u64,
            steps: self.steps.len() as u64,
            depth: 0,
            node_states: system.node_states(),
        }
    }

    /// A state in which a fair run without end may be for ever.
    fn livelock(&self) -> Option<u32> {
        let component = self.components();
        let count = component.iter().max().map_or(0, |&last| last as usize + 1);
        // By component: the kinds that can be made in all of its states, those made within it, and a state.
        let mut kinds = vec![(Kinds::MAX, 0, 0); count];
        for state in 0..self.states.len() as u32 {
            let own = component[state as usize];
            let (possible, made, of) = &mut kinds[own as usize];
            *possible &= self.kinds_of(state);
            *of = state;
            for &(next, kind) in self.steps_of(state) {
                if component[next as usize] == own {
                    *made |= kind;
                }
            }
        }
        let is_fair =
            |&&(possible, made, _): &&(Kinds, Kinds, u32)| made != 0 && possible & !made == 0;
        kinds.iter().find(is_fair).map(|&(_, _, state)| state)
    }

    /// By state: its strongly connected component (Tarjan 1972, without recursion).
    fn components(&self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let count = self.states.len();
        let (mut index, mut low) = (vec![NONE; count], vec![0; count]);
        let mut component = vec![NONE; count];
        let (mut stack, mut path) = (Vec::new(), Vec::new());
        let (mut next_index, mut next_component) = (0, 0);
        for root in 0..count as u32 {
            if index[root as usize] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some((state, at)) = path.last_mut() {
                let (state, number) = (*state, *state as usize);
                if *at == 0 && index[number] == NONE {
                    (index[number], low[number]) = (next_index, next_index);
                    next_index += 1;
                    stack.push(state);
                }
                if let Some(&(next, _)) = self.steps_of(state).get(*at) {
                    *at += 1;
                    if index[next as usize] == NONE {
                        path.push((next, 0));
                    } else if component[next as usize] == NONE {
                        low[number] = low[number].min(index[next as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    low[before as usize] = low[before as usize].min(low[number]);
                }
                if low[number] == index[number] {
                    while let Some(member) = stack.pop() {
                        component[member as usize] = next_component;
                        if member == state {
                            break;
                        }
                    }
                    next_component += 1;
                }
            }
        }
        component
    }
}

/// Explores all states of a system that polls, at most `limit`, in all orders of steps: every property must hold in each,
/// and no fair run may go on without end.
pub fn explore_fairly(system: &System, limit: u64) -> Result<Explored, Unfinished> {
    let mut graph = Graph::default();
    graph.number(system.first(), None);
    let (mut steps, mut successors) = (Vec::new(), Vec::new());
    let broken = |graph: &Graph, property, state| {
        Unfinished::Broken(Counterexample {
            property,
            path: graph.path_to(state),
            explored: graph.explored(system),
        })
    };
    while let Some(&state) = graph.states.get(graph.begin.len()) {
        let number = graph.begin.len() as u32;
        graph.begin.push(graph.steps.len() as u32);
        if graph.states.len() as u64 > limit {
            return Err(Unfinished::Limit(graph.explored(system)));
        }
        system.successors(&state, &mut steps, &mut successors);
        if let Some(property) = system.broken(&state) {
            return Err(broken(&graph, property, number));
        }
        if successors.is_empty() && !system.is_complete(&state) {
            return Err(broken(&graph, END, number));
        }
        for (step, next) in successors.drain(..) {
            let next = graph.number(next, Some((number, step)));
            graph.steps.push((next, kind(step)));
        }
    }
    match graph.livelock() {
        Some(state) => Err(broken(&graph, ENOUGH, state)),
        None => Ok(graph.explored(system)),
    }
}
