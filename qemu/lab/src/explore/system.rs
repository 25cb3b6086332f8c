//! Transition system of a few senders and one receiver: every interleaving of the real device's steps.
//!
//! Rank 0 posts receives, every other rank sends messages to it. A step is atomic for the device: one call of the
//! program, one packet received with its reply, or one packet injected. So receives are posted, and records freed by
//! them, at any time; nodes run at any speed; packets stay in flight for any time.
//!
//! States without successors decide that every run ends, which requires that there are no cycles:
//! [`ENOUGH`](super::state::ENOUGH).
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard};

use super::case::{Case, SENDERS};
use super::memo::{Memo, OnSide, Origin, Side};
use super::node::Node;
use super::state::{Global, Step};

/// A case, with the memoized steps of its nodes. A step changes one node, and depends only on that node's state and on
/// the packet received, if any. So the device executes each of these once, and the result applies to all states of all
/// nodes with the same inputs; every further step is a lookup.
pub struct System {
    case: Case,
    memo: Mutex<Memo>,
}

impl System {
    /// Creates a system before the first step.
    pub fn new(case: Case) -> System {
        assert!(case.senders.len() <= SENDERS);
        System {
            case,
            memo: Mutex::default(),
        }
    }

    fn memo(&self) -> MutexGuard<'_, Memo> {
        self.memo.lock().expect("no step has panicked")
    }

    /// Returns the first state.
    pub fn first(&self) -> Global {
        let (case, memo) = (&self.case, &mut *self.memo());
        let mut sides = [0; SENDERS];
        for (rank, side) in case.ranks().zip(&mut sides) {
            let node = memo.number(case, Node::new(case, rank), Origin::First);
            *side = memo.side(Side {
                node,
                requests: Vec::new(),
                answers: Vec::new(),
            });
            while case.sent_early
                && let Some(next) = memo.on_side(case, *side, OnSide::Call)
            {
                *side = next;
            }
        }
        Global {
            receiver: memo.number(case, Node::new(case, 0), Origin::First),
            sides,
        }
    }

    /// Appends the possible steps; in a reduced case, a persistent set of them.
    pub fn steps(&self, state: &Global, steps: &mut Vec<Step>) {
        self.memo().steps(&self.case, state, steps);
    }

    /// Returns the state after a step, or `None` when the step changes nothing.
    pub fn next(&self, state: &Global, step: Step) -> Option<Global> {
        self.memo().next(&self.case, state, step)
    }

    /// Appends the possible steps, and their states.
    pub fn successors(
        &self,
        state: &Global,
        steps: &mut Vec<Step>,
        next: &mut Vec<(Step, Global)>,
    ) {
        let memo = &mut *self.memo();
        steps.clear();
        memo.steps(&self.case, state, steps);
        for &step in &*steps {
            next.extend(
                memo.next(&self.case, state, step)
                    .map(|state| (step, state)),
            );
        }
    }

    /// Returns the property that a state violates.
    pub fn broken(&self, state: &Global) -> Option<&'static str> {
        self.memo().broken(&self.case, state)
    }

    /// Checks whether all nodes are complete, and no resource is in use.
    pub fn is_complete(&self, state: &Global) -> bool {
        self.memo().is_complete(&self.case, state)
    }

    /// Returns the number of node states found.
    pub fn node_states(&self) -> usize {
        self.memo().nodes.len()
    }
}
