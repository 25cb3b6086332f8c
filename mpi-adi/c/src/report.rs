//! How a call ends: with success, or by way of an error handler (MPI-3.1 sections 8.3 and 8.4).

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::Mutex;

use super::binding::{Phase, any_env, env, phase};
use super::codes;
use super::comm_objects::{self, Blame, Views};
use super::hook::Hook;
use super::types::MPI_Status;
use super::types::constants::*;
use midplane_device::interface::{Abort, Device, FatalError, Measure};
use midplane_device::kernel::Heap;
use midplane_objects::comm::{Communicator, Partners, Status};
use midplane_objects::error::{CLASSES, Class, Error};
use midplane_objects::process::Env;
use midplane_objects::sides::Intercommunicator;
use midplane_objects::told::Described;

/// Error handlers that a program can have created at one time (MPI_Comm_create_errhandler).
pub const USER_HANDLERS: usize = 32;

pub(super) const HANDLERS: c_int = 0x5500_0000;

/// `MPI_Comm_errhandler_function`.
pub type ErrorFunction = unsafe extern "C" fn(*mut c_int, *mut c_int, ...);

/// The functions of the handlers that the program has created; 0: free.
pub(super) static FUNCTIONS: [AtomicUsize; USER_HANDLERS] =
    [const { AtomicUsize::new(0) }; USER_HANDLERS];
/// How many handles of each the program has been given and has not freed, and [`HOLD`] for each window that has it.
pub(super) static GIVEN: [AtomicUsize; USER_HANDLERS] =
    [const { AtomicUsize::new(0) }; USER_HANDLERS];
/// More than the handles of one.
pub(super) const HOLD: usize = 1 << 20;

/// A window has this error handler from now on.
pub(super) fn hold_handler(handler: c_int) {
    if let Some(index) = user_index(handler) {
        GIVEN[index].fetch_add(HOLD, Ordering::Relaxed);
    }
}

/// A window does not have this error handler any more.
pub(super) fn release_handler(handler: c_int) {
    if let Some(index) = user_index(handler) {
        GIVEN[index].fetch_sub(HOLD, Ordering::Relaxed);
    }
}

/// The last error of each class. No call holds the lock while it waits, and interrupts do not come here.
pub(super) static LAST: Mutex<[Option<Described>; CLASSES]> = Mutex::new([None; CLASSES]);

/// What notes an error that is returned, from the first handler on that returns any: a program whose errors are all
/// fatal has nothing of this in its image.
static NOTE: Hook<fn(&dyn Env, Error)> = Hook::new();

/// From now on a handler may return errors.
pub(super) fn note_errors() {
    NOTE.set(|env, error| {
        let class = error.class();
        let heap = match class {
            Class::NoMem => heap(env),
            _ => None,
        };
        LAST.lock()[class as usize] = Some(Described { error, heap });
    });
}

/// The program's heap, if it is known.
fn heap(env: &dyn Env) -> Option<Heap> {
    let bytes = env.measure(Measure::Heap) as usize;
    let used = env.measure(Measure::HeapUsed) as usize;
    (bytes > 0).then_some(Heap { bytes, used })
}

/// The blame for a call on `comm`; for one that names no communicator, MPI_COMM_WORLD's (section 8.3).
pub(super) fn blame(comm: c_int) -> Blame {
    let known = comm_objects::views(comm).is_some();
    let comm = if known { comm } else { MPI_COMM_WORLD };
    Blame::new(comm, comm_objects::handler(comm))
}

/// Ends a call of `function` on `comm`: success, or the error by way of the communicator's handler.
pub(super) fn end(function: &'static str, comm: c_int, result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(function, blame(comm), error),
    }
}

/// Ends a call of `function`: success, or the error by way of this handler.
pub(super) fn end_under(function: &'static str, blame: Blame, result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(function, blame, error),
    }
}

/// Does not return under MPI_ERRORS_ARE_FATAL.
#[cold]
pub(super) fn raise(function: &'static str, blame: Blame, error: Error) -> c_int {
    let class = error.class();
    let Ok(env) = any_env() else {
        return code(class);
    };
    // An error outside of MPI's working time cannot be returned: no handler for it can have been set yet.
    let is_fatal = phase() != Phase::Running || blame.handler == MPI_ERRORS_ARE_FATAL;
    if is_fatal {
        let said = codes::take_text(error.code());
        let fatal = FatalError {
            function,
            told: error.told(""),
            is_about_memory: class == Class::NoMem,
            said: said.as_deref(),
            called_at: None,
        };
        env.abort(Abort::Error(fatal), 1)
    }
    // A code of the program's own has a text of its own.
    let note = NOTE.get();
    if let Some(note) = note.filter(|_| error.code() == code(class)) {
        note(env, error);
    }
    let mut code = error.code();
    if let Some(function) = user_function(blame.handler) {
        comm_objects::call_with_comm(blame.comm, |mut comm| {
            // SAFETY: the program's function, given what the standard says (section 8.3.1).
            unsafe { function(&mut comm, &mut code) }
        });
    }
    comm_objects::end_blame(blame);
    code
}

/// Which of the program's handlers `handle` names, whether or not it exists.
pub(super) fn user_index(handle: c_int) -> Option<usize> {
    usize::try_from(handle.wrapping_sub(HANDLERS))
        .ok()
        .filter(|index| *index < USER_HANDLERS)
}

pub(super) fn user_function(handle: c_int) -> Option<ErrorFunction> {
    let address = FUNCTIONS[user_index(handle)?].load(Ordering::Relaxed);
    if address == 0 {
        return None;
    }
    let pointer = core::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: what MPI_Comm_create_errhandler stored: a pointer to such a function, not null.
    Some(unsafe { core::mem::transmute::<*const (), ErrorFunction>(pointer) })
}

/// A result of a call that may come before MPI_Init: such a call has no handler but the fatal one.
pub(super) fn early(function: &'static str, result: Result<(), Error>) -> c_int {
    end(function, MPI_COMM_WORLD, result)
}

/// A call that belongs to a communicator of one group; on another one it fails.
pub(super) fn on_comm(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Communicator<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env()
            .and_then(|env| comm_objects::communicator(env, comm))
            .and_then(call),
    )
}

/// A call for messages to and from the processes that a communicator of either kind reaches.
pub(super) fn on_partners(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Partners<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env()
            .and_then(|env| comm_objects::partners(env, comm))
            .and_then(call),
    )
}

/// A call of all processes of a communicator, of both groups of an intercommunicator.
pub(super) fn on_everyone(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Communicator<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env()
            .and_then(|env| comm_objects::everyone(env, comm))
            .and_then(call),
    )
}

/// A call that belongs to an intercommunicator; on another communicator it fails.
pub(super) fn on_inter(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Intercommunicator<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env()
            .and_then(|env| comm_objects::intercommunicator(env, comm))
            .and_then(call),
    )
}

/// A call that belongs to a communicator of either kind.
pub(super) fn on_any(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(&'static dyn Env, Views) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env().and_then(|env| match comm_objects::views(comm) {
            Some(views) => call(env, views),
            None => Err(Error::Communicator { handle: comm }),
        }),
    )
}

/// A call that belongs to none.
pub(super) fn on_process(
    function: &'static str,
    call: impl FnOnce(&'static dyn Env) -> Result<(), Error>,
) -> c_int {
    end(function, MPI_COMM_WORLD, env().and_then(call))
}

/// An error's code as calls return it: its class.
pub(super) fn code(class: Class) -> c_int {
    class as c_int
}

/// Gives a blocking receive's result to the program.
pub(super) fn deliver(
    result: Result<Status, Error>,
    status: Option<&mut MPI_Status>,
) -> Result<(), Error> {
    if let Some(status) = status {
        status.set(MPI_Status::of(&result));
    }
    result.map(|_| ())
}
