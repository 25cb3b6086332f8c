//! Status record of a board, as it arrives through the console relay: in parts, each from its end to its start.
//!
//! A command may start in the middle of a transfer, so that the parts before are lost to it. A record without its end
//! would show a failure without its message, and a failure without the memory sent before it has no source location. The
//! board repeats both, so an incomplete transfer is left for the next one.
//!
//! ```text
//!  of a board that runs         record | record | ..
//!  of a board that has ended    memory that explains its end, record | memory, record | ..
//! ```

use midplane_abi::blackboard::{self, BlackboardSnapshot, NodeState};

/// Result of a received part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferStep<'t> {
    /// More parts follow, or the transfer began before this command.
    Incomplete,
    /// The board has ended; the memory that explains it began before this command. The board repeats it.
    Unexplained,
    /// The entire record.
    Complete(&'t [u8]),
}

/// Transfer of one board's status record.
pub struct AccountTransfer {
    bytes: [u8; blackboard::BYTES],
    /// The record has been received from this offset to its end; its length if nothing was received.
    from: usize,
    /// The last part belonged to the record.
    was_record: bool,
    /// The first part of the current transfer was received.
    has_begin: bool,
    /// The board has ended, and its memory is still to be received.
    is_unexplained: bool,
}

impl AccountTransfer {
    /// Creates a transfer of which nothing has been received.
    pub const fn new() -> Self {
        Self {
            bytes: [0; blackboard::BYTES],
            from: blackboard::BYTES,
            was_record: false,
            has_begin: false,
            is_unexplained: false,
        }
    }

    /// Returns whether the board is known to have ended, and a repetition of its memory is awaited.
    pub fn is_unexplained(&self) -> bool {
        self.is_unexplained
    }

    /// Handles a part of the memory that explains the board's end.
    pub fn add_memory(&mut self) {
        self.has_begin |= std::mem::replace(&mut self.was_record, false);
        self.from = blackboard::BYTES;
    }

    /// Handles a part of the record at this offset.
    pub fn add(&mut self, at: usize, part: &[u8]) -> TransferStep<'_> {
        self.was_record = true;
        let end = at.saturating_add(part.len());
        let is_next = end == blackboard::BYTES || (end == self.from && !part.is_empty());
        let Some(place) = self.bytes.get_mut(at..end).filter(|_| is_next) else {
            self.from = blackboard::BYTES;
            return TransferStep::Incomplete;
        };
        place.copy_from_slice(part);
        self.from = at;
        if at > 0 {
            return TransferStep::Incomplete;
        }
        self.from = blackboard::BYTES;
        let state = BlackboardSnapshot::read(&self.bytes).map(|record| record.state);
        let has_ended = matches!(state, Ok(NodeState::Done | NodeState::Failed));
        self.is_unexplained = has_ended && !self.has_begin;
        if self.is_unexplained {
            return TransferStep::Unexplained;
        }
        TransferStep::Complete(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::blackboard::{Blackboard, FailureCode, FinalMessage};
    use std::ops::Range;

    const PART: usize = 100;

    fn running() -> [u8; blackboard::BYTES] {
        let board = Blackboard::new();
        board.begin();
        board.running();
        board.bytes()
    }

    fn failed() -> [u8; blackboard::BYTES] {
        let board = Blackboard::new();
        board.begin();
        board.failed(FailureCode::Fault, 1, FinalMessage::Text("null pointer"));
        board.bytes()
    }

    /// Places of the record's parts in the order of a board.
    fn parts() -> Vec<Range<usize>> {
        let ends = (1..=blackboard::BYTES).rev().step_by(PART);
        ends.map(|end| end.saturating_sub(PART)..end).collect()
    }

    /// Hands over the parts of a record from the one with this index on; returns the last step.
    fn add_from(transfer: &mut AccountTransfer, record: &[u8], first: usize) -> TransferStep<'static> {
        let mut last = TransferStep::Incomplete;
        for part in parts().split_off(first) {
            last = match transfer.add(part.start, &record[part.clone()]) {
                TransferStep::Complete(bytes) => {
                    assert_eq!(bytes, record);
                    TransferStep::Complete(&[])
                }
                TransferStep::Incomplete => TransferStep::Incomplete,
                TransferStep::Unexplained => TransferStep::Unexplained,
            };
        }
        last
    }

    #[test]
    fn a_record_counts_when_all_of_it_has_come() {
        let mut transfer = AccountTransfer::new();
        for first in 1..parts().len() {
            assert_eq!(add_from(&mut transfer, &running(), first), TransferStep::Incomplete);
        }
        assert_eq!(add_from(&mut transfer, &running(), 0), TransferStep::Complete(&[]));
        assert_eq!(add_from(&mut transfer, &running(), 0), TransferStep::Complete(&[]));
    }

    #[test]
    fn a_failure_counts_with_the_memory_before_it() {
        let mut transfer = AccountTransfer::new();
        transfer.add_memory();
        assert_eq!(add_from(&mut transfer, &failed(), 0), TransferStep::Unexplained);
        assert!(transfer.is_unexplained());
        transfer.add_memory();
        assert_eq!(add_from(&mut transfer, &failed(), 0), TransferStep::Complete(&[]));
        assert!(!transfer.is_unexplained());
    }

    /// A state that has changed interrupts the transfer of the one before.
    #[test]
    fn a_failure_in_the_middle_of_a_record_is_explained() {
        for count in 1..parts().len() {
            let mut transfer = AccountTransfer::new();
            for part in parts().drain(..count) {
                assert_eq!(transfer.add(part.start, &running()[part]), TransferStep::Incomplete);
            }
            transfer.add_memory();
            assert_eq!(
                add_from(&mut transfer, &failed(), 0),
                TransferStep::Complete(&[]),
                "{count}"
            );
        }
    }

    #[test]
    fn parts_that_are_no_places_of_the_record_are_ignored() {
        let mut transfer = AccountTransfer::new();
        for at in [0, 1, blackboard::BYTES, usize::MAX] {
            assert_eq!(transfer.add(at, &[0; 8]), TransferStep::Incomplete);
        }
        assert_eq!(transfer.add(0, &[]), TransferStep::Incomplete);
        assert_eq!(add_from(&mut transfer, &running(), 0), TransferStep::Complete(&[]));
    }
}
