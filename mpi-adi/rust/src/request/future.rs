//! Receive of a value as a future.

use alloc::boxed::Box;
use core::mem::{ManuallyDrop, MaybeUninit};

use super::{Ticket, TicketKind};
use crate::datatype::Equivalence;
use crate::datatype::operands::{TargetOperand, borrow_whole_mut};
use crate::recording::Fields;
use crate::status::Status;
use midplane_objects::error::Error;

/// A receive into its own value on the program's heap. Its drop cancels the receive.
#[must_use = "get what it receives, or drop it to take the receive back"]
pub struct ReceiveFuture<T> {
    /// `None`: completed.
    ticket: Option<Ticket>,
    /// From a box; written until the ticket is complete.
    value: *mut T,
}

pub(crate) fn zeroed<T: Equivalence>() -> T {
    // SAFETY: `Equivalence` guarantees that all-zero bytes are a valid value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

impl<T: Equivalence> ReceiveFuture<T> {
    /// Starts the receive by `start`, and returns its error.
    pub(crate) fn new(
        start: impl FnOnce(midplane_device::memory::Span) -> Result<TicketKind, Error>,
    ) -> Result<Self, Error> {
        let value = Box::into_raw(Box::new(zeroed::<T>()));
        // SAFETY: from a box that exists until the ticket is complete; nothing else points to it.
        let loan = unsafe { borrow_whole_mut(&mut *value).loan_span() };
        let started = loan.and_then(|loan| Ok(Ticket::new(start(loan.span())?, loan)));
        let ticket = started.inspect_err(|_| {
            // SAFETY: from a box, and no operation was started.
            drop(unsafe { Box::from_raw(value) });
        })?;
        let ticket = Some(ticket);
        Ok(ReceiveFuture { ticket, value })
    }

    /// Adds the request that a call has started to the results of the call.
    pub(crate) fn add_number(fields: &mut Fields, future: Option<&Self>) {
        fields.request(
            future
                .and_then(|future| future.ticket.as_ref())
                .map(|ticket| ticket.number),
        );
    }

    /// Blocks until the message is received, and returns the value (MPI_Wait). Aborts the job when the message is
    /// longer than the value.
    ///
    /// # Panics
    /// When the message is empty.
    #[track_caller]
    pub fn get(self) -> (T, Status) {
        let mut this = ManuallyDrop::new(self);
        let ticket = this.ticket.take().expect("taken only at the end");
        let status = ticket.wait_or_end("mpi::request::ReceiveFuture::get (MPI_Wait)", "MPI_Wait");
        // SAFETY: from a box, whose receive is complete.
        let value = unsafe { Box::from_raw(this.value) };
        crate::status::not_empty(&status);
        (*value, status)
    }

    /// Returns the value if the message was received, otherwise the future (MPI_Test). Does not block. Aborts the
    /// job like [`get`](Self::get).
    ///
    /// # Panics
    /// When the message is empty.
    #[cfg_attr(feature = "options", track_caller)]
    pub fn r#try(self) -> Result<(T, Status), Self> {
        let ticket = self.ticket.as_ref();
        if ticket.is_some_and(|ticket| ticket.is_complete("MPI_Test")) {
            Ok(self.get())
        } else {
            Err(self)
        }
    }
}

impl<T> Drop for ReceiveFuture<T> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take().filter(Ticket::can_wait) else {
            // The device may still use the value, so it is not freed.
            return;
        };
        // A receive has no user-defined cancel function to call.
        let _ = ticket.cancel();
        // A message that matched before the cancel may be truncated.
        let _ = ticket.wait("MPI_Wait");
        // SAFETY: from a box, whose receive is complete.
        drop(unsafe { Box::from_raw(self.value) });
    }
}
