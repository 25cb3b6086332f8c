//! The process that C functions work for: its phase, its error handlers, and its level of thread support.

use core::sync::atomic::AtomicI32;

use midplane_objects::error::{CallOrder, Error};
use midplane_objects::installed::{self, DEVICE};
pub(super) use midplane_objects::installed::{MpiPhase, phase};
use midplane_objects::process::Env;

use super::comm_table;
use super::types::constants::{self, MPI_ERRORS_ARE_FATAL};

/// Error handlers of MPI_COMM_WORLD and MPI_COMM_SELF.
pub(super) static HANDLERS: [AtomicI32; 2] = [const { AtomicI32::new(MPI_ERRORS_ARE_FATAL) }; 2];

/// The level of thread support that MPI_Init_thread has returned.
pub(super) static THREAD_LEVEL: AtomicI32 = AtomicI32::new(constants::MPI_THREAD_SINGLE);

/// Changes the phase. The fast path closes with MPI.
pub(super) fn set_phase(phase: MpiPhase) {
    if phase == MpiPhase::After {
        comm_table::close();
    }
    installed::set_phase(phase);
}

/// The device in any phase.
pub(super) fn any_env() -> Result<&'static dyn Env, Error> {
    match DEVICE.get() {
        Some(env) => Ok(*env),
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
