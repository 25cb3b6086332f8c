//! The process of a Rust program: its device, and the state that the binding keeps for it.
//!
//! A program finds its process in [`initialize`](super::environment::initialize), as in rsmpi. A node or a Linux
//! process contains one process. Where processes are threads, the host environment runs each with [`carry`], and
//! [`find_by`] registers how to find the calling one.
//!
//! A program built by cargo starts by itself: the first MPI call sets up its node ([`installed::Starter`]).
//!
//! Objects of the program can outlive the process. They reference the `Here`, not the device, which is removed from it
//! at the end. A call on such an object then returns an error.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use core::panic::Location;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::point_to_point::buffered::Attached;
use crate::request::under_way::UnderWay;
use crate::topology::Record;
use midplane_device::interface::{AbortCause, Device, FatalError};
use midplane_objects::error::{Error, Misplaced};
pub(crate) use midplane_objects::installed::Phase;
use midplane_objects::installed::{self, is_owner};
use midplane_objects::process::{Env, Process};

/// Per-process state of the binding.
pub(crate) struct Here {
    // The real lifetime is shorter: see `carry`.
    env: Cell<Option<&'static dyn Env>>,
    is_installed: bool,
    phase: Cell<Phase>,
    /// Checks whether a panic unwinds the program's stack; no call may use the device then.
    is_unwinding: fn() -> bool,
    /// Nonblocking collectives in progress.
    pub(crate) under_way: UnderWay,
    /// Buffer for buffered sends.
    pub(crate) attached: RefCell<Option<Attached>>,
    /// MPI_COMM_WORLD and MPI_COMM_SELF, from initialization on.
    pub(crate) own: RefCell<Option<[Rc<Record>; 2]>>,
}

impl Here {
    fn new(env: &'static dyn Env, is_installed: bool, is_unwinding: fn() -> bool) -> Rc<Here> {
        Rc::new(Here {
            env: Cell::new(Some(env)),
            is_installed,
            phase: Cell::new(Phase::Before),
            is_unwinding,
            under_way: UnderWay::new(),
            attached: RefCell::new(None),
            own: RefCell::new(None),
        })
    }

    /// Returns the device, or [`Error::Order`] after the program's end and during a panic.
    pub(crate) fn env(&self) -> Result<&dyn Env, Error> {
        match self.env.get() {
            Some(env) if !(self.is_unwinding)() => Ok(env),
            _ => Err(Error::order(Misplaced::AfterProcess)),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.set(phase);
        if self.is_installed {
            installed::set_phase(phase);
        }
    }

    /// Marks MPI as finalized because of a panic. A program that catches the panic cannot use MPI any more.
    pub(crate) fn leave(&self) {
        if self.is_installed {
            self.set_phase(Phase::After);
        }
    }

    /// Makes the collectives in progress accessible to interrupt handlers.
    pub(crate) fn open_to_interrupts(&self) {
        if self.is_installed {
            let all = ptr::from_ref(&self.under_way).cast_mut();
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
            told: error.told(""),
            is_about_memory: false,
            said: None,
            called_at: is_programs.then_some(place),
        };
        env.abort(AbortCause::Error(fatal), 1)
    }
}

/// Handle of a process that [`carry`] runs.
#[derive(Clone)]
pub struct Carried(Rc<Here>);

/// Runs the program `run` as the process of the device `env`. `is_unwinding` checks whether a panic ends the calling
/// program: `std::thread::panicking` on a host. [`find_by`] registers how to find the calling program.
pub fn carry<R>(env: &dyn Env, is_unwinding: fn() -> bool, run: impl FnOnce(Carried) -> R) -> R {
    struct End(Rc<Here>);
    impl Drop for End {
        fn drop(&mut self) {
            self.0.env.set(None);
        }
    }
    let env: *const (dyn Env + '_) = env;
    // SAFETY: only the lifetime changes. The reference is in the `Here` alone, which returns it for no longer than a
    // borrow of itself, within one call of the binding. `End` removes it before `env` is dropped; no call is in
    // progress then, because a `Here` stays on its thread.
    let env =
        unsafe { &*core::mem::transmute::<*const (dyn Env + '_), *const (dyn Env + 'static)>(env) };
    let end = End(Here::new(env, false, is_unwinding));
    run(Carried(end.0.clone()))
}

static FINDER: spin::Once<fn() -> Option<Carried>> = spin::Once::new();

/// Registers the function that finds the process of the calling program where processes are [carried](carry). Later
/// calls have no effect.
pub fn find_by(find: fn() -> Option<Carried>) {
    FINDER.call_once(|| find);
}

/// The installed process, owned by the one thread that calls MPI.
struct Installed(Cell<Option<Rc<Here>>>);

// SAFETY: `start` admits one thread: the first, and no other ever. `current` checks that the caller is that thread,
// where there are several.
unsafe impl Sync for Installed {}

static INSTALLED: Installed = Installed(Cell::new(None));
static IS_STARTED: AtomicBool = AtomicBool::new(false);
/// The part of that process that interrupt handlers may access; null before its first collective.
static OPEN: AtomicPtr<UnderWay> = AtomicPtr::new(ptr::null_mut());

/// Starts the process whose program is asking; `None`: it has been started before, or there is none.
pub(crate) fn start() -> Option<Rc<Here>> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return (found.0.phase() == Phase::Before).then_some(found.0);
    }
    if installed::phase() != Phase::Before {
        return None;
    }
    let env = installed::installed_or_started()?;
    if IS_STARTED.swap(true, Ordering::Relaxed) {
        return None;
    }
    let here = Here::new(env, true, installed::own_by_this_thread());
    INSTALLED.0.set(Some(here.clone()));
    Some(here)
}

/// Returns the phase of the calling program's process, for any of its threads.
pub(crate) fn phase() -> Phase {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return found.0.phase();
    }
    installed::phase()
}

/// Returns the calling program's process once it is started.
pub(crate) fn current() -> Option<Rc<Here>> {
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
pub(crate) fn running() -> Result<Rc<Here>, Error> {
    let running = current().filter(|here| here.phase() == Phase::Running);
    running.ok_or(Error::order(Misplaced::NotRunning))
}

/// Runs `look` with the interrupted process's collectives in progress and its MPI state. Returns `None` if there is no
/// such process, or it has started no collective.
pub(crate) fn interrupted<R>(look: impl FnOnce(&UnderWay, &Process) -> R) -> Option<R> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        // The process is in a call of its host environment.
        let env = found.0.env().ok()?;
        return Some(look(&found.0.under_way, env.process()));
    }
    // SAFETY: `OPEN` points into a `Here` that `start` stored in `INSTALLED`, which keeps it forever. The target is a
    // lock and may be accessed from anywhere.
    let under_way = unsafe { OPEN.load(Ordering::Acquire).as_ref() }?;
    Some(look(under_way, installed::installed()?.process()))
}

/// Runs `question` with the device of the calling program's process, started or not: for queries that require no
/// initialization.
pub(crate) fn ask<R>(question: impl FnOnce(&dyn Env) -> R) -> Option<R> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return found.0.env().ok().map(question);
    }
    installed::installed_or_started().map(|env| question(env))
}
