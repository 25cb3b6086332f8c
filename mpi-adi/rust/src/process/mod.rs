//! The process of a Rust program: its device, and the state that the binding keeps for it.
//!
//! A program finds its process in [`initialize`](super::environment::initialize), as in rsmpi. A node or a Linux
//! process contains one process. Where processes are threads, the host environment runs each with [`run_hosted`], and
//! [`set_finder`] registers how to find the calling one.
//!
//! A program built by cargo starts by itself: the first MPI call sets up its node ([`installed::NodeStarter`]).
//!
//! Objects of the program can outlive the process. They reference the `ProcessState`, not the device, which is removed from it
//! at the end. A call on such an object then returns an error.

mod attached_buffer;
mod in_flight;

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use core::panic::Location;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::topology::CommState;
use midplane_device::interface::{AbortCause, Device, FatalError};
use midplane_objects::error::{CallOrder, Error};
pub(crate) use midplane_objects::installed::MpiPhase;
use midplane_objects::installed::{self, is_owner};
use midplane_objects::process::{Env, Process};

pub(crate) use attached_buffer::AttachedBuffer;
pub(crate) use in_flight::InFlightCollectives;

/// Per-process state of the binding.
pub(crate) struct ProcessState {
    // The real lifetime is shorter: see `run_hosted`.
    env: Cell<Option<&'static dyn Env>>,
    is_installed: bool,
    phase: Cell<MpiPhase>,
    /// Checks whether a panic unwinds the program's stack; no call may use the device then.
    is_unwinding: fn() -> bool,
    /// Nonblocking collectives in progress.
    pub(crate) in_flight: InFlightCollectives,
    /// Buffer for buffered sends.
    pub(crate) attached: RefCell<Option<AttachedBuffer>>,
    /// MPI_COMM_WORLD and MPI_COMM_SELF, from initialization on.
    pub(crate) own: RefCell<Option<[Rc<CommState>; 2]>>,
    #[cfg(feature = "options")]
    pub(crate) recording: crate::recording::RecordingState,
}

impl ProcessState {
    fn new(env: &'static dyn Env, is_installed: bool, is_unwinding: fn() -> bool) -> Rc<ProcessState> {
        Rc::new(ProcessState {
            env: Cell::new(Some(env)),
            is_installed,
            phase: Cell::new(MpiPhase::Before),
            is_unwinding,
            in_flight: InFlightCollectives::new(),
            attached: RefCell::new(None),
            own: RefCell::new(None),
            #[cfg(feature = "options")]
            recording: crate::recording::RecordingState::default(),
        })
    }

    /// Returns the device, or [`Error::Order`] after the program's end and during a panic.
    pub(crate) fn env(&self) -> Result<&dyn Env, Error> {
        match self.env.get() {
            Some(env) if !(self.is_unwinding)() => Ok(env),
            _ => Err(Error::order(CallOrder::AfterProcess)),
        }
    }

    pub(crate) fn phase(&self) -> MpiPhase {
        self.phase.get()
    }

    pub(crate) fn set_phase(&self, phase: MpiPhase) {
        self.phase.set(phase);
        if self.is_installed {
            installed::set_phase(phase);
        }
    }

    /// Marks MPI as finalized because of a panic. A program that catches the panic cannot use MPI any more.
    pub(crate) fn mark_finalized(&self) {
        if self.is_installed {
            self.set_phase(MpiPhase::After);
        }
    }

    /// Makes the collectives in progress accessible to interrupt handlers.
    pub(crate) fn open_to_interrupts(&self) {
        if self.is_installed {
            let all = ptr::from_ref(&self.in_flight).cast_mut();
            OPEN.store(all, Ordering::Release);
        }
    }

    /// Returns the value of a call of `function`; an error aborts the job, as under MPI_ERRORS_ARE_FATAL (MPI-3.1
    /// section 8.3).
    #[track_caller]
    pub(crate) fn or_fatal<T>(&self, function: &'static str, result: Result<T, Error>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => self.fatal(function, error),
        }
    }

    #[cold]
    #[track_caller]
    pub(crate) fn fatal(&self, function: &'static str, error: Error) -> ! {
        let Ok(env) = self.env() else {
            panic!("{function}: {error}");
        };
        let place = Location::caller();
        // The source line is unknown for a request without a waiter and for a dropped object.
        let is_programs = !place.file().contains("mpi-adi/rust/src/");
        let fatal = FatalError {
            function,
            told: error.encode(""),
            is_about_memory: false,
            said: None,
            called_at: is_programs.then_some(place),
        };
        env.abort(AbortCause::Error(fatal), 1)
    }
}

/// Handle of a process that [`run_hosted`] runs.
#[derive(Clone)]
pub struct HostedProcess(Rc<ProcessState>);

/// Runs the program `run` as the process of the device `env`. `is_unwinding` checks whether a panic ends the calling
/// program: `std::thread::panicking` on a host. [`set_finder`] registers how to find the calling program.
pub fn run_hosted<R>(env: &dyn Env, is_unwinding: fn() -> bool, run: impl FnOnce(HostedProcess) -> R) -> R {
    struct EndGuard(Rc<ProcessState>);
    impl Drop for EndGuard {
        fn drop(&mut self) {
            self.0.env.set(None);
        }
    }
    let env: *const (dyn Env + '_) = env;
    // SAFETY: only the lifetime changes. The reference is in the `ProcessState` alone, which returns it for no longer than a
    // borrow of itself, within one call of the binding. `EndGuard` removes it before `env` is dropped; no call is in
    // progress then, because a `ProcessState` stays on its thread.
    let env = unsafe { &*core::mem::transmute::<*const (dyn Env + '_), *const (dyn Env + 'static)>(env) };
    let end = EndGuard(ProcessState::new(env, false, is_unwinding));
    run(HostedProcess(end.0.clone()))
}

static FINDER: spin::Once<fn() -> Option<HostedProcess>> = spin::Once::new();

/// Registers the function that finds the process of the calling program where processes are [carried](run_hosted). Later
/// calls have no effect.
pub fn set_finder(find: fn() -> Option<HostedProcess>) {
    FINDER.call_once(|| find);
}

/// The installed process, owned by the one thread that calls MPI.
struct InstalledProcess(Cell<Option<Rc<ProcessState>>>);

// SAFETY: `start` admits one thread: the first, and no other ever. `current` checks that the caller is that thread,
// where there are several.
unsafe impl Sync for InstalledProcess {}

static INSTALLED: InstalledProcess = InstalledProcess(Cell::new(None));
static IS_STARTED: AtomicBool = AtomicBool::new(false);
/// The part of that process that interrupt handlers may access; null before its first collective.
static OPEN: AtomicPtr<InFlightCollectives> = AtomicPtr::new(ptr::null_mut());

/// Starts the process whose program is asking; `None`: it has been started before, or there is none.
pub(crate) fn start() -> Option<Rc<ProcessState>> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return (found.0.phase() == MpiPhase::Before).then_some(found.0);
    }
    if installed::phase() != MpiPhase::Before {
        return None;
    }
    let env = installed::installed_or_started()?;
    if IS_STARTED.swap(true, Ordering::Relaxed) {
        return None;
    }
    let here = ProcessState::new(env, true, installed::own_by_this_thread());
    INSTALLED.0.set(Some(here.clone()));
    Some(here)
}

/// Returns the phase of the calling program's process, for any of its threads.
pub(crate) fn phase() -> MpiPhase {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return found.0.phase();
    }
    installed::phase()
}

/// Returns the calling program's process once it is started.
pub(crate) fn current() -> Option<Rc<ProcessState>> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return Some(found.0);
    }
    if !is_owner() {
        return None;
    }
    let installed = INSTALLED.0.take();
    let here = installed.clone();
    INSTALLED.0.set(installed);
    here
}

/// Returns the calling program's process, or [`Error::Order`] before MPI's initialization and after its end.
pub(crate) fn running() -> Result<Rc<ProcessState>, Error> {
    let running = current().filter(|here| here.phase() == MpiPhase::Running);
    running.ok_or(Error::order(CallOrder::NotRunning))
}

/// Runs `look` with the interrupted process's collectives in progress and its MPI state. Returns `None` if there is no
/// such process, or it has started no collective.
pub(crate) fn with_interrupted<R>(look: impl FnOnce(&InFlightCollectives, &Process) -> R) -> Option<R> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        // The process is in a call of its host environment.
        let env = found.0.env().ok()?;
        return Some(look(&found.0.in_flight, env.process()));
    }
    // SAFETY: `OPEN` points into a `ProcessState` that `start` stored in `INSTALLED`, which keeps it forever. The target is a
    // lock and may be accessed from anywhere.
    let in_flight = unsafe { OPEN.load(Ordering::Acquire).as_ref() }?;
    Some(look(in_flight, installed::installed()?.process()))
}

/// Runs `question` with the device of the calling program's process, started or not: for queries that require no
/// initialization.
pub(crate) fn ask<R>(question: impl FnOnce(&dyn Env) -> R) -> Option<R> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return found.0.env().ok().map(question);
    }
    installed::installed_or_started().map(|env| question(env))
}

/// Error handler of calls that belong to no communicator or window.
pub(crate) struct NoObject;

impl NoObject {
    #[track_caller]
    pub(crate) fn or_fatal<T>(self, function: &'static str, result: Result<T, Error>) -> T {
        fatal(function, result)
    }
}

/// Returns the value of a call of `function` that belongs to no object. An error aborts the job.
#[track_caller]
pub(crate) fn fatal<T>(function: &'static str, result: Result<T, Error>) -> T {
    let error = match result {
        Ok(value) => return value,
        Err(error) => error,
    };
    match current() {
        Some(here) => here.fatal(function, error),
        None => panic!("{function}: {error}"),
    }
}
