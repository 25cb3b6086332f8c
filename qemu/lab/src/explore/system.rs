//! A few senders and one receiver as a transition system: every interleaving of the real device's steps.
//!
//! Rank 0 posts receives, every other rank sends messages to it. A step is the smallest that the device
//! can make: one call of the program, one packet taken with the answer it causes, one packet injected. So
//! receives are posted, and records with them freed, at any moment; nodes are as fast and as slow as they
//! like; packets stay under way for as long as they like.
//!
//! "Every run comes to its end" is decided by the states without successors, which is right as long as
//! there are no cycles: [`ENOUGH`].
#![forbid(unsafe_code)]

use std::sync::{Mutex, MutexGuard};

use mpi_adi::matching::{Engine, Matching};

use super::case::{Case, SENDERS};
use super::memo::{Memo, OnSide, Origin, Side};
use super::node::Node;

/// Messages are matched as MPI-3.1 section 3.5 says, each once and whole.
pub const ORDER: &str = "matching order";
/// The receiver uses no more MPI memory than it has.
pub const MEMORY: &str = "memory within its size";
/// Every packet is one that its receiver can be sent in its state.
pub const EXPECTED: &str = "every packet is expected";
/// Nothing goes on without end: no run comes back to a state that it has been through.
pub const ENOUGH: &str = "no run goes on without end";
/// No run gets stuck, and nothing is left when all is done.
pub const END: &str = "every run comes to its end";

/// A state of all nodes and the network between them. Its parts are named by number; what they are is known
/// to the [`System`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Global {
    pub(super) receiver: u32,
    pub(super) sides: [u32; SENDERS],
}

impl Global {
    /// The state as numbers.
    pub fn parts(&self) -> [u32; 1 + SENDERS] {
        let [a, b, c] = self.sides;
        [self.receiver, a, b, c]
    }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next call of a rank's program.
    Call(u8),
    /// Sender 1 cancels a message.
    Cancel,
    /// The packet at this place of this channel is taken by its destination.
    Take {
        /// Its class.
        priority: bool,
        /// Who sent it.
        source: u8,
        /// Who takes it.
        dest: u8,
        /// How many it overtakes.
        place: u8,
    },
    /// The receiver takes the next packet that it has sent to itself.
    TakeOwn {
        /// Its class.
        priority: bool,
    },
    /// A rank injects a packet.
    Inject {
        /// Who.
        rank: u8,
        /// Its class.
        priority: bool,
    },
}

/// A case, with all that has been found out about its nodes.
///
/// A step changes one node, and depends on that node's state and on the packet taken, if any, on nothing
/// else. So the device is asked once for each of these, and the answer serves for all states of all nodes
/// in which the same happens; what remains of a step is to look that up.
pub struct System<E = Engine> {
    case: Case,
    memo: Mutex<Memo<E>>,
}

impl<E: Matching> System<E> {
    /// Before the first step.
    pub fn new(case: Case) -> System<E> {
        assert!(case.senders.len() <= SENDERS);
        System {
            case,
            memo: Mutex::default(),
        }
    }

    fn memo(&self) -> MutexGuard<'_, Memo<E>> {
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
