//! Livelock search for programs that poll.
//!
//! A program that polls may poll forever before the network moves: such a run returns to an earlier state, and is not
//! an error. A run is *fair* if no kind of step is possible in all its states from some point on without being made
//! (weak fairness; a kind contains the steps of one rank, or the packets of one channel). An endless fair run is an
//! error. It finally stays in one strongly connected component of the states, and may as well visit all of it. So there
//! is one if, and only if, a component contains a step of each kind that is possible in all its states.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::search::{Counterexample, IncompleteReason, SearchExtent};
use super::state::{END, ENOUGH, GlobalState, GlobalStep};
use super::system::CaseSystem;

/// Set of kinds of steps, one bit each.
type StepKinds = u32;

fn kind(step: GlobalStep) -> StepKinds {
    1 << match step {
        GlobalStep::Call(rank) => rank,
        GlobalStep::Cancel => 4,
        GlobalStep::Receive {
            priority: false,
            source,
            ..
        } => 4 + source,
        GlobalStep::Receive { dest, .. } => 7 + dest,
        GlobalStep::Inject { rank, priority } => 11 + 2 * rank + u8::from(priority),
        GlobalStep::ReceiveOwn { priority } => 19 + u8::from(priority),
    }
}

#[derive(Default)]
struct StateGraph {
    numbers: HashMap<GlobalState, u32, FxBuildHasher>,
    states: Vec<GlobalState>,
    /// By state: its first predecessor, and the step from it.
    found: Vec<Option<(u32, GlobalStep)>>,
    /// By state: index of its first step.
    begin: Vec<u32>,
    /// For all states: successor and kind of each step.
    steps: Vec<(u32, StepKinds)>,
}

impl StateGraph {
    fn number(&mut self, state: GlobalState, found: Option<(u32, GlobalStep)>) -> u32 {
        let number = self.states.len() as u32;
        let StateGraph { states, found: all, .. } = self;
        *self.numbers.entry(state).or_insert_with(|| {
            states.push(state);
            all.push(found);
            number
        })
    }

    fn steps_of(&self, state: u32) -> &[(u32, StepKinds)] {
        let at = state as usize;
        let end = self.begin.get(at + 1).map_or(self.steps.len(), |&end| end as usize);
        &self.steps[self.begin[at] as usize..end]
    }

    fn kinds_of(&self, state: u32) -> StepKinds {
        self.steps_of(state).iter().fold(0, |kinds, (_, kind)| kinds | kind)
    }

    fn path_to(&self, state: u32) -> Vec<GlobalStep> {
        let mut path = Vec::new();
        let mut at = state;
        while let Some((before, step)) = self.found[at as usize] {
            path.push(step);
            at = before;
        }
        path.reverse();
        path
    }

    fn explored(&self, system: &CaseSystem) -> SearchExtent {
        SearchExtent {
            states: self.states.len() as u64,
            steps: self.steps.len() as u64,
            depth: 0,
            node_states: system.node_states(),
        }
    }

    /// Returns a state of an endless fair run.
    fn livelock(&self) -> Option<u32> {
        let component = self.components();
        let count = component.iter().max().map_or(0, |&last| last as usize + 1);
        // By component: the kinds possible in all its states, those made within it, and a state.
        let mut kinds = vec![(StepKinds::MAX, 0, 0); count];
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
        let is_fair = |&&(possible, made, _): &&(StepKinds, StepKinds, u32)| made != 0 && possible & !made == 0;
        kinds.iter().find(is_fair).map(|&(_, _, state)| state)
    }

    /// Returns the strongly connected component of each state (Tarjan 1972, without recursion).
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

/// Explores all states of a system that polls, at most `limit`, in all orders of steps. Every property must hold in
/// each state, and no fair run may be endless.
pub fn explore_fairly(system: &CaseSystem, limit: u64) -> Result<SearchExtent, IncompleteReason> {
    let mut graph = StateGraph::default();
    graph.number(system.first(), None);
    let (mut steps, mut successors) = (Vec::new(), Vec::new());
    let broken = |graph: &StateGraph, property, state| {
        IncompleteReason::Broken(Counterexample {
            property,
            path: graph.path_to(state),
            explored: graph.explored(system),
        })
    };
    while let Some(&state) = graph.states.get(graph.begin.len()) {
        let number = graph.begin.len() as u32;
        graph.begin.push(graph.steps.len() as u32);
        if graph.states.len() as u64 > limit {
            return Err(IncompleteReason::Limit(graph.explored(system)));
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
