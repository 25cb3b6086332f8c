//! Error handler dispatch: end of a call with success, or through an error handler (MPI-3.1 sections 8.3 and 8.4).

use core::ffi::c_int;
#[cfg(target_os = "linux")]
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::Mutex;

use super::binding::{MpiPhase, any_env, env, phase};
use super::codes;
use super::comm_objects::{self, CommViews, ErrorTarget};
use super::lazy_callback::LazyCallback;
use super::types::constants::*;
use super::types::{Handle, MPI_Status};
use super::unlocked::without_lock;
use midplane_device::interface::{AbortCause, Device, FatalError, MeasuredQuantity};
use midplane_device::kernel::HeapUsage;
use midplane_objects::comm::{Communicator, Partners, Status};
use midplane_objects::error::{CLASSES, Error, ErrorClass};
use midplane_objects::error_encoding::DescribedError;
use midplane_objects::inter_groups::Intercommunicator;
use midplane_objects::process::Env;

/// Maximum number of error handlers that a program can create (MPI_Comm_create_errhandler).
pub const USER_HANDLERS: usize = 32;

pub(super) const HANDLERS: c_int = 0x5500_0000;

/// `MPI_Comm_errhandler_function`.
pub type ErrorFunction = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);

/// Calls a function of an error handler, which may change the code, for a program with another ABI.
#[cfg(target_os = "linux")]
pub type ErrorAdapter = unsafe extern "C" fn(*const c_void, Handle, *mut c_int);

/// Functions of the handlers that the program has created; 0 if the slot is free.
pub(super) static FUNCTIONS: [AtomicUsize; USER_HANDLERS] = [const { AtomicUsize::new(0) }; USER_HANDLERS];
/// For each handler, the number of handles that the program has not freed, plus [`HOLD`] for each window that uses it.
pub(super) static GIVEN: [AtomicUsize; USER_HANDLERS] = [const { AtomicUsize::new(0) }; USER_HANDLERS];
/// More than the maximum number of handles of one handler.
pub(super) const HOLD: usize = 1 << 20;

/// Records that a window uses this error handler.
pub(super) fn hold_handler(handler: c_int) {
    if let Some(index) = user_index(handler) {
        GIVEN[index].fetch_add(HOLD, Ordering::Relaxed);
    }
}

/// Records that a window no longer uses this error handler.
pub(super) fn release_handler(handler: c_int) {
    if let Some(index) = user_index(handler) {
        GIVEN[index].fetch_sub(HOLD, Ordering::Relaxed);
    }
}

/// The last error of each class. No call waits while it holds the lock, and no interrupt handler uses it.
pub(super) static LAST: Mutex<[Option<DescribedError>; CLASSES]> = Mutex::new([None; CLASSES]);

/// Records a returned error. Installed with the first handler that returns errors, so that the image of a program with
/// only fatal errors does not contain this code.
static NOTE: LazyCallback<fn(&dyn Env, Error)> = LazyCallback::new();

/// Enables the recording of errors, because a handler may return them.
pub(super) fn note_errors() {
    NOTE.set(|env, error| {
        let class = error.class();
        let heap = match class {
            ErrorClass::NoMem => heap(env),
            _ => None,
        };
        LAST.lock()[class as usize] = Some(DescribedError { error, heap });
    });
}

/// Returns the state of the program's heap, if it is known.
fn heap(env: &dyn Env) -> Option<HeapUsage> {
    let bytes = env.measure(MeasuredQuantity::Heap) as usize;
    let used = env.measure(MeasuredQuantity::HeapUsed) as usize;
    (bytes > 0).then_some(HeapUsage { bytes, used })
}

/// Returns the error handler for a call on `comm`; for an invalid handle, that of MPI_COMM_WORLD (section 8.3).
pub(super) fn error_target(comm: c_int) -> ErrorTarget {
    let known = comm_objects::views(comm).is_some();
    let comm = if known { comm } else { MPI_COMM_WORLD };
    ErrorTarget::new(comm, comm_objects::handler(comm))
}

/// Ends a call of `function` on `comm`: returns success, or invokes the communicator's error handler.
pub(super) fn end(function: &'static str, comm: c_int, result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(function, error_target(comm), error),
    }
}

/// Ends a call of `function`: returns success, or invokes this handler.
pub(super) fn end_under(function: &'static str, error_target: ErrorTarget, result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(function, error_target, error),
    }
}

/// Invokes an error handler. Does not return for MPI_ERRORS_ARE_FATAL.
#[cold]
pub(super) fn raise(function: &'static str, error_target: ErrorTarget, error: Error) -> c_int {
    let class = error.class();
    let Ok(env) = any_env() else {
        return code(class);
    };
    // An error while MPI is not active cannot be returned, because no handler for it can be set.
    let is_fatal = phase() != MpiPhase::Running || is_fatal_handler(error_target.handler);
    if is_fatal {
        let said = codes::take_text(error.code());
        let fatal = FatalError {
            function,
            told: error.encode(""),
            is_about_memory: class == ErrorClass::NoMem,
            said: said.as_deref(),
            called_at: None,
        };
        env.abort(AbortCause::Error(fatal), 1)
    }
    // A user-defined code has its own string.
    let note = NOTE.get();
    if let Some(note) = note.filter(|_| error.code() == code(class)) {
        note(env, error);
    }
    let mut code = error.code();
    if let Some(function) = user_function(error_target.handler) {
        comm_objects::call_with_comm(error_target.comm, |comm| {
            let mut comm = Handle::new(comm);
            #[cfg(target_os = "linux")]
            if let Some(adapter) = adapter(error_target.handler) {
                // SAFETY: as below; the adapter is for such functions.
                return without_lock(|| unsafe { adapter(function as *const c_void, comm, &mut code) });
            }
            // SAFETY: a function of the program, called with the arguments that the standard specifies (section 8.3.1).
            without_lock(|| unsafe { function(&mut comm, &mut code) })
        });
    }
    comm_objects::release_error_target(error_target);
    code
}

/// Checks whether a handler ends the job. MPI_ERRORS_ABORT does, because the job cannot continue without the processes of
/// the communicator.
fn is_fatal_handler(handler: c_int) -> bool {
    matches!(handler, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT)
}

/// Returns the index of a user-defined handler, whether or not it exists.
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
    // SAFETY: stored by MPI_Comm_create_errhandler: a pointer to such a function, not null.
    Some(unsafe { core::mem::transmute::<*const (), ErrorFunction>(pointer) })
}

/// Adapters of the handlers, for programs with another ABI; 0 for none.
#[cfg(target_os = "linux")]
pub(super) static ADAPTERS: [AtomicUsize; USER_HANDLERS] = [const { AtomicUsize::new(0) }; USER_HANDLERS];

/// Installs the adapter of a handler that the program has just created.
#[cfg(target_os = "linux")]
pub(super) fn adapt(handle: c_int, adapter: ErrorAdapter) {
    if let Some(index) = user_index(handle) {
        ADAPTERS[index].store((adapter as *const ()).expose_provenance(), Ordering::Relaxed);
    }
}

#[cfg(target_os = "linux")]
fn adapter(handle: c_int) -> Option<ErrorAdapter> {
    let address = ADAPTERS[user_index(handle)?].load(Ordering::Relaxed);
    let pointer = core::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: stored by `adapt`, if it is not null.
    (address != 0).then(|| unsafe { core::mem::transmute::<*const (), ErrorAdapter>(pointer) })
}

/// Returns the result of a call that may precede MPI_Init, and so uses the fatal handler.
pub(super) fn early(function: &'static str, result: Result<(), Error>) -> c_int {
    end(function, MPI_COMM_WORLD, result)
}

/// Runs a call on an intracommunicator; fails for other communicators.
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

/// Runs a call that exchanges messages with the partners of a communicator of either kind.
pub(super) fn on_partners(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Partners<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env().and_then(|env| comm_objects::partners(env, comm)).and_then(call),
    )
}

/// Runs a call of all processes of a communicator; of both groups of an intercommunicator.
pub(super) fn on_everyone(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(Communicator<'static>) -> Result<(), Error>,
) -> c_int {
    end(
        function,
        comm,
        env().and_then(|env| comm_objects::everyone(env, comm)).and_then(call),
    )
}

/// Runs a call on an intercommunicator; fails for other communicators.
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

/// Runs a call on a communicator of either kind.
pub(super) fn on_any(
    function: &'static str,
    comm: c_int,
    call: impl FnOnce(&'static dyn Env, CommViews) -> Result<(), Error>,
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

/// Runs a call without a communicator.
pub(super) fn on_process(function: &'static str, call: impl FnOnce(&'static dyn Env) -> Result<(), Error>) -> c_int {
    end(function, MPI_COMM_WORLD, env().and_then(call))
}

/// Runs a call without a communicator that the program may make at any time: before MPI_Init, without a session, and after
/// MPI_Finalize (MPI-4.0 section 11.4.1).
pub(super) fn at_any_time(function: &'static str, call: impl FnOnce(&'static dyn Env) -> Result<(), Error>) -> c_int {
    early(function, any_env().and_then(call))
}

/// Returns the error code of a class: the class itself.
pub(super) fn code(class: ErrorClass) -> c_int {
    class as c_int
}

/// Stores the status of a blocking receive.
pub(super) fn deliver(result: Result<Status, Error>, status: Option<&mut MPI_Status>) -> Result<(), Error> {
    if let Some(status) = status {
        status.set(MPI_Status::from_result(&result));
    }
    result.map(|_| ())
}
