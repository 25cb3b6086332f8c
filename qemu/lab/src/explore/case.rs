//! A case to explore: the programs of a few nodes, their memory, and the broken rules and transport guarantees.
#![forbid(unsafe_code)]

use midplane_device::envelope::{Envelope, MatchPattern, Rank, Tag};
use midplane_device::request::SendMode;
use midplane_engines::EngineChoice;
use net_torus::Shape;

use super::rules::ExploredRules;

/// Pattern of a receive: a source (a rank from 1 on, or 0 for the receiver itself) and a tag, either `None` for any.
pub type ReceivePattern = (Option<u32>, Option<Tag>);

/// A call of the receiver's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramCall {
    /// MPI_Irecv.
    Receive(ReceivePattern),
    /// MPI_Cancel of the receive started by the call with this index, then MPI_Wait if it is cancelled immediately, or
    /// MPI_Request_free if it is still posted.
    CancelReceive(usize),
    /// MPI_Irecv, if the receive started by call `of` was cancelled: otherwise no message remains to be received again.
    ReceiveInstead {
        /// Index of the call.
        of: usize,
        /// The new pattern.
        asked: ReceivePattern,
    },
    /// MPI_Irecv, MPI_Cancel and MPI_Wait, repeated until a message is received. The network may do anything between
    /// the calls. All receives of a case with polls are polled, so one is posted at a time.
    Poll(ReceivePattern),
    /// MPI_Isend to the receiver itself (self-send), with this tag.
    SendToItself(Tag),
}

/// Default MPI memory of a sender in bytes: enough for all its messages.
const SENDER_MEMORY: usize = 1 << 10;

/// A case to explore.
#[derive(Clone, Debug)]
pub struct ProtocolCase {
    /// By sender: the tags of its messages, in order.
    pub senders: Vec<Vec<Tag>>,
    /// The receiver's calls, in order.
    pub receiver: Vec<ProgramCall>,
    /// Length of each message in bytes, at least 1.
    pub len: usize,
    /// Synchronous or standard sends.
    pub mode: SendMode,
    /// Index of a message of each sender that is synchronous, independent of the others.
    pub synchronous: Option<usize>,
    /// MPI memory of the receiver in bytes.
    pub mpi_memory: usize,
    /// MPI memory of each sender in bytes. It receives nothing, and assumes that the receiver's memory is as large.
    pub sender_memory: usize,
    /// Maximum number of replies of one node in flight, at least 1.
    pub answers: usize,
    /// Makes the senders' calls before everything else. This reduces the states; new messages during a restart are
    /// covered by the cases without it.
    pub sent_early: bool,
    /// Index of the message of sender 1 that is cancelled at any time after its call.
    pub cancel: Option<usize>,
    /// The matching engine of all nodes. The number of states does not depend on it.
    pub matching: EngineChoice,
    /// The protocol's rules.
    pub rules: ExploredRules,
    /// RTSs of a pair may overtake one another.
    pub rts_overtake: bool,
    /// Replies of a pair may overtake one another.
    pub answers_overtake: bool,
    /// Explores only some of the equivalent orders of steps: no restriction, see `persistent_steps` in steps.rs.
    pub reduced: bool,
}

impl ProtocolCase {
    /// Creates a case with messages of these tags by sender, received in this order; one byte each, sound rules, a
    /// transport without faults.
    pub fn new(senders: &[&[Tag]], receives: &[ReceivePattern], mpi_memory: usize) -> ProtocolCase {
        ProtocolCase {
            senders: senders.iter().map(|tags| tags.to_vec()).collect(),
            receiver: receives.iter().copied().map(ProgramCall::Receive).collect(),
            len: 1,
            mode: SendMode::Standard,
            synchronous: None,
            mpi_memory,
            sender_memory: SENDER_MEMORY,
            answers: usize::MAX,
            sent_early: false,
            cancel: None,
            matching: EngineChoice::default(),
            rules: ExploredRules::SOUND,
            rts_overtake: false,
            answers_overtake: false,
            reduced: false,
        }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.senders.len() + 1
    }

    /// Returns the shape of the machine.
    pub fn shape(&self) -> Shape {
        Shape::new([self.nodes() as u16, 1, 1], [true; 3]).expect("a few nodes")
    }

    /// Returns the message whose bytes are `number`.
    pub fn message(&self, number: u8) -> Option<Envelope> {
        let (sender, at) = (usize::from(number / PER_SENDER), usize::from(number % PER_SENDER));
        let (source, tag) = if number / PER_SENDER == ITSELF {
            let ProgramCall::SendToItself(tag) = *self.receiver.get(at)? else {
                return None;
            };
            (0, tag)
        } else {
            (sender as u32 + 1, *self.senders.get(sender)?.get(at)?)
        };
        Some(Envelope {
            source: Rank::new(source),
            tag,
            context: 0,
        })
    }

    /// Returns the number of calls of a rank.
    pub fn calls(&self, rank: u8) -> usize {
        match rank {
            0 => self.receiver.len(),
            sender => self.senders[usize::from(sender) - 1].len(),
        }
    }

    /// Returns the pattern of a call of the receiver, if it starts a receive.
    pub fn pattern(&self, call: usize) -> Option<MatchPattern> {
        let (source, tag) = match self.receiver[call] {
            ProgramCall::Receive(asked) | ProgramCall::ReceiveInstead { asked, .. } | ProgramCall::Poll(asked) => asked,
            ProgramCall::CancelReceive(_) | ProgramCall::SendToItself(_) => return None,
        };
        Some(MatchPattern::new(source.map(Rank::new), tag, 0))
    }

    /// Checks whether the receiver polls.
    pub fn polls(&self) -> bool {
        self.receiver.iter().any(|call| matches!(call, ProgramCall::Poll(_)))
    }

    /// Returns the senders' ranks.
    pub fn ranks(&self) -> impl Iterator<Item = u8> + use<> {
        1..self.nodes() as u8
    }

    /// Returns the number of packets, of `packets` in flight, that may be the next to arrive.
    pub(super) fn places(&self, priority: bool, packets: usize) -> u8 {
        let overtakes = if priority {
            self.answers_overtake
        } else {
            self.rts_overtake
        };
        if overtakes { packets as u8 } else { packets.min(1) as u8 }
    }
}

/// Maximum number of messages of one sender.
pub const PER_SENDER: u8 = 16;
/// Sender's number in the bytes of the receiver's self-sends.
pub const ITSELF: u8 = 15;
/// Maximum number of senders.
pub const SENDERS: usize = 3;
