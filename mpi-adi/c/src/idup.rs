//! Nonblocking duplication of communicators (section 6.4.2).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc)]

use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::args;
use super::attributes::CommCarrier;
use super::binding::any_env;
use super::collectives::{RequestTarget, start_among_all};
use super::comm_objects::{InterObject, enter, give_up, handler, prepare, set_handler, views};
use super::comm_state;
use super::error_dispatch::{hold_handler, release_handler};
use super::infos::check_hints;
use super::keyvals::{self, AttributeCopies};
use super::types::Handle;
use super::types::constants::{MPI_COMM_NULL, MPI_INFO_NULL};
use midplane_device::envelope::Context;
use midplane_objects::coll::{self, ContextHolder};
use midplane_objects::comm::{Communicator, Membership};
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// State of a duplicate, recorded at the start of the call.
struct DuplicateState {
    parent: c_int,
    membership: Membership<'static>,
    /// Additional data of an intercommunicator.
    inter: Option<InterObject>,
    handler: KeptHandler,
    attributes: AttributeCopies,
    /// Error that prevents the duplicate: of a copy function, or missing memory for the attributes.
    refused: Result<(), Error>,
    /// The duplicate, once it is ready.
    twin: Option<c_int>,
    /// Location for its handle.
    place: AtomicPtr<Handle>,
}

/// An error handler that is kept even if the program frees it.
struct KeptHandler(c_int);

impl KeptHandler {
    fn hold(handler: c_int) -> KeptHandler {
        hold_handler(handler);
        KeptHandler(handler)
    }
}

impl Drop for KeptHandler {
    fn drop(&mut self) {
        release_handler(self.0);
    }
}

impl DuplicateState {
    /// Creates the duplicate, without attributes.
    fn make(&self, context: Context) -> Result<c_int, Error> {
        let env = any_env()?;
        prepare(context)?;
        let twin = match self.inter {
            Some(InterObject { sides, calls }) => (calls.duplicate_in)(env, sides, context, self.parent)?,
            None => {
                let topology = comm_state::prepare_copy(self.membership.context)?;
                let made = Communicator::at(env, self.membership).make_duplicate_in(context)?;
                comm_state::attach(context, topology);
                enter(env, made, self.parent)?
            }
        };
        set_handler(twin, self.handler.0);
        Ok(twin)
    }
}

impl ContextHolder for DuplicateState {
    fn env(&self) -> Option<&dyn Env> {
        any_env().ok()
    }

    fn get_ready(&mut self, context: Context) -> Result<(), Error> {
        if let Err(error @ Error::NoSpace { .. }) = self.refused {
            return Err(error);
        }
        let twin = self.make(context)?;
        self.twin = Some(twin);
        self.attributes.reserve::<CommCarrier>(twin)
    }

    fn give_up(&mut self) {
        if let Some(twin) = self.twin.take() {
            give_up(twin);
        }
    }

    /// If a copy function fails, frees the duplicate again like MPI_Comm_dup: the other processes keep theirs.
    fn finish_agreement(&mut self) -> Result<(), Error> {
        let twin = self.twin.unwrap_or(MPI_COMM_NULL);
        let attached = self.attributes.attach::<CommCarrier>(twin);
        if let Err(error) = self.refused.and(attached) {
            // The first error is returned.
            let _ = keyvals::delete_all::<CommCarrier>(twin);
            return Err(error);
        }
        self.twin = None;
        // SAFETY: the standard's requirements on `newcomm`; the program does not use it until the request is complete.
        unsafe { *self.place.load(Ordering::Relaxed) = Handle::new(twin) };
        Ok(())
    }
}

/// Starts the duplication in a call of `function`.
///
/// # Safety
/// `newcomm` must satisfy [`args::out`] until the request is complete, and `request` now.
unsafe fn start(function: &'static str, comm: c_int, info: c_int, newcomm: *mut Handle, request: *mut Handle) -> c_int {
    let plan = |given: Communicator<'static>| {
        check_hints(info)?;
        // SAFETY: guaranteed by the caller.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        *newcomm = Handle::new(MPI_COMM_NULL);
        let mut attributes = AttributeCopies::default();
        let refused = attributes.add_all::<CommCarrier>(comm);
        let duplicate = DuplicateState {
            parent: comm,
            membership: given.membership(),
            inter: views(comm).and_then(|views| views.inter),
            handler: KeptHandler::hold(handler(comm)),
            attributes,
            refused,
            twin: None,
            place: AtomicPtr::new(newcomm),
        };
        coll::agree(given, duplicate)
    };
    // SAFETY: guaranteed by the caller.
    unsafe { start_among_all(function, comm, RequestTarget::Start(request), plan) }
}

pub unsafe fn MPI_Comm_idup(comm: c_int, newcomm: *mut Handle, request: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `newcomm` and `request`.
    unsafe { start("MPI_Comm_idup", comm, MPI_INFO_NULL, newcomm, request) }
}

pub unsafe fn MPI_Comm_idup_with_info(comm: c_int, info: c_int, newcomm: *mut Handle, request: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `newcomm` and `request`.
    unsafe { start("MPI_Comm_idup_with_info", comm, info, newcomm, request) }
}
