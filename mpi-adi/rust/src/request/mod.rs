//! Requests of nonblocking operations, and their completion (MPI-3.1 section 3.7).
//!
//! A request borrows its buffers, and belongs to a [scope](scope()) that the buffers outlive. The compiler checks that
//! the program does not use a buffer during a transfer:
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::traits::*;
//!
//! /// Sends a value to the right neighbour and receives one from the left.
//! fn shift(world: &impl Communicator, mine: u32) -> u32 {
//!     let (rank, size) = (world.rank(), world.size());
//!     let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
//!     let mut got = 0u32;
//!     mpi::request::scope(|scope| {
//!         let receive = world.process_at_rank(left).immediate_receive_into(scope, &mut got);
//!         let send = world.process_at_rank(right).immediate_send(scope, &mine);
//!         receive.wait();
//!         send.wait();
//!     });
//!     got
//! }
//! ```
//!
//! A receive buffer cannot be read,
//!
//! ```compile_fail,E0502
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn peek(world: &impl Communicator) {
//! let mut got = 0u32;
//! mpi::request::scope(|scope| {
//!     let receive = world.any_process().immediate_receive_into(scope, &mut got);
//!     assert_eq!(got, 0);
//!     receive.wait();
//! });
//! # }
//! ```
//!
//! a send buffer cannot be written,
//!
//! ```compile_fail,E0506
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn poke(world: &impl Communicator) {
//! let mut data = 1u32;
//! mpi::request::scope(|scope| {
//!     let send = world.process_at_rank(0).immediate_send(scope, &data);
//!     data = 2;
//!     send.wait();
//! });
//! # }
//! ```
//!
//! a buffer cannot be used by two receives at a time,
//!
//! ```compile_fail,E0499
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn twice(world: &impl Communicator) {
//! let mut got = 0u32;
//! mpi::request::scope(|scope| {
//!     let first = world.any_process().immediate_receive_into(scope, &mut got);
//!     let second = world.any_process().immediate_receive_into(scope, &mut got);
//!     first.wait();
//!     second.wait();
//! });
//! # }
//! ```
//!
//! it cannot be dropped before the scope ends,
//!
//! ```compile_fail,E0597
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn short(world: &impl Communicator) {
//! mpi::request::scope(|scope| {
//!     let mine = 3u32;
//!     let send = world.process_at_rank(0).immediate_send(scope, &mine);
//!     core::mem::forget(send);
//! });
//! # }
//! ```
//!
//! and a request cannot leave its scope:
//!
//! ```compile_fail
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn leaves(world: &impl Communicator) {
//! let mine = 3u32;
//! let send = mpi::request::scope(|scope| world.process_at_rank(0).immediate_send(scope, &mine));
//! # }
//! ```
//!
//! # Requests that are dropped
//! A dropped request of a [`LocalScope`] is completed at the end of the scope, which blocks until it is. The drop of a
//! request of the [`StaticScope`] waits for it. (In rsmpi the drop of the first ends the program.) A scope keeps its
//! requests, so that the same holds for a forgotten one.
//!
//! # Errors
//! An error of an operation in progress, a truncated message, is reported on completion: [`Request::try_wait`] returns
//! it; the other calls abort the job.
#![allow(clippy::result_large_err, reason = "what goes on is a value, as in rsmpi")]

mod collection;
mod duplicate;
mod future;
mod generalized;
mod guards;
pub(crate) mod in_flight;
mod scopes;
mod ticket;
mod user_operation;

use alloc::rc::Rc;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

pub use collection::{RequestCollection, multiple_scope, wait_any};
pub use duplicate::DuplicateFuture;
pub use future::ReceiveFuture;
pub(crate) use future::zeroed;
pub use generalized::{
    start_generalized, start_generalized_with_data, try_start_generalized, try_start_generalized_with_data,
};
pub use guards::{CancelGuard, RequestGuard, WaitGuard};
pub use scopes::{LocalScope, Scope, StaticScope, scope};
use ticket::ObservedStatus;
pub(crate) use ticket::{Ticket, TicketKind};
pub use user_operation::{Completion, GeneralizedOperation};

use super::datatype::AsDatatype;
use super::datatype::operands::{BorrowedBuffer, BufferLoan, CollectiveBuffer, TargetOperand};
use super::recording::Fields;
use super::status::Status;
use super::window::{WatchedEvent, WindowRecord};
use midplane_device::memory::Span;
use midplane_objects::error::Error;

/// The traits of this module.
pub mod traits {
    pub use super::{GeneralizedOperation, Scope};
}

/// A nonblocking operation, with the buffer `D` that its completion returns.
#[must_use = "wait for it, or drop it to leave that to the end of the scope"]
pub struct Request<'a, D: ?Sized, S: Scope<'a> = StaticScope> {
    /// `None`: completed, or moved to another request.
    held: Option<S::TicketSlot>,
    /// A pointer, because the buffer may be written until the request is complete.
    data: *const D,
    scope: S,
    // Invariant, like the scope.
    borrowed: PhantomData<(Cell<&'a ()>, &'a D)>,
}

/// Creates a request without a buffer that completes on a condition in a window.
pub(crate) fn complete_when(record: &Rc<WindowRecord>, watched: WatchedEvent) -> Request<'static, ()> {
    let what = TicketKind::OneSided(record.clone(), watched);
    Request::from_ticket(Ticket::new(what, BufferLoan::EMPTY), &(), StaticScope)
}

impl<'a, D: ?Sized, S: Scope<'a>> Request<'a, D, S> {
    /// Creates the request of an operation. The scope has a free slot.
    fn from_ticket(ticket: Ticket, data: *const D, scope: S) -> Self {
        Request {
            held: Some(scope.keep(ticket)),
            data,
            scope,
            borrowed: PhantomData,
        }
    }

    /// Starts an operation by `start`, which returns its ticket. Returns the error of `start`, or [`Error::NoSpace`]
    /// when the scope has no free slot.
    ///
    /// # Safety
    /// `data` and the buffers of the ticket's loans are borrowed for `'a`, exclusively if they are written.
    pub(crate) unsafe fn start(
        scope: S,
        data: *const D,
        start: impl FnOnce() -> Result<Ticket, Error>,
    ) -> Result<Self, Error> {
        scope.prepare()?;
        Ok(Request::from_ticket(start()?, data, scope))
    }

    /// Starts an operation on one buffer by `start`, which receives its elements. Returns the errors of
    /// [`Request::start`] and [`CollectiveBuffer::loan`].
    pub(crate) fn lending(
        scope: S,
        buffer: BorrowedBuffer<'a, D>,
        start: impl FnOnce(Span) -> Result<TicketKind, Error>,
    ) -> Result<Self, Error>
    where
        D: AsDatatype,
    {
        let data = buffer.buffer();
        // SAFETY: the buffer is borrowed for `'a`, exclusively if it is written; the ticket returns the loan.
        unsafe {
            Request::start(scope, data, || {
                let loan = buffer.loan_span()?;
                Ok(Ticket::new(start(loan.span())?, loan))
            })
        }
    }

    /// Adds the request that a call has started to the results of the call.
    pub(crate) fn add_number(fields: &mut Fields, request: Option<&Self>) {
        let number = |request: &Self| request.inspect(|ticket| ticket.number);
        fields.request(request.map(number));
    }

    /// Splits the request into parts that need no drop.
    fn into_parts(self) -> (Ticket, *const D, S) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the scope is read once, because `this` is not dropped.
        let scope = unsafe { core::ptr::read(&this.scope) };
        let held = this.held.take().expect("taken only here and at the end");
        (scope.take_ticket(held), this.data, scope)
    }

    fn inspect<R>(&self, inspect: impl FnOnce(&Ticket) -> R) -> R {
        let held = self.held.as_ref().expect("taken only at the end");
        self.scope.inspect_ticket(held, inspect)
    }

    /// Blocks until the operation is complete (MPI_Wait, MPI-3.1 section 3.7.3). An error aborts the job.
    #[track_caller]
    pub fn wait(self) -> Status {
        self.finish("mpi::request::Request::wait (MPI_Wait)", "MPI_Wait").0
    }

    #[track_caller]
    fn finish(self, name: &'static str, function: &'static str) -> (Status, &'a D) {
        let (ticket, data, _) = self.into_parts();
        let status = ticket.wait_or_end(name, function);
        // SAFETY: borrowed for `'a`, and the operation is complete.
        (status, unsafe { &*data })
    }

    /// Blocks until the operation is complete, and returns its error: [`Error::Truncated`], or that of a collective.
    /// The request is completed even on an error.
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_wait(self) -> Result<Status, Error> {
        self.into_parts().0.wait("MPI_Wait")
    }

    /// [`Request::wait`] without a status.
    #[track_caller]
    pub fn wait_without_status(self) {
        self.wait();
    }

    /// [`Request::wait`] that returns the buffer.
    #[track_caller]
    pub fn wait_for_data(self) -> &'a D {
        let name = "mpi::request::Request::wait_for_data (MPI_Wait)";
        self.finish(name, "MPI_Wait").1
    }

    /// Makes progress, and completes the request like [`Request::wait`] if its operation is complete; otherwise returns
    /// it (MPI_Test, MPI-3.1 section 3.7.3). Does not block.
    #[track_caller]
    pub fn test(self) -> Result<Status, Self> {
        if self.is_complete() { Ok(self.wait()) } else { Err(self) }
    }

    /// [`Request::test`] that returns the buffer, too.
    #[track_caller]
    pub fn test_with_data(self) -> Result<(Status, &'a D), Self> {
        if !self.is_complete() {
            return Err(self);
        }
        let name = "mpi::request::Request::test_with_data (MPI_Test)";
        Ok(self.finish(name, "MPI_Test"))
    }

    /// Makes progress, and checks whether the operation is complete. Does not block.
    pub fn is_complete(&self) -> bool {
        self.inspect(|ticket| ticket.is_complete("MPI_Test"))
    }

    /// Returns the result of [`Request::try_wait`] if the operation is complete, and keeps the request
    /// (MPI_Request_get_status, MPI-3.1 section 3.7.6).
    ///
    /// An error of a collective or of a window operation is reported on completion only. Makes progress; does not
    /// block.
    #[track_caller]
    pub fn get_status(&self) -> Option<Result<Status, Error>> {
        let seen = self.inspect(|ticket| ticket.seen("MPI_Request_get_status"))?;
        Some(match seen {
            ObservedStatus::Known(status) => status,
            ObservedStatus::Asked(open) => open.status(),
        })
    }

    /// Cancels the message if it is not matched yet (MPI_Cancel, MPI-3.1 section 3.8.4).
    ///
    /// The request must be completed in any case; [`Status::is_cancelled`] checks the outcome. Calls the cancel
    /// function of a [`GeneralizedOperation`] operation. Does not block. Aborts the job for a collective, which cannot be
    /// cancelled (section 5.12).
    pub fn cancel(&self) {
        if let Some(open) = self.inspect(Ticket::cancel) {
            open.cancel();
        }
    }

    /// Moves the request to a shorter scope. Aborts the job when that has no free slot.
    #[track_caller]
    pub fn shrink_scope_to<'b, S2: Scope<'b>>(self, scope: S2) -> Request<'b, D, S2>
    where
        'a: 'b,
    {
        super::fatal("Request::shrink_scope_to", scope.prepare());
        let (ticket, data, _) = self.into_parts();
        Request::from_ticket(ticket, data, scope)
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Drop for Request<'a, D, S> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.scope.release_ticket(held);
        }
    }
}

opaque!("Request", ['a, D: ?Sized, S: Scope<'a>] Request<'a, D, S>);
