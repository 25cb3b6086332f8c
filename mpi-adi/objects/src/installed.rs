//! The process of an image: its device, and the state of its program between MPI_Init and MPI_Finalize.
//!
//! C functions receive no context, and a Rust program finds its process by itself. Both bindings find it here. The host
//! calls [`install`] once, before the program's `main`, and reads [`phase`] when the program has ended.
//!
//! A program that cargo has linked has no such host. It provides a [`NodeStarter`], which creates the node of a job of one
//! process when the program first calls MPI.

use core::sync::atomic::{AtomicI32, AtomicU8, AtomicUsize, Ordering};

use crate::process::Env;

/// State of the program between MPI_Init and MPI_Finalize.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MpiPhase {
    /// MPI_Init has not been called.
    Before = 0,
    /// MPI_Init has been called, and MPI_Finalize has not ended.
    Running = 1,
    /// MPI_Finalize has ended.
    After = 2,
}

/// The device of the process, once it is [installed](install).
pub static DEVICE: spin::Once<&'static (dyn Env + Sync)> = spin::Once::new();

static PHASE: AtomicU8 = AtomicU8::new(MpiPhase::Before as u8);

/// Value of the attribute MPI_APPNUM: the index of the program among those of the job, from 0 (MPI-3.1 section 10.5.3).
pub static APPNUM: AtomicI32 = AtomicI32::new(0);

/// Provides the process with its device. Later calls change nothing.
pub fn install(env: &'static (dyn Env + Sync)) {
    DEVICE.call_once(|| env);
}

/// Returns the device; `None` before [`install`].
pub fn installed() -> Option<&'static (dyn Env + Sync)> {
    DEVICE.get().copied()
}

/// Returns the state of the program.
pub fn phase() -> MpiPhase {
    match PHASE.load(Ordering::Relaxed) {
        0 => MpiPhase::Before,
        1 => MpiPhase::Running,
        _ => MpiPhase::After,
    }
}

/// Changes the state of the program. The bindings call it.
pub fn set_phase(phase: MpiPhase) {
    PHASE.store(phase as u8, Ordering::Relaxed);
}

/// Sets the value of MPI_APPNUM. The host calls it before the program's `main`.
pub fn set_appnum(index: u32) {
    APPNUM.store(index as i32, Ordering::Relaxed);
}

/// Creation of the node on the first call of MPI, in a process whose program may have several threads.
#[derive(Clone, Copy)]
pub struct NodeStarter {
    /// Creates the node of a job of one process, and installs it. It is called once.
    pub boot: fn(),
    /// Checks whether the calling thread unwinds from a panic.
    pub is_unwinding: fn() -> bool,
    /// Returns an identifier of the calling thread: unique in the process, and not 0.
    pub thread: fn() -> usize,
}

static STARTER: spin::Once<NodeStarter> = spin::Once::new();

/// Identifier of the thread that has started MPI; 0: none has.
static OWNER: AtomicUsize = AtomicUsize::new(0);

/// Provides the process with its starter. Later calls change nothing.
pub fn start_by(starter: NodeStarter) {
    STARTER.call_once(|| starter);
}

/// Returns the device, and creates the node if there is a [`NodeStarter`] and nothing is installed. Other threads that call
/// it at the same time block until the node exists.
pub fn installed_or_started() -> Option<&'static (dyn Env + Sync)> {
    static IS_BOOTED: spin::Once = spin::Once::new();
    if let Some(env) = installed() {
        return Some(env);
    }
    let starter = STARTER.get()?;
    IS_BOOTED.call_once(starter.boot);
    installed()
}

/// Makes the calling thread the only one that may call MPI. Returns its check for unwinding.
pub fn own_by_this_thread() -> fn() -> bool {
    match STARTER.get() {
        Some(starter) => {
            OWNER.store((starter.thread)(), Ordering::Relaxed);
            starter.is_unwinding
        }
        None => || false,
    }
}

/// Checks whether the calling thread has started MPI. Without a [`NodeStarter`] there is one thread only.
pub fn is_owner() -> bool {
    let thread = STARTER.get().map(|starter| (starter.thread)());
    thread.is_none_or(|thread| thread == OWNER.load(Ordering::Relaxed))
}
