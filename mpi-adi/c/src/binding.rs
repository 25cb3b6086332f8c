//! The process that C functions work for: its phase, its error handlers, and its level of thread support.

use core::sync::atomic::AtomicI32;

use midplane_device::interface::HAS_FAST_PATH;
use midplane_objects::error::{CallOrder, Error};
use midplane_objects::installed::{self, DEVICE};
pub(super) use midplane_objects::installed::{MpiPhase, phase};
use midplane_objects::process::Env;

use super::comm_table;
use super::lazy_callback::LazyCallback;
use super::types::constants::{self, MPI_ERRORS_ARE_FATAL};

/// Error handlers of MPI_COMM_WORLD and MPI_COMM_SELF.
// A separate section, because every image contains it: the compiler would merge other variables with it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_comm_handlers")]
pub(super) static HANDLERS: [AtomicI32; 2] = [const { AtomicI32::new(MPI_ERRORS_ARE_FATAL) }; 2];

/// The level of thread support that MPI_Init_thread has returned.
pub(super) static THREAD_LEVEL: AtomicI32 = AtomicI32::new(constants::MPI_THREAD_SINGLE);

/// Returns the state between MPI_Init and MPI_Finalize while sessions are open, and changes it on request; `None` if none
/// is open. Installed with the first session, so that the image of a program without one does not contain this code.
pub(super) static WORLD: LazyCallback<WorldFn> = LazyCallback::new();

type WorldFn = fn(Option<MpiPhase>) -> Option<MpiPhase>;

/// Whether sessions are supported: not in images for a microcontroller, which have no memory for the code that MPI_Init and
/// MPI_Finalize then need.
pub(super) const HAS_SESSIONS: bool = HAS_FAST_PATH;

/// Returns the state between MPI_Init and MPI_Finalize, independent of sessions.
pub(super) fn world_phase() -> MpiPhase {
    if !HAS_SESSIONS {
        return phase();
    }
    let world = WORLD.get();
    world.and_then(|world| world(None)).unwrap_or_else(phase)
}

/// Changes the state between MPI_Init and MPI_Finalize. The fast path closes with MPI, unless sessions keep it active.
pub(super) fn set_phase(phase: MpiPhase) {
    if HAS_SESSIONS {
        let world = WORLD.get();
        if world.and_then(|world| world(Some(phase))).is_some() {
            return;
        }
    }
    if phase == MpiPhase::After {
        close_world();
    }
    installed::set_phase(phase);
}

/// Closes the fast path.
pub(super) fn close_world() {
    comm_table::close();
}

/// The device in any phase. A process of Linux may create its node here: that of a program that has loaded the library.
pub(super) fn any_env() -> Result<&'static dyn Env, Error> {
    let device = if cfg!(target_os = "linux") {
        installed::installed_or_started()
    } else {
        DEVICE.get().copied()
    };
    match device {
        Some(env) => Ok(env),
        None => Err(Error::Order {
            what: CallOrder::BeforeRuntime,
        }),
    }
}

/// The device between MPI_Init and MPI_Finalize.
pub(super) fn env() -> Result<&'static dyn Env, Error> {
    match phase() {
        MpiPhase::Before => Err(Error::Order {
            what: CallOrder::BeforeInit,
        }),
        MpiPhase::Running => any_env(),
        MpiPhase::After => Err(Error::Order {
            what: CallOrder::AfterFinalize,
        }),
    }
}
