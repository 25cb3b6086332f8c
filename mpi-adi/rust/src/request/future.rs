//! A value that will have been received.

use alloc::boxed::Box;
use core::mem::{ManuallyDrop, MaybeUninit};

use super::{Ticket, What};
use crate::datatype::Equivalence;
use crate::datatype::lent::{Operand, whole_mut};
use crate::status::Status;
use midplane_objects::error::Error;

/// A receive under way into a value of its own, in the program's heap. When it is dropped, the receive is taken back.
#[must_use = "get what it receives, or drop it to take the receive back"]
pub struct ReceiveFuture<T> {
    /// `None`: it has been completed.
    ticket: Option<Ticket>,
    /// From a box; written until the ticket has been waited for.
    value: *mut T,
}

/// A value of zeros.
pub(crate) fn zeroed<T: Equivalence>() -> T {
    // SAFETY: `Equivalence` says that zeros are a value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

impl<T: Equivalence> ReceiveFuture<T> {
    /// Starts the receive by `start`. Fails as that does.
    pub(crate) fn new(
        start: impl FnOnce(midplane_device::memory::Span) -> Result<What, Error>,
    ) -> Result<Self, Error> {
        let value = Box::into_raw(Box::new(zeroed::<T>()));
        // SAFETY: from a box, which is here until the ticket has been waited for; nothing else leads to it.
        let loan = unsafe { whole_mut(&mut *value).loan_span() };
        let started = loan.and_then(|loan| Ok(Ticket::new(start(loan.span())?, loan)));
        let ticket = started.inspect_err(|_| {
            // SAFETY: from a box, and nothing has been started.
            drop(unsafe { Box::from_raw(value) });
        })?;
        let ticket = Some(ticket);
        Ok(ReceiveFuture { ticket, value })
    }

    /// Blocks until the message is there, and gives the value (MPI_Wait). Ends the job when the message is longer than
    /// the value.
    ///
    /// # Panics
    /// When the message is empty.
    #[track_caller]
    pub fn get(self) -> (T, Status) {
        let mut this = ManuallyDrop::new(self);
        let ticket = this.ticket.take().expect("taken only at the end");
        let status = ticket.wait_or_end("mpi::request::ReceiveFuture::get (MPI_Wait)", "MPI_Wait");
        // SAFETY: from a box, whose receive is over.
        let value = unsafe { Box::from_raw(this.value) };
        crate::status::not_empty(&status);
        (*value, status)
    }

    /// The value if the message is there, else the receive (MPI_Test). Does not block, and is otherwise as
    /// [`get`](Self::get).
    ///
    /// # Panics
    /// As there.
    pub fn r#try(self) -> Result<(T, Status), Self> {
        let ticket = self.ticket.as_ref();
        match ticket.is_some_and(|ticket| ticket.is_complete("MPI_Test")) {
            true => Ok(self.get()),
            false => Err(self),
        }
    }
}

impl<T> Drop for ReceiveFuture<T> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take().filter(Ticket::can_wait) else {
            // The value stays where it is: so does what the device knows of it.
            return;
        };
        // A receive has nothing of the program's to tell.
        let _ = ticket.cancel();
        // A message that came all the same may have been too long.
        let _ = ticket.wait("MPI_Wait");
        // SAFETY: from a box, whose receive is over.
        drop(unsafe { Box::from_raw(self.value) });
    }
}
