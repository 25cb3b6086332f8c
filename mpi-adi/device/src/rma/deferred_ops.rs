//! Records of deferred operations and flushes: those of epochs that have not begun, those whose targets have not granted
//! access yet, and those with a request of the program.
//!
//! A record contains the call's arguments: spans and no bytes. Both spans are walked packet by packet in its turn, so
//! that no memory is used for the data. The buffers stay in use until then, as the standard specifies.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use crate::envelope::Rank;
use crate::memory::Span;
use crate::rma::epochs::{TicketRef, WindowSequence};
use crate::rma::wire::RequestHead;

/// A recorded operation.
#[derive(Clone, Copy, Hash, Debug)]
pub struct RecordedOperation {
    /// Kind, operation and elements.
    pub head: RequestHead,
    /// The origin's bytes; for a compare, the new element. Empty when there are none.
    pub from: Span,
    /// The element to compare with.
    pub compare: Span,
    /// The result buffer.
    pub into: Span,
    /// The bytes at the target: a span of displacements.
    pub to: Span,
    /// Length in bytes, 1 or more.
    pub len: usize,
    /// Bytes that must not be split.
    pub unit: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum DeferredAction {
    Operation {
        operation: RecordedOperation,
        /// Bytes that have been sent or requested.
        done: usize,
        /// A result is outstanding, before which nothing more is requested.
        is_asking: bool,
    },
    Flush {
        /// Local completion only: the origin's buffers can be reused.
        is_local: bool,
        /// Processes before this one have been flushed.
        from: u32,
        /// Set when all have been flushed: replies with a lower number are outstanding.
        number: Option<u64>,
    },
    Done,
}

/// A deferred operation or flush.
#[derive(Clone, Debug)]
pub struct DeferredEntry {
    pub(super) serial: WindowSequence,
    pub(super) epoch: WindowSequence,
    /// Of a flush: `None` means all targets.
    pub(super) target: Option<Rank>,
    pub(super) what: DeferredAction,
    pub(super) told: TicketRef,
}

/// Size of a record in bytes.
pub const DEFERRED_BYTES: usize = size_of::<DeferredEntry>();

impl Hash for DeferredEntry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.serial, self.epoch, self.target).hash(state);
        match self.what {
            DeferredAction::Operation { done, is_asking, .. } => (done, is_asking).hash(state),
            DeferredAction::Flush { from, number, .. } => (from, number.is_some()).hash(state),
            DeferredAction::Done => {}
        }
    }
}

impl DeferredEntry {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.what, DeferredAction::Done)
    }

    /// Returns whether it has this sequence number and is incomplete.
    pub(super) fn waits(&self, serial: WindowSequence) -> bool {
        self.serial == serial && !self.is_done()
    }

    /// Returns whether part of it is still to be sent.
    pub(super) fn has_pending_tx(&self) -> bool {
        match self.what {
            DeferredAction::Operation {
                operation,
                done,
                is_asking,
            } => done < operation.len || is_asking,
            _ => false,
        }
    }

    /// Records that `bytes` more bytes have been sent, and whether a reply is outstanding for the rest.
    pub(super) fn count_sent(&mut self, bytes: usize, asks: bool) {
        if let DeferredAction::Operation { done, is_asking, .. } = &mut self.what {
            (*done, *is_asking) = (*done + bytes, asks);
        }
    }

    pub(super) fn is_for(&self, target: Option<Rank>) -> bool {
        self.target.is_none() || target.is_none() || self.target == target
    }

    pub(super) fn end(&mut self, is_faulty: bool) {
        self.what = DeferredAction::Done;
        if let Some(ticket) = self.told.take() {
            ticket.end(is_faulty);
        }
    }
}
