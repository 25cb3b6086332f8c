//! The table of cases: each with its name, how much of it is explored, and what must come of that.
//!
//! Sound cases are explored to their end, every property must hold in every state, and the number of states is
//! stated: a number that changes says that the protocol has changed. Broken cases are explored until a property
//! is seen to fail: each rule that the protocol rests on, and each promise of the transport, is taken away in
//! turn, and the checker must notice.
//!
//! ```text
//!   sound.rs    what holds, explored in all orders of steps       long.rs   what takes minutes, reduced
//!   broken.rs   what fails, and must be found                   polls.rs  programs that poll, in fair runs
//! ```
#![forbid(unsafe_code)]

mod broken;
mod long;
mod polls;
mod sound;

use std::fmt;

use midplane_device::envelope::Tag;
use midplane_device::matching::Choice;

use super::case::{Asked, Call, Case};
use super::fair::explore_fairly;
use super::rules::Rules;
use super::search::{Explored, MOST_STATES, Unfinished, Watch, explore};
use super::system::System;

pub use broken::*;
pub use long::*;
pub use polls::*;
pub use sound::*;

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What is explored.
    pub case: Case,
    /// What must come of it.
    pub expected: Expected,
}

/// What must come of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Every property holds in every state; so many states, in all orders of steps and over persistent sets of
    /// them (reduced).
    Holds {
        /// In all orders.
        all: u64,
        /// Reduced.
        reduced: u64,
    },
    /// Every property holds; the case is explored only reduced.
    HoldsReduced {
        /// So many states.
        states: u64,
    },
    /// Every property holds, as far as is known: it has not been explored to its end before.
    Unknown {
        /// It is explored reduced.
        reduced: bool,
    },
    /// Every property holds in every state of a case that polls, and no fair run goes on without end.
    HoldsFairly {
        /// So many states, in all orders of steps.
        states: u64,
    },
    /// A fair run of a case that polls goes on without end.
    Livelock {
        /// So many states have been explored before that is seen.
        states: u64,
    },
    /// The property does not hold: a breadth-first search in all orders of steps says so.
    Fails {
        /// Which.
        property: &'static str,
        /// After so many states, in blocks as `stateright` visits them.
        after: u64,
    },
}

/// What an exploration of a row came to that it must not come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Surprise {
    /// It has not come to its end.
    Unfinished(Unfinished),
    /// It has come to its end, with another number of states than it must have.
    Count {
        /// What was explored.
        explored: Explored,
        /// How many states it must have.
        expected: u64,
    },
}

impl fmt::Display for Surprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Surprise::Unfinished(unfinished) => unfinished.fmt(f),
            Surprise::Count { explored, expected } => {
                write!(f, "{explored}, where there must be {expected} states")
            }
        }
    }
}

impl Row {
    fn new(name: impl Into<String>, case: Case, expected: Expected) -> Row {
        let name = name.into();
        Row {
            name,
            case,
            expected,
        }
    }

    fn holds(name: impl Into<String>, case: Case, [all, reduced]: [u64; 2]) -> Row {
        Row::new(name, case, Expected::Holds { all, reduced })
    }

    fn fails(name: impl Into<String>, property: &'static str, case: Case, after: u64) -> Row {
        Row::new(name, case, Expected::Fails { property, after })
    }

    /// The row's system, in all orders of steps or reduced.
    pub fn system(&self, reduced: bool) -> System {
        let case = self.case.clone();
        System::new(Case { reduced, ..case })
    }

    /// The row with this matching engine.
    pub fn with_matching(mut self, matching: Choice) -> Row {
        self.case.matching = matching;
        self
    }

    /// Explores a case whose properties hold, over persistent sets of steps if the row allows it.
    pub fn explore(&self, watch: Watch<'_>) -> Result<Explored, Surprise> {
        let (reduced, expected) = match self.expected {
            Expected::Holds { reduced, .. } => (true, Some(reduced)),
            Expected::HoldsReduced { states } => (true, Some(states)),
            Expected::Unknown { reduced } => (reduced, None),
            Expected::Fails { .. } => (true, None),
            Expected::HoldsFairly { states } | Expected::Livelock { states } => {
                let explored = explore_fairly(&self.system(false), MOST_STATES);
                return match explored.map_err(Surprise::Unfinished)? {
                    explored if explored.states == states => Ok(explored),
                    explored => Err(Surprise::Count {
                        explored,
                        expected: states,
                    }),
                };
            }
        };
        self.explored(reduced, expected, watch)
    }

    /// Explores a case in all orders of its steps, where the table says how many states that must be.
    pub fn explore_all(&self, watch: Watch<'_>) -> Result<Explored, Surprise> {
        let expected = match self.expected {
            Expected::Holds { all, .. } => Some(all),
            _ => None,
        };
        self.explored(false, expected, watch)
    }

    fn explored(
        &self,
        reduced: bool,
        expected: Option<u64>,
        watch: Watch<'_>,
    ) -> Result<Explored, Surprise> {
        let explored =
            explore(&self.system(reduced), MOST_STATES, watch).map_err(Surprise::Unfinished)?;
        match expected {
            Some(expected) if expected != explored.states => {
                Err(Surprise::Count { explored, expected })
            }
            _ => Ok(explored),
        }
    }
}

/// MPI memory for no record, one, two (or one with a short buffer), three.
const NONE: usize = 0;
const ONE: usize = 32;
const TWO: usize = 64;
const THREE: usize = 96;

/// Short messages go by the pending send queue, too.
const NO_BCOPY: Rules = Rules {
    bcopy: false,
    ..Rules::SOUND
};

const ANY: Asked = (None, None);

/// Receives from rank 1.
fn from_one(tags: &[Tag]) -> Vec<Asked> {
    tags.iter().map(|&tag| (Some(1), Some(tag))).collect()
}

/// The least case in which most rules matter: messages of one tag from one sender.
fn same(messages: usize, mpi_memory: usize) -> Case {
    let tags = vec![1; messages];
    Case::new(&[&tags], &from_one(&tags), mpi_memory)
}

/// The killer: messages of different tags, received in the reverse order.
fn reversed(messages: usize, mpi_memory: usize) -> Case {
    let tags: Vec<Tag> = (1..=messages as Tag).collect();
    let reverse: Vec<Tag> = tags.iter().rev().copied().collect();
    Case::new(&[&tags], &from_one(&reverse), mpi_memory)
}

/// Senders of so many messages of one tag each, all received from any source. The senders' calls come
/// first.
fn many(senders: usize, messages: usize, mpi_memory: usize) -> Case {
    let tags = vec![1; messages];
    let senders = vec![&tags[..]; senders];
    let receives = vec![ANY; senders.len() * messages];
    Case {
        sent_early: true,
        ..Case::new(&senders, &receives, mpi_memory)
    }
}

/// With so many answers of one node under way at most.
fn answers(answers: usize, case: Case) -> Case {
    Case { answers, ..case }
}

/// With these rules.
fn under(rules: Rules, case: Case) -> Case {
    Case { rules, ..case }
}

/// Two messages of tags 1 and 2, and a receive for the second one that is cancelled. The slot of its request is
/// used `reuses` times more, then a receive that takes any message has it. Whatever asks for the cancelled
/// receive may still be under way then, and must not be taken for the new one.
fn cancelled_receive(reuses: usize, mpi_memory: usize) -> Case {
    let mut receiver = vec![Call::Receive((None, Some(2))), Call::CancelReceive(0)];
    for _ in 0..reuses {
        // Of a tag that is not sent.
        receiver.push(Call::Receive((None, Some(3))));
        receiver.push(Call::CancelReceive(receiver.len() - 1));
    }
    receiver.push(Call::ReceiveInstead { of: 0, asked: ANY });
    receiver.push(Call::Receive(ANY));
    Case {
        receiver,
        ..Case::new(&[&[1, 2]], &[], mpi_memory)
    }
}

/// A process sends three messages to itself, the second of a tag that comes again, with receives between them; a
/// message of another process is after the same memory.
fn to_itself(mpi_memory: usize) -> Case {
    let own = |tag| Call::Receive((Some(0), tag));
    Case {
        receiver: vec![
            Call::SendToItself(1),
            Call::SendToItself(2),
            own(Some(1)),
            Call::SendToItself(2),
            own(Some(2)),
            Call::Receive(ANY),
            Call::Receive(ANY),
        ],
        ..Case::new(&[&[3]], &[], mpi_memory)
    }
}

/// Senders of so many messages each, to a receiver that polls for messages of any source by receives that it cancels. All
/// receives may have the same name.
fn polled(senders: usize, messages: usize, mpi_memory: usize) -> Case {
    let case = many(senders, messages, mpi_memory);
    Case {
        receiver: vec![Call::Poll(ANY); senders * messages],
        rules: Rules {
            name_bits: 0,
            ..NO_BCOPY
        },
        ..case
    }
}

fn age_bits(age_bits: u32) -> Rules {
    Rules {
        age_bits,
        ..Rules::SOUND
    }
}
