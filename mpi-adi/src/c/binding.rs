//! The one process that C functions, which get no context, work for.

use core::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use super::comm_table;
use super::types::constants::{self, MPI_ERRORS_ARE_FATAL};
use crate::mpi::error::{Error, Misplaced};
use crate::mpi::process::Env;

/// Where the program stands between MPI_Init and MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// MPI_Init has not been called.
    Before = 0,
    /// MPI_Init has been called, MPI_Finalize has not ended.
    Running = 1,
    /// MPI_Finalize has ended.
    After = 2,
}

/// The one process that C functions, which get no context, work for.
pub(super) struct Binding {
    pub(super) env: spin::Once<&'static (dyn Env + Sync)>,
    pub(super) phase: AtomicU8,
    /// The error handlers of MPI_COMM_WORLD and MPI_COMM_SELF.
    pub(super) handlers: [AtomicI32; 2],
    pub(super) thread_level: AtomicI32,
}

pub(super) static BINDING: Binding = Binding {
    env: spin::Once::new(),
    phase: AtomicU8::new(Phase::Before as u8),
    handlers: [const { AtomicI32::new(MPI_ERRORS_ARE_FATAL) }; 2],
    thread_level: AtomicI32::new(constants::MPI_THREAD_SINGLE),
};

/// Gives the C functions their device. To be called once, before the program's `main`; later calls change
/// nothing.
pub fn install(env: &'static (dyn Env + Sync)) {
    BINDING.env.call_once(|| env);
}

/// Where the program stands.
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

/// The device, if there is one.
pub(crate) fn installed() -> Option<&'static (dyn Env + Sync)> {
    BINDING.env.get().copied()
}

/// The device, whatever the phase.
pub(super) fn any_env() -> Result<&'static dyn Env, Error> {
    match BINDING.env.get() {
        Some(env) => Ok(*env),
        None => Err(Error::Order {
            what: Misplaced::BeforeRuntime,
        }),
    }
}

/// The device, between MPI_Init and MPI_Finalize.
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
