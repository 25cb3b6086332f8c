//! Deferred RMA operations, recorded and performed later: those of epochs that were opened without blocking and are not
//! open at their targets yet, and those with requests.

use super::make::no_room;
use super::operations::{Elements, TargetBase};
use super::state::{Hold, Home, Kept, Window};
use super::transport::WindowCondition;
use crate::error::Error;
use midplane_device::memory::Span;
use midplane_device::rma::deferred_ops::RecordedOperation;
use midplane_device::rma::epochs::{WindowSequence, TicketRef, WindowEvent};
use midplane_device::rma::wire::RequestHead;

/// Origin operands of an operation to be recorded; [`Span::EMPTY`] if it has none.
#[derive(Clone, Copy)]
pub struct Operands {
    /// Origin buffer.
    pub from: Span,
    /// Compare buffer of MPI_Compare_and_swap.
    pub compare: Span,
    /// Result buffer.
    pub into: Span,
}

impl<H: Home> Window<'_, H> {
    /// Releases the buffers of completed deferred operations.
    pub fn sweep(&self) -> Result<(), Error> {
        self.with(|state| {
            let is_over =
                |kept: &Kept<H::Hold>| self.is(WindowCondition::Occurred(WindowEvent::Done(kept.operation)));
            // No function of the program and no call runs under this lock, because the device does not call back.
            state.kept.retain(|kept| !is_over(kept).unwrap_or(true));
            Ok(())
        })
    }

    /// Records an operation on `bytes` packed bytes, at least 1, of these elements, in units of `unit` bytes. Returns
    /// its sequence number. Keeps the holds of the operands until it is complete. Fails with [`Error::NoRoom`].
    pub fn defer<E: Elements<Hold = H::Hold>>(
        &self,
        place: &TargetBase,
        (head, operands): (RequestHead, Operands),
        (elements, bytes, unit): (&E, usize, usize),
        [first, second, third]: [Option<H::Hold>; 3],
        told: TicketRef,
    ) -> Result<WindowSequence, Error> {
        self.sweep()?;
        let to = elements.places(place.base as usize, bytes)?;
        self.with(|state| {
            let none = |_| no_room::<Kept<H::Hold>>(1);
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
        let of = (place.epoch, place.rank);
        let operation = self.record_operation(of, operation, told)?;
        let holds = [first, second, third, Some(to)];
        let is_held = |hold: &H::Hold| hold.span().is_typed();
        self.with(|state| {
            // Later operations on this target wait for it.
            for opened in state.access.opened() {
                (opened.is_ready, opened.ready_at) = (false, None);
            }
            if holds.iter().flatten().any(is_held) {
                state.kept.push(Kept {
                    operation,
                    _holds: holds,
                });
            }
            Ok(())
        })?;
        Ok(operation)
    }
}
