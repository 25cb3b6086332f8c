//! The possible steps of a state, all of them or a persistent set.
#![forbid(unsafe_code)]

use super::case::ProtocolCase;
use super::memo::{SenderState, StateProperties, StepMemo};
use super::state::{GlobalState, GlobalStep};

impl StepMemo {
    pub(super) fn for_side(&self, side: u32) -> (&SenderState, &StateProperties) {
        let side = &self.sides[side as usize];
        (side, &self.nodes[side.node as usize])
    }

    fn side_steps(&self, case: &ProtocolCase, state: &GlobalState, rank: u8, steps: &mut Vec<GlobalStep>) {
        let (side, known) = self.for_side(state.sides[usize::from(rank) - 1]);
        if known.may_call {
            steps.push(GlobalStep::Call(rank));
        }
        for priority in [false, true] {
            if known.offers[usize::from(priority)] {
                steps.push(GlobalStep::Inject { rank, priority });
            }
        }
        if known.may_cancel {
            steps.push(GlobalStep::Cancel);
        }
        let places = case.places(true, side.answers.len());
        steps.extend((0..places).map(|place| GlobalStep::Receive {
            priority: true,
            source: 0,
            dest: rank,
            place,
        }));
    }

    fn receiver_steps(&self, case: &ProtocolCase, state: &GlobalState, steps: &mut Vec<GlobalStep>) {
        let known = &self.nodes[state.receiver as usize];
        if known.may_call {
            steps.push(GlobalStep::Call(0));
        }
        // Requires space for one more reply: the emergency memory.
        let sides = || {
            case.ranks()
                .map(|rank| (rank, self.for_side(state.sides[usize::from(rank) - 1]).0))
        };
        let under_way: usize = sides().map(|(_, side)| side.answers.len()).sum();
        if under_way >= case.answers {
            return;
        }
        for priority in [false, true] {
            if known.offers[usize::from(priority)] {
                steps.push(GlobalStep::Inject { rank: 0, priority });
            }
            if known.own[usize::from(priority)] {
                steps.push(GlobalStep::ReceiveOwn { priority });
            }
        }
        for (source, side) in sides() {
            let places = case.places(false, side.requests.len());
            steps.extend((0..places).map(|place| GlobalStep::Receive {
                priority: false,
                source,
                dest: 0,
                place,
            }));
        }
    }

    pub(super) fn steps(&self, case: &ProtocolCase, state: &GlobalState, steps: &mut Vec<GlobalStep>) {
        if case.reduced && !case.rts_overtake && !case.answers_overtake {
            self.persistent_steps(case, state, steps);
            return;
        }
        self.receiver_steps(case, state, steps);
        for rank in case.ranks() {
            self.side_steps(case, state, rank, steps);
        }
    }

    /// Adds a persistent set of the possible steps (Godefroid, Partial-Order Methods for the Verification of Concurrent
    /// Systems, chapter 4): while no step of the set is made, every step of the others is independent of the set.
    ///
    /// Steps of different nodes are independent, since each changes one node, removes from the head of one channel and
    /// adds to the tail of another. There are two exceptions: a step that receives the packet that the other adds,
    /// which requires an empty channel, and a step that frees space for a reply, which enables the other but does not
    /// change its effect. So the set contains
    ///
    /// * all steps of one sender that has a reply to receive: no other node changes their inputs, except at the other
    ///   end of a channel that is not empty or that only the sender itself fills;
    /// * when no reply is in flight, all steps of the receiver, and of the senders without a request in flight, whose
    ///   request could be the next one received. The others can only make calls and append requests to nonempty
    ///   channels, until the receiver has made a step.
    ///
    /// All checks remain complete. Every state of a node in any run also occurs in an explored run, and so the
    /// properties of node states are checked in all of them. Every state without possible steps is explored. An endless
    /// run implies an endless explored one.
    fn persistent_steps(&self, case: &ProtocolCase, state: &GlobalState, steps: &mut Vec<GlobalStep>) {
        let side = |rank: u8| self.for_side(state.sides[usize::from(rank) - 1]).0;
        if let Some(rank) = case.ranks().find(|&rank| !side(rank).answers.is_empty()) {
            self.side_steps(case, state, rank, steps);
            return;
        }
        self.receiver_steps(case, state, steps);
        for rank in case.ranks().filter(|&rank| side(rank).requests.is_empty()) {
            self.side_steps(case, state, rank, steps);
        }
    }
}
