//! Device calls for windows: packets to a target, and waiting for its replies. Only this module enters the device, with
//! plain data, and only once per call where possible.

use super::creation::no_space;
use super::state::{PartExtent, StateOwner, Window, no_window, wrong};
use crate::error::{Error, ErrorClass};
use crate::slice_spans::with_writable_span;
use midplane_device::envelope::Rank;
use midplane_device::kernel::CallInfo;
use midplane_device::memory::Span;
pub use midplane_device::rma::calls::WindowCondition;
use midplane_device::rma::calls::{EpochCall, OneSidedCalls, RmaTransfer, WindowCall, WindowChange, WindowError};
use midplane_device::rma::deferred_ops::RecordedOperation;
use midplane_device::rma::epochs::{EpochArgs, ReorderFlags, TicketRef, WindowSequence};
use midplane_device::rma::wire::{HEAD_BYTES, PacketKind, RequestHead};
use midplane_device::rma::{DataPieces, ReplyPurpose, TargetRequest};

/// Error that a target detects, and reports on request.
pub const BEYOND: Error = wrong(
    ErrorClass::RmaRange,
    "an operation since the last synchronization was beyond what its target exposes, and not done",
);

fn fault(is_faulty: bool) -> Result<(), Error> {
    if is_faulty { Err(BEYOND) } else { Ok(()) }
}

/// Converts the error of a device call that would have allocated `count` values of `T`.
fn refused<T>(count: usize) -> impl Fn(WindowError) -> Error {
    move |why| match why {
        WindowError::NoWindow | WindowError::NotIncluded => no_window(),
        WindowError::OutOfMemory => no_space::<T>(count),
        WindowError::Overlaps => wrong(ErrorClass::RmaAttach, "some of the memory is attached already"),
        WindowError::NotAttached => wrong(ErrorClass::RmaAttach, "no memory is attached that begins there"),
    }
}

impl<H: StateOwner> Window<'_, H> {
    /// Returns the record of the call for hang diagnosis.
    pub fn note(&self, target: Option<Rank>) -> CallInfo {
        CallInfo {
            function: self.function,
            peer: target.map(|target| target.index() as i32),
            tag: None,
        }
    }

    /// Waits until the condition is true.
    pub fn wait(&self, target: Option<Rank>, until: WindowCondition) {
        let note = self.note(target);
        self.env.wait_for_window(note, self.context(), until, false);
    }

    /// Waits until the condition is true. Fails if targets have rejected operations of this process.
    pub fn finish(&self, target: Option<Rank>, until: WindowCondition) -> Result<(), Error> {
        let note = self.note(target);
        fault(self.env.wait_for_window(note, self.context(), until, true))
    }

    /// Checks the condition. Does not block.
    pub fn is(&self, until: WindowCondition) -> Result<bool, Error> {
        let checked = self.env.check_window(self.context(), until, false);
        Ok(checked.map_err(refused::<()>(0))?.is_true)
    }

    /// Fails if targets have rejected operations of this process.
    pub fn faults(&self) -> Result<(), Error> {
        let checked = self.env.check_window(self.context(), WindowCondition::Now, true);
        fault(checked.map_err(refused::<()>(0))?.is_faulty)
    }

    /// Reserves device memory for another epoch. Fails with [`Error::NoSpace`].
    pub fn prepare_epoch(&self) -> Result<(), Error> {
        let prepared = self.env.call_epoch(self.context(), EpochCall::Prepare);
        prepared.map(|_| ()).map_err(refused::<WindowSequence>(8))
    }

    /// Opens an epoch at the device. Fails with [`Error::NoSpace`].
    pub fn open_epoch(&self, opening: EpochArgs<'_>, told: TicketRef) -> Result<WindowSequence, Error> {
        let members = opening.members.len();
        let opened = { self.env }.call_epoch(self.context(), EpochCall::Open(opening, told));
        opened.map_err(refused::<WindowSequence>(8 + members))
    }

    /// Closes an epoch and requests the notification `told`.
    pub fn close_epoch(&self, epoch: WindowSequence, told: TicketRef) -> Result<(), Error> {
        let closed = { self.env }.call_epoch(self.context(), EpochCall::Close(epoch, told));
        closed.map(|_| ()).map_err(refused::<()>(0))
    }

    /// Checks the epoch's access to the target: `None` if the epoch does not include it; otherwise whether operations
    /// may be transmitted now. Requests the lock, if one is required.
    pub fn access(&self, epoch: WindowSequence, target: Rank) -> Result<Option<bool>, Error> {
        match self.env.access_target(self.context(), epoch, target) {
            Ok(has_access) => Ok(Some(has_access)),
            Err(WindowError::NotIncluded) => Ok(None),
            Err(why) => Err(refused::<()>(0)(why)),
        }
    }

    /// Records a flush at the device. Fails with [`Error::NoSpace`].
    pub fn record_flush(
        &self,
        target: Option<Rank>,
        epoch: WindowSequence,
        is_local: bool,
        told: TicketRef,
    ) -> Result<WindowSequence, Error> {
        let call = EpochCall::Flush {
            epoch,
            target,
            is_local,
            told,
        };
        let flush = self.env.call_epoch(self.context(), call);
        flush.map_err(refused::<WindowSequence>(8))
    }

    /// Flushes, and waits for completion. Fails with [`Error::NoSpace`], and if targets have rejected operations of this
    /// process.
    pub fn run_flush(&self, target: Option<Rank>, epoch: WindowSequence, is_local: bool) -> Result<(), Error> {
        let note = self.note(target);
        let flushed = self.env.flush_and_wait(note, self.context(), epoch, target, is_local);
        fault(flushed.map_err(refused::<WindowSequence>(8))?)
    }

    /// Records an operation at the device. Fails with [`Error::NoSpace`].
    pub fn record_operation(
        &self,
        epoch: WindowSequence,
        target: Rank,
        operation: RecordedOperation,
        told: TicketRef,
    ) -> Result<WindowSequence, Error> {
        let call = EpochCall::Record {
            epoch,
            target,
            operation,
            told,
        };
        let recorded = self.env.call_epoch(self.context(), call);
        recorded.map_err(refused::<RecordedOperation>(1))
    }

    /// Copies the pieces to packets, and transmits all except those kept for coalescing. Waits while there is no space.
    pub fn put(&self, mut pieces: DataPieces) {
        let note = self.note(Some(pieces.target));
        let transfer = RmaTransfer::Pieces(&mut pieces);
        self.env.transfer(note, self.context(), transfer);
    }

    /// Transmits a request packet that requires a reply. Waits while there is no space for it.
    pub fn ask(&self, question: &TargetRequest<'_>) {
        let note = self.note(Some(question.target));
        let transfer = RmaTransfer::Request(question);
        self.env.transfer(note, self.context(), transfer);
    }

    /// Checks whether the target rejected the last fetch of a long result. If so, it must be repeated.
    pub fn take_refused(&self) -> bool {
        self.env.reset_rejected()
    }

    /// Waits for all replies, or for those of `target`.
    pub fn drain(&self, target: Option<Rank>) {
        self.wait(target, WindowCondition::Answered(target));
    }

    /// Sets the reordering of epochs.
    pub fn set_reorder(&self, reorder: ReorderFlags) {
        // A window that no longer exists has no epochs.
        let _ = self.change(WindowCall::SetReorder(reorder));
    }

    /// Returns the reordering of epochs.
    pub fn reorder(&self) -> ReorderFlags {
        match self.change(WindowCall::Reorder) {
            Ok(WindowChange::Reorder(reorder)) => reorder,
            _ => ReorderFlags::default(),
        }
    }

    /// Withdraws or restores the window's memory. Meanwhile, operations of other processes on it are out of range.
    pub fn withdraw(&self, is_withdrawn: bool) {
        // A window that no longer exists exposes no memory.
        let _ = self.change(WindowCall::Withdraw(is_withdrawn));
    }

    /// Attaches memory to a dynamic window. Fails with class RmaAttach, and with [`Error::NoSpace`].
    pub fn attach(&self, memory: Span) -> Result<(), Error> {
        self.change(WindowCall::Attach(memory)).map(|_| ())
    }

    /// Detaches the memory that begins at `base`. Fails with class RmaAttach.
    pub fn detach(&self, base: usize) -> Result<Span, Error> {
        match self.change(WindowCall::Detach(base))? {
            WindowChange::Detached(memory) => Ok(memory),
            _ => Ok(Span::EMPTY),
        }
    }

    fn change(&self, call: WindowCall) -> Result<WindowChange, Error> {
        let changed = self.env.change_window(self.context(), call);
        changed.map_err(refused::<Span>(1))
    }

    /// Returns a packet of this kind that consists of the header only.
    pub fn head(&self, kind: PacketKind, operation: u8) -> [u8; HEAD_BYTES] {
        let mut packet = [0; HEAD_BYTES];
        let head = RequestHead {
            operation,
            ..RequestHead::new(kind, self.context())
        };
        head.emit(&mut packet);
        packet
    }

    /// Returns the extent of the target's part of the window.
    pub fn extent(&self, target: Rank) -> Result<PartExtent, Error> {
        let find = |(rank, _): &(Rank, PartExtent)| rank.index();
        let known = self.with(|object| {
            let place = object.extents.binary_search_by_key(&target.index(), find);
            Ok(object.uniform.or(place.ok().map(|at| object.extents[at].1)))
        })?;
        if let Some(extent) = known {
            return Ok(extent);
        }
        let mut bytes = [0u8; 16];
        with_writable_span(&mut bytes, |span| {
            let packet = self.head(PacketKind::Size, 0);
            self.ask(&TargetRequest {
                target,
                awaited: ReplyPurpose::Result(16),
                into: (span, 0),
                packet: &packet,
                operands: &[],
            });
            self.drain(Some(target));
        });
        let word = |at: usize| bytes[at..].first_chunk().copied().unwrap_or_default();
        let extent = PartExtent {
            size: u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default()),
            disp_unit: u32::from_le_bytes(word(8)),
        };
        self.with(|object| {
            let none = |_| Error::NoSpace {
                bytes: size_of::<(Rank, PartExtent)>(),
            };
            object.extents.try_reserve(1).map_err(none)?;
            if let Err(at) = object.extents.binary_search_by_key(&target.index(), find) {
                object.extents.insert(at, (target, extent));
            }
            Ok(extent)
        })
    }
}
