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

use super::case::{ProtocolCase, SENDERS};
use super::memo::{SenderState, SideStep, StateOrigin, StepMemo};
use super::node::ProgramNode;
use super::state::{GlobalState, GlobalStep};

/// A case, with the memoized steps of its nodes. A step changes one node, and depends only on that node's state and on
/// the packet received, if any. So the device executes each of these once, and the result applies to all states of all
/// nodes with the same inputs; every further step is a lookup.
pub struct CaseSystem {
    case: ProtocolCase,
    memo: Mutex<StepMemo>,
}

impl CaseSystem {
    /// Creates a system before the first step.
    pub fn new(case: ProtocolCase) -> CaseSystem {
        assert!(case.senders.len() <= SENDERS);
        CaseSystem {
            case,
            memo: Mutex::default(),
        }
    }

    pub(super) fn memo(&self) -> MutexGuard<'_, StepMemo> {
        self.memo.lock().expect("no step has panicked")
    }

    /// Returns the case.
    pub(super) fn case(&self) -> &ProtocolCase {
        &self.case
    }

    /// Returns the first state.
    pub fn first(&self) -> GlobalState {
        let (case, memo) = (&self.case, &mut *self.memo());
        let mut sides = [0; SENDERS];
        for (rank, side) in case.ranks().zip(&mut sides) {
            let node = memo.number(case, ProgramNode::new(case, rank), StateOrigin::First);
            *side = memo.side(SenderState {
                node,
                requests: Vec::new(),
                answers: Vec::new(),
            });
            while case.sent_early
                && let Some(next) = memo.on_side(case, *side, SideStep::Call)
            {
                *side = next;
            }
        }
        GlobalState {
            receiver: memo.number(case, ProgramNode::new(case, 0), StateOrigin::First),
            sides,
        }
    }

    /// Appends the possible steps; in a reduced case, a persistent set of them.
    pub fn steps(&self, state: &GlobalState, steps: &mut Vec<GlobalStep>) {
        self.memo().steps(&self.case, state, steps);
    }

    /// Returns the state after a step, or `None` when the step changes nothing.
    pub fn next(&self, state: &GlobalState, step: GlobalStep) -> Option<GlobalState> {
        self.memo().next(&self.case, state, step)
    }

    /// Appends the possible steps, and their states.
    pub fn successors(
        &self,
        state: &GlobalState,
        steps: &mut Vec<GlobalStep>,
        next: &mut Vec<(GlobalStep, GlobalState)>,
    ) {
        let memo = &mut *self.memo();
        steps.clear();
        memo.steps(&self.case, state, steps);
        for &step in &*steps {
            next.extend(memo.next(&self.case, state, step).map(|state| (step, state)));
        }
    }

    /// Returns the property that a state violates.
    pub fn broken(&self, state: &GlobalState) -> Option<&'static str> {
        self.memo().broken(&self.case, state)
    }

    /// Checks whether all nodes are complete, and no resource is in use.
    pub fn is_complete(&self, state: &GlobalState) -> bool {
        self.memo().is_complete(&self.case, state)
    }

    /// Returns the number of node states found.
    pub fn node_states(&self) -> usize {
        self.memo().nodes.len()
    }
}
