//! Requests: what does not block, and how it is completed (MPI-3.1 section 3.7).
//!
//! A request borrows its buffers, and belongs to a [scope](scope()) that the buffers outlive. So no buffer is used while a
//! message goes from it or comes into it, which the compiler checks:
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::traits::*;
//!
//! /// Gives the right neighbour a number and gets one from the left.
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
//! A buffer under way cannot be read,
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
//! nor written while it is sent,
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
//! nor be received into twice at a time,
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
//! nor end before the scope does,
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
//! nor does a request leave its scope:
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
//! A request of a [`LocalScope`] that is dropped is left to the end of the scope, which blocks until it is complete;
//! one of the [`StaticScope`] is waited for at once. (In rsmpi the first ends the program.) The same holds for one that
//! is forgotten, since a scope knows its requests.
//!
//! # Errors
//! An error of an operation under way, a message that was longer than its buffer, comes when the request is completed:
//! as the result of [`Request::try_wait`], or else it ends the job.
#![allow(
    clippy::result_large_err,
    reason = "what goes on is a value, as in rsmpi"
)]

mod collection;
mod duplicate;
mod future;
mod generalized;
mod guards;
mod scopes;
mod ticket;
pub(crate) mod under_way;

use alloc::rc::Rc;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

pub use collection::{RequestCollection, multiple_scope, wait_any};
pub use duplicate::DuplicateFuture;
pub use future::ReceiveFuture;
pub(crate) use future::zeroed;
pub use generalized::{
    Completion, Generalized, start_generalized, start_generalized_with_data, try_start_generalized,
    try_start_generalized_with_data,
};
pub use guards::{CancelGuard, Guard, WaitGuard};
pub use scopes::{LocalScope, Scope, StaticScope, scope};
use ticket::Seen;
pub(crate) use ticket::{Ticket, What};

use super::datatype::AsDatatype;
use super::datatype::lent::{Lending, Loan, Operand, Side};
use super::status::Status;
use super::window::{Record as Window, Watched};
use midplane_device::memory::Span;
use midplane_objects::error::Error;

/// The traits of this module.
pub mod traits {
    pub use super::{Generalized, Scope};
}

/// An operation under way, with the buffer `D` that it gives back.
#[must_use = "wait for it, or drop it to leave that to the end of the scope"]
pub struct Request<'a, D: ?Sized, S: Scope<'a> = StaticScope> {
    /// `None`: it has been completed, or is another's now.
    held: Option<S::Held>,
    /// Not a reference: it may be written until the request is complete.
    data: *const D,
    scope: S,
    // Invariant, as the scope is.
    borrowed: PhantomData<(Cell<&'a ()>, &'a D)>,
}

/// A request without a buffer, complete when it is so in a window.
pub(crate) fn complete_when(record: &Rc<Window>, watched: Watched) -> Request<'static, ()> {
    let what = What::OneSided(record.clone(), watched);
    Request::of(Ticket::new(what, Loan::EMPTY), &(), StaticScope)
}

impl<'a, D: ?Sized, S: Scope<'a>> Request<'a, D, S> {
    /// Of an operation, for which the scope has room.
    fn of(ticket: Ticket, data: *const D, scope: S) -> Self {
        Request {
            held: Some(scope.keep(ticket)),
            data,
            scope,
            borrowed: PhantomData,
        }
    }

    /// Starts an operation by `start`, which gives its ticket. Fails as `start` does, and with [`Error::NoRoom`] when
    /// the scope has no room for one more request.
    ///
    /// # Safety
    /// `data` and what the ticket's loans are of are borrowed for `'a`, exclusively where they are written.
    pub(crate) unsafe fn start(
        scope: S,
        data: *const D,
        start: impl FnOnce() -> Result<Ticket, Error>,
    ) -> Result<Self, Error> {
        scope.prepare()?;
        Ok(Request::of(start()?, data, scope))
    }

    /// Starts an operation on one buffer, by `start`, which is given its elements. Fails as [`Request::start`], and as
    /// [`Side::loan`].
    pub(crate) fn lending(
        scope: S,
        buffer: Lending<'a, D>,
        start: impl FnOnce(Span) -> Result<What, Error>,
    ) -> Result<Self, Error>
    where
        D: AsDatatype,
    {
        let data = buffer.buffer();
        // SAFETY: it is borrowed for `'a`, exclusively where it is written; the ticket gives the loan back.
        unsafe {
            Request::start(scope, data, || {
                let loan = buffer.loan_span()?;
                Ok(Ticket::new(start(loan.span())?, loan))
            })
        }
    }

    /// It, taken apart; what is left needs no drop.
    fn into_parts(self) -> (Ticket, *const D, S) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: the scope is read once, for `this` is not dropped.
        let scope = unsafe { core::ptr::read(&this.scope) };
        let held = this.held.take().expect("taken only here and at the end");
        (scope.take(held), this.data, scope)
    }

    fn look<R>(&self, look: impl FnOnce(&Ticket) -> R) -> R {
        let held = self.held.as_ref().expect("taken only at the end");
        self.scope.look(held, look)
    }

    /// Blocks until the operation is complete (MPI_Wait, MPI-3.1 section 3.7.3). Its error ends the job.
    #[track_caller]
    pub fn wait(self) -> Status {
        self.finish("mpi::request::Request::wait (MPI_Wait)", "MPI_Wait")
            .0
    }

    #[track_caller]
    fn finish(self, name: &'static str, function: &'static str) -> (Status, &'a D) {
        let (ticket, data, _) = self.into_parts();
        let status = ticket.wait_or_end(name, function);
        // SAFETY: borrowed for `'a`, and the operation is over.
        (status, unsafe { &*data })
    }

    /// As [`Request::wait`], but an error is the result: [`Error::Truncated`], or what a collective fails with. The
    /// operation has ended then, too.
    pub fn try_wait(self) -> Result<Status, Error> {
        self.into_parts().0.wait("MPI_Wait")
    }

    /// As [`Request::wait`], without a status.
    #[track_caller]
    pub fn wait_without_status(self) {
        self.wait();
    }

    /// As [`Request::wait`]; gives the buffer back.
    #[track_caller]
    pub fn wait_for_data(self) -> &'a D {
        let name = "mpi::request::Request::wait_for_data (MPI_Wait)";
        self.finish(name, "MPI_Wait").1
    }

    /// Makes progress, and completes the request if its operation is complete (MPI_Test, MPI-3.1 section 3.7.3), as
    /// [`Request::wait`] does; else gives it back. Does not block.
    #[track_caller]
    pub fn test(self) -> Result<Status, Self> {
        match self.is_complete() {
            true => Ok(self.wait()),
            false => Err(self),
        }
    }

    /// As [`Request::test`]; gives the buffer back, too.
    #[track_caller]
    pub fn test_with_data(self) -> Result<(Status, &'a D), Self> {
        if !self.is_complete() {
            return Err(self);
        }
        let name = "mpi::request::Request::test_with_data (MPI_Test)";
        Ok(self.finish(name, "MPI_Test"))
    }

    /// Makes progress, and says whether [`Request::wait`] would return at once. Does not block.
    pub fn is_complete(&self) -> bool {
        self.look(|ticket| ticket.is_complete("MPI_Test"))
    }

    /// What [`Request::try_wait`] would give, if that would not block; the request stays as it is
    /// (MPI_Request_get_status, MPI-3.1 section 3.7.6). Of a collective, and of what goes on in a window, an error comes when
    /// the request is completed alone. Makes progress, and does not block.
    #[track_caller]
    pub fn get_status(&self) -> Option<Result<Status, Error>> {
        let seen = self.look(|ticket| ticket.seen("MPI_Request_get_status"))?;
        Some(match seen {
            Seen::Known(status) => status,
            Seen::Asked(open) => open.status(),
        })
    }

    /// Asks that a message be taken back if none has matched it (MPI_Cancel, MPI-3.1 section 3.8.4); the request is to
    /// be completed all the same, and [`Status::is_cancelled`] tells. A [`Generalized`] operation is told. Does not block.
    /// Ends the job for a collective, which cannot be cancelled (section 5.12).
    pub fn cancel(&self) {
        if let Some(open) = self.look(Ticket::cancel) {
            open.cancel();
        }
    }

    /// The same request in a scope that is shorter. Ends the job when that has no room for it.
    #[track_caller]
    pub fn shrink_scope_to<'b, S2: Scope<'b>>(self, scope: S2) -> Request<'b, D, S2>
    where
        'a: 'b,
    {
        super::fatal("Request::shrink_scope_to", scope.prepare());
        let (ticket, data, _) = self.into_parts();
        Request::of(ticket, data, scope)
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Drop for Request<'a, D, S> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.scope.leave(held);
        }
    }
}

opaque!("Request", ['a, D: ?Sized, S: Scope<'a>] Request<'a, D, S>);
