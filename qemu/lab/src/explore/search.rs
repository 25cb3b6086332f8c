//! Depth-first search over all states of a [`CaseSystem`], for cases with hundreds of millions of them.
//!
//! A state uses eight bytes without a lossy fingerprint: its parts are numbered pairwise, and the indexes of the two
//! halves are stored. The search follows one path at a time. So the path is available when a property fails, and a
//! return to an earlier state of the path is detected.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;

use rustc_hash::FxBuildHasher;

use super::state::{END, ENOUGH, GlobalState, GlobalStep};
use super::system::CaseSystem;

/// Extent of an exploration.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SearchExtent {
    /// Number of different states.
    pub states: u64,
    /// Number of steps between them.
    pub steps: u64,
    /// Length of the longest path in steps.
    pub depth: usize,
    /// Number of different states of single nodes.
    pub node_states: usize,
}

impl fmt::Display for SearchExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SearchExtent {
            states,
            steps,
            depth,
            node_states,
        } = self;
        write!(
            f,
            "{states} states, {steps} steps, {depth} deep, {node_states} states of nodes"
        )
    }
}

/// A property that fails, with the path to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The property.
    pub property: &'static str,
    /// The steps from the first state on.
    pub path: Vec<GlobalStep>,
    /// Extent of the exploration until then.
    pub explored: SearchExtent,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = self.explored.states;
        write!(
            f,
            "not so after {states} states: {}, by the steps {:?}",
            self.property, self.path
        )
    }
}

/// Reason for an incomplete exploration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IncompleteReason {
    /// A property fails.
    Broken(Counterexample),
    /// The limit of states was exceeded.
    Limit(SearchExtent),
    /// Its watcher has stopped it.
    Stopped(SearchExtent),
}

impl fmt::Display for IncompleteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IncompleteReason::Broken(counterexample) => counterexample.fmt(f),
            IncompleteReason::Limit(explored) => write!(f, "given up at the limit of {explored}"),
            IncompleteReason::Stopped(explored) => write!(f, "stopped after {explored}"),
        }
    }
}

/// Watcher of an exploration: receives its progress from time to time, and may stop it.
pub type SearchWatcher<'a> = &'a mut dyn FnMut(&SearchExtent) -> ControlFlow<()>;

/// Never stops an exploration.
pub fn never_stop(_: &SearchExtent) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Default limit of an exploration's states: more than the largest case requires, about 10 GB of the host's memory.
pub const MAX_STATES: u64 = 300_000_000;
/// Number of states between two calls of the watcher.
const NEWS: u64 = 1 << 14;

/// Number of shards of the set of states: a set is copied when it grows, and the shards limit the copy.
const SHARDS: usize = 64;

struct SeenStates {
    halves: HashMap<(u32, u32), u32, FxBuildHasher>,
    states: Vec<HashSet<u64, FxBuildHasher>>,
}

impl SeenStates {
    fn half(&mut self, a: u32, b: u32) -> u32 {
        let number = self.halves.len() as u32;
        *self.halves.entry((a, b)).or_insert(number)
    }

    /// Adds a state; returns its key, and whether it is new.
    fn insert(&mut self, state: &GlobalState) -> (u64, bool) {
        let [a, b, c, d] = state.parts();
        let key = u64::from(self.half(a, b)) << 32 | u64::from(self.half(c, d));
        let shard = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
        (key, self.states[shard].insert(key))
    }
}

/// A state of the current path.
struct PathVisit {
    key: u64,
    step: Option<GlobalStep>,
    /// Start of its remaining successors.
    rest: usize,
}

struct StateSearch<'a> {
    system: &'a CaseSystem,
    seen: SeenStates,
    explored: SearchExtent,
    path: Vec<PathVisit>,
    on_path: HashSet<u64, FxBuildHasher>,
    /// Remaining successors of all states of the path.
    ahead: Vec<(GlobalStep, GlobalState)>,
    steps: Vec<GlobalStep>,
}

impl StateSearch<'_> {
    /// Enters a state, and returns the property that it violates.
    fn enter(&mut self, step: Option<GlobalStep>, state: &GlobalState) -> Option<&'static str> {
        let (key, is_new) = self.seen.insert(state);
        let rest = self.ahead.len();
        if !is_new {
            if !self.on_path.contains(&key) {
                return None;
            }
            self.path.push(PathVisit { key, step, rest });
            return Some(ENOUGH);
        }
        self.explored.states += 1;
        self.system.successors(state, &mut self.steps, &mut self.ahead);
        self.explored.steps += (self.ahead.len() - rest) as u64;
        self.path.push(PathVisit { key, step, rest });
        self.on_path.insert(key);
        self.explored.depth = self.explored.depth.max(self.path.len());
        let is_last = self.ahead.len() == rest;
        self.system
            .broken(state)
            .or_else(|| (is_last && !self.system.is_complete(state)).then_some(END))
    }

    /// Returns the next state to enter, a successor of the last state of the path that has one left, or `None`.
    fn next_successor(&mut self) -> Option<(GlobalStep, GlobalState)> {
        while let Some(visit) = self.path.last() {
            if self.ahead.len() > visit.rest {
                return self.ahead.pop();
            }
            self.on_path.remove(&visit.key);
            self.path.pop();
        }
        None
    }

    fn explored(&self) -> SearchExtent {
        SearchExtent {
            node_states: self.system.node_states(),
            ..self.explored
        }
    }
}

/// Explores all states of a system, at most `limit`.
pub fn explore(system: &CaseSystem, limit: u64, watch: SearchWatcher<'_>) -> Result<SearchExtent, IncompleteReason> {
    let mut search = StateSearch {
        system,
        seen: SeenStates {
            halves: HashMap::default(),
            states: vec![HashSet::default(); SHARDS],
        },
        explored: SearchExtent::default(),
        path: Vec::new(),
        on_path: HashSet::default(),
        ahead: Vec::new(),
        steps: Vec::new(),
    };
    let mut next = Some((None, system.first()));
    while let Some((step, state)) = next {
        let before = search.explored.states;
        if let Some(property) = search.enter(step, &state) {
            let explored = search.explored();
            let path = search.path.into_iter().filter_map(|visit| visit.step);
            return Err(IncompleteReason::Broken(Counterexample {
                property,
                path: path.collect(),
                explored,
            }));
        }
        let states = search.explored.states;
        if states > limit {
            return Err(IncompleteReason::Limit(search.explored()));
        }
        if states > before && states.is_multiple_of(NEWS) && watch(&search.explored()).is_break() {
            return Err(IncompleteReason::Stopped(search.explored()));
        }
        next = search.next_successor().map(|(step, state)| (Some(step), state));
    }
    Ok(search.explored())
}
