//! Actions at the completion of nonblocking collectives, for the Fortran binding: it copies results to strided arrays.
//!
//! The handle of such a request remains that of the collective. A second family has the same handles, and runs the action
//! before the program gets the completion. Programs without actions do not link it.

use alloc::boxed::Box;
use core::ffi::c_int;

use spin::Mutex;

use crate::collectives::in_flight::CollectiveFamily;
use crate::error_dispatch::early;
use crate::requests::{
    COLLECTIVES, CompletedRequest, CompletionData, FamilyEntry, RequestFamily, enter_family, with_status,
};
use crate::types::MPI_Status;
use crate::types::constants::MPI_SUCCESS;
use midplane_device::memory::try_boxed;
use midplane_objects::error::Error;

/// An action of a binding at the completion of a nonblocking collective.
pub trait AtCompletion: Send {
    /// Runs once, outside the device, in the call that reports the completion to the program.
    fn run(&mut self);
}

/// An action, and a link to the next one.
struct PendingAction<A: ?Sized> {
    request: c_int,
    next: Link,
    action: A,
}

type Link = Option<Box<PendingAction<dyn AtCompletion>>>;

/// No call waits or runs an action while it holds the lock, and no interrupt handler uses it.
static PENDING: Mutex<Link> = Mutex::new(None);

/// Starts a nonblocking collective by `start`, which returns an error code and the request, and runs `action` at its
/// completion. If the start fails, the action does not run. Does not block. Returns the error code of `start`, or that of
/// a full heap.
pub fn start_with_action(
    function: &'static str,
    action: impl AtCompletion + 'static,
    start: impl FnOnce() -> (c_int, c_int),
) -> c_int {
    let pending = PendingAction {
        request: 0,
        next: None,
        action,
    };
    let bytes = size_of_val(&pending);
    // Allocated before the start, which cannot be undone.
    let Some(mut pending) = try_boxed(pending) else {
        return early(function, Err(Error::NoSpace { bytes }));
    };
    let (code, request) = start();
    if code == MPI_SUCCESS {
        enter_family(&FAMILY);
        pending.request = request;
        let mut first = PENDING.lock();
        pending.next = first.take();
        *first = Some(pending);
    }
    code
}

fn has_action(request: c_int) -> bool {
    let first = PENDING.lock();
    let mut link = &*first;
    while let Some(pending) = link {
        if pending.request == request {
            return true;
        }
        link = &pending.next;
    }
    false
}

/// Removes the action of a request.
fn remove_action(request: c_int) -> Link {
    let mut first = PENDING.lock();
    let mut link = &mut *first;
    while link.as_ref().is_some_and(|pending| pending.request != request) {
        link = &mut link.as_mut()?.next;
    }
    let mut taken = link.take()?;
    *link = taken.next.take();
    Some(taken)
}

struct ActionFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_at_completion")]
static FAMILY: FamilyEntry = FamilyEntry::new(COLLECTIVES, &ActionFamily);

impl RequestFamily for ActionFamily {
    fn has(&self, handle: c_int) -> bool {
        has_action(handle)
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        CollectiveFamily.ended(handle).map(|completed| CompletedRequest {
            status: completed.status,
            rest: Some(CompletionData::CallbacksPending(&ActionFamily)),
        })
    }

    fn forget(&self, handle: c_int) {
        remove_action(handle);
        CollectiveFamily.forget(handle);
    }

    fn finish_request(&self, handle: c_int, done: bool) -> CompletedRequest {
        if let Some(mut pending) = remove_action(handle) {
            pending.action.run();
        }
        let Some(mut completed) = CollectiveFamily.ended(handle) else {
            return with_status(MPI_Status::EMPTY);
        };
        if done {
            completed.keep_error_target();
            CollectiveFamily.forget(handle);
        }
        completed
    }

    fn free(&self, handle: c_int) -> Result<(), Error> {
        CollectiveFamily.free(handle)
    }

    fn cancel(&self, handle: c_int) -> Result<(), Error> {
        CollectiveFamily.cancel(handle)
    }
}
