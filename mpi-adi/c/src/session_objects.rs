//! Sessions of the program, and the end of calls on them.

use core::ffi::c_int;

use spin::Mutex;

use super::binding::{MpiPhase, env};
use super::comm_objects::ErrorTarget;
use super::error_dispatch::{end_under, error_target};
use super::handles::{HandleKind, HandleTable};
use super::types::constants::MPI_COMM_WORLD;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::process::Env;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Sessions,
    tag: 0x7800_0000,
    place_bits: 10,
    generation_bits: 12,
    limit: 1 << 10,
};

pub(super) struct SessionObject {
    pub handler: c_int,
}

pub(super) struct Sessions {
    pub objects: HandleTable<SessionObject>,
    /// Number of open sessions.
    pub open: usize,
    /// State between MPI_Init and MPI_Finalize, while sessions are open.
    pub world: MpiPhase,
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_sessions")]
pub(super) static SESSIONS: Mutex<Sessions> = Mutex::new(Sessions {
    objects: HandleTable::new(KIND),
    open: 0,
    world: MpiPhase::Before,
});

/// Returns the error handler of a session; for an invalid handle, that of MPI_COMM_WORLD.
pub(super) fn error_target_of(session: c_int) -> ErrorTarget {
    let handler = SESSIONS.lock().objects.get(session).map(|object| object.handler);
    match handler {
        Some(handler) => ErrorTarget::new(session, handler),
        None => error_target(MPI_COMM_WORLD),
    }
}

/// Runs a call on a session. An error invokes the session's error handler; for an invalid handle, that of
/// MPI_COMM_WORLD.
pub(super) fn on_session(
    function: &'static str,
    session: c_int,
    call: impl FnOnce(&'static dyn Env) -> Result<(), Error>,
) -> c_int {
    let is_valid = SESSIONS.lock().objects.get(session).is_some();
    let result = env().and_then(|env| {
        if is_valid {
            return call(env);
        }
        Err(Error::Wrong {
            class: ErrorClass::Session,
            what: "session names no session, or one that is finalized",
        })
    });
    end_under(function, error_target_of(session), result)
}
