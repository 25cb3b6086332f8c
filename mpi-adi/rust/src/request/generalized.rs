//! Generalized requests: operations of the program's own, which are completed as all others (MPI-3.1 section 12.2).
//!
//! A program that has something under way of which MPI knows nothing, such as a device or a computation in steps, makes a
//! request of it by [`start_generalized`], and says by the [`Completion`] when it is over. Whoever has the request
//! completes it like that of a message, alone or among others:
//!
//! ```
//! # use midplane_objects::Error;
//! # use midplane_rust as mpi;
//! use mpi::point_to_point::Status;
//! use mpi::request::{start_generalized, wait_any};
//! use mpi::traits::*;
//! use std::cell::Cell;
//!
//! /// Adds numbers up, a few at a time.
//! struct Sum<'s>(&'s Cell<u64>);
//!
//! impl Generalized for Sum<'_> {
//!     /// One number is there.
//!     fn query(&self) -> Result<Status, Error> {
//!         Status::empty().with_elements(u64::equivalent_datatype(), 1)
//!     }
//! }
//!
//! fn add_up(numbers: &[u64]) -> u64 {
//!     let sum = Cell::new(0);
//!     mpi::request::scope(|scope| {
//!         let (request, completion) = start_generalized(scope, Sum(&sum));
//!         let mut requests = vec![request];
//!         for few in numbers.chunks(10) {
//!             sum.set(sum.get() + few.iter().sum::<u64>());
//!         }
//!         completion.complete();
//!         let (_, status) = wait_any(&mut requests).unwrap();
//!         assert_eq!(status.count(u64::equivalent_datatype()), 1);
//!     });
//!     sum.get()
//! }
//! ```
//!
//! | of MPI | here |
//! |---|---|
//! | MPI_Grequest_start | [`start_generalized`], or with a buffer [`start_generalized_with_data`] |
//! | MPI_Grequest_complete | [`Completion::complete`] |
//! | query_fn, cancel_fn | [`Generalized::query`], [`Generalized::cancel`] |
//! | free_fn, extra_state | dropping the operation, and its fields |
//! | MPI_Status_set_elements, _set_cancelled | [`Status::with_elements`], [`Status::with_cancelled`] |
//!
//! What an operation borrows is borrowed for as long as its scope, and not longer than the request is under way:
//!
//! ```compile_fail,E0597
//! # use midplane_rust as mpi;
//! # use mpi::point_to_point::Status;
//! # use mpi::request::start_generalized;
//! mpi::request::scope(|scope| {
//!     let done = std::cell::Cell::new(0);
//!     let (request, completion) = start_generalized(scope, || {
//!         done.set(1);
//!         Ok(Status::empty())
//!     });
//!     completion.complete();
//! });
//! ```

use alloc::rc::Rc;
use core::cell::Cell;

use super::{Request, Scope, Ticket, What};
use crate::datatype::lent::Loan;
use crate::process::{Here, running};
use crate::status::Status;
use midplane_device::kernel::CallNote;
use midplane_objects::call::block_until;
use midplane_objects::error::Error;

/// An operation of the program's own; a function that gives a status is one, too. It is dropped when its request is
/// completed, or given up: no call of it comes any more then.
///
/// Its functions are called within calls of the program's, outside of MPI: they may call MPI themselves.
pub trait Generalized {
    /// What is known of it, once it is over: called by the call that completes its request, and by
    /// [`Request::get_status`]. Its error is that of the call.
    fn query(&self) -> Result<Status, Error> {
        Ok(Status::empty())
    }

    /// It is to be taken back, by [`Request::cancel`]; `is_over`: too late. An operation that is taken back is
    /// [completed](Completion::complete) all the same, and says by its status that it
    /// [has been cancelled](Status::with_cancelled). Nothing, where it is not said otherwise.
    fn cancel(&self, is_over: bool) {
        let _ = is_over;
    }
}

impl<F: Fn() -> Result<Status, Error>> Generalized for F {
    fn query(&self) -> Result<Status, Error> {
        self()
    }
}

/// How an operation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    UnderWay,
    Over,
    /// Its completion has been dropped.
    Abandoned,
}

/// Completes a generalized request. When it is dropped, the request is complete, too, and its status, for which the
/// operation is not asked, says that it has been cancelled: no call waits for an operation that nothing is left of.
#[must_use = "complete the request with it; dropping it cancels that"]
pub struct Completion(Rc<Cell<Phase>>);

impl Completion {
    /// The operation is over: its request can be completed (MPI_Grequest_complete). Does not block, and calls nothing of the
    /// program's.
    pub fn complete(self) {
        self.0.set(Phase::Over);
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.0.get() == Phase::UnderWay {
            self.0.set(Phase::Abandoned);
        }
    }
}

opaque!("Completion", [] Completion);

ends_the_job! {
    "mpi::request", [pub fn], crate::NoObject;

    /// A request for an operation of the program's own, and what completes it (MPI_Grequest_start, MPI-3.1 section 12.2). Does
    /// not block. Takes of the program's heap what the operation needs, some words beside it, and a place in the scope. Ends
    /// the job where [`try_start_generalized`] fails.
    ///
    /// A call that completes the request blocks until the [`Completion`] has been used: a program that has this still in its
    /// hands, and waits, waits for ever. A request of the [`StaticScope`](super::StaticScope) that is dropped before is not
    /// waited for: its operation is dropped, and to complete it changes nothing (MPI_Request_free).
    start_generalized['a, G: Generalized + 'a, S: Scope<'a>](scope: S, operation: G) -> (Request<'a, (), S>, Completion),
        "MPI_Grequest_start";
    /// As [`start_generalized`]. Fails with [`Error::Order`] before MPI is started and after its end, and with
    /// [`Error::NoRoom`] when the scope has no room for one more request.
    or try_start_generalized = try_start_generalized_with_data(scope, &(), operation);

    /// As [`start_generalized`], with a buffer that the request gives back, as that of a message does: such a request can be
    /// among theirs in a [`RequestCollection`](super::RequestCollection).
    start_generalized_with_data['a, D: ?Sized, G: Generalized + 'a, S: Scope<'a>](scope: S, data: &'a D, operation: G)
        -> (Request<'a, D, S>, Completion), "MPI_Grequest_start";
    /// As [`start_generalized_with_data`]. Fails as [`try_start_generalized`].
    or try_start_generalized_with_data = {
        let here = running()?;
        here.env()?;
        let phase = Rc::new(Cell::new(Phase::UnderWay));
        let completion = Completion(phase.clone());
        let operation: Rc<dyn Generalized + 'a> = Rc::new(operation);
        // SAFETY: only the lifetime changes. The operation is in the ticket alone, and for the length of a call in that of a
        // borrow of its request: it is dropped with the ticket, within `'a`.
        let operation = unsafe { core::mem::transmute::<Rc<dyn Generalized + 'a>, Rc<dyn Generalized>>(operation) };
        let open = Open { here, phase, operation };
        let start = || Ok(Ticket::new(What::Generalized(open), Loan::EMPTY));
        // SAFETY: `data` is borrowed for `'a`, and nothing is lent.
        let request = unsafe { Request::start(scope, core::ptr::from_ref(data), start) }?;
        Ok((request, completion))
    };
}

/// A generalized request under way.
#[derive(Clone)]
pub(crate) struct Open {
    pub(super) here: Rc<Here>,
    phase: Rc<Cell<Phase>>,
    operation: Rc<dyn Generalized>,
}

impl Open {
    pub(super) fn is_over(&self) -> bool {
        self.phase.get() != Phase::UnderWay
    }

    /// Of one that is over. No borrow of a scope may be open, since this calls the program.
    pub(super) fn status(&self) -> Result<Status, Error> {
        match self.phase.get() {
            Phase::Abandoned => Ok(Status::of_send(true)),
            Phase::UnderWay | Phase::Over => self.operation.query(),
        }
    }

    /// Blocks until it is over. As [`Open::status`].
    pub(super) fn wait(&self, function: &'static str) -> Result<Status, Error> {
        if !self.is_over() {
            let env = self.here.env()?;
            block_until(env, CallNote::of(function), || self.is_over());
        }
        self.status()
    }

    /// As [`Open::status`] calls the program.
    pub(super) fn cancel(&self) {
        self.operation.cancel(self.is_over());
    }
}
