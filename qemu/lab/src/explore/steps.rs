//! The steps that can be made in a state, all of them or a persistent set.
#![forbid(unsafe_code)]

use super::case::Case;
use super::memo::{Known, Memo, Side};
use super::state::{Global, Step};

impl Memo {
    pub(super) fn of_side(&self, side: u32) -> (&Side, &Known) {
        let side = &self.sides[side as usize];
        (side, &self.nodes[side.node as usize])
    }

    /// Steps of one sender.
    fn side_steps(&self, case: &Case, state: &Global, rank: u8, steps: &mut Vec<Step>) {
        let (side, known) = self.of_side(state.sides[usize::from(rank) - 1]);
        if known.may_call {
            steps.push(Step::Call(rank));
        }
        for priority in [false, true] {
            if known.offers[usize::from(priority)] {
                steps.push(Step::Inject { rank, priority });
            }
        }
        if known.may_cancel {
            steps.push(Step::Cancel);
        }
        let places = case.places(true, side.answers.len());
        steps.extend((0..places).map(|place| Step::Take {
            priority: true,
            source: 0,
            dest: rank,
            place,
        }));
    }

    /// Steps of the receiver.
    fn receiver_steps(&self, case: &Case, state: &Global, steps: &mut Vec<Step>) {
        let known = &self.nodes[state.receiver as usize];
        if known.may_call {
            steps.push(Step::Call(0));
        }
        // Room for one more answer: the emergency memory.
        let sides = || {
            case.ranks()
                .map(|rank| (rank, self.of_side(state.sides[usize::from(rank) - 1]).0))
        };
        let under_way: usize = sides().map(|(_, side)| side.answers.len()).sum();
        if under_way >= case.answers {
            return;
        }
        for priority in [false, true] {
            if known.offers[usize::from(priority)] {
                steps.push(Step::Inject { rank: 0, priority });
            }
            if known.own[usize::from(priority)] {
                steps.push(Step::TakeOwn { priority });
            }
        }
        for (source, side) in sides() {
            let places = case.places(false, side.requests.len());
            steps.extend((0..places).map(|place| Step::Take {
                priority: false,
                source,
                dest: 0,
                place,
            }));
        }
    }

    pub(super) fn steps(&self, case: &Case, state: &Global, steps: &mut Vec<Step>) {
        if case.reduced && !case.rts_overtake && !case.answers_overtake {
            self.persistent_steps(case, state, steps);
            return;
        }
        self.receiver_steps(case, state, steps);
        for rank in case.ranks() {
            self.side_steps(case, state, rank, steps);
        }
    }

    /// A persistent set of the steps that can be made (Godefroid, Partial-Order Methods for the Verification of
    /// Concurrent Systems, chapter 4): whatever the others can do, for as long as none in the set is done, is
    /// independent of all in the set.
    ///
    /// Steps of different nodes are independent, since each changes one node, takes from the head of one channel
    /// and adds to the tail of another; unless one takes the packet that the other adds, which is when the
    /// channel is empty, or makes room for an answer, which lets the other happen but does not change what it
    /// does. So the set is
    /// * all steps of one sender that has an answer to take: nobody else adds to or takes from what these
    ///   depend on, but at the other end of a channel that is not empty or that only the sender itself fills;
    /// * when there is no answer under way, all steps of the receiver, and all of the senders of which no
    ///   request is under way, which could be the ones that the receiver takes next. The others can only make
    ///   calls and add requests behind those that are there, until the receiver has made a step.
    ///
    /// All that is judged stays: whatever state a node comes to in some run, it comes to in a run that is
    /// explored, and so the properties of a node's states are judged in all of them; every state in which
    /// nothing can be done is explored; and a run without end leaves one that is explored.
    fn persistent_steps(&self, case: &Case, state: &Global, steps: &mut Vec<Step>) {
        let side = |rank: u8| self.of_side(state.sides[usize::from(rank) - 1]).0;
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
