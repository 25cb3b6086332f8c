//! Initialization and finalization, names, time and errors (chapter 8), and queries of datatypes.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_char, c_double, c_int};
use core::fmt::Write;
use core::sync::atomic::Ordering;

use super::args::{self, put_text};
use super::barrier_by_messages::allow_barriers_by_messages;
use super::binding::{MpiPhase, THREAD_LEVEL, any_env, set_phase, world_phase};
use super::comm_objects::ErrorTarget;
use super::error_dispatch::{early, end, end_under, on_process};
use super::types::constants::*;
use midplane_device::interface::{AbortCause, Device};
use midplane_objects::environment::{self as job, LIBRARY, VERSION};
use midplane_objects::error::{CallOrder, Error};
use midplane_objects::installed;

pub unsafe fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> c_int {
    early("MPI_Init", init(MPI_THREAD_SINGLE))
}

fn init(level: c_int) -> Result<(), Error> {
    match world_phase() {
        MpiPhase::Before => {
            let env = any_env()?;
            super::comm_objects::note_membership(env);
            THREAD_LEVEL.store(level, Ordering::Relaxed);
            installed::note_main_thread();
            set_phase(MpiPhase::Running);
            if cfg!(target_os = "linux") && installed::world().is_some() {
                // The network's own barrier is that of all nodes.
                allow_barriers_by_messages();
                return super::dynamic::meet_parent(env);
            }
            Ok(())
        }
        MpiPhase::Running => Err(Error::Order { what: CallOrder::Twice }),
        MpiPhase::After => Err(Error::Order { what: CallOrder::Again }),
    }
}

pub unsafe fn MPI_Init_thread(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    early("MPI_Init_thread", {
        // SAFETY: the standard's requirements on `provided`.
        unsafe { args::out(provided, "provided") }.and_then(|provided| {
            if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
                return Err(Error::Argument {
                    what: "required is none of the four levels of thread support",
                });
            }
            let threads = installed::thread_support().filter(|_| required == MPI_THREAD_MULTIPLE);
            *provided = match threads {
                Some(_) => MPI_THREAD_MULTIPLE,
                None => required.min(MPI_THREAD_SERIALIZED),
            };
            init(*provided)?;
            if let Some(threads) = threads {
                (threads.enable)();
            }
            Ok(())
        })
    })
}

pub unsafe fn MPI_Query_thread(provided: *mut c_int) -> c_int {
    on_process("MPI_Query_thread", |_| {
        // SAFETY: the standard's requirements on `provided`.
        *unsafe { args::out(provided, "provided") }? = THREAD_LEVEL.load(Ordering::Relaxed);
        Ok(())
    })
}

pub unsafe fn MPI_Is_thread_main(flag: *mut c_int) -> c_int {
    on_process("MPI_Is_thread_main", |_| {
        // SAFETY: the standard's requirements on `flag`.
        *unsafe { args::out(flag, "flag") }? = installed::is_main_thread().into();
        Ok(())
    })
}

pub unsafe fn MPI_Initialized(flag: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `flag`.
    early(
        "MPI_Initialized",
        unsafe { args::out(flag, "flag") }.map(|flag| *flag = (world_phase() != MpiPhase::Before).into()),
    )
}

pub unsafe fn MPI_Finalized(flag: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `flag`.
    early(
        "MPI_Finalized",
        unsafe { args::out(flag, "flag") }.map(|flag| *flag = (world_phase() == MpiPhase::After).into()),
    )
}

pub unsafe fn MPI_Finalize() -> c_int {
    const NAME: &str = "MPI_Finalize";
    let mut said = MPI_SUCCESS;
    let ended = on_process(NAME, |env| {
        // MPI is finalized regardless of the result of a delete function.
        if let Err((comm, error)) = super::attributes::finish() {
            said = end(NAME, comm, Err(error));
        }
        super::buffered::finish(env);
        match job::finalize_with(env, super::barrier_by_messages::background_barrier) {
            // Processes in different calls cannot continue.
            Err(error @ Error::Wrong { .. }) => {
                let error_target = ErrorTarget::new(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
                end_under(NAME, error_target, Err(error));
            }
            result => result?,
        }
        super::datatypes::sweep(env);
        set_phase(MpiPhase::After);
        Ok(())
    });
    match ended {
        MPI_SUCCESS => said,
        error => error,
    }
}

pub unsafe fn MPI_Abort(_comm: c_int, errorcode: c_int) -> c_int {
    // Aborts the job even before MPI_Init and after MPI_Finalize, as requested.
    early(
        "MPI_Abort",
        any_env().map(|env| env.abort(AbortCause::Called, errorcode)),
    )
}

// There is no profiler to control (section 14.2.4), so the arguments have no meaning.
pub fn MPI_Pcontrol(_level: c_int) -> c_int {
    MPI_SUCCESS
}

pub unsafe fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    early("MPI_Get_version", {
        // SAFETY: the standard's requirements on both.
        let places = unsafe { (args::out(version, "version"), args::out(subversion, "subversion")) };
        places.0.and_then(|version| {
            (*version, *places.1?) = VERSION;
            Ok(())
        })
    })
}

pub unsafe fn MPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) -> c_int {
    early("MPI_Get_library_version", {
        // SAFETY: the standard's requirements on both.
        unsafe { put_text(version, MPI_MAX_LIBRARY_VERSION_STRING, LIBRARY, resultlen) }
    })
}

pub unsafe fn MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) -> c_int {
    on_process("MPI_Get_processor_name", |env| {
        let here = job::here(env);
        let mut text = heapless::String::<MPI_MAX_PROCESSOR_NAME>::new();
        let _ = write!(text, "midplane-{}-{}-{}", here.x, here.y, here.z); // at most 20 bytes
        // SAFETY: the standard's requirements on both.
        unsafe { put_text(name, MPI_MAX_PROCESSOR_NAME, &text, resultlen) }
    })
}

pub fn MPI_Wtime() -> c_double {
    any_env().map_or(0.0, |env| job::now(env) as c_double / 1e9)
}

/// Returns the time of [`MPI_Wtime`] in nanoseconds, for the recorder of calls. An image without the recorder does not
/// contain it.
#[unsafe(no_mangle)]
extern "C" fn midplane_time_ns() -> u64 {
    any_env().map_or(0, job::now)
}

pub fn MPI_Wtick() -> c_double {
    any_env().map_or(1, job::tick) as c_double / 1e9
}
