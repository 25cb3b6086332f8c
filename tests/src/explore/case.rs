//! What is explored: the programs of a few nodes, their memory, and what is broken of rules and transport.
#![forbid(unsafe_code)]

use mpi_adi::envelope::{Envelope, Pattern, Tag};
use mpi_adi::request::Mode;
use net_torus::Shape;

use super::rules::Rules;

/// What is explored.
#[derive(Clone, Debug)]
pub struct Case {
    /// By sender: the tags of its messages, in order.
    pub senders: Vec<Vec<Tag>>,
    /// The receives, in order: source (a rank from 1 on) and tag, either `None` for any.
    pub receives: Vec<(Option<u32>, Option<Tag>)>,
    /// Bytes of each message, at least 1.
    pub len: usize,
    /// Synchronous or standard sends.
    pub mode: Mode,
    /// The message of each sender with this number is synchronous, whatever the others are.
    pub synchronous: Option<usize>,
    /// Bytes of the receiver's MPI memory.
    pub mpi_memory: usize,
    /// Answers of one node that can be under way at once, at least 1.
    pub answers: usize,
    /// The senders' calls are made before everything else. Fewer states; what new messages do during a
    /// restart is then left to the cases in which they are not.
    pub sent_early: bool,
    /// The message of sender 1 with this number is cancelled at some moment after its call.
    pub cancel: Option<usize>,
    /// The protocol's rules.
    pub rules: Rules,
    /// RTSs of a pair may overtake one another.
    pub rts_overtake: bool,
    /// Answers of a pair may overtake one another.
    pub answers_overtake: bool,
    /// Of the orders of steps between which there is no difference only some are explored: no restriction,
    /// see [`Memo::persistent_steps`].
    pub reduced: bool,
}

impl Case {
    /// Messages of these tags by sender, received in this order; one byte each, sound rules, a transport
    /// that keeps its promises.
    pub fn new(
        senders: &[&[Tag]],
        receives: &[(Option<u32>, Option<Tag>)],
        mpi_memory: usize,
    ) -> Case {
        Case {
            senders: senders.iter().map(|tags| tags.to_vec()).collect(),
            receives: receives.to_vec(),
            len: 1,
            mode: Mode::Standard,
            synchronous: None,
            mpi_memory,
            answers: usize::MAX,
            sent_early: false,
            cancel: None,
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
        let tag = *self.senders.get(sender)?.get(at)?;
        Some(Envelope {
            source: sender as u32 + 1,
            tag,
            context: 0,
        })
    }

    /// Calls that a rank makes.
    pub fn calls(&self, rank: u8) -> usize {
        match rank {
            0 => self.receives.len(),
            sender => self.senders[usize::from(sender) - 1].len(),
        }
    }

    /// What a receive asks for.
    pub fn pattern(&self, receive: usize) -> Pattern {
        let (source, tag) = self.receives[receive];
        Pattern {
            source,
            tag,
            context: 0,
        }
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
/// Senders at most.
pub const SENDERS: usize = 3;
