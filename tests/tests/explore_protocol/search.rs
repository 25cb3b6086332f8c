//! Depth-first search over all states of a [`Machine`], for cases with hundreds of millions of them.
//!
//! A state takes eight bytes and no fingerprint stands for it: its parts are numbered two by two, and the
//! numbers of the two halves are kept. The search goes along one path at a time, so that it has the path
//! at hand when a property fails, and sees when one comes back to a state that it has been through.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Instant;

use rustc_hash::FxBuildHasher;

use crate::model::{END, ENOUGH, Global, Machine, Step};

/// How much was explored.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// Steps of the longest path that was followed.
    pub depth: usize,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explored {
            states,
            steps,
            depth,
        } = self;
        write!(f, "{states} states, {steps} steps, {depth} deep")
    }
}

/// A property that does not hold, and how to see that.
#[derive(Debug)]
pub struct Failure {
    /// Which.
    pub property: &'static str,
    /// The steps from the first state on.
    pub path: Vec<Step>,
}

/// Parts of the set of states: a set grows by being copied, and it is not to happen to all of it at once.
const SHARDS: usize = 64;
/// States between two words on how far it is.
const NEWS: u64 = 20_000_000;

/// States that have been seen.
struct Seen {
    halves: HashMap<(u32, u32), u32, FxBuildHasher>,
    states: Vec<HashSet<u64, FxBuildHasher>>,
}

impl Seen {
    fn half(&mut self, a: u32, b: u32) -> u32 {
        let number = self.halves.len() as u32;
        *self.halves.entry((a, b)).or_insert(number)
    }

    /// Notes a state; its key, and whether it is new.
    fn insert(&mut self, state: &Global) -> (u64, bool) {
        let [a, b, c, d] = state.parts();
        let key = u64::from(self.half(a, b)) << 32 | u64::from(self.half(c, d));
        let shard = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
        (key, self.states[shard].insert(key))
    }
}

/// One state of the path that is being followed.
struct Stop {
    key: u64,
    /// The step that led to it.
    step: Option<Step>,
    /// Where its successors that are still to be followed begin.
    rest: usize,
}

/// Explores all states.
pub fn explore(name: &str, machine: &Machine) -> Result<Explored, Failure> {
    let start = Instant::now();
    let mut seen = Seen {
        halves: HashMap::with_hasher(FxBuildHasher),
        states: vec![HashSet::with_hasher(FxBuildHasher); SHARDS],
    };
    let mut explored = Explored::default();
    let mut path: Vec<Stop> = Vec::new();
    let mut on_path: HashSet<u64, FxBuildHasher> = HashSet::default();
    // Successors, of all states of the path, that are still to be followed.
    let mut ahead: Vec<(Step, Global)> = Vec::new();
    let mut steps = Vec::new();
    let mut next = Some((None, machine.first()));
    loop {
        if let Some((step, state)) = next {
            let (key, is_new) = seen.insert(&state);
            let mut failed = None;
            if is_new {
                explored.states += 1;
                let rest = ahead.len();
                machine.successors(&state, &mut steps, &mut ahead);
                explored.steps += (ahead.len() - rest) as u64;
                failed = machine.broken(&state);
                if ahead.len() == rest && !machine.is_complete(&state) {
                    failed = failed.or(Some(END));
                }
                path.push(Stop { key, step, rest });
                on_path.insert(key);
                explored.depth = explored.depth.max(path.len());
                if explored.states.is_multiple_of(NEWS) {
                    let seconds = start.elapsed().as_secs_f64();
                    println!(
                        "{name}: {} million states so far, {:.0} a second, of {} states of nodes",
                        explored.states / 1_000_000,
                        explored.states as f64 / seconds,
                        machine.states_of_nodes(),
                    );
                }
            } else if on_path.contains(&key) {
                path.push(Stop {
                    key,
                    step,
                    rest: ahead.len(),
                });
                failed = Some(ENOUGH);
            }
            if let Some(property) = failed {
                let path = path.into_iter().filter_map(|stop| stop.step).collect();
                return Err(Failure { property, path });
            }
        }
        let Some(stop) = path.last() else {
            return Ok(explored);
        };
        next = (ahead.len() > stop.rest)
            .then(|| ahead.pop())
            .flatten()
            .map(|(step, state)| (Some(step), state));
        if next.is_none() {
            on_path.remove(&stop.key);
            path.pop();
        }
    }
}
