//! How far a destination's restart has been carried out.
#![forbid(unsafe_code)]

use crate::wire::ROOM_FOR_ALL;

/// Messages to one destination that may be unanswered at once while others to it stand refused: what each
/// restart makes stale and has to be offered again is bounded by this.
pub const WINDOW: u32 = 16;

/// How far the receiver's restart has been carried out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum RestartState {
    /// There is none, or it has been closed.
    Closed,
    /// An offer was not judged, so a restart is on its way: it would be no use to offer anything before it.
    Expected,
    /// It has come: nothing is offered before every offer under way has its answer.
    Waiting {
        /// Messages from the head of the queue that there is room for.
        room: WireRoom,
    },
    /// What is to be offered is known; the first offer, or DONE, closes the restart.
    Closing,
}

/// A restart's room as the wire has it, in two bytes that begin anywhere: the destination has no more to spare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct WireRoom([u8; 2]);

impl WireRoom {
    pub(super) fn new(room: u16) -> WireRoom {
        WireRoom(room.to_ne_bytes())
    }

    /// Messages.
    pub(super) fn messages(self) -> u32 {
        match u16::from_ne_bytes(self.0) {
            ROOM_FOR_ALL => u32::MAX,
            room => room.into(),
        }
    }
}
