//! MPI startup and shutdown, and environment queries (MPI-3.1 chapter 8).
#![forbid(unsafe_code)]

use alloc::format;
use alloc::rc::Rc;
use alloc::string::{FromUtf8Error, String};
use alloc::vec::Vec;

use super::process::{AttachedBuffer, MpiPhase, ProcessState, ask, phase, start};
use super::recording::{self, Call};
use super::topology::SimpleCommunicator;
use midplane_objects::environment as job;
use midplane_objects::process::Env;

/// MPI between [`initialize`] and its drop, which finalizes MPI (MPI_Finalize).
pub struct Universe {
    here: Rc<ProcessState>,
    level: Threading,
}

impl Universe {
    /// Returns the communicator of all processes of the job (MPI_COMM_WORLD).
    pub fn world(&self) -> SimpleCommunicator {
        SimpleCommunicator::system(&self.here, 0)
    }

    /// Returns the number of processes of the job, which is also its maximum (MPI_UNIVERSE_SIZE, MPI-3.1 section
    /// 10.5.1).
    pub fn size(&self) -> Option<usize> {
        let core = self.world().record.core().ok()?.size();
        Some(core as usize)
    }

    /// Returns the size of the buffer for buffered sends, in bytes.
    pub fn buffer_size(&self) -> usize {
        let attached = self.here.attached.borrow();
        attached.as_ref().map_or(0, |attached| attached.room.bytes())
    }

    /// Replaces the buffer for buffered sends by one of `size` bytes from the program's heap (MPI_Buffer_attach,
    /// MPI-3.1 section 3.6).
    ///
    /// Blocks until all messages in the previous buffer are transmitted. Aborts the job when the heap has no space.
    #[track_caller]
    pub fn set_buffer_size(&mut self, size: usize) {
        self.detach_buffer();
        if size > 0 {
            let function = "mpi::environment::Universe::set_buffer_size (MPI_Buffer_attach)";
            let attached = self.here.or_fatal(function, AttachedBuffer::new(size));
            *self.here.attached.borrow_mut() = Some(attached);
        }
    }

    /// Detaches the buffer for buffered sends (MPI_Buffer_detach). Blocks until all its messages are transmitted.
    pub fn detach_buffer(&mut self) {
        if let Ok(env) = self.here.env() {
            detach(&self.here, env);
        }
    }

    /// Returns the thread support level that [`initialize_with_threading`] provided.
    pub fn threading_support(&self) -> Threading {
        self.level
    }
}

fn detach(here: &ProcessState, env: &dyn Env) {
    let attached = here.attached.borrow_mut().take();
    if let Some(mut attached) = attached {
        attached.room.wait_until_empty(env, "MPI_Buffer_detach");
    }
}

impl Drop for Universe {
    /// Finalizes MPI (MPI_Finalize, MPI-3.1 section 8.7). Drops the attributes of MPI_COMM_SELF, then those of
    /// MPI_COMM_WORLD; their destructors may still call MPI. Blocks until all sends of this process are complete and
    /// all processes have called it. An error aborts the job.
    fn drop(&mut self) {
        // During a panic the device is unavailable.
        if let Ok(env) = self.here.env() {
            SimpleCommunicator::drop_attributes(&self.here);
            detach(&self.here, env);
            let call = Call::enter("MPI_Finalize", |_| {});
            let finalized = call.end_with(job::finalize(env), |_, _| {});
            self.here.or_fatal("MPI_Finalize", finalized);
            self.here.set_phase(MpiPhase::After);
        } else {
            self.here.mark_finalized();
        }
    }
}

/// Thread support level (MPI-3.1 section 12.4.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Threading {
    /// The process has one thread.
    Single,
    /// Only the thread that initialized MPI makes MPI calls.
    Funneled,
    /// One thread at a time makes MPI calls.
    Serialized,
    /// Several threads make MPI calls concurrently. Not supported.
    Multiple,
}

/// Initializes MPI (MPI_Init, MPI-3.1 section 8.7). Returns `None` if MPI was initialized before. Does not block.
#[track_caller]
pub fn initialize() -> Option<Universe> {
    initialize_with_threading(Threading::Single).map(|(universe, _)| universe)
}

/// Initializes MPI with a thread support level (MPI_Init_thread, MPI-3.1 section 12.4.3).
///
/// The second value is the provided level, at most [`Threading::Funneled`]: the objects of this binding cannot move to
/// another thread. Returns `None` if MPI was initialized before. Does not block.
#[track_caller]
pub fn initialize_with_threading(threading: Threading) -> Option<(Universe, Threading)> {
    let here = start()?;
    let function = "mpi::environment::initialize_with_threading (MPI_Init)";
    here.or_fatal(function, SimpleCommunicator::enter_system(&here));
    here.set_phase(MpiPhase::Running);
    recording::record_start(&here);
    let level = threading.min(Threading::Funneled);
    Some((Universe { here, level }, level))
}

/// Returns the thread support level of every program (MPI_Query_thread).
pub fn threading_support() -> Threading {
    Threading::Funneled
}

/// Checks whether MPI has been initialized (MPI_Initialized).
pub fn is_initialized() -> bool {
    phase() != MpiPhase::Before
}

/// Checks whether MPI has been finalized (MPI_Finalized).
pub fn is_finalized() -> bool {
    phase() == MpiPhase::After
}

/// Returns the version of the standard: 5 and 0 (MPI_Get_version).
pub fn version() -> (i32, i32) {
    job::VERSION
}

/// Returns the library's name and version (MPI_Get_library_version). Never fails.
pub fn library_version() -> Result<String, FromUtf8Error> {
    String::from_utf8(Vec::from(job::LIBRARY))
}

/// Returns the name of this process's node: its torus coordinates (MPI_Get_processor_name). Never fails.
///
/// # Panics
/// Before there is a process.
pub fn processor_name() -> Result<String, FromUtf8Error> {
    let here = ask(|env| job::here(env)).expect("a process");
    Ok(format!("midplane-{}-{}-{}", here.x, here.y, here.z))
}

/// Returns the seconds since this node started (MPI_Wtime, MPI-3.1 section 8.6). Node clocks are not synchronized.
pub fn time() -> f64 {
    ask(|env| job::now(env)).unwrap_or(0) as f64 / 1e9
}

/// Returns the clock resolution in seconds (MPI_Wtick).
pub fn time_resolution() -> f64 {
    ask(|env| job::tick(env)).unwrap_or(1) as f64 / 1e9
}
