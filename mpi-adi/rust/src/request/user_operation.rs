//! User-defined operations of generalized requests.
#![forbid(unsafe_code)]

use alloc::rc::Rc;
use core::cell::Cell;

use crate::process::ProcessState;
use crate::status::Status;
use midplane_device::kernel::CallInfo;
use midplane_objects::call::block_until;
use midplane_objects::error::Error;

/// A user-defined operation; a function that returns a status implements it, too.
///
/// The operation is dropped when its request is completed or freed; no call follows. Its functions run within calls of
/// the program's, outside MPI, and may call MPI themselves.
pub trait GeneralizedOperation {
    /// Returns the status of the complete operation. Called by [`Request::get_status`](super::Request::get_status) and by the call that completes
    /// the request; that call returns its error.
    fn query(&self) -> Result<Status, Error> {
        Ok(Status::empty())
    }

    /// Handles [`Request::cancel`](super::Request::cancel); `is_over`: the operation is already complete.
    ///
    /// A cancelled operation still requires its [completion](Completion::complete), and its status [specifies the
    /// cancellation](Status::with_cancelled). The default does nothing.
    fn cancel(&self, is_over: bool) {
        let _ = is_over;
    }
}

impl<F: Fn() -> Result<Status, Error>> GeneralizedOperation for F {
    fn query(&self) -> Result<Status, Error> {
        self()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GeneralizedPhase {
    Active,
    Done,
    /// Its completion was dropped.
    Abandoned,
}

/// Completes a generalized request. Its drop completes the request with the status "cancelled", without a query: no
/// call waits for an operation that cannot complete any more.
#[must_use = "complete the request with it; dropping it cancels that"]
pub struct Completion(Rc<Cell<GeneralizedPhase>>);

impl Completion {
    /// Marks the operation as complete: its request can be completed (MPI_Grequest_complete). Does not block, and calls
    /// no user-defined function.
    pub fn complete(self) {
        self.0.set(GeneralizedPhase::Done);
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.0.get() == GeneralizedPhase::Active {
            self.0.set(GeneralizedPhase::Abandoned);
        }
    }
}

opaque!("Completion", [] Completion);

/// A generalized request in progress.
#[derive(Clone)]
pub(crate) struct OpenGeneralized {
    pub(super) here: Rc<ProcessState>,
    phase: Rc<Cell<GeneralizedPhase>>,
    operation: Rc<dyn GeneralizedOperation>,
}

impl OpenGeneralized {
    /// Creates an incomplete operation, and the handle that completes it.
    pub(super) fn new(here: Rc<ProcessState>, operation: Rc<dyn GeneralizedOperation>) -> (Self, Completion) {
        let phase = Rc::new(Cell::new(GeneralizedPhase::Active));
        let completion = Completion(phase.clone());
        let open = OpenGeneralized { here, phase, operation };
        (open, completion)
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase.get() != GeneralizedPhase::Active
    }

    /// Returns the status of a complete operation. No borrow of a scope may be active, since this calls the program.
    pub(super) fn status(&self) -> Result<Status, Error> {
        match self.phase.get() {
            GeneralizedPhase::Abandoned => Ok(Status::of_send(true)),
            GeneralizedPhase::Active | GeneralizedPhase::Done => self.operation.query(),
        }
    }

    /// Blocks until the operation is complete, and returns its [`status`](OpenGeneralized::status).
    pub(super) fn wait(&self, function: &'static str) -> Result<Status, Error> {
        if !self.is_over() {
            let env = self.here.env()?;
            block_until(env, CallInfo::without_peer(function), || self.is_over());
        }
        self.status()
    }

    /// Calls the operation's cancel function. No borrow of a scope may be active.
    pub(super) fn cancel(&self) {
        self.operation.cancel(self.is_over());
    }
}
