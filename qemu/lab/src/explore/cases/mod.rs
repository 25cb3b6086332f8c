//! Table of cases: each with its name, extent and required result.
//!
//! Sound cases are explored completely. Every property must hold in every state, and the table specifies the number of
//! states: a different number indicates a change of the protocol. Broken cases are explored until a property fails:
//! each rule of the protocol, and each guarantee of the transport, is disabled in turn, and the checker must detect it.
//!
//! ```text
//!   sound.rs    properties hold, in all orders of steps          long.rs   explorations of minutes, reduced
//!   broken.rs   violations that must be found                   polls.rs  programs that poll, in fair runs
//! ```
#![forbid(unsafe_code)]

mod broken;
mod long;
mod polls;
mod sound;

use std::fmt;

use midplane_device::envelope::Tag;
use midplane_device::matching::EngineChoice;

use super::case::{Asked, Call, Case};
use super::fair::explore_fairly;
use super::rules::Rules;
use super::search::{Explored, MOST_STATES, Unfinished, Watch, explore};
use super::system::System;

pub use broken::*;
pub use long::*;
pub use polls::*;
pub use sound::*;

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The case to explore.
    pub case: Case,
    /// The required result.
    pub expected: Expected,
}

/// Required result of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Every property holds in every state. The numbers of states are for all orders of steps and for persistent sets
    /// of them (reduced).
    Holds {
        /// In all orders.
        all: u64,
        /// Reduced.
        reduced: u64,
    },
    /// Every property holds; the case is explored only reduced.
    HoldsReduced {
        /// Number of states.
        states: u64,
    },
    /// Every property is assumed to hold; the case was never explored completely.
    Unknown {
        /// Whether it is explored reduced.
        reduced: bool,
    },
    /// Every property holds in every state of a case that polls, and no fair run is endless.
    HoldsFairly {
        /// Number of states, in all orders of steps.
        states: u64,
    },
    /// A case that polls has an endless fair run.
    Livelock {
        /// Number of states explored until it is found.
        states: u64,
    },
    /// The property fails in a breadth-first search in all orders of steps.
    Fails {
        /// The property.
        property: &'static str,
        /// Number of states until then, in blocks as `stateright` visits them.
        after: u64,
    },
}

/// Unexpected result of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Surprise {
    /// The exploration is incomplete.
    Unfinished(Unfinished),
    /// The exploration is complete, with a wrong number of states.
    Count {
        /// The result.
        explored: Explored,
        /// The required number of states.
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

    /// Returns the row's system, in all orders of steps or reduced.
    pub fn system(&self, reduced: bool) -> System {
        let case = self.case.clone();
        System::new(Case { reduced, ..case })
    }

    /// Replaces the matching engine of the row.
    pub fn with_matching(mut self, matching: EngineChoice) -> Row {
        self.case.matching = matching;
        self
    }

    /// Explores a sound case, over persistent sets of steps if the row allows it.
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

    /// Explores a case in all orders of its steps, if the table specifies their number of states.
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

/// Short messages use the pending send queue, too.
const NO_BCOPY: Rules = Rules {
    bcopy: false,
    ..Rules::SOUND
};

const ANY: Asked = (None, None);

fn from_one(tags: &[Tag]) -> Vec<Asked> {
    tags.iter().map(|&tag| (Some(1), Some(tag))).collect()
}

/// Returns the minimum case in which most rules matter: messages of one tag from one sender.
fn same(messages: usize, mpi_memory: usize) -> Case {
    let tags = vec![1; messages];
    Case::new(&[&tags], &from_one(&tags), mpi_memory)
}

/// Returns the killer: messages of different tags, received in reverse order.
fn reversed(messages: usize, mpi_memory: usize) -> Case {
    let tags: Vec<Tag> = (1..=messages as Tag).collect();
    let reverse: Vec<Tag> = tags.iter().rev().copied().collect();
    Case::new(&[&tags], &from_one(&reverse), mpi_memory)
}

/// Returns a case with senders of `messages` messages of one tag each, all received from any source. The senders' calls
/// are first.
fn many(senders: usize, messages: usize, mpi_memory: usize) -> Case {
    let tags = vec![1; messages];
    let senders = vec![&tags[..]; senders];
    let receives = vec![ANY; senders.len() * messages];
    Case {
        sent_early: true,
        ..Case::new(&senders, &receives, mpi_memory)
    }
}

/// Limits the replies of one node in flight.
fn answers(answers: usize, case: Case) -> Case {
    Case { answers, ..case }
}

fn under(rules: Rules, case: Case) -> Case {
    Case { rules, ..case }
}

/// Returns a case with two messages of tags 1 and 2, and a receive for the second that is cancelled. The slot of its
/// request is reused `reuses` times, then by a receive that matches any message. A reference to the cancelled receive
/// may still be in flight then, and must not be mistaken for the new one.
fn cancelled_receive(reuses: usize, mpi_memory: usize) -> Case {
    let mut receiver = vec![Call::Receive((None, Some(2))), Call::CancelReceive(0)];
    for _ in 0..reuses {
        // This tag is not sent.
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

/// Returns a case in which a process sends three messages to itself, two of them with one tag, with receives in
/// between; a message of another process competes for the same memory.
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

/// Returns a case with senders of `messages` messages each, to a receiver that polls from any source by cancelled
/// receives. All receives may use the same request ID.
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
