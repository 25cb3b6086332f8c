//! The process that a Rust program is: its device, and what the binding keeps for it.
//!
//! A program finds its process by itself ([`initialize`](super::environment::initialize)), as a program of rsmpi does.
//! On a node, and in a process of this machine, there is one. Where processes are threads, their carrier says which is
//! whose: it [carries](carry) each for as long as its program runs, and tells by [`find_by`] which one is asking.
//!
//! A program that cargo has built starts by itself. Its node is set up when MPI is first asked for something
//! ([`Starter`](installed::Starter)).
//!
//! Objects of the program can outlive that. They have a hold on the `Here`, not on the device, which is taken away
//! from it at the end: what they are asked to do then is an error.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use core::panic::Location;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::point_to_point::buffered::Attached;
use crate::request::under_way::UnderWay;
use crate::topology::Record;
use midplane_device::interface::{Abort, Device, FatalError};
use midplane_objects::error::{Error, Misplaced};
pub(crate) use midplane_objects::installed::Phase;
use midplane_objects::installed::{self, is_owner};
use midplane_objects::process::{Env, Process};

/// What the binding keeps for a process.
pub(crate) struct Here {
    // The lifetime is not this one: see `carry`.
    env: Cell<Option<&'static dyn Env>>,
    is_installed: bool,
    phase: Cell<Phase>,
    /// The program's stack is being left by a panic: no call may drive the device any more.
    is_unwinding: fn() -> bool,
    /// Nonblocking collectives.
    pub(crate) under_way: UnderWay,
    /// The buffer for buffered sends.
    pub(crate) attached: RefCell<Option<Attached>>,
    /// The communicator of all processes and that of this one alone, from the start on.
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

    /// The device. Fails with [`Error::Order`] once the program has ended, and while a panic ends it.
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

    /// The program gives MPI up by a panic. A program that catches it has no MPI any more.
    pub(crate) fn leave(&self) {
        if self.is_installed {
            self.set_phase(Phase::After);
        }
    }

    /// From now on interrupts find what is under way here.
    pub(crate) fn open_to_interrupts(&self) {
        if self.is_installed {
            let all = ptr::from_ref(&self.under_way).cast_mut();
            OPEN.store(all, Ordering::Release);
        }
    }

    /// The result of a call of `function`, whose error ends the job, as MPI_ERRORS_ARE_FATAL has it (MPI-3.1 section
    /// 8.3).
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
        // Of a request that nobody waits for, or an object that is dropped, no line is known.
        let is_programs = !place.file().contains("mpi-adi/rust/src/");
        let fatal = FatalError {
            function,
            told: error.told(""),
            is_about_memory: false,
            said: None,
            called_at: is_programs.then_some(place),
        };
        env.abort(Abort::Error(fatal), 1)
    }
}

/// A process that is carried; see [`carry`].
#[derive(Clone)]
pub struct Carried(Rc<Here>);

/// Runs a program, `run`, as the process whose device `env` gives access to. `is_unwinding` tells whether a panic is
/// ending the program that asks: `std::thread::panicking`, on a host.
///
/// Which program is asking is told by [`find_by`].
pub fn carry<R>(env: &dyn Env, is_unwinding: fn() -> bool, run: impl FnOnce(Carried) -> R) -> R {
    struct End(Rc<Here>);
    impl Drop for End {
        fn drop(&mut self) {
            self.0.env.set(None);
        }
    }
    let env: *const (dyn Env + '_) = env;
    // SAFETY: only the lifetime changes. The reference is in the `Here` alone, which gives it for no longer than a
    // borrow of itself, within one call of the binding's; `End` takes it away before `env` is gone, and no call is
    // under way then, for a `Here` does not leave its thread.
    let env =
        unsafe { &*core::mem::transmute::<*const (dyn Env + '_), *const (dyn Env + 'static)>(env) };
    let end = End(Here::new(env, false, is_unwinding));
    run(Carried(end.0.clone()))
}

static FINDER: spin::Once<fn() -> Option<Carried>> = spin::Once::new();

/// Tells how the process is found whose program is asking, where processes are [carried](carry); later calls change
/// nothing.
pub fn find_by(find: fn() -> Option<Carried>) {
    FINDER.call_once(|| find);
}

/// The process that was installed, as its one thread that talks MPI keeps it.
struct Installed(Cell<Option<Rc<Here>>>);

// SAFETY: `start` lets one thread come here: the first, and none other ever. `current` looks whether it is that thread,
// where there are several.
unsafe impl Sync for Installed {}

static INSTALLED: Installed = Installed(Cell::new(None));
static IS_STARTED: AtomicBool = AtomicBool::new(false);
/// What interrupts may look at of that process; null: it has started no collective.
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

/// How far the process is whose program is asking, by any of its threads.
pub(crate) fn phase() -> Phase {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return found.0.phase();
    }
    installed::phase()
}

/// The process whose program is asking, once it has been started.
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

/// The process whose program is asking. Fails with [`Error::Order`] before it has started MPI, and after its end.
pub(crate) fn running() -> Result<Rc<Here>, Error> {
    let running = current().filter(|here| here.phase() == Phase::Running);
    running.ok_or(Error::order(Misplaced::NotRunning))
}

/// Runs `look` with what is under way of the process whose program is interrupted, and with what MPI keeps for it. `None`:
/// there is no such process, or it has started no collective.
pub(crate) fn interrupted<R>(look: impl FnOnce(&UnderWay, &Process) -> R) -> Option<R> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        // It is in a call of its carrier's.
        let env = found.0.env().ok()?;
        return Some(look(&found.0.under_way, env.process()));
    }
    // SAFETY: of a `Here` of which `start` has put a hold into `INSTALLED`, where it stays. What is pointed to can be
    // looked at from anywhere: it is a lock.
    let under_way = unsafe { OPEN.load(Ordering::Acquire).as_ref() }?;
    Some(look(under_way, installed::installed()?.process()))
}

/// Access to the device of the process whose program is asking, started or not, for questions that need no start.
pub(crate) fn ask<R>(question: impl FnOnce(&dyn Env) -> R) -> Option<R> {
    if let Some(found) = FINDER.get().and_then(|find| find()) {
        return found.0.env().ok().map(question);
    }
    installed::installed_or_started().map(|env| question(env))
}
