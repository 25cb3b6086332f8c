//! State of the process for the C functions, which have no context argument.

use core::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use super::comm_table;
use super::types::constants::{self, MPI_ERRORS_ARE_FATAL};
use crate::mpi::error::{Error, Misplaced};
use crate::mpi::process::Env;

/// Phase of the program relative to MPI_Init and MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Before MPI_Init.
    Before = 0,
    /// After MPI_Init, before the end of MPI_Finalize.
    Running = 1,
    /// After MPI_Finalize.
    After = 2,
}

pub(super) struct Binding {
    pub(super) env: spin::Once<&'static (dyn Env + Sync)>,
    pub(super) phase: AtomicU8,
    /// Error handlers of MPI_COMM_WORLD and MPI_COMM_SELF.
    pub(super) handlers: [AtomicI32; 2],
    pub(super) thread_level: AtomicI32,
}

pub(super) static BINDING: Binding = Binding {
    env: spin::Once::new(),
    phase: AtomicU8::new(Phase::Before as u8),
    handlers: [const { AtomicI32::new(MPI_ERRORS_ARE_FATAL) }; 2],
    thread_level: AtomicI32::new(constants::MPI_THREAD_SINGLE),
};

/// Installs the device of the C functions. Call it once, before the program's `main`; later calls have no effect.
pub fn install(env: &'static (dyn Env + Sync)) {
    BINDING.env.call_once(|| env);
}

/// Returns the phase of the program.
pub fn phase() -> Phase {
    match BINDING.phase.load(Ordering::Relaxed) {
        0 => Phase::Before,
        1 => Phase::Running,
        _ => Phase::After,
    }
}

pub(crate) fn set_phase(phase: Phase) {
    if phase == Phase::After {
        comm_table::close();
    }
    BINDING.phase.store(phase as u8, Ordering::Relaxed);
}

/// Returns the device, if one is installed.
pub(crate) fn installed() -> Option<&'static (dyn Env + Sync)> {
    BINDING.env.get().copied()
}

/// Returns the device in any phase.
pub(super) fn any_env() -> Result<&'static dyn Env, Error> {
    match BINDING.env.get() {
        Some(env) => Ok(*env),
        None => Err(Error::Order {
            what: Misplaced::BeforeRuntime,
        }),
    }
}

/// Returns the device, between MPI_Init and MPI_Finalize only.
pub(super) fn env() -> Result<&'static dyn Env, Error> {
    match phase() {
        Phase::Before => Err(Error::Order {
            what: Misplaced::BeforeInit,
        }),
        Phase::Running => any_env(),
        Phase::After => Err(Error::Order {
            what: Misplaced::AfterFinalize,
        }),
    }
}
