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
use midplane_engines::EngineChoice;

use super::case::{ProgramCall, ProtocolCase, ReceivePattern};
use super::fair::explore_fairly;
use super::rules::ExploredRules;
use super::search::{IncompleteReason, MAX_STATES, SearchExtent, SearchWatcher, explore};
use super::system::CaseSystem;

pub use broken::*;
pub use long::*;
pub use polls::*;
pub use sound::*;

/// One row of the table.
#[derive(Clone, Debug)]
pub struct CaseRow {
    /// Its name.
    pub name: String,
    /// The case to explore.
    pub case: ProtocolCase,
    /// The required result.
    pub expected: ExpectedResult,
}

/// Required result of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpectedResult {
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
pub enum UnexpectedResult {
    /// The exploration is incomplete.
    Unfinished(IncompleteReason),
    /// The exploration is complete, with a wrong number of states.
    Count {
        /// The result.
        explored: SearchExtent,
        /// The required number of states.
        expected: u64,
    },
}

impl fmt::Display for UnexpectedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnexpectedResult::Unfinished(unfinished) => unfinished.fmt(f),
            UnexpectedResult::Count { explored, expected } => {
                write!(f, "{explored}, where there must be {expected} states")
            }
        }
    }
}

impl CaseRow {
    fn new(name: impl Into<String>, case: ProtocolCase, expected: ExpectedResult) -> CaseRow {
        let name = name.into();
        CaseRow { name, case, expected }
    }

    fn holds(name: impl Into<String>, case: ProtocolCase, [all, reduced]: [u64; 2]) -> CaseRow {
        CaseRow::new(name, case, ExpectedResult::Holds { all, reduced })
    }

    fn fails(name: impl Into<String>, property: &'static str, case: ProtocolCase, after: u64) -> CaseRow {
        CaseRow::new(name, case, ExpectedResult::Fails { property, after })
    }

    /// Returns the row's system, in all orders of steps or reduced.
    pub fn system(&self, reduced: bool) -> CaseSystem {
        let case = self.case.clone();
        CaseSystem::new(ProtocolCase { reduced, ..case })
    }

    /// Replaces the matching engine of the row.
    pub fn with_matching(mut self, matching: EngineChoice) -> CaseRow {
        self.case.matching = matching;
        self
    }

    /// Explores a sound case, over persistent sets of steps if the row allows it.
    pub fn explore(&self, watch: SearchWatcher<'_>) -> Result<SearchExtent, UnexpectedResult> {
        let (reduced, expected) = match self.expected {
            ExpectedResult::Holds { reduced, .. } => (true, Some(reduced)),
            ExpectedResult::HoldsReduced { states } => (true, Some(states)),
            ExpectedResult::Unknown { reduced } => (reduced, None),
            ExpectedResult::Fails { .. } => (true, None),
            ExpectedResult::HoldsFairly { states } | ExpectedResult::Livelock { states } => {
                let explored = explore_fairly(&self.system(false), MAX_STATES);
                return match explored.map_err(UnexpectedResult::Unfinished)? {
                    explored if explored.states == states => Ok(explored),
                    explored => Err(UnexpectedResult::Count {
                        explored,
                        expected: states,
                    }),
                };
            }
        };
        self.explored(reduced, expected, watch)
    }

    /// Explores a case in all orders of its steps, if the table specifies their number of states.
    pub fn explore_all(&self, watch: SearchWatcher<'_>) -> Result<SearchExtent, UnexpectedResult> {
        let expected = match self.expected {
            ExpectedResult::Holds { all, .. } => Some(all),
            _ => None,
        };
        self.explored(false, expected, watch)
    }

    fn explored(
        &self,
        reduced: bool,
        expected: Option<u64>,
        watch: SearchWatcher<'_>,
    ) -> Result<SearchExtent, UnexpectedResult> {
        let explored = explore(&self.system(reduced), MAX_STATES, watch).map_err(UnexpectedResult::Unfinished)?;
        match expected {
            Some(expected) if expected != explored.states => Err(UnexpectedResult::Count { explored, expected }),
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
const NO_BCOPY: ExploredRules = ExploredRules {
    bcopy: false,
    ..ExploredRules::SOUND
};

const ANY: ReceivePattern = (None, None);

fn from_one(tags: &[Tag]) -> Vec<ReceivePattern> {
    tags.iter().map(|&tag| (Some(1), Some(tag))).collect()
}

/// Returns the minimum case in which most rules matter: messages of one tag from one sender.
fn same(messages: usize, mpi_memory: usize) -> ProtocolCase {
    let tags = vec![1; messages];
    ProtocolCase::new(&[&tags], &from_one(&tags), mpi_memory)
}

/// Returns the killer: messages of different tags, received in reverse order.
fn killer_case(messages: usize, mpi_memory: usize) -> ProtocolCase {
    let tags: Vec<Tag> = (1..=messages as Tag).collect();
    let reverse: Vec<Tag> = tags.iter().rev().copied().collect();
    ProtocolCase::new(&[&tags], &from_one(&reverse), mpi_memory)
}

/// Returns a case with senders of `messages` messages of one tag each, all received from any source. The senders' calls
/// are first.
fn many_senders(senders: usize, messages: usize, mpi_memory: usize) -> ProtocolCase {
    let tags = vec![1; messages];
    let senders = vec![&tags[..]; senders];
    let receives = vec![ANY; senders.len() * messages];
    ProtocolCase {
        sent_early: true,
        ..ProtocolCase::new(&senders, &receives, mpi_memory)
    }
}

/// Limits the replies of one node in flight.
fn answers(answers: usize, case: ProtocolCase) -> ProtocolCase {
    ProtocolCase { answers, ..case }
}

fn with_rules_of(rules: ExploredRules, case: ProtocolCase) -> ProtocolCase {
    ProtocolCase { rules, ..case }
}

/// Returns a case with two messages of tags 1 and 2, and a receive for the second that is cancelled. The slot of its
/// request is reused `reuses` times, then by a receive that matches any message. A reference to the cancelled receive
/// may still be in flight then, and must not be mistaken for the new one.
fn cancelled_receive(reuses: usize, mpi_memory: usize) -> ProtocolCase {
    let mut receiver = vec![ProgramCall::Receive((None, Some(2))), ProgramCall::CancelReceive(0)];
    for _ in 0..reuses {
        // This tag is not sent.
        receiver.push(ProgramCall::Receive((None, Some(3))));
        receiver.push(ProgramCall::CancelReceive(receiver.len() - 1));
    }
    receiver.push(ProgramCall::ReceiveInstead { of: 0, asked: ANY });
    receiver.push(ProgramCall::Receive(ANY));
    ProtocolCase {
        receiver,
        ..ProtocolCase::new(&[&[1, 2]], &[], mpi_memory)
    }
}

/// Returns a case in which a process sends three messages to itself, two of them with one tag, with receives in
/// between; a message of another process competes for the same memory.
fn to_itself(mpi_memory: usize) -> ProtocolCase {
    let own = |tag| ProgramCall::Receive((Some(0), tag));
    ProtocolCase {
        receiver: vec![
            ProgramCall::SendToItself(1),
            ProgramCall::SendToItself(2),
            own(Some(1)),
            ProgramCall::SendToItself(2),
            own(Some(2)),
            ProgramCall::Receive(ANY),
            ProgramCall::Receive(ANY),
        ],
        ..ProtocolCase::new(&[&[3]], &[], mpi_memory)
    }
}

/// Returns a case with senders of `messages` messages each, to a receiver that polls from any source by cancelled
/// receives. All receives may use the same request ID.
fn polling_case(senders: usize, messages: usize, mpi_memory: usize) -> ProtocolCase {
    let case = many_senders(senders, messages, mpi_memory);
    ProtocolCase {
        receiver: vec![ProgramCall::Poll(ANY); senders * messages],
        rules: ExploredRules {
            name_bits: 0,
            ..NO_BCOPY
        },
        ..case
    }
}

fn age_bits(age_bits: u32) -> ExploredRules {
    ExploredRules {
        age_bits,
        ..ExploredRules::SOUND
    }
}
