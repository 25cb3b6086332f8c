//! States and steps of a system, and the names of the properties.
#![forbid(unsafe_code)]

use super::case::SENDERS;

/// Messages are matched according to MPI-3.1 section 3.5, each once and completely.
pub const ORDER: &str = "matching order";
/// The receiver uses no more MPI memory than it owns.
pub const MEMORY: &str = "memory within its size";
/// Every packet is valid in its receiver's state.
pub const EXPECTED: &str = "every packet is expected";
/// No livelock: no run returns to an earlier state.
pub const ENOUGH: &str = "no run goes on without end";
/// No deadlock, and no resources in use at the end.
pub const END: &str = "every run comes to its end";

/// State of all nodes and the network. Its parts are indexes into the tables of the [`CaseSystem`](super::system::CaseSystem).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GlobalState {
    pub(super) receiver: u32,
    pub(super) sides: [u32; SENDERS],
}

impl GlobalState {
    /// Returns the state as numbers.
    pub fn parts(&self) -> [u32; 1 + SENDERS] {
        let [a, b, c] = self.sides;
        [self.receiver, a, b, c]
    }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlobalStep {
    /// The next call of a rank's program.
    Call(u8),
    /// Sender 1 cancels a message.
    Cancel,
    /// The destination receives the packet at this position of this channel.
    Receive {
        /// Its class.
        priority: bool,
        /// Its sender.
        source: u8,
        /// Its receiver.
        dest: u8,
        /// Number of packets that it overtakes.
        place: u8,
    },
    /// The receiver receives the next packet that it has sent to itself.
    ReceiveOwn {
        /// Its class.
        priority: bool,
    },
    /// A rank injects a packet.
    Inject {
        /// The rank.
        rank: u8,
        /// Its class.
        priority: bool,
    },
}
