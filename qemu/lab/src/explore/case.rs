//! What is explored: the programs of a few nodes, their memory, and what is broken of rules and transport.
#![forbid(unsafe_code)]

use midplane_device::envelope::{Envelope, Pattern, Rank, Tag};
use midplane_device::matching::Choice;
use midplane_device::request::Mode;
use net_torus::Shape;

use super::rules::Rules;

/// What a receive asks for: a source (a rank from 1 on, or 0 for the receiver itself) and a tag, either `None` for any.
pub type Asked = (Option<u32>, Option<Tag>);

/// A call of the receiver's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// MPI_Irecv.
    Receive(Asked),
    /// MPI_Cancel of the receive that the call of this number has started, and MPI_Wait if it was in time; or
    /// MPI_Request_free, after which it is gone.
    CancelReceive(usize),
    /// MPI_Irecv, if the receive that call `of` has started was cancelled in time: whoever has lost no message
    /// has none to receive again.
    ReceiveInstead {
        /// Which call.
        of: usize,
        /// What is asked for now.
        asked: Asked,
    },
    /// MPI_Irecv, MPI_Cancel and MPI_Wait, again and again until a message has come. Between the calls the network may do
    /// anything. All receives of a case that polls are polled, so one is posted at a time.
    Poll(Asked),
    /// MPI_Isend to the receiver itself, with this tag.
    SendToItself(Tag),
}

/// Bytes of a sender's MPI memory where nothing else is said: room for all that it sends.
const SENDER_MEMORY: usize = 1 << 10;

/// What is explored.
#[derive(Clone, Debug)]
pub struct Case {
    /// By sender: the tags of its messages, in order.
    pub senders: Vec<Vec<Tag>>,
    /// The receiver's calls, in order.
    pub receiver: Vec<Call>,
    /// Bytes of each message, at least 1.
    pub len: usize,
    /// Synchronous or standard sends.
    pub mode: Mode,
    /// The message of each sender with this number is synchronous, whatever the others are.
    pub synchronous: Option<usize>,
    /// Bytes of the receiver's MPI memory.
    pub mpi_memory: usize,
    /// Bytes of each sender's. It receives nothing, and takes the receiver's for as large.
    pub sender_memory: usize,
    /// Answers of one node that can be under way at once, at least 1.
    pub answers: usize,
    /// The senders' calls are made before everything else. Fewer states; what new messages do during a
    /// restart is then left to the cases in which they are not.
    pub sent_early: bool,
    /// The message of sender 1 with this number is cancelled at some moment after its call.
    pub cancel: Option<usize>,
    /// The matching engine of all nodes. How many states there are does not depend on it.
    pub matching: Choice,
    /// The protocol's rules.
    pub rules: Rules,
    /// RTSs of a pair may overtake one another.
    pub rts_overtake: bool,
    /// Answers of a pair may overtake one another.
    pub answers_overtake: bool,
    /// Of the orders of steps between which there is no difference only some are explored: no restriction,
    /// see `persistent_steps` in steps.rs.
    pub reduced: bool,
}

impl Case {
    /// Messages of these tags by sender, received in this order; one byte each, sound rules, a transport
    /// that keeps its promises.
    pub fn new(senders: &[&[Tag]], receives: &[Asked], mpi_memory: usize) -> Case {
        Case {
            senders: senders.iter().map(|tags| tags.to_vec()).collect(),
            receiver: receives.iter().copied().map(Call::Receive).collect(),
            len: 1,
            mode: Mode::Standard,
            synchronous: None,
            mpi_memory,
            sender_memory: SENDER_MEMORY,
            answers: usize::MAX,
            sent_early: false,
            cancel: None,
            matching: Choice::default(),
            rules: Rules::SOUND,
            rts_overtake: false,
            answers_overtake: false,
            reduced: false,
        }
    }

    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.senders.len() + 1
    }

    /// The machine.
    pub fn shape(&self) -> Shape {
        Shape::new([self.nodes() as u16, 1, 1], [true; 3]).expect("a few nodes")
    }

    /// The message with which the byte `number` travels.
    pub fn message(&self, number: u8) -> Option<Envelope> {
        let (sender, at) = (
            usize::from(number / PER_SENDER),
            usize::from(number % PER_SENDER),
        );
        let (source, tag) = if number / PER_SENDER == ITSELF {
            let Call::SendToItself(tag) = *self.receiver.get(at)? else {
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

    /// Calls that a rank makes.
    pub fn calls(&self, rank: u8) -> usize {
        match rank {
            0 => self.receiver.len(),
            sender => self.senders[usize::from(sender) - 1].len(),
        }
    }

    /// What a call of the receiver asks for, if it starts a receive.
    pub fn pattern(&self, call: usize) -> Option<Pattern> {
        let (source, tag) = match self.receiver[call] {
            Call::Receive(asked) | Call::ReceiveInstead { asked, .. } | Call::Poll(asked) => asked,
            Call::CancelReceive(_) | Call::SendToItself(_) => return None,
        };
        Some(Pattern::new(source.map(Rank::new), tag, 0))
    }

    /// The receiver polls.
    pub fn polls(&self) -> bool {
        self.receiver
            .iter()
            .any(|call| matches!(call, Call::Poll(_)))
    }

    /// The senders' ranks.
    pub fn ranks(&self) -> impl Iterator<Item = u8> + use<> {
        1..self.nodes() as u8
    }

    /// How many of so many packets under way may be the next to arrive.
    pub(super) fn places(&self, priority: bool, packets: usize) -> u8 {
        let overtakes = if priority {
            self.answers_overtake
        } else {
            self.rts_overtake
        };
        if overtakes {
            packets as u8
        } else {
            packets.min(1) as u8
        }
    }
}

/// Messages of one sender at most.
pub const PER_SENDER: u8 = 16;
/// What stands for the sender's number in the bytes of messages of the receiver to itself.
pub const ITSELF: u8 = 15;
/// Senders at most.
pub const SENDERS: usize = 3;
