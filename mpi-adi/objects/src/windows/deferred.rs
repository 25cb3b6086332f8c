//! Deferred RMA operations, recorded and performed later: those of epochs that were opened without blocking and are not
//! open at their targets yet, and those with requests.

use super::creation::no_space;
use super::operations::{TargetBase, TargetElements, TargetRegion};
use super::state::{BufferHold, DeferredResources, StateOwner, Window};
use super::transport::WindowCondition;
use crate::error::Error;
use midplane_device::memory::Span;
use midplane_device::rma::deferred_ops::RecordedOperation;
use midplane_device::rma::epochs::{TicketRef, WindowEvent, WindowSequence};
use midplane_device::rma::wire::RequestHead;

/// Origin operands of an operation to be recorded; [`Span::EMPTY`] if it has none.
#[derive(Clone, Copy)]
pub struct OriginSpans {
    /// Origin buffer.
    pub from: Span,
    /// Compare buffer of MPI_Compare_and_swap.
    pub compare: Span,
    /// Result buffer.
    pub into: Span,
}

impl<H: StateOwner> Window<'_, H> {
    /// Releases the buffers of completed deferred operations.
    pub fn sweep(&self) -> Result<(), Error> {
        self.with(|state| {
            let is_over = |kept: &DeferredResources<H::BufferHold>| {
                self.is(WindowCondition::Occurred(WindowEvent::Done(kept.operation)))
            };
            // No function of the program and no call runs under this lock, because the device does not call back.
            state.kept.retain(|kept| !is_over(kept).unwrap_or(true));
            Ok(())
        })
    }

    /// Records an operation on `bytes` packed bytes, at least 1, of these elements, in units of `unit` bytes. Returns
    /// its sequence number. Keeps the holds of the operands until it is complete. Fails with [`Error::NoSpace`].
    pub fn defer<E: TargetElements<BufferHold = H::BufferHold>>(
        &self,
        place: &TargetBase,
        head: RequestHead,
        operands: OriginSpans,
        region: TargetRegion<'_, E>,
        [first, second, third]: [Option<H::BufferHold>; 3],
        told: TicketRef,
    ) -> Result<WindowSequence, Error> {
        let TargetRegion { elements, bytes, unit } = region;
        self.sweep()?;
        let to = elements.places(place.base as usize, bytes)?;
        self.with(|state| {
            let none = |_| no_space::<DeferredResources<H::BufferHold>>(1);
            state.kept.try_reserve(1).map_err(none)
        })?;
        let operation = RecordedOperation {
            head,
            from: operands.from,
            compare: operands.compare,
            into: operands.into,
            to: to.span(),
            len: bytes,
            unit,
        };
        let operation = self.record_operation(place.epoch, place.rank, operation, told)?;
        let holds = [first, second, third, Some(to)];
        let is_held = |hold: &H::BufferHold| hold.span().is_typed();
        self.with(|state| {
            // Later operations on this target wait for it.
            for opened in state.access.opened() {
                (opened.is_ready, opened.ready_at) = (false, None);
            }
            if holds.iter().flatten().any(is_held) {
                state.kept.push(DeferredResources {
                    operation,
                    _holds: holds,
                });
            }
            Ok(())
        })?;
        Ok(operation)
    }
}
