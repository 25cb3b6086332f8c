//! A few senders and one receiver as a transition system: every interleaving of the real device's steps.
//!
//! Rank 0 posts receives, every other rank sends messages to it. A step is the smallest that the device
//! can make: one call of the program, one packet taken with the answer it causes, one packet injected. So
//! receives are posted, and records with them freed, at any moment; nodes are as fast and as slow as they
//! like; packets stay under way for as long as they like.
//!
//! "Every run comes to its end" is decided by the states without successors, which is right as long as
//! there are no cycles: [`ENOUGH`](super::state::ENOUGH).
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard};

use super::case::{Case, SENDERS};
use super::memo::{Memo, OnSide, Origin, Side};
use super::node::Node;
use super::state::{Global, Step};

/// A case, with all that has been found out about its nodes.
///
/// A step changes one node, and depends on that node's state and on the packet taken, if any, on nothing
/// else. So the device is asked once for each of these, and the answer serves for all states of all nodes
/// in which the same happens; what remains of a step is to look that up.
pub struct System {
    case: Case,
    memo: Mutex<Memo>,
}

impl System {
    /// Before the first step.
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

    /// The first state.
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

    /// Appends the steps that can be made; in a case that is reduced, a persistent set of them.
    pub fn steps(&self, state: &Global, steps: &mut Vec<Step>) {
        self.memo().steps(&self.case, state, steps);
    }

    /// The state that a step leads to; `None` when the step changes nothing.
    pub fn next(&self, state: &Global, step: Step) -> Option<Global> {
        self.memo().next(&self.case, state, step)
    }

    /// Appends the steps that can be made, and the states that they lead to.
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

    /// The property that a state breaks.
    pub fn broken(&self, state: &Global) -> Option<&'static str> {
        self.memo().broken(&self.case, state)
    }

    /// All is done and nothing is left.
    pub fn is_complete(&self, state: &Global) -> bool {
        self.memo().is_complete(&self.case, state)
    }

    /// States of nodes that have been found.
    pub fn node_states(&self) -> usize {
        self.memo().nodes.len()
    }
}
