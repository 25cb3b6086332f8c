//! Generalized requests: user-defined operations that complete like all others (MPI-3.1 section 12.2).
//!
//! They represent an operation unknown to MPI, such as a device's or a computation in steps. [`start_generalized`]
//! creates the request; the [`Completion`] marks the operation as complete. Wait and test calls handle the request like
//! that of a message, alone or among others:
//!
//! ```
//! # use midplane_objects::Error;
//! # use midplane_rust as mpi;
//! use mpi::point_to_point::Status;
//! use mpi::request::{start_generalized, wait_any};
//! use mpi::traits::*;
//! use std::cell::Cell;
//!
//! /// Sums numbers in steps.
//! struct Sum<'s>(&'s Cell<u64>);
//!
//! impl GeneralizedOperation for Sum<'_> {
//!     /// One number is complete.
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
//! | query_fn, cancel_fn | [`GeneralizedOperation::query`], [`GeneralizedOperation::cancel`] |
//! | free_fn, extra_state | dropping the operation, and its fields |
//! | MPI_Status_set_elements, _set_cancelled | [`Status::with_elements`], [`Status::with_cancelled`] |
//!
//! An operation's borrows must outlive its scope:
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

use super::user_operation::{Completion, GeneralizedOperation, OpenGeneralized};
use super::{Request, Scope, Ticket, TicketKind};
use crate::datatype::operands::BufferLoan;
use crate::process::running;

ends_the_job! {
    "mpi::request", [pub fn], crate::NoObject;

    /// Creates a request for a user-defined operation, and the handle that completes it (MPI_Grequest_start, MPI-3.1
    /// section 12.2).
    ///
    /// Does not block. Allocates the operation and a few words from the program's heap, and one slot of the scope.
    /// Aborts the job where [`try_start_generalized`] fails.
    ///
    /// A call that completes the request blocks until the [`Completion`] is used: a program that waits while it still
    /// owns it blocks forever. A request of the [`StaticScope`](super::StaticScope) that is dropped before its
    /// completion is freed without a wait: its operation is dropped, and completing it has no effect
    /// (MPI_Request_free).
    start_generalized['a, G: GeneralizedOperation + 'a, S: Scope<'a>](scope: S, operation: G) -> (Request<'a, (), S>, Completion),
        "MPI_Grequest_start";
    /// [`start_generalized`] that returns [`Error::Order`](midplane_objects::Error::Order) before MPI is initialized and
    /// after its end, and [`Error::NoSpace`](midplane_objects::Error::NoSpace) when the scope has no free slot.
    or try_start_generalized = try_start_generalized_with_data(scope, &(), operation);

    /// [`start_generalized`] with a buffer that the request returns, like that of a message: such requests can be mixed
    /// in a [`RequestCollection`](super::RequestCollection).
    start_generalized_with_data['a, D: ?Sized, G: GeneralizedOperation + 'a, S: Scope<'a>](scope: S, data: &'a D, operation: G)
        -> (Request<'a, D, S>, Completion), "MPI_Grequest_start";
    /// [`start_generalized_with_data`] that returns the errors of [`try_start_generalized`].
    or try_start_generalized_with_data = {
        let here = running()?;
        here.env()?;
        let operation: Rc<dyn GeneralizedOperation + 'a> = Rc::new(operation);
        // SAFETY: only the lifetime changes. The operation is in the ticket alone, and during a call in a borrow of its
        // request: it is dropped with the ticket, within `'a`.
        let operation = unsafe { core::mem::transmute::<Rc<dyn GeneralizedOperation + 'a>, Rc<dyn GeneralizedOperation>>(operation) };
        let (open, completion) = OpenGeneralized::new(here, operation);
        let start = || Ok(Ticket::new(TicketKind::Generalized(open), BufferLoan::EMPTY));
        // SAFETY: `data` is borrowed for `'a`, and there is no loan.
        let request = unsafe { Request::start(scope, core::ptr::from_ref(data), start) }?;
        Ok((request, completion))
    };
}
