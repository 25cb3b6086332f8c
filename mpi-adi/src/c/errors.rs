//! Sections 8.3 to 8.5: error handlers, error codes and what they say.
//!
//! An error's code is its class. What MPI_Error_string says of a code is what was wrong the last time that
//! a call failed with it, with its numbers.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use core::ffi::{c_char, c_int};
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicUsize, Ordering};

use spin::Mutex;

use super::communicators::{self, in_use, set_handler};
use super::constants::*;
use super::environment::{early, put_text};
use super::{Phase, any_env, args, code, on_comm, on_process, phase};
use crate::device::kernel::{AbortReason, Heap};
use crate::mpi::error::{CLASSES, Class, Error};

/// Greatest length in bytes of the message of a fatal error; longer ones are cut.
const MESSAGE_BYTES: usize = 640;
/// Error handlers that a program can have created at one time (MPI_Comm_create_errhandler).
pub const USER_HANDLERS: usize = 32;

const HANDLERS: c_int = 0x5500_0000;

/// `MPI_Comm_errhandler_function`.
pub type ErrorFunction = unsafe extern "C" fn(*mut c_int, *mut c_int, ...);

/// The functions of the handlers that the program has created; 0: free.
static FUNCTIONS: [AtomicUsize; USER_HANDLERS] = [const { AtomicUsize::new(0) }; USER_HANDLERS];
/// Handlers that were freed while communicators have them.
static FREED: [AtomicUsize; USER_HANDLERS] = [const { AtomicUsize::new(0) }; USER_HANDLERS];

/// The last error of each class. No call holds the lock while it waits, and interrupts do not come here.
static LAST: Mutex<[Option<Described>; CLASSES]> = Mutex::new([None; CLASSES]);

/// Whose error handler an error goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blame {
    /// The communicator's handle.
    pub comm: c_int,
    /// Its error handler.
    pub handler: c_int,
}

/// An error in words, with how much memory there was when it was about memory.
#[derive(Clone, Copy)]
struct Described {
    error: Error,
    heap: Option<Heap>,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Described { error, heap } = self;
        write!(f, "{}: {error}", error.class().words())?;
        match heap {
            Some(Heap { bytes, used }) => write!(
                f,
                " (the heap has {bytes} bytes, of which {used} were in use)"
            ),
            None => Ok(()),
        }
    }
}

/// The blame for a call on `comm`; for one that names no communicator, MPI_COMM_WORLD's (section 8.3).
fn blame(comm: c_int) -> Blame {
    let known = communicators::membership(comm).is_some();
    let comm = if known { comm } else { MPI_COMM_WORLD };
    Blame {
        comm,
        handler: communicators::handler(comm),
    }
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
fn raise(function: &'static str, blame: Blame, error: Error) -> c_int {
    let class = error.class();
    let Ok(env) = any_env() else {
        return code(class);
    };
    // An error outside of MPI's working time cannot be returned: no handler for it can have been set yet.
    let is_fatal = phase() != Phase::Running || blame.handler == MPI_ERRORS_ARE_FATAL;
    env.with(&mut |adi, kernel| {
        let heap = match class {
            Class::NoMem => kernel.heap(),
            _ => None,
        };
        let described = Described { error, heap };
        if is_fatal {
            let mut text = heapless::String::<MESSAGE_BYTES>::new();
            let (rank, here) = (adi.rank(), adi.here());
            // What does not fit is cut off; the beginning says the most.
            let _ = write!(
                text,
                "rank {rank} at ({},{},{}): {function} failed with {described}",
                here.x, here.y, here.z
            );
            kernel.abort(AbortReason::MpiError(&text), 1)
        }
        LAST.lock()[class as usize] = Some(described);
    });
    let mut code = code(class);
    if let Some(function) = user_function(blame.handler) {
        let mut comm = blame.comm;
        // SAFETY: the program's function, given what the standard says (section 8.3.1).
        unsafe { function(&mut comm, &mut code) };
    }
    code
}

/// Which of the program's handlers `handle` names, whether or not it exists.
fn user_index(handle: c_int) -> Option<usize> {
    usize::try_from(handle.wrapping_sub(HANDLERS))
        .ok()
        .filter(|index| *index < USER_HANDLERS)
}

fn user_function(handle: c_int) -> Option<ErrorFunction> {
    let address = FUNCTIONS[user_index(handle)?].load(Ordering::Relaxed);
    if address == 0 {
        return None;
    }
    let pointer = core::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: what MPI_Comm_create_errhandler stored: a pointer to such a function, not null.
    Some(unsafe { core::mem::transmute::<*const (), ErrorFunction>(pointer) })
}

/// Gives the places of freed handlers back that no communicator has any more.
fn sweep() {
    for (index, freed) in FREED.iter().enumerate() {
        if freed.load(Ordering::Relaxed) != 0 && !in_use(HANDLERS + index as c_int) {
            freed.store(0, Ordering::Relaxed);
            FUNCTIONS[index].store(0, Ordering::Relaxed);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_create_errhandler(
    function: Option<ErrorFunction>,
    errhandler: *mut c_int,
) -> c_int {
    on_process("MPI_Comm_create_errhandler", |_| {
        let function = function.ok_or(Error::NullArgument {
            name: "comm_errhandler_fn",
        })?;
        // SAFETY: the standard's promise about `errhandler`.
        let errhandler = unsafe { args::out(errhandler, "errhandler") }?;
        sweep();
        let address = (function as *const ()).expose_provenance();
        for (index, place) in FUNCTIONS.iter().enumerate() {
            if place
                .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                *errhandler = HANDLERS + index as c_int;
                return Ok(());
            }
        }
        Err(Error::Limit {
            what: "error handlers of the program's own",
            limit: USER_HANDLERS,
        })
    })
}

/// The handle names an error handler that has not been freed.
fn check(handle: c_int) -> Result<(), Error> {
    let is_user = user_index(handle).is_some_and(|index| {
        FUNCTIONS[index].load(Ordering::Relaxed) != 0 && FREED[index].load(Ordering::Relaxed) == 0
    });
    if is_user || matches!(handle, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN) {
        Ok(())
    } else {
        Err(Error::Argument {
            what: "errhandler names no error handler",
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_set_errhandler(comm: c_int, errhandler: c_int) -> c_int {
    on_comm("MPI_Comm_set_errhandler", comm, |_| {
        check(errhandler)?;
        set_handler(comm, errhandler);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_get_errhandler(comm: c_int, errhandler: *mut c_int) -> c_int {
    on_comm("MPI_Comm_get_errhandler", comm, |_| {
        // SAFETY: the standard's promise about `errhandler`.
        *unsafe { args::out(errhandler, "errhandler") }? = communicators::handler(comm);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_call_errhandler(comm: c_int, errorcode: c_int) -> c_int {
    on_comm("MPI_Comm_call_errhandler", comm, |_| {
        let class = error_class(errorcode)?;
        let error = Error::Raised { class };
        raise("MPI_Comm_call_errhandler", blame(comm), error);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Errhandler_free(errhandler: *mut c_int) -> c_int {
    on_process("MPI_Errhandler_free", |_| {
        // SAFETY: the standard's promise about `errhandler`.
        let errhandler = unsafe { args::out(errhandler, "errhandler") }?;
        check(*errhandler)?;
        // One that communicators have stays until they have another; the predefined ones always do.
        if let Some(index) = user_index(*errhandler) {
            FREED[index].store(1, Ordering::Relaxed);
            sweep();
        }
        *errhandler = MPI_ERRHANDLER_NULL;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    early("MPI_Error_class", {
        // SAFETY: the standard's promise about `errorclass`.
        unsafe { args::out(errorclass, "errorclass") }.and_then(|class| {
            *class = code(error_class(errorcode)?);
            Ok(())
        })
    })
}

fn error_class(code: c_int) -> Result<Class, Error> {
    Class::from_code(code).ok_or(Error::Argument {
        what: "not an error code of this library",
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Error_string(
    errorcode: c_int,
    string: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    early("MPI_Error_string", {
        error_class(errorcode).and_then(|class| {
            let mut text = heapless::String::<MPI_MAX_ERROR_STRING>::new();
            // What does not fit is cut off; the beginning says the most.
            let _ = match LAST.lock()[class as usize] {
                Some(described) => write!(text, "{described}"),
                None => text.write_str(class.words()),
            };
            // SAFETY: the standard's promise about both.
            unsafe { put_text(string, MPI_MAX_ERROR_STRING, &text, resultlen) }
        })
    })
}
