//! States and steps of a system, and the names of what must hold in them.
#![forbid(unsafe_code)]

use super::case::SENDERS;

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
/// to the [`System`](super::system::System).
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
