//! Progress of a destination's restart.
#![forbid(unsafe_code)]

use crate::wire::ROOM_FOR_ALL;

/// Maximum number of unanswered RTSs to one destination while others to it are rejected. It bounds the RTSs that each
/// restart makes stale and that must be repeated.
pub const WINDOW: u32 = 16;

/// State of the receiver's restart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum RestartState {
    /// None, or closed.
    Closed,
    /// A stale RTS was rejected, so a restart is in flight: an RTS before it would be useless.
    Expected,
    /// Received: no RTS is sent before every RTS in flight has its reply.
    Waiting {
        /// `room` of the restart: messages from the head of the queue.
        room: WireSpace,
    },
    /// The requested messages are known; the first RTS, or DONE, closes the restart.
    Closing,
}

/// `room` of a restart as on the wire, in two unaligned bytes, to save space in the destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct WireSpace([u8; 2]);

impl WireSpace {
    pub(super) fn new(room: u16) -> WireSpace {
        WireSpace(room.to_ne_bytes())
    }

    /// Returns the number of messages.
    pub(super) fn messages(self) -> u32 {
        match u16::from_ne_bytes(self.0) {
            ROOM_FOR_ALL => u32::MAX,
            room => room.into(),
        }
    }
}
